"""Shares in a workspace that changes: other weights, other classes, idle times, and starts that were nobody's turn.

What is expected follows from the words of the scheduling rules alone, by hand. Groups are single letters; of equal
heads the smaller tag goes first, then the first by id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scenarios.claiming import POLICY
from tests.scenarios.floor import Floor, many, shares
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    return Desk(tmp_path)


# --- weights and classes ---------------------------------------------------------------------------------------------


def far_ahead(**rules: object) -> Floor:
    """Group z was charged 50 units and stands at 51; m stands at 12 and V at 11."""
    floor = Floor(many("m"), many("z", estimated_tokens=50_000), deadline_window=0, **rules)
    assert floor.groups(12) == "mz" + "m" * 10
    return floor


def test_a_raised_weight_brings_a_group_nearer_to_v_by_the_same_factor() -> None:
    """From 51 to 11 + 40/10 = 15, and its next 50 units are 5."""
    floor = far_ahead()
    floor.rule(groups=shares(z={"weight": 10}))
    assert floor.groups(4 + 1 + 5 + 1) == "mmmmz" + "mmmmmz"


def test_a_weight_that_is_raised_and_lowered_again_is_worth_no_more_than_that_once() -> None:
    """It was never told by a start: nothing happened."""
    floor = far_ahead()
    floor.rule(groups=shares(z={"weight": 10}))
    assert floor.advice()[0][0] == "m"
    floor.rule(groups={})
    assert floor.groups(41) == "m" * 40 + "z"


def test_a_lowered_weight_takes_nothing_back() -> None:
    """It stays at its tag, and pays more from then on: 50 units are 50 again."""
    floor = far_ahead()
    floor.rule(groups=shares(z={"weight": 10}))
    assert floor.groups(5) == "mmmmz"
    floor.rule(groups={})
    # At 20: m is at 16.
    assert floor.groups(5 + 1 + 50 + 1) == "mmmmm" + "z" + "m" * 50 + "z"


def test_a_group_that_comes_to_another_class_starts_where_that_class_is() -> None:
    """It is neither owed what it missed there, nor does it pay for what it had before."""
    floor = Floor(many("a"), many("h"), groups=shares(h={"priority_class": "high"}), deadline_window=0)
    served = floor.groups(300)
    assert (served.count("h"), served.count("a")) == (200, 100)
    floor.rule(groups=shares(h={"priority_class": "high"}, a={"priority_class": "high"}))
    # One unit behind h, which was served last there.
    assert floor.groups(41) == "a" + "ah" * 20


def test_changing_class_to_and_fro_is_worth_nothing() -> None:
    """Two Groups of one class, one of which is moved away and back after each of its starts."""
    floor = Floor(many("a"), many("b"), deadline_window=0)
    served = ""
    for _ in range(20):
        served += floor.groups(2)
        floor.rule(groups=shares(a={"priority_class": "low"}))
        floor.rule(groups={})
    assert served == "ab" * 20


# --- idle times ------------------------------------------------------------------------------------------------------


def test_an_ask_that_finds_everything_done_forgets_who_is_ahead() -> None:
    floor = Floor(many("a", 1, estimated_tokens=60_000), many("b", 1), deadline_window=0)
    assert floor.groups(2) == "ba"
    # Told once, however often somebody asks.
    assert [floor.ask(), floor.ask()] == ["", ""]
    assert [type(event).__name__ for event in floor.events].count("PoolRested") == 1
    floor.bring(many("a", 30), many("b", 30))
    assert floor.groups(40) == "ab" * 20


def test_after_an_idle_time_an_old_group_and_a_new_one_take_turns() -> None:
    """All 200 nodes of m were done: it is not owed for them, and has nothing to make good."""
    floor = Floor(many("m", 200), deadline_window=0)
    assert floor.groups(200) == "m" * 200
    floor.bring(many("m", 220), many("z"))
    assert floor.groups(40) == "mz" * 20


def test_while_work_still_runs_nothing_is_forgotten() -> None:
    floor = Floor(many("a", 1, estimated_tokens=60_000), many("b", 1), deadline_window=0)
    assert floor.groups(1) == "b"
    long = floor.ask()
    floor.bring(many("a"), many("b"))
    # a is at 61, b at 2; of equal tags a goes first.
    assert floor.groups(61) == "b" * 59 + "ab"
    floor.end(long)


# --- nobody's turn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_id", [True, False])
@pytest.mark.parametrize(("starts", "expected"), [(8, "mmmmmmmmzmzm"), (20, "mmmmmmmmmzmz")])
def test_starts_by_id_or_of_one_graph_cost_a_group_its_window_and_no_more(
    desk: Desk, starts: int, expected: str, *, by_id: bool
) -> None:
    """They are charged, so that nobody gains by them; but 20 of them do not shut the Group out for 20 turns."""
    desk.put(POLICY, {"agent_slots": 99})
    for name in "mz":
        desk.graph(name, *(node(f"{name}{number:02}") for number in range(40)))
    assert desk.taken() == ["m00"]
    for number in range(starts):
        if by_id:
            desk.start(f"z{number:02}", "w2")
        else:
            assert desk.taken("w2", graph_id="z") == [f"z{number:02}"]
    # Group m is at 2 and V at 1; z is at 1 + 8, and never further than one window and its charge past V, at 10.
    assert "".join(desk.claim()["decisions"][0]["graph_id"] for _ in expected) == expected
