"""All lanes of one Group, and where each ready node lies. Knows neither rules nor who asks."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from operator import itemgetter
from typing import Final

from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.scheduling.demand import Demand
from metagit_mcp.scheduling.lane import Entry, Lane
from metagit_mcp.scheduling.needs import Needs


class Lanes:
    """The lanes by their place; one that is empty stays.

    `needs` leads from what leases may hold to the lanes that feel it, `named` counts the nodes for which an agent is
    named, as owner or as one who gave them back, and `repositories` the nodes by repository.
    """

    __slots__ = ("_by_demand", "_lanes", "named", "needs", "place_of", "repositories")

    def __init__(self) -> None:
        """Hold no node yet."""
        self._lanes: list[Lane] = []
        self._by_demand: dict[Demand, int] = {}
        self.place_of: dict[str, int] = {}
        self.needs = Needs()
        self.named: Counter[str] = Counter()
        self.repositories: Counter[str] = Counter()

    def __len__(self) -> int:
        """Return how many lanes there are, empty ones too."""
        return len(self._lanes)

    def __getitem__(self, place: int) -> Lane:
        """Return the lane at a place."""
        return self._lanes[place]

    def __iter__(self) -> Iterator[Lane]:
        """Yield the lanes by their place."""
        return iter(self._lanes)

    def fill(self, by_demand: Mapping[Demand, list[Entry]]) -> None:
        """Put many nodes in at once, into lanes that are not there yet."""
        for demand, entries in by_demand.items():
            self._name(demand, len(entries))
            self.place_of.update(zip(map(_NODE_ID, entries), repeat(self._add(Lane(demand, entries)))))

    def put(self, demand: Demand, entry: Entry) -> int:
        """Put a node into the lane of its demand; return the place of the lane."""
        place = self.place_of[entry[2]] = self._place(demand)
        self._lanes[place].put(entry)
        self._name(demand, 1)
        return place

    def take_out(self, demand: Demand, entry: Entry) -> int:
        """Take a node out of the lane of its demand; return the place of the lane."""
        place = self.place_of.pop(entry[2])
        self._lanes[place].remove(entry)
        self._name(demand, -1)
        return place

    def entries(self) -> Iterator[Entry]:
        """Yield all nodes, in any order."""
        for lane in self._lanes:
            yield from lane.entries()

    def order_anew(self, by_id: Mapping[str, TaskNode], entry: Callable[[TaskNode], Entry]) -> None:
        """Put each lane in order again, where nodes are scored in another way."""
        for place, lane in enumerate(self._lanes):
            self._lanes[place] = Lane(lane.demand, [entry(by_id[node_id]) for _, _, node_id in lane.entries()])

    def _place(self, demand: Demand) -> int:
        """Return the place of the demand's lane; a new lane is empty."""
        place = self._by_demand.get(demand)
        return self._add(Lane(demand, [])) if place is None else place

    def _add(self, lane: Lane) -> int:
        """Add a lane, the first of its demand; return its place."""
        place = self._by_demand[lane.demand] = len(self._lanes)
        self._lanes.append(lane)
        if lane.demand.is_contended:
            self.needs.put(lane.demand, place)
        return place

    def _name(self, demand: Demand, nodes: int) -> None:
        """Count nodes that were put into the demand's lane, or taken out of it."""
        _add(self.repositories, demand.repository, nodes)
        if demand.owner is not None:
            _add(self.named, demand.owner, nodes)
        for agent_id in demand.shunned_by:
            _add(self.named, agent_id, nodes)


_NODE_ID: Final = itemgetter(2)


def _add(counter: Counter[str], name: str, number: int) -> None:
    counter[name] += number
    if not counter[name]:
        del counter[name]
