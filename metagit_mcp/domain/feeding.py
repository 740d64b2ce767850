"""The fold over what a Group's log tells: what each fact does to its WorkItems, as a table. Decides nothing.

The rules are those of the protocol's state machine: *fenced* work has no owner, and its Ownership Epoch grows by one
if it had one. What agents did here stands until the log answers it or says otherwise (`outbox.py`).
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from metagit_mcp.domain.charging import forget_asked
from metagit_mcp.domain.feed_events import GroupEventsApplied, OfferDeclined, ProposalAnswered
from metagit_mcp.domain.feeds import FedItem, FedState, Feed, Member, Offer
from metagit_mcp.domain.group_facts import (
    ChildMissionCreated,
    CoordinatorAssigned,
    DependencyAdded,
    ExecutionApproved,
    GroupArchived,
    GroupFact,
    LeaseExtended,
    MembershipChanged,
    MissionEnded,
    OfferAccepted,
    ResultSubmitted,
    ResultVerified,
    SessionReplaced,
    UsageRecorded,
    WorkAuthorized,
    WorkBegun,
    WorkCalledOff,
    WorkLost,
    WorkOffered,
    WorkSetAside,
    WorkStuck,
    WorkUnstuck,
)
from metagit_mcp.domain.moves import closed_with
from metagit_mcp.domain.outbox import answered_by, is_told_only, stands, stands_refused, withdraw
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.value import changed
from metagit_mcp.domain.work import NodeKey, WorkItem, WorkState

# Work that goes on no more, and that the end of its Mission leaves as it is.
_OVER: Final = ("verified", "failed", "cancelled")


def evolve_group_events_applied(state: LedgerState, event: GroupEventsApplied) -> None:
    """Let facts of a Group happen, one after another."""
    before = state.feeds.get(event.group_id) or Feed(group_id=event.group_id)
    state.feeds[event.group_id] = changed(before, first=event.first, filtered=event.filtered)
    for fact in event.facts:
        _ON_GROUP.get(type(fact), _evolve_item)(state, event.group_id, fact)
    state.feeds[event.group_id] = changed(state.feeds[event.group_id], cursor=event.cursor)


def evolve_proposal_answered(state: LedgerState, event: ProposalAnswered) -> NodeKey | None:
    """Take what was answered from the outbox; an act of ours that the Group refused is undone here too."""
    proposal = withdraw(state.feeds[event.group_id], event.action_id, refused=event.outcome == "refused")
    if proposal is None:
        return None
    item = state.items[event.group_id][proposal.node_id]
    fed = None if is_told_only(proposal) else item.fed
    if fed is not None and not stands_refused(state.feeds[event.group_id], item, fed):
        _undo(state, item, fed, event.at)
    return item.key


def evolve_offer_declined(state: LedgerState, event: OfferDeclined) -> NodeKey:
    """Remember who turned the offer down: its Group is told that once."""
    item = state.items[event.graph_id][event.node_id]
    fed = item.fed
    if fed is None or fed.offer is None:  # pragma: no cover - only what is offered is turned down
        raise AssertionError
    offer = changed(fed.offer, declined_by=(*fed.offer.declined_by, event.agent_id))
    state.items[item.graph_id][item.node_id] = changed(item, fed=changed(fed, offer=offer))
    return item.key


# --- one WorkItem ----------------------------------------------------------------------------------------------------


def _evolve_item(state: LedgerState, group_id: str, fact: Any) -> None:  # noqa: ANN401 - any fact about one WorkItem
    """Let a fact happen to its WorkItem; one of work that this workspace may not see changes nothing."""
    item = state.item((group_id, fact.node_id))
    if item is None or item.fed is None:
        return
    fields = _ON_ITEM[type(fact)](item.fed, fact)
    _settle(state, group_id, item, changed(item.fed, since=fact.at, **fields), fact)


def _settle(state: LedgerState, group_id: str, item: WorkItem, fed: FedItem, fact: GroupFact) -> None:
    """Keep what the log says now, and what agents did here as long as it stands."""
    feed = state.feeds[group_id]
    answered_by(feed, item, fed, fact)
    if stands(feed, item, fed):
        state.items[group_id][item.node_id] = changed(item, fed=fed)
        return
    _undo(state, item, fed, fact.at)


def _undo(state: LedgerState, item: WorkItem, fed: FedItem, at: datetime) -> None:
    """Leave the work to what its Group's log says of it; a lease of ours is revoked."""
    item = closed_with(state, item, "revoked", at)
    state.terms.pop(item.key, None)
    if fed.state in _OVER:
        forget_asked(state.shares, item.key)
    state.items[item.graph_id][item.node_id] = as_told(item, fed)


# What the log alone makes of a WorkItem here; whoever owns it by the log alone works without a lease of ours.
_TOLD: Final[Mapping[FedState, WorkState]] = {
    "open": "open",
    "offered": "open",
    "queued": "open",
    "active": "open",
    "blocked": "blocked",
    "submitted": "open",
    "verified": "completed",
    "failed": "parked",
    "cancelled": "cancelled",
}


def as_told(item: WorkItem, fed: FedItem) -> WorkItem:
    """Return the item as the Group's log alone has it."""
    return changed(
        item,
        state=_TOLD[fed.state],
        changed_at=fed.since,
        ownership_epoch=fed.ownership_epoch,
        owner=None,
        owner_session=0,
        until=None,
        lease_id=None,
        note=fed.note,
        fed=fed,
    )


# Each of these returns the fields that a fact changes: an item is copied once.
_Fields = dict[str, Any]


def _fenced(fed: FedItem, to: FedState, note: str = "") -> _Fields:
    """Put the item into another state, with nobody as its owner."""
    return {
        "state": to,
        "ownership_epoch": fed.ownership_epoch + (fed.owner is not None),
        "owner": None,
        "until": None,
        "lease_id": None,
        "lease_until": None,
        "offer": None,
        "approved_until": None,
        "note": note,
    }


def _unleased(to: FedState, **fields: Any) -> _Fields:  # noqa: ANN401 - any fields of the item
    """Put the item into another state, still its owner's, with no Execution Lease."""
    return {"state": to, "lease_id": None, "lease_until": None, **fields}


def _offered(fed: FedItem, fact: WorkOffered) -> _Fields:
    return {**_fenced(fed, "offered"), "offer": Offer(candidates=fact.candidates, until=fact.until)}


def _accepted(_: FedItem, fact: OfferAccepted) -> _Fields:
    return _unleased(
        "queued",
        owner=fact.agent_id,
        ownership_epoch=fact.ownership_epoch,
        until=fact.until,
        offer=None,
        approved_until=None,
        note="",
    )


def _begun(fed: FedItem, fact: WorkBegun) -> _Fields:
    return {
        "state": "active",
        "owner": fact.agent_id,
        "ownership_epoch": fact.ownership_epoch,
        "session_epoch": fact.session_epoch,
        "lease_id": fact.lease_id,
        "lease_until": fact.until,
        "until": fact.until if fed.until is None else max(fed.until, fact.until),
        "note": "",
    }


def _extended(_: FedItem, fact: LeaseExtended) -> _Fields:
    return {"lease_id": fact.lease_id, "lease_until": fact.until, "until": fact.until}


def _set_aside(_: FedItem, fact: WorkSetAside) -> _Fields:
    return _unleased("queued", until=fact.until, note=fact.note)


def _stuck(fed: FedItem, fact: WorkStuck) -> _Fields:
    if fact.until is None:
        return _fenced(fed, "blocked", fact.reason)
    return _unleased("blocked", until=fact.until, note=fact.reason)


def _unstuck(fed: FedItem, fact: WorkUnstuck) -> _Fields:
    return {"state": "queued", "note": ""} if fact.owned else _fenced(fed, "open")


def _submitted(_: FedItem, __: ResultSubmitted) -> _Fields:
    return _unleased("submitted", note="")


def _verified(_: FedItem, __: ResultVerified) -> _Fields:
    return _unleased("verified", until=None, note="")


def _lost(fed: FedItem, fact: WorkLost) -> _Fields:
    if fact.fenced:
        return _fenced(fed, "failed", fact.reason)
    return _unleased("failed", until=None, offer=None, note=fact.reason)


def _called_off(fed: FedItem, fact: WorkCalledOff) -> _Fields:
    return _fenced(fed, "cancelled", fact.reason)


def _session_replaced(_: FedItem, fact: SessionReplaced) -> _Fields:
    return _unleased("queued", session_epoch=fact.session_epoch)


def _approved(fed: FedItem, fact: ExecutionApproved) -> _Fields:
    if fact.ownership_epoch != fed.ownership_epoch:
        return {}
    # Any of several approvals opens the gate.
    return {"approved_until": fact.until if fed.approved_until is None else max(fed.approved_until, fact.until)}


def _usage(_: FedItem, fact: UsageRecorded) -> _Fields:
    return {"left": fact.left}


def _child(fed: FedItem, fact: ChildMissionCreated) -> _Fields:
    return _fenced(fed, "blocked", f"child Mission {fact.mission_id}")


_ON_ITEM: Final[Mapping[type[GroupFact], Callable[[FedItem, Any], _Fields]]] = {
    WorkOffered: _offered,
    OfferAccepted: _accepted,
    WorkBegun: _begun,
    LeaseExtended: _extended,
    WorkSetAside: _set_aside,
    WorkStuck: _stuck,
    WorkUnstuck: _unstuck,
    ResultSubmitted: _submitted,
    ResultVerified: _verified,
    WorkLost: _lost,
    WorkCalledOff: _called_off,
    SessionReplaced: _session_replaced,
    ExecutionApproved: _approved,
    UsageRecorded: _usage,
    ChildMissionCreated: _child,
}


# --- the Group -------------------------------------------------------------------------------------------------------


def _evolve_authorized(state: LedgerState, group_id: str, fact: WorkAuthorized) -> None:
    feed, node = state.feeds[group_id], fact.node
    feed.nodes[node.node_id] = node
    state.feeds[group_id] = changed(feed, shape=feed.shape + 1)
    fed = FedItem(mission_id=fact.mission_id, since=fact.at)
    item = WorkItem(graph_id=group_id, node_id=node.node_id, state="open", changed_at=fact.at, fed=fed)
    state.items.setdefault(group_id, {})[node.node_id] = item


def _evolve_dependency(state: LedgerState, group_id: str, fact: DependencyAdded) -> None:
    feed = state.feeds[group_id]
    node = feed.nodes.get(fact.node_id)
    if node is not None and fact.dependency_id not in node.depends_on:
        feed.nodes[fact.node_id] = changed(node, depends_on=(*node.depends_on, fact.dependency_id))
        state.feeds[group_id] = changed(feed, shape=feed.shape + 1)


def _evolve_accepted(state: LedgerState, group_id: str, fact: OfferAccepted) -> None:
    """Let the offer be accepted; a provisional member is one for good from then on, under its next epoch."""
    members = state.feeds[group_id].members
    member = members.get(fact.agent_id)
    if member is not None and member.status == "provisional":
        members[fact.agent_id] = changed(member, status="active", epoch=member.epoch + 1)
    _evolve_item(state, group_id, fact)


def _evolve_mission_ended(state: LedgerState, group_id: str, fact: MissionEnded) -> None:
    """Let all unfinished work of the Mission end with it: the log has no Event for each."""
    feed = state.feeds[group_id]
    to: FedState = "cancelled" if fact.outcome == "cancelled" else "failed"
    for item, fed in list(_unfinished(state, group_id, fact.mission_id)):
        fields = _fenced(fed, to, f"Mission {fact.outcome}")
        _settle(state, group_id, item, changed(fed, since=fact.at, **fields), fact)
    state.feeds[group_id] = changed(feed, shape=feed.shape + 1, ended=(*feed.ended, fact.mission_id))


def _unfinished(state: LedgerState, group_id: str, mission_id: str) -> Iterator[tuple[WorkItem, FedItem]]:
    for item in state.items.get(group_id, {}).values():
        if item.fed is not None and item.fed.mission_id == mission_id and item.fed.state not in _OVER:
            yield item, item.fed


def _evolve_membership(state: LedgerState, group_id: str, fact: MembershipChanged) -> None:
    members = state.feeds[group_id].members
    before = members.get(fact.agent_id)
    if fact.status == "ended" and before is not None:
        members[fact.agent_id] = changed(before, status="ended", epoch=before.epoch + 1)
    else:
        members[fact.agent_id] = Member(epoch=fact.epoch, status=fact.status, roles=fact.roles)


def _evolve_coordinator(state: LedgerState, group_id: str, fact: CoordinatorAssigned) -> None:
    feed = state.feeds[group_id]
    state.feeds[group_id] = changed(feed, coordinator=fact.agent_id, coordinator_epoch=fact.epoch)


def _evolve_archived(state: LedgerState, group_id: str, _: GroupArchived) -> None:
    feed = state.feeds[group_id]
    state.feeds[group_id] = changed(feed, archived=True, shape=feed.shape + 1)


_ON_GROUP: Final[Mapping[type[GroupFact], Callable[[LedgerState, str, Any], None]]] = {
    WorkAuthorized: _evolve_authorized,
    DependencyAdded: _evolve_dependency,
    OfferAccepted: _evolve_accepted,
    MissionEnded: _evolve_mission_ended,
    MembershipChanged: _evolve_membership,
    CoordinatorAssigned: _evolve_coordinator,
    GroupArchived: _evolve_archived,
}
