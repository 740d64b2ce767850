"""The Commands of a Group authority: on what each may be carried out now, and what it changes and tells.

Each is a row, or a few, of the state table. It must not know the oracle, nor import any part of the package.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.groups.authority import EXTENSION, HUMAN, UNFINISHED, Authority, Item, Lease, Seat, pick
from tests.groups.envelopes import GATEWAY, Json, Work, usage, work_item

NAMES = ("requirements", "implementation", "tests", "review", "security", "docs", "release", "audit", "rollout")
AGENTS = tuple(f"agent://acme/{name}" for name in ("analyst", "coder", "reviewer", "tester"))


def agent(name: str | None) -> Json:
    return {"id": name, "type": "agent"}


def lease_said(group: Authority, item: Item, lease: Lease) -> Json:
    """The payload of a start or a renewal."""
    renewed = group.at(group.now) if lease.renewals else None
    said = {
        "closedAt": None,
        "closureReason": None,
        "expiresAt": group.at(lease.until),
        "groupId": group.group_id,
        "holderAgentId": item.owner,
        "issuedAt": group.at(lease.since),
        "lastRenewedAt": renewed,
        "leaseId": lease.lease_id,
        "leaseType": "execution",
        "missionId": item.mission,
        "ownershipEpoch": item.epoch,
        "renewalCount": lease.renewals,
        "sessionEpoch": lease.session,
        "startsAt": group.at(lease.since),
        "state": "active",
        "workItemId": item.work_id,
    }
    return {
        "executionLease": said,
        "executionLeaseExpiresAt": said["expiresAt"],
        "ownershipEpoch": item.epoch,
        "workItemId": item.work_id,
    }


# --- the Group -------------------------------------------------------------------------------------------------


def open_group(group: Authority) -> None:
    """Its Missions, and its first members: some provisionally, until they accept an offer."""
    for number in range(1, group.lots.number(1, 2) + 1):
        create_mission(group, f"mission:cli{number}")
    for name in AGENTS[: group.lots.number(2, 4)]:
        join(group, name)


def create_mission(group: Authority, mission_id: str) -> None:
    group.missions[mission_id] = "active"
    mission = {
        "id": mission_id,
        "groupId": group.group_id,
        "coordinatorId": group.coordinator,
        "coordinatorEpoch": 1,
        "owner": HUMAN,
        "status": "active",
        "title": "Operator CLI",
    }
    room = {"id": group.group_id, "missionId": mission_id, "createdAt": group.at(group.now)}
    group.tell("mission.created", {"followUpOfMissionId": None, "group": room, "mission": mission}, HUMAN)


def join(group: Authority, name: str) -> None:
    """An agent becomes a member, or one again: each time under a higher Membership Epoch."""
    before = group.seats.get(name)
    seat = Seat(1 + (before.epoch if before else 0), pick(group.lots, ("provisional", "active")))
    group.seats[name] = seat
    group.sessions.setdefault(name, 1)
    membership = {
        "endedAt": None,
        "epoch": seat.epoch,
        "groupId": group.group_id,
        "joinedAt": group.at(group.now),
        "principal": agent(name),
        "roles": ["worker"],
        "status": seat.status,
        "visibilityAfterSequence": len(group.log),
    }
    group.tell("membership.changed", {"membership": membership})


def leave(group: Authority, name: str) -> None:
    seat = group.seats[name]
    seat.epoch, seat.status = seat.epoch + 1, "ended"
    group.tell("membership.ended", {"principal": agent(name)})


def replace_coordinator(group: Authority, _: str) -> None:
    before, group.coordinator_epoch = group.coordinator, group.coordinator_epoch + 1
    group.coordinator = f"agent://acme/coordinator-v{group.coordinator_epoch}"
    payload = {
        "coordinatorEpoch": group.coordinator_epoch,
        "coordinatorId": group.coordinator,
        "leaseExpiresAt": group.at(group.later(86_400)),
        "previousCoordinatorId": before,
    }
    group.tell("mission.coordinator.assigned", payload, HUMAN)


def end_mission(group: Authority, mission_id: str, kind: str, state: str) -> None:
    group.missions[mission_id] = state
    for item in group.items.values():
        if item.mission == mission_id and item.state in UNFINISHED:
            group.rows[f"{kind} from {item.state}"] += 1
            group.fence(item, state)
    group.ended.append(mission_id)
    group.tell(kind, {"missionId": mission_id, "reason": "demonstrated"}, HUMAN)


def cancel_mission(group: Authority, mission_id: str) -> None:
    end_mission(group, mission_id, "mission.cancelled", "cancelled")


def terminate_mission(group: Authority, mission_id: str) -> None:
    end_mission(group, mission_id, "mission.terminated", "failed")


def open_session(group: Authority, name: str) -> None:
    """A new Session of an agent: each lease of its old one is revoked, and told of on its own."""
    group.sessions[name] += 1
    for item in sorted(group.of_state("active"), key=lambda each: each.work_id):
        if item.owner == name and item.lease is not None:
            payload = {
                "executionLeaseId": item.lease.lease_id,
                "reason": "session_replaced",
                "sessionEpoch": group.sessions[name],
                "status": "queued",
                "workItemId": item.work_id,
            }
            group.release(item, "queued")
            group.tell(f"{EXTENSION}work_execution_lease_revoked", payload, GATEWAY, item.work_id)


def make_noise(group: Authority, kind: str) -> None:
    group.tell(kind, {"message": {"id": group.fresh("message"), "content": "status?", "groupId": group.group_id}})


def archive(group: Authority) -> None:
    """The end of a Group: its Missions first, then a snapshot, then nothing more."""
    for mission_id in [name for name, state in group.missions.items() if state == "active"]:
        if all(item.state in {"verified", "cancelled"} for item in group.items.values() if item.mission == mission_id):
            group.missions[mission_id] = "approved"
            group.tell("mission.approved", {"approval": {"missionId": mission_id, "approver": HUMAN}}, HUMAN)
        else:
            cancel_mission(group, mission_id)
    snapshot = {"snapshotId": group.fresh("urn:uuid"), "throughSequence": len(group.log), "stateHash": "sha256:00"}
    group.tell("group.snapshot.created", snapshot)
    group.archived = True
    group.tell("group.archived", {"archivedAt": group.at(group.now), "snapshotId": snapshot["snapshotId"]})


# --- a WorkItem ------------------------------------------------------------------------------------------------


def authorize(group: Authority, mission_id: str, **given: Any) -> Item:  # noqa: ANN401 - any field of Work
    """A WorkItem comes into being; what is not `given` of its contract is drawn."""
    lots, before = group.lots, [each.work_id for each in group.items.values() if each.mission == mission_id]
    needs = {pick(lots, before) for _ in range(lots.number(0, min(pick(lots, (0, 0, 2)), len(before))))}
    gate = pick(lots, ("not_required", "not_required", "human_required", "policy_required"))
    work = Work(
        work_id=f"cli:{NAMES[len(group.items)]}",
        mission_id=mission_id,
        group_id=group.group_id,
        needs=sorted(needs),
        deadline=group.at(group.later(28_800, 3_600)),
        seconds=pick(lots, (300, 60, 0)),
        urgency=pick(lots, (50, 100, 0, 70)),
        approval=gate,
        risk=pick(lots, ("none", "reversible", "external")),
        tokens=pick(lots, (10_000, None)),
        calls=pick(lots, (100, None)),
    )
    work = replace(work, **given)
    is_gated = work.approval != "not_required"
    item = Item(work.work_id, mission_id, list(work.needs), is_gated, work.tokens, work.calls)
    group.items[work.work_id] = item
    said = work_item(work, pick(lots, group.dialects), group.at(group.now))
    group.tell("work.authorized", {"proposalId": None, "workItem": said})
    return item


def add_dependency(group: Authority, pair: tuple[Item, str]) -> None:
    item, need = pair
    item.needs.append(need)
    item.revision += 1
    payload = {"dependencyId": need, "revision": item.revision, "workItemId": item.work_id}
    group.tell("work.contract.revised", payload, work_id=item.work_id)


def offer(group: Authority, item: Item, *candidates: str) -> None:
    """Some members more may accept the item; whoever still counted as its owner does not own it any more."""
    kept = item.candidates if item.state == "offered" and item.offered_until > group.now else []
    group.fence(item, "offered")
    there = [name for name in group.seats if group.present(name)]
    asked = {*candidates} or {pick(group.lots, there) for _ in range(group.lots.number(1, len(there)))}
    item.candidates = sorted({*kept, *asked})
    item.offered_until = group.later(600, 10, 3_600)
    payload = {
        "candidateAgentIds": item.candidates,
        "offerExpiresAt": group.at(item.offered_until),
        "selectionBasis": {"authorizationEligible": True, "policyRulesApplied": ["organization-priority"]},
        "workItemId": item.work_id,
    }
    group.tell("work.offer.created", payload, work_id=item.work_id)


def accept(group: Authority, pair: tuple[Item, str]) -> None:
    item, name = pair
    seat = group.seats[name]
    if seat.status == "provisional":
        group.rows["provisional becomes active"] += 1
        seat.epoch, seat.status = seat.epoch + 1, "active"
    item.state, item.owner, item.candidates, item.epoch = "queued", name, [], item.epoch + 1
    item.until = group.later(3_600, 5, 300)
    payload = {
        "agentCardVersion": 1,
        "assigneeId": name,
        "ownershipEpoch": item.epoch,
        "ownershipLeaseExpiresAt": group.at(item.until),
        "workItemId": item.work_id,
    }
    group.tell("work.offer.accepted", payload, agent(name), item.work_id)


def approve(group: Authority, item: Item) -> None:
    """A person lets the item start, for no longer than its owner owns it."""
    assert item.until is not None
    until = min(group.later(300, 30, 3_600), item.until)
    item.approvals.append((item.epoch, until))
    approval = {
        "approvedAt": group.at(group.now),
        "approver": HUMAN,
        "budget": usage(tokens=100, calls=None),
        "comments": None,
        "expiresAt": group.at(until),
        "groupId": group.group_id,
        "id": group.fresh("execution-approval"),
        "missionId": item.mission,
        "operations": ["production.deploy"],
        "ownershipEpoch": item.epoch,
        "resources": ["cluster:production"],
        "signature": "unsigned",
        "workItemId": item.work_id,
    }
    group.tell("approval.execution.granted", {"approval": approval}, HUMAN)


def start(group: Authority, item: Item) -> None:
    assert item.owner is not None
    assert item.until is not None
    until = group.later(600, 2, 7_200)
    item.lease = Lease(group.fresh("lease:execution"), group.sessions[item.owner], group.now, until)
    item.state, item.until = "active", max(item.until, until)
    group.tell("work.started", lease_said(group, item, item.lease), agent(item.owner), item.work_id)


def renew(group: Authority, item: Item) -> None:
    """The lease lasts longer, and the ownership as long as the lease: perhaps less than before."""
    assert item.lease is not None
    item.lease.renewals += 1
    item.until = item.lease.until = max(group.later(60, 1_200), item.lease.until + (group.later(1) - group.now))
    group.tell("work.progressed", lease_said(group, item, item.lease), agent(item.owner), item.work_id)


def checkpoint(group: Authority, item: Item) -> None:
    group.release(item, "queued")
    item.until = group.later(3_600, 5)
    point = {
        "completedMilestones": ["password flow"],
        "createdAt": group.at(group.now),
        "nextStep": "add MFA",
        "phase": "implementation",
        "stateArtifactHash": f"sha256:{1:064}",
    }
    payload = {"checkpoint": point, "ownershipLeaseExpiresAt": group.at(item.until), "workItemId": item.work_id}
    group.tell("work.checkpointed", payload, agent(item.owner), item.work_id)


def block(group: Authority, item: Item) -> None:
    group.release(item, "blocked")
    item.until = group.later(3_600, 5)
    payload = {"ownershipLeaseExpiresAt": group.at(item.until), "reason": "a decision", "workItemId": item.work_id}
    group.tell("work.blocked", payload, agent(item.owner), item.work_id)


def unblock(group: Authority, item: Item) -> None:
    if group.owned(item):
        group.release(item, "queued")
    else:
        group.fence(item, "open")
    group.rows[f"unblock to {item.state}"] += 1
    group.tell("work.unblocked", {"status": item.state, "workItemId": item.work_id}, work_id=item.work_id)


def submit(group: Authority, item: Item) -> None:
    group.release(item, "submitted")
    evidence = [{"kind": "deterministic-tests", "description": "checks passed", "success": True, "artifactHash": None}]
    payload = {"artifactIds": [f"artifact:{item.work_id}"], "evidence": evidence, "workItemId": item.work_id}
    group.tell("work.submitted", payload, agent(item.owner), item.work_id)


def accept_result(group: Authority, item: Item) -> None:
    group.release(item, "verified")
    item.until = None
    payload = {"evidence": [{"kind": "review", "success": True}], "workItemId": item.work_id}
    group.tell("work.result.accepted", payload, work_id=item.work_id)


def lose(group: Authority, item: Item) -> None:
    """The item failed; its owner stays on record until it is offered again."""
    group.release(item, "failed")
    item.until, item.candidates = None, []
    group.tell("work.failed", {"reason": "cannot proceed", "workItemId": item.work_id}, work_id=item.work_id)


def cancel(group: Authority, item: Item) -> None:
    group.fence(item, "cancelled")
    group.tell("work.cancelled", {"reason": "scope closed", "workItemId": item.work_id}, work_id=item.work_id)


def create_child(group: Authority, item: Item) -> None:
    group.fence(item, "blocked")
    item.child, item.child_runs = group.fresh("mission:child"), True
    payload = {
        "childGroupId": item.child.replace("mission", "group", 1),
        "childMissionId": item.child,
        "parentMissionId": item.mission,
        "parentWorkItemId": item.work_id,
    }
    group.tell("mission.child.created", payload)


def approve_child(group: Authority, item: Item) -> None:
    item.state, item.child_runs = "verified", False
    payload = {
        "childApprovalId": "approval:child",
        "childMissionId": item.child,
        "sourceEventId": group.fresh("urn:uuid"),
        "workItemId": item.work_id,
    }
    group.tell("work.result.accepted", payload, HUMAN, item.work_id)


def child_failed(group: Authority, item: Item) -> Json:
    reason = f"child Mission {item.child} failed: cannot proceed"
    item.child_runs = False
    group.rows["a child fails whose parent item has an owner again"] += item.owner is not None
    return {"reason": reason, "sourceEventId": group.fresh("urn:uuid"), "workItemId": item.work_id}


def block_by_child(group: Authority, item: Item) -> None:
    payload = child_failed(group, item)
    group.fence(item, "blocked")
    group.tell("work.blocked", payload, work_id=item.work_id)


def lose_by_child(group: Authority, item: Item) -> None:
    """The parent fails with its child; with it, by the policy of the Mission, perhaps all of the Mission."""
    payload = child_failed(group, item)
    group.fence(item, "failed")
    group.tell("work.failed", payload, work_id=item.work_id)
    if group.lots.number(0, 3) == 3:
        terminate_mission(group, item.mission)
