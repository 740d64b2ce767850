"""The ledger as it is now: folds what any process appended, and appends what is decided here. Decides nothing.

Not for two threads at a time: `Current` sees to that. The kinds of events are loaded when there is one.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import NodeKey
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.ledger import EventStore, LedgerMark, LedgerWriter, StoredEvent, StoredSnapshot
from metagit_mcp.ports.machine import Ids

if TYPE_CHECKING:
    from metagit_mcp.application.turns.ledger_turn import LedgerTurn

# A snapshot costs as much as some events for each node that it holds.
_SNAPSHOT_AFTER: Final = 1_000
_EVENTS_PER_ITEM: Final = 2


Touched = set[NodeKey] | None


class Ledger:
    """The state of all work, as of the events folded so far. `touched` are the nodes whose state may have changed.

    `touched` is None when everything may be another: a ledger that was read anew. Whoever follows clears it.
    """

    def __init__(self, store: EventStore, ids: Ids) -> None:
        """Read nothing yet."""
        self.state = LedgerState()
        self.mark = LedgerMark()
        self.touched: Touched = set()
        self._store = store
        self._ids = ids
        # What was folded since the newest snapshot: events, or facts where one tells many.
        self._folded = 0

    @property
    def is_far(self) -> bool:
        """Whether asking may take a while, since other hosts write to it too."""
        return bool(self._store.shared_at)

    def is_behind(self) -> bool:
        """Say whether another process appended something since; cheap, asked before every answer."""
        return self._store.mark() != self.mark

    def follow(self) -> None:
        """Fold what was appended since.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read.
        """
        mark = self._store.mark()
        if mark == self.mark:
            return
        if mark.workspace_id != self.mark.workspace_id or mark.position < self.mark.position:
            self._restart(mark, self._store.snapshot() if mark.position else None)
        try:
            self._fold(self._store.read(self.mark.position))
        except MetagitError:
            self.forget()
            raise

    def _restart(self, mark: LedgerMark, snapshot: StoredSnapshot | None) -> None:
        from metagit_mcp.wire.ledger_codec import read_state  # noqa: PLC0415 - a workspace without a ledger needs none of it

        kept = None
        if snapshot is not None and is_of(snapshot, mark):
            kept = read_state(snapshot.version, snapshot.body)
        at = 0 if snapshot is None or kept is None else snapshot.position
        self.state, self.touched = kept or LedgerState(), None
        self.mark = LedgerMark(workspace_id=mark.workspace_id, position=at)
        self._folded = 0

    def forget(self) -> None:
        """Throw the state away, which events were applied to that were not kept; it is read anew."""
        self.state, self.mark, self.touched, self._folded = LedgerState(), LedgerMark(), None, 0

    def _fold(self, stored: Iterable[StoredEvent]) -> None:
        from metagit_mcp.domain.replay import happen, told_by, weight_of  # noqa: PLC0415 - a workspace without a ledger needs none of it
        from metagit_mcp.wire.ledger_codec import read_event  # noqa: PLC0415 - a workspace without a ledger needs none of it

        position = self.mark.position
        for each in stored:
            event = read_event(each.kind, each.version, each.body)
            key = happen(self.state, event)
            self._folded += weight_of(event)
            if self.touched is not None:
                self.touched.update(told_by(event) if key is None else (key, *told_by(event)))
            position = each.position
        self.mark = LedgerMark(workspace_id=self.mark.workspace_id, position=position)

    @contextmanager
    def writing(self) -> Iterator["LedgerTurn"]:
        """Be the one writer for the block; what it let happen is durable when the block ends.

        Raises:
            StoreUnavailable, ReadOnlyWorkspace, StoreCorrupt, StoreTooNew: it cannot be written; nothing happened.
        """
        from metagit_mcp.application.turns.ledger_turn import LedgerTurn  # noqa: PLC0415 - it loads the events and their fold

        try:
            with self._store.writing(self.mark, self._ids.new) as writer:
                if writer.is_other:
                    self._restart(writer.mark, writer.restart)
                news = self._news_of(writer)
                if news:
                    self._fold(news)
                yield LedgerTurn(self.state, writer, self._note)
        except BaseException:
            self.forget()
            raise
        self._keep_snapshot()

    def _news_of(self, writer: LedgerWriter) -> Sequence[StoredEvent]:
        """Return what this state lacks: more than the news where the snapshot that they follow is of no use."""
        if writer.restart is None or writer.restart.position == self.mark.position:
            return writer.news
        return self._store.read(self.mark.position)

    def _note(self, events: int, weight: int, keys: Iterable[NodeKey]) -> None:
        """Take note of events that the writer let happen."""
        self._folded += weight
        if self.touched is not None:
            self.touched.update(keys)
        position = self.mark.position + events
        self.mark = LedgerMark(workspace_id=self.mark.workspace_id, position=position)

    def _keep_snapshot(self) -> None:
        folded = self._folded
        # Counting the items is what this would cost after each turn.
        if folded >= _SNAPSHOT_AFTER and folded >= _EVENTS_PER_ITEM * sum(map(len, self.state.items.values())):
            self.keep_snapshot()

    def keep_snapshot(self) -> None:
        """Keep the state with the ledger that led to it; failing to is harmless. Not within a writer's turn."""
        self._store.keep(snapshot_of(self.state, self.mark))
        self._folded = 0


def snapshot_of(state: LedgerState, mark: LedgerMark) -> StoredSnapshot:
    """Return the state as it is kept with the ledger that led to it."""
    from metagit_mcp.wire.ledger_codec import STATE_VERSION, state_record  # noqa: PLC0415 - a workspace without a ledger needs none of it

    return StoredSnapshot(
        workspace_id=mark.workspace_id, position=mark.position, version=STATE_VERSION, body=state_record(state)
    )


def is_of(snapshot: StoredSnapshot, mark: LedgerMark) -> bool:
    """Say whether a snapshot is one of the ledger that stands at `mark`: any other is passed over."""
    return snapshot.workspace_id == mark.workspace_id and snapshot.position <= mark.position
