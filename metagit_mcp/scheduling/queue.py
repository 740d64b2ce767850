"""One Group's queue: its ready nodes in lanes, best first, which follows changes of its work. Knows no other Group.

A lane holds the ready nodes that need the same from the moment (repository, capabilities, slots, resources, …), so a
change of a repository is one offset per lane and nodes that an asker may not take are never walked through
(scheduling.md §2, last paragraph).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Final

from metagit_mcp.domain.approval import Approval, by_node
from metagit_mcp.domain.graph import dependents_of, structure
from metagit_mcp.domain.policy import MicroWeights, SchedulePolicy, quota_for, weights_for
from metagit_mcp.domain.projection import as_known
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import (
    FINISHED_STATUSES,
    OPEN_STATUSES,
    LoadedGraph,
    TaskNode,
    effective_slots,
    effective_tokens,
)
from metagit_mcp.domain.value import changed
from metagit_mcp.scheduling.ages import Ages
from metagit_mcp.scheduling.capabilities import sets_asked
from metagit_mcp.scheduling.demand import (
    Demand,
    Spelling,
    asked_of_agents,
    demand_of,
    demand_spelt,
    offered_to,
    spelling_of,
)
from metagit_mcp.scheduling.eligibility import (
    WAITING_THOUGH_READY,
    GroupRules,
    ReasonKind,
    first_kind,
    is_exhausted_node,
    is_observed,
    observed_until,
)
from metagit_mcp.scheduling.holdings import live_lease, live_leases
from metagit_mcp.scheduling.lane import Entry
from metagit_mcp.scheduling.lanes import Lanes
from metagit_mcp.scheduling.quiet import quiet_between
from metagit_mcp.scheduling.scoring import is_due_soon, static_micros_of
from metagit_mcp.scheduling.timers import timers


class GroupQueue:
    """What one task graph offers, under the policy and the instant it was last judged for.

    `lanes` are named by their place; one that is empty stays. `first_reasons` counts the nodes that are not ready for
    a reason of their own, by the first one; `ready_count` those ready by status and dependencies; `quiet` is the time
    in which time alone changes none of it. `by_id` are the nodes with the status that counts; `round` is what the
    ledger knows of its dispatches.
    """

    __slots__ = (
        "_ages",
        "_approvals",
        "_dependents",
        "_filed",
        "_items",
        "_leases",
        "_running",
        "_seen",
        "_waiting",
        "approved",
        "by_id",
        "capability_sets",
        "first_reasons",
        "graph_id",
        "lanes",
        "leased_slots",
        "loaded",
        "observed_slots",
        "quiet",
        "quota",
        "ranks",
        "round",
        "rules",
        "top_rank",
        "weights",
    )

    def __init__(
        self,
        loaded: LoadedGraph,
        policy: SchedulePolicy,
        approvals: tuple[Approval, ...],
        now: datetime,
        work: LedgerState | None = None,
    ) -> None:
        """Judge every node once; a graph whose file cannot be used has none.

        `approvals` are those of the file; the ledger knows of more.
        """
        work = work or LedgerState()
        self.graph_id = loaded.graph_id
        self.loaded = loaded
        self._approvals = approvals
        self.approved = work.approvals.get(loaded.graph_id, ())
        self._items = dict(work.items.get(loaded.graph_id, {}))
        self._leases = live_leases(self._items, work)
        # The nodes of the file, where the ledger's status counts instead.
        self._filed: dict[str, TaskNode] = {}
        # Who depends on a node; made when a node is first done.
        self._dependents: dict[str, list[str]] | None = None
        self.rules = self._rules(policy, now)
        self.by_id = self.rules.shape.by_id
        self._take_over(policy)
        self.lanes = Lanes()
        self.first_reasons: Counter[ReasonKind] = Counter()
        self._waiting = 0
        self.round = work.shares.rounds.get(loaded.graph_id)
        # Made when the guard may pick or somebody starts: mere advice needs none.
        self._ages: Ages | None = None
        # The capability sets that unfinished nodes name.
        self.capability_sets: Counter[frozenset[str]] = Counter()
        self._running: dict[str, TaskNode] = {}
        self.leased_slots = sum(lease.holding.slots for lease in self._leases.values())
        self.observed_slots = 0
        self._seen = 0
        self._sort_in(self.rules.shape.by_id.values())
        self.quiet = quiet_between(timers(self.rules, self.rules.shape.by_id.values()), now)

    def _take_over(self, policy: SchedulePolicy) -> None:
        """Take over how the policy weighs the nodes, and its limit."""
        self.weights: MicroWeights = weights_for(policy, self.graph_id)
        self.ranks: Mapping[str, int] = self.rules.shape.ranks if self.weights.dependency else {}
        self.top_rank = max(self.ranks.values(), default=0)
        self.quota = quota_for(policy, self.graph_id)

    def weigh(self, policy: SchedulePolicy) -> None:
        """Put the ready nodes in order again, under other weights or another quota; none is judged anew."""
        before = self.weights
        self._take_over(policy)
        if self.weights != before:
            self.lanes.order_anew(self.by_id, self.entry)
            self._ages = None

    def _rules(self, policy: SchedulePolicy, now: datetime) -> GroupRules:
        graph, defects = self.loaded.graph, self.loaded.defects
        return GroupRules(
            graph_id=self.graph_id,
            active=graph is not None and graph.status == "active",
            defects=defects,
            shape=structure(self._known_nodes(), defects),
            policy=policy,
            approvals=by_node((*self._approvals, *self.approved)),
            now=now,
            items=self._items,
            leases=self._leases,
        )

    def _known_nodes(self) -> tuple[TaskNode, ...]:
        """Return the nodes of the file with the status that counts."""
        filed = self.loaded.graph.nodes if self.loaded.graph is not None else ()
        if not self._items:
            return filed
        known = tuple(as_known(node, self._items.get(node.node_id)) for node in filed)
        self._filed = {node.node_id: node for node, each in zip(filed, known, strict=True) if node is not each}
        return known

    @property
    def ready_count(self) -> int:
        """How many nodes are ready by status and dependencies."""
        return self._waiting + self.repositories.total()

    @property
    def running(self) -> tuple[TaskNode, ...]:
        """The nodes that run, under a lease or as their file says."""
        return tuple(sorted(self._running.values(), key=attrgetter("node_id")))

    @property
    def repositories(self) -> Counter[str]:
        """The ready nodes by repository."""
        return self.lanes.repositories

    @property
    def ages(self) -> Ages:
        """How long the ready nodes wait."""
        if self._ages is None:
            self._ages = Ages(self.lanes.place_of, self.round, self._written_at)
        return self._ages

    def _written_at(self, node_id: str) -> str:
        """Return when a node was last changed, by its row or by the log of its Group."""
        item = self._items.get(node_id) if self.loaded.is_fed else None
        fed = None if item is None else item.fed
        return self.by_id[node_id].updated_at if fed is None else fed.since.isoformat()

    @property
    def seen(self) -> dict[str, TaskNode]:
        """The nodes that run as their file says, and under no lease."""
        leases = self.rules.leases
        return {name: node for name, node in self._running.items() if name not in leases} if self._seen else {}

    @property
    def running_slots(self) -> int:
        """The slots of all that runs."""
        return self.leased_slots + self.observed_slots

    # --- following the ledger

    def is_behind(self, work: LedgerState) -> bool:
        """Say whether the ledger knows something else of the Group than was judged."""
        items = work.items.get(self.graph_id, {})
        return (
            self._items != items
            or self._leases != live_leases(items, work)
            or self.approved != work.approvals.get(self.graph_id, ())
            or self.round != work.shares.rounds.get(self.graph_id)
        )

    def follow(self, work: LedgerState, node_ids: Iterable[str], now: datetime) -> set[int] | None:
        """Judge nodes again of which the ledger knows something new, and those that wait for them.

        Return the places of the lanes that changed; None: the Group is to be built anew.
        """
        items, by_id = work.items.get(self.graph_id, {}), self.rules.shape.by_id
        filed = {name: self._filed.get(name, by_id[name]) for name in node_ids if name in by_id}
        after = {name: as_known(node, items.get(name)) for name, node in filed.items()}
        if not all(self._is_simple(by_id[name], node) for name, node in after.items()):
            return None
        judged = self._judged_with(after)
        places: set[int] = set()
        for name in judged:
            self._take_out(by_id[name], places)
        for name in node_ids:
            self._learn(name, work)
        for name, node in after.items():
            self._replace(name, filed[name], node)
        self._learn_rules(work, now)
        # Before anything is put in again: it has the age that is known now.
        self.round = work.shares.rounds.get(self.graph_id)
        if self._ages is not None:
            self._ages.follow(self.round)
        for name in judged:
            self._put_in(by_id[name], places)
        ends = list(timers(self.rules, after.values()))
        if ends:
            self.quiet = quiet_between([*self.quiet.bounds(), *ends], now)
        return places

    def _is_simple(self, before: TaskNode, after: TaskNode) -> bool:
        """Say that a change is felt by the node and those that depend on it, and by nothing above or below."""
        shape = self.rules.shape
        if self.loaded.graph is None or len(shape.by_id) != len(self.loaded.graph.nodes):
            return False
        if shape.plain:
            return True
        # What a parent waits for is told of its children: how a blocked node is blocked counts there.
        is_alike = before.status == after.status != "blocked"
        is_alike = is_alike or (before.status in _MAY_RUN and after.status in _MAY_RUN)
        return is_alike and before.node_id not in shape.children

    def _judged_with(self, after: Mapping[str, TaskNode]) -> list[str]:
        """Return the nodes to judge again: these, and what depends on one that is done now or no longer."""
        by_id = self.rules.shape.by_id
        judged = dict.fromkeys(after)
        for name, node in after.items():
            if (node.status == "completed") != (by_id[name].status == "completed"):
                if self._dependents is None:
                    self._dependents = dependents_of(by_id)
                judged.update(dict.fromkeys(self._dependents.get(name, ())))
        return list(judged)

    def _learn(self, node_id: str, work: LedgerState) -> None:
        item = work.item((self.graph_id, node_id))
        lease, before = live_lease(item, work), self._leases.pop(node_id, None)
        self.leased_slots -= before.holding.slots if before is not None else 0
        if lease is not None:
            self._leases[node_id] = lease
            self.leased_slots += lease.holding.slots
        if item is not None:
            self._items[node_id] = item
        else:
            self._items.pop(node_id, None)

    def _replace(self, node_id: str, filed: TaskNode, known: TaskNode) -> None:
        self.by_id[node_id] = known
        if known is filed:
            self._filed.pop(node_id, None)
        else:
            self._filed[node_id] = filed

    def _learn_rules(self, work: LedgerState, now: datetime) -> None:
        approved = work.approvals.get(self.graph_id, ())
        if approved != self.approved:
            self.approved = approved
            self.rules = changed(self.rules, approvals=by_node((*self._approvals, *approved)))
        if now != self.rules.now:
            self.rules = changed(self.rules, now=now)

    def _take_out(self, node: TaskNode, places: set[int]) -> None:
        kind = first_kind(self.rules, node)
        self._count(node, kind, -1)
        self._count_capabilities(node, -1)
        if kind is None:
            places.add(self._move(node, -1))

    def _put_in(self, node: TaskNode, places: set[int]) -> None:
        kind = first_kind(self.rules, node)
        self._count(node, kind, 1)
        self._count_capabilities(node, 1)
        if kind is None:
            places.add(self._move(node, 1))

    def _move(self, node: TaskNode, sign: int) -> int:
        """Put a node into the lane of its demand, or take it out; return the place of the lane."""
        item = self._items.get(node.node_id)
        demand = demand_of(node, item, exhausted=is_exhausted_node(self.rules, node))
        entry = self.entry(node)
        place = self.lanes.put(demand, entry) if sign > 0 else self.lanes.take_out(demand, entry)
        if self._ages is not None and sign > 0:
            self._ages.came(entry, place)
        elif self._ages is not None:
            self._ages.went(node.node_id)
        return place

    # --- judging

    def _sort_in(self, nodes: Iterable[TaskNode]) -> None:
        """Put all nodes in at once: those that are spelt the same need to be looked at once."""
        by_spelling: dict[Spelling, list[Entry]] = {}
        items, rules = self._items, self.rules
        for node in nodes:
            kind = first_kind(rules, node)
            if kind is None:
                spelling = spelling_of(node, items.get(node.node_id), exhausted=is_exhausted_node(rules, node))
                by_spelling.setdefault(spelling, []).append(self.entry(node))
            else:
                self._count(node, kind, 1)
                self._count_capabilities(node, 1)
        lanes: dict[Demand, list[Entry]] = {}
        for spelling, entries in by_spelling.items():
            lanes.setdefault(demand_spelt(*spelling), []).extend(entries)
            self._count_sets(*asked_of_agents(spelling), len(entries))
        self.lanes.fill(lanes)

    def _count_capabilities(self, node: TaskNode, sign: int) -> None:
        """Count what an unfinished node requires, or no longer; to be an agent that a Group names, for each of them."""
        if not (node.capabilities or self.loaded.is_fed) or node.status in FINISHED_STATUSES:
            return
        self._count_sets(node.capabilities, offered_to(self._items.get(node.node_id)), sign)

    def _count_sets(self, capabilities: tuple[str, ...] | None, candidates: tuple[str, ...], number: int) -> None:
        counted = self.capability_sets
        for names in sets_asked(capabilities or (), candidates):
            counted[names] += number
            if not counted[names]:
                del counted[names]

    def _count(self, node: TaskNode, kind: ReasonKind | None, sign: int) -> None:
        """Count one node that is not in a lane, or no longer."""
        if kind is None:
            return
        self.first_reasons[kind] += sign
        if kind in WAITING_THOUGH_READY and node.status in OPEN_STATUSES:
            self._waiting += sign
        if node.status == "running":
            self._count_running(node, sign)

    def _count_running(self, node: TaskNode, sign: int) -> None:
        is_seen = is_observed(self.rules, node)
        if not (node.node_id in self.rules.leases or (is_seen and self.rules.active)):
            return
        if sign > 0:
            self._running[node.node_id] = node
        else:
            del self._running[node.node_id]
        if is_seen:
            self._seen += sign
            until = observed_until(self.rules, node)
            if until is None or until > self.rules.now:
                self.observed_slots += sign * effective_slots(node)

    def entry(self, node: TaskNode) -> Entry:
        """Return the node as its lane orders it."""
        node_id, tokens = node.node_id, effective_tokens(node)
        own = static_micros_of(node, tokens, self.weights, self.ranks.get(node_id, 0), self.top_rank)
        if node.deadline is not None and is_due_soon(node, self._horizon, self.rules.now):
            own += self.weights.deadline
        return (-own, tokens, node_id)

    @property
    def _horizon(self) -> int:
        return self.rules.policy.deadline_horizon_seconds


# Whoever is in one of these states is waited for in the same way.
_MAY_RUN: Final = frozenset({*OPEN_STATUSES, "running"})
