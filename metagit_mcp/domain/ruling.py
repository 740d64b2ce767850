"""The part of the fold about what people and resources said: closures, pauses, approvals, tokens. Decides nothing."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from metagit_mcp.domain.access_events import TokenIssued, TokenRevoked
from metagit_mcp.domain.events import (
    ApprovalGranted,
    Event,
    ResourceClosed,
    ResourceReopened,
    SchedulingPaused,
    SchedulingResumed,
)
from metagit_mcp.domain.state import LedgerState, pause_key
from metagit_mcp.domain.work import NodeKey, Pause, ResourceClosure


def _evolve_resource_closed(state: LedgerState, event: ResourceClosed) -> None:
    state.closures[event.resource] = ResourceClosure(
        resource=event.resource, until=event.until, by=event.by, at=event.at
    )


def _evolve_resource_reopened(state: LedgerState, event: ResourceReopened) -> None:
    state.closures.pop(event.resource, None)


def _evolve_scheduling_paused(state: LedgerState, event: SchedulingPaused) -> None:
    state.pauses[pause_key(event.scope, event.name)] = Pause(
        scope=event.scope, name=event.name, by=event.by, at=event.at, reason=event.reason, until=event.until
    )


def _evolve_scheduling_resumed(state: LedgerState, event: SchedulingResumed) -> None:
    state.pauses.pop(pause_key(event.scope, event.name), None)


def _evolve_approval_granted(state: LedgerState, event: ApprovalGranted) -> NodeKey:
    granted = event.approval
    state.approvals[granted.graph_id] = (*state.approvals.get(granted.graph_id, ()), granted)
    return granted.graph_id, granted.node_id


def _evolve_token_issued(state: LedgerState, event: TokenIssued) -> None:
    state.tokens[event.token.token_id] = event.token


def _evolve_token_revoked(state: LedgerState, event: TokenRevoked) -> None:
    issued = state.tokens[event.token_id]
    state.tokens[event.token_id] = replace(issued, revoked_at=event.at, revoked_by=event.by)


EVOLVE_RULES: Final[Mapping[type[Event], Callable[[LedgerState, Any], NodeKey | None]]] = {
    ResourceClosed: _evolve_resource_closed,
    ResourceReopened: _evolve_resource_reopened,
    SchedulingPaused: _evolve_scheduling_paused,
    SchedulingResumed: _evolve_scheduling_resumed,
    ApprovalGranted: _evolve_approval_granted,
    TokenIssued: _evolve_token_issued,
    TokenRevoked: _evolve_token_revoked,
}
