"""What is proposed to a Group that is fed by Events: which act of ours asks it for which Command, and what answers it.

A proposal follows from an event of the ledger, so it is as durable as the act itself. Until the Group's log answers
it, the act is provisional: it stands here, and the log decides (work.md §6).
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
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
from metagit_mcp.domain.forecasts import judge
from metagit_mcp.domain.group_facts import GroupFact
from metagit_mcp.domain.instant import instant_text
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import WorkItem, WorkState

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS: Final = 20
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
# The state that an act has led to here.
_LEADS_TO: Final[Mapping[ProposedCommand, WorkState]] = {
    "work.accept_offer": "queued",
    "work.start": "active",
    "work.checkpoint": "queued",
    "work.block": "blocked",
    "work.submit": "submitted",
    "work.fail": "parked",
}
# The state of the log in which confirmed work of ours goes on.
_AGREES: Final = ("queued", "active", "blocked", "submitted")


# --- what the log says of it -----------------------------------------------------------------------------------------


def answered_by(feed: Feed, item: WorkItem, fed: FedItem, fact: GroupFact) -> None:
    """Take from the outbox what a fact answers, and whatever the log no longer lets happen."""
    if fed.state in _FINISHED or fact.kind == "offered":
        feed.told.pop(item.node_id, None)
    if not feed.outbox:
        return
    own = [each for each in feed.outbox.values() if each.node_id == item.node_id]
    if fed.state in _FINISHED:
        gone = own
    else:
        gone = [each for each in own if each.command not in _TOLD_ONLY and not _may_happen(each, fed)]
        asked = _ANSWERED.get(fact.kind)
        gone += [each for each in own if each.command == asked and each not in gone][:1]
    if fact.kind == "offered" or fed.offer is None:
        gone += [each for each in own if each.command == "work.decline_offer" and each not in gone]
    for each in gone:
        del feed.outbox[each.action_id]


def _may_happen(proposal: Proposal, fed: FedItem) -> bool:
    """Say whether the log, as it is now, leaves the act its ownership: an offer to this agent, or the very epoch."""
    if fed.owner is not None:
        return (fed.owner, fed.ownership_epoch) == (proposal.agent_id, proposal.ownership_epoch)
    is_next = proposal.ownership_epoch == fed.ownership_epoch + 1
    return is_next and fed.offer is not None and proposal.agent_id in fed.offer.candidates


def stands(feed: Feed, item: WorkItem, fed: FedItem) -> bool:
    """Say whether what agents did here is still so: it waits for its answer, or the log agrees with it."""
    if feed.outbox and any(_carries(each, item) for each in feed.outbox.values()):
        return True
    return _agrees(item, fed)


def _carries(proposal: Proposal, item: WorkItem) -> bool:
    """Say whether an item is what it is by a proposal that waits: of its owner, or of the last where it has none."""
    if proposal.command in _TOLD_ONLY or proposal.node_id != item.node_id:
        return False
    is_owners = item.owner == proposal.agent_id or (item.owner is None and item.state in {"blocked", "parked"})
    return is_owners and proposal.ownership_epoch == item.ownership_epoch


def _agrees(item: WorkItem, fed: FedItem) -> bool:
    if item.state not in _AGREES or item.owner is None:
        return False
    return (item.state, item.owner, item.ownership_epoch) == (fed.state, fed.owner, fed.ownership_epoch)


def stands_refused(feed: Feed, item: WorkItem, fed: FedItem) -> bool:
    """Say whether an item is still so after a Command was refused: by what waits from before it, or by the log."""
    before = [each for each in feed.outbox.values() if _carries(each, item)]
    return _agrees(item, fed) if not before else _LEADS_TO[before[-1].command] == item.state


def withdraw(feed: Feed, action_id: str, *, refused: bool) -> Proposal | None:
    """Take a proposal out of the outbox and return it; where it was refused, with all that rests on it.

    One that an Event is to answer stays where it was only delivered: then None.
    """
    proposal = feed.outbox[action_id]
    if not refused and proposal.command not in _TOLD_ONLY:
        return None
    since = [*feed.outbox.values()]
    del feed.outbox[action_id]
    for each in since[since.index(proposal) + 1 :] if proposal.command not in _TOLD_ONLY else ():
        if each.command not in _TOLD_ONLY and _ownership(each) == _ownership(proposal):
            del feed.outbox[each.action_id]
    return proposal


def _ownership(proposal: Proposal) -> tuple[str, str, int]:
    return proposal.node_id, proposal.agent_id, proposal.ownership_epoch


def is_told_only(proposal: Proposal) -> bool:
    """Say whether no Event will answer a proposal: that it was delivered is the end of it."""
    return proposal.command in _TOLD_ONLY


# --- what is proposed ------------------------------------------------------------------------------------------------


def propose(state: LedgerState, event: Event, group_id: str) -> None:
    """Put into the Group's outbox what an event of the ledger, which happened just now, asks it for."""
    judge(state, event, group_id)
    asking = _ASKING.get(type(event))
    if asking is not None:
        feed = state.feeds[group_id]
        for proposal in asking(state, feed, event):
            feed.outbox[proposal.action_id] = proposal


def _accepting(state: LedgerState, feed: Feed, event: WorkAccepted) -> Iterator[Proposal]:
    _reconsider(feed, event.node_id, event.agent_id)
    # An id of its own: the same agent may accept again under the same epoch, if its first acceptance was refused.
    told = (event.node_id, event.agent_id, str(event.ownership_epoch), _micros(event.at))
    names = (state, feed, event.node_id, event.agent_id)
    yield _proposal(*names, "work.accept_offer", event.at, action_id("work.accept_offer", *told))


def _starting(state: LedgerState, feed: Feed, event: WorkStarted) -> Iterator[Proposal]:
    lease = event.lease
    fed = _fed(state, feed, lease.node_id)
    is_owner = (fed.owner, fed.ownership_epoch) == (lease.agent_id, lease.ownership_epoch)
    if is_owner and fed.state == "active":
        # The Group has this run already: this workspace lost its lease, not the Group.
        return
    names = (state, feed, lease.node_id, lease.agent_id)
    _reconsider(feed, lease.node_id, lease.agent_id)
    own = (lease.node_id, lease.agent_id, lease.ownership_epoch)
    waiting = [each.command for each in feed.outbox.values() if _ownership(each) == own]
    waiting = [each for each in waiting if each not in _TOLD_ONLY]
    if waiting[-1:] == ["work.start"]:
        # It is asked for this run already: a lease of ours ended meanwhile.
        return
    if not is_owner and "work.accept_offer" not in waiting:
        yield _proposal(*names, "work.accept_offer", event.at, action_id("work.accept_offer", lease.lease_id))
    yield _proposal(*names, "work.start", event.at, action_id("work.start", lease.lease_id))


def _reconsider(feed: Feed, node_id: str, agent_id: str) -> None:
    """Take back that the agent turns the offer down, where nobody told its Group yet."""
    said = ("work.decline_offer", node_id, agent_id)
    for each in [*feed.outbox.values()]:
        if (each.command, each.node_id, each.agent_id) == said:
            del feed.outbox[each.action_id]


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
    names = (state, feed, event.node_id, event.agent_id)
    own = action_id("work.decline_offer", event.node_id, event.agent_id, _micros(event.at))
    yield _proposal(*names, "work.decline_offer", event.at, own, declineReason=event.reason)


def _estimating(state: LedgerState, feed: Feed, event: EstimatePublished) -> Iterator[Proposal]:
    """Tell the newest estimate of a node; one that was not delivered yet is out of date."""
    for each in [*feed.outbox.values()]:
        if (each.command, each.node_id) == ("schedule.estimate", event.node_id):
            del feed.outbox[each.action_id]
    names = (state, feed, event.node_id, event.agent_id)
    yield _proposal(
        *names,
        "schedule.estimate",
        event.at,
        action_id("schedule.estimate", event.node_id, _micros(event.at)),
        estimatedStart=instant_text(event.start_to),
        estimatedStartFrom=instant_text(event.start_from),
        estimatedCompletion=instant_text(event.completion),
        confidence=f"{event.confidence_percent / 100:.2f}",
        capacityStatus=event.capacity_status,
        lastCalculatedAt=instant_text(event.at),
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
    own = action_id(command, event.lease_id)
    return _proposal(state, feed, closed.node_id, closed.agent_id, command, event.at, own, **cited, **given)


def action_id(command: ProposedCommand, *follows_from: str) -> str:
    """Return the id of a proposal: its Command, and a digest of what it follows from.

    A lease id is the right to report, so that it must not be told to whoever reads an outbox.
    """
    told = "".join(f"{len(part)}:{part}," for part in follows_from)
    digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{command.partition('.')[2]}:{digest[:_DIGITS]}"


def _proposal(
    state: LedgerState,
    feed: Feed,
    node_id: str,
    agent_id: str,
    command: ProposedCommand,
    at: datetime,
    own: str,
    **given: Any,  # noqa: ANN401 - any JSON value
) -> Proposal:
    member, session = feed.members.get(agent_id), state.sessions.get(agent_id)
    return Proposal(
        action_id=own,
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


def _micros(at: datetime) -> str:
    return str((at - _EPOCH) // timedelta(microseconds=1))
