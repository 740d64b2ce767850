"""Ledgers for the tests of the SQLite store, and how a person or a bad disk treats them; it knows no expectation."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.ports.ledger import InboxEntry, LedgerMark

NAME = ".metagit/schedule/ledger.db"
OWN_ID = "0" * 32
KNOWN = LedgerMark()


def path_of(root: Path) -> Path:
    return root / NAME


@contextmanager
def store_on(root: Path, busy_seconds: float = 5) -> Iterator[SqliteEventStore]:
    """Give a store that is closed at the end."""
    with closing(SqliteEventStore(str(root), busy_seconds=busy_seconds)) as store:
        yield store


def append(store: SqliteEventStore, *texts: str, size: int = 0, new_id: Callable[[], str] = lambda: OWN_ID) -> None:
    """Append the texts in one block, each filled up with `size` bytes."""
    with store.writing(KNOWN, new_id) as writer:
        writer.append([("kind", 1, text.encode() + b"." * size) for text in texts])


def texts(store: SqliteEventStore) -> list[str]:
    """Read every event."""
    return [each.body.decode().rstrip(".") for each in store.read(0)]


def made(root: Path, *texts: str, size: int = 0, workspace_id: str = OWN_ID) -> Path:
    """Make a ledger, close it, and return where it lies."""
    with store_on(root) as store:
        append(store, *texts, size=size, new_id=lambda: workspace_id)
    return path_of(root)


def use_inbox(store: SqliteEventStore) -> None:
    """Do everything that can be done with the inbox of a Group."""
    entry = InboxEntry(sequence=1, event_key=b"k" * 16, digest=b"d" * 16, body=b"{}")
    with store.writing(KNOWN, lambda: OWN_ID) as writer:
        inbox = writer.inbox("g")
        assert (inbox.known([entry]), inbox.held(0, 9)) == ((), ())
        inbox.put([entry])
        assert inbox.held_size() == (1, 2)
        inbox.applied(1)
        inbox.forget(2)


def altered(path: Path, *statements: str) -> None:
    """Run SQL on a ledger behind the store's back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as ledger:
        for statement in statements:
            ledger.execute(statement)


@contextmanager
def connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[sqlite3.Connection]]:
    """Give the connections that the store opens within the block, so that a test can lower their limits."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*arguments: object, **options: object) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))  # type: ignore[call-overload]  # passed on as they are
        return opened[-1]

    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", noted)
        yield opened
