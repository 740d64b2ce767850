"""Writing work down and changing it: task graphs for people and agents who have no other tool. Schedules nothing."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from metagit_mcp.application.caller import Caller, asked, looking
from metagit_mcp.application.finding import find_node, usable_graph
from metagit_mcp.application.next_steps import approve_command
from metagit_mcp.application.records import graph_record, node_record
from metagit_mcp.application.rows import row_id
from metagit_mcp.application.tasks.graph_change import GraphPlan, PlannedGraph, graph_plan, planned_graph
from metagit_mcp.application.tasks.node_change import revised_node
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.write_back import TASK_EVENTS, projected
from metagit_mcp.domain.approval import is_approved, needed_epoch, needs_approval
from metagit_mcp.domain.decision import SchedulerEvent
from metagit_mcp.domain.instant import instant_text
from metagit_mcp.domain.policy import SchedulePolicy, is_reviewed
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import FINISHED_STATUSES, OPEN_STATUSES, TaskNode
from metagit_mcp.domain.text import is_agent_id
from metagit_mcp.domain.work import WorkItem
from metagit_mcp.errors import ApprovalRequired, AuthForbidden, GraphExists, WorkAlreadyOwned
from metagit_mcp.ports.machine import Clock, Ids, Offload
from metagit_mcp.ports.workspace import DecisionLog, GraphStore, Warnings, WorkspaceImage
from metagit_mcp.wire.requests import TaskPlanRequest, TaskUpdateRequest
from metagit_mcp.wire.responses import NodeRecord, TaskListAnswer, TaskPlanAnswer, TaskUpdateAnswer

if TYPE_CHECKING:
    from metagit_mcp.application.turns.turn import Turn

Json = dict[str, Any]
_STEP = timedelta(microseconds=1)


class Tasks:
    """The use cases of the `task` tools."""

    def __init__(
        self,
        current: Current,
        store: GraphStore,
        log: DecisionLog,
        clock: Clock,
        ids: Ids,
        offload: Offload,
        caller: Caller,
    ) -> None:
        """Keep the collaborators."""
        self._caller = caller
        self._current = current
        self._store = store
        self._log = log
        self._clock = clock
        self._ids = ids
        self._offload = offload

    async def plan(self, request: TaskPlanRequest) -> TaskPlanAnswer:
        """Create a graph, or add nodes to one; never replaces anything.

        Raises:
            InvalidInput, UnknownDependency, GraphCycle: the plan is refused as a whole.
            GraphExists: a graph of this title is there and no graph_id says to add to it.
            GraphInvalid, ReadOnlyWorkspace, StoreUnavailable: it cannot be written.
        """
        with asked(self._caller, "plan_work", request.graph_id) as graph_id:
            plan = graph_plan(request if graph_id == request.graph_id else replace(request, graph_id=graph_id))
        refuse_fed(await self._current.image(), plan.graph_id)
        made, warnings = await self._offload(lambda: self._planned(plan, self._clock.now()))
        loaded = usable_graph((await self._current.image()).graphs, plan.graph_id)
        return TaskPlanAnswer(
            graph=graph_record(loaded, made.added),
            created=made.created,
            added=len(made.added),
            truncated=False,
            omitted=(),
            warnings=loaded.warnings + warnings,
            next_step="metagit_schedule_next gives the first node to start.",
        )

    def _planned(self, plan: GraphPlan, now: datetime) -> tuple[PlannedGraph, Warnings]:
        """Write the plan and its events in one go: a call that is given up meanwhile leaves both or neither."""
        outcome: list[PlannedGraph] = []

        def change(record: Json | None) -> Json | None:
            outcome.append(planned_graph(plan, record, now))
            return outcome[-1].record

        warnings = self._store.revise(plan.graph_id, change)
        made = outcome[-1]
        return made, warnings + self._log.append_task_events(self._planned_events(plan.graph_id, made, now))

    def _planned_events(self, graph_id: str, made: PlannedGraph, now: datetime) -> list[SchedulerEvent]:
        added = set(made.added)
        titles = {name: row["title"] for row in made.record["nodes"] if (name := row_id(row)) in added}
        events: list[tuple[str, Json]] = [("TaskGraphCreated", {"title": made.record["title"]})] if made.created else []
        events += [("TaskNodeCreated", {"node_id": name, "title": titles[name]}) for name in made.added]
        return [self._event(kind, {"graph_id": graph_id, **payload}, now) for kind, payload in events]

    def _event(self, kind: str, payload: Json, now: datetime) -> SchedulerEvent:
        return SchedulerEvent(event_id=self._ids.new(), type=kind, at=now, payload=payload)

    async def update(self, request: TaskUpdateRequest) -> TaskUpdateAnswer:
        """Change one node under its file's lock.

        Raises:
            NodeNotFound, NodeAmbiguous, GraphNotFound, GraphInvalid: no such node.
            InvalidInput, UnknownDependency, GraphCycle, AuthForbidden: the change is refused, nothing is written.
            NodeNotEligible, PolicyInvalid: status=running on a node that may not, or not be known to, be started.
            RevisionConflict: the node changed since it was read.
            WorkAlreadyOwned, InvalidStateTransition: the status is its holder's to report, or a reviewer's to give.
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read or written.
        """
        image = await self._current.image()
        with asked(self._caller, "plan_work", request.graph_id) as group_id:
            loaded, before = find_node(image.graphs, request.node_id, group_id)
        self._caller.named(request.agent_id)
        refuse_fed(image, loaded.graph_id)
        if request.status == "running" and request.agent_id is None and self._caller.agent_id:
            request = replace(request, agent_id=self._caller.agent_id)
        self._refuse_self_approval(image, loaded.graph_id, before, request)
        graph_id, now = loaded.graph_id, self._clock.now()
        if self._current.has_ledger:
            # A coordinator is warned of nothing that happened to other Groups (work.md §4).
            is_scoped = self._caller.role == "coordinator"
            (changed, warnings), more = await self._current.command(
                lambda turn: self._updated_in_turn(turn, graph_id, request),
                graph_id_of=(lambda _: graph_id) if is_scoped else None,
            )
            warnings += more
        else:
            nobody = LedgerState()
            changed, warnings = await self._offload(lambda: self._updated(graph_id, request, image, nobody, now))
        loaded, node = find_node((await self._current.image()).graphs, request.node_id, graph_id)
        return TaskUpdateAnswer(
            node=node_record(graph_id, node),
            changed=changed,
            warnings=(*loaded.warnings, *warnings, *_deferral(request, node, now), *_other_hands(before, node)),
            next_step="Set it to completed when it is done, or to blocked with blocker_reason."
            if node.status == "running"
            else "metagit_schedule_next gives the next node.",
        )

    def _refuse_self_approval(
        self, image: WorkspaceImage, graph_id: str, node: TaskNode, request: TaskUpdateRequest
    ) -> None:
        """Refuse an agent to call work done that a person has to approve first, or to review after.

        Raises:
            ApprovalRequired, AuthForbidden: the agent is no operator.
        """
        if request.status != "completed" or self._caller.surface == "cli" or self._caller.operator is not None:
            return
        policy, work = image.policy or SchedulePolicy(), self._current.state
        item = work.item((graph_id, node.node_id))
        if item is not None and item.state == "submitted":
            # What only its review ends is refused as such.
            return
        given = (*image.approvals.get(graph_id, ()), *work.approvals.get(graph_id, ()))
        mine = [each for each in given if each.node_id == node.node_id]
        if needs_approval(node, policy.gates) and not is_approved(node, mine, needed_epoch(item)):
            raise ApprovalRequired(
                f"A person approves node {node.node_id} before it is done.",
                hint=f"Ask for it: {approve_command(graph_id, node.node_id)}.",
                node_id=node.node_id,
            )
        if is_reviewed(policy, graph_id):
            raise AuthForbidden(
                f"Finished work of graph {graph_id} is reviewed by a person.",
                hint="Take the node with metagit_work_start and report it completed under its lease.",
                node_id=node.node_id,
            )

    def _updated_in_turn(self, turn: "Turn", graph_id: str, request: TaskUpdateRequest) -> tuple[bool, Warnings]:
        """Change the node while nobody can claim it, on top of what the ledger says of it."""
        from metagit_mcp.domain.verdict import refuse_trigger, story  # noqa: PLC0415 - there is a ledger

        item = turn.state.item((graph_id, request.node_id))
        if item is not None and _is_kept_from(request.status, item):
            raise WorkAlreadyOwned(
                f"Node {request.node_id} is {'leased' if item.lease_id else 'owned'} by {item.owner}.",
                hint="Its holder reports under the lease. A person takes it back: "
                f"metagit-mcp work release {request.node_id} --force.",
                graph_id=graph_id,
                node_id=request.node_id,
                **story(item),
            )
        if item is not None and item.state == "submitted" and request.status not in {None, "cancelled"}:
            # Only a review ends it or opens it again: whoever did the work could pass it otherwise.
            refuse_trigger(item, graph_id, request.node_id, "open_elsewhere")
        now = turn.instant.wall if item is None else max(turn.instant.wall, item.changed_at + _STEP)
        return self._updated(graph_id, request, turn.image, turn.state, now)

    def _updated(
        self, graph_id: str, request: TaskUpdateRequest, image: WorkspaceImage, work: LedgerState, now: datetime
    ) -> tuple[bool, Warnings]:
        """Write the change and its event in one go, as `_planned` does; return whether there was one."""
        outcome: list[tuple[Json, Json]] = []
        # What was due to be written back goes into the file with the change.
        due: list[tuple[str, str]] = []

        def change(record: Json | None) -> Json | None:
            base, due[:] = projected(record, work, graph_id) or (record, ())
            before, after, revised = revised_node(graph_id, base, request, image, now, work)
            outcome.append((before, after))
            return revised

        warnings = self._store.revise(graph_id, change)
        before, after = outcome[-1]
        if before != after and due:
            written = [(TASK_EVENTS[each], {"graph_id": graph_id, "node_id": name}) for name, each in due]
            warnings += self._log.append_task_events([self._event(kind, told, now) for kind, told in written])
        status = str(after.get("status"))
        if before.get("status") != status and status in TASK_EVENTS:
            event = self._event(TASK_EVENTS[status], {"graph_id": graph_id, "node_id": request.node_id}, now)
            warnings += self._log.append_task_events([event])
        return before != after, warnings

    async def list(self, graph_id: str | None, status: str | None) -> TaskListAnswer:
        """Return one graph or all, with their nodes, or only those of one status.

        Raises:
            GraphNotFound, GraphInvalid: the named graph is missing or unusable.
        """
        graphs = (await self._current.image()).graphs
        with looking(self._caller, graph_id) as group_id:
            named = None if group_id is None else usable_graph(graphs, group_id)
        chosen = [named] if named is not None else [graphs[name] for name in sorted(graphs)]
        return TaskListAnswer(
            graphs=tuple(
                graph_record(loaded, [n.node_id for n in loaded.graph.nodes if status is None or n.status == status])
                for loaded in chosen
                if loaded.graph is not None
            ),
            warnings=tuple(warning for loaded in chosen for warning in loaded.warnings),
        )

    async def show(self, node_id: str, graph_id: str | None) -> NodeRecord:
        """Return one node.

        Raises:
            NodeNotFound, NodeAmbiguous, GraphNotFound, GraphInvalid: no such node.
        """
        with looking(self._caller, graph_id) as group_id:
            loaded, node = find_node((await self._current.image()).graphs, node_id, group_id)
        return node_record(loaded.graph_id, node)


def refuse_fed(image: WorkspaceImage, graph_id: str) -> None:
    """Refuse to write down what a Group's own log says.

    Raises:
        GraphExists: the graph is a Group that is fed by Events.
    """
    loaded = image.graphs.get(graph_id)
    if loaded is not None and loaded.is_fed:
        raise GraphExists(
            f"{graph_id} is a Group that is fed by Events: its Coordinator plans its work.",
            hint="Name another graph.",
            graph_id=graph_id,
        )


def _is_kept_from(status: str | None, item: WorkItem) -> bool:
    """Say whether the node is another's: nobody changes the status of leased work, or ends work that is owned."""
    if status is None:
        return False
    return item.state == "active" or (item.state == "queued" and status in FINISHED_STATUSES)


def _deferral(request: TaskUpdateRequest, node: TaskNode, now: datetime) -> Iterator[str]:
    """Say so when a node is set to an open status that its not_before overrules."""
    if request.status in OPEN_STATUSES and node.not_before is not None and node.not_before > now:
        yield f"not_before keeps it waiting until {instant_text(node.not_before)}; clear it to let the node start"


def _other_hands(before: TaskNode, node: TaskNode) -> Iterator[str]:
    """Say so when another agent than the one that started the node ends its run."""
    starter = before.agent_id
    if before.status == "running" != node.status and starter and node.agent_id != starter and is_agent_id(starter):
        yield f"the node was started by {starter}"
