"""The eligible flows of one level, and the windowed pick among them (scheduling.md §3 rule 4). Knows no Group.

A flow is picked by the smallest key among those whose tag lies within the window above the smallest tag.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator
from typing import Any

# Whatever orders flows within the window; all keys of a level compare with each other.
Key = Any


class Flows:
    """Flows by name, each with its tag and its key: those within the window by key, all of them by tag.

    Charges are whole units, so a thousand flows have few tags: these are in order, and the flows of one are a set.
    """

    __slots__ = ("_at", "_bound", "_known", "_tags", "_window", "_within")

    def __init__(self, window: int) -> None:
        """Know no flow yet. `window` is B, in units times LCM."""
        self._window = window
        self._known: dict[str, tuple[int, Key]] = {}
        self._at: dict[int, set[str]] = {}
        self._tags: list[int] = []
        # The last tag within the window; without flows it may be any.
        self._bound = 0
        self._within: list[tuple[Key, int, str]] = []

    def __contains__(self, name: str) -> bool:
        """Say whether the flow is there."""
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        """Yield the flows by tag, then by name."""
        return (name for tag in self._tags for name in sorted(self._at[tag]))

    @property
    def least(self) -> int:
        """The smallest tag."""
        return self._tags[0]

    @property
    def at_least(self) -> Collection[str]:
        """The flows with the smallest tag, in any order."""
        return self._at[self._tags[0]]

    def tag(self, name: str) -> int:
        """Return the tag of a flow that is there."""
        return self._known[name][0]

    def copy(self) -> "Flows":
        """Return a copy that may go its own way."""
        other = Flows(self._window)
        other._known, other._tags, other._within = dict(self._known), list(self._tags), list(self._within)
        other._at, other._bound = {tag: set(names) for tag, names in self._at.items()}, self._bound
        return other

    def put(self, name: str, tag: int, key: Key) -> None:
        """Put a flow in, or move it."""
        before, others = self._known.get(name), len(self._known)
        if before is not None:
            if before == (tag, key):
                return
            others -= 1
        if not others:
            self._put_alone(name, tag, key)
            return
        if before is not None:
            self._take_out(name, *before)
        self._known[name] = (tag, key)
        names = self._at.get(tag)
        if names is None:
            names = self._at[tag] = set()
            insort(self._tags, tag)
        names.add(name)
        if tag <= self._bound:
            insort(self._within, (key, tag, name))
        self._move_window()

    def _put_alone(self, name: str, tag: int, key: Key) -> None:
        """Put in the only flow that there is, as the class is of which all Groups are."""
        self._known, self._at, self._tags = {name: (tag, key)}, {tag: {name}}, [tag]
        self._bound, self._within = tag + self._window, [(key, tag, name)]

    def remove(self, name: str) -> None:
        """Take a flow out, if it is there."""
        known = self._known.pop(name, None)
        if known is not None:
            self._take_out(name, *known)
            self._move_window()

    def _take_out(self, name: str, tag: int, key: Key) -> None:
        names = self._at[tag]
        names.remove(name)
        if not names:
            del self._at[tag]
            del self._tags[bisect_left(self._tags, tag)]
        if tag <= self._bound:
            self._leave((key, tag, name))

    def _move_window(self) -> None:
        """Let flows into the window, or out of it, after the smallest tag may have changed."""
        before, tags = self._bound, self._tags
        after = tags[0] + self._window if tags else before
        if before == after:
            return
        self._bound = after
        for tag in tags[bisect_right(tags, min(before, after)) : bisect_right(tags, max(before, after))]:
            for name in self._at[tag]:
                each = (self._known[name][1], tag, name)
                if after > before:
                    insort(self._within, each)
                else:
                    self._leave(each)

    def _leave(self, each: tuple[Key, int, str]) -> None:
        # Who was picked is the first.
        del self._within[0 if self._within[0][2] == each[2] else bisect_left(self._within, each)]

    def first(self) -> str | None:
        """Return the pick among all flows."""
        return self._within[0][2] if self._within else None

    def first_of(self, some: Iterable[tuple[str, int, Key]]) -> str | None:
        """Return the pick among some flows only, each given with its tag and key, whether it is here or not."""
        offers = list(some)
        bound = min((tag for _, tag, _ in offers), default=0) + self._window
        return min(((key, tag, name) for name, tag, key in offers if tag <= bound), default=(None, 0, None))[2]
