"""Which lanes of a Group feel it when leases hold something else than before. Knows no lane's content and no rule."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping

from metagit_mcp.scheduling.demand import Demand, Units
from metagit_mcp.scheduling.holdings import Changed, Holdings


class Needs:
    """The places of lanes by what they need: units of a resource, an exclusive key, a write scope."""

    __slots__ = ("_keys", "_places", "_scopes", "_units")

    def __init__(self) -> None:
        """Know no lane yet."""
        self._units: dict[str, dict[int, list[int]]] = {}
        self._keys: dict[str, list[int]] = {}
        # By repository: the places by scope, and the scopes in order.
        self._places: dict[str, dict[str, list[int]]] = {}
        self._scopes: dict[str, list[str]] = {}

    def put(self, demand: Demand, place: int) -> None:
        """Note a lane that is new."""
        for name, units in demand.uses:
            self._units.setdefault(name, {}).setdefault(units, []).append(place)
        for key in demand.exclusive:
            self._keys.setdefault(key, []).append(place)
        for scope in demand.touches:
            places = self._places.setdefault(demand.repository, {})
            if scope not in places:
                insort(self._scopes.setdefault(demand.repository, []), scope)
            places.setdefault(scope, []).append(place)

    def that_feel(
        self, changed: Changed, holdings: Holdings, capacities: Mapping[str, int], own: Units
    ) -> Iterator[int]:
        """Yield the places of the lanes for which something may be in the way now that was not, or no longer.

        `own` are the units that a start takes besides what its node uses.
        """
        for name, before in changed.units.items():
            limit = capacities.get(name)
            if limit is not None:
                room = limit - dict(own).get(name, 0)
                yield from self._tipped(name, room - before, room - holdings.units[name])
        for key in changed.keys:
            yield from self._keys.get(key, ())
        for repository, scope in changed.scopes:
            yield from self._near(repository, scope)

    def _tipped(self, name: str, room_before: int, room: int) -> Iterator[int]:
        """Yield the lanes whose units fitted in and no longer do, or the other way round."""
        for units, places in self._units.get(name, {}).items():
            if (units > room_before) != (units > room):
                yield from places

    def _near(self, repository: str, scope: str) -> Iterator[int]:
        """Yield the lanes with a scope that begins with this one, or that this one begins with."""
        places, scopes = self._places.get(repository, {}), self._scopes.get(repository, [])
        at = bisect_left(scopes, scope)
        while at < len(scopes) and scopes[at].startswith(scope):
            yield from places[scopes[at]]
            at += 1
        for end in range(len(scope)):
            yield from places.get(scope[:end], ())
