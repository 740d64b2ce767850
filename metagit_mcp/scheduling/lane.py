"""Ready nodes that need the same, best first. Knows neither rules nor other lanes."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import chain

from metagit_mcp.scheduling.demand import Demand

# (-micros of the node's own terms, effective tokens, node_id): ascending is best first.
Entry = tuple[int, int, str]


class Lane:
    """Ready nodes of one Group with one demand; `entry(i)` draws them best first, each at most once from the heap.

    What is taken out while it still lies in the heap is only noted, and passed over when it is drawn.
    """

    __slots__ = ("_drawn", "_gone", "_heap", "demand")

    def __init__(self, demand: Demand, entries: list[Entry]) -> None:
        """Take over `entries` in any order."""
        heapify(entries)
        self.demand = demand
        self._heap = entries
        self._drawn: list[Entry] = []
        self._gone: set[Entry] = set()

    def __len__(self) -> int:
        """Return how many nodes the lane holds, drawn or not."""
        return len(self._heap) + len(self._drawn) - len(self._gone)

    def entries(self) -> Iterator[Entry]:
        """Yield all entries, in any order."""
        gone = self._gone
        return chain(self._drawn, (entry for entry in self._heap if entry not in gone) if gone else self._heap)

    def entry(self, place: int) -> Entry | None:
        """Return the entry at `place` (0 is the best), or None past the end."""
        while len(self._drawn) <= place and self._heap:
            drawn = heappop(self._heap)
            if drawn in self._gone:
                self._gone.remove(drawn)
            else:
                self._drawn.append(drawn)
        return self._drawn[place] if place < len(self._drawn) else None

    def put(self, entry: Entry) -> None:
        """Put one more entry in."""
        if entry in self._gone:
            self._gone.remove(entry)
        elif self._drawn and entry < self._drawn[-1]:
            insort(self._drawn, entry)
        else:
            heappush(self._heap, entry)

    def remove(self, entry: Entry) -> None:
        """Take out an entry that is in."""
        place = bisect_left(self._drawn, entry)
        if place < len(self._drawn):
            del self._drawn[place]
        else:
            self._gone.add(entry)
