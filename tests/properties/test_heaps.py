"""What remains of a heap is what a sorted list of the same items says, and the heap itself never changes."""

from __future__ import annotations

from bisect import insort
from heapq import heapify

from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.scheduling.heaps import Remains


@given(st.sets(st.integers(0, 99)), st.lists(st.one_of(st.none(), st.integers(100, 199)), unique_by=id))
def test_items_come_in_their_order_whatever_is_put_on(items: set[int], moves: list[int | None]) -> None:
    heap = list(items)
    heapify(heap)
    before = heap.copy()
    remains, expected = Remains(heap), sorted(items)
    for move in moves:
        if move is not None and move not in expected:
            remains.put(-move)
            insort(expected, -move)
        elif expected:
            assert remains.least() == expected.pop(0)
            remains.take()
        assert bool(remains) is bool(expected)
    while remains:
        assert remains.least() == expected.pop(0)
        remains.take()
    assert (expected, heap) == ([], before)


def test_nothing_remains_of_nothing() -> None:
    assert not Remains([])
