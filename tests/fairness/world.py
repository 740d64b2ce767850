"""The workspace that the fair oracle looks at: files, what the ledger says of nodes and leases, policy, pauses, time.

It must not share code with the core: it reads the domain's dataclasses as records and uses none of their functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from tests.fairness.asks import Candidate, Who, class_of, quota

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from metagit_mcp.domain.policy import SchedulePolicy
    from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
    from metagit_mcp.domain.work import ExecutionLease, Pause, WorkItem
    from tests.fairness.tags import Sets

URGENCIES = {None: 0, "routine": -1, "normal": 0, "high": 1, "critical": 2}
DONE = ("completed", "cancelled")
# What the ledger calls a node, and what its file would.
WORDS = {"active": "running", "submitted": "running", "parked": "blocked", "open": "ready", "queued": "ready"}
Place = tuple[int, int, str]
T = TypeVar("T")


def tokens(node: TaskNode) -> int:
    known = [each for each in (node.estimated_tokens, node.context_budget) if each is not None and each >= 0]
    return known[0] if known else 1000


def slots(node: TaskNode) -> int:
    return node.slots or 1


def units(node: TaskNode) -> int:
    return slots(node) * max(1, -(-tokens(node) // 1000))


def ranks(nodes: Mapping[str, TaskNode]) -> dict[str, int]:
    """Tokens of a node and of the heaviest chain of its dependents; there are no circles here."""
    known: dict[str, int] = {}

    def rank(name: str) -> int:
        if name not in known:
            after = [rank(other) for other, each in nodes.items() if name in each.depends_on]
            known[name] = tokens(nodes[name]) + max(after, default=0)
        return known[name]

    return {name: rank(name) for name in nodes}


def statics(policy: SchedulePolicy, loaded: LoadedGraph) -> dict[str, int]:
    """The static part of each score: one exact number rounded half-even to whole micros."""
    nodes = {node.node_id: node for node in loaded.graph.nodes} if loaded.graph is not None else {}
    heaviest, w = ranks(nodes), policy.weights
    top = max(heaviest.values(), default=0)
    found = {}
    for name, node in nodes.items():
        exact = _exact(w.priority) * node.priority + _exact(w.urgency) * URGENCIES[node.requested_urgency]
        exact += _exact(w.dependency) * (Fraction(heaviest[name], top) if top else 0)
        exact += _exact(w.cost) * Fraction(1000, 1000 + tokens(node))
        found[name] = round(exact * 1_000_000)
    return found


def _exact(number: float) -> Fraction:
    return Fraction(repr(number))


@dataclass(kw_only=True)
class World:
    """Everything that decides, as it is now; whoever changes something says so with `changed`."""

    policy: SchedulePolicy
    graphs: dict[str, LoadedGraph]
    items: Mapping[str, Mapping[str, WorkItem]]
    leases: Mapping[str, ExecutionLease]
    pauses: Mapping[str, Pause]
    now: datetime
    # What was worked out since the last change.
    memo: dict[tuple[object, ...], Any] = field(default_factory=dict)
    _scores: dict[str, tuple[object, object, dict[str, int]]] = field(default_factory=dict)

    def changed(self) -> None:
        self.memo.clear()

    def once(self, key: tuple[object, ...], work: Callable[[], T]) -> T:
        """The answer to a question that is asked several times before anything changes."""
        if key not in self.memo:
            self.memo[key] = work()
        answer: T = self.memo[key]
        return answer

    # --- nodes

    def nodes(self, group: str) -> dict[str, TaskNode]:
        return dict(self._nodes(group))

    def _nodes(self, group: str) -> dict[str, TaskNode]:
        graph = self.graphs[group].graph
        return self.once(
            ("nodes", group), lambda: {} if graph is None else {node.node_id: node for node in graph.nodes}
        )

    def item(self, group: str, node: str) -> WorkItem | None:
        return self.items.get(group, {}).get(node)

    def status(self, group: str, node: TaskNode) -> str:
        """What the ledger says counts: no row here carries an instant of its own."""
        item = self.item(group, node.node_id)
        if item is None:
            return node.status
        said = WORDS.get(item.state, item.state)
        return node.status if said == "ready" and node.status in {"pending", "ready"} else said

    def is_due(self, node: TaskNode) -> bool:
        if node.deadline is None:
            return False
        lead = (node.estimated_runtime_seconds or 0) + self.policy.deadline_horizon_seconds
        return node.deadline - self.now <= timedelta(seconds=lead)

    def score(self, group: str, node: TaskNode) -> int:
        loaded, known = self.graphs[group], self._scores.get(group)
        if known is None or known[0] is not loaded or known[1] is not self.policy.weights:
            known = self._scores[group] = (loaded, self.policy.weights, statics(self.policy, loaded))
        return known[2][node.node_id] + (self._due_micros() if self.is_due(node) else 0)

    def _due_micros(self) -> int:
        return self.once(("due",), lambda: round(_exact(self.policy.weights.deadline) * 1_000_000))

    def shelved(self, group: str) -> dict[str, Place]:
        return self.once(("shelved", group), lambda: self._shelved(group))

    def _shelved(self, group: str) -> dict[str, Place]:
        nodes, graph = self._nodes(group), self.graphs[group].graph
        if graph is None or graph.status != "active":
            return {}
        status = {name: self.status(group, node) for name, node in nodes.items()}
        return {
            name: (-self.score(group, node), tokens(node), name)
            for name, node in nodes.items()
            if status[name] in {"pending", "ready"} and self._is_free(group, node, status)
        }

    def _is_free(self, group: str, node: TaskNode, status: Mapping[str, str]) -> bool:
        item = self.item(group, node.node_id)
        if item is not None and item.retry_at is not None and item.retry_at > self.now:
            return False
        if node.not_before is not None and node.not_before > self.now:
            return False
        return all(status.get(name) == "completed" for name in node.depends_on)

    # --- who may take them

    @property
    def named(self) -> Sets:
        return self.once(("named",), self._named)

    def _named(self) -> Sets:
        found = set()
        for group in self.graphs:
            for node in self._nodes(group).values():
                if node.capabilities and self.status(group, node) not in DONE:
                    found.add(tuple(sorted(set(node.capabilities))))
        return tuple(sorted(found))

    @property
    def groups(self) -> list[str]:
        return sorted(self.graphs)

    @property
    def busy(self) -> frozenset[str]:
        running = {each.graph_id for each in self.leases.values()}
        running |= {group for group in self.graphs if self.seen(group)}
        return frozenset(class_of(self.policy, each) for each in running)

    def seen(self, group: str) -> list[TaskNode]:
        """The runs of other programs."""
        return self.once(("seen", group), lambda: self._seen(group))

    def _seen(self, group: str) -> list[TaskNode]:
        graph = self.graphs[group].graph
        nodes = graph.nodes if graph is not None and graph.status == "active" else ()
        return [node for node in nodes if node.status == "running" and self.item(group, node.node_id) is None]

    def observed(self, group: str | None) -> int:
        names = [group] if group is not None else self.groups
        return self.once(("observed", group), lambda: sum(slots(node) for name in names for node in self.seen(name)))

    def used(self, group: str | None = None) -> int:
        leased = sum(each.holding.slots for each in self.leases.values() if group in {None, each.graph_id})
        return leased + self.observed(group)

    def takeable(self, group: str, who: Who) -> list[Candidate]:
        return self.once(("takeable", group, who), lambda: self._takeable(group, who))

    def _takeable(self, group: str, who: Who) -> list[Candidate]:
        nodes = self._nodes(group)
        return [
            self._candidate(group, nodes[name], place, who)
            for name, place in self.shelved(group).items()
            if self._may_take(group, nodes[name], who)
        ]

    def _candidate(self, group: str, node: TaskNode, place: Place, who: Who) -> Candidate:
        item = self.item(group, node.node_id)
        given_back = item is not None and bool(who.agent) and who.agent in item.released_by
        due = node.deadline.timestamp() if node.deadline is not None and self.is_due(node) else float("inf")
        return Candidate(
            group=group,
            node=node.node_id,
            slots=slots(node),
            cost=units(node),
            order=(given_back, *place),
            due=due,
            urgency=URGENCIES[node.requested_urgency],
            owned=item is not None and item.state == "queued" and item.owner == who.agent,
        )

    def _may_take(self, group: str, node: TaskNode, who: Who) -> bool:
        item = self.item(group, node.node_id)
        if item is not None and item.state == "queued" and item.owner != who.agent:
            return False
        scopes = {("workspace", ""), ("group", group), ("agent", who.agent)}
        if any((each.scope, each.name) in scopes for each in self.pauses.values()):
            return False
        if not who.can >= set(node.capabilities or ()):
            return False
        keys = set(node.exclusive or ())
        if keys and any(keys & set(each.holding.exclusive) for each in self.leases.values()):
            return False
        return not self._never_fits(group, node)

    def _never_fits(self, group: str, node: TaskNode) -> bool:
        wide, room, total = slots(node), quota(self.policy, group), self.policy.slots
        if room is not None and wide > room:
            return True
        if total is None:
            return False
        return wide > total or (wide > 1 and wide > total - self.observed(None))
