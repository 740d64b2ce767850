"""What one asker sees of all Groups between two changes: terms per repository, limits, and who may be taken.

Everything here follows from the asker and the Groups' queues; it is thrown away when they change. Knows no order
across Groups and no plan.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from heapq import heapify

from metagit_mcp.domain.policy import micros
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.eligibility import Demand, Reason, ReasonKind, Situation, situational
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.scoring import RepositoryTerms, Scored, is_due_soon, repository_micros
from metagit_mcp.scheduling.snapshot import Asker, Snapshot, Worktree

# (-score in micros, effective tokens, node_id, place of the lane in its Group): ascending is best first.
Head = tuple[int, int, str, int]
_NO_TERMS = RepositoryTerms()


@value
class Standing:
    """One Group as one asker's moment sees it: the heads it may take, the heads skipped, and who is left out why."""

    group: GroupQueue
    heads: list[Head]
    skipped: list[Head]
    left_out: Mapping[ReasonKind, int]


@value
class Census:
    """How many nodes the asker may start, how many are ready, and how many are not eligible for which reason.

    `not_eligible` counts each node once, under its first reason.
    """

    runnable: int
    ready: int
    not_eligible: Mapping[ReasonKind, int]


def _added(parts: Iterable[Census]) -> Census:
    runnable = ready = 0
    not_eligible: Counter[ReasonKind] = Counter()
    for part in parts:
        runnable += part.runnable
        ready += part.ready
        not_eligible.update(part.not_eligible)
    return Census(runnable=runnable, ready=ready, not_eligible=not_eligible)


class Moment:
    """What one asker sees between two changes: repository terms, limits, and each Group's standing."""

    def __init__(self, asker: Asker, snapshot: Snapshot, groups: Mapping[str, GroupQueue]) -> None:
        """Look at the surroundings once; Groups are looked at when they are asked for."""
        self.asker = asker
        self._groups = groups
        self._terms = repository_terms(asker, snapshot, groups.values())
        self._penalty = micros(snapshot.policy.merge_pressure_penalty)
        self.situation = Situation(
            slots=snapshot.policy.slots,
            running=sum(group.running_slots for group in groups.values()),
            skipped_repositories=frozenset(
                key
                for key, terms in self._terms.items()
                if terms.pressured and snapshot.policy.skip_on_merge_pressure
            ),
        )
        self._standings: dict[str, Standing] = {}
        self._tops: list[tuple[int, int, str, str]] | None = None
        self._census: Census | None = None

    def follow(self, changed: Iterable[str]) -> None:
        """Forget what was derived from the Groups that changed."""
        for graph_id in changed:
            self._standings.pop(graph_id, None)
        self._tops = None
        self._census = None

    def terms(self, repository: str) -> RepositoryTerms:
        """Return the repository's terms; one nobody ever named has none."""
        return self._terms.get(repository, _NO_TERMS)

    def standing(self, graph_id: str) -> Standing:
        """Return the Group's standing, made at the first call."""
        found = self._standings.get(graph_id)
        if found is None:
            found = self._standings[graph_id] = self._stand(self._groups[graph_id])
        return found

    def _stand(self, group: GroupQueue) -> Standing:
        heads: list[Head] = []
        skipped: list[Head] = []
        left_out: Counter[ReasonKind] = Counter()
        for place, lane in enumerate(group.lanes):
            against = next(self.against(lane.demand, group), None)
            if against is not None:
                left_out[against.kind] += len(lane)
            if against is None or against.kind == "merge_pressure":
                head = self.head(group, place, 0)
                if head is not None:
                    (heads if against is None else skipped).append(head)
        heapify(heads)
        return Standing(group=group, heads=heads, skipped=skipped, left_out=left_out)

    def against(self, demand: Demand, group: GroupQueue) -> Iterator[Reason]:
        """Yield the situational reasons against a demand of the Group."""
        return situational(demand, self.situation, self.asker, group.quota, group.running_slots)

    def head(self, group: GroupQueue, place: int, depth: int) -> Head | None:
        """Return entry `depth` of the Group's lane `place` with its full score, or None past the lane's end."""
        lane = group.lanes[place]
        entry = lane.entry(depth)
        if entry is None:
            return None
        offset = repository_micros(group.weights, self.terms(lane.demand.repository), self._penalty)
        return (entry[0] - offset, entry[1], entry[2], place)

    def tops(self) -> list[tuple[int, int, str, str]]:
        """Return a heap of the best head of each Group, a copy that the caller may take apart."""
        if self._tops is None:
            standings = (self.standing(graph_id) for graph_id in self._groups)
            self._tops = [(*each.heads[0][:3], each.group.graph_id) for each in standings if each.heads]
            heapify(self._tops)
        return self._tops.copy()

    def tops_of(self, graph_id: str) -> list[tuple[int, int, str, str]]:
        """Return the same of one Group."""
        return [(*head[:3], graph_id) for head in self.standing(graph_id).heads[:1]]

    def census(self) -> Census:
        """Count the nodes of all Groups as this asker sees them; kept until something changes."""
        if self._census is None:
            self._census = _added(self.census_of(graph_id) for graph_id in self._groups)
        return self._census

    def census_of(self, graph_id: str) -> Census:
        """Count the nodes of one Group as this asker sees them."""
        standing = self.standing(graph_id)
        group, left_out = standing.group, standing.left_out
        return Census(
            runnable=sum(map(len, group.lanes)) - sum(left_out.values()),
            ready=group.ready_count,
            not_eligible=Counter(group.first_reasons) + Counter(left_out),
        )

    def scored(self, group: GroupQueue, node: TaskNode, snapshot: Snapshot) -> Scored:
        """Return what the node's score is made of."""
        repository = repository_key(node.repository, node.project)
        return Scored(
            weights=group.weights,
            rank=group.ranks.get(node.node_id, 0),
            top_rank=group.top_rank,
            due_soon=is_due_soon(node, snapshot.policy.deadline_horizon_seconds, snapshot.now),
            terms=self.terms(repository),
            penalty=self._penalty,
        )


def repository_terms(
    asker: Asker, snapshot: Snapshot, groups: Iterable[GroupQueue]
) -> dict[str, RepositoryTerms]:
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
    if affinity.scope == "agent" and tree.agent_id != asker.agent_id:
        return False
    if affinity.require_path and not tree.on_disk:
        return False
    end = cold_from(tree, affinity.max_age_seconds)
    return end is None or end > snapshot.now


def cold_from(tree: Worktree, max_age_seconds: int | None) -> datetime | None:
    """Return the instant from which the worktree is too old, or None when age does not count or is unknown."""
    if max_age_seconds is None or tree.updated_at is None:
        return None
    return tree.updated_at + timedelta(seconds=max_age_seconds)


def _under_represented(snapshot: Snapshot, groups: Iterable[GroupQueue]) -> set[str]:
    """Return the ready repositories with the fewest services (scheduling.md §2); none while no weight asks for it."""
    every = list(groups)
    if not any(group.weights.fairness for group in every):
        return set()
    ready = {lane.demand.repository for group in every for lane in group.lanes} - {""}
    fewest = min((snapshot.surroundings.services.get(name, 0) for name in ready), default=0)
    return {name for name in ready if snapshot.surroundings.services.get(name, 0) == fewest}
