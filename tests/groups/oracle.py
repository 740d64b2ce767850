"""The state table of a Group once more, as plain dictionaries: what its log says of each WorkItem, Event by Event.

It must not know the package: it reads Events in both envelope forms and contracts in both dialects by itself.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Json = dict[str, Any]
OVER = ("verified", "failed", "cancelled")
EXTENSION = "ext.missionweaveprotocol.core."


def new_group() -> Json:
    return {"cursor": 0, "items": {}, "members": {}, "ended": [], "archived": False}


def group_after(events: Iterable[Json]) -> Json:
    group = new_group()
    for event in events:
        follow(group, event)
    return group


def follow(group: Json, event: Json) -> None:
    """Take the next Event of the log, in place. A kind that is not in the table only moves the Cursor."""
    assert event["sequence"] == group["cursor"] + 1, "a gap in the log"
    group["cursor"] += 1
    kind, payload = event["kind"].removeprefix(EXTENSION), event["payload"]
    if kind in OF_THE_GROUP:
        OF_THE_GROUP[kind](group, payload)
    elif kind in OF_A_WORK_ITEM:
        about = payload.get("approval", payload)
        work_id = about.get("parentWorkItemId") or about["workItemId"]
        OF_A_WORK_ITEM[kind](group["items"][work_id], payload)
    if kind == "work.offer.accepted":
        _seat_for_good(group["members"][payload["assigneeId"]])


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


# --- the Group -------------------------------------------------------------------------------------------------


def _authorized(group: Json, payload: Json) -> None:
    work = payload["workItem"]
    contract = work["contract"]
    group["items"][work["id"] if "id" in work else work["workItemId"]] = {
        "mission": work["missionId"],
        "state": work["status"] if "status" in work else work["state"],
        "epoch": 0,
        "dependencies": sorted(work["dependencyIds"] if "dependencyIds" in work else contract["dependencyWorkItemIds"]),
        "left": None,
        **_UNOWNED,
    }


def _member(group: Json, payload: Json) -> None:
    member = payload["membership"]
    seat = {"epoch": member["epoch"], "status": member["status"], "roles": sorted(member["roles"])}
    group["members"][member["principal"]["id"]] = seat


def _member_ended(group: Json, payload: Json) -> None:
    seat = group["members"][payload["principal"]["id"]]
    seat.update(epoch=seat["epoch"] + 1, status="ended")


def _seat_for_good(seat: Json) -> None:
    if seat["status"] == "provisional":
        seat.update(epoch=seat["epoch"] + 1, status="active")


def _mission_over(state: str) -> Callable[[Json, Json], None]:
    def over(group: Json, payload: Json) -> None:
        group["ended"].append(payload["missionId"])
        for item in group["items"].values():
            if item["mission"] == payload["missionId"] and item["state"] not in OVER:
                _fence(item, state)

    return over


def _archived(group: Json, _: Json) -> None:
    group["archived"] = True


# --- a WorkItem ------------------------------------------------------------------------------------------------

_UNLEASED: Json = {"lease_id": None, "lease_until": None, "session": None}
_UNOWNED: Json = {"owner": None, "until": None, "offer": None, "approved_until": None, **_UNLEASED}


def _fence(item: Json, state: str) -> None:
    item["epoch"] += item["owner"] is not None
    item.update(state=state, **_UNOWNED)


def _offered(item: Json, payload: Json) -> None:
    _fence(item, "offered")
    item["offer"] = (sorted(payload["candidateAgentIds"]), instant(payload["offerExpiresAt"]))


def _accepted(item: Json, payload: Json) -> None:
    item.update(_UNOWNED, state="queued", owner=payload["assigneeId"], epoch=payload["ownershipEpoch"])
    item["until"] = instant(payload["ownershipLeaseExpiresAt"])


def _approved(item: Json, payload: Json) -> None:
    approval = payload["approval"]
    if approval["ownershipEpoch"] == item["epoch"]:
        until = instant(approval["expiresAt"])
        item["approved_until"] = max(item["approved_until"] or until, until)


def _leased(item: Json, payload: Json) -> datetime:
    lease = payload["executionLease"]
    until = instant(lease["expiresAt"])
    item.update(state="active", lease_id=lease["leaseId"], lease_until=until, session=lease["sessionEpoch"])
    return until


def _started(item: Json, payload: Json) -> None:
    item["until"] = max(item["until"], _leased(item, payload))


def _renewed(item: Json, payload: Json) -> None:
    item["until"] = _leased(item, payload)


def _checkpointed(item: Json, payload: Json) -> None:
    item.update(_UNLEASED, state="queued", until=instant(payload["ownershipLeaseExpiresAt"]))


def _blocked(item: Json, payload: Json) -> None:
    if "ownershipLeaseExpiresAt" in payload:
        item.update(_UNLEASED, state="blocked", until=instant(payload["ownershipLeaseExpiresAt"]))
    else:
        _fence(item, "blocked")


def _unblocked(item: Json, payload: Json) -> None:
    if payload["status"] == "open":
        _fence(item, "open")
    else:
        item["state"] = "queued"


def _failed(item: Json, payload: Json) -> None:
    if "sourceEventId" in payload:
        _fence(item, "failed")
    else:
        item.update(_UNLEASED, state="failed", until=None, offer=None)


def _used(item: Json, payload: Json) -> None:
    item["left"] = {name: left for name, left in payload["remainingBudget"].items() if left is not None}


OF_THE_GROUP: dict[str, Callable[[Json, Json], None]] = {
    "work.authorized": _authorized,
    "membership.changed": _member,
    "membership.ended": _member_ended,
    "mission.cancelled": _mission_over("cancelled"),
    "mission.terminated": _mission_over("failed"),
    "group.archived": _archived,
}
OF_A_WORK_ITEM: dict[str, Callable[[Json, Json], None]] = {
    "work.contract.revised": lambda item, payload: item.update(
        dependencies=sorted({*item["dependencies"], payload["dependencyId"]})
    ),
    "work.offer.created": _offered,
    "work.offer.accepted": _accepted,
    "approval.execution.granted": _approved,
    "work.started": _started,
    "work.progressed": _renewed,
    "work.checkpointed": _checkpointed,
    "work.blocked": _blocked,
    "work.unblocked": _unblocked,
    "work.submitted": lambda item, _: item.update(_UNLEASED, state="submitted"),
    "work.result.accepted": lambda item, _: item.update(_UNLEASED, state="verified", until=None),
    "work.failed": _failed,
    "work.cancelled": lambda item, _: _fence(item, "cancelled"),
    "work_execution_lease_revoked": lambda item, payload: item.update(_UNLEASED, state=payload["status"]),
    "resource_usage_recorded": _used,
    "mission.child.created": lambda item, _: _fence(item, "blocked"),
}
