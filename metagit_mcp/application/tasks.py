"""Writing work down and changing it: task graphs for people and agents who have no other tool. Schedules nothing."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from metagit_mcp.application.authoring import row_id
from metagit_mcp.application.caller import Caller
from metagit_mcp.application.current import Current, find_node, usable_graph
from metagit_mcp.application.graph_change import GraphPlan, PlannedGraph, graph_plan, planned_graph
from metagit_mcp.application.node_change import revised_node
from metagit_mcp.application.records import graph_record, node_record
from metagit_mcp.domain.decision import SchedulerEvent
from metagit_mcp.domain.tasks import OPEN_STATUSES, TaskNode
from metagit_mcp.domain.text import is_agent_id
from metagit_mcp.ports import Clock, DecisionLog, GraphStore, Ids, Offload, Warnings, WorkspaceImage
from metagit_mcp.scheduling.eligibility import instant_text
from metagit_mcp.wire.requests import TaskPlanRequest, TaskUpdateRequest
from metagit_mcp.wire.responses import NodeRecord, TaskListAnswer, TaskPlanAnswer, TaskUpdateAnswer

Json = dict[str, Any]


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
        plan = graph_plan(request)
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
        """
        image = await self._current.image()
        loaded, before = find_node(image.graphs, request.node_id, request.graph_id)
        if request.status == "running" and request.agent_id is None and self._caller.agent_id:
            request = replace(request, agent_id=self._caller.agent_id)
        graph_id, now = loaded.graph_id, self._clock.now()
        changed, warnings = await self._offload(lambda: self._updated(graph_id, request, image, now))
        loaded, node = find_node((await self._current.image()).graphs, request.node_id, graph_id)
        return TaskUpdateAnswer(
            node=node_record(graph_id, node),
            changed=changed,
            warnings=(*loaded.warnings, *warnings, *_deferral(request, node, now), *_other_hands(before, node)),
            next_step="Set it to completed when it is done, or to blocked with blocker_reason."
            if node.status == "running"
            else "metagit_schedule_next gives the next node.",
        )

    def _updated(
        self, graph_id: str, request: TaskUpdateRequest, image: WorkspaceImage, now: datetime
    ) -> tuple[bool, Warnings]:
        """Write the change and its event in one go, as `_planned` does; return whether there was one."""
        outcome: list[tuple[Json, Json]] = []

        def change(record: Json | None) -> Json | None:
            before, after, revised = revised_node(graph_id, record, request, image, now)
            outcome.append((before, after))
            return revised

        warnings = self._store.revise(graph_id, change)
        before, after = outcome[-1]
        status = str(after.get("status"))
        if before.get("status") != status and status in _EVENTS:
            event = self._event(_EVENTS[status], {"graph_id": graph_id, "node_id": request.node_id}, now)
            warnings += self._log.append_task_events([event])
        return before != after, warnings

    async def list(self, graph_id: str | None, status: str | None) -> TaskListAnswer:
        """Return one graph or all, with their nodes, or only those of one status.

        Raises:
            GraphNotFound, GraphInvalid: the named graph is missing or unusable.
        """
        graphs = (await self._current.image()).graphs
        chosen = [usable_graph(graphs, graph_id)] if graph_id is not None else [graphs[name] for name in sorted(graphs)]
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
        loaded, node = find_node((await self._current.image()).graphs, node_id, graph_id)
        return node_record(loaded.graph_id, node)


def _deferral(request: TaskUpdateRequest, node: TaskNode, now: datetime) -> Iterator[str]:
    """Say so when a node is set to an open status that its not_before overrules."""
    if request.status in OPEN_STATUSES and node.not_before is not None and node.not_before > now:
        yield f"not_before keeps it waiting until {instant_text(node.not_before)}; clear it to let the node start"


def _other_hands(before: TaskNode, node: TaskNode) -> Iterator[str]:
    """Say so when another agent than the one that started the node ends its run."""
    starter = before.agent_id
    if before.status == "running" != node.status and starter and node.agent_id != starter and is_agent_id(starter):
        yield f"the node was started by {starter}"


# The types that the task graph tools know; they have none for a node that is set back to pending.
_EVENTS = {
    "ready": "TaskReady",
    "running": "TaskStarted",
    "blocked": "TaskBlocked",
    "completed": "TaskCompleted",
    "cancelled": "TaskCancelled",
}
