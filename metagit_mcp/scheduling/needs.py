"""Which lanes of a Group feel it when leases hold something else than before. Knows no lane's content and no rule."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from typing import Final

from metagit_mcp.scheduling.demand import Demand, Units
from metagit_mcp.scheduling.holdings import Changed, Holdings

# A resource with the units that are needed of it, an exclusive key, or a repository in which something is written.
Name = tuple[str, int]
_KEY: Final = -1
_SCOPE: Final = -2


class Needs:
    """The places of lanes by what they need: units of a resource, an exclusive key, a write scope.

    `names` are what any of them ever needed, for `Needing`.
    """

    __slots__ = ("_keys", "_places", "_scopes", "_units", "names")

    def __init__(self) -> None:
        """Know no lane yet."""
        self.names: set[Name] = set()
        self._units: dict[str, dict[int, list[int]]] = {}
        self._keys: dict[str, list[int]] = {}
        # By repository: the places by scope, and the scopes in order.
        self._places: dict[str, dict[str, list[int]]] = {}
        self._scopes: dict[str, list[str]] = {}

    def put(self, demand: Demand, place: int) -> None:
        """Note a lane that is new."""
        self.names.update((name, units) for name, units in demand.uses)
        self.names.update((key, _KEY) for key in demand.exclusive)
        if demand.touches:
            self.names.add((demand.repository, _SCOPE))
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
        for name, before, room in _rooms(changed, holdings, capacities, own):
            for units, places in self._units.get(name, {}).items():
                if _is_tipped(units, before, room):
                    yield from places
        for key in changed.keys:
            yield from self._keys.get(key, ())
        for repository, scope in changed.scopes:
            yield from self._near(repository, scope)

    def _near(self, repository: str, scope: str) -> Iterator[int]:
        """Yield the lanes with a scope that begins with this one, or that this one begins with."""
        places, scopes = self._places.get(repository, {}), self._scopes.get(repository, [])
        at = bisect_left(scopes, scope)
        while at < len(scopes) and scopes[at].startswith(scope):
            yield from places[scopes[at]]
            at += 1
        for end in range(len(scope)):
            yield from places.get(scope[:end], ())


class Needing:
    """The Groups by what any of their lanes ever needed, so that only those are asked which may feel a change."""

    __slots__ = ("_groups", "_units")

    def __init__(self) -> None:
        """Know no Group yet."""
        self._groups: dict[Name, set[str]] = {}
        # The units in which any of them needs a resource.
        self._units: dict[str, set[int]] = {}

    def put(self, graph_id: str, needs: Needs) -> None:
        """Note what the lanes of a Group need; what it no longer needs may stay."""
        for name, units in needs.names:
            self._groups.setdefault((name, units), set()).add(graph_id)
            if units >= 0:
                self._units.setdefault(name, set()).add(units)

    def that_feel(
        self, changed: Changed, holdings: Holdings, capacities: Mapping[str, int], own: Units
    ) -> Iterator[str]:
        """Yield the Groups of which a lane may be among those of `Needs.that_feel`; one may come several times."""
        for name, before, room in _rooms(changed, holdings, capacities, own):
            for units in self._units.get(name, ()):
                if _is_tipped(units, before, room):
                    yield from self._groups[name, units]
        for key in changed.keys:
            yield from self._groups.get((key, _KEY), ())
        for repository, _ in changed.scopes:
            yield from self._groups.get((repository, _SCOPE), ())


def _rooms(
    changed: Changed, holdings: Holdings, capacities: Mapping[str, int], own: Units
) -> Iterator[tuple[str, int, int]]:
    """Yield each limited resource of which more or less is held, with the units that there was room for, and are now.

    `own` are the units that a start takes besides what its node uses.
    """
    for name, before in changed.units.items():
        limit = capacities.get(name)
        if limit is not None:
            room = limit - dict(own).get(name, 0)
            yield name, room - before, room - holdings.units[name]


def _is_tipped(units: int, before: int, room: int) -> bool:
    """Say whether so many units fitted in and no longer do, or the other way round."""
    return (units > before) != (units > room)
