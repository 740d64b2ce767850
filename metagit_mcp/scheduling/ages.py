"""Who of one Group waits the longest: the pass-over guard of scheduling.md §2. Knows neither scores nor other Groups.

A node's age is kept in the ledger from the first start of its Group that passed it over. A start makes at most
`ADMITTED_AT_ONCE` nodes known to it, which keeps the bound: the guard takes the oldest first, and fewer.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import Final

from metagit_mcp.domain.shares import Age, Round
from metagit_mcp.scheduling.lane import Entry

ADMITTED_AT_ONCE: Final = 32
_New = tuple[str, Entry]
_ADMITTED_KEPT: Final = 10_000
_NO_ROUND: Final = Round()


class Ages:
    """The ready nodes of a Group by how long they wait, lane by lane, and those that no start made known yet."""

    __slots__ = (
        "_admitted",
        "_aged",
        "_back",
        "_left",
        "_new",
        "_numbered",
        "_places",
        "_shown",
        "_told",
        "_written_at",
        "round",
    )

    def __init__(self, places: dict[str, int], known: Round | None, written_at: Callable[[str], str]) -> None:
        """Take over in which lane each ready node lies, and what the ledger knows of their ages.

        `written_at` tells when a node's row was written, in any form that can be put in order.
        """
        self.round = known or _NO_ROUND
        self._places = places
        self._written_at = written_at
        # Of each lane the numbers and ids of its nodes with an age; what is no longer true is dropped when met.
        self._aged: dict[int, list[tuple[int, str]]] = {}
        self._numbered = 0
        # Ready nodes without an age, the oldest rows first: whatever arrives later, each gets its age in its turn.
        # Made at the first start.
        self._new: list[_New] | None = None
        # Those of them that the last start was to make known, which may yet not have come about.
        self._shown: list[_New] = []
        # The newest that were new until a start made them known.
        self._admitted: list[_New] = []
        self._left: set[str] = set()
        self._back: set[str] = set()
        # The newest that starts told to have left, or to be back.
        self._told: list[str] = []
        self._sort_out_all()
        self._learn()

    def follow(self, known: Round | None) -> None:
        """Take over what the ledger knows after more starts of the Group, or without some of them."""
        before, self.round = self.round, known or _NO_ROUND
        if before is self.round:
            return
        ages = self.round.ages
        for name in [*self._left, *self._back]:
            self._sort_out(name, ages.get(name))
            if name not in self._left and name not in self._back:
                self._told.append(name)
        if self.round.dispatches < before.dispatches:
            self._untell()
        del self._told[: -_ADMITTED_KEPT - 1]
        if self.round.numbered < self._numbered:
            # Starts that were only tried out are gone, and with them the ages that they gave.
            self._numbered = self.round.numbered
            self._take_back()
        self._learn()

    def _untell(self) -> None:
        """Look again at what starts told that were only tried out."""
        if len(self._told) > _ADMITTED_KEPT:
            self._sort_out_all()
        for name in self._told:
            self._sort_out(name, self.round.ages.get(name))
        self._told.clear()

    def _sort_out_all(self) -> None:
        for name, age in self.round.ages.items():
            self._sort_out(name, age)

    def _take_back(self) -> None:
        """Let the nodes be new again whose ages are gone."""
        if self._new is None or len(self._admitted) > _ADMITTED_KEPT:
            self._new = None
        else:
            for each in self._admitted:
                if each[1][2] not in self.round.ages:
                    heappush(self._new, each)
        self._admitted.clear()

    def _learn(self) -> None:
        """Sort in the nodes that got an age since: they are the last ones."""
        for name, age in reversed(self.round.ages.items()):
            if age.number < self._numbered:
                break
            place = self._places.get(name)
            if place is not None:
                insort(self._aged.setdefault(place, []), (age.number, name))
            elif age.since is not None:
                self._left.add(name)
        self._numbered = self.round.numbered

    def _sort_out(self, name: str, age: Age | None) -> None:
        self._left.discard(name)
        self._back.discard(name)
        if age is not None and (age.since is not None) != (name in self._places):
            (self._left if age.since is not None else self._back).add(name)

    def came(self, entry: Entry, place: int) -> None:
        """Note a node that lies in a lane now."""
        name = entry[2]
        age = self.round.ages.get(name)
        self._sort_out(name, age)
        if age is None:
            if self._new is not None:
                heappush(self._new, (self._written_at(name), entry))
            return
        aged = self._aged.setdefault(place, [])
        at = bisect_left(aged, (age.number, name))
        if aged[at : at + 1] != [(age.number, name)]:
            aged.insert(at, (age.number, name))

    def went(self, node_id: str) -> None:
        """Note a node that lies in no lane any more."""
        self._sort_out(node_id, self.round.ages.get(node_id))

    def oldest(self, place: int, limit: int) -> tuple[int, str] | None:
        """Return number and id of the lane's oldest node that was passed over `limit` times, or None."""
        aged, ages, latest = self._aged.get(place, []), self.round.ages, self.round.dispatches - limit
        at = 0
        while at < len(aged):
            number, name = aged[at]
            age = ages.get(name)
            if age is None or age.number != number or self._places.get(name) != place:
                del aged[at]
                continue
            if age.since is not None and age.since <= latest:
                return number, name
            if age.first > latest:
                return None
            at += 1
        return None

    def passed_over(self, node_id: str) -> int:
        """Return in how many dispatches of the Group the node was passed over so far."""
        age = self.round.ages.get(node_id)
        if age is None:
            return 0
        return age.passed if age.since is None else self.round.dispatches - age.since

    def arrived(self, entries: Callable[[], Iterable[Entry]], most: int = ADMITTED_AT_ONCE) -> tuple[str, ...]:
        """Return the nodes to be made known at the next start, in their order: those that came back, and `most` others.

        `entries` gives all that are ready.
        """
        if not most:
            return tuple(sorted(self._back))
        ages, found = self.round.ages, dict[str, _New]()
        if self._new is None:
            self._new = [(self._written_at(entry[2]), entry) for entry in entries() if entry[2] not in ages]
            heapify(self._new)
            self._shown.clear()
        for each in self._shown:
            if each[1][2] in ages:
                self._admitted.append(each)
            else:
                heappush(self._new, each)
        while self._new and len(found) < most:
            each = heappop(self._new)
            name = each[1][2]
            if name in self._places and name not in ages:
                # It may have come twice.
                found.setdefault(name, each)
        del self._admitted[: -_ADMITTED_KEPT - 1]
        self._shown = list(found.values())
        return (*sorted(self._back), *(entry[2] for entry in sorted(entry for _, entry in found.values())))

    def left(self) -> tuple[str, ...]:
        """Return the nodes with an age that count no longer, until they come back."""
        return tuple(sorted(self._left))


def is_guard_due(known: Round, limit: int) -> bool:
    """Say whether the guard may pick: none of the Group's last `limit` picks was its own; 0 turns it off."""
    before, count = known.guarded_at, known.dispatches
    return 0 < limit <= count and (before is None or count - before >= limit)
