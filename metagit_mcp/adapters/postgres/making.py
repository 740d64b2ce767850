"""Makes the tables, and the row of a ledger; it appends no event."""

from typing import Final

from metagit_mcp.adapters.postgres.link import Asked, Link, milliseconds

# The text at place n brings tables of schema version n to n + 1: never change one, add another.
SCHEMA: Final = ("schema",)
SCHEMA_VERSION: Final = len(SCHEMA)
# Tells our advisory locks from those of other programs in the same database; streams count from 1.
_OURS: Final = 0x6D674C67
_TABLES: Final = 0
# Seconds that a block may last. Long for one that goes on, and what the others wait for one that does not.
_TURN_SECONDS: Final = 15.0


def lock(stream: int) -> Asked:
    """Return the statement that makes this transaction the one writer of a stream."""
    return "lock", {"ours": _OURS, "stream": stream, "most": milliseconds(_TURN_SECONDS)}


def make_tables(link: Link) -> None:
    """Make the tables that all ledgers of a database share, unless another host just did."""
    with link.transaction():
        link.run(*lock(_TABLES))
        if not is_made(link):
            for name in SCHEMA:
                link.run_all(name)
            link.run("drop_versions")
            link.run("set_version", version=SCHEMA_VERSION)


def is_made(link: Link) -> bool:
    """Say whether the tables are there."""
    return bool(link.run("is_made")[0][0])
