"""What callers of a soak asked and were told, with the times between which it happened. Judges nothing.

Times are those of one monotonic clock. Whoever was cut off does not know what became of its call: that is no answer.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]
Node = tuple[str, str]
FOREVER = float("inf")


@dataclass
class Taken:
    """A lease that somebody was told it has: granted between `asked` and `told`, and at least until `until`."""

    lease_id: str
    node: Node
    agent_id: str
    epoch: int
    asked: float
    told: float
    until: float
    decision_id: str = ""


@dataclass
class Ending:
    """A message that may end leases from when it left until it was answered; who was cut off knows no end."""

    sent: float
    told: float = FOREVER


@dataclass(frozen=True)
class Reported:
    """A report that was acknowledged."""

    lease_id: str
    node: Node
    state: str
    node_status: str
    sent: float
    told: float


@dataclass(frozen=True)
class Acted:
    """Another command that was acknowledged: what, on what, and what was answered."""

    kind: str
    key: str
    sent: float
    told: float
    answer: Json


@dataclass(frozen=True)
class Failure:
    """An answer of HTTP that says that a server failed."""

    at: float
    server: str
    status: int
    code: str
    what: str


@dataclass
class Account:
    """All of it."""

    taken: dict[str, Taken] = field(default_factory=dict)
    reports: list[Reported] = field(default_factory=list)
    acts: list[Acted] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    cuts: Counter[str] = field(default_factory=Counter)
    # When lines were cut, and at which server.
    cut_at: list[tuple[float, str]] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    memory: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))
    processor: dict[str, float] = field(default_factory=dict)
    # The longest silence of each stream while something happened, and how much each heard.
    heard: Counter[str] = field(default_factory=Counter)
    silences: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    policies: dict[str, Json] = field(default_factory=dict)
    cursors: dict[str, int] = field(default_factory=dict)
    planned: list[Node] = field(default_factory=list)
    # When a session of the older protocol was opened, and at which server.
    sessions: list[tuple[float, str]] = field(default_factory=list)
    # By lease, agent or node.
    endings: dict[str | Node, list[Ending]] = field(default_factory=lambda: defaultdict(list))
    killed_agents: int = 0
    unexpected: list[str] = field(default_factory=list)

    def take(self, record: Json, asked: float, told: float, decision_id: str = "") -> Taken:
        """Note a lease, or again one that is known."""
        known = self.taken.get(record["lease_id"])
        until = monotonic_of(record["expires_at"])
        if known is not None:
            known.until = max(known.until, until)
            return known
        lease = Taken(
            record["lease_id"],
            (record["graph_id"], record["node_id"]),
            record["agent_id"],
            record["ownership_epoch"],
            asked,
            told,
            until,
            decision_id,
        )
        self.taken[lease.lease_id] = lease
        return lease

    def report(self, lease: Taken, state: str, record: Json, sent: float, told: float) -> None:
        """Note that a report was acknowledged."""
        if "lease" in record:
            lease.until = max(lease.until, monotonic_of(record["lease"]["expires_at"]))
        self.reports.append(Reported(lease.lease_id, lease.node, state, record["node_status"], sent, told))

    def may_end(self, whose: str | Node, sent: float) -> Ending:
        """Note that a message leaves that may end a lease, or those of an agent or on a node."""
        ending = Ending(sent)
        self.endings[whose].append(ending)
        return ending

    def ended(self, lease: Taken) -> float:
        """From when on the lease may have been ended: also by what was under way already when it was asked for."""
        about = (each for whose in (lease.lease_id, lease.agent_id, lease.node) for each in self.endings[whose])
        return min((max(each.sent, lease.asked) for each in about if each.told >= lease.asked), default=FOREVER)


def monotonic_of(stamp: str) -> float:
    """The instant that a server names, on our clock: both are of one machine."""
    wall = datetime.fromisoformat(stamp).timestamp()
    return wall - time.time() + time.monotonic()
