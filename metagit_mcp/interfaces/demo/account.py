"""Counts from the ledger's events who worked on which node, how often it was done, and by how many at once."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

Json = dict[str, Any]
# What ends a lease, or all leases of a node.
_ENDS = (
    *("work_completed", "work_submitted", "work_failed", "work_released"),
    *("work_paused", "work_blocked", "lease_expired"),
)
# What its agent is done with, though a Coordinator may have to judge it.
_DONE = ("work_completed", "work_submitted")


def account_of(events: Iterable[tuple[str, Json]]) -> dict[str, Json]:
    """Return for each node its starts, who did it how often, and the most leases that were live on it at once."""
    found: dict[str, Json] = {}
    held: dict[str, tuple[str, str]] = {}
    for kind, event in events:
        if kind == "work_started":
            lease = event["lease"]
            node = found.setdefault(lease["node_id"], {"starts": [], "done": 0, "done_by": [], "at_once": 0})
            node["starts"].append([lease["agent_id"], lease["ownership_epoch"]])
            held[lease["lease_id"]] = (lease["node_id"], lease["agent_id"])
            live = sum(1 for node_id, _ in held.values() if node_id == lease["node_id"])
            node["at_once"] = max(node["at_once"], live)
        elif kind == "work_returned":
            held = {lease_id: of for lease_id, of in held.items() if of[0] != event["node_id"]}
        elif kind in _ENDS and event["lease_id"] in held:
            node_id, agent_id = held.pop(event["lease_id"])
            if kind in _DONE:
                found[node_id]["done"] += 1
                found[node_id]["done_by"].append(agent_id)
    return found


def ledger_events(root: Path) -> list[tuple[str, Json]]:
    """Return the events of a workspace's ledger, as kind and record."""
    ledger = f"file:{root}/.metagit/schedule/ledger.db?mode=ro"
    with closing(sqlite3.connect(ledger, uri=True)) as opened:
        rows = opened.execute("SELECT kind, body FROM event ORDER BY position").fetchall()
    return [(kind, json.loads(body)) for kind, body in rows]
