"""The event store of many hosts in PostgreSQL: one stream for each workspace (ADR 0034).

`store` decides which ledger is meant and who writes, `connected`, `making` and `inbox` speak SQL. Importing this loads
no psycopg: a command in a workspace that nobody named yet never does.
"""

from metagit_mcp.adapters.postgres.store import PostgresEventStore

__all__ = ["PostgresEventStore"]
