"""A command's turn as the one writer: what is there, and the way to let events happen. Decides nothing itself."""

from collections.abc import Iterable

from metagit_mcp.application.turns.ledger_turn import LedgerTurn
from metagit_mcp.application.turns.shared import Shared, View
from metagit_mcp.domain.decide import Command, decide
from metagit_mcp.domain.events import Event
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.work import NodeKey
from metagit_mcp.ports.ledger import GroupInbox
from metagit_mcp.ports.machine import Ids
from metagit_mcp.ports.workspace import WorkspaceImage


class Turn:
    """The state with what happened in this turn; the queue follows each event at once."""

    def __init__(self, shared: Shared, writer: LedgerTurn, ids: Ids) -> None:
        """Begin, with everything in it that happened without a command."""
        self.instant = shared.clock.instant()
        # Whether the call ended a session and opened the next one.
        self.opened_session = False
        self._shared = shared
        self._writer = writer
        self._ids = ids
        # The Groups fed by Events of which something may be other than before.
        self.fed_groups: set[str] = set()
        # Files are read before and after a turn, and its instant stays: only an event makes another view.
        self._view: View | None = None
        self.happen(shared.unwritten_events(self.instant))

    @property
    def state(self) -> LedgerState:
        """The state of all work."""
        return self._shared.ledger.state

    @property
    def workspace_id(self) -> str:
        """The id of the workspace."""
        return self._writer.workspace_id

    @property
    def image(self) -> WorkspaceImage:
        """What the files say."""
        return self._shared.image

    @property
    def policy(self) -> SchedulePolicy:
        """The policy; where it cannot be used, the last one that could: reports never need it (interfaces.md §1)."""
        return self._shared.policy

    def view(self) -> View:
        """Return the view of this turn.

        Raises:
            PolicyInvalid: policy.json cannot be used.
        """
        if self._view is None:
            self._view = self._shared.view(self.instant, in_turn=True)
        return self._view

    def row(self, key: NodeKey) -> TaskNode | None:
        """Return a node as its file says it, or None: no file has it."""
        return self._shared.reconciliation.row(self._shared.filed, key)

    def inbox(self, group_id: str) -> GroupInbox:
        """Return the inbox of a Group that is fed by Events."""
        return self._writer.inbox(group_id)

    def happen(self, events: Iterable[Event]) -> None:
        """Let events happen."""
        several = tuple(events)
        if several:
            self._view = None
            self._writer.happen(several)
            if self.state.feeds:
                touched = self._shared.ledger.touched or ()
                self.fed_groups.update(graph_id for graph_id, _ in touched if graph_id in self.state.feeds)
            self._shared.follow_ledger()

    def decide(self, command: Command) -> str | None:
        """Carry out a command; return the id of the lease that it is about.

        Raises:
            MetagitError: it is refused. What the refusal rests on has happened all the same.
        """
        decided = decide(self.state, command, self.policy, self.instant, self._ids.new)
        self.happen(decided.events)
        if decided.refusal is not None:
            raise decided.refusal
        return decided.lease_id
