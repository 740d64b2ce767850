"""An event store that ends with its process: what every other store must do, in the fewest lines.

It knows no file. Several stores on one `MemoryLedger` stand for several processes on one workspace.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from metagit_mcp.adapters.freed_memory import give_back_after
from metagit_mcp.adapters.ledger_writer import writer_for
from metagit_mcp.adapters.turn import Turn
from metagit_mcp.ports.ledger import InboxEntry, InboxSize, LedgerMark, LedgerWriter, StoredEvent, StoredSnapshot

BUSY_SECONDS: Final = 5.0


class MemoryLedger:
    """What the stores share: the ledger itself, and the turn of its one writer."""

    def __init__(self) -> None:
        self.turn = Turn(BUSY_SECONDS)
        self.is_writing = False
        self.workspace_id = ""
        self.events: tuple[StoredEvent, ...] = ()
        self.snapshot: StoredSnapshot | None = None
        self.inboxes: dict[str, dict[int, InboxEntry]] = {}

    def lose(self) -> None:
        """Forget everything, as if the file had been deleted."""
        with self.turn:
            self.workspace_id, self.events, self.snapshot, self.inboxes = "", (), None, {}


class MemoryInbox:
    """The reference `GroupInbox`: a copy, which takes the place of what it was copied from when the block ends."""

    def __init__(self, entries: Mapping[int, InboxEntry]) -> None:
        self._entries = dict(entries)
        self._is_over = False

    @property
    def entries(self) -> dict[int, InboxEntry]:
        """The entries by sequence, for as long as the block lasts."""
        if self._is_over:
            raise RuntimeError("the writing block of this inbox is over")
        return self._entries

    def known(self, asked: Sequence[InboxEntry]) -> Sequence[InboxEntry]:
        """Return what stands at any of these sequences or under any of these event keys."""
        places, keys = {each.sequence for each in asked}, {each.event_key for each in asked}
        found = [each for each in self.entries.values() if each.sequence in places or each.event_key in keys]
        return tuple(replace(each, body=b"") for each in sorted(found, key=lambda entry: entry.sequence))

    def put(self, entries: Sequence[InboxEntry]) -> None:
        """Add entries."""
        for entry in entries:
            if self.known([entry]):
                raise ValueError(f"something stands at sequence {entry.sequence} or under its event key")
            self.entries[entry.sequence] = entry

    def held(self, after: int, limit: int, *, over_gaps: bool = False) -> Sequence[InboxEntry]:
        """Return the held entries that follow, without a gap or over all gaps."""
        if over_gaps:
            return tuple(
                self.entries[each] for each in sorted(self.entries) if each > after and self.entries[each].body
            )[:limit]
        run: list[InboxEntry] = []
        while len(run) < limit and (entry := self.entries.get(after + 1 + len(run))) is not None and entry.body:
            run.append(entry)
        return tuple(run)

    def held_size(self) -> tuple[int, int]:
        """Return how many are held, and their bytes."""
        size = _size(self.entries)
        return size.held, size.bytes

    def applied(self, up_to: int) -> None:
        """Hold nothing any more up to this sequence."""
        for sequence, entry in self.entries.items():
            if sequence <= up_to:
                self.entries[sequence] = replace(entry, body=b"")

    def forget(self, before: int) -> None:
        """Drop the entries below this sequence."""
        for sequence in [each for each in self.entries if each < before]:
            del self.entries[sequence]

    def end(self) -> dict[int, InboxEntry]:
        """Be of no more use, and return what is left."""
        self._is_over = True
        return self._entries


def _size(entries: Mapping[int, InboxEntry]) -> InboxSize:
    held = [each for each in entries.values() if each.body]
    first = min((each.sequence for each in held), default=0)
    return InboxSize(held=len(held), bytes=sum(len(each.body) for each in held), first_held=first)


class MemoryEventStore:
    """The reference `EventStore`."""

    shared_at = ""

    def __init__(self, ledger: MemoryLedger | None = None, *, busy_seconds: float = BUSY_SECONDS) -> None:
        """Keep the ledger, or a new one, and how long to wait for another writer."""
        self._ledger = MemoryLedger() if ledger is None else ledger
        self._turn = self._ledger.turn.waiting(busy_seconds)
        self._inboxes: dict[str, MemoryInbox] = {}

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

    def inbox_size(self, group_id: str) -> InboxSize:
        """Say how much the inbox of a Group holds."""
        inbox = self._inboxes.get(group_id)
        return _size(self._ledger.inboxes.get(group_id, {}) if inbox is None else inbox.entries)

    @contextmanager
    def writing(self, known: LedgerMark, new_id: Callable[[], str]) -> Iterator[LedgerWriter]:
        """Become the one writer."""
        with self._turn:
            if self._ledger.is_writing:
                raise RuntimeError("a writing block of this store is open already")
            self._ledger.workspace_id = self._ledger.workspace_id or new_id()
            writer = writer_for(known, self.mark(), self.read, self.snapshot, self._inbox)
            self._ledger.is_writing = True
            try:
                yield writer
            finally:
                self._ledger.is_writing = False
                changed = {group_id: inbox.end() for group_id, inbox in self._inboxes.items()}
                self._inboxes = {}
            self._ledger.events += writer.numbered()
            self._ledger.inboxes |= changed

    def _inbox(self, group_id: str) -> MemoryInbox:
        if group_id not in self._inboxes:
            self._inboxes[group_id] = MemoryInbox(self._ledger.inboxes.get(group_id, {}))
        return self._inboxes[group_id]

    def keep(self, snapshot: StoredSnapshot) -> None:
        """Keep a snapshot, unless it is of another ledger, there is a newer one or the ledger does not go as far."""
        with self._turn:
            former = 0 if self._ledger.snapshot is None else self._ledger.snapshot.position
            is_own = snapshot.workspace_id == self._ledger.workspace_id
            if is_own and former <= snapshot.position <= len(self._ledger.events):
                self._ledger.snapshot = snapshot
        give_back_after(len(snapshot.body))

    def examine(self) -> Sequence[str]:
        """Find nothing wrong: what is kept in memory is whole."""
        return ()

    def close(self) -> None:
        """Do nothing: there is no file to let go of."""
