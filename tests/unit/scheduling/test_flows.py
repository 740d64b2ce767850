"""The windowed pick: the smallest key among the flows whose tag lies within the window above the smallest one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.scheduling.flows import Flows

NAMES = "abcdef"


def flows_of(window: int, *some: tuple[str, int, int]) -> Flows:
    flows = Flows(window)
    for name, tag, key in some:
        flows.put(name, tag, key)
    return flows


def test_without_flows_nothing_is_picked() -> None:
    flows = Flows(3)
    flows.remove("a")
    assert (list(flows), flows.first(), flows.first_of([]), "a" in flows) == ([], None, None, False)


@pytest.mark.parametrize(("window", "first"), [(0, "a"), (1, "b"), (2, "b"), (3, "c"), (99, "c")])
def test_the_smallest_key_within_the_window_is_picked(window: int, first: str) -> None:
    some = [("a", 10, 3), ("b", 11, 2), ("c", 13, 1)]
    flows = flows_of(window, *some)
    assert (flows.first(), flows.first_of(some), flows.least, list(flows)) == (first, first, 10, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("some", "first"),
    [
        ([("a", 1, 5), ("b", 0, 5)], "b"),
        ([("b", 0, 5), ("a", 0, 5)], "a"),
        ([("a", 0, 6), ("b", 1, 5)], "b"),
    ],
)
def test_key_then_tag_then_name_decide(some: list[tuple[str, int, int]], first: str) -> None:
    assert (flows_of(1, *some).first(), Flows(1).first_of(some)) == (first, first)


def test_the_window_moves_with_the_smallest_tag() -> None:
    flows = flows_of(2, ("a", 0, 9), ("b", 3, 1))
    assert flows.first() == "a"
    flows.put("a", 1, 9)
    assert (flows.first(), flows.tag("a")) == ("b", 1)
    flows.put("c", 0, 8)
    assert flows.first() == "c"
    flows.remove("c")
    assert flows.first() == "b"
    flows.remove("a")
    flows.remove("b")
    assert (flows.first(), list(flows)) == (None, [])


def test_flows_of_the_smallest_tag_are_known_together() -> None:
    flows = flows_of(0, ("a", 2, 1), ("b", 1, 1), ("c", 1, 2))
    assert (flows.least, sorted(flows.at_least)) == (1, ["b", "c"])
    flows.put("b", 3, 1)
    flows.remove("c")
    assert (flows.least, sorted(flows.at_least)) == (2, ["a"])


def test_some_flows_have_a_window_of_their_own() -> None:
    """What an ask may not take does not bound the window of what it may."""
    flows = flows_of(2, ("a", 0, 9), ("b", 3, 2), ("c", 5, 1))
    assert flows.first() == "a"
    assert flows.first_of([("b", 3, 2), ("c", 5, 1)]) == "c"
    assert flows.first_of([("b", 3, 2), ("c", 6, 1)]) == "b"


def test_a_copy_goes_its_own_way() -> None:
    flows = flows_of(0, ("a", 1, 1))
    other = flows.copy()
    other.put("b", 0, 0)
    flows.remove("a")
    assert (list(flows), flows.first(), list(other), other.first()) == ([], None, ["b", "a"], "b")


def naive_first(window: int, known: dict[str, tuple[int, int]]) -> str | None:
    """The rule, read aloud."""
    least = min((tag for tag, _ in known.values()), default=0)
    within = [(key, tag, name) for name, (tag, key) in known.items() if tag <= least + window]
    return min(within)[2] if within else None


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("put", "put", "put", "remove", "copy")),
        st.sampled_from(NAMES),
        st.integers(-4, 12),
        st.integers(0, 3),
    ),
    max_size=30,
)


@given(st.integers(0, 6), STEPS)
def test_any_order_of_changes_ends_where_a_plain_list_does(window: int, steps: list[tuple[str, str, int, int]]) -> None:
    flows, known = Flows(window), dict[str, tuple[int, int]]()
    for what, name, tag, key in steps:
        if what == "put":
            flows.put(name, tag, key)
            known[name] = (tag, key)
        elif what == "remove":
            flows.remove(name)
            known.pop(name, None)
        else:
            left, flows = flows, flows.copy()
            left.put(name, tag, key)
        some = [(each, *known[each]) for each in known]
        assert flows.first() == flows.first_of(some) == naive_first(window, known)
        assert list(flows) == [each for _, each in sorted((known[each][0], each) for each in known)]
        assert {each: flows.tag(each) for each in flows} == {each: known[each][0] for each in known}
        assert not known or flows.least == min(tag for tag, _ in known.values())
