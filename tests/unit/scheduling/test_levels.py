"""One level of a pool (scheduling.md §3 rules 2, 3 and 5): what enters where, what idleness and weights change, and
what a start must tell.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from metagit_mcp.domain.shares import LCM, FlowTag, Level, LevelChange
from metagit_mcp.scheduling.levels import LevelNow
from tests.snapshots import group, task
from tests.unit.scheduling.claimed import UNIT, Played, groups_of, many, policy_of


def tag(units: float, weight: int = 1, **fields: bool) -> FlowTag:
    return FlowTag(tag=round(units * UNIT), weight=weight, **fields)


def known_as(virtual: float = 0, top: float = 0, **flows: FlowTag) -> Level:
    eligible = sum(flow.eligible for flow in flows.values())
    return Level(virtual=round(virtual * UNIT), top=round(top * UNIT), eligible=eligible, flows=flows)


def level_over(known: Level | None = None, *, runs: bool = True, enters_behind: bool = True) -> LevelNow:
    return LevelNow("normal", 0, known, enters_behind=enters_behind, is_running=lambda: runs)


def units(level: LevelNow) -> dict[str, float]:
    return {name: level.flows.tag(name) / UNIT for name in level.flows}


# --- becoming eligible -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("weight", "behind"), [(1, 1), (2, 0.5), (16, 0.0625)])
def test_a_group_that_was_never_charged_enters_one_unit_behind(weight: int, behind: float) -> None:
    level = level_over(known_as(virtual=5, a=tag(6, eligible=True, charged=True)))
    level.put("b", weight)
    assert units(level) == {"b": 5 + behind}
    assert level.change() == LevelChange(
        level="normal",
        virtual=5 * UNIT,
        flows={"a": tag(6, charged=True), "b": tag(5 + behind, weight, eligible=True)},
    )


def test_a_class_enters_at_v_and_so_does_a_group_from_another_class() -> None:
    known = known_as(virtual=5)
    level = level_over(known, enters_behind=False)
    level.put("b", 4)
    assert units(level) == {"b": 5}
    level = level_over(known)
    level.put("b", 4, is_moved=True)
    assert units(level) == {"b": 5}
    assert level.change().flows == {"b": tag(5, 4, eligible=True, charged=True)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (tag(3, charged=True), 5),
        (tag(9, charged=True), 9),
        (tag(9), 6),
        (tag(3, eligible=True, charged=True), 3),
        (tag(6, eligible=True), 6),
    ],
)
def test_who_returns_is_where_v_is_or_where_it_was(before: FlowTag, after: float) -> None:
    """S := max(V, S); a flow that stays eligible keeps its own S, and one never charged enters behind again."""
    level = level_over(known_as(virtual=5, top=9, a=before))
    level.put("a", 1)
    assert units(level) == {"a": after}


def test_a_flow_that_is_not_known_any_more_is_only_taken_out() -> None:
    level = level_over(known_as())
    level.put("a", 1)
    assert not level.is_told()
    level.put("a", None)
    assert (units(level), level.is_told(), level.change()) == ({}, True, LevelChange(level="normal", virtual=0))


# --- idle ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("runs", "virtual"), [(True, 5), (False, 12)])
def test_where_nothing_was_eligible_or_running_v_goes_as_far_as_any_tag_ever_given(*, runs: bool, virtual: int) -> None:
    known = known_as(virtual=5, top=12, a=tag(9, charged=True), b=tag(2, charged=True))
    level = level_over(known, runs=runs)
    level.put("a", 1)
    level.put("b", 1)
    assert units(level) == {"a": max(9, virtual), "b": virtual}
    assert level.change("b", 1).virtual == virtual * UNIT


def test_v_that_is_past_every_tag_stays() -> None:
    assert level_over(known_as(virtual=5, top=3), runs=False).virtual == 5 * UNIT


def test_whoever_was_eligible_at_the_last_start_keeps_the_level_from_being_idle() -> None:
    """In one event arrivals come before departures."""
    level = level_over(known_as(virtual=5, top=12, a=tag(12, eligible=True, charged=True)), runs=False)
    level.put("b", 1)
    assert units(level) == {"b": 6}


def test_the_first_run_and_the_end_of_the_last_one_are_noticed_where_nothing_was_told() -> None:
    known = known_as(virtual=5, top=12, a=tag(9, charged=True))
    runs = [True]
    level = LevelNow("normal", 0, known, enters_behind=True, is_running=lambda: runs[0])
    level.put("a", 1)
    for runs[0], expected in ((True, 9), (False, 12), (False, 12), (True, 9)):
        level.follow(known)
        assert units(level) == {"a": expected}


def test_who_comes_first_finds_out_what_runs_now() -> None:
    known = known_as(virtual=5, top=12, a=tag(9, charged=True))
    runs = [True]
    level = LevelNow("normal", 0, known, enters_behind=True, is_running=lambda: runs[0])
    for runs[0], expected in ((False, 12), (True, 9), (False, 12)):
        assert not level.follow(known)
        level.put("a", 1)
        assert units(level) == {"a": expected}
        level.put("a", None)


def test_nothing_asks_what_runs_where_something_was_eligible() -> None:
    def asked() -> bool:
        raise AssertionError

    known = known_as(a=tag(0, eligible=True, charged=True))
    level = LevelNow("normal", 0, known, enters_behind=True, is_running=asked)
    level.follow(known)
    assert units(level) == {}


# --- weights ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight_before", "weight", "after"),
    [(1, 2, 7), (2, 16, 5.5), (3, 7, 5 + 4 * 3 / 7), (16, 1, 9), (4, 4, 9)],
)
def test_a_weight_that_is_raised_brings_the_flow_nearer_to_v(weight_before: int, weight: int, after: float) -> None:
    level = level_over(known_as(virtual=5, top=9, a=tag(9, weight_before, eligible=True, charged=True)))
    level.put("a", weight)
    expected = 5 * UNIT + 4 * UNIT * weight_before // weight if after < 9 else 9 * UNIT
    assert level.flows.tag("a") == expected
    assert abs(expected / UNIT - after) < 1 / UNIT
    assert level.is_told() == (weight == weight_before)


def test_a_weight_that_is_raised_moves_no_flow_that_is_behind_v() -> None:
    level = level_over(known_as(virtual=5, top=9, a=tag(4, 1, eligible=True, charged=True)))
    level.put("a", 16)
    assert units(level) == {"a": 4}
    assert level.change().flows == {"a": tag(4, 16, eligible=True, charged=True)}


def test_a_weight_counts_from_where_v_was_told_though_the_level_is_idle() -> None:
    level = level_over(known_as(virtual=5, top=9, a=tag(9, 1, charged=True)), runs=False)
    level.put("a", 2)
    assert units(level) == {"a": 9}


# --- what a start tells ----------------------------------------------------------------------------------------


def test_a_start_charges_its_flow_and_tells_who_came_and_went() -> None:
    known = known_as(
        virtual=5,
        top=20,
        a=tag(6, 2, eligible=True, charged=True),
        gone=tag(7, eligible=True, charged=True),
        same=tag(9, eligible=True, charged=True),
        away=tag(20, charged=True),
    )
    level = level_over(known)
    for name, weight in (("a", 2), ("new", 4), ("same", 1), ("away", 1)):
        level.put(name, weight)
    assert level.change("a", 3, gone=("x",)) == LevelChange(
        level="normal",
        # The least tag among the eligible flows is that of the one that is new.
        virtual=round(5.25 * UNIT),
        flows={
            "a": tag(7.5, 2, eligible=True, charged=True),
            "away": tag(20, eligible=True, charged=True),
            "gone": tag(7, charged=True),
            "new": tag(5.25, 4, eligible=True),
        },
        gone=("x",),
    )


def test_v_moves_to_the_least_tag_and_never_back() -> None:
    known = known_as(virtual=5, a=tag(3, eligible=True, charged=True))
    level = level_over(known)
    level.put("a", 1)
    assert level.change("a", 1).virtual == 5 * UNIT


def test_what_was_told_is_not_told_again() -> None:
    level = level_over(None)
    level.put("a", 1)
    told = level.change("a", 1)
    assert told == LevelChange(level="normal", virtual=UNIT, flows={"a": tag(2, eligible=True, charged=True)})
    known = Level(virtual=told.virtual, top=2 * UNIT, eligible=1, flows=dict(told.flows))
    level.follow(known)
    assert (level.is_told(), units(level)) == (True, {"a": 2})
    level.put("a", None)
    assert level.change().flows == {"a": tag(2, charged=True)}


def test_a_small_level_sees_by_itself_what_others_told() -> None:
    """A flow may be charged, or be eligible elsewhere, though nobody here looked at it."""
    level = LevelNow("", 0, known_as(), enters_behind=False, is_running=lambda: True, is_small=True)
    level.put("a", 1)
    known = known_as(virtual=5, a=tag(9, eligible=True, charged=True), b=tag(6, eligible=True, charged=True))
    assert level.follow(known)
    assert units(level) == {"a": 9}
    assert level.change().flows == {"b": tag(6, charged=True)}


def test_what_is_tried_out_is_taken_back_whole() -> None:
    known = known_as(virtual=5, a=tag(6, eligible=True, charged=True))
    level = level_over(known)
    level.put("a", 1)
    before = level.change("a", 1)
    restore = level.saved()
    branch = replace(known, flows=dict(known.flows))
    level.go_to(branch)
    level.put("b", 2)
    level.put("a", None)
    level.follow(replace(branch, virtual=8 * LCM))
    assert units(level) == {"b": 8.5}
    restore()
    assert (level.change("a", 1), level.is_told(), units(level)) == (before, True, {"a": 6})
    level.go_to(None)
    assert level.virtual == 0


# --- as claims see it ------------------------------------------------------------------------------------------


def test_a_weight_that_is_raised_or_lowered_is_in_force_at_the_next_start() -> None:
    played = Played(many("a", 9), many("b", 9))
    assert played.served(4) == "abab"
    assert (played.tags("normal"), played.virtual("normal")) == ({"a": 3, "b": 3}, 2)
    played.with_policy(policy_of(groups=groups_of(a=("normal", 2))))
    assert (played.claim(), played.tags("normal"), played.virtual("normal")) == ("a/n02", {"a": 3, "b": 3}, 2.5)
    played.with_policy(policy_of(groups=groups_of(a=("normal", 1))))
    assert (played.claim(), played.tags("normal"), played.virtual("normal")) == ("a/n03", {"a": 4, "b": 3}, 3)


def test_a_group_that_changes_its_class_enters_at_v_and_leaves_the_other_one() -> None:
    policy = policy_of(groups=groups_of(b=("low", 1)), class_window=99)
    played = Played(many("a", 9), many("b", 9), many("c", 9), policy=policy)
    assert played.served(6) == "acacac"
    played.with_policy(replace(policy, class_window=0, groups={}))
    assert played.claim() == "b/n00"
    assert (played.tags("normal"), played.virtual("normal")) == ({"a": 4, "b": 4, "c": 4}, 3)
    assert played.pool().levels["low"].flows == {}


def test_a_chain_keeps_its_weight_though_it_blinks_out_after_every_start() -> None:
    """Moving V whenever a flow has nothing ready would give a chain of weight 16 only 2:1."""
    nodes = [task(f"n{number:02}", *([f"n{number - 1:02}"] if number else [])) for number in range(40)]
    policy = policy_of(groups=groups_of(a=("normal", 16)), slots=2)
    played = Played(group("a", *nodes), many("b", 40), policy=policy)
    served = ""
    for _ in range(34):
        served += played.served(1)
        played.end_all()
    assert (served.count("a"), served.count("b")) == (32, 2)
