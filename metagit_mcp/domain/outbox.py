"""What is proposed to a Group that is fed by Events: which act of ours asks it for which Command, and what answers it.

A proposal follows from an event of the ledger, so it is as durable as the act itself. Until the Group's log answers
it, the act is provisional: it stands here, and the log decides (work.md §6).
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from metagit_mcp.domain.events import (
    Event,
    WorkAccepted,
    WorkBlocked,
    WorkParked,
    WorkPaused,
    WorkReleased,
    WorkStarted,
    WorkSubmitted,
)
from metagit_mcp.domain.feed_events import EstimatePublished, OfferDeclined
from metagit_mcp.domain.feeds import FedItem, Feed, Proposal, ProposedCommand
from metagit_mcp.domain.group_facts import GroupFact
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import WorkItem

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# The Command that a fact answers.
_ANSWERED: Final[Mapping[str, ProposedCommand]] = {
    "accepted": "work.accept_offer",
    "begun": "work.start",
    "set_aside": "work.checkpoint",
    "stuck": "work.block",
    "submitted": "work.submit",
    "lost": "work.fail",
}
# Failed work still names its owner, but goes on under a new offer alone: nothing asked for before can happen.
_FINISHED: Final = ("verified", "failed", "cancelled")
# What is told and answered by no Event.
_TOLD_ONLY: Final = ("work.decline_offer", "schedule.estimate")
# The state of the log in which confirmed work of ours goes on.
_AGREES: Final = ("queued", "active", "blocked", "submitted")


# --- what the log says of it -----------------------------------------------------------------------------------------


def answered_by(feed: Feed, item: WorkItem, fed: FedItem, fact: GroupFact) -> None:
    """Take from the outbox what a fact answers, and whatever the log no longer lets happen."""
    if not feed.outbox:
        return
    own = [each for each in feed.outbox.values() if each.node_id == item.node_id]
    asked = _ANSWERED.get(fact.kind)
    answered = next((each for each in own if each.command == asked), None)
    if fed.state in _FINISHED:
        gone = own
    elif any(not _may_happen(each, item, fed) for each in own if each.command not in _TOLD_ONLY):
        gone = [each for each in own if each.command != "schedule.estimate"]
    else:
        gone = [] if answered is None else [answered]
    if fact.kind in {"offered", "accepted"}:
        gone += [each for each in own if each.command == "work.decline_offer" and each not in gone]
    for each in gone:
        del feed.outbox[each.action_id]


def _may_happen(proposal: Proposal, item: WorkItem, fed: FedItem) -> bool:
    """Say whether the log, as it is now, leaves the act its ownership: an offer to this agent, or the very epoch."""
    if fed.owner is not None:
        return (fed.owner, fed.ownership_epoch) == (proposal.agent_id, item.ownership_epoch)
    is_next = item.ownership_epoch == fed.ownership_epoch + 1
    return is_next and fed.offer is not None and proposal.agent_id in fed.offer.candidates


def stands(feed: Feed, item: WorkItem, fed: FedItem) -> bool:
    """Say whether what agents did here is still so: it waits for its answer, or the log agrees with it."""
    if any(each.node_id == item.node_id and each.command not in _TOLD_ONLY for each in feed.outbox.values()):
        return True
    if item.state not in _AGREES or item.owner is None:
        return False
    return (item.state, item.owner, item.ownership_epoch) == (fed.state, fed.owner, fed.ownership_epoch)


def withdraw(feed: Feed, action_id: str, *, refused: bool) -> Proposal | None:
    """Take a proposal out of the outbox and return it, with all of its node that rests on it where it was refused.

    One that an Event is to answer stays where it was only delivered: then None.
    """
    proposal = feed.outbox[action_id]
    if not refused and proposal.command not in _TOLD_ONLY:
        return None
    del feed.outbox[action_id]
    for each in [*feed.outbox.values()] if proposal.command not in _TOLD_ONLY else ():
        if each.node_id == proposal.node_id and each.command not in _TOLD_ONLY:
            del feed.outbox[each.action_id]
    return proposal


# --- what is proposed ------------------------------------------------------------------------------------------------


def propose(state: LedgerState, event: Event, group_id: str) -> None:
    """Put into the Group's outbox what an event of the ledger, which happened just now, asks it for."""
    asking = _ASKING.get(type(event))
    if asking is not None:
        feed = state.feeds[group_id]
        for proposal in asking(state, feed, event):
            feed.outbox[proposal.action_id] = proposal


def _accepting(state: LedgerState, feed: Feed, event: WorkAccepted) -> Iterator[Proposal]:
    # An id of its own: the same agent may accept again under the same epoch, if its first acceptance was refused.
    action_id = f"accept:{event.node_id}:{event.ownership_epoch}:{_micros(event.at)}"
    yield _proposal(state, feed, event.node_id, event.agent_id, "work.accept_offer", event.at, action_id)


def _starting(state: LedgerState, feed: Feed, event: WorkStarted) -> Iterator[Proposal]:
    lease = event.lease
    fed = _fed(state, feed, lease.node_id)
    is_owner = (fed.owner, fed.ownership_epoch) == (lease.agent_id, lease.ownership_epoch)
    if is_owner and fed.state == "active":
        # The Group has this run already: this workspace lost its lease, not the Group.
        return
    names = (state, feed, lease.node_id, lease.agent_id)
    is_asked = any(
        each.command == "work.accept_offer" for each in feed.outbox.values() if each.node_id == lease.node_id
    )
    if not is_owner and not is_asked:
        yield _proposal(*names, "work.accept_offer", event.at, f"{lease.lease_id}:accept")
    yield _proposal(*names, "work.start", event.at, f"{lease.lease_id}:start")


def _setting_aside(state: LedgerState, feed: Feed, event: WorkPaused | WorkReleased) -> Iterator[Proposal]:
    closed = state.closed[event.lease_id]
    point = state.items[feed.group_id][closed.node_id].checkpoint
    given = {} if point is None else {"checkpointId": point.checkpoint_id, "note": point.note, "uri": point.uri}
    yield _ended(state, feed, event, "work.checkpoint", **given)


def _blocking(state: LedgerState, feed: Feed, event: WorkBlocked) -> Iterator[Proposal]:
    yield _ended(state, feed, event, "work.block", reason=event.note)


def _submitting(state: LedgerState, feed: Feed, event: WorkSubmitted) -> Iterator[Proposal]:
    result = event.result
    given: dict[str, Any] = {}
    if result is not None:
        given = {"summary": result.summary, "artifacts": result.artifacts, "evidence": result.evidence}
    yield _ended(state, feed, event, "work.submit", **given)


def _failing(state: LedgerState, feed: Feed, event: WorkParked) -> Iterator[Proposal]:
    yield _ended(state, feed, event, "work.fail", reason=event.note)


def _declining(state: LedgerState, feed: Feed, event: OfferDeclined) -> Iterator[Proposal]:
    action_id = f"decline:{event.node_id}:{_micros(event.at)}"
    names = (state, feed, event.node_id, event.agent_id)
    yield _proposal(*names, "work.decline_offer", event.at, action_id, declineReason=event.reason)


def _estimating(state: LedgerState, feed: Feed, event: EstimatePublished) -> Iterator[Proposal]:
    """Tell the newest estimate of a node; one that was not delivered yet is out of date."""
    for each in [*feed.outbox.values()]:
        if (each.command, each.node_id) == ("schedule.estimate", event.node_id):
            del feed.outbox[each.action_id]
    action_id = f"estimate:{event.node_id}:{_micros(event.at)}"
    names = (state, feed, event.node_id, event.agent_id)
    yield _proposal(
        *names,
        "schedule.estimate",
        event.at,
        action_id,
        estimatedStart=_text(event.start_to),
        estimatedStartFrom=_text(event.start_from),
        estimatedCompletion=_text(event.completion),
        confidence=f"{event.confidence_percent / 100:.2f}",
        capacityStatus=event.capacity_status,
        lastCalculatedAt=_text(event.at),
    )


_ASKING: Final[Mapping[type[Event], Callable[[LedgerState, Feed, Any], Iterator[Proposal]]]] = {
    WorkAccepted: _accepting,
    WorkStarted: _starting,
    WorkPaused: _setting_aside,
    WorkReleased: _setting_aside,
    WorkBlocked: _blocking,
    WorkSubmitted: _submitting,
    WorkParked: _failing,
    OfferDeclined: _declining,
    EstimatePublished: _estimating,
}


def _ended(state: LedgerState, feed: Feed, event: Any, command: ProposedCommand, **given: Any) -> Proposal:  # noqa: ANN401 - any end of a lease, and any JSON value
    """Return the Command for the end of a lease; it cites the Group's own lease, where that is known yet."""
    closed = state.closed[event.lease_id]
    fed = _fed(state, feed, closed.node_id)
    cited = {} if fed.lease_id is None else {"executionLeaseId": fed.lease_id}
    action_id = f"{event.lease_id}:{command.removeprefix('work.')}"
    return _proposal(state, feed, closed.node_id, closed.agent_id, command, event.at, action_id, **cited, **given)


def _proposal(
    state: LedgerState,
    feed: Feed,
    node_id: str,
    agent_id: str,
    command: ProposedCommand,
    at: datetime,
    action_id: str,
    **given: Any,  # noqa: ANN401 - any JSON value
) -> Proposal:
    member, session = feed.members.get(agent_id), state.sessions.get(agent_id)
    return Proposal(
        action_id=action_id,
        command=command,
        at=at,
        node_id=node_id,
        agent_id=agent_id,
        ownership_epoch=state.items[feed.group_id][node_id].ownership_epoch,
        session_epoch=0 if session is None else session.epoch,
        membership_epoch=0 if member is None else member.epoch,
        payload={name: each for name, each in given.items() if each},
    )


def _fed(state: LedgerState, feed: Feed, node_id: str) -> FedItem:
    """Return what the log says of a node; only those that it told of can be worked on."""
    fed = state.items[feed.group_id][node_id].fed
    if fed is None:  # pragma: no cover - every item of such a Group is made by its log
        raise AssertionError
    return fed


def _micros(at: datetime) -> int:
    return int((at - _EPOCH).total_seconds() * 1_000_000)


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
