"""What an Event looks like as JSON: both envelope forms, and both dialects of a WorkItem with its contract.

It must not know what a kind means, nor import any part of the package.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Json = dict[str, Any]
Form = Literal["wire", "internal"]
Dialect = Literal["sdk", "schema"]
Clock = Literal["seconds", "microseconds", "offset"]

GATEWAY = {"type": "service", "id": "urn:missionweaveprotocol:service:group-gateway"}
URGENCIES = ("routine", "normal", "high", "critical")
_EAST = timezone(timedelta(hours=2))


@dataclass(frozen=True)
class Told:
    """An Event before it has an envelope."""

    kind: str
    payload: Json
    actor: Json
    action_id: str
    work_id: str | None = None
    conversation_id: str | None = None


@dataclass(frozen=True)
class Work:
    """What is authorized, in no dialect yet; `tokens` and `calls` are the budget, None is no limit."""

    work_id: str
    mission_id: str
    group_id: str
    needs: Sequence[str]
    deadline: str
    seconds: int
    urgency: int
    approval: str
    risk: str
    tokens: int | None
    calls: int | None


def written(at: datetime, clock: Clock) -> str:
    """The instant as an authority writes it: in UTC, or with the offset of its own zone."""
    if clock == "offset":
        return at.astimezone(_EAST).isoformat()
    short = at.astimezone(UTC).replace(tzinfo=None)
    return short.isoformat(timespec="microseconds" if clock == "microseconds" else "seconds") + "Z"


def enveloped(told: Told, form: Form, group_id: str, sequence: int, at: str, salt: int) -> Json:
    """The Event in one of its two forms. Its id depends on the salt, so that no two Groups share one."""
    digest = hashlib.sha256(f"{salt}:{group_id}:{sequence}".encode()).hexdigest()
    shared: Json = {
        "actor": told.actor,
        "commandHash": f"sha256:{hashlib.sha256(told.action_id.encode()).hexdigest()}",
        "correlationId": told.action_id,
        "groupId": group_id,
        "kind": told.kind,
        "occurredAt": at,
        "payload": told.payload,
        "protocolVersion": "0.1",
        "sequence": sequence,
    }
    if form == "internal":
        own: Json = {
            "id": str(uuid.UUID(digest[:32])),
            "actionId": told.action_id,
            "causedByEventId": None,
            "extensions": {},
        }
        return shared | own
    event = shared | {
        "eventId": f"urn:missionweaveprotocol:event:{digest}",
        "aggregateRevision": sequence,
        "cause": {"id": told.action_id, "type": "command"},
        "acceptedBy": GATEWAY,
        "signature": {
            "algorithm": "Ed25519",
            "createdAt": at,
            "keyId": "urn:missionweaveprotocol:key:group-gateway",
            "value": digest + digest[:22],
        },
    }
    optional = {"workItemId": told.work_id, "conversationId": told.conversation_id}
    return event | {name: value for name, value in optional.items() if value is not None}


def work_item(work: Work, dialect: Dialect, at: str) -> Json:
    """The whole WorkItem of `work.authorized`, open and owned by nobody."""
    shared: Json = {
        "missionId": work.mission_id,
        "groupId": work.group_id,
        "conversationId": f"{work.group_id}:work:{work.work_id}",
        "createdBy": {"id": "agent://acme/coordinator", "type": "agent"},
        "createdAt": at,
        "updatedAt": at,
        "revision": 1,
    }
    if dialect == "schema":
        own = {"workItemId": work.work_id, "state": "open", "exclusive": True, "contract": schema_contract(work)}
        return shared | own
    nothing = dict.fromkeys(
        (
            "assigneeId",
            "blocker",
            "childMissionId",
            "executionLeaseExpiresAt",
            "executionLeaseId",
            "failureReason",
            "offerExpiresAt",
            "ownershipLeaseExpiresAt",
            "parentWorkItemId",
        )
    )
    empty: Json = {"artifactIds": [], "checkpoints": [], "offeredAgentIds": [], "submissionEvidence": []}
    own = {"id": work.work_id, "dependencyIds": sorted(work.needs), "ownershipEpoch": 0, "status": "open"}
    return shared | nothing | empty | own | {"contract": sdk_contract(work)}


def sdk_contract(work: Work) -> Json:
    """A contract as the SDK's Events carry it."""
    return {
        "acceptanceCriteria": [f"{work.work_id} deterministic checks pass"],
        "allowedResources": ["repository"],
        "allowedTools": ["python", "pytest"],
        "budget": usage(tokens=work.tokens, calls=work.calls),
        "deadline": work.deadline,
        "deliverables": [f"{work.work_id} deliverable"],
        "estimatedDurationSeconds": work.seconds,
        "exclusive": True,
        "executionApproval": work.approval,
        "goal": f"Carry out {work.work_id}",
        "inputs": [],
        "requestedPriority": work.urgency,
        "requiredCapabilities": [{"id": "software.python", "minimumVersion": 1}],
        "retryPolicy": {"initialBackoffSeconds": 0, "maxAttempts": 2, "maximumBackoffSeconds": 30},
        "sideEffectRisk": work.risk,
    }


def schema_contract(work: Work) -> Json:
    """A contract as the protocol's schema has it."""
    limits = {"modelTokenLimit": work.tokens, "toolCallLimit": work.calls}
    return {
        "contractVersion": 1,
        "goal": f"Carry out {work.work_id}",
        "requiredDeliverables": [
            {
                "deliverableId": "result",
                "description": f"{work.work_id} deliverable",
                "mediaType": "application/json",
                "schema": "urn:acme:schema:result",
            }
        ],
        "acceptanceCriteria": [
            {"criterionId": "checks", "description": "checks pass", "evidenceRequired": ["deterministic_test"]}
        ],
        "inputArtifacts": [],
        "dependencyWorkItemIds": sorted(work.needs),
        "allowedResources": [{"resource": "urn:acme:resource:repository", "operations": ["read", "write"]}],
        "requiredCapabilities": [{"id": "software.python", "version": "1.0.0"}],
        "deadline": work.deadline,
        "requestedUrgency": URGENCIES[work.urgency // 30],
        "businessImpact": "the release waits for it",
        "retryPolicy": {"maxAttempts": 2, "backoff": "fixed", "maxDelay": "PT30S", "retryableFailures": []},
        "budget": {"computeSecondsLimit": 3600} | {name: own for name, own in limits.items() if own is not None},
        "sideEffectRisk": work.risk,
        "executionApproval": work.approval,
    }


def usage(*, tokens: int | None, calls: int | None, seconds: int | None = 3600) -> Json:
    """Six figures of resources; None is no limit."""
    return {
        "computeSeconds": seconds,
        "externalActions": None,
        "financialMicrounits": None,
        "modelTokens": tokens,
        "toolCalls": calls,
        "wallClockSeconds": None,
    }
