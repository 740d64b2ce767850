"""The event store of a workspace in SQLite: one file, many processes (ADR 0017).

`store` decides which file is open, `opened` and `inbox` speak SQL, `making` makes the file. Importing this loads no
sqlite3: a command in a workspace without a ledger never does.
"""

from metagit_mcp.adapters.sqlite.store import SqliteEventStore

__all__ = ["SqliteEventStore"]
