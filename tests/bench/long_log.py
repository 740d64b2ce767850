"""The log of a Group that works for months: real Events, told again of one WorkItem after another. Measures nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tests.groups.real_events import LINES

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGUN = datetime(2026, 7, 15, 8, tzinfo=UTC)
LATER = "2036-07-15T09:00:00Z"
AGENT = "agent://acme/coder"
NODE = "cli:implementation"
GROUP = "group:cli"
QUEUED = ("work.authorized", "work.offer.created", "work.offer.accepted")
DONE = (*QUEUED, "work.started", "artifact.published", "work.submitted", "work.result.accepted", "message.posted")


def texts(group_id: str, items: int, kinds: tuple[str, ...], *, known: int = 0, sequence: int = 0) -> Iterator[bytes]:
    """The JSON of the Events of `items` WorkItems, those of each after those of the one before.

    The log holds `known` items and goes as far as `sequence` before.
    """
    templates = [_template(kind, group_id) for kind in kinds]
    for number in range(known, known + items):
        for template in templates:
            sequence += 1
            yield _told(template, f"{group_id}:{number:06}", f"{group_id}:{sequence}", sequence)


def _template(kind: str, group_id: str) -> str:
    """The first real Event of this kind about the WorkItem, or about none; what is different each time is marked."""
    own = (event for event in map(json.loads, LINES) if event["kind"] == kind)
    event = next(each for each in own if NODE in json.dumps(each) or kind == "message.posted")
    _put_off(event["payload"])
    event |= {"aggregateRevision": "@sequence", "sequence": "@sequence", "occurredAt": "@at"}
    event |= {"eventId": "urn:missionweaveprotocol:event:@digest", "commandHash": "sha256:@digest"}
    event |= {"correlationId": "@command", "cause": {"id": "@command", "type": "command"}}
    text = json.dumps(event).replace(f'"{GROUP}', f'"{group_id}').replace(NODE, "@node")
    return text.replace('"@sequence"', "@sequence")


def _put_off(payload: dict[str, Any]) -> None:
    """What is owned stays so: nothing lapses before the day of the measurement."""
    for name in ("ownershipLeaseExpiresAt", "offerExpiresAt"):
        if name in payload:
            payload[name] = LATER
    if "workItem" in payload:
        payload["workItem"]["contract"]["deadline"] = LATER


def _told(template: str, node_id: str, name: str, sequence: int) -> bytes:
    at = (BEGUN + timedelta(seconds=sequence)).isoformat().replace("+00:00", "Z")
    text = template.replace("@node", node_id).replace("@sequence", str(sequence)).replace("@at", at)
    return text.replace("@command", f"action:{name}").replace("@digest", sha256(name.encode()).hexdigest()).encode()
