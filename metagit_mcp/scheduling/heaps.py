"""A heap that is taken apart without being changed, since a plan is only advice. Knows neither nodes nor scores."""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any, Final, Generic, Protocol, TypeVar


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...  # noqa: ANN401 - whatever it is compared with


T = TypeVar("T", bound=_Ordered)
_PUT: Final = -1


class Remains(Generic[T]):
    """What remains of a heap after items were taken from it and put on it; the heap itself stays as it is.

    k items cost k log k, however large the heap is. No two items may be equal.
    """

    __slots__ = ("_edge", "_heap")

    def __init__(self, heap: Sequence[T]) -> None:
        """Take nothing yet."""
        self._heap = heap
        # The items put on it, and those of the heap that have no untaken one above them, with their place in it.
        self._edge: list[tuple[T, int]] = [(heap[0], 0)] if heap else []

    def __bool__(self) -> bool:
        """Say whether anything remains."""
        return bool(self._edge)

    def least(self) -> T:
        """Return the least item of those that remain."""
        return self._edge[0][0]

    def take(self) -> None:
        """Take the least item."""
        place = heappop(self._edge)[1]
        if place == _PUT:
            return
        for below in (2 * place + 1, 2 * place + 2):
            if below < len(self._heap):
                heappush(self._edge, (self._heap[below], below))

    def put(self, item: T) -> None:
        """Put an item on it."""
        heappush(self._edge, (item, _PUT))
