"""Each way in which SQLite refuses has one meaning; the codes are those of its own list, written out as numbers."""

import sqlite3
from pathlib import Path

import pytest

from metagit_mcp.adapters.refusals import FileUnreadable
from metagit_mcp.adapters.sqlite.failures import is_busy, ledger_error, unopened
from metagit_mcp.adapters.sqlite.refused import LedgerUnreadable
from metagit_mcp.errors import MetagitError, ReadOnlyWorkspace, StoreCorrupt, StoreUnavailable

NAME = ".metagit/schedule/ledger.db"


def refusal(code: int) -> sqlite3.Error:
    cause = sqlite3.OperationalError("secret content")
    cause.sqlite_errorcode = code
    cause.sqlite_errorname = f"CODE_{code}"
    return cause


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        (5, StoreUnavailable, "is locked by another process."),
        (6, StoreUnavailable, "is locked by another process."),
        (15, StoreUnavailable, "is locked by another process."),
        (5 | 1 << 8, StoreUnavailable, "is locked by another process."),
        (13, StoreUnavailable, "cannot grow: the disk is full."),
        (3, ReadOnlyWorkspace, "cannot be written by this user."),
        (8, ReadOnlyWorkspace, "cannot be written by this user."),
        (8 | 4 << 8, StoreUnavailable, "cannot be used: the system failed to read or write it."),
        (7, StoreUnavailable, "cannot be used: the system failed to read or write it."),
        (10 | 3 << 8, StoreUnavailable, "cannot be used: the system failed to read or write it."),
        (14, StoreUnavailable, "cannot be used: the system failed to read or write it."),
        (1, StoreCorrupt, "is damaged: SQLite cannot read it."),
        (11, StoreCorrupt, "is damaged: SQLite cannot read it."),
        (11 | 1 << 8, StoreCorrupt, "is damaged: SQLite cannot read it."),
        (19 | 6 << 8, StoreCorrupt, "is damaged: SQLite cannot read it."),
        (24, StoreCorrupt, "is damaged: SQLite cannot read it."),
        (26, StoreCorrupt, "is damaged: SQLite cannot read it."),
    ],
)
def test_a_code_of_sqlite_becomes_an_error_of_ours(code: int, kind: type[MetagitError], message: str) -> None:
    error = ledger_error(refusal(code), NAME)
    assert (type(error), error.message) == (kind, f"{NAME} {message}")
    assert error.details == {"file": NAME, "sqlite": f"CODE_{code}"}
    assert error.hint
    assert "secret" not in str(error.as_record())


def test_an_error_that_names_no_code_is_a_fault_of_the_tables() -> None:
    error = ledger_error(sqlite3.ProgrammingError("secret"), NAME)
    assert (type(error), error.details) == (StoreCorrupt, {"file": NAME, "sqlite": "ProgrammingError"})


@pytest.mark.parametrize(("code", "expected"), [(5, True), (5 | 2 << 8, True), (6, True), (13, False), (10, False)])
def test_only_what_passes_is_waited_for(code: int, *, expected: bool) -> None:
    assert is_busy(refusal(code)) is expected


def test_a_ledger_that_cannot_be_opened_is_told_apart(tmp_path: Path) -> None:
    readable = tmp_path / "ledger.db"
    readable.touch()
    kinds = [
        type(unopened(refusal(code), str(path), NAME))
        for code, path in ((14, readable), (8 | 5 << 8, readable), (26, readable), (14, tmp_path / "no"))
    ]
    assert kinds == [LedgerUnreadable, LedgerUnreadable, StoreCorrupt, FileUnreadable]
