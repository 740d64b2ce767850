"""Who is below whom among the nodes of one graph, told at once however deep they lie. Knows no status."""

from collections.abc import Mapping, Sequence
from typing import Final


class Descent:
    """The hierarchy, walked through once: below a node are those whose number the walk gave between two of its own.

    Parents may form a ring; everything at or below it is below each of its members, but none is below itself.
    """

    __slots__ = ("_children", "_first", "_last", "_on_ring", "_ring")

    def __init__(self, parents: Mapping[str, str | None], children: Mapping[str, Sequence[str]]) -> None:
        """Walk from each node without a parent down, then from each ring of parents."""
        self._children: Final = children
        self._first: Final[dict[str, int]] = {}
        self._last: Final[dict[str, int]] = {}
        # The ring above each node that has one, named by one of its members.
        self._ring: Final[dict[str, str | None]] = {}
        self._on_ring: Final[set[str]] = set()
        for name, parent in parents.items():
            if parent not in parents:
                self._walk(name, None)
        for name in parents:
            if name not in self._first:
                self._walk_from_ring(name, parents)

    def is_below(self, name: str, ancestor: str) -> bool:
        """Say whether `name` is a child of `ancestor`, or a child's child and so on."""
        if name == ancestor or name not in self._first or ancestor not in self._first:
            return False
        if ancestor in self._on_ring:
            return self._ring[name] == self._ring[ancestor]
        return self._first[ancestor] < self._first[name] <= self._last[ancestor]

    def _walk_from_ring(self, start: str, parents: Mapping[str, str | None]) -> None:
        passed: dict[str, None] = {}
        at: str | None = start
        while at is not None and at not in passed:
            passed[at] = None
            at = parents[at]
        names = list(passed)
        ring = names[names.index(at) :] if at is not None else []
        self._on_ring.update(ring)
        for member in ring:
            self._walk(member, ring[0])

    def _walk(self, top: str, ring: str | None) -> None:
        self._enter(top, ring)
        path = [(top, iter(self._children.get(top, ())))]
        while path:
            name, below = path[-1]
            child = next(below, None)
            if child is None:
                path.pop()
                self._last[name] = len(self._first) - 1
            elif child not in self._on_ring:
                self._enter(child, ring)
                path.append((child, iter(self._children.get(child, ()))))

    def _enter(self, name: str, ring: str | None) -> None:
        self._first[name] = len(self._first)
        self._ring[name] = ring
