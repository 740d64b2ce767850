"""The stores that the suite runs over, each behind the same few moves; it knows no rule that a store must keep.

A further store joins with one class here and one line in `KINDS`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from metagit_mcp.adapters.memory import MemoryEventStore, MemoryLedger
from metagit_mcp.adapters.postgres import PostgresEventStore
from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.ports.ledger import EventStore

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer

LEDGER = ".metagit/schedule/ledger.db"
# Short where a test waits for it to run out.
BUSY_SECONDS = 0.2


class Ledgers(Protocol):
    """One workspace, and what may happen to its ledger from outside."""

    def opened(self, busy_seconds: float = 30) -> EventStore:
        """Return a further store on the ledger, as another process would have it."""
        ...

    def lose(self) -> None:
        """Take the ledger away from under the stores."""
        ...

    def traces(self) -> set[str]:
        """Name everything that is there."""
        ...

    def close(self) -> None:
        """Close every store."""
        ...


class InMemory:
    def __init__(self, _root: Path, _: pytest.FixtureRequest) -> None:
        self._ledger = MemoryLedger()

    def opened(self, busy_seconds: float = 30) -> EventStore:
        return MemoryEventStore(self._ledger, busy_seconds=busy_seconds)

    def lose(self) -> None:
        self._ledger.lose()

    def traces(self) -> set[str]:
        return {self._ledger.workspace_id} - {""}

    def close(self) -> None:
        self._ledger.lose()


class InSqlite:
    def __init__(self, root: Path, _: pytest.FixtureRequest) -> None:
        self._root = root
        self._stores: list[SqliteEventStore] = []

    def opened(self, busy_seconds: float = 30) -> EventStore:
        self._stores.append(SqliteEventStore(str(self._root), busy_seconds=busy_seconds))
        return self._stores[-1]

    def lose(self) -> None:
        (self._root / LEDGER).unlink()

    def traces(self) -> set[str]:
        return {str(path.relative_to(self._root)) for path in self._root.rglob("*")}

    def close(self) -> None:
        for store in self._stores:
            store.close()


class InPostgres:
    def __init__(self, root: Path, request: pytest.FixtureRequest) -> None:
        self._root = root
        self._server: PostgresServer = request.getfixturevalue("postgres")
        self._stores: list[PostgresEventStore] = []

    def opened(self, busy_seconds: float = 30) -> EventStore:
        url = self._server.url()
        self._stores.append(PostgresEventStore(str(self._root), url, busy_seconds=busy_seconds))
        return self._stores[-1]

    def lose(self) -> None:
        self._server.asked("DELETE FROM metagit_mcp.ledger")

    def traces(self) -> set[str]:
        files = {str(path.relative_to(self._root)) for path in self._root.rglob("*")}
        return files | {name for (name,) in self._server.asked("SELECT nspname FROM pg_namespace") if "metagit" in name}

    def close(self) -> None:
        for store in self._stores:
            store.close()


KINDS: dict[str, Callable[[Path, pytest.FixtureRequest], Ledgers]] = {
    "memory": InMemory,
    "postgres": InPostgres,
    "sqlite": InSqlite,
}


def counted_ids() -> Callable[[], str]:
    """Return what draws `w1`, then `w2` and so on."""
    numbers: Iterator[int] = iter(range(1, 1_000))
    return lambda: f"w{next(numbers)}"
