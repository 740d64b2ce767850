"""What happened, as somebody who looks on is told it: one record for each event that matters. Decides nothing."""

from datetime import datetime
from typing import Any, Final

from metagit_mcp.domain.access_events import TokenIssued, TokenRevoked
from metagit_mcp.domain.events import (
    KIND_OF,
    ApprovalGranted,
    CommandAnswered,
    Event,
    LeaseRenewed,
    ResourceClosed,
    ResourceReopened,
    SchedulingPaused,
    SchedulingResumed,
    SeenTouched,
    SessionNoted,
    SessionOpened,
    UsageReported,
    WorkStarted,
)
from metagit_mcp.domain.share_events import HoldFilled, PoolRested, RunEnded, RunSeen
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.text import shown, shown_or_none
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import ClosedLease, ExecutionLease

_LONGEST_NOTE: Final = 500
# What changes nothing about the work: bookkeeping, and signs of life.
_QUIET: Final = (
    *(CommandAnswered, LeaseRenewed, SeenTouched, SessionNoted, SessionOpened, UsageReported),
    # Whoever looks on was told of the status in the file, and of the hold when it began.
    *(RunSeen, RunEnded, HoldFilled, PoolRested),
    # They are about callers, not about work.
    *(TokenIssued, TokenRevoked),
)


@value
class Change:
    """Something that happened: an event of the ledger by its kind, or what was seen in the files.

    That is `file_status`, `graph_added`, `graph_removed`, `graph_invalid` and `graph_mended`. `scope` and `name` say
    what was paused, closed or opened again; `status` is what another program wrote.
    """

    at: datetime
    change: str
    graph_id: str | None = None
    node_id: str | None = None
    agent_id: str | None = None
    lease_id: str | None = None
    status: str | None = None
    scope: str | None = None
    name: str | None = None
    until: datetime | None = None
    by: str | None = None
    note: str | None = None


def change_of(event: Event, state: LedgerState) -> Change | None:
    """Return what an event is to those who look on; `state` is as of that event or later. None: nothing."""
    if isinstance(event, _QUIET):
        return None
    change = KIND_OF[type(event)]
    if isinstance(event, ApprovalGranted):
        given = event.approval
        by = shown(given.approved_by)
        return Change(at=event.at, change=change, graph_id=given.graph_id, node_id=given.node_id, by=by)
    if isinstance(event, ResourceClosed | ResourceReopened):
        return _of_scope(event, change, "resource", event.resource)
    if isinstance(event, SchedulingPaused | SchedulingResumed):
        return _of_scope(event, change, event.scope, event.name)
    return _of_node(event, change, state)


def _of_scope(event: Any, change: str, scope: str, name: str) -> Change:  # noqa: ANN401 - four kinds of events
    return Change(
        at=event.at,
        change=change,
        scope=scope,
        name=shown_or_none(name),
        until=getattr(event, "until", None),
        by=shown_or_none(getattr(event, "by", None)),
        note=shown_or_none(getattr(event, "reason", None), _LONGEST_NOTE),
    )


def _of_node(event: Any, change: str, state: LedgerState) -> Change:  # noqa: ANN401 - every other kind of event
    lease = _lease(event, state)
    named = event if lease is None else lease
    until = event.retry_at if change == "work_failed" else None
    return Change(
        at=event.at,
        change=change,
        # An event of a lease that was forgotten long ago still says which lease it was.
        graph_id=getattr(named, "graph_id", None) or getattr(named, "group_id", None),
        node_id=getattr(named, "node_id", None),
        agent_id=shown_or_none(getattr(named, "agent_id", None)),
        lease_id=getattr(event, "lease_id", None) or getattr(lease, "lease_id", None),
        status=getattr(event, "status", None),
        until=until,
        by=shown_or_none(getattr(event, "by", None)),
        note=shown_or_none(getattr(event, "note", None), _LONGEST_NOTE),
    )


def _lease(event: Any, state: LedgerState) -> ExecutionLease | ClosedLease | None:  # noqa: ANN401 - any event of a node
    if isinstance(event, WorkStarted):
        return event.lease
    lease_id = getattr(event, "lease_id", None)
    return None if lease_id is None else state.leases.get(lease_id) or state.closed.get(lease_id)
