"""One Group's queue: its ready nodes in lanes, best first, built once per change of the Group. Knows no other Group.

A lane holds the ready nodes that need the same from the moment (repository, capabilities, slots), so a change of a
repository is one offset per lane and nodes that an asker may not take are never walked through
(scheduling.md §2, last paragraph).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from heapq import heapify, heappop

from metagit_mcp.domain.approval import Approval
from metagit_mcp.domain.graph import Structure, structure, upward_ranks
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
from metagit_mcp.scheduling.eligibility import WAITING_THOUGH_READY, Demand, GroupRules, ReasonKind, intrinsic
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
class GroupQueue:
    """What one task graph offers, under the policy and the instant it was built for.

    `first_reasons` counts the nodes that are not ready for a reason of their own, by the first one; `ready_count`
    those ready by status and dependencies; `running` are the nodes that the file says are running, `running_slots` their slots; `next_change` is the
    instant at which time alone changes any of it (None: never).
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
    statuses: Mapping[str, int]
    ready_count: int
    running: Sequence[TaskNode]
    running_slots: int
    next_change: datetime | None


def group_queue(
    loaded: LoadedGraph, policy: SchedulePolicy, approvals: tuple[Approval, ...], now: datetime
) -> GroupQueue:
    """Build the queue of one Group; a graph whose file cannot be used has no nodes."""
    nodes = loaded.graph.nodes if loaded.graph is not None else ()
    shape = structure(nodes, loaded.defects)
    rules = _rules(loaded, shape, policy, approvals, now)
    weights = weights_for(policy, loaded.graph_id)
    ranks = upward_ranks(shape.by_id) if weights.dependency else {}
    top_rank = max(ranks.values(), default=0)
    sorting = _Sorting(rules, weights, ranks, top_rank, policy.deadline_horizon_seconds)
    for node in shape.by_id.values():
        sorting.put(node)
    running = _running(shape) if rules.active and sorting.statuses["running"] else ()
    lanes = [Lane(demand, entries) for demand, entries in sorting.lanes(loaded.graph_id)]
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
        statuses=sorting.statuses,
        ready_count=sorting.ready_but_waiting + sum(map(len, lanes)),
        running=running,
        running_slots=sum(map(effective_slots, running)),
        next_change=_next_change(shape, policy.deadline_horizon_seconds, now),
    )


class _Sorting:
    """One pass over the nodes: into the lane of its demand, or under its first reason."""

    def __init__(
        self, rules: GroupRules, weights: MicroWeights, ranks: Mapping[str, int], top_rank: int, horizon: int
    ) -> None:
        self._rules, self._weights, self._horizon = rules, weights, horizon
        self._ranks, self._top_rank = ranks, top_rank
        self._lanes: dict[tuple[str, tuple[str, ...] | None, int], list[Entry]] = {}
        self.first_reasons: Counter[ReasonKind] = Counter()
        self.statuses: Counter[str] = Counter()
        self.ready_but_waiting = 0

    def put(self, node: TaskNode) -> None:
        self.statuses[node.status] += 1
        reason = next(intrinsic(self._rules, node), None)
        if reason is not None:
            self.first_reasons[reason.kind] += 1
            self.ready_but_waiting += reason.kind in WAITING_THOUGH_READY and node.status in OPEN_STATUSES
            return
        own = static_micros(node, self._weights, self._ranks.get(node.node_id, 0), self._top_rank)
        if node.deadline is not None and is_due_soon(node, self._horizon, self._rules.now):
            own += self._weights.deadline
        key = (repository_key(node.repository, node.project), node.capabilities, effective_slots(node))
        self._lanes.setdefault(key, []).append((-own, effective_tokens(node), node.node_id))

    def lanes(self, graph_id: str) -> Iterator[tuple[Demand, list[Entry]]]:
        for (repository, capabilities, slots), entries in sorted(self._lanes.items(), key=_lane_order):
            yield (
                Demand(
                    graph_id=graph_id,
                    repository=repository,
                    capabilities=frozenset(capabilities or ()),
                    slots=slots,
                ),
                entries,
            )


def _lane_order(item: tuple[tuple[str, tuple[str, ...] | None, int], list[Entry]]) -> tuple[str, tuple[str, ...], int]:
    repository, capabilities, slots = item[0]
    return repository, capabilities or (), slots


def demand_of(graph_id: str, node: TaskNode) -> Demand:
    """Return what the node needs from the moment."""
    return Demand(
        graph_id=graph_id,
        repository=repository_key(node.repository, node.project),
        capabilities=frozenset(node.capabilities or ()),
        slots=effective_slots(node),
    )


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
    return tuple(node for _, node in sorted(shape.by_id.items()) if node.status == "running")


def _next_change(shape: Structure, horizon: int, now: datetime) -> datetime | None:
    return min((at for node in shape.by_id.values() for at in _timers(node, horizon) if at > now), default=None)


def _timers(node: TaskNode, horizon: int) -> Iterator[datetime]:
    if node.status in FINISHED_STATUSES:
        return
    if node.not_before is not None:
        yield node.not_before
    if node.deadline is not None:
        due = due_from(node, horizon)
        if due is not None:
            yield due
