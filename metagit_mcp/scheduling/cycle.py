"""Who is next: the plan of one cycle over all Groups, in numbered steps. Knows neither files nor how answers look.

`WorkspaceQueue` keeps the Groups' queues and what each asker's moment made of them, so that a cycle after a change
costs the changed Group, and one without a change only its picks.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from heapq import heapify, heappop, heappush, nsmallest

from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.eligibility import Demand, GroupRules, Reason, intrinsic, waits_for_person
from metagit_mcp.scheduling.moment import Census, Head, Moment, cold_from
from metagit_mcp.scheduling.queue import GroupQueue, demand_of, group_queue
from metagit_mcp.scheduling.snapshot import Asker, Snapshot


@value
class Pick:
    """One node of a plan with its exact score in micros."""

    graph_id: str
    node: TaskNode
    score: int


@value
class Plan:
    """What `limit` agents like the asker would start now, in order, and what merge pressure held back."""

    picks: tuple[Pick, ...]
    skipped: tuple[Pick, ...]


@value
class Stuck:
    """A node that only a person can set going, with the first such reason."""

    node: TaskNode
    reason: Reason


def _stuck_nodes(rules: GroupRules) -> Iterator[Stuck]:
    for _, node in sorted(rules.shape.by_id.items()):
        reason = next(filter(waits_for_person, intrinsic(rules, node)), None)
        if reason is not None and rules.active:
            yield Stuck(node=node, reason=reason)


class WorkspaceQueue:
    """All Groups' queues and the moments of the askers seen since the last change."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Build every Group's queue."""
        self.snapshot = snapshot
        self.groups: dict[str, GroupQueue] = {}
        self._moments: dict[Asker, Moment] = {}
        self._stuck: dict[str, tuple[Stuck, ...]] = {}
        self._next_change: datetime | None = None
        self._rebuild(snapshot, set(snapshot.graphs))

    def refresh(self, snapshot: Snapshot) -> None:
        """Take over a newer snapshot; only Groups that it, the policy or the time changed are built again."""
        before, self.snapshot = self.snapshot, snapshot
        timed_out = self._next_change is not None and snapshot.now >= self._next_change
        if before.policy is not snapshot.policy:
            self._rebuild(snapshot, set(snapshot.graphs) | set(self.groups))
        elif before.graphs is not snapshot.graphs or before.approvals is not snapshot.approvals or timed_out:
            self._rebuild(snapshot, self._outdated(before, snapshot))
        if timed_out or before.surroundings is not snapshot.surroundings:
            self._moments.clear()
            self._next_change = min(self._changes(snapshot), default=None)

    def _outdated(self, before: Snapshot, snapshot: Snapshot) -> set[str]:
        gone = self.groups.keys() - snapshot.graphs.keys()
        changed = {
            graph_id
            for graph_id, loaded in snapshot.graphs.items()
            if before.graphs.get(graph_id) is not loaded
            or before.approvals.get(graph_id) != snapshot.approvals.get(graph_id)
            or self._is_due(graph_id, snapshot.now)
        }
        return gone | changed

    def _is_due(self, graph_id: str, now: datetime) -> bool:
        change = self.groups[graph_id].next_change
        return change is not None and change <= now

    def _rebuild(self, snapshot: Snapshot, graph_ids: set[str]) -> None:
        running = {graph_id: group.running_slots for graph_id, group in self.groups.items()}
        repositories = self._repositories(graph_ids)
        for graph_id in sorted(graph_ids):
            self._stuck.pop(graph_id, None)
            loaded = snapshot.graphs.get(graph_id)
            if loaded is None:
                del self.groups[graph_id]
            else:
                approvals = snapshot.approvals.get(graph_id, ())
                self.groups[graph_id] = group_queue(loaded, snapshot.policy, approvals, snapshot.now)
        same_load = running == {graph_id: group.running_slots for graph_id, group in self.groups.items()}
        if same_load and repositories == self._repositories(graph_ids):
            for moment in self._moments.values():
                moment.follow(graph_ids)
        else:
            self._moments.clear()
        self._next_change = min(self._changes(snapshot), default=None)

    def _repositories(self, graph_ids: Iterable[str]) -> set[str]:
        """The repositories with ready nodes: they decide who is under-represented."""
        groups = [self.groups[graph_id] for graph_id in graph_ids if graph_id in self.groups]
        return {lane.demand.repository for group in groups for lane in group.lanes}

    def _changes(self, snapshot: Snapshot) -> Iterator[datetime]:
        yield from (group.next_change for group in self.groups.values() if group.next_change is not None)
        for tree in snapshot.surroundings.worktrees:
            end = cold_from(tree, snapshot.policy.affinity.max_age_seconds)
            if end is not None and end > snapshot.now:
                yield end

    def needs_person(self, graph_id: str) -> tuple[Stuck, ...]:
        """Return the Group's nodes that only a person can set going, by id; kept until the Group changes."""
        if graph_id not in self._stuck:
            rules = self.groups[graph_id].rules
            self._stuck[graph_id] = tuple(_stuck_nodes(rules))
        return self._stuck[graph_id]

    def moment(self, asker: Asker) -> Moment:
        """Return what this asker sees, kept until something changes."""
        found = self._moments.get(asker)
        if found is None:
            found = self._moments[asker] = Moment(asker, self.snapshot, self.groups)
        return found


def plan(queue: WorkspaceQueue, asker: Asker, limit: int, graph_id: str | None = None) -> Plan:
    """Return the next `limit` nodes for the asker, of one Group or of all; nothing is changed (advice)."""
    # 1. What the asker sees, kept since the last change.
    moment = queue.moment(asker)
    # 2. The best head of each Group in question.
    draft = _Draft(moment, graph_id)
    # 3. The best of those, again and again; each pick takes its slots before the next is looked at.
    picks = tuple(draft.picks(limit))
    # 4. What merge pressure kept out, best first, never at the cost of a pick.
    return Plan(picks=picks, skipped=_held_back(queue, moment, limit, graph_id))


class _Draft:
    """A plan in the making: copies of the heads, and the slots that its picks have taken so far."""

    def __init__(self, moment: Moment, graph_id: str | None) -> None:
        self._moment = moment
        self._tops = moment.tops() if graph_id is None else moment.tops_of(graph_id)
        self._heads: dict[str, list[Head]] = {}
        self._depths: Counter[tuple[str, int]] = Counter()
        self._taken: Counter[str] = Counter()

    def picks(self, limit: int) -> Iterator[Pick]:
        """Yield up to `limit` picks."""
        left = limit
        while left and self._tops:
            graph_id = heappop(self._tops)[3]
            group = self._moment.standing(graph_id).group
            heads = self._heads_of(graph_id)
            negative, _, node_id, place = heappop(heads)
            demand = group.lanes[place].demand
            if self._fits(group, demand):
                self._taken[graph_id] += demand.slots
                self._depths[graph_id, place] += 1
                self._advance(group, heads, place)
                left -= 1
                yield Pick(graph_id=graph_id, node=group.rules.shape.by_id[node_id], score=-negative)
            # A lane that does not fit is out for this plan: picks only take slots.
            if heads:
                heappush(self._tops, (*heads[0][:3], graph_id))

    def _heads_of(self, graph_id: str) -> list[Head]:
        if graph_id not in self._heads:
            self._heads[graph_id] = self._moment.standing(graph_id).heads.copy()
        return self._heads[graph_id]

    def _advance(self, group: GroupQueue, heads: list[Head], place: int) -> None:
        following = self._moment.head(group, place, self._depths[group.graph_id, place])
        if following is not None:
            heappush(heads, following)

    def _fits(self, group: GroupQueue, demand: Demand) -> bool:
        situation = self._moment.situation
        taken, own = self._taken.total(), self._taken[group.graph_id]
        if situation.slots is not None and situation.running + taken + demand.slots > situation.slots:
            return False
        return group.quota is None or group.running_slots + own + demand.slots <= group.quota


def _held_back(queue: WorkspaceQueue, moment: Moment, limit: int, graph_id: str | None) -> tuple[Pick, ...]:
    """Return the best `limit` nodes that `skip_on_merge_pressure` removed."""
    if not moment.situation.skipped_repositories:
        return ()
    best = nsmallest(limit, _skipped_heads(queue, moment, limit, graph_id))
    shapes = {name: queue.groups[name].rules.shape for *_, name in best}
    return tuple(
        Pick(graph_id=name, node=shapes[name].by_id[node_id], score=-negative) for negative, _, node_id, name in best
    )


def _skipped_heads(
    queue: WorkspaceQueue, moment: Moment, limit: int, graph_id: str | None
) -> Iterator[tuple[int, int, str, str]]:
    for name in queue.groups if graph_id is None else [graph_id]:
        standing = moment.standing(name)
        for *_, place in standing.skipped:
            for depth in range(limit):
                head = moment.head(standing.group, place, depth)
                if head is None:
                    break
                yield (*head[:3], name)


def census(queue: WorkspaceQueue, asker: Asker, graph_id: str | None = None) -> Census:
    """Count the nodes of one Group or of all as the asker sees them."""
    moment = queue.moment(asker)
    return moment.census_of(graph_id) if graph_id is not None else moment.census()


def reasons_against(queue: WorkspaceQueue, asker: Asker, graph_id: str, node: TaskNode) -> tuple[Reason, ...]:
    """Return every reason why the asker may not start the node now, in the fixed order; empty when it may."""
    group = queue.groups[graph_id]
    own = tuple(intrinsic(group.rules, node))
    if any(reason.kind == "finished" for reason in own):
        return own
    return own + tuple(queue.moment(asker).against(demand_of(graph_id, node), group))
