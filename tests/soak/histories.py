"""Reads the events of a ledger as a history of work, in plain dictionaries: who had what, and what was done once.

It must not import any part of the package: it is what the acknowledged answers are compared with.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.soak.rows import Row

Json = dict[str, Any]
Node = tuple[str, str]
# What ends a lease, by its id; or by its node, if that has one.
ENDS: Final = frozenset(
    {
        "work_completed",
        "work_submitted",
        "work_failed",
        "work_parked",
        "work_released",
        "work_paused",
        "work_blocked",
        "lease_expired",
    }
)
_TAKEN_AWAY: Final = frozenset({"ownership_revoked", "work_returned", "seen_finished", "seen_blocked", "seen_open"})
# Under which names a report that was acknowledged may stand.
KINDS_OF: Final = {
    "completed": {"work_completed", "work_submitted"},
    "failed": {"work_failed", "work_parked"},
    "released": {"work_released"},
    "paused": {"work_paused"},
    "blocked": {"work_blocked"},
    "running": {"lease_renewed"},
    "checkpointed": {"work_checkpointed", "lease_renewed"},
}

# An event is stamped by one clock, and terms end by another that is read after it.
_BETWEEN_CLOCKS_S: Final = 0.5


@dataclass
class Last:
    """The last ownership of a node."""

    epoch: int = 0
    owner: str = ""
    is_kept: bool = False


@dataclass
class History:
    """What the ledger says happened."""

    started: dict[str, Json] = field(default_factory=dict)
    said_of: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    live: dict[Node, str] = field(default_factory=dict)
    done: Counter[Node] = field(default_factory=Counter)
    submitted: set[Node] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    about: defaultdict[str, Counter[Node]] = field(default_factory=lambda: defaultdict(Counter))
    cursors: dict[str, int] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    _until: dict[str, str] = field(default_factory=dict)
    _last: defaultdict[Node, Last] = field(default_factory=lambda: defaultdict(Last))

    def follow(self, rows: Iterable[Row]) -> History:
        for number, row in enumerate(rows, start=1):
            if row.position != number:
                self.faults.append(f"event {number} is missing")
                break
            self.kinds[row.kind] += 1
            self._one(row.kind, row.body)
        return self

    def _one(self, kind: str, body: Json) -> None:
        if kind == "work_started":
            self._start(body["lease"])
        elif "lease_id" in body:
            self._of_lease(kind, body["lease_id"], body)
        elif kind == "group_events_applied":
            self.cursors[body["group_id"]] = body["cursor"]
        of_node = body.get("approval", body)
        if "node_id" in of_node and kind != "work_started":
            self._of_node(kind, (of_node["graph_id"], of_node["node_id"]), body)

    def _start(self, lease: Json) -> None:
        node: Node = (lease["graph_id"], lease["node_id"])
        last, epoch, owner = self._last[node], lease["ownership_epoch"], lease["agent_id"]
        if node in self.live:
            self.faults.append(f"{node} started under {lease['lease_id']} while {self.live[node]} was live")
        if self.done[node]:
            self.faults.append(f"{node} started although it was done")
        if lease["lease_id"] in self.started:
            self.faults.append(f"lease {lease['lease_id']} was given twice")
        if epoch != last.epoch + (0 if last.is_kept and owner == last.owner else 1):
            self.faults.append(f"{node}: ownership {epoch} of {owner} after {last}")
        self._last[node] = Last(epoch, owner)
        self.live[node] = lease["lease_id"]
        self._until[lease["lease_id"]] = lease["expiry"]["at"]
        self.started[lease["lease_id"]] = lease

    def _of_lease(self, kind: str, lease_id: str, body: Json) -> None:
        self.said_of[lease_id].add(kind)
        if kind == "lease_renewed":
            self._until[lease_id] = body["expiry"]["at"]
        until = self._until.get(lease_id)
        if kind == "lease_expired" and until and _seconds_from(body["at"], until) > _BETWEEN_CLOCKS_S:
            self.faults.append(f"{lease_id} expired before {until}, at {body['at']}")
        if lease_id not in self.started or kind not in ENDS:
            return
        lease = self.started[lease_id]
        node = (lease["graph_id"], lease["node_id"])
        if self.live.get(node) != lease_id:
            self.faults.append(f"{kind} of {lease_id}, which was not live")
        self.live.pop(node, None)
        self._last[node].is_kept = kind in {"work_paused", "work_blocked"}
        if kind == "work_completed":
            self._finish(node)
        elif kind == "work_submitted":
            self.submitted.add(node)

    def _of_node(self, kind: str, node: Node, body: Json) -> None:
        self.about[kind][node] += 1
        last = self._last[node]
        if kind in _TAKEN_AWAY:
            self.live.pop(node, None)
            last.is_kept = kind == "work_returned"
        elif kind == "work_accepted":
            last.epoch, last.owner, last.is_kept = body["ownership_epoch"], body["agent_id"], True
        elif kind in {"start_by_passed", "blocked_lease_ended"}:
            last.is_kept = False
        elif kind == "result_accepted":
            self._finish(node)
        if kind in {"result_accepted", "result_rejected"}:
            self.submitted.discard(node)

    def _finish(self, node: Node) -> None:
        self.done[node] += 1
        if self.done[node] > 1:
            self.faults.append(f"{node} was completed {self.done[node]} times")


def _seconds_from(early: str, late: str) -> float:
    return (datetime.fromisoformat(late) - datetime.fromisoformat(early)).total_seconds()
