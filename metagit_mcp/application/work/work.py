"""What agents and people do with single nodes: start, report, approve, review, take back, try again, pause.

Each is one turn as the ledger's one writer, and then the graph files are brought in step. Knows no file.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.finding import about_group, ambiguous, find_node
from metagit_mcp.application.next_steps import after_report
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.turn import Turn
from metagit_mcp.application.work.actions import ended_since, once
from metagit_mcp.application.work.claims import Claims
from metagit_mcp.application.work.leases import budget_figures, lease_record
from metagit_mcp.domain.commands import (
    CheckpointGiven,
    RateLimited,
    ReportWork,
    RetryWork,
    ReviewResult,
    RevokeOwnership,
)
from metagit_mcp.domain.decide import Command
from metagit_mcp.domain.projection import is_parked_elsewhere, row_instant
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.verdict import no_such_lease
from metagit_mcp.domain.work import USAGE_NAMES, ExecutionLease, NodeKey, Result, Usage
from metagit_mcp.errors import GraphInvalid, GraphNotFound, NodeNotFound, PolicyInvalid
from metagit_mcp.scheduling.cycle import unsettled
from metagit_mcp.wire.requests import GivenUsage, WorkReportRequest, WorkStartRequest
from metagit_mcp.wire.responses import WorkReportAnswer, WorkStandingAnswer, WorkStartAnswer

L = TypeVar("L", WorkStartAnswer, WorkReportAnswer)
R = TypeVar("R", WorkStartAnswer, WorkReportAnswer, WorkStandingAnswer)


class Work:
    """The use cases of the `work` tools."""

    def __init__(self, current: Current, claims: Claims, caller: Caller) -> None:
        """Keep the collaborators."""
        self._current = current
        self._caller = caller
        self._claims = claims

    async def _in_turn(self, act: Callable[[Turn], R]) -> R:
        """Return the answer with the warnings about its own Group: nothing of another stands in it (work.md §4)."""
        answer, warnings = await self._current.command(act, _graph_of)
        return replace(answer, warnings=answer.warnings + warnings)

    async def start(self, request: WorkStartRequest) -> WorkStartAnswer:
        """Take one named node, to work on it now or later.

        Raises:
            NodeNotFound, NodeAmbiguous, GraphNotFound, GraphInvalid, PolicyInvalid: there is no such node to take.
            WorkAlreadyOwned, NodeNotEligible, CapacityExceeded, AuthStaleSession, ActionIdCollision: it is refused.
            AuthForbidden: the caller's role may not take work, or not for that agent.
            ReadOnlyWorkspace, StoreUnavailable, StoreCorrupt: the ledger cannot be written.
        """
        self._caller.allow("take_work")
        self._caller.named(request.agent_id)
        # The same call of another agent is another command.
        known = replace(request, agent_id=self._claims.agent_of(request.agent_id))

        def act(turn: Turn) -> WorkStartAnswer:
            answer = once(turn, known.action_id, known, WorkStartAnswer, lambda: self._claims.start(turn, known))
            return _honest(turn, known.action_id, answer)

        with about_group(request.graph_id or ""):
            return await self._in_turn(act)

    async def report(self, request: WorkReportRequest) -> WorkReportAnswer:
        """Say how the work under a lease stands; needs neither policy nor graph file.

        Raises:
            LeaseNotFound, WorkLeaseExpired, WorkStaleOwnership, AuthStaleSession: the lease is not live.
            AuthForbidden, InvalidInput, BudgetExceeded, ActionIdCollision: the report is refused.
            ReadOnlyWorkspace, StoreUnavailable, StoreCorrupt: the ledger cannot be written.
        """
        self._caller.allow("take_work")

        def act(turn: Turn) -> WorkReportAnswer:
            self._refuse_foreign_lease(turn.state, request.lease_id)
            answer = once(turn, request.action_id, request, WorkReportAnswer, lambda: _reported(turn, request))
            return _honest(turn, request.action_id, answer)

        return await self._in_turn(act)

    def _refuse_foreign_lease(self, state: LedgerState, lease_id: str) -> None:
        """Say nothing of a lease to a caller who may not speak for its holder.

        Raises:
            LeaseNotFound: as if it were not there.
        """
        lease = state.leases.get(lease_id) or state.closed.get(lease_id)
        if lease is not None and not self._caller.speaks_for(lease.agent_id):
            raise no_such_lease(LedgerState(), lease_id)

    async def review(
        self, node_id: str, graph_id: str | None, by: str, *, accept: bool, note: str
    ) -> WorkStandingAnswer:
        """Accept or reject a submitted result.

        Raises:
            InvalidStateTransition, NodeNotFound, NodeAmbiguous: there is no result to judge.
            AuthForbidden: the caller's role may not.
        """
        self._caller.allow("judge")
        return await self._in_turn(
            lambda turn: _stood(
                turn,
                (node_id, graph_id),
                by,
                lambda found, node: ReviewResult(graph_id=found, node_id=node, by=by, accept=accept, note=note),
            )
        )

    async def release(self, node_id: str, graph_id: str | None, by: str, note: str) -> WorkStandingAnswer:
        """Take a node from whoever has it; its lease is fenced.

        Raises:
            InvalidStateTransition, NodeNotFound, NodeAmbiguous: nobody has it.
            AuthForbidden: the caller's role may not.
        """
        self._caller.allow("judge")
        return await self._in_turn(
            lambda turn: _stood(
                turn,
                (node_id, graph_id),
                by,
                lambda found, node: RevokeOwnership(graph_id=found, node_id=node, by=by, note=note),
            )
        )

    async def retry(self, node_id: str, graph_id: str | None, by: str) -> WorkStandingAnswer:
        """Let a parked node be tried again.

        Raises:
            InvalidStateTransition, NodeNotFound, NodeAmbiguous: it is not parked.
            AuthForbidden: the caller's role may not.
        """
        self._caller.allow("judge")
        return await self._in_turn(
            lambda turn: _stood(turn, (node_id, graph_id), by, lambda found, node: _retry_of(turn, (found, node), by))
        )


def _honest(turn: Turn, action_id: str | None, answer: L) -> L:
    """Return an answer with a warning where its lease has ended since it was first given."""
    more = ended_since(turn.state, action_id, () if answer.lease is None else (answer.lease.lease_id,))
    return replace(answer, warnings=answer.warnings + more) if more else answer


def _retry_of(turn: Turn, key: NodeKey, by: str) -> RetryWork:
    retry = RetryWork(graph_id=key[0], node_id=key[1], by=by)
    row = turn.row(key)
    if row is None or not is_parked_elsewhere(turn.state.item(key), row):
        return retry
    return replace(retry, is_parked_elsewhere=True, seen_at=row_instant(row.updated_at))


def _graph_of(answer: WorkStartAnswer | WorkReportAnswer | WorkStandingAnswer) -> str:
    if not isinstance(answer, WorkStartAnswer):
        return answer.graph_id
    named = answer.lease or answer.ownership
    return "" if named is None else named.graph_id


def _stood(
    turn: Turn, named: tuple[str, str | None], by: str, command: Callable[[str, str], Command]
) -> WorkStandingAnswer:
    graph_id, node_id = _found(turn, *named)
    turn.decide(command(graph_id, node_id))
    item = turn.state.item((graph_id, node_id))
    return WorkStandingAnswer(
        graph_id=graph_id,
        node_id=node_id,
        node_status="open" if item is None else item.state,
        by=by,
        warnings=(),
        next_step="metagit_schedule_next gives the next node.",
    )


def _found(turn: Turn, node_id: str, graph_id: str | None) -> NodeKey:
    """Return which node is meant: one of the files or, where none has it any more, one that somebody owns."""
    try:
        loaded, node = find_node(turn.image.graphs, node_id, graph_id)
    except (NodeNotFound, GraphNotFound, GraphInvalid):
        asked = turn.state.items if graph_id is None else (graph_id,)
        items = [item for each in asked if (item := turn.state.item((each, node_id))) is not None]
        homes = sorted(item.graph_id for item in items if item.owner is not None)
        if len(homes) > 1:
            raise ambiguous(node_id, homes) from None
        if not homes:
            raise
        return homes[0], node_id
    return loaded.graph_id, node.node_id


def _reported(turn: Turn, request: WorkReportRequest) -> WorkReportAnswer:
    # The lease as it was: after the report it may have ended.
    before = turn.state.leases.get(request.lease_id)
    if turn.state.shares.preemptions:
        _withdraw_what_is_over(turn)
    turn.decide(_command(request, before))
    lease = turn.state.leases.get(request.lease_id)
    named: ExecutionLease | None = lease or before
    if named is None:  # pragma: no cover - a report under no lease is refused
        raise AssertionError
    item = turn.state.items[named.graph_id][named.node_id]
    record = None if lease is None else lease_record(lease, turn.state, turn.policy, turn.workspace_id)
    return WorkReportAnswer(
        graph_id=named.graph_id,
        node_id=named.node_id,
        node_status=item.state,
        preempt_requested=record is not None and record.preempt_requested is True,
        released_slot=lease is None,
        lease=record,
        budget_left=None if lease is None else budget_figures(lease, turn.state),
        retry_at=item.retry_at,
        warnings=(),
        next_step=after_report(item, record),
    )


def _withdraw_what_is_over(turn: Turn) -> None:
    """End a request to pause that nobody needs any more, before its agent is told; a report never needs the policy."""
    try:
        turn.happen(unsettled(turn.view().queue, turn.instant))
    except PolicyInvalid:
        return


def _command(request: WorkReportRequest, lease: ExecutionLease | None) -> ReportWork:
    result, point, usage, limited = request.result, request.checkpoint, request.usage, request.rate_limited
    return ReportWork(
        lease_id=request.lease_id,
        state=request.state,
        note=request.note or "",
        agent_id=request.agent_id,
        result=None
        if result is None
        else Result(summary=result.summary, artifacts=result.artifacts, evidence=result.evidence),
        checkpoint=None
        if point is None
        else CheckpointGiven(checkpoint_id=point.checkpoint_id, uri=point.uri, digest=point.digest, note=point.note),
        usage=None if usage is None else _usage(usage, Usage() if lease is None else lease.usage),
        rate_limited=None if limited is None else RateLimited(resource=limited.resource, until=limited.until),
    )


def _usage(given: GivenUsage, before: Usage) -> Usage:
    """Return the usage with what was reported before in place of the figures that were not named."""
    named = {name: getattr(given, name) for name in USAGE_NAMES}
    return replace(before, **{name: each for name, each in named.items() if each is not None})
