"""The fold over the ledger: what each event does to the state. Decides nothing and reads no file.

`evolve` changes the state in place; a state that events were applied to which were then not kept is thrown away.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, get_args

from metagit_mcp.domain.access_events import AccessEvent
from metagit_mcp.domain.charging import dispatched, forget_asked, happened_to
from metagit_mcp.domain.events import (
    BlockedLeaseEnded,
    CommandAnswered,
    Event,
    EvidenceKept,
    LeaseExpired,
    LeaseRenewed,
    OwnershipRevoked,
    ResultAccepted,
    ResultRejected,
    SeenBlocked,
    SeenFinished,
    SeenOpen,
    SeenTouched,
    SessionNoted,
    SessionOpened,
    StartByPassed,
    UsageReported,
    WorkAccepted,
    WorkBlocked,
    WorkCheckpointed,
    WorkCompleted,
    WorkFailed,
    WorkParked,
    WorkPaused,
    WorkReleased,
    WorkRetried,
    WorkReturned,
    WorkStarted,
    WorkSubmitted,
    WorkUnblocked,
)
from metagit_mcp.domain.feed_events import EstimatePublished, GroupEventsApplied, OfferDeclined, ProposalAnswered
from metagit_mcp.domain.feeding import evolve_group_events_applied, evolve_offer_declined, evolve_proposal_answered
from metagit_mcp.domain.moves import ATTEMPTS_KEPT, STEP, closed, closed_with, forget, known, moved, owned, put, tried
from metagit_mcp.domain.outbox import propose
from metagit_mcp.domain.ruling import EVOLVE_RULES
from metagit_mcp.domain.share_events import ShareEvent
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import failure_of
from metagit_mcp.domain.value import changed
from metagit_mcp.domain.work import (
    FINISHED_STATES,
    Answered,
    Evidence,
    NodeKey,
    Session,
    Usage,
    WorkItem,
    WorkState,
)

# Events after which the same can be started as before.
_CHANGES_NOTHING: Final = (
    *(SessionNoted, LeaseRenewed, UsageReported, WorkCheckpointed, EvidenceKept, CommandAnswered),
    *get_args(AccessEvent),
)


def evolve(state: LedgerState, event: Event) -> NodeKey | None:
    """Let one event happen; return the node that it was about, if it was about one."""
    if not state.last or event.at > state.last[0]:
        state.last[:] = [event.at]
    if not isinstance(event, _CHANGES_NOTHING):
        state.changes[:] = [state.version + 1]
    if isinstance(event, ShareEvent):
        return happened_to(state.shares, event)
    key = _EVOLVE[type(event)](state, event)
    if key is not None and key[0] in state.feeds:
        propose(state, event, key[0])
    return key


def evolve_all(state: LedgerState, events: Iterable[Event]) -> set[NodeKey]:
    """Let events happen one after another; return the nodes that they were about."""
    return {key for event in events if (key := evolve(state, event)) is not None}


# --- sessions ------------------------------------------------------------------------------------------------------


def _evolve_session_opened(state: LedgerState, event: SessionOpened) -> None:
    state.sessions[event.agent_id] = Session(
        agent_id=event.agent_id,
        epoch=event.epoch,
        opened_at=event.at,
        capabilities=event.capabilities,
        holder=event.holder,
        held_until=event.held_until,
    )


def _evolve_session_noted(state: LedgerState, event: SessionNoted) -> None:
    before = state.sessions[event.agent_id]
    state.sessions[event.agent_id] = replace(
        before, capabilities=event.capabilities, holder=event.holder, held_until=event.held_until
    )


# --- ownership -------------------------------------------------------------------------------------------------------


def _evolve_work_accepted(state: LedgerState, event: WorkAccepted) -> NodeKey:
    item = known(state, event.graph_id, event.node_id, event.at)
    owner = {"owner": event.agent_id, "owner_session": event.session_epoch, "until": event.start_by}
    return put(state, moved(item, event, "queued", ownership_epoch=event.ownership_epoch, **owner))


def _evolve_work_started(state: LedgerState, event: WorkStarted) -> NodeKey:
    lease = event.lease
    item = known(state, lease.graph_id, lease.node_id, event.at)
    owner = {"owner": lease.agent_id, "owner_session": lease.session_epoch, "lease_id": lease.lease_id}
    state.leases[lease.lease_id] = lease
    had_tags = bool(state.shares.pools)
    dispatched(state.shares, lease, event.dispatch, event.at)
    if had_tags and not state.shares.pools:
        # All tags are forgotten: what was charged to them is corrected no more.
        state.leases.update((each.lease_id, replace(each, share=None)) for each in [*state.leases.values()])
    started = moved(item, event, "active", ownership_epoch=lease.ownership_epoch, **owner)
    # Whoever gave the node back before is offered it again once somebody took it.
    return put(state, changed(started, retry_at=None, released_by=()))


def _evolve_work_unblocked(state: LedgerState, event: WorkUnblocked) -> NodeKey:
    item = known(state, event.graph_id, event.node_id, event.at)
    if event.start_by is None:
        return put(state, moved(item, event, "open"))
    return put(state, moved(item, event, "queued", until=event.start_by, **owned(item)))


def _evolve_blocked_lease_ended(state: LedgerState, event: BlockedLeaseEnded) -> NodeKey:
    item = known(state, event.graph_id, event.node_id, event.at)
    return put(state, moved(item, event, "blocked", note=item.note))


def _evolve_ownership_revoked(state: LedgerState, event: OwnershipRevoked) -> NodeKey:
    item = known(state, event.graph_id, event.node_id, event.at)
    attempts = tried(item, item.owner, event, "revoked", event.note)
    item = closed_with(state, item, "revoked", event.at)
    return put(state, moved(item, event, "open", attempts=attempts))


def _evolve_start_by_passed(state: LedgerState, event: StartByPassed) -> NodeKey:
    return put(state, moved(known(state, event.graph_id, event.node_id, event.at), event, "open"))


def _evolve_work_returned(state: LedgerState, event: WorkReturned) -> NodeKey:
    item = known(state, event.graph_id, event.node_id, event.at)
    owner = item.owner
    item = closed_with(state, item, "session", event.at)
    fresh = {"owner": owner, "owner_session": event.session_epoch, "until": event.start_by}
    return put(state, moved(item, event, "queued", **fresh))


# --- under a lease ---------------------------------------------------------------------------------------------------


def _evolve_lease_renewed(state: LedgerState, event: LeaseRenewed) -> NodeKey:
    lease = state.leases[event.lease_id]
    state.leases[event.lease_id] = replace(
        lease,
        expiry=event.expiry,
        term_seconds=event.term_seconds,
        renewal_count=lease.renewal_count + 1,
        last_renewed_at=event.at,
    )
    return lease.key


def _evolve_usage_reported(state: LedgerState, event: UsageReported) -> NodeKey:
    lease = state.leases[event.lease_id]
    state.leases[event.lease_id] = replace(lease, usage=event.usage)
    return lease.key


def _evolve_work_checkpointed(state: LedgerState, event: WorkCheckpointed) -> NodeKey:
    lease = state.leases[event.lease_id]
    item = known(state, lease.graph_id, lease.node_id, event.at)
    return put(state, replace(item, checkpoint=event.checkpoint))


def _evolve_work_paused(state: LedgerState, event: WorkPaused) -> NodeKey:
    was_asked = event.lease_id in state.shares.preemptions
    item = closed(state, event.lease_id, "paused", event.at)
    item = replace(item, preemptions=item.preemptions + was_asked)
    checkpoint = event.checkpoint or item.checkpoint
    return put(state, moved(item, event, "queued", until=event.start_by, checkpoint=checkpoint, **owned(item)))


def _evolve_work_blocked(state: LedgerState, event: WorkBlocked) -> NodeKey:
    item = closed(state, event.lease_id, "blocked", event.at)
    kept = {"until": event.until, "note": event.note, "checkpoint": event.checkpoint or item.checkpoint}
    return put(state, moved(item, event, "blocked", **kept, **owned(item)))


def _evolve_work_released(state: LedgerState, event: WorkReleased) -> NodeKey:
    item = closed(state, event.lease_id, "released", event.at)
    agent_id = item.owner or ""
    attempts = tried(item, agent_id, event, "released", event.note)
    # Who only lost its connection is offered the node again as anybody is: its checkpoint waits there.
    released_by = () if event.connection_ended else (agent_id,)
    return put(state, moved(item, event, "open", attempts=attempts, released_by=released_by))


def _evolve_work_completed(state: LedgerState, event: WorkCompleted) -> NodeKey:
    item = closed(state, event.lease_id, "completed", event.at)
    return put(state, moved(item, event, "completed", result=event.result, **owned(item)))


def _evolve_work_submitted(state: LedgerState, event: WorkSubmitted) -> NodeKey:
    item = closed(state, event.lease_id, "submitted", event.at)
    return put(state, moved(item, event, "submitted", result=event.result, **owned(item)))


def _evolve_result_accepted(state: LedgerState, event: ResultAccepted) -> NodeKey:
    item = known(state, event.graph_id, event.node_id, event.at)
    return put(state, moved(item, event, "completed", **owned(item)))


def _evolve_result_rejected(state: LedgerState, event: ResultRejected) -> NodeKey:
    item = known(state, event.graph_id, event.node_id, event.at)
    attempts = tried(item, item.owner, event, "rejected", event.note)
    # Nobody builds on a result that was sent back.
    return put(state, moved(item, event, "open", attempts=attempts, result=None))


def _evolve_work_failed(state: LedgerState, event: WorkFailed) -> NodeKey:
    item = closed(state, event.lease_id, "failed", event.at)
    attempts = tried(item, item.owner, event, "failed", event.note) if event.counted else item.attempts
    failures = item.failures + event.counted
    return put(state, moved(item, event, "open", attempts=attempts, failures=failures, retry_at=event.retry_at))


def _evolve_work_parked(state: LedgerState, event: WorkParked) -> NodeKey:
    item = closed(state, event.lease_id, "failed", event.at)
    attempts = tried(item, item.owner, event, "failed", event.note)
    parked = moved(item, event, "parked", attempts=attempts, failures=item.failures + 1, note=event.note)
    return put(state, replace(parked, retry_at=None))


def _evolve_work_retried(state: LedgerState, event: WorkRetried) -> NodeKey:
    item = known(state, event.graph_id, event.node_id, event.at)
    return put(state, replace(moved(item, event, "open"), failures=0, retry_at=None))


def _evolve_lease_expired(state: LedgerState, event: LeaseExpired) -> NodeKey:
    item = closed(state, event.lease_id, "expired", event.at)
    return put(state, moved(item, event, "open", attempts=tried(item, item.owner, event, "expired")))


def _evolve_evidence_kept(state: LedgerState, event: EvidenceKept) -> NodeKey | None:
    closed = state.closed[event.lease_id]
    item = known(state, closed.graph_id, closed.node_id, event.at)
    evidence = Evidence(
        lease_id=event.lease_id,
        agent_id=closed.agent_id,
        at=event.at,
        state=event.state,
        note=event.note,
        result=event.result,
    )
    return put(state, replace(item, evidence=(*item.evidence, evidence)[-ATTEMPTS_KEPT:]))


# --- what other programs wrote ---------------------------------------------------------------------------------------


def _evolve_seen_finished(state: LedgerState, event: SeenFinished) -> NodeKey:
    item = closed_with(state, known(state, event.graph_id, event.node_id, event.at), "finished", event.at)
    to: WorkState = "completed" if event.status == "completed" else "cancelled"
    forget_asked(state.shares, item.key)
    return put(state, _as_seen(moved(item, event, to), event.seen_at))


def _evolve_seen_blocked(state: LedgerState, event: SeenBlocked) -> NodeKey:
    """Block the node, or park it where the reason says that it failed; blocked work stays with its owner."""
    item = closed_with(state, known(state, event.graph_id, event.node_id, event.at), "revoked", event.at)
    failed = failure_of(event.note)
    if failed is not None:
        return put(state, _as_seen(moved(item, event, "parked", note=failed, retry_at=None), event.seen_at))
    kept = {"until": item.until, **owned(item)} if item.state == "blocked" else {}
    return put(state, _as_seen(moved(item, event, "blocked", note=event.note, **kept), event.seen_at))


def _evolve_seen_open(state: LedgerState, event: SeenOpen) -> NodeKey:
    """Leave the node to its file; after its end it is a new incarnation, of which nothing is known but its epoch."""
    item = known(state, event.graph_id, event.node_id, event.at)
    fresh: dict[str, Any] = {"failures": 0, "retry_at": None}
    if item.state in FINISHED_STATES:
        fresh |= {"attempts": (), "released_by": (), "result": None, "checkpoint": None, "spent": Usage()}
        fresh["preemptions"] = 0
    # Earlier than the row, which is what counts from here on.
    return put(state, _as_seen(moved(item, event, "open", **fresh), event.seen_at - STEP))


def _evolve_seen_touched(state: LedgerState, event: SeenTouched) -> NodeKey:
    item = known(state, event.graph_id, event.node_id, event.at)
    return put(state, _as_seen(item, event.seen_at))


def _as_seen(item: WorkItem, seen_at: datetime) -> WorkItem:
    """Return the item with the very instant of the row, which then needs no writing back."""
    return replace(item, changed_at=seen_at)


# --- what is told, and replies ---------------------------------------------------------------------------------------


def _evolve_told(_: LedgerState, event: EstimatePublished) -> NodeKey:
    """Change nothing: what its Group is told stands in the outbox."""
    return event.graph_id, event.node_id


def _evolve_command_answered(state: LedgerState, event: CommandAnswered) -> None:
    state.answered[event.action_id] = Answered(
        action_id=event.action_id, digest=event.digest, at=event.at, reply=event.reply
    )
    forget(state.answered, lambda each: each.at, event.at)


_EVOLVE: Final[Mapping[type[Event], Callable[[LedgerState, Any], NodeKey | None]]] = {
    SessionOpened: _evolve_session_opened,
    SessionNoted: _evolve_session_noted,
    WorkAccepted: _evolve_work_accepted,
    WorkStarted: _evolve_work_started,
    LeaseRenewed: _evolve_lease_renewed,
    UsageReported: _evolve_usage_reported,
    WorkCheckpointed: _evolve_work_checkpointed,
    WorkPaused: _evolve_work_paused,
    WorkBlocked: _evolve_work_blocked,
    WorkUnblocked: _evolve_work_unblocked,
    BlockedLeaseEnded: _evolve_blocked_lease_ended,
    WorkReleased: _evolve_work_released,
    WorkCompleted: _evolve_work_completed,
    WorkSubmitted: _evolve_work_submitted,
    ResultAccepted: _evolve_result_accepted,
    ResultRejected: _evolve_result_rejected,
    WorkFailed: _evolve_work_failed,
    WorkParked: _evolve_work_parked,
    WorkRetried: _evolve_work_retried,
    OwnershipRevoked: _evolve_ownership_revoked,
    StartByPassed: _evolve_start_by_passed,
    LeaseExpired: _evolve_lease_expired,
    WorkReturned: _evolve_work_returned,
    SeenFinished: _evolve_seen_finished,
    SeenBlocked: _evolve_seen_blocked,
    SeenOpen: _evolve_seen_open,
    SeenTouched: _evolve_seen_touched,
    EvidenceKept: _evolve_evidence_kept,
    CommandAnswered: _evolve_command_answered,
    GroupEventsApplied: evolve_group_events_applied,
    ProposalAnswered: evolve_proposal_answered,
    OfferDeclined: evolve_offer_declined,
    EstimatePublished: _evolve_told,
    **EVOLVE_RULES,
}
