"""What next, and how do things stand: the questions about the order of work. Writes nothing but the decision log."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.current import Current, View, known_graph, usable_graph
from metagit_mcp.application.drawing import mermaid
from metagit_mcp.application.next_steps import after_next, is_all_finished
from metagit_mcp.application.standing import status_answer
from metagit_mcp.domain.decision import LoggedDecision, ScheduleDecision, SchedulerEvent
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.ports import DecisionLog, Ids, Keeper, Offload, Warnings
from metagit_mcp.scheduling.cycle import Pick, census, plan
from metagit_mcp.scheduling.explain import decision
from metagit_mcp.scheduling.snapshot import Asker, asker_for
from metagit_mcp.wire.requests import NextRequest, StatusRequest
from metagit_mcp.wire.responses import NextAnswer, ReasonCount, StatusAnswer, WorkspacePlace

_FULL_UP_TO = 3


class Schedule:
    """The use cases of the `schedule` tools."""

    def __init__(
        self,
        place: WorkspacePlace,
        current: Current,
        log: DecisionLog,
        keeper: Keeper,
        ids: Ids,
        offload: Offload,
        caller: Caller,
    ) -> None:
        """Keep the collaborators."""
        self._place = place
        self._current = current
        self._log = log
        self._keeper = keeper
        self._ids = ids
        self._offload = offload
        self._caller = caller

    async def next(self, request: NextRequest) -> NextAnswer:
        """Return the next nodes for the asker; unless it is a preview, log each decision that is new.

        Raises:
            PolicyInvalid, GraphNotFound, GraphInvalid: there is nothing to decide on.
            ReadOnlyWorkspace: the decision log cannot be written; a preview can still be asked for.
        """
        view = await self._current.view()
        if request.graph_id is not None:
            usable_graph(view.image.graphs, request.graph_id)
        asker = self._asker(view, request.agent_id, request.capabilities)
        planned = plan(view.queue, asker, request.limit, request.graph_id)
        counted = census(view.queue, asker, request.graph_id)
        decisions = self._decisions(view, asker, planned.picks, skipped=False)
        skipped = self._decisions(view, asker, planned.skipped, skipped=True)
        warnings = view.image.warnings
        if not request.preview:
            logged, more = await self._offload(lambda: self._logged(view, [*decisions, *skipped]))
            decisions, skipped = logged[: len(decisions)], logged[len(decisions) :]
            warnings += more
        if (request.detail or ("full" if request.limit <= _FULL_UP_TO else "brief")) == "brief":
            decisions, skipped = list(map(_brief, decisions)), list(map(_brief, skipped))
        graphs = _asked_about(view, request.graph_id)
        return NextAnswer(
            decisions=tuple(decisions),
            skipped=tuple(skipped),
            ready_count=counted.ready,
            runnable_count=counted.runnable,
            not_eligible=tuple(
                ReasonCount(reason=kind, nodes=nodes) for kind, nodes in sorted(counted.not_eligible.items()) if nodes
            ),
            all_finished=not decisions and is_all_finished(counted, graphs),
            truncated=False,
            omitted=(),
            state_version=view.image.state_version,
            warnings=warnings,
            next_step=after_next(decisions, counted, graphs),
        )

    async def status(self, request: StatusRequest) -> StatusAnswer:
        """Return how things stand, with the explanation of one node if one is named.

        Raises:
            PolicyInvalid, GraphNotFound, GraphInvalid, NodeNotFound, NodeAmbiguous: nothing to tell of.
        """
        # The log first: a view is used before anything else is waited for, or its queue may be rebuilt meanwhile.
        recent, warnings = await self._offload(lambda: self._log.recent(request.recent, request.graph_id))
        view = await self._current.view()
        if request.graph_id is not None:
            known_graph(view.image.graphs, request.graph_id)
        asker = self._asker(view, None, None)
        return status_answer(view, asker, request, recent, warnings, self._place)

    async def count_runnable(self, graph_id: str | None) -> int:
        """Return how many nodes the caller could start now.

        Raises:
            PolicyInvalid, GraphNotFound, GraphInvalid: there is nothing to count.
        """
        view = await self._current.view()
        if graph_id is not None:
            usable_graph(view.image.graphs, graph_id)
        return census(view.queue, self._asker(view, None, None), graph_id).runnable

    async def mermaid(self, graph_id: str | None) -> str:
        """Return one graph, or all active ones and those that cannot be read, as a Mermaid flowchart in waves.

        Raises:
            GraphNotFound, GraphInvalid: there is nothing to draw.
        """
        image = await self._current.image()
        if graph_id is not None:
            return mermaid([usable_graph(image.graphs, graph_id)])
        found = (loaded for _, loaded in sorted(image.graphs.items()))
        return mermaid([loaded for loaded in found if loaded.graph is None or loaded.graph.status == "active"])

    def _asker(self, view: View, agent_id: str | None, capabilities: Sequence[str] | None) -> Asker:
        own = self._caller.capabilities if capabilities is None else frozenset(capabilities)
        return asker_for(view.policy, agent_id or self._caller.agent_id, own)

    def _decisions(self, view: View, asker: Asker, picks: Sequence[Pick], *, skipped: bool) -> list[ScheduleDecision]:
        return [decision(view.queue, asker, pick, self._ids.new(), at=view.now, skipped=skipped) for pick in picks]

    def _logged(self, view: View, decisions: list[ScheduleDecision]) -> tuple[list[ScheduleDecision], Warnings]:
        """Log the decisions that are new; advice given before at the same state keeps its id (interfaces.md §3)."""
        warnings = self._keeper.remember()
        version = view.image.state_version
        given = {_said(row): row for row in self._log.at_state(version, _LOOK_BACK)}
        answer: list[ScheduleDecision] = []
        fresh: list[ScheduleDecision] = []
        for made in decisions:
            before = given.get(_said(made))
            answer.append(made if before is None else replace(made, decision_id=before.decision_id))
            if before is None:
                fresh.append(replace(made, skipped=bool(made.skipped), state_version=version))
        if fresh:
            warnings += self._log.append(fresh, [self._event(made) for made in fresh])
        return answer, warnings

    def _event(self, made: ScheduleDecision) -> SchedulerEvent:
        return SchedulerEvent(
            event_id=self._ids.new(),
            type="ScheduleSkipped" if made.skipped else "ScheduleDecision",
            at=made.at,
            payload={
                "decision_id": made.decision_id,
                "graph_id": made.graph_id,
                "node_id": made.node_id,
                "score": made.score,
                "skipped": made.skipped,
                "reasons": made.reasons,
            },
        )


# Twice the largest plan with its skipped nodes: an answer repeated at once is always found again.
_LOOK_BACK = 400


def _said(row: ScheduleDecision | LoggedDecision) -> tuple[object, ...]:
    return (row.graph_id, row.node_id, row.agent_id, row.score, row.reasons, bool(row.skipped))


def _asked_about(view: View, graph_id: str | None) -> Collection[LoadedGraph]:
    graphs = view.image.graphs
    return graphs.values() if graph_id is None else (graphs[graph_id],)


def _brief(made: ScheduleDecision) -> ScheduleDecision:
    return replace(made, factors=None, dispatch_hints=None, acl_commands=None, compile_command=None)
