"""An event store that ends with its process: what every other store must do, in the fewest lines.

It knows no file. Several stores on one `MemoryLedger` stand for several processes on one workspace.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from metagit_mcp.adapters.ledger_writer import writer_for
from metagit_mcp.adapters.turn import Turn
from metagit_mcp.ports import LedgerMark, LedgerWriter, StoredEvent, StoredSnapshot

BUSY_SECONDS: Final = 5.0


class MemoryLedger:
    """What the stores share: the ledger itself, and the turn of its one writer."""

    def __init__(self) -> None:
        self.turn = Turn(BUSY_SECONDS)
        self.is_writing = False
        self.workspace_id = ""
        self.events: tuple[StoredEvent, ...] = ()
        self.snapshot: StoredSnapshot | None = None

    def lose(self) -> None:
        """Forget everything, as if the file had been deleted."""
        with self.turn:
            self.workspace_id, self.events, self.snapshot = "", (), None


class MemoryEventStore:
    """The reference `EventStore`."""

    def __init__(self, ledger: MemoryLedger | None = None, *, busy_seconds: float = BUSY_SECONDS) -> None:
        """Keep the ledger, or a new one, and how long to wait for another writer."""
        self._ledger = MemoryLedger() if ledger is None else ledger
        self._turn = self._ledger.turn.waiting(busy_seconds)

    def mark(self) -> LedgerMark:
        """Say how far the ledger goes."""
        with self._turn:
            return LedgerMark(workspace_id=self._ledger.workspace_id, position=len(self._ledger.events))

    def read(self, after: int, limit: int | None = None) -> Sequence[StoredEvent]:
        """Return the events after a position, at most `limit`."""
        return self._ledger.events[after : None if limit is None else after + limit]

    def snapshot(self) -> StoredSnapshot | None:
        """Return the newest snapshot, or None."""
        return self._ledger.snapshot

    @contextmanager
    def writing(self, known: LedgerMark, new_id: Callable[[], str]) -> Iterator[LedgerWriter]:
        """Become the one writer."""
        with self._turn:
            if self._ledger.is_writing:
                raise RuntimeError("a writing block of this store is open already")
            self._ledger.workspace_id = self._ledger.workspace_id or new_id()
            writer = writer_for(known, self.mark(), self.read, self.snapshot)
            self._ledger.is_writing = True
            try:
                yield writer
            finally:
                self._ledger.is_writing = False
            self._ledger.events += writer.numbered()

    def keep(self, snapshot: StoredSnapshot) -> None:
        """Keep a snapshot, unless it is of another ledger, there is a newer one or the ledger does not go as far."""
        with self._turn:
            former = 0 if self._ledger.snapshot is None else self._ledger.snapshot.position
            is_own = snapshot.workspace_id == self._ledger.workspace_id
            if is_own and former <= snapshot.position <= len(self._ledger.events):
                self._ledger.snapshot = snapshot

    def examine(self) -> Sequence[str]:
        """Find nothing wrong: what is kept in memory is whole."""
        return ()

    def close(self) -> None:
        """Do nothing: there is no file to let go of."""
