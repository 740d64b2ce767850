"""What one asker sees of all Groups: terms per repository, limits, and who may be taken. Knows no plan.

Everything here follows from the asker and the Groups' queues. It follows their changes lane by lane when it is next
asked; what changes the view as a whole (policy, surroundings, pauses) makes a new one instead.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from metagit_mcp.domain.policy import SchedulePolicy, micros
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.shares import Hold
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import changed
from metagit_mcp.domain.work import NodeKey
from metagit_mcp.scheduling.ages import is_guard_due
from metagit_mcp.scheduling.demand import Demand
from metagit_mcp.scheduling.eligibility import Reason, ReasonKind
from metagit_mcp.scheduling.lane import Entry
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.scoring import RepositoryTerms, Scored, is_due_soon, repository_micros
from metagit_mcp.scheduling.situation import AgentSlots, Situation, first_against, lasting, passing
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.standing import Head, Offer, SkippedHead, Standing, Top
from metagit_mcp.scheduling.tally import Census, Tally

if TYPE_CHECKING:
    from metagit_mcp.domain.decision import ScheduleDecision

# Makes a decision of its id and its time.
Told = Callable[..., "ScheduleDecision"]
_NO_TERMS = RepositoryTerms()


class Moment:
    """What one asker sees: repository terms, limits, and each Group's standing.

    Sums and orders over all Groups follow a change of a few lanes at the cost of those few.
    """

    def __init__(
        self,
        asker: Asker,
        situation: Situation,
        terms: Mapping[str, RepositoryTerms],
        policy: SchedulePolicy,
        groups: Mapping[str, GroupQueue],
    ) -> None:
        """Look at nothing yet; Groups are looked at when they are asked for."""
        self._policy = policy
        self.asker = asker
        self.situation = situation
        self.groups = groups
        self._terms = terms
        self._penalty = micros(policy.merge_pressure_penalty)
        # What was said of picks, by all that tells one from another: the same until something changes.
        self.told: dict[tuple[object, ...], Told] = {}
        self._standings: dict[str, Standing] = {}
        # By Group the lanes to be looked at again, and whether what keeps the asker from them is the same.
        self._stale: dict[str, dict[int, bool]] = {}
        self._total = Tally()
        self._tops: list[Top] = []
        # Groups that would give something wide, and Groups that may give another thing than when somebody took note.
        self._wide: dict[str, int] = {}
        self._uncounted: set[str] = set()
        self._changed: set[str] = set()
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
            self._wide.pop(graph_id, None)
            self._uncounted.discard(graph_id)
            self._changed.add(graph_id)
        self._has_changed()

    def mark(self, graph_id: str, places: Iterable[int] = (), *, is_judged: bool) -> None:
        """Note that something about a Group changed: what is in these lanes, or (not `is_judged`) who may have it."""
        stale = self._stale.setdefault(graph_id, {})
        for place in places:
            stale[place] = is_judged and stale.get(place, True)
        self._changed.add(graph_id)
        self._has_changed()

    def adopt(self, policy: SchedulePolicy) -> None:
        """Go on under a policy that changed only what single Groups feel; those were marked."""
        if policy is self._policy:
            return
        self._policy = policy
        self._has_changed()

    def learn(self, terms: Mapping[str, RepositoryTerms]) -> None:
        """Take over other terms of repositories; only what lies in one that changed is looked at again."""
        before, self._terms = self._terms, terms
        others = {name for name in before.keys() | terms.keys() if before.get(name) != terms.get(name)}
        self._has_changed()
        if self._policy.skip_on_merge_pressure:
            skipped = frozenset(name for name, each in terms.items() if each.pressured)
            self.situation = replace(self.situation, skipped_repositories=skipped)
        for graph_id, group in self.groups.items():
            if not others.isdisjoint(group.repositories):
                lanes = enumerate(group.lanes)
                places = [place for place, lane in lanes if lane.demand.repository in others]
                self.mark(graph_id, places, is_judged=False)

    def meet(self, running: int, hold: Hold | None) -> None:
        """Take over how many slots are in use, or kept; what waits for one is not looked at for that."""
        if running != self.situation.running or hold != self.situation.hold:
            self.situation = changed(self.situation, running=running, hold=hold)
            self._has_changed()

    def take_changed(self) -> set[str]:
        """Return the Groups that may give another thing than when this was asked last."""
        taken, self._changed = self._changed, set()
        return taken

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
                known = len(standing.kinds)
                for place, is_judged in sorted(places.items()):
                    self._look_at(standing, place, is_judged=is_judged and place < known)
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
            found = self._standings[graph_id] = self._stand(self.groups[graph_id])
            self._recount(found)
        return found

    def _all_standings(self) -> Mapping[str, Standing]:
        if self._stale:
            self._catch_up()
        if len(self._standings) < len(self.groups):
            for graph_id in self.groups:
                self.standing(graph_id)
        self._count_up()
        return self._standings

    def _stand(self, group: GroupQueue) -> Standing:
        standing = Standing(group)
        for place in range(len(group.lanes)):
            self._look_at(standing, place, is_judged=False, in_order=False)
        standing.heads.sort()
        return standing

    def _look_at(self, standing: Standing, place: int, *, is_judged: bool, in_order: bool = True) -> None:
        """Bring one lane up to date: its size, its head, and (not `is_judged`) what keeps the asker from it."""
        lane = standing.group.lanes[place]
        kind = standing.kinds[place] if is_judged else self._first_against(lane.demand, standing.group)
        entry = lane.entry(0) if kind is None or kind == "merge_pressure" else None
        head = None if entry is None else self._scored(standing.group, place, lane.demand, entry)
        standing.put_lane(place, kind, head, in_order=in_order)

    def _recount(self, standing: Standing) -> None:
        """Work out anew what the Group would give; its numbers can wait until somebody asks for them."""
        standing.make_offer(self._policy.drain_limit, *self._guarded(standing))
        self._uncounted.add(standing.group.graph_id)

    def _count_up(self) -> None:
        """Bring the sums and orders over all Groups up to date."""
        for graph_id in self._uncounted:
            standing = self._standings[graph_id]
            offer = standing.offer
            if offer is not None and offer.slots > 1:
                self._wide[graph_id] = offer.slots
            else:
                self._wide.pop(graph_id, None)
            self._total.add(standing.counted, -1)
            standing.counted = standing.tally()
            self._total.add(standing.counted, 1)
            top: Top | None = None
            if offer is not None and not offer.passed_over:
                top = (offer.is_shunned, -offer.micros, offer.tokens, offer.node_id, graph_id)
            elif standing.heads:
                # The guard decides inside its Group: that keeps the place of its best node.
                top = (*standing.heads[0][:4], graph_id)
            self._move_top(standing, top)
        self._uncounted.clear()

    def _guarded(self, standing: Standing) -> tuple[Head | None, int]:
        """Return what the pass-over guard picks of the Group, if it does, and how often that was passed over."""
        group, limit = standing.group, self._policy.pass_over_limit
        if group.round is None or not (standing.heads and is_guard_due(group.round, limit)):
            return None, 0
        ages = group.ages
        aged = (
            ages.oldest(place, limit)
            for _, _, _, _, place in standing.heads
            if self.asker.agent_id not in group.lanes[place].demand.shunned_by
        )
        oldest = min((each for each in aged if each is not None), default=None)
        if oldest is None or oldest[1] == standing.heads[0][3]:
            return None, 0
        return self.head_of(group, oldest[1]), ages.passed_over(oldest[1])

    def _move_top(self, standing: Standing, top: Top | None) -> None:
        if top == standing.top:
            return
        if standing.top is not None:
            del self._tops[bisect_left(self._tops, standing.top)]
        if top is not None:
            insort(self._tops, top)
        standing.top = top

    def _first_against(self, demand: Demand, group: GroupQueue) -> ReasonKind | None:
        return first_against(demand, self.situation, self.asker, group.quota, group.graph_id)

    def against(
        self, demand: Demand, group: GroupQueue, node_id: str, asker: Asker, agent_slots: AgentSlots
    ) -> Iterator[Reason]:
        """Yield the situational reasons against a node of the Group, for one of the askers that share the moment."""
        standing = self.standing(group.graph_id)
        kept_for, hold = self.kept_for(standing, node_id, demand.slots), self.situation.hold
        is_stopped = standing.is_stopped and (hold is None or hold.key != (group.graph_id, node_id))
        yield from lasting(demand, self.situation, asker, group.quota, group.graph_id)
        yield from passing(demand, self.situation, group, agent_slots, kept_for, is_stopped=is_stopped)

    def kept_for(self, standing: Standing, node_id: str, slots: int) -> NodeKey | None:
        """Return the node for which the free slots are kept that this one would take, if they are.

        What is too wide keeps its place: while a wide node is waited for, its Group gives nothing else.
        """
        situation, graph_id = self.situation, standing.group.graph_id
        if situation.slots is None or slots > (free := situation.slots - situation.running):
            return None
        hold, offer = situation.hold, standing.offer
        if hold is not None and hold.key == (graph_id, node_id):
            return None
        if hold is not None and (hold.graph_id == graph_id or self.takes_kept(hold, slots, free)):
            return hold.key
        if offer is not None and offer.slots > free:
            return graph_id, offer.node_id
        return None

    def takes_kept(self, hold: Hold, slots: int, free: int) -> bool:
        """Say whether a start would take slots that are kept: after enough other starts, the held node's own."""
        return (hold.preempts or hold.starts >= self._policy.drain_limit) and slots + hold.slots > free

    def head(self, group: GroupQueue, place: int, depth: int) -> Head | None:
        """Return entry `depth` of the Group's lane `place` with its full score, or None past the lane's end."""
        lane = group.lanes[place]
        entry = lane.entry(depth)
        return None if entry is None else self._scored(group, place, lane.demand, entry)

    def head_of(self, group: GroupQueue, node_id: str) -> Head:
        """Return one ready node of the Group as if it were the head of its lane."""
        place = group.lanes.place_of[node_id]
        return self._scored(group, place, group.lanes[place].demand, group.entry(group.by_id[node_id]))

    def _scored(self, group: GroupQueue, place: int, demand: Demand, entry: Entry) -> Head:
        terms = self._terms.get(demand.repository)
        offset = 0 if terms is None else repository_micros(group.weights, terms, self._penalty)
        is_shunned = bool(demand.shunned_by) and self.asker.agent_id in demand.shunned_by
        return (is_shunned, entry[0] - offset, entry[1], entry[2], place)

    # --- all Groups

    def offer(self, graph_id: str) -> Offer | None:
        """Return what a Group would give, if it would give anything."""
        is_there = graph_id in self._standings or graph_id in self.groups
        return self.standing(graph_id).offer if is_there else None

    def tops(self) -> Sequence[Top]:
        """Return the best head of each Group, in order."""
        self._all_standings()
        return self._tops

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
        every, situation = self._all_standings(), self.situation
        reserved = 0
        if situation.slots is not None:
            free = situation.slots - situation.running
            if situation.hold is not None:
                waiting: Iterable[str] = every
            else:
                waiting = [graph_id for graph_id, width in self._wide.items() if width > free]
            for graph_id in waiting:
                reserved += self._reserved(every[graph_id], free)
        return self._with_held(self._total).census(situation, agent_slots, reserved)

    def census_of(self, graph_id: str, agent_slots: AgentSlots | None = None) -> Census:
        """Count the nodes of one Group as this asker sees them."""
        standing, situation = self.standing(graph_id), self.situation
        self._count_up()
        reserved = 0
        if situation.slots is not None:
            reserved = self._reserved(standing, situation.slots - situation.running)
        return self._with_held(standing.counted, graph_id).census(situation, agent_slots, reserved)

    def _with_held(self, counted: Tally, graph_id: str | None = None) -> Tally:
        """Return the numbers after the held node: it starts though its Group's quota is kept for another one."""
        hold = self.situation.hold
        offer = None if hold is None or graph_id not in {None, hold.graph_id} else self.held_offer(hold)
        if offer is None or not self.standing(offer.graph_id).is_stopped:
            return counted
        found = Tally()
        found.add(counted, 1)
        found.not_eligible["group_quota"] -= 1
        found.fitting[offer.slots] += 1
        return found

    def _reserved(self, standing: Standing, free: int) -> int:
        """Count the nodes that would fit in if no slots were kept for another one."""
        found = {
            width: nodes
            for width, nodes in standing.counted.fitting.items()
            if width <= free and self.kept_for(standing, "", width) is not None
        }
        hold = self.situation.hold
        if hold is not None and hold.graph_id == standing.group.graph_id and found.get(hold.slots):
            # The node itself is not kept from anything.
            found[hold.slots] -= self._may_take(standing, hold.node_id)
        return sum(found.values())

    def _may_take(self, standing: Standing, node_id: str) -> bool:
        place = standing.group.lanes.place_of.get(node_id)
        return place is not None and standing.kinds[place] is None

    def held_offer(self, hold: Hold) -> Offer | None:
        """Return the node that is waited for, where this asker may take it and the Group's quota lets it."""
        if hold.graph_id not in self.groups:
            return None
        standing = self.standing(hold.graph_id)
        if not self._may_take(standing, hold.node_id):
            return None
        offer, free = standing.offered(self.head_of(standing.group, hold.node_id)), standing.quota_left
        return None if free is not None and offer.slots > free else offer

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
            every = self.groups.values()
            is_cold = any(not self.terms(name).warm for group in every for name in group.repositories)
            self._is_all_warm = not is_cold and len({name for group in every for name in group.repositories}) > 1
        return self._is_all_warm
