"""Says in the project's own errors why SQLite refused; it runs no SQL.

What SQLite says is never shown: only the name of its error code, which holds no content.
"""

import os
import sqlite3
from typing import Final

from metagit_mcp.adapters.refusals import FileUnreadable
from metagit_mcp.adapters.sqlite.refused import LedgerUnreadable
from metagit_mcp.errors import MetagitError, ReadOnlyWorkspace, StoreCorrupt, StoreTooNew, StoreUnavailable

MEND: Final = (
    "`metagit-mcp doctor` says more. To go on, stop all servers of this workspace and move the file away: the next "
    "claim makes a new ledger from the task graph files. Leases, attempts and checkpoints are then lost."
)
_WAIT: Final = "Another command or server is writing. Try again."
_ROOM: Final = "Nothing of this was written. Make room on the disk, then try again."
_ALLOW: Final = "Answers and previews still work; to record anything, this user must be able to write there."

_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_FORBIDDEN: Final = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})
# With plain statements of our own, an error of the schema or of a constraint means that the tables are not ours.
_DAMAGED: Final = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
    }
)
_MOVED: Final = 1032  # SQLITE_READONLY_DBMOVED, which the module does not name


def is_busy(cause: sqlite3.Error) -> bool:
    """Say whether another connection is in the way, which passes."""
    return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _BUSY


def ledger_error(cause: sqlite3.Error, name: str) -> MetagitError:
    """Return what a failure of SQLite on the ledger `name` means to the caller."""
    code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    primary = code & 0xFF
    said = {"file": name, "sqlite": getattr(cause, "sqlite_errorname", type(cause).__name__)}
    if is_busy(cause):
        return StoreUnavailable(f"{name} is locked by another process.", hint=_WAIT, **said)
    if primary == sqlite3.SQLITE_FULL:
        return StoreUnavailable(f"{name} cannot grow: the disk is full.", hint=_ROOM, **said)
    if primary in _FORBIDDEN and code != _MOVED:
        return ReadOnlyWorkspace(f"{name} cannot be written by this user.", hint=_ALLOW, **said)
    if primary in _DAMAGED:
        return corrupt(name, "SQLite cannot read it", **said)
    return StoreUnavailable(f"{name} cannot be used: the system failed to read or write it.", hint=_ROOM, **said)


def corrupt(name: str, why: str, **said: object) -> StoreCorrupt:
    """Return that the ledger is damaged, and what to do."""
    return StoreCorrupt(f"{name} is damaged: {why}.", hint=MEND, **{"file": name, **said})


def too_new(name: str, found: int, known: int) -> StoreTooNew:
    """Return that a newer program wrote the ledger."""
    return StoreTooNew(
        f"{name} has schema version {found}; this metagit-mcp knows versions up to {known}.",
        hint="Use the newer metagit-mcp that wrote it (pip install --upgrade metagit-mcp), also in other servers.",
        file=name,
        found=found,
        known=known,
    )


def unopened(cause: sqlite3.Error, path: str, name: str) -> MetagitError:
    """Return why a ledger that is there cannot even be opened."""
    if not os.access(path, os.R_OK):
        return FileUnreadable(name, "cannot be read by this user")
    if getattr(cause, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
        return LedgerUnreadable(name, "cannot be opened, since SQLite cannot use the files beside it")
    return ledger_error(cause, name)
