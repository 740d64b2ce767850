"""Says in the project's own errors why PostgreSQL refused; it runs no SQL.

What the server or the driver says is never shown, since it may hold parts of the address: only the code of the error
(https://www.postgresql.org/docs/current/errcodes-appendix.html).
"""

from typing import Final

from metagit_mcp.errors import MetagitError, ReadOnlyWorkspace, StoreCorrupt, StoreTooNew, StoreUnavailable

_REACH: Final = (
    "Check that the server runs and that METAGIT_LEDGER names it, its database, a user and the right password. What "
    "needs no ledger still works, and nothing is lost."
)
_WAIT: Final = "Another command or server is writing. Try again."
_ROOM: Final = "Nothing of this was written. See to the server, then try again."
_ALLOW: Final = (
    "Answers and previews still work. To record anything, the user of METAGIT_LEDGER must be allowed to write in the "
    "schema metagit_mcp, and the server must not be a standby."
)
_MEND: Final = "`metagit-mcp doctor` says more. Restore the database from its backup, with all servers stopped."
_CUT: Final = "Nothing of this was written. Try again."
_LOOK: Final = (
    "Look before you do it again: a claim tells which leases you hold, and a command that is repeated with the same "
    "action_id happens once."
)

_LOCKED: Final = frozenset({"55P03", "40001", "40P01", "57014"})
_FORBIDDEN: Final = frozenset({"42501", "25006"})
# With plain statements of our own, an error of the schema, of a value or of a constraint: the tables are not ours.
_DAMAGED: Final = ("22", "23", "42", "XX001", "XX002")


def ledger_error(sqlstate: str | None, name: str) -> MetagitError:
    """Return what a failure with this code on the ledger `name` means to the caller."""
    code = sqlstate or ""
    said = {"ledger": name, "sqlstate": code}
    if code in _LOCKED:
        return StoreUnavailable(f"The ledger at {name} is locked by another process.", hint=_WAIT, **said)
    if code in _FORBIDDEN:
        return ReadOnlyWorkspace(f"The ledger at {name} cannot be written by this user.", hint=_ALLOW, **said)
    if code.startswith(_DAMAGED):
        return corrupt(name, "PostgreSQL cannot make sense of it", **said)
    return StoreUnavailable(f"The ledger at {name} cannot be used: its server failed.", hint=_ROOM, **said)


def corrupt(name: str, why: str, **said: object) -> StoreCorrupt:
    """Return that the ledger is damaged, and what to do."""
    return StoreCorrupt(f"The ledger at {name} is damaged: {why}.", hint=_MEND, **{"ledger": name, **said})


def too_new(name: str, found: int, known: int) -> StoreTooNew:
    """Return that a newer program made or changed the tables."""
    return StoreTooNew(
        f"The ledger at {name} has schema version {found}; this metagit-mcp knows versions up to {known}.",
        hint="Use the newer metagit-mcp that wrote it (pip install --upgrade metagit-mcp), on every host.",
        ledger=name,
        found=found,
        known=known,
    )


def unreachable(name: str) -> StoreUnavailable:
    """Return that there is no connection to be had."""
    return StoreUnavailable(f"The ledger at {name} cannot be reached.", hint=_REACH, ledger=name)


def cut(name: str) -> StoreUnavailable:
    """Return that the connection ended before anything was durable."""
    return StoreUnavailable(f"The connection to the ledger at {name} was cut.", hint=_CUT, ledger=name)


def unknown_outcome(name: str) -> StoreUnavailable:
    """Return that the connection ended at the very end, and that nobody can be asked what became of it."""
    said = f"The connection to the ledger at {name} was cut, and whether this was written cannot be seen yet."
    return StoreUnavailable(said, hint=_LOOK, ledger=name)


def no_driver() -> StoreUnavailable:
    """Return that the package that speaks to PostgreSQL is not installed."""
    hint = "Install it wherever metagit-mcp runs: pipx install --force '/path/to/clone[postgres]'."
    return StoreUnavailable("METAGIT_LEDGER names a PostgreSQL server, and psycopg is missing.", hint=hint)
