"""Who is below whom, against a walk from the child upwards, in hierarchies of any shape, rings and gaps included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.hierarchy import Descent

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = [f"n{number}" for number in range(9)]
# `gone` is a parent that is not there.
PARENTS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([*NAMES, "gone", None]), max_size=len(NAMES))


def descent(parents: Mapping[str, str | None]) -> Descent:
    children: dict[str, list[str]] = {}
    for name, parent in parents.items():
        if parent is not None:
            children.setdefault(parent, []).append(name)
    return Descent(parents, children)


def ancestors(parents: Mapping[str, str | None], name: str) -> set[str]:
    found: set[str] = set()
    at = parents.get(name)
    while at is not None and at not in found:
        found.add(at)
        at = parents.get(at)
    return found - {name}


@given(PARENTS)
def test_below_are_those_whose_way_up_leads_there(parents: dict[str, str | None]) -> None:
    tree = descent(parents)
    said = {(low, high) for low in NAMES for high in NAMES if tree.is_below(low, high)}
    walked = {(low, high) for low in parents for high in ancestors(parents, low) if high in parents}
    assert said == walked


def test_a_hierarchy_of_any_depth_is_told_at_once() -> None:
    depth = 50_000
    tree = descent({f"n{level}": f"n{level - 1}" if level else None for level in range(depth)})
    assert all(tree.is_below(f"n{depth - 1}", f"n{level}") for level in range(depth - 1))
    assert not any(tree.is_below("n0", f"n{level}") for level in range(depth))


def test_on_a_ring_each_is_below_the_others_and_so_is_what_hangs_there() -> None:
    tree = descent({"a": "b", "b": "a", "low": "a", "else": None})
    assert tree.is_below("a", "b")
    assert tree.is_below("b", "a")
    assert tree.is_below("low", "b")
    assert not tree.is_below("a", "low")
    assert not tree.is_below("else", "a")
    assert not tree.is_below("a", "a")
    assert not tree.is_below("gone", "a")
