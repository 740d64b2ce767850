"""A Group with a log of its own, in short: its Coordinator writes Events and answers the Commands it is asked for.

The Events are those of MissionWeaveProtocol in their wire form, with the fields that matter to a Worker; nobody signs
them here. Knows neither the scheduler nor what the demo makes of it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

Json = dict[str, Any]
GROUP: Final = "release:7"
MISSION: Final = "release:7:mission"
_COORDINATOR: Final = "agent://demo/coordinator"
_NOON: Final = datetime(2026, 12, 1, 12, tzinfo=UTC)
_UNTIL: Final = (_NOON + timedelta(hours=4)).isoformat()
# WorkItem, goal, what it needs, and who may do it.
_WORK: Final[tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...]] = (
    ("release:notes", "Write the release notes", (), ("worker-1",)),
    ("release:build", "Build the release", (), ("worker-1", "worker-2")),
    ("release:publish", "Publish the release", ("release:notes", "release:build"), ("worker-1", "worker-2")),
)


class GroupLog:
    """The log, and who owns which WorkItem."""

    def __init__(self) -> None:
        """Open the Group: its members, its work, and an offer for all of it that waits for nothing."""
        self.events: list[Json] = []
        self._epochs = dict.fromkeys((name for name, *_ in _WORK), 0)
        self._verified: set[str] = set()
        self._offered: set[str] = set()
        self._tell("mission.created", {"mission": {"id": MISSION, "coordinatorId": _COORDINATOR}})
        for agent_id in ("worker-1", "worker-2"):
            self._tell("membership.changed", {"membership": _member(agent_id)})
        for name, goal, needs, _ in _WORK:
            self._tell("work.authorized", {"workItem": _work_item(name, goal, needs)})
        self.offer()
        self._tell("message.posted", {"body": "Please keep it short."})

    def offer(self) -> None:
        """Offer what waits for nothing any more and was not offered yet."""
        for name, _, needs, candidates in _WORK:
            if name not in self._offered and self._verified.issuperset(needs):
                self._offered.add(name)
                offer = {"workItemId": name, "candidateAgentIds": list(candidates), "offerExpiresAt": _UNTIL}
                self._tell("work.offer.created", offer)

    def answer(self, proposals: Sequence[Json]) -> None:
        """Carry out what the Group is asked for, and take each result that is submitted; then offer what is next."""
        for each in proposals:
            name, agent_id = each["work_item_id"], each["agent_id"]
            if each["command"] == "work.accept_offer":
                self._epochs[name] += 1
                owner = {"assigneeId": agent_id, "ownershipEpoch": self._epochs[name]}
                self._tell("work.offer.accepted", {"workItemId": name, **owner, "ownershipLeaseExpiresAt": _UNTIL})
            elif each["command"] == "work.start":
                self._tell("work.started", {"workItemId": name, "executionLease": self._lease(name, agent_id)})
            elif each["command"] == "work.submit":
                self._tell("work.submitted", {"workItemId": name})
                self._tell("work.result.accepted", {"workItemId": name})
                self._verified.add(name)
        self.offer()

    def _lease(self, name: str, agent_id: str) -> Json:
        epoch = self._epochs[name]
        lease = {"leaseId": f"lease:{name}:{epoch}", "holderAgentId": agent_id, "sessionEpoch": 1}
        return {**lease, "ownershipEpoch": epoch, "expiresAt": _UNTIL}

    def _tell(self, kind: str, payload: Json) -> None:
        sequence = len(self.events) + 1
        self.events.append(
            {
                "protocolVersion": "0.1",
                "eventId": f"release:event:{sequence}",
                "groupId": GROUP,
                "sequence": sequence,
                "kind": kind,
                "actor": {"id": _COORDINATOR, "type": "agent"},
                "occurredAt": _NOON.isoformat(),
                "payload": payload,
            }
        )


def _member(agent_id: str) -> Json:
    principal = {"id": agent_id, "type": "agent"}
    return {"principal": principal, "status": "active", "membershipEpoch": 1, "roles": ["worker"]}


def _work_item(name: str, goal: str, needs: Sequence[str]) -> Json:
    contract = {
        "goal": goal,
        "acceptanceCriteria": [f"{goal}: done"],
        "requiredCapabilities": [],
        "requestedPriority": 50,
        "sideEffectRisk": "none",
        "executionApproval": "not_required",
        "deadline": _UNTIL,
        "estimatedDurationSeconds": 300,
        "budget": {"modelTokens": 10_000, "toolCalls": 100, "wallClockSeconds": 3_600, "financialMicrounits": None},
    }
    return {"id": name, "missionId": MISSION, "status": "open", "dependencyIds": list(needs), "contract": contract}
