"""The workspace of a soak: Groups of every kind, written from a seed, and the policy that they begin with.

Must not import any part of the package: whoever judges it knows these shapes for himself.

`STEADY` Groups, by their classes, always have work that anybody may take, so that the bounds of scheduling.md §4 can be
counted from charges alone. What nobody can count beside them (starts by name, reported usage, pauses of work)
happens in the class `low` only.
"""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from pathlib import Path

Json = dict[str, Any]
STEADY: Final = {name: tuple(f"{name}-{letter}" for letter in "abcd") for name in ("critical", "high", "normal")}
CLASSES: Final = {"critical": 4, "high": 3, "normal": 3, "low": 2}
WILD: Final = ("low-byname", "low-usage", "low-pausing", "low-resource")
# So many nodes of the first of them may be asked for by name.
BY_NAME: Final = 20
WIDE: Final = "normal-wide"
AGENT_SLOTS: Final = 1
RESOURCE: Final = {"api": {"capacity": 4}}
LEASE_S: Final = 8
_SMALL: Final = 30
_AT: Final = "2026-11-01T08:00:00+00:00"


def policy(slots: int) -> Json:
    """What the owner decides at first. Terms are short, so that what is left lying comes back within the soak."""
    groups: Json = {}
    for name, steady in STEADY.items():
        for number, graph_id in enumerate(steady):
            groups[graph_id] = {"class": name, "weight": 1 + number % 3}
    groups["high-quota"] = {"class": "high", "quota": 2}
    groups["high-review"] = {"class": "high", "review": True}
    groups[WIDE] = {"class": "normal"}
    for graph_id in WILD:
        groups[graph_id] = {"class": "low"}
    for number in range(_SMALL):
        groups[f"small-{number:02}"] = {"class": "low"}
    return {
        "slots": slots,
        "agent_slots": AGENT_SLOTS,
        "classes": dict(CLASSES),
        "groups": groups,
        "resources": RESOURCE,
        "leases": {"unattended_seconds": LEASE_S, "start_by_seconds": LEASE_S, "blocked_seconds": 2 * LEASE_S},
        "retries": {"max_attempts": 3, "backoff_seconds": 1, "max_backoff_seconds": 4},
    }


def patched(before: Json, patch: Json) -> Json:
    """A document after an RFC 7396 merge patch."""
    after = deepcopy(before)
    for name, value in patch.items():
        if value is None:
            after.pop(name, None)
        elif isinstance(value, dict):
            kept = after.get(name)
            after[name] = patched(kept if isinstance(kept, dict) else {}, value)
        else:
            after[name] = value
    return after


def write_place(root: Path, rng: random.Random, steady_nodes: int, slots: int) -> dict[str, int]:
    """Write the workspace; return how many nodes each Group has."""
    graphs = root / ".metagit" / "tasks" / "graphs"
    graphs.mkdir(parents=True)
    (root / ".metagit.yml").write_text("name: soak\nkind: umbrella\n", encoding="utf-8")
    (root / ".metagit" / "schedule").mkdir()
    (root / ".metagit" / "schedule" / "policy.json").write_text(json.dumps(policy(slots)), encoding="utf-8")
    sizes = {}
    for graph_id, nodes in _groups(rng, steady_nodes).items():
        document = {"graph_id": graph_id, "title": graph_id, "nodes": nodes, "status": "active"}
        document |= {"created_at": _AT, "updated_at": _AT, "root_intent_id": f"intent-{graph_id}"}
        (graphs / f"{graph_id}.json").write_text(json.dumps(document, indent=2), encoding="utf-8")
        sizes[graph_id] = len(nodes)
    return sizes


def _groups(rng: random.Random, steady_nodes: int) -> dict[str, list[Json]]:
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    few = max(20, steady_nodes // 3)
    made = {graph_id: _nodes(graph_id, rng, steady_nodes) for steady in STEADY.values() for graph_id in steady}
    made |= {graph_id: _nodes(graph_id, rng, few) for graph_id in (*WILD, "high-quota", "high-review", WIDE)}
    made |= {f"small-{number:02}": _nodes(f"small-{number:02}", rng, 6) for number in range(_SMALL)}
    made["normal-due"] = _nodes("normal-due", rng, few, deadline=soon, requested_urgency="high")
    made["normal-gated"] = _nodes("normal-gated", rng, few // 2, approval="human_required", risk="reversible")
    made["normal-chain"] = _nodes("normal-chain", rng, few)
    made["normal-keys"] = _nodes("normal-keys", rng, few)
    for number, node in enumerate(made["normal-keys"]):
        node["exclusive"] = [f"key-{number % 3}"]
    for before, node in zip(made["normal-chain"][:-3], made["normal-chain"][3:], strict=True):
        node["depends_on"] = [before["node_id"]]
    for node in made["low-resource"]:
        node["uses"] = {"api": 1}
    for node in made[WIDE][::8]:
        node |= {"slots": 3, "estimated_tokens": 1000}
    return made


def _nodes(graph_id: str, rng: random.Random, count: int, **more: object) -> list[Json]:
    return [
        {
            "node_id": f"{graph_id}.{number:04}",
            "graph_id": graph_id,
            "title": f"Task {number} of {graph_id}",
            "depends_on": [],
            "status": "ready",
            "priority": rng.randrange(3),
            "estimated_tokens": rng.choice((500, 1000, 2000, 3000)),
            "created_at": _AT,
            "updated_at": _AT,
            **more,
        }
        for number in range(count)
    ]


def planned(rng: random.Random, count: int, **more: object) -> list[Json]:
    """More nodes for a steady Group, as a caller plans them."""
    drawn = {"priority": rng.randrange(3), "estimated_tokens": rng.choice((500, 1000, 2000, 3000))}
    return [{"title": f"More work {rng.randrange(10**9):09}", **drawn, **more} for _ in range(count)]
