"""What one asker sees of all Groups: terms per repository, limits, and who may be taken. Knows no plan.

Everything here follows from the asker and the Groups' queues. It follows their changes lane by lane when it is next
asked; what changes the view as a whole (policy, surroundings, pauses) makes a new one instead.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.demand import Demand
from metagit_mcp.scheduling.eligibility import AgentSlots, Reason, ReasonKind, Situation, lasting, situational
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.scoring import RepositoryTerms, Scored, is_due_soon, repository_micros
from metagit_mcp.scheduling.snapshot import Asker

if TYPE_CHECKING:
    from metagit_mcp.domain.decision import ScheduleDecision

# (whether the asker gave it back, -score in micros, effective tokens, node_id, place of the lane in its Group):
# ascending is best first; what the asker gave back comes after all else it may take (work.md §1, release).
Head = tuple[bool, int, int, str, int]
# The same with the Group's id in place of the lane's, then with both.
Top = tuple[bool, int, int, str, str]
SkippedHead = tuple[bool, int, int, str, str, int]
# Makes a decision of its id and its time.
Told = Callable[..., "ScheduleDecision"]
_NO_TERMS = RepositoryTerms()


@value
class Census:
    """How many nodes the asker may start, how many are ready, and how many are not eligible for which reason.

    `not_eligible` counts each node once, under its first reason.
    """

    runnable: int
    ready: int
    not_eligible: Mapping[ReasonKind, int]


class Tally:
    """Nodes in numbers, which can be added up: ready ones, those kept out by reason, and what may start by its width.

    Whether a slot is free decides only when somebody asks: `fitting` counts by slots what nothing else keeps out.
    """

    __slots__ = ("fitting", "not_eligible", "ready")

    def __init__(self) -> None:
        """Count nothing yet."""
        self.ready = 0
        self.not_eligible: Counter[ReasonKind] = Counter()
        self.fitting: Counter[int] = Counter()

    def add(self, other: "Tally", sign: int) -> None:
        """Add another tally, or take it off again."""
        self.ready += sign * other.ready
        for kind, nodes in other.not_eligible.items():
            self.not_eligible[kind] += sign * nodes
        for width, nodes in other.fitting.items():
            self.fitting[width] += sign * nodes

    def census(self, situation: Situation, agent_slots: AgentSlots | None) -> Census:
        """Return the census at this moment: the asker's own slots first, then those of the workspace."""
        not_eligible = +self.not_eligible
        runnable = self.fitting.total()
        if agent_slots is not None and agent_slots.is_full:
            not_eligible["agent_slots"], runnable = runnable, 0
        elif situation.slots is not None:
            free = situation.slots - situation.running
            without = sum(nodes for width, nodes in self.fitting.items() if width > free)
            not_eligible["no_slot"], runnable = without, runnable - without
        return Census(runnable=runnable, ready=self.ready, not_eligible=+not_eligible)


class Standing:
    """One Group as one asker's moment sees it: the heads it may take, the heads skipped, and its nodes in numbers.

    `heads` is sorted; `kinds`, `sizes` and `first` are of each lane what keeps the asker from it, how many nodes were
    counted, and its head, where that is in `heads` or `skipped`.
    """

    __slots__ = ("counted", "first", "group", "heads", "kinds", "lanes", "sizes", "skipped", "top")

    def __init__(self, group: GroupQueue) -> None:
        """Know no lane yet."""
        self.group = group
        self.heads: list[Head] = []
        self.skipped: dict[int, Head] = {}
        self.kinds: list[ReasonKind | None] = []
        self.sizes: list[int] = []
        self.first: list[Head | None] = []
        self.lanes = Tally()
        self.counted = Tally()
        self.top: Top | None = None

    def tally(self) -> Tally:
        """Return the Group in numbers: lanes, nodes that are not in a lane, and what the quota leaves no room for."""
        group, found = self.group, Tally()
        found.add(self.lanes, 1)
        found.ready = group.ready_count
        for kind, nodes in group.first_reasons.items():
            found.not_eligible[kind] += nodes
        if group.quota is not None:
            free = group.quota - group.running_slots
            for width in [width for width in found.fitting if width > free]:
                found.not_eligible["group_quota"] += found.fitting.pop(width)
        return found


class Moment:
    """What one asker sees: repository terms, limits, and each Group's standing.

    Sums and orders over all Groups follow a change of a few lanes at the cost of those few.
    """

    def __init__(
        self,
        asker: Asker,
        situation: Situation,
        terms: Mapping[str, RepositoryTerms],
        penalty: int,
        groups: Mapping[str, GroupQueue],
    ) -> None:
        """Look at nothing yet; Groups are looked at when they are asked for."""
        self.asker = asker
        self.situation = situation
        self._groups = groups
        self._terms = terms
        self._penalty = penalty
        # What was said of picks, by graph, node, agent and whether skipped: the same until something changes.
        self.told: dict[tuple[str, str, str, bool], Told] = {}
        self._standings: dict[str, Standing] = {}
        self._stale: dict[str, set[int]] = {}
        self._total = Tally()
        self._tops: list[Top] = []
        self._is_all_warm: bool | None = None
        self._busy = self._busy_resources()

    # --- following changes

    def forget(self, graph_ids: Iterable[str]) -> None:
        """Forget what was derived from Groups that were built anew, came or went."""
        for graph_id in graph_ids:
            self._stale.pop(graph_id, None)
            gone = self._standings.pop(graph_id, None)
            if gone is not None:
                self._total.add(gone.counted, -1)
                self._move_top(gone, None)
        self._has_changed()

    def mark(self, graph_id: str, places: Collection[int] = ()) -> None:
        """Note that something about a Group changed, and what is in these lanes or who may have it."""
        self._stale.setdefault(graph_id, set()).update(places)
        self._has_changed()

    def meet(self, running: int) -> None:
        """Take over how many slots are in use; what waits for one is not looked at for that."""
        if running != self.situation.running:
            self.situation = replace(self.situation, running=running)
            self._has_changed()

    def is_overtaken(self) -> bool:
        """Say whether a resource that every start of the asker takes has become busy, or is no longer."""
        return bool(self.situation.units) and self._busy != self._busy_resources()

    def _busy_resources(self) -> set[str]:
        situation = self.situation
        return {name for name, _, _ in situation.holdings.busy(situation.units, situation.capacities)}

    def _has_changed(self) -> None:
        self._is_all_warm = None
        if self.told:
            self.told.clear()

    def _catch_up(self) -> None:
        """Look again at what was marked since the last question."""
        for graph_id, places in self._stale.items():
            standing = self._standings.get(graph_id)
            if standing is not None:
                for place in sorted(places):
                    self._look_at(standing, place)
                self._recount(standing)
        self._stale.clear()

    # --- standings

    def terms(self, repository: str) -> RepositoryTerms:
        """Return the repository's terms; one nobody ever named has none."""
        return self._terms.get(repository, _NO_TERMS)

    def standing(self, graph_id: str) -> Standing:
        """Return the Group's standing, made at the first call."""
        if self._stale:
            self._catch_up()
        found = self._standings.get(graph_id)
        if found is None:
            found = self._standings[graph_id] = self._stand(self._groups[graph_id])
            self._recount(found)
        return found

    def _all_standings(self) -> Mapping[str, Standing]:
        if self._stale:
            self._catch_up()
        if len(self._standings) < len(self._groups):
            for graph_id in self._groups:
                self.standing(graph_id)
        return self._standings

    def _stand(self, group: GroupQueue) -> Standing:
        standing = Standing(group)
        for place in range(len(group.lanes)):
            self._look_at(standing, place, in_order=False)
        standing.heads.sort()
        return standing

    def _look_at(self, standing: Standing, place: int, *, in_order: bool = True) -> None:
        """Bring one lane up to date: its size, its head, and what keeps the asker from it."""
        group = standing.group
        lane = group.lanes[place]
        if place == len(standing.kinds):
            standing.kinds.append(None)
            standing.sizes.append(0)
            standing.first.append(None)
        else:
            self._drop(standing, place)
        kind = standing.kinds[place] = self._first_against(lane.demand, group)
        size = standing.sizes[place] = len(lane)
        _count_lane(standing.lanes, kind, lane.demand.slots, size)
        head = self.head(group, place, 0) if kind is None or kind == "merge_pressure" else None
        standing.first[place] = head
        if head is None:
            return
        if kind is not None:
            standing.skipped[place] = head
        elif in_order:
            insort(standing.heads, head)
        else:
            standing.heads.append(head)

    def _drop(self, standing: Standing, place: int) -> None:
        """Take out what was known of a lane."""
        kind, head = standing.kinds[place], standing.first[place]
        _count_lane(standing.lanes, kind, standing.group.lanes[place].demand.slots, -standing.sizes[place])
        if head is None:
            return
        if kind is not None:
            del standing.skipped[place]
        else:
            del standing.heads[bisect_left(standing.heads, head)]

    def _recount(self, standing: Standing) -> None:
        self._total.add(standing.counted, -1)
        standing.counted = standing.tally()
        self._total.add(standing.counted, 1)
        top: Top | None = None
        if standing.heads:
            top = (*standing.heads[0][:4], standing.group.graph_id)
        self._move_top(standing, top)

    def _move_top(self, standing: Standing, top: Top | None) -> None:
        if top == standing.top:
            return
        if standing.top is not None:
            del self._tops[bisect_left(self._tops, standing.top)]
        if top is not None:
            insort(self._tops, top)
        standing.top = top

    def _first_against(self, demand: Demand, group: GroupQueue) -> ReasonKind | None:
        found = next(lasting(demand, self.situation, self.asker, group.quota, group.graph_id), None)
        return None if found is None else found.kind

    def against(self, demand: Demand, group: GroupQueue, asker: Asker, agent_slots: AgentSlots) -> Iterator[Reason]:
        """Yield the situational reasons against a demand of the Group, for one of the askers that share the moment."""
        quota, running = group.quota, group.running_slots
        return situational(demand, self.situation, asker, quota, running, group.graph_id, agent_slots)

    def head(self, group: GroupQueue, place: int, depth: int) -> Head | None:
        """Return entry `depth` of the Group's lane `place` with its full score, or None past the lane's end."""
        lane = group.lanes[place]
        entry = lane.entry(depth)
        if entry is None:
            return None
        demand = lane.demand
        terms = self._terms.get(demand.repository)
        offset = 0 if terms is None else repository_micros(group.weights, terms, self._penalty)
        is_shunned = bool(demand.shunned_by) and self.asker.agent_id in demand.shunned_by
        return (is_shunned, entry[0] - offset, entry[1], entry[2], place)

    # --- all Groups

    def tops(self) -> Sequence[Top]:
        """Return the best head of each Group, in order."""
        self._all_standings()
        return self._tops

    def tops_of(self, graph_id: str) -> Sequence[Top]:
        """Return the same of one Group."""
        top = self.standing(graph_id).top
        return () if top is None else (top,)

    def skipped(self, graph_id: str | None = None) -> Sequence[SkippedHead]:
        """Return the head of each lane that merge pressure keeps out, of one Group or of all, in any order."""
        if not self.situation.skipped_repositories:
            return ()
        every = self._all_standings().values() if graph_id is None else (self.standing(graph_id),)
        return [
            (*head[:4], each.group.graph_id, head[4])
            for each in every
            if each.skipped
            for head in each.skipped.values()
        ]

    def census(self, agent_slots: AgentSlots | None = None) -> Census:
        """Count the nodes of all Groups as this asker sees them."""
        self._all_standings()
        return self._total.census(self.situation, agent_slots)

    def census_of(self, graph_id: str, agent_slots: AgentSlots | None = None) -> Census:
        """Count the nodes of one Group as this asker sees them."""
        return self.standing(graph_id).counted.census(self.situation, agent_slots)

    def scored(self, group: GroupQueue, node: TaskNode, policy: SchedulePolicy, now: datetime) -> Scored:
        """Return what the node's score is made of."""
        terms = self.terms(repository_key(node.repository, node.project))
        return Scored(
            weights=group.weights,
            rank=group.ranks.get(node.node_id, 0),
            top_rank=group.top_rank,
            due_soon=is_due_soon(node, policy.deadline_horizon_seconds, now),
            terms=terms,
            penalty=self._penalty,
            affinity_idle=terms.warm and group.weights.affinity > 0 and self._has_no_cold(),
        )

    def _has_no_cold(self) -> bool:
        """Say whether the ready nodes lie in several repositories, all of them warm: then warmth prefers none."""
        if self._is_all_warm is None:
            every = self._groups.values()
            is_cold = any(not self.terms(name).warm for group in every for name in group.repositories)
            self._is_all_warm = not is_cold and len({name for group in every for name in group.repositories}) > 1
        return self._is_all_warm


def _count_lane(tally: Tally, kind: ReasonKind | None, width: int, nodes: int) -> None:
    if kind is None:
        tally.fitting[width] += nodes
    else:
        tally.not_eligible[kind] += nodes
