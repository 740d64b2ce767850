"""The ledger of one workspace over a connection, spoken to in SQL; it does not know which workspace is meant."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from metagit_mcp.adapters.ledger_damage import missing_of
from metagit_mcp.adapters.postgres.clock import Reading
from metagit_mcp.adapters.postgres.failures import corrupt, too_new
from metagit_mcp.adapters.postgres.inbox import PostgresInbox
from metagit_mcp.adapters.postgres.link import Link, Rows, Taken
from metagit_mcp.adapters.postgres.making import SCHEMA_VERSION, is_made, lock
from metagit_mcp.domain.value import value
from metagit_mcp.ports.ledger import InboxSize, LedgerMark, StoredEvent, StoredSnapshot

_GAPS_NAMED: Final = 10
_NEVER: Final = 2**63 - 1


@value
class Found:
    """A ledger, its place in the tables, and what its server's clock said."""

    stream: int
    mark: LedgerMark
    clock: Reading


@value
class Begun:
    """A writer's turn: where the ledger stands, what follows what was known, and the id of the transaction."""

    found: Found
    news: tuple[StoredEvent, ...]
    transaction: str


class ConnectedLedger:
    """What can be asked of the tables over one connection."""

    def __init__(self, link: Link) -> None:
        """Ask nothing yet."""
        self.link = link
        self.has_written = False
        self._is_made = False
        self._block = 0

    # --- reading -------------------------------------------------------------------------------------------------

    def look(self, named: str) -> Found | None:
        """Return the ledger of this name, or None.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: it cannot be used.
        """
        self._is_made = self._is_made or is_made(self.link)
        return self._found(self.link.run("mark", named=named)) if self._is_made else None

    def _found(self, rows: Rows) -> Found | None:
        if not rows:
            raise corrupt(self.link.name, "nothing tells the version of its tables")
        ((version, seconds, stream, workspace_id, last, first),) = rows
        if version > SCHEMA_VERSION:
            raise too_new(self.link.name, version, SCHEMA_VERSION)
        if stream is None:
            return None
        if (first or 1) != 1:
            raise corrupt(self.link.name, "its beginning is missing")
        mark = LedgerMark(workspace_id=workspace_id, position=last or 0)
        return Found(stream=stream, mark=mark, clock=Reading(seconds=seconds, ticks=time.monotonic()))

    def read(self, stream: int, after: int, limit: int | None = None) -> tuple[StoredEvent, ...]:
        """Return the events after a position, at most `limit`.

        Raises:
            StoreCorrupt: one is missing among them.
        """
        return self._events(after, self.link.run("read_events", stream=stream, after=after, limit=limit))

    def _events(self, after: int, rows: Rows) -> tuple[StoredEvent, ...]:
        if rows and (rows[0][0] != after + 1 or rows[-1][0] != after + len(rows)):
            raise corrupt(self.link.name, f"an event after position {after} is missing")
        return tuple(
            StoredEvent(position=position, kind=kind, version=version, body=body)
            for position, kind, version, body in rows
        )

    def snapshot(self, stream: int) -> StoredSnapshot | None:
        """Return the newest snapshot, or None."""
        for workspace_id, position, version, body in self.link.run("newest_snapshot", stream=stream):
            return StoredSnapshot(workspace_id=workspace_id, position=position, version=version, body=body)
        return None

    def inbox_size(self, stream: int, group_id: str) -> InboxSize:
        """Say how much the inbox of a Group holds."""
        ((held, size, first),) = self.link.run("held_size", stream=stream, group_id=group_id)
        return InboxSize(held=held, bytes=size, first_held=first)

    def faults(self, stream: int) -> list[str]:
        """Return a sentence for each thing that is missing; whether its pages are whole is the server's to say."""
        gaps, ((lost,),) = self.link.together(
            ("find_gaps", {"stream": stream, "limit": _GAPS_NAMED}), ("count_lost_entries", {"stream": stream})
        )
        return [f"The ledger at {self.link.name} is damaged: {each}." for each in missing_of(gaps, lost)]

    def add(self, name: str | None, workspace_id: str, tell: Callable[[str], None]) -> Found:
        """Add a ledger, unless another host just added one of this name; `tell` is told of the one that there is."""
        named = name or workspace_id
        with self.link.transaction():
            self.link.run("add_ledger", workspace_id=workspace_id, name=named)
            found = self.look(named)
            if found is None:
                raise corrupt(self.link.name, "a row that was just added is not there")
            tell(found.mark.workspace_id)
        return found

    # --- writing: two round trips a block ------------------------------------------------------------------------

    def begin(self, found: Found, named: str, known: LedgerMark) -> Begun | None:
        """Become the one writer; None: another ledger has that name by now."""
        stream, is_known = found.stream, known.workspace_id == found.mark.workspace_id
        after = known.position if is_known else _NEVER
        self.has_written = False
        self._block += 1
        try:
            _, ((_, transaction, _),), rows, news = self.link.together(
                ("begin", {}),
                lock(stream),
                # Read when the lock is held: whatever another writer did is in it.
                ("mark", {"named": named}),
                ("read_events", {"stream": stream, "after": after, "limit": None}),
            )
            now = self._found(rows)
            if now is not None and now.stream == stream:
                return Begun(found=now, news=self._events(after, news), transaction=transaction)
        except BaseException:
            self.link.rollback()
            raise
        self.link.rollback()
        return None

    def inbox(self, stream: int, group_id: str) -> PostgresInbox:
        """Return the inbox of a Group for the rest of the transaction."""
        return PostgresInbox(group_id, stream, partial(self._within, self._block))

    def _within(self, block: int, *, writes: bool) -> Link:
        if block != self._block or not self.link.is_sound:
            raise RuntimeError("the writing block of this inbox is over")
        self.has_written = self.has_written or writes
        return self.link

    def commit(self, stream: int, events: Sequence[StoredEvent]) -> None:
        """Append events, and make the transaction durable; whoever listens is told."""
        if not self.link.is_lost:
            self._within(self._block, writes=bool(events))
        asked: list[tuple[str, dict[str, Any]]] = [("append_events", _columns(stream, events))] if events else []
        if self.has_written:
            asked.append(("tell", {"stream": stream}))
        try:
            self.link.together(*asked, ("commit", {}))
        except Taken as cause:
            raise corrupt(self.link.name, "another event stands where the next one is to go") from cause

    def end(self) -> None:
        """Undo what the block did, if it is still open."""
        self._block += 1
        self.link.rollback()

    def is_committed(self, stream: int, transaction: str) -> bool:
        """Say what became of a transaction of another connection, when it holds the lock no more."""
        try:
            rows = self.link.together(("begin", {}), lock(stream), ("outcome", {"transaction": transaction}))
        finally:
            self.link.rollback()
        return bool(rows[2][0][0] == "committed")

    def keep(self, stream: int, snapshot: StoredSnapshot) -> None:
        """Keep a snapshot, in place of older ones."""
        fields = {name: getattr(snapshot, name) for name in ("workspace_id", "position", "version", "body")}
        self.link.together(("keep_snapshot", {"stream": stream, **fields}), ("drop_snapshots", {"stream": stream}))


def _columns(stream: int, events: Sequence[StoredEvent]) -> dict[str, Any]:
    """Return the events by column: one statement inserts any number of them."""
    return {
        "stream": stream,
        "positions": [event.position for event in events],
        "kinds": [event.kind for event in events],
        "versions": [event.version for event in events],
        "bodies": [event.body for event in events],
    }
