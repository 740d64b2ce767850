"""Who is next: the plan of one cycle over all Groups, in numbered steps. Knows neither files nor how answers look.

`WorkspaceQueue` keeps the Groups' queues and what each asker's moment made of them, so that a cycle after a change
costs the changed Group, and one without a change only its picks.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from heapq import nsmallest
from typing import Final

from metagit_mcp.domain.tasks import FINISHED_STATUSES, TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.eligibility import Demand, GroupRules, Reason, intrinsic, reason_for_person
from metagit_mcp.scheduling.heaps import Remains
from metagit_mcp.scheduling.moment import Census, Head, Moment, Top, cold_from
from metagit_mcp.scheduling.queue import GroupQueue, Quiet, demand_of, group_queue, quiet_between
from metagit_mcp.scheduling.snapshot import Asker, Snapshot

# Askers that bring the same and may use the same worktrees see the same moment, so few are ever needed at a time.
_MOMENTS_KEPT: Final = 64


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
class Held:
    """A node that may not run yet, with the reason that counts."""

    node: TaskNode
    reason: Reason


@value
class Holds:
    """The nodes of one active Group that wait, by id: those that only a person can set going, and the others."""

    for_person: tuple[Held, ...] = ()
    for_others: tuple[Held, ...] = ()


_OVER: Final = frozenset({*FINISHED_STATUSES, "running"})


def _holds(rules: GroupRules) -> Holds:
    for_person: list[Held] = []
    for_others: list[Held] = []
    for _, node in sorted(rules.shape.by_id.items()):
        stuck = reason_for_person(rules, node)
        if stuck is not None:
            for_person.append(Held(node=node, reason=stuck))
        elif node.status not in _OVER and (first := next(intrinsic(rules, node), None)) is not None:
            for_others.append(Held(node=node, reason=first))
    return Holds(for_person=tuple(for_person), for_others=tuple(for_others))


class WorkspaceQueue:
    """All Groups' queues and the moments of the askers seen since the last change."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Build every Group's queue."""
        self.snapshot = snapshot
        self.now = snapshot.now
        self.groups: dict[str, GroupQueue] = {}
        self._moments: dict[tuple[str, frozenset[str]], Moment] = {}
        self._holds: dict[str, Holds] = {}
        self._quiet = Quiet()
        self._rebuild(set(snapshot.graphs))

    def go_on(self, now: datetime) -> None:
        """Go on to another instant; while time alone changes nothing, nothing is looked at."""
        if self._quiet.holds_at(now):
            self.now = now
        else:
            self.refresh(replace(self.snapshot, now=now))

    def refresh(self, snapshot: Snapshot) -> None:
        """Take over another snapshot; only Groups that it, the policy or the time changed are built again."""
        before, self.snapshot = self.snapshot, snapshot
        self.now = snapshot.now
        is_quiet = self._quiet.holds_at(snapshot.now)
        if before.policy is not snapshot.policy:
            outdated = snapshot.graphs.keys() | self.groups.keys()
        else:
            outdated = set(self._outdated(before, is_quiet=is_quiet))
        same_view = before.policy is snapshot.policy and before.surroundings is snapshot.surroundings
        if not (same_view and is_quiet):
            self._moments.clear()
        if outdated or not (same_view and is_quiet):
            self._rebuild(outdated)

    def _outdated(self, before: Snapshot, *, is_quiet: bool) -> Iterator[str]:
        """Yield the Groups that came, went or changed, by their files, their approvals or the time."""
        now, graphs = self.snapshot.now, self.snapshot.graphs
        if before.graphs is not graphs:
            yield from self.groups.keys() - graphs.keys()
            yield from (graph_id for graph_id, loaded in graphs.items() if before.graphs.get(graph_id) is not loaded)
        old, new = before.approvals, self.snapshot.approvals
        if old is not new:
            named = (old.keys() | new.keys()) & graphs.keys()
            yield from (graph_id for graph_id in named if old.get(graph_id) != new.get(graph_id))
        if not is_quiet:
            yield from (graph_id for graph_id, group in self.groups.items() if not group.quiet.holds_at(now))

    def _rebuild(self, graph_ids: set[str]) -> None:
        shared = self._shared(graph_ids)
        for graph_id in sorted(graph_ids):
            self._holds.pop(graph_id, None)
            loaded = self.snapshot.graphs.get(graph_id)
            if loaded is None:
                del self.groups[graph_id]
            else:
                approvals = self.snapshot.approvals.get(graph_id, ())
                self.groups[graph_id] = group_queue(loaded, self.snapshot.policy, approvals, self.snapshot.now)
        if self._moments and shared != self._shared(graph_ids):
            self._moments.clear()
        for moment in self._moments.values():
            moment.follow(graph_ids)
        self._quiet = quiet_between(self._timers(), self.snapshot.now)

    def _shared(self, graph_ids: Iterable[str]) -> tuple[int, set[str] | None]:
        """What each moment takes from all Groups together, as far as these Groups decide it.

        The slots in use, and the repositories with ready nodes where fairness asks who is under-represented.
        """
        every = self.groups.values()
        running = sum(group.running_slots for group in every) if self.snapshot.policy.slots is not None else 0
        if not any(group.weights.fairness for group in every):
            return running, None
        groups = [self.groups[graph_id] for graph_id in graph_ids if graph_id in self.groups]
        return running, {lane.demand.repository for group in groups for lane in group.lanes}

    def _timers(self) -> Iterator[datetime]:
        for group in self.groups.values():
            yield from (at for at in (group.quiet.since, group.quiet.until) if at is not None)
        for tree in self.snapshot.surroundings.worktrees:
            end = cold_from(tree, self.snapshot.policy.affinity.max_age_seconds)
            if end is not None:
                yield end

    def holds(self, graph_id: str) -> Holds:
        """Return the Group's nodes that wait, for a person or for something else; kept until the Group changes."""
        if graph_id not in self._holds:
            rules = self.groups[graph_id].rules
            self._holds[graph_id] = _holds(rules) if rules.active else Holds()
        return self._holds[graph_id]

    def moment(self, asker: Asker) -> Moment:
        """Return what this asker sees, kept until something changes."""
        agent_id = "" if self.snapshot.policy.affinity.scope == "pool" else asker.agent_id
        found = self._moments.get((agent_id, asker.capabilities))
        if found is None:
            if len(self._moments) >= _MOMENTS_KEPT:
                del self._moments[next(iter(self._moments))]
            seen_as = Asker(agent_id=agent_id, capabilities=asker.capabilities)
            found = self._moments[agent_id, asker.capabilities] = Moment(seen_as, self.snapshot, self.groups)
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
    return Plan(picks=picks, skipped=_held_back(moment, limit, graph_id))


class _Draft:
    """A plan in the making: the heads that remain, and the slots that its picks have taken so far."""

    def __init__(self, moment: Moment, graph_id: str | None) -> None:
        self._moment = moment
        self._tops = Remains(moment.tops() if graph_id is None else moment.tops_of(graph_id))
        self._heads: dict[str, Remains[Head]] = {}
        self._depths: dict[tuple[str, int], int] = {}
        self._taken: dict[str, int] = {}
        self._taken_by_all = 0

    def picks(self, limit: int) -> list[Pick]:
        """Return up to `limit` picks; nothing is drawn for the one after the last."""
        found: list[Pick] = []
        while self._tops and len(found) < limit:
            graph_id = self._tops.least()[3]
            group = self._moment.standing(graph_id).group
            heads = self._heads_of(graph_id)
            negative, _, node_id, place = heads.least()
            demand = group.lanes[place].demand
            fits = self._fits(group, demand)
            if fits:
                found.append(Pick(graph_id=graph_id, node=group.rules.shape.by_id[node_id], score=-negative))
                if len(found) == limit:
                    break
            # A lane that does not fit is out for this plan: picks only take slots.
            heads.take()
            if fits:
                self._take_slots(graph_id, demand.slots)
                self._advance(group, heads, place)
            self._tops.take()
            if heads:
                self._tops.put((*heads.least()[:3], graph_id))
        return found

    def _heads_of(self, graph_id: str) -> Remains[Head]:
        if graph_id not in self._heads:
            self._heads[graph_id] = Remains(self._moment.standing(graph_id).heads)
        return self._heads[graph_id]

    def _take_slots(self, graph_id: str, slots: int) -> None:
        self._taken[graph_id] = self._taken.get(graph_id, 0) + slots
        self._taken_by_all += slots

    def _advance(self, group: GroupQueue, heads: Remains[Head], place: int) -> None:
        depth = self._depths[group.graph_id, place] = self._depths.get((group.graph_id, place), 0) + 1
        following = self._moment.head(group, place, depth)
        if following is not None:
            heads.put(following)

    def _fits(self, group: GroupQueue, demand: Demand) -> bool:
        situation = self._moment.situation
        if situation.slots is not None and situation.running + self._taken_by_all + demand.slots > situation.slots:
            return False
        if group.quota is None:
            return True
        return group.running_slots + self._taken.get(group.graph_id, 0) + demand.slots <= group.quota


def _held_back(moment: Moment, limit: int, graph_id: str | None) -> tuple[Pick, ...]:
    """Return the best `limit` nodes that `skip_on_merge_pressure` removed."""
    skipped = moment.skipped(graph_id)
    if not skipped:
        return ()
    # A lane can give one of the best only if its head is among the best heads.
    lanes = nsmallest(limit, skipped)
    best = nsmallest(
        limit, (entry for *_, name, place in lanes for entry in _skipped_entries(moment, name, place, limit))
    )
    return tuple(
        Pick(graph_id=name, node=moment.standing(name).group.rules.shape.by_id[node_id], score=-negative)
        for negative, _, node_id, name in best
    )


def _skipped_entries(moment: Moment, graph_id: str, place: int, limit: int) -> Iterator[Top]:
    for depth in range(limit):
        head = moment.head(moment.standing(graph_id).group, place, depth)
        if head is None:
            return
        yield (*head[:3], graph_id)


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
    return own + tuple(queue.moment(asker).against(demand_of(node), group))
