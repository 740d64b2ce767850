"""One Group's queue: its ready nodes in lanes, best first, built once per change of the Group. Knows no other Group.

A lane holds the ready nodes that need the same from the moment (repository, capabilities, slots), so a change of a
repository is one offset per lane and nodes that an asker may not take are never walked through
(scheduling.md §2, last paragraph).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from heapq import heapify, heappop
from operator import attrgetter

from metagit_mcp.domain.approval import Approval
from metagit_mcp.domain.graph import Structure, structure
from metagit_mcp.domain.policy import MicroWeights, SchedulePolicy, quota_for, weights_for
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.tasks import (
    FINISHED_STATUSES,
    OPEN_STATUSES,
    LoadedGraph,
    TaskNode,
    effective_slots,
    effective_tokens,
)
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.eligibility import (
    WAITING_THOUGH_READY,
    Demand,
    GroupRules,
    ReasonKind,
    first_kind,
)
from metagit_mcp.scheduling.scoring import due_from, is_due_soon, static_micros

# (-micros of the node's own terms, effective tokens, node_id): ascending is best first.
Entry = tuple[int, int, str]


class Lane:
    """Ready nodes of one Group with one demand; `entry(i)` draws them best first, each at most once from the heap."""

    __slots__ = ("_drawn", "_heap", "demand")

    def __init__(self, demand: Demand, entries: list[Entry]) -> None:
        """Take over `entries` in any order."""
        heapify(entries)
        self.demand = demand
        self._heap = entries
        self._drawn: list[Entry] = []

    def __len__(self) -> int:
        """Return how many nodes the lane holds, drawn or not."""
        return len(self._heap) + len(self._drawn)

    def entry(self, place: int) -> Entry | None:
        """Return the entry at `place` (0 is the best), or None past the end."""
        while len(self._drawn) <= place and self._heap:
            self._drawn.append(heappop(self._heap))
        return self._drawn[place] if place < len(self._drawn) else None


@value
class Quiet:
    """The time in which time alone changes nothing: from `since` to just before `until`; None is no bound."""

    since: datetime | None = None
    until: datetime | None = None

    def holds_at(self, now: datetime) -> bool:
        """Say whether `now` lies in it; a clock may go back."""
        return (self.since is None or self.since <= now) and (self.until is None or now < self.until)


def quiet_between(timers: Iterable[datetime], now: datetime) -> Quiet:
    """Return the time around `now` in which none of the timers lies."""
    every = list(timers)
    return Quiet(
        since=max((at for at in every if at <= now), default=None),
        until=min((at for at in every if at > now), default=None),
    )


@value
class GroupQueue:
    """What one task graph offers, under the policy and the instant it was built for.

    `first_reasons` counts the nodes that are not ready for a reason of their own, by the first one; `ready_count`
    those ready by status and dependencies; `running` are the nodes that the file says are running, `running_slots`
    their slots; `quiet` is the time in which time alone changes none of it.
    """

    graph_id: str
    loaded: LoadedGraph
    rules: GroupRules
    weights: MicroWeights
    ranks: Mapping[str, int]
    top_rank: int
    quota: int | None
    lanes: Sequence[Lane]
    first_reasons: Mapping[ReasonKind, int]
    ready_count: int
    running: Sequence[TaskNode]
    running_slots: int
    quiet: Quiet


def group_queue(
    loaded: LoadedGraph, policy: SchedulePolicy, approvals: tuple[Approval, ...], now: datetime
) -> GroupQueue:
    """Build the queue of one Group; a graph whose file cannot be used has no nodes."""
    nodes = loaded.graph.nodes if loaded.graph is not None else ()
    shape = structure(nodes, loaded.defects)
    rules = _rules(loaded, shape, policy, approvals, now)
    weights = weights_for(policy, loaded.graph_id)
    ranks = shape.ranks if weights.dependency else {}
    top_rank = max(ranks.values(), default=0)
    sorting = _Sorting(rules, weights, ranks, top_rank, policy.deadline_horizon_seconds)
    for node in shape.by_id.values():
        sorting.put(node)
    running = _running(shape) if rules.active else ()
    lanes = [Lane(demand, entries) for demand, entries in sorting.lanes.items()]
    return GroupQueue(
        graph_id=loaded.graph_id,
        loaded=loaded,
        rules=rules,
        weights=weights,
        ranks=ranks,
        top_rank=top_rank,
        quota=quota_for(policy, loaded.graph_id),
        lanes=lanes,
        first_reasons=sorting.first_reasons,
        ready_count=sorting.ready_but_waiting + sum(map(len, lanes)),
        running=running,
        running_slots=sum(map(effective_slots, running)),
        quiet=quiet_between(_timers(shape.by_id.values(), policy.deadline_horizon_seconds), now),
    )


class _Sorting:
    """One pass over the nodes: into the lane of its demand, or under its first reason."""

    def __init__(
        self, rules: GroupRules, weights: MicroWeights, ranks: Mapping[str, int], top_rank: int, horizon: int
    ) -> None:
        self._rules, self._weights, self._horizon = rules, weights, horizon
        self._ranks, self._top_rank = ranks, top_rank
        self._by_spelling: dict[_Spelling, list[Entry]] = {}
        self.lanes: dict[Demand, list[Entry]] = {}
        self.first_reasons: Counter[ReasonKind] = Counter()
        self.ready_but_waiting = 0

    def put(self, node: TaskNode) -> None:
        kind = first_kind(self._rules, node)
        if kind is not None:
            self.first_reasons[kind] += 1
            self.ready_but_waiting += kind in WAITING_THOUGH_READY and node.status in OPEN_STATUSES
            return
        own = static_micros(node, self._weights, self._ranks.get(node.node_id, 0), self._top_rank)
        if node.deadline is not None and is_due_soon(node, self._horizon, self._rules.now):
            own += self._weights.deadline
        spelling = (node.repository, node.project, node.capabilities, node.slots)
        entries = self._by_spelling.get(spelling)
        if entries is None:
            entries = self._by_spelling[spelling] = self.lanes.setdefault(_demand(*spelling), [])
        entries.append((-own, effective_tokens(node), node.node_id))


_Spelling = tuple[str | None, str | None, tuple[str, ...] | None, int | None]


@lru_cache(maxsize=65_536)
def _demand(
    repository: str | None, project: str | None, capabilities: tuple[str, ...] | None, slots: int | None
) -> Demand:
    return Demand(
        repository=repository_key(repository, project),
        capabilities=frozenset(capabilities or ()),
        slots=slots or 1,
    )


def demand_of(node: TaskNode) -> Demand:
    """Return what the node needs from the moment."""
    return _demand(node.repository, node.project, node.capabilities, node.slots)


def _rules(
    loaded: LoadedGraph, shape: Structure, policy: SchedulePolicy, approvals: tuple[Approval, ...], now: datetime
) -> GroupRules:
    by_node: dict[str, tuple[Approval, ...]] = {}
    for approval in approvals:
        by_node[approval.node_id] = (*by_node.get(approval.node_id, ()), approval)
    return GroupRules(
        active=loaded.graph is not None and loaded.graph.status == "active",
        defects=loaded.defects,
        shape=shape,
        gates=policy.gates,
        approvals=by_node,
        now=now,
    )


def _running(shape: Structure) -> tuple[TaskNode, ...]:
    running = [node for node in shape.by_id.values() if node.status == "running"]
    return tuple(sorted(running, key=attrgetter("node_id")))


def _timers(nodes: Iterable[TaskNode], horizon: int) -> Iterator[datetime]:
    for node in nodes:
        if (node.not_before is None and node.deadline is None) or node.status in FINISHED_STATUSES:
            continue
        if node.not_before is not None:
            yield node.not_before
        due = due_from(node, horizon)
        if due is not None:
            yield due
