"""What one asker sees of all Groups between two changes: terms per repository, limits, and who may be taken.

Everything here follows from the asker and the Groups' queues; it is thrown away when they change. Knows no order
across Groups and no plan.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import heapify
from typing import TYPE_CHECKING

from metagit_mcp.domain.policy import SchedulePolicy, micros
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.eligibility import Demand, Reason, ReasonKind, Situation, situational
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.scoring import RepositoryTerms, Scored, is_due_soon, repository_micros
from metagit_mcp.scheduling.snapshot import Asker, Snapshot, Worktree

if TYPE_CHECKING:
    from metagit_mcp.domain.decision import ScheduleDecision

# (-score in micros, effective tokens, node_id, place of the lane in its Group): ascending is best first.
Head = tuple[int, int, str, int]
# The same with the Group's id in place of the lane's, then with both.
Top = tuple[int, int, str, str]
SkippedHead = tuple[int, int, str, str, int]
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


@value
class Standing:
    """One Group as one asker's moment sees it: the heads it may take, the heads skipped, and its nodes in numbers."""

    group: GroupQueue
    heads: list[Head]
    skipped: list[Head]
    census: Census


class Moment:
    """What one asker sees between two changes: repository terms, limits, and each Group's standing.

    Sums and heaps over all Groups follow a change of a few Groups at the cost of those few.
    """

    def __init__(self, asker: Asker, snapshot: Snapshot, groups: Mapping[str, GroupQueue]) -> None:
        """Look at the surroundings once; Groups are looked at when they are asked for."""
        self.asker = asker
        self._groups = groups
        self._terms = repository_terms(asker, snapshot, groups.values())
        self._penalty = micros(snapshot.policy.merge_pressure_penalty)
        slots = snapshot.policy.slots
        self.situation = Situation(
            slots=slots,
            running=sum(group.running_slots for group in groups.values()) if slots is not None else 0,
            skipped_repositories=frozenset(
                key for key, terms in self._terms.items() if terms.pressured and snapshot.policy.skip_on_merge_pressure
            ),
        )
        # What was said of picks, by graph, node, agent and whether skipped: the same until something changes.
        self.told: dict[tuple[str, str, str, bool], Told] = {}
        self._standings: dict[str, Standing] = {}
        self._runnable = self._ready = 0
        self._not_eligible: Counter[ReasonKind] = Counter()
        self._census: Census | None = None
        # In how many Groups each repository has ready nodes, and how many Groups have some that are not warm.
        self._ready_in: Counter[str] = Counter()
        self._cold_groups = 0
        self._tops: list[Top] = []
        self._moved: set[str] = set()
        self._skipped: list[SkippedHead] | None = None

    def follow(self, changed: Iterable[str]) -> None:
        """Forget what was derived from the Groups that changed, came or went."""
        for graph_id in changed:
            gone = self._standings.pop(graph_id, None)
            if gone is not None:
                self._count(gone, sign=-1)
                self._moved.add(graph_id)
        self._skipped = None
        self.told.clear()

    def _count(self, part: Standing, sign: int) -> None:
        self._census = None
        self._runnable += sign * part.census.runnable
        self._ready += sign * part.census.ready
        for kind, nodes in part.census.not_eligible.items():
            self._not_eligible[kind] += sign * nodes
        repositories = {lane.demand.repository for lane in part.group.lanes}
        self._cold_groups += sign * any(not self.terms(name).warm for name in repositories)
        for name in repositories:
            self._ready_in[name] += sign
            if not self._ready_in[name]:
                del self._ready_in[name]

    def terms(self, repository: str) -> RepositoryTerms:
        """Return the repository's terms; one nobody ever named has none."""
        return self._terms.get(repository, _NO_TERMS)

    def standing(self, graph_id: str) -> Standing:
        """Return the Group's standing, made at the first call."""
        found = self._standings.get(graph_id)
        if found is None:
            found = self._standings[graph_id] = self._stand(self._groups[graph_id])
            self._count(found, sign=1)
            self._moved.add(graph_id)
        return found

    def _all_standings(self) -> Mapping[str, Standing]:
        if len(self._standings) < len(self._groups):
            for graph_id in self._groups:
                self.standing(graph_id)
        return self._standings

    def _stand(self, group: GroupQueue) -> Standing:
        heads: list[Head] = []
        skipped: list[Head] = []
        runnable = 0
        not_eligible = Counter(group.first_reasons)
        verdicts: dict[tuple[frozenset[str], int, bool], ReasonKind | None] = {}
        for place, lane in enumerate(group.lanes):
            kind = self._first_against(lane.demand, group, verdicts)
            if kind is None:
                runnable += len(lane)
            else:
                not_eligible[kind] += len(lane)
            if kind in {None, "merge_pressure"} and (head := self.head(group, place, 0)) is not None:
                (heads if kind is None else skipped).append(head)
        heapify(heads)
        census = Census(runnable=runnable, ready=group.ready_count, not_eligible=not_eligible)
        return Standing(group=group, heads=heads, skipped=skipped, census=census)

    def _first_against(
        self, demand: Demand, group: GroupQueue, verdicts: dict[tuple[frozenset[str], int, bool], ReasonKind | None]
    ) -> ReasonKind | None:
        """Return the kind of the first reason against a demand; demands that differ only in place share it."""
        key = (demand.capabilities, demand.slots, demand.repository in self.situation.skipped_repositories)
        if key not in verdicts:
            verdicts[key] = next((reason.kind for reason in self.against(demand, group)), None)
        return verdicts[key]

    def against(self, demand: Demand, group: GroupQueue) -> Iterator[Reason]:
        """Yield the situational reasons against a demand of the Group."""
        return situational(demand, self.situation, self.asker, group.quota, group.running_slots)

    def head(self, group: GroupQueue, place: int, depth: int) -> Head | None:
        """Return entry `depth` of the Group's lane `place` with its full score, or None past the lane's end."""
        lane = group.lanes[place]
        entry = lane.entry(depth)
        if entry is None:
            return None
        terms = self._terms.get(lane.demand.repository)
        offset = 0 if terms is None else repository_micros(group.weights, terms, self._penalty)
        return (entry[0] - offset, entry[1], entry[2], place)

    def tops(self) -> Sequence[Top]:
        """Return a heap of the best head of each Group."""
        standings = self._all_standings()
        if self._moved:
            self._tops = [top for top in self._tops if top[3] not in self._moved]
            moved = [standings[graph_id] for graph_id in self._moved if graph_id in standings]
            self._tops += [(*each.heads[0][:3], each.group.graph_id) for each in moved if each.heads]
            heapify(self._tops)
            self._moved.clear()
        return self._tops

    def tops_of(self, graph_id: str) -> Sequence[Top]:
        """Return the same of one Group."""
        return [(*head[:3], graph_id) for head in self.standing(graph_id).heads[:1]]

    def skipped(self, graph_id: str | None = None) -> Sequence[SkippedHead]:
        """Return the head of each lane that merge pressure keeps out, of one Group or of all, in any order."""
        if not self.situation.skipped_repositories:
            return ()
        if graph_id is not None:
            return [(*head[:3], graph_id, head[3]) for head in self.standing(graph_id).skipped]
        if self._skipped is None:
            standings = self._all_standings().items()
            self._skipped = [(*head[:3], name, head[3]) for name, each in standings for head in each.skipped]
        return self._skipped

    def census(self) -> Census:
        """Count the nodes of all Groups as this asker sees them."""
        self._all_standings()
        if self._census is None:
            counts = +self._not_eligible
            self._census = Census(runnable=self._runnable, ready=self._ready, not_eligible=counts)
        return self._census

    def census_of(self, graph_id: str) -> Census:
        """Count the nodes of one Group as this asker sees them."""
        return self.standing(graph_id).census

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
            affinity_idle=terms.warm and group.weights.affinity > 0 and self._is_all_warm(),
        )

    def _is_all_warm(self) -> bool:
        """Say whether the ready nodes lie in several repositories, all of them warm: then warmth prefers none."""
        self._all_standings()
        return not self._cold_groups and len(self._ready_in) > 1


def repository_terms(asker: Asker, snapshot: Snapshot, groups: Iterable[GroupQueue]) -> dict[str, RepositoryTerms]:
    """Return the terms of every repository that is warm, pressured or under-represented, for this asker."""
    policy, around = snapshot.policy, snapshot.surroundings
    warm = {tree.repository for tree in around.worktrees if is_warm(tree, asker, snapshot)}
    under = _under_represented(snapshot, groups)
    names = warm | under | around.merge_depth.keys()
    names.discard("")
    return {
        name: RepositoryTerms(
            warm=name in warm,
            under_represented=name in under,
            merge_depth=around.merge_depth.get(name, 0),
            pressured=around.merge_depth.get(name, 0) >= policy.merge_queue_threshold,
        )
        for name in names
    }


def is_warm(tree: Worktree, asker: Asker, snapshot: Snapshot) -> bool:
    """Say whether the worktree makes its repository warm for the asker (interfaces.md §1)."""
    affinity = snapshot.policy.affinity
    if affinity.scope == "agent" and (not asker.agent_id or tree.agent_id != asker.agent_id):
        return False
    if affinity.require_path and not tree.on_disk:
        return False
    end = cold_from(tree, affinity.max_age_seconds)
    return end is None or end > snapshot.now


def cold_from(tree: Worktree, max_age_seconds: int | None) -> datetime | None:
    """Return the instant from which the worktree is too old, or None when age does not count, is unknown or no end."""
    if max_age_seconds is None or tree.updated_at is None:
        return None
    try:
        return tree.updated_at + timedelta(seconds=max_age_seconds)
    except OverflowError:
        return None


def _under_represented(snapshot: Snapshot, groups: Iterable[GroupQueue]) -> set[str]:
    """Return the ready repositories with the fewest services (scheduling.md §2); none while no weight asks for it."""
    every = list(groups)
    if not any(group.weights.fairness for group in every):
        return set()
    ready = {lane.demand.repository for group in every for lane in group.lanes} - {""}
    fewest = min((snapshot.surroundings.services.get(name, 0) for name in ready), default=0)
    return {name for name in ready if snapshot.surroundings.services.get(name, 0) == fewest}
