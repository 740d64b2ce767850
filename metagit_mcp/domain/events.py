"""What happened, in the past tense: the lines of the ledger. Knows no rule; `evolve.py` says what follows from each.

An event carries all that replay needs, so that the fold never reads a file. `seen_at` is the `updated_at` of the
node's row in its file when the event was decided: whatever we write back later is newer.
"""

from datetime import datetime
from typing import Final, get_args

from metagit_mcp.domain.access_events import AccessEvent
from metagit_mcp.domain.approval import Approval
from metagit_mcp.domain.feed_events import FeedEvent
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.share_events import ShareEvent
from metagit_mcp.domain.shares import Dispatch
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import Checkpoint, ExecutionLease, PauseScope, Result, Usage


@value
class SessionOpened:
    """An agent id began a life: session `epoch`, which fences all lower ones."""

    at: datetime
    agent_id: str
    epoch: int
    capabilities: tuple[str, ...] | None = None
    holder: str | None = None
    held_until: Expiry | None = None


@value
class SessionNoted:
    """What a live session can do, and which server alone claims under it; no `holder`: any may."""

    at: datetime
    agent_id: str
    capabilities: tuple[str, ...] | None = None
    holder: str | None = None
    held_until: Expiry | None = None


@value
class WorkAccepted:
    """An agent took ownership of a node, to be started by `start_by`."""

    at: datetime
    graph_id: str
    node_id: str
    agent_id: str
    session_epoch: int
    ownership_epoch: int
    start_by: Expiry
    seen_at: datetime | None = None


@value
class WorkStarted:
    """An agent began to work on a node under a lease; without `dispatch` nothing is shared: tags are forgotten."""

    at: datetime
    lease: ExecutionLease
    seen_at: datetime | None = None
    dispatch: Dispatch | None = None


@value
class LeaseRenewed:
    """A lease was extended."""

    at: datetime
    lease_id: str
    expiry: Expiry
    term_seconds: int


@value
class UsageReported:
    """What was used under a lease so far."""

    at: datetime
    lease_id: str
    usage: Usage


@value
class WorkCheckpointed:
    """A point was reached from which the work can go on."""

    at: datetime
    lease_id: str
    checkpoint: Checkpoint


@value
class WorkPaused:
    """The holder paused at a checkpoint: the slot is free, the node is back in its queue, still owned."""

    at: datetime
    lease_id: str
    start_by: Expiry
    checkpoint: Checkpoint | None = None


@value
class WorkBlocked:
    """The holder cannot go on: the slot is free, and the ownership lasts until `until`."""

    at: datetime
    lease_id: str
    note: str
    until: Expiry
    checkpoint: Checkpoint | None = None


@value
class WorkUnblocked:
    """What blocked the node is gone; it keeps its owner, if it has one, until `start_by`."""

    at: datetime
    graph_id: str
    node_id: str
    start_by: Expiry | None = None
    seen_at: datetime | None = None


@value
class BlockedLeaseEnded:
    """The owner of a blocked node waited long enough; the node is nobody's and still blocked."""

    at: datetime
    graph_id: str
    node_id: str


@value
class WorkReleased:
    """The holder gave the node back untried, or its connection ended: no attempt is counted."""

    at: datetime
    lease_id: str
    note: str = ""
    connection_ended: bool = False


@value
class WorkCompleted:
    """The node is done."""

    at: datetime
    lease_id: str
    result: Result | None = None


@value
class WorkSubmitted:
    """The node is done and waits for a review."""

    at: datetime
    lease_id: str
    result: Result | None = None


@value
class ResultAccepted:
    """A person took a submitted result."""

    at: datetime
    graph_id: str
    node_id: str
    by: str


@value
class ResultRejected:
    """A person sent a submitted result back, with what is wrong with it."""

    at: datetime
    graph_id: str
    node_id: str
    by: str
    note: str = ""


@value
class WorkFailed:
    """An attempt failed; the node may be tried again at `retry_at`. One that was only turned away is not counted."""

    at: datetime
    lease_id: str
    note: str
    retry_at: datetime
    counted: bool = True


@value
class WorkParked:
    """An attempt failed, and it was the last one: only a person sets the node going again."""

    at: datetime
    lease_id: str
    note: str


@value
class WorkRetried:
    """A parked node may be tried again, its failures forgotten."""

    at: datetime
    graph_id: str
    node_id: str
    by: str
    seen_at: datetime | None = None


@value
class OwnershipRevoked:
    """Somebody took the node from its owner."""

    at: datetime
    graph_id: str
    node_id: str
    by: str
    note: str = ""


@value
class StartByPassed:
    """The owner of a queued node did not start it in time."""

    at: datetime
    graph_id: str
    node_id: str


@value
class LeaseExpired:
    """The holder was not heard of in time: the node is open again, and whatever the holder says later is fenced."""

    at: datetime
    lease_id: str


@value
class WorkReturned:
    """A new session of the owner fenced the old one: its node is back in the queue."""

    at: datetime
    graph_id: str
    node_id: str
    session_epoch: int
    start_by: Expiry


@value
class SeenFinished:
    """Another program wrote into the file that the node is completed or cancelled."""

    at: datetime
    graph_id: str
    node_id: str
    status: str
    seen_at: datetime


@value
class SeenBlocked:
    """Another program wrote into the file that the node is blocked."""

    at: datetime
    graph_id: str
    node_id: str
    note: str
    seen_at: datetime


@value
class SeenOpen:
    """Another program wrote into the file what makes the node its own to tell of: it runs, or is to be done again."""

    at: datetime
    graph_id: str
    node_id: str
    seen_at: datetime


@value
class SeenTouched:
    """Another program wrote into the row what does not count; what we write back is to be newer."""

    at: datetime
    graph_id: str
    node_id: str
    seen_at: datetime


@value
class EvidenceKept:
    """A fenced owner reported too late."""

    at: datetime
    lease_id: str
    state: str
    note: str = ""
    result: Result | None = None


@value
class ResourceClosed:
    """A resource turned an agent away."""

    at: datetime
    resource: str
    until: datetime
    by: str


@value
class ResourceReopened:
    """A resource served an agent before its time had come."""

    at: datetime
    resource: str


@value
class SchedulingPaused:
    """Somebody said that nothing new is to start in a scope."""

    at: datetime
    scope: PauseScope
    name: str
    by: str
    reason: str = ""
    until: datetime | None = None


@value
class SchedulingResumed:
    """Somebody ended a pause."""

    at: datetime
    scope: PauseScope
    name: str
    by: str


@value
class ApprovalGranted:
    """A person approved a node for one ownership."""

    at: datetime
    approval: Approval


@value
class CommandAnswered:
    """A command with an action id was carried out; the same one again gets the same reply."""

    at: datetime
    action_id: str
    digest: str
    reply: str


SeenEvent = SeenFinished | SeenBlocked | SeenOpen | SeenTouched
_RuleEvent = ResourceClosed | ResourceReopened | SchedulingPaused | SchedulingResumed | ApprovalGranted
_TermEvent = OwnershipRevoked | StartByPassed | LeaseExpired | WorkReturned | BlockedLeaseEnded | WorkUnblocked
_LeaseEvent = LeaseRenewed | UsageReported | WorkCheckpointed | WorkPaused | WorkBlocked | WorkReleased
_EndEvent = WorkCompleted | WorkSubmitted | ResultAccepted | ResultRejected | WorkFailed | WorkParked | WorkRetried
Event = (
    SessionOpened
    | SessionNoted
    | WorkAccepted
    | WorkStarted
    | _LeaseEvent
    | _EndEvent
    | _TermEvent
    | SeenEvent
    | EvidenceKept
    | _RuleEvent
    | ShareEvent
    | FeedEvent
    | AccessEvent
    | CommandAnswered
)


def _kind(shape: type[Event]) -> str:
    return "".join(f"_{mark.lower()}" if mark.isupper() else mark for mark in shape.__name__).removeprefix("_")


# The name under which the ledger keeps each kind: `work_started`; stable, like the fields (SemVer).
KIND_OF: Final[dict[type[Event], str]] = {shape: _kind(shape) for shape in get_args(Event)}
EVENT_KINDS: Final[dict[str, type[Event]]] = {kind: shape for shape, kind in KIND_OF.items()}
