"""What work.md says of ownership, written once more and plainly: the oracle of the ledger machine.

It must not know the decider, the fold or an event, and shares no code with them: only names of states and of errors.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

Key = tuple[str, str]
STEP = timedelta(microseconds=1)
LEASE, START_BY, BLOCKED = 600, 900, 1_800
SLOTS, AGENT_SLOTS, QUEUE, ATTEMPTS, BUDGET = 3, 2, 2, 3, 20
FENCE = {"expired": "WORK_LEASE_EXPIRED", "session": "AUTH_STALE_SESSION"}
READY = ("ready", "pending")
SHOWN = {"open": "ready", "queued": "ready", "active": "running", "submitted": "running", "parked": "blocked"}


@dataclass
class End:
    """The end of a term on both clocks."""

    wall: datetime
    boot: str
    ticks: int


@dataclass
class Row:
    """A node's row in its file."""

    status: str
    reason: str | None
    updated: datetime


@dataclass
class Lease:
    """A live lease."""

    agent: str
    key: Key
    epoch: int
    session: int
    end: End
    used: int = 0


@dataclass
class Node:
    """All that is known of a node."""

    state: str = "open"
    changed: datetime | None = None
    epoch: int = 0
    owner: str | None = None
    session: int = 0
    lease: str | None = None
    until: End | None = None
    note: str = ""
    failures: int = 0
    retry: datetime | None = None
    spent: int = 0
    point: str | None = None
    attempts: list[tuple[str, str]] = field(default_factory=list)
    evidence: list[tuple[str, str, str]] = field(default_factory=list)


class Model:
    """The world of the ledger: clocks, sessions, nodes, leases."""

    def __init__(self, wall: datetime) -> None:
        """Begin with nothing."""
        self.wall, self.boot, self.ticks = wall, "boot 0", 0
        self.last: datetime | None = None
        self.sessions: dict[str, int] = {}
        self.nodes: dict[Key, Node] = {}
        self.leases: dict[str, Lease] = {}
        self.ended: dict[str, tuple[str, Key, str]] = {}
        self.closures: dict[str, datetime] = {}

    def node(self, key: Key) -> Node:
        return self.nodes.get(key, Node())

    # --- time ---

    def happened(self) -> None:
        self.last = self.wall if self.last is None else max(self.last, self.wall)

    def ends(self, seconds: int) -> End:
        return End(self.wall + timedelta(seconds=seconds), self.boot, self.ticks + seconds * 1000)

    def is_over(self, end: End) -> bool:
        if end.boot == self.boot:
            return self.ticks >= end.ticks
        return max(self.wall, self.last or self.wall) >= end.wall

    # --- moves ---

    def move(self, key: Key, state: str, seen: datetime | None = None, **fields: Any) -> None:  # noqa: ANN401 - of a node
        """Put a node into a state, without owner, lease, term and note unless they are named."""
        node = self.nodes.setdefault(key, Node())
        floors = [self.wall, (node.changed or self.wall) + STEP] + ([seen + STEP] if seen else [])
        fresh: dict[str, Any] = {
            "owner": None,
            "session": 0,
            "lease": None,
            "until": None,
            "note": "",
            "changed": max(floors),
        }
        for name, each in {**fresh, **fields}.items():
            setattr(node, name, each)
        node.state = state
        self.happened()

    def end(self, lease_id: str, closure: str) -> Lease:
        lease = self.leases.pop(lease_id)
        self.ended[lease_id] = (closure, lease.key, lease.agent)
        self.nodes[lease.key].spent += lease.used
        return lease

    def tried(self, key: Key, outcome: str) -> None:
        node = self.nodes[key]
        node.attempts = [*node.attempts, (node.owner or "", outcome)][-5:]

    # --- what needs no command ---

    def says_the_same(self, node: Node, row: Row) -> bool:
        shown = SHOWN.get(node.state, node.state)
        if shown == "ready":
            return row.status in READY
        reason = f"failed: {node.note}" if node.state == "parked" else node.note
        return row.status == shown and (shown != "blocked" or (row.reason or "") == reason)

    def shown(self, key: Key, row: Row) -> str:
        """The status that counts: the file's for open work if it is newer, else the ledger's."""
        node = self.node(key)
        if node.changed is None or self.says_the_same(node, row):
            return row.status
        if node.state == "open" and row.updated > node.changed:
            return row.status
        return SHOWN.get(node.state, node.state)

    def settle(self, rows: dict[Key, Row]) -> None:
        """Let others' acts count, then let terms end, of nodes on which nobody acted."""
        acted = {key for key in sorted(self.nodes) if self._act(key, rows[key])}
        for lease_id, lease in sorted(self.leases.items()):
            if self.is_over(lease.end) and lease.key not in acted:
                self.end(lease_id, "expired")
                self.tried(lease.key, "expired")
                self.move(lease.key, "open")
        for key, node in sorted(self.nodes.items()):
            if node.until is not None and self.is_over(node.until) and key not in acted:
                if node.state == "queued":
                    self.move(key, "open")
                else:
                    self.move(key, "blocked", note=node.note)

    def _act(self, key: Key, row: Row) -> bool:
        node = self.nodes[key]
        if node.state == "open" or node.changed is None or row.updated <= node.changed:
            return False
        same = self.says_the_same(node, row)
        if node.state in {"completed", "cancelled"}:
            if not same:
                self.nodes[key] = Node(epoch=node.epoch, evidence=node.evidence, changed=row.updated - STEP)
                self.happened()
            return not same
        is_strong = row.status in {"completed", "cancelled", "blocked"}
        if same or (node.state in {"active", "submitted"} and not is_strong):
            node.changed = row.updated
            self.happened()
            return False
        self._count(key, node, row)
        return True

    def _count(self, key: Key, node: Node, row: Row) -> None:
        if node.lease is not None:
            self.end(node.lease, "revoked" if row.status == "blocked" else "finished")
        if row.status in {"completed", "cancelled"}:
            self.move(key, row.status)
            node.changed = row.updated
        elif row.status == "blocked":
            self._blocked_elsewhere(key, node, row)
        elif row.status in READY and node.state == "blocked":
            if node.until is None or self.is_over(node.until):
                self.move(key, "open", row.updated)
            else:
                self.move(key, "queued", row.updated, owner=node.owner, session=node.session, until=self.ends(START_BY))
        elif row.status in READY:
            self.move(key, "open", row.updated, failures=0, retry=None)
        else:
            self.move(key, "open", failures=0, retry=None)
            node.changed = row.updated - STEP

    def _blocked_elsewhere(self, key: Key, node: Node, row: Row) -> None:
        reason = row.reason or ""
        if reason.startswith("failed: "):
            self.move(key, "parked", note=reason[8:], retry=None)
        elif node.state == "blocked":
            self.move(key, "blocked", note=reason, owner=node.owner, session=node.session, until=node.until)
        else:
            self.move(key, "blocked", note=reason)
        node.changed = row.updated

    # --- commands: each returns the code of its refusal, or None ---

    def join(self, agent: str) -> str | None:
        if agent not in self.sessions:
            self.sessions[agent] = 1
            self.happened()
        return None

    def new_session(self, agent: str) -> str | None:
        self.sessions[agent] = epoch = self.sessions.get(agent, 0) + 1
        for key, node in self.nodes.items():
            if node.owner == agent and node.state in {"active", "queued"} and epoch > 1:
                if node.lease is not None:
                    self.end(node.lease, "session")
                self.move(key, "queued", owner=agent, session=epoch, until=self.ends(START_BY))
        self.happened()
        return None

    def refusal_of_start(self, agent: str, key: Key, row: Row, *, queue_only: bool) -> str | None:
        node = self.node(key)
        if node.state in {"active", "queued"} and node.owner != agent:
            return "WORK_ALREADY_OWNED"
        if node.state not in {"open", "queued"}:
            return "INVALID_STATE_TRANSITION"
        if self.shown(key, row) not in READY:
            return "NODE_NOT_ELIGIBLE"
        queued = sum(each.state == "queued" for each in self.nodes.values())
        own = sum(each.agent == agent for each in self.leases.values())
        is_full = queued >= QUEUE if queue_only else own >= AGENT_SLOTS or len(self.leases) >= SLOTS
        return "CAPACITY_EXCEEDED" if is_full else None

    def has(self, agent: str, key: Key, *, queue_only: bool) -> bool:
        node = self.node(key)
        return node.owner == agent and (node.state == "active" or (node.state == "queued" and queue_only))

    def start(self, agent: str, key: Key, row: Row, lease_id: str | None, *, queue_only: bool) -> str | None:
        if self.has(agent, key, queue_only=queue_only):
            return None if lease_id == self.node(key).lease else "another lease"
        refusal = self.refusal_of_start(agent, key, row, queue_only=queue_only)
        if refusal is not None:
            return refusal
        node, session = self.node(key), self.sessions[agent]
        epoch = node.epoch if node.state == "queued" else node.epoch + 1
        owner: dict[str, Any] = {"owner": agent, "session": session, "epoch": epoch}
        if queue_only:
            self.move(key, "queued", row.updated, until=self.ends(START_BY), **owner)
            return None
        if lease_id is None or lease_id in self.leases or lease_id in self.ended:
            return "no lease of its own"
        self.leases[lease_id] = Lease(agent, key, epoch, session, self.ends(LEASE))
        self.move(key, "active", row.updated, lease=lease_id, retry=None, **owner)
        return None

    def review(self, key: Key, *, accept: bool) -> str | None:
        node = self.node(key)
        if node.state != "submitted":
            return "INVALID_STATE_TRANSITION"
        if accept:
            self.move(key, "completed", owner=node.owner, session=node.session)
        else:
            self.tried(key, "rejected")
            self.move(key, "open")
        return None

    def revoke(self, key: Key) -> str | None:
        node = self.node(key)
        if node.state not in {"queued", "active", "blocked"}:
            return "INVALID_STATE_TRANSITION"
        self.tried(key, "revoked")
        if node.lease is not None:
            self.end(node.lease, "revoked")
        self.move(key, "open")
        return None

    def retry(self, key: Key) -> str | None:
        if self.node(key).state != "parked":
            return "INVALID_STATE_TRANSITION"
        self.move(key, "open", failures=0, retry=None)
        return None
