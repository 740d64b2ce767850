"""Is it allowed, and what happens then: from a state and a command to events, or to a refusal. Writes nothing.

The same state, command, policy, instant and ids give the same events.
"""

from collections.abc import Callable
from typing import Any, Final

from metagit_mcp.domain.admission import decide_enter, decide_start_work
from metagit_mcp.domain.commands import (
    Enter,
    PauseScheduling,
    ReportWork,
    ResumeScheduling,
    RetryWork,
    ReviewResult,
    RevokeOwnership,
    StartWork,
)
from metagit_mcp.domain.events import (
    OwnershipRevoked,
    ResultAccepted,
    ResultRejected,
    SchedulingPaused,
    SchedulingResumed,
    WorkRetried,
)
from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.reporting import decide_report_work
from metagit_mcp.domain.state import LedgerState, pause_key
from metagit_mcp.domain.verdict import Decided, refuse_trigger
from metagit_mcp.errors import InvalidInput

Command = (
    Enter | StartWork | ReportWork | ReviewResult | RevokeOwnership | RetryWork | PauseScheduling | ResumeScheduling
)
NewId = Callable[[], str]


def decide(state: LedgerState, command: Command, policy: SchedulePolicy, now: Instant, new_id: NewId) -> Decided:
    """Return what a command leads to. Everything that happens without a command has happened in `state` (lapses.py).

    Raises:
        MetagitError: it is refused, and nothing happens.
    """
    return _DECIDE[type(command)](state, command, policy, now, new_id)


def _decide_enter(state: LedgerState, command: Enter, policy: SchedulePolicy, now: Instant, _: NewId) -> Decided:
    return decide_enter(state, command, policy, now)


def _decide_review_result(
    state: LedgerState, command: ReviewResult, _: SchedulePolicy, now: Instant, __: NewId
) -> Decided:
    item = state.item((command.graph_id, command.node_id))
    refuse_trigger(item, command.graph_id, command.node_id, "accept_result" if command.accept else "reject_result")
    names: dict[str, Any] = {"at": now.wall, "graph_id": command.graph_id, "node_id": command.node_id, "by": command.by}
    if command.accept:
        return Decided(events=(ResultAccepted(**names),))
    return Decided(events=(ResultRejected(note=command.note, **names),))


def _decide_revoke_ownership(
    state: LedgerState, command: RevokeOwnership, _: SchedulePolicy, now: Instant, __: NewId
) -> Decided:
    item = state.item((command.graph_id, command.node_id))
    refuse_trigger(item, command.graph_id, command.node_id, "revoke")
    event = OwnershipRevoked(
        at=now.wall, graph_id=command.graph_id, node_id=command.node_id, by=command.by, note=command.note
    )
    return Decided(events=(event,))


def _decide_retry_work(state: LedgerState, command: RetryWork, _: SchedulePolicy, now: Instant, __: NewId) -> Decided:
    item = state.item((command.graph_id, command.node_id))
    if not command.is_parked_elsewhere or (item is not None and item.state != "open"):
        refuse_trigger(item, command.graph_id, command.node_id, "retry")
    event = WorkRetried(
        at=now.wall, graph_id=command.graph_id, node_id=command.node_id, by=command.by, seen_at=command.seen_at
    )
    return Decided(events=(event,))


def _decide_pause_scheduling(
    state: LedgerState, command: PauseScheduling, _: SchedulePolicy, now: Instant, __: NewId
) -> Decided:
    """Pause a scope; the same pause again is none.

    Raises:
        InvalidInput: it would be over before it began, and would end the one that stands.
    """
    if command.until is not None and command.until <= now.wall:
        raise InvalidInput("until: has passed", hint="metagit-mcp resume ends a pause.", field="until")
    before = state.pauses.get(pause_key(command.scope, command.name))
    if before is not None and (before.by, before.reason, before.until) == (command.by, command.reason, command.until):
        return Decided()
    event = SchedulingPaused(
        at=now.wall,
        scope=command.scope,
        name=command.name,
        by=command.by,
        reason=command.reason,
        until=command.until,
    )
    return Decided(events=(event,))


def _decide_resume_scheduling(
    state: LedgerState, command: ResumeScheduling, _: SchedulePolicy, now: Instant, __: NewId
) -> Decided:
    if pause_key(command.scope, command.name) not in state.pauses:
        return Decided()
    event = SchedulingResumed(at=now.wall, scope=command.scope, name=command.name, by=command.by)
    return Decided(events=(event,))


_DECIDE: Final[dict[type[Command], Callable[[LedgerState, Any, SchedulePolicy, Instant, NewId], Decided]]] = {
    Enter: _decide_enter,
    StartWork: decide_start_work,
    ReportWork: decide_report_work,
    ReviewResult: _decide_review_result,
    RevokeOwnership: _decide_revoke_ownership,
    RetryWork: _decide_retry_work,
    PauseScheduling: _decide_pause_scheduling,
    ResumeScheduling: _decide_resume_scheduling,
}
