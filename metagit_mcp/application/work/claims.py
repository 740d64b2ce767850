"""Taking work: a claim of what is next, and a start of one named node. Knows ports, never adapters."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.finding import find_node, usable_graph
from metagit_mcp.application.next_steps import approve_command, by_person, make_room
from metagit_mcp.application.turns.shared import View
from metagit_mcp.application.turns.turn import Turn
from metagit_mcp.application.work.leases import Attended, Claimed, lease_record, leases_of
from metagit_mcp.domain.admission import declined, lease_term
from metagit_mcp.domain.commands import Against, Enter, StartWork
from metagit_mcp.domain.decision import LeaseRecord, ScheduleDecision
from metagit_mcp.domain.policy import budget_for, is_reviewed, slots_of_agent
from metagit_mcp.domain.projection import row_instant
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import changed
from metagit_mcp.domain.work import ExecutionLease, WorkItem
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.machine import Ids
from metagit_mcp.scheduling.capabilities import asker_for
from metagit_mcp.scheduling.cycle import Pick, choose, dispatch_of, holding_of, reasons_against, unsettled
from metagit_mcp.scheduling.eligibility import within_group
from metagit_mcp.scheduling.explain import decision, dispatch_hints
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.wire.requests import NextRequest, WorkStartRequest
from metagit_mcp.wire.responses import OwnershipRecord, WorkStartAnswer


class Claims:
    """The turns in which an agent takes work."""

    def __init__(self, caller: Caller, ids: Ids, attended: Attended) -> None:
        """Keep who calls where a call does not say it."""
        self._caller = caller
        self._ids = ids
        self._attended = attended

    def agent_of(self, agent_id: str | None) -> str:
        """Return who takes work where a call says this."""
        return agent_id or self._caller.claims_as

    def enter(self, turn: Turn, agent_id: str | None, capabilities: Sequence[str] | None, *, new_session: bool) -> str:
        """Let the agent in, and return its id.

        Raises:
            AuthStaleSession: another server claims under this id.
        """
        name = self.agent_of(agent_id)
        given = self._caller.capabilities if capabilities is None else frozenset(capabilities)
        command = Enter(
            agent_id=name,
            new_session=new_session,
            capabilities=None if given is None else tuple(sorted(given)),
            holder=self._caller.holder if name == self._caller.claims_as else None,
        )
        turn.decide(command)
        turn.opened_session = new_session
        return name

    def asker(self, turn: Turn, view: View, agent_id: str) -> Asker:
        """Return the asker, with what its session remembers of what it can do."""
        known = turn.state.sessions[agent_id].capabilities
        return asker_for(view.policy, agent_id, None if known is None else frozenset(known))

    def claim(self, turn: Turn, request: NextRequest) -> Claimed:
        """Take up to `limit` nodes, at most as many as the agent has slots free, one after another."""
        view = turn.view()
        if request.graph_id is not None:
            usable_graph(view.image.graphs, request.graph_id)
        # Before anything happens: a claim that is refused ends no session.
        lease_term(request.lease_seconds, view.policy, attended=self._caller.attended)
        agent_id = self.enter(turn, request.agent_id, request.capabilities, new_session=request.new_session)
        view = self._settled(turn)
        held = leases_of(turn.state, agent_id)
        free = slots_of_agent(view.policy, agent_id) - len(held)
        taken: list[ScheduleDecision] = []
        while len(taken) < min(request.limit, free):
            pick = self._next(turn, agent_id, request.graph_id)
            if pick is None:
                break
            view = turn.view()
            asker = self.asker(turn, view, agent_id)
            taken.append(self._take(turn, view, asker, pick, request.lease_seconds))
        told = held if request.graph_id is None else [each for each in held if each.graph_id == request.graph_id]
        return Claimed(decisions=tuple(taken), held=tuple(self._record(turn, lease) for lease in told))

    def _next(self, turn: Turn, agent_id: str, graph_id: str | None) -> Pick | None:
        """Return what the agent gets next, after what is to be known before, and what comes with the choice."""
        view = self._settled(turn)
        choice = choose(view.queue, self.asker(turn, view, agent_id), graph_id)
        turn.happen(choice.events)
        return choice.pick

    @staticmethod
    def _settled(turn: Turn) -> View:
        """Return the view after all that a start must know of has happened."""
        view = turn.view()
        news = unsettled(view.queue, turn.instant)
        if not news:
            return view
        turn.happen(news)
        return turn.view()

    def _take(self, turn: Turn, view: View, asker: Asker, pick: Pick, lease_seconds: int | None) -> ScheduleDecision:
        made = decision(view.queue, asker, pick, self._ids.new(), at=view.now)
        command = self._command(turn, view, asker, pick.graph_id, pick.node, pick)
        lease = self._granted(turn, changed(command, lease_seconds=lease_seconds))
        return changed(made, lease=self._record(turn, lease))

    def _command(
        self, turn: Turn, view: View, asker: Asker, graph_id: str, node: TaskNode, pick: Pick | None = None
    ) -> StartWork:
        dispatch = dispatch_of(view.queue, asker, graph_id, node, pick)
        row = turn.row((graph_id, node.node_id))
        return StartWork(
            graph_id=graph_id,
            node_id=node.node_id,
            agent_id=asker.agent_id,
            holding=holding_of(view.queue, asker, graph_id, node),
            budget=self._budget(turn, view, graph_id, node),
            attended=self._caller.attended,
            # In a Group its Coordinator judges the result.
            review=view.image.graphs[graph_id].is_fed or is_reviewed(view.policy, graph_id),
            finish_by=node.deadline,
            runtime_seconds=node.estimated_runtime_seconds or 0,
            seen_at=None if row is None else row_instant(row.updated_at),
            dispatch=changed(dispatch, policy_revision=view.image.revision),
            preemptible=node.preemptible is not False,
        )

    @staticmethod
    def _budget(turn: Turn, view: View, graph_id: str, node: TaskNode) -> Mapping[str, int] | None:
        """Return what the node may use; of a Group's budget no more than its log says is left."""
        budget, item = budget_for(view.policy, graph_id, node.budget), turn.state.item((graph_id, node.node_id))
        left = None if item is None or item.fed is None else item.fed.left
        if item is None or not left:
            return budget
        own = budget or {}
        rest = {name: getattr(item.spent, name) + each for name, each in left.items()}
        return {**own, **{name: min(each, own.get(name, each)) for name, each in rest.items()}}

    def _granted(self, turn: Turn, command: StartWork) -> ExecutionLease:
        item = turn.state.item(command.key)
        before = None if item is None else item.lease_id
        lease_id = self._decided(turn, command)
        if lease_id is None:  # pragma: no cover - a start that is not refused has a lease
            raise AssertionError
        # A lease that was there already follows the connection through which it was granted.
        if command.attended and lease_id != before:
            self._attended.lease_ids.add(lease_id)
        return turn.state.leases[lease_id]

    def _decided(self, turn: Turn, command: StartWork) -> str | None:
        """Carry the start out; where it is refused after a new session was opened, say that too."""
        before = turn.opened_session
        try:
            return turn.decide(command)
        except MetagitError as error:
            if "awaiting_approval" in _reasons(error):
                approval = by_person("awaiting_approval", approve_command(command.graph_id, command.node_id))
                error.hint = f"{approval} {error.hint}"
            if not before:
                raise
            after = f"The new session of {command.agent_id} is open all the same: what it worked on is queued."
            raise type(error)(f"{error.message} {after}", hint=error.hint, **error.details, new_session=True) from None

    def _record(self, turn: Turn, lease: ExecutionLease) -> LeaseRecord:
        return lease_record(lease, turn.state, turn.policy, turn.workspace_id)

    def start(self, turn: Turn, request: WorkStartRequest) -> WorkStartAnswer:
        """Take one named node, to work on it now or later.

        Raises:
            NodeNotFound, NodeAmbiguous, GraphNotFound, GraphInvalid, PolicyInvalid: there is no such node to take.
            WorkAlreadyOwned, NodeNotEligible, CapacityExceeded, AuthStaleSession: it is refused.
        """
        view = turn.view()
        loaded, found = find_node(view.image.graphs, request.node_id, request.graph_id)
        graph_id = loaded.graph_id
        lease_term(request.lease_seconds, view.policy, attended=self._caller.attended)
        agent_id = self.enter(turn, request.agent_id, None, new_session=request.new_session)
        view = self._settled(turn)
        asker = self.asker(turn, view, agent_id)
        node = view.queue.groups[graph_id].rules.shape.by_id[found.node_id]
        against = reasons_against(view.queue, asker, graph_id, node)
        command = changed(
            self._command(turn, view, asker, graph_id, node),
            against=tuple(Against(kind=each.kind, text=each.text) for each in within_group(against)),
            queue_only=request.queue_only,
            lease_seconds=request.lease_seconds,
        )
        hints = dispatch_hints(view.queue, asker, graph_id, node)
        # Nothing of another Group stands in an answer under a lease (work.md §4).
        warnings = loaded.warnings
        if not request.queue_only or turn.state.lease_on(command.key, agent_id) is not None:
            record = self._record(turn, self._granted(turn, command))
            step = make_room(record.lease_id) if record.preempt_requested else _WORK
            return WorkStartAnswer(lease=record, dispatch_hints=hints, warnings=warnings, next_step=step)
        owned = self._owned(turn, command)
        return WorkStartAnswer(ownership=owned, dispatch_hints=hints, warnings=warnings, next_step=_START_LATER)

    def _owned(self, turn: Turn, command: StartWork) -> OwnershipRecord:
        """Accept a node to start it later; the Group that offered it is told where that is refused."""
        try:
            self._decided(turn, command)
        except MetagitError as error:
            turn.happen(declined(turn.state, command, turn.instant.wall, error.details.get("reason")))
            raise
        item = turn.state.items[command.graph_id][command.node_id]
        return OwnershipRecord(
            graph_id=command.graph_id,
            node_id=command.node_id,
            agent_id=command.agent_id,
            ownership_epoch=item.ownership_epoch,
            start_by=_start_by(item) or turn.instant.wall,
        )


def _reasons(error: MetagitError) -> Sequence[str]:
    reasons = error.details.get("reasons")
    return reasons if isinstance(reasons, list) else ()


def _start_by(item: WorkItem) -> datetime | None:
    """Return until when the owner has to start, as is known here or as its Group's log says."""
    ends = (None if item.until is None else item.until.at, None if item.fed is None else item.fed.until)
    return min((each for each in ends if each is not None), default=None)


_WORK = (
    "Do the work. Then metagit_work_report with this lease_id: completed with a result, or blocked or failed with a "
    "note; running now and then keeps the lease."
)
_START_LATER = "Start it with metagit_work_start before start_by."
