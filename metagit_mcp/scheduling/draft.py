"""A plan in the making: what its picks have taken so far, and what still fits beside them. Changes nothing."""

from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.demand import Demand, first_collision, with_own
from metagit_mcp.scheduling.heaps import Remains
from metagit_mcp.scheduling.moment import Head, Moment
from metagit_mcp.scheduling.queue import GroupQueue


@value
class Pick:
    """One node of a plan with its exact score in micros."""

    graph_id: str
    node: TaskNode
    score: int


class Draft:
    """The heads that remain, and the slots, units, keys and write scopes that the picks have taken so far."""

    def __init__(self, moment: Moment, graph_id: str | None) -> None:
        """Take nothing yet."""
        self._moment = moment
        self._tops = Remains(moment.tops() if graph_id is None else moment.tops_of(graph_id))
        self._heads: dict[str, Remains[Head]] = {}
        self._depths: dict[tuple[str, int], int] = {}
        self._slots: dict[str, int] = {}
        self._slots_of_all = 0
        self._units: dict[str, int] = {}
        self._keys: set[str] = set()
        self._scopes: dict[str, list[tuple[str, ...]]] = {}

    def picks(self, limit: int) -> list[Pick]:
        """Return up to `limit` picks; nothing is drawn for the one after the last."""
        found: list[Pick] = []
        while self._tops and len(found) < limit and self._has_room(1):
            graph_id = self._tops.least()[4]
            group = self._moment.standing(graph_id).group
            heads = self._heads_of(graph_id)
            _, negative, _, node_id, place = heads.least()
            demand = group.lanes[place].demand
            fits = self._fits(group, demand)
            if fits:
                found.append(Pick(graph_id=graph_id, node=group.rules.shape.by_id[node_id], score=-negative))
                if len(found) == limit:
                    break
            # A lane that does not fit is out for this plan: picks only take.
            heads.take()
            if fits:
                self._take(graph_id, demand)
                self._advance(group, heads, place)
            self._tops.take()
            if heads and self._has_quota(group, 1):
                self._tops.put((*heads.least()[:4], graph_id))
        return found

    def _heads_of(self, graph_id: str) -> Remains[Head]:
        if graph_id not in self._heads:
            self._heads[graph_id] = Remains(self._moment.standing(graph_id).heads)
        return self._heads[graph_id]

    def _advance(self, group: GroupQueue, heads: Remains[Head], place: int) -> None:
        depth = self._depths[group.graph_id, place] = self._depths.get((group.graph_id, place), 0) + 1
        following = self._moment.head(group, place, depth)
        if following is not None:
            heads.put(following)

    def _take(self, graph_id: str, demand: Demand) -> None:
        self._slots[graph_id] = self._slots.get(graph_id, 0) + demand.slots
        self._slots_of_all += demand.slots
        for name, units in with_own(demand.uses, self._moment.situation.units):
            self._units[name] = self._units.get(name, 0) + units
        self._keys.update(demand.exclusive)
        if demand.touches:
            self._scopes.setdefault(demand.repository, []).append(demand.touches)

    def _has_room(self, slots: int) -> bool:
        situation = self._moment.situation
        return situation.slots is None or situation.running + self._slots_of_all + slots <= situation.slots

    def _has_quota(self, group: GroupQueue, slots: int) -> bool:
        return group.quota is None or group.running_slots + self._slots.get(group.graph_id, 0) + slots <= group.quota

    def _fits(self, group: GroupQueue, demand: Demand) -> bool:
        """Say whether a demand fits beside the picks; that it fits beside the leases its lane says already."""
        if not (self._has_room(demand.slots) and self._has_quota(group, demand.slots)):
            return False
        if not self._slots_of_all or not (demand.is_contended or self._units):
            return True
        situation = self._moment.situation
        for name, units in with_own(demand.uses, situation.units):
            capacity = situation.capacities.get(name)
            if capacity is not None and situation.holdings.units[name] + self._units.get(name, 0) + units > capacity:
                return False
        if not self._keys.isdisjoint(demand.exclusive):
            return False
        taken = self._scopes.get(demand.repository, ()) if demand.touches else ()
        return not any(first_collision(demand.touches, scopes) is not None for scopes in taken)
