"""The ledger in the hands of its one writer: what happens is appended and applied at once. Decides nothing."""

from collections.abc import Callable, Iterable

from metagit_mcp.domain.events import Event
from metagit_mcp.domain.evolve import evolve_all
from metagit_mcp.domain.replay import nodes_told, weight_of
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import NodeKey
from metagit_mcp.ports.ledger import GroupInbox, LedgerWriter
from metagit_mcp.wire.ledger_codec import event_record


class LedgerTurn:
    """The writer's turn: the state, and the way to let events happen."""

    def __init__(
        self, state: LedgerState, writer: LedgerWriter, note: Callable[[int, int, Iterable[NodeKey]], None]
    ) -> None:
        """Begin the turn; `note` is told how many events were applied, what they weigh, and which nodes they touch."""
        self._state = state
        self._writer = writer
        self._note = note

    @property
    def workspace_id(self) -> str:
        """The id of the workspace, drawn with its ledger."""
        return self._writer.mark.workspace_id

    def inbox(self, group_id: str) -> GroupInbox:
        """Return the inbox of a Group, for this turn."""
        return self._writer.inbox(group_id)

    def happen(self, events: Iterable[Event]) -> None:
        """Append events and apply them."""
        several = list(events)
        if several:
            self._writer.append([event_record(event) for event in several])
            keys = evolve_all(self._state, several)
            keys.update(key for event in several for key in nodes_told(event))
            self._note(len(several), sum(map(weight_of, several)), keys)
