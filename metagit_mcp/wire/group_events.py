"""Reads one Event of a Group's log from JSON: its envelope, and what it tells the queue. Knows no state and no store.

Both envelopes are read: that of the protocol's schema, and the one in which its reference keeps Events. Of two texts
with the same content the digest is the same, whatever the order of their keys, their white space and their escapes.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

from pydantic_core import from_json

from metagit_mcp.domain import group_facts as facts
from metagit_mcp.domain.group_facts import GroupFact
from metagit_mcp.domain.value import value
from metagit_mcp.errors import SchemaMismatch
from metagit_mcp.wire.codec import Json
from metagit_mcp.wire.group_contracts import budget_of, contract_of
from metagit_mcp.wire.group_fields import Part, is_fed_id, is_kind
from metagit_mcp.wire.group_texts import canonical

_VERSION: Final = "0.1"
_KEY_SIZE: Final = 16


@value
class GroupEvent:
    """An Event as its envelope says; `at` is the time that the log gives.

    `digest` (16 bytes) is that of all of its content. A whole number is the same however it is written (`1`, `1.0`,
    `1e0`), up to 2**53. `event_key` (16 bytes) is that of its id. `body` is its JSON, from which `read_group_event`
    makes the same Event; `told` is what `fact_of` returns, if that was read with it.
    """

    event_id: str
    group_id: str
    sequence: int
    kind: str
    at: datetime
    digest: bytes
    event_key: bytes
    body: bytes
    told: GroupFact | None = field(default=None, compare=False, repr=False)

    @property
    def record(self) -> Json:
        """What stands in its JSON."""
        record: Json = from_json(self.body)
        return record


def read_group_event(given: bytes | str | Json) -> GroupEvent:
    """Return the Event in a text of JSON, or in the object that such a text holds; `fact_of` looks at the rest.

    Raises:
        SchemaMismatch: it is no Event of a Group, or needs an extension that is not known here (K12).
    """
    record, body = canonical(given)
    event = Part(record, record)
    kind = event.text("kind")
    if kind not in _READERS and not is_kind(kind):
        event.refuse("kind", "must be words with dots between them, like work.started")
    if record.get("protocolVersion") != _VERSION:
        event.refuse("protocolVersion", f"must be {_VERSION}")
    event.refuse_extensions()
    payload = event.part("payload")
    event_id = event.named(event.either("eventId", "id"))
    group_id = event.named("groupId")
    sequence = event.whole("sequence", least=1)
    at = event.instant("occurredAt")
    try:
        told = _told(event, payload, kind, sequence, at) if kind in _READERS else None
    except SchemaMismatch:
        # Said by whoever asks for it: an Event that is known already may be passed over.
        told = None
    return GroupEvent(
        event_id=event_id,
        group_id=group_id,
        sequence=sequence,
        kind=kind,
        at=at,
        digest=blake2b(body, digest_size=_KEY_SIZE).digest(),
        event_key=blake2b(event_id.encode(), digest_size=_KEY_SIZE).digest(),
        body=body,
        told=told,
    )


def fact_of(event: GroupEvent) -> GroupFact | None:
    """Return what an Event tells the queue, or None: it only advances the Cursor.

    Raises:
        SchemaMismatch: a field of its payload is not as its kind asks.
    """
    if event.told is not None or event.kind not in _READERS:
        return event.told
    record = event.record
    whole = Part(record, record)
    return _told(whole, whole.part("payload"), event.kind, event.sequence, event.at)


def _told(event: Part, payload: Part, kind: str, sequence: int, at: datetime) -> GroupFact | None:
    return _READERS[kind](payload, {"sequence": sequence, "at": at, "cause": _cause(event)})


def _cause(event: Part) -> str:
    """Return the action id of the Command behind the Event; one that is no id here answers nothing of ours."""
    given = event.record.get("cause")
    if type(given) is dict and given.get("type") == "command" and is_fed_id(given.get("id")):
        # So it is in nearly all.
        return str(given["id"])
    cause = event.part_or_none("cause")
    if cause is None:
        said = event.text_or_none("actionId")
    else:
        said = cause.text("id") if cause.text("type") == "command" else None
    return said if said is not None and is_fed_id(said) else ""


# --- what each kind tells --------------------------------------------------------------------------------------------

_Place = Mapping[str, Any]


def _authorized(payload: Part, place: _Place) -> GroupFact:
    item = payload.part("workItem")
    state = item.either("status", "state")
    if item.text_or_none(state) not in {None, "open"}:
        item.refuse(state, "must be open: nobody can have had the work yet")
    return facts.WorkAuthorized(node=contract_of(item), mission_id=item.named("missionId"), **place)


def _offered(payload: Part, place: _Place) -> GroupFact:
    candidates, until = payload.all_named("candidateAgentIds"), payload.instant("offerExpiresAt")
    return facts.WorkOffered(node_id=payload.named("workItemId"), candidates=candidates, until=until, **place)


def _accepted(payload: Part, place: _Place) -> GroupFact:
    return facts.OfferAccepted(
        node_id=payload.named("workItemId"),
        agent_id=payload.named("assigneeId"),
        ownership_epoch=payload.whole("ownershipEpoch"),
        until=payload.instant("ownershipLeaseExpiresAt"),
        **place,
    )


def _dependency(payload: Part, place: _Place) -> GroupFact:
    dependency_id = payload.named("dependencyId")
    return facts.DependencyAdded(node_id=payload.named("workItemId"), dependency_id=dependency_id, **place)


def _begun(payload: Part, place: _Place) -> GroupFact:
    lease = payload.part("executionLease")
    return facts.WorkBegun(
        node_id=payload.named("workItemId"),
        lease_id=lease.named("leaseId"),
        agent_id=lease.named("holderAgentId"),
        session_epoch=lease.whole("sessionEpoch"),
        ownership_epoch=lease.whole("ownershipEpoch"),
        until=lease.instant("expiresAt"),
        **place,
    )


def _extended(payload: Part, place: _Place) -> GroupFact:
    lease = payload.part("executionLease")
    lease_id, until = lease.named("leaseId"), lease.instant("expiresAt")
    return facts.LeaseExtended(node_id=payload.named("workItemId"), lease_id=lease_id, until=until, **place)


def _set_aside(payload: Part, place: _Place) -> GroupFact:
    checkpoint = payload.part_or_none("checkpoint")
    note = "" if checkpoint is None else checkpoint.shown("nextStep") or checkpoint.shown("phase")
    until = payload.instant("ownershipLeaseExpiresAt")
    return facts.WorkSetAside(node_id=payload.named("workItemId"), until=until, note=note, **place)


def _stuck(payload: Part, place: _Place) -> GroupFact:
    reason, until = payload.shown("reason"), payload.instant_or_none("ownershipLeaseExpiresAt")
    return facts.WorkStuck(node_id=payload.named("workItemId"), reason=reason, until=until, **place)


def _unstuck(payload: Part, place: _Place) -> GroupFact:
    name = payload.either("status", "state")
    state = payload.text(name)
    if state not in {"queued", "open"}:
        payload.refuse(name, "must be queued or open")
    return facts.WorkUnstuck(node_id=payload.named("workItemId"), owned=state == "queued", **place)


def _submitted(payload: Part, place: _Place) -> GroupFact:
    return facts.ResultSubmitted(node_id=payload.named("workItemId"), **place)


def _verified(payload: Part, place: _Place) -> GroupFact:
    return facts.ResultVerified(node_id=payload.named("workItemId"), **place)


def _lost(payload: Part, place: _Place) -> GroupFact:
    reason, fenced = payload.shown("reason"), payload.text_or_none("sourceEventId") is not None
    return facts.WorkLost(node_id=payload.named("workItemId"), reason=reason, fenced=fenced, **place)


def _called_off(payload: Part, place: _Place) -> GroupFact:
    return facts.WorkCalledOff(node_id=payload.named("workItemId"), reason=payload.shown("reason"), **place)


def _session_replaced(payload: Part, place: _Place) -> GroupFact:
    name = payload.either("status", "state")
    if payload.text_or_none(name) not in {None, "queued"}:
        payload.refuse(name, "must be queued")
    epoch = payload.whole("sessionEpoch")
    return facts.SessionReplaced(node_id=payload.named("workItemId"), session_epoch=epoch, **place)


def _usage(payload: Part, place: _Place) -> GroupFact:
    left = budget_of(payload.part("remainingBudget"))
    return facts.UsageRecorded(node_id=payload.named("workItemId"), left=left, **place)


def _approved(payload: Part, place: _Place) -> GroupFact:
    approval = payload.part("approval")
    return facts.ExecutionApproved(
        node_id=approval.named("workItemId"),
        ownership_epoch=approval.whole("ownershipEpoch"),
        until=approval.instant("expiresAt"),
        by=approval.part("approver").named("id"),
        **place,
    )


def _child(payload: Part, place: _Place) -> GroupFact:
    mission_id = payload.named("childMissionId")
    return facts.ChildMissionCreated(node_id=payload.named("parentWorkItemId"), mission_id=mission_id, **place)


def _mission_cancelled(payload: Part, place: _Place) -> GroupFact:
    return facts.MissionEnded(mission_id=payload.named("missionId"), outcome="cancelled", **place)


def _mission_terminated(payload: Part, place: _Place) -> GroupFact:
    return facts.MissionEnded(mission_id=payload.named("missionId"), outcome="terminated", **place)


def _membership(payload: Part, place: _Place) -> GroupFact | None:
    membership = payload.part("membership")
    membership.refuse_extensions()
    agent_id = _agent(membership.part(membership.either("principal", "member")))
    roles = membership.all_named("roles") or (membership.named("role"),)
    status = membership.named(membership.either("status", "state"))
    epoch = membership.whole(membership.either("epoch", "membershipEpoch"))
    if agent_id is None:
        return None
    return facts.MembershipChanged(agent_id=agent_id, status=status, epoch=epoch, roles=roles, **place)


def _membership_ended(payload: Part, place: _Place) -> GroupFact | None:
    agent_id = _agent(payload.part("principal"))
    return None if agent_id is None else facts.MembershipChanged(agent_id=agent_id, status="ended", **place)


def _agent(principal: Part) -> str | None:
    """Return the id of a member who is an agent; people and services take no work."""
    name = principal.named("id")
    return name if principal.text("type") == "agent" else None


def _coordinator(payload: Part, place: _Place) -> GroupFact:
    epoch = payload.whole("coordinatorEpoch")
    return facts.CoordinatorAssigned(agent_id=payload.named("coordinatorId"), epoch=epoch, **place)


def _archived(_: Part, place: _Place) -> GroupFact:
    return facts.GroupArchived(**place)


_READERS: Final[Mapping[str, Callable[[Part, _Place], GroupFact | None]]] = {
    "work.authorized": _authorized,
    "work.offer.created": _offered,
    "work.offer.accepted": _accepted,
    "work.contract.revised": _dependency,
    "work.started": _begun,
    "work.progressed": _extended,
    "work.checkpointed": _set_aside,
    "work.blocked": _stuck,
    "work.unblocked": _unstuck,
    "work.submitted": _submitted,
    "work.result.accepted": _verified,
    "work.failed": _lost,
    "work.cancelled": _called_off,
    "ext.missionweaveprotocol.core.work_execution_lease_revoked": _session_replaced,
    "ext.missionweaveprotocol.core.resource_usage_recorded": _usage,
    "approval.execution.granted": _approved,
    "mission.child.created": _child,
    "mission.cancelled": _mission_cancelled,
    "mission.terminated": _mission_terminated,
    "membership.changed": _membership,
    "membership.ended": _membership_ended,
    "mission.coordinator.assigned": _coordinator,
    "group.archived": _archived,
}
