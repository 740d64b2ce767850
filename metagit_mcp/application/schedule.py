"""What next, and how do things stand: the questions about the order of work. Writes nothing but the decision log."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

from metagit_mcp.application.asking import asker_of
from metagit_mcp.application.caller import Caller, asked, looking
from metagit_mcp.application.drawing import mermaid
from metagit_mcp.application.finding import about_group, known_graph, usable_graph
from metagit_mcp.application.next_steps import after_next, is_all_finished
from metagit_mcp.application.own_version import own_version
from metagit_mcp.application.standing import status_answer, without_passing_time
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.shared import View
from metagit_mcp.application.work.leases import Claimed, leases_of
from metagit_mcp.domain.decision import LoggedDecision, ScheduleDecision, SchedulerEvent
from metagit_mcp.domain.place import WorkspacePlace
from metagit_mcp.domain.share_events import PoolRested
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.domain.value import changed
from metagit_mcp.errors import InvalidInput, MetagitError
from metagit_mcp.ports.machine import Ids, Waits
from metagit_mcp.ports.workspace import DecisionLog, Keeper, Warnings
from metagit_mcp.scheduling.cycle import Pick, census, choose, plan
from metagit_mcp.scheduling.explain import decision
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.tally import Census
from metagit_mcp.wire.requests import NextRequest, StatusRequest
from metagit_mcp.wire.responses import NextAnswer, ReasonCount
from metagit_mcp.wire.status_answers import StatusAnswer

_FULL_UP_TO = 3
if TYPE_CHECKING:
    from metagit_mcp.application.turns.turn import Turn
    from metagit_mcp.application.work.claims import Claims

# How often a waiting call looks for work, and tells that it waits.
_LOOK_EVERY_MS = 200
_TELL_EVERY_MS = 5_000
# How often whoever follows the status is told at most.
_STATUS_EVERY_S = 1

# Told of the seconds waited, and of how many it may become.
Progress = Callable[[float, float], Awaitable[None]]
Q = TypeVar("Q", NextRequest, StatusRequest)


class Schedule:
    """The use cases of the `schedule` tools."""

    def __init__(
        self,
        place: WorkspacePlace,
        current: Current,
        log: DecisionLog,
        keeper: Keeper,
        claims: "Callable[[], Claims]",
        ids: Ids,
        waits: Waits,
        caller: Caller,
    ) -> None:
        """Keep the collaborators."""
        self._place = place
        self._current = current
        self._log = log
        self._keeper = keeper
        self._ids = ids
        self._claims = claims
        self._offload, self._sleep = waits.offload, waits.sleep
        self._caller = caller

    async def next(self, request: NextRequest, progress: Progress | None = None) -> NextAnswer:
        """Return the next nodes for the asker, under leases with `claim`; unless it is a preview, log what is new.

        With `wait_seconds` an answer without work waits for some; `progress` is told of the seconds waited.

        Raises:
            InvalidInput: a claim that is to be only a preview.
            AuthForbidden: the caller's role may not ask for this, or not for that agent.
            AuthRequired: its token ended while it waited.
            PolicyInvalid, GraphNotFound, GraphInvalid: there is nothing to decide on.
            AuthStaleSession, ActionIdCollision: the claim is refused.
            ReadOnlyWorkspace: the decision log cannot be written; a preview can still be asked for.
        """
        if request.claim and request.preview:
            raise InvalidInput("claim and preview cannot both be true", hint="Leave one out.", field="preview")
        if request.preview:
            asking = looking(self._caller, request.graph_id)
        else:
            self._caller.named(request.agent_id)
            asking = asked(self._caller, "take_work" if request.claim else "advise", request.graph_id)
        with asking as graph_id, about_group(graph_id):
            return own_version(self._caller, await self._next(_about(request, graph_id), progress))

    async def _next(self, request: NextRequest, progress: Progress | None) -> NextAnswer:
        waited, most = 0, 1000 * min(request.wait_seconds, self._caller.max_wait_seconds)
        while waited < most:
            # A claim is tried before it waits: one that is refused is refused at once.
            if (request.claim and not waited) or await self._has_answer(request):
                answer = await self._once(request, is_first=not waited)
                if answer.decisions or answer.held or _is_full(answer):
                    return answer
                # Another agent was faster.
            step = min(_LOOK_EVERY_MS, most - waited)
            passed = await self._sleep(step / 1000)
            before, waited = waited, waited + (step if passed is None else min(step, max(1, round(passed * 1000))))
            if progress is not None and waited // _TELL_EVERY_MS > before // _TELL_EVERY_MS:
                await progress(waited / 1000, most / 1000)
        return await self._once(request, is_first=not waited)

    async def _once(self, request: NextRequest, *, is_first: bool) -> NextAnswer:
        return await (self._claimed(request, is_first=is_first) if request.claim else self._advised(request))

    async def _has_answer(self, request: NextRequest) -> bool:
        view = await self._current.view()
        self._caller.refuse_ended(self._current.state.tokens, view.now)
        if request.graph_id is not None:
            usable_graph(view.image.graphs, request.graph_id)
        asker = self._asker(view, request.agent_id, request.capabilities, claims=request.claim)
        held = leases_of(view.work, asker.agent_id, request.graph_id)
        if request.claim and (held or request.action_id in view.work.answered):
            return True
        if request.claim:
            # A claim also keeps slots for a wide node, and asks somebody to pause, as soon as that is due.
            choice = choose(view.queue, asker, request.graph_id)
            return choice.pick is not None or any(not isinstance(each, PoolRested) for each in choice.events)
        return bool(plan(view.queue, asker, 1, request.graph_id).picks)

    async def _claimed(self, request: NextRequest, *, is_first: bool) -> NextAnswer:
        from metagit_mcp.application.work.actions import ended_since, once  # noqa: PLC0415 - with the decider, by a command

        taken: list[ScheduleDecision] = []
        claims = self._claims()
        # The same call of another agent is another command.
        agent_id = claims.agent_of(request.agent_id)
        if agent_id != request.agent_id:
            request = changed(request, agent_id=agent_id)
        # One call opens one session, however often it tries.
        trying = request if is_first else changed(request, new_session=False)

        def act(turn: "Turn") -> NextAnswer:
            self._caller.refuse_ended(turn.state.tokens, turn.instant.wall)
            claimed = claims.claim(turn, trying)
            taken[:] = claimed.decisions
            view = turn.view()
            asker = claims.asker(turn, view, agent_id)
            return _answer(view, request, census(view.queue, asker, request.graph_id), claimed)

        def act_once(turn: "Turn") -> NextAnswer:
            answer = once(turn, request.action_id, request, NextAnswer, lambda: act(turn), is_kept=_took)
            leases = (each.lease.lease_id for each in answer.decisions if each.lease is not None)
            return _warned(answer, ended_since(turn.state, request.action_id, leases))

        graph_id = request.graph_id
        answer, warnings = await self._current.command(
            act_once,
            graph_id_of=None if graph_id is None else lambda _: graph_id,
            # Whoever answered first may have been killed before it logged what the reply that is repeated says.
            follow_up=lambda answer: self._log_taken(
                answer.state_version, taken or self._log.unlogged(answer.decisions)
            ),
        )
        return self._detailed(request, _warned(answer, warnings))

    async def _advised(self, request: NextRequest) -> NextAnswer:
        view = await self._current.view()
        if request.graph_id is not None:
            usable_graph(view.image.graphs, request.graph_id)
        asker = self._asker(view, request.agent_id, request.capabilities)
        planned = plan(view.queue, asker, request.limit, request.graph_id)
        counted = census(view.queue, asker, request.graph_id)
        decisions = self._decisions(view, asker, planned.picks, skipped=False)
        skipped = self._decisions(view, asker, planned.skipped, skipped=True)
        answer = _answer(view, request, counted, Claimed(decisions=tuple(decisions)))
        if not request.preview:
            version = view.state_version
            logged, more = await self._offload(lambda: self._logged(version, [*decisions, *skipped]))
            decisions, skipped = logged[: len(decisions)], logged[len(decisions) :]
            answer = _warned(changed(answer, decisions=tuple(decisions)), more)
        return self._detailed(request, changed(answer, skipped=tuple(skipped)) if skipped else answer)

    def _detailed(self, request: NextRequest, answer: NextAnswer) -> NextAnswer:
        if (request.detail or ("full" if request.limit <= _FULL_UP_TO else "brief")) == "full":
            return answer
        return changed(
            answer,
            decisions=tuple(map(_brief, answer.decisions)),
            skipped=tuple(map(_brief, answer.skipped)),
        )

    async def status(self, request: StatusRequest) -> StatusAnswer:
        """Return how things stand, with the explanation of one node if one is named.

        Raises:
            PolicyInvalid, GraphNotFound, GraphInvalid, NodeNotFound, NodeAmbiguous: nothing to tell of.
        """
        with looking(self._caller, request.graph_id) as graph_id, about_group(graph_id):
            return own_version(self._caller, await self._status(_about(request, graph_id)))

    async def _status(self, request: StatusRequest) -> StatusAnswer:
        # The log first: a view is used before anything else is waited for, or its queue may be rebuilt meanwhile.
        recent, warnings = await self._offload(lambda: self._log.recent(request.recent, request.graph_id))
        view = await self._current.view()
        if request.graph_id is not None:
            known_graph(view.image.graphs, request.graph_id)
        asker = self._asker(view, None, None)
        return status_answer(view, asker, request, recent, warnings, self._place)

    async def follow_status(self, request: StatusRequest, tell: Callable[[StatusAnswer], bool]) -> None:
        """Tell how things stand, and again when something changed, until `tell` says that nobody looks on.

        Raises:
            PolicyInvalid, GraphNotFound, GraphInvalid, NodeNotFound, NodeAmbiguous: nothing to tell of.
        """
        before: StatusAnswer | None = None
        while True:
            answer = await self.status(request)
            now = without_passing_time(answer)
            if now != before and not tell(answer):
                return
            before = now
            await self._sleep(_STATUS_EVERY_S)

    async def count_runnable(
        self, graph_id: str | None, agent_id: str | None = None, capabilities: Sequence[str] | None = None
    ) -> int:
        """Return how many nodes the caller, or another agent, could start now, each by itself.

        Raises:
            PolicyInvalid, GraphNotFound, GraphInvalid: there is nothing to count.
        """
        with looking(self._caller, graph_id) as group_id:
            view = await self._current.view()
            if group_id is not None:
                usable_graph(view.image.graphs, group_id)
        return census(view.queue, self._asker(view, agent_id, capabilities), group_id).runnable

    async def mermaid(self, graph_id: str | None) -> str:
        """Return one graph, or all active ones and those that cannot be read, as a Mermaid flowchart in waves.

        Raises:
            GraphNotFound, GraphInvalid: there is nothing to draw.
        """
        with looking(self._caller, graph_id) as group_id:
            image = await self._current.image()
            loaded = None if group_id is None else usable_graph(image.graphs, group_id)
        if loaded is not None:
            return mermaid([loaded])
        found = (each for _, each in sorted(image.graphs.items()))
        return mermaid([each for each in found if each.graph is None or each.graph.status == "active"])

    def _asker(
        self, view: View, agent_id: str | None, capabilities: Sequence[str] | None, *, claims: bool = False
    ) -> Asker:
        return asker_of(self._caller, view, agent_id, capabilities, claims=claims)

    def _decisions(self, view: View, asker: Asker, picks: Sequence[Pick], *, skipped: bool) -> list[ScheduleDecision]:
        return [decision(view.queue, asker, pick, self._ids.new(), at=view.now, skipped=skipped) for pick in picks]

    def _logged(self, version: str, decisions: list[ScheduleDecision]) -> tuple[list[ScheduleDecision], Warnings]:
        """Log the decisions that are new; advice given before at the same state keeps its id (interfaces.md §3)."""
        warnings = self._keeper.remember()
        given = {_said(row): row for row in self._log.at_state(version, _LOOK_BACK)}
        answer: list[ScheduleDecision] = []
        fresh: list[ScheduleDecision] = []
        for made in decisions:
            before = given.get(_said(made))
            answer.append(made if before is None else changed(made, decision_id=before.decision_id))
            if before is None:
                fresh.append(made)
        return answer, warnings + self._log_all(version, fresh)

    def _log_taken(self, version: str, taken: Sequence[ScheduleDecision]) -> Warnings:
        """Log what was taken; the leases stand whether that can be written or not."""
        if not taken:
            return ()
        warnings = self._keeper.remember()
        try:
            return warnings + self._log_all(version, taken)
        except MetagitError as error:
            return (*warnings, f"what was taken stands in no log: {error.message}")

    def _log_all(self, version: str, decisions: Sequence[ScheduleDecision]) -> Warnings:
        """Log decisions that were not logged before."""
        if not decisions:
            return ()
        # The lease is the right to report: it stands in no log.
        rows = [changed(made, skipped=bool(made.skipped), state_version=version, lease=None) for made in decisions]
        return self._log.append(rows, [self._event(made) for made in rows])

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


def _answer(view: View, request: NextRequest, counted: Census, claimed: Claimed) -> NextAnswer:
    graphs = _asked_about(view, request.graph_id)
    return NextAnswer(
        decisions=claimed.decisions,
        held=claimed.held,
        skipped=(),
        ready_count=counted.ready,
        runnable_count=counted.runnable,
        not_eligible=tuple(
            ReasonCount(reason=kind, nodes=nodes) for kind, nodes in sorted(counted.not_eligible.items()) if nodes
        ),
        all_finished=not claimed.decisions and is_all_finished(counted, graphs),
        truncated=False,
        omitted=(),
        state_version=view.state_version,
        warnings=view.warnings_about(request.graph_id),
        next_step=after_next(claimed.decisions, claimed.held, counted, graphs),
    )


def _about(request: Q, graph_id: str | None) -> Q:
    return request if graph_id == request.graph_id else changed(request, graph_id=graph_id)


def _warned(answer: NextAnswer, more: Warnings) -> NextAnswer:
    return changed(answer, warnings=answer.warnings + more) if more else answer


def _is_full(answer: NextAnswer) -> bool:
    """Say whether the asker may hold no more: then no work that comes is for it, and it waits for nothing."""
    return any(each.reason == "agent_slots" for each in answer.not_eligible)


def _took(answer: NextAnswer) -> bool:
    """Say whether a claim took something: that there was nothing is asked anew each time."""
    return bool(answer.decisions)


def _asked_about(view: View, graph_id: str | None) -> Collection[LoadedGraph]:
    graphs = view.image.graphs
    return graphs.values() if graph_id is None else (graphs[graph_id],)


def _brief(made: ScheduleDecision) -> ScheduleDecision:
    return changed(made, factors=None, dispatch_hints=None, acl_commands=None, compile_command=None)
