"""The eligible flows of one level, and the windowed pick among them (scheduling.md §3 rule 4). Knows no Group.

A flow is picked by the smallest key among those whose tag lies within the window above the smallest tag.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, Final

# Whatever orders flows within the window; all keys of a level compare with each other.
Key = Any
_TAG: Final = itemgetter(0)


class Flows:
    """Flows by name, each with its tag and its key: those within the window by key, all of them by tag."""

    __slots__ = ("_known", "_tags", "_window", "_within")

    def __init__(self, window: int) -> None:
        """Know no flow yet. `window` is B, in units times LCM."""
        self._window = window
        self._known: dict[str, tuple[int, Key]] = {}
        self._tags: list[tuple[int, str]] = []
        self._within: list[tuple[Key, int, str]] = []

    def __contains__(self, name: str) -> bool:
        """Say whether the flow is there."""
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        """Yield the flows by tag, then by name."""
        return (name for _, name in self._tags)

    @property
    def least(self) -> int:
        """The smallest tag."""
        return self._tags[0][0]

    def tag(self, name: str) -> int:
        """Return the tag of a flow that is there."""
        return self._known[name][0]

    def copy(self) -> "Flows":
        """Return a copy that may go its own way."""
        other = Flows(self._window)
        other._known, other._tags, other._within = dict(self._known), list(self._tags), list(self._within)
        return other

    def put(self, name: str, tag: int, key: Key) -> None:
        """Put a flow in, or move it."""
        before = self._known.get(name)
        if before == (tag, key):
            return
        if before is not None:
            self.remove(name)
        bound = self._bound()
        self._known[name] = (tag, key)
        insort(self._tags, (tag, name))
        if bound is None or tag <= bound:
            insort(self._within, (key, tag, name))
        self._shift(bound)

    def remove(self, name: str) -> None:
        """Take a flow out, if it is there."""
        known = self._known.get(name)
        if known is None:
            return
        tag, key = known
        bound = self._bound()
        del self._known[name]
        del self._tags[bisect_left(self._tags, (tag, name))]
        if bound is not None and tag <= bound:
            del self._within[bisect_left(self._within, (key, tag, name))]
        self._shift(bound)

    def _bound(self) -> int | None:
        return self._tags[0][0] + self._window if self._tags else None

    def _shift(self, before: int | None) -> None:
        """Let flows into the window, or out of it, after its bound moved."""
        after = self._bound()
        if before is None or after is None or before == after:
            return
        low, high = min(before, after), max(before, after)
        start, end = bisect_right(self._tags, low, key=_TAG), bisect_right(self._tags, high, key=_TAG)
        for tag, name in self._tags[start:end]:
            each = (self._known[name][1], tag, name)
            if after > before:
                insort(self._within, each)
            else:
                del self._within[bisect_left(self._within, each)]

    def first(self) -> str | None:
        """Return the pick among all flows."""
        return self._within[0][2] if self._within else None

    def first_of(self, some: Iterable[tuple[str, int, Key]]) -> str | None:
        """Return the pick among some flows only, each given with its tag and key, whether it is here or not."""
        offers = list(some)
        bound = min((tag for _, tag, _ in offers), default=0) + self._window
        return min(((key, tag, name) for name, tag, key in offers if tag <= bound), default=(None, 0, None))[2]
