"""Faults that were measured in other schedulers, as scenes with exact numbers: who is served, in which order.

What is expected follows from the words of the scheduling rules alone. Groups are single letters; where two have equal
heads, the smaller tag goes first, then the first by id; a better head leads by the window of 8 units, that is 9 starts.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.claiming import POLICY, given
from tests.scenarios.floor import Floor, many, shares
from tests.snapshots import NOW, group, task
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    return Desk(tmp_path)


CLASSES = {"c": "critical", "h": "high", "n": "normal", "l": "low"}


def in_classes(**more: dict[str, object]) -> dict[str, object]:
    """A policy in which the Groups c, h, n and l are of those classes."""
    return {"groups": shares(**{name: {"priority_class": each} for name, each in CLASSES.items()}, **more)}


# --- wide work, quotas -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("drain_limit", [0, 1, 3, 5])
def test_a_wide_node_is_not_starved_by_endless_narrow_ones(desk: Desk, drain_limit: int) -> None:
    """It waits for as many other starts as the limit says, and then for its slots: not for one start more."""
    desk.put(POLICY, {"slots": 3, "drain_limit": drain_limit, "agent_slots": 9})
    for name in "ab":
        desk.graph(name, *(node(f"{name}{number}") for number in range(9)))
    running = [desk.lease() for _ in range(3)]
    desk.graph("w", node("wide", slots=3, priority=1))
    starts: list[str] = []
    for _ in range(drain_limit + 3):
        desk.report(running.pop(0), "completed")
        answer = desk.claim()
        starts.append("".join(given(answer))[:1])
        running += [each["lease"]["lease_id"] for each in answer["decisions"]]
    others = "".join(starts[:drain_limit])
    assert (len(others), set(others) <= set("ab"), starts[drain_limit:]) == (drain_limit, True, ["", "", "w"])


@pytest.mark.parametrize("drain_limit", [0, 1, 3, 5])
def test_a_node_as_wide_as_the_quota_is_not_starved_by_narrow_ones_of_its_group(drain_limit: int) -> None:
    """One runs, and one ends after each ask; another Group is served meanwhile, and by as many starts as it likes."""
    floor = Floor(many("g", 1), groups=shares(g={"quota": 2}), drain_limit=drain_limit)
    running, starts = [floor.ask()], ""
    narrow = [task(f"n{number}") for number in range(9)]
    floor.bring(group("g", task("g0000"), task("wide", slots=2, priority=1), *narrow))
    for _ in range(drain_limit + 2):
        name = floor.ask()
        starts += name[2:3] or "-"
        running += [name] if name else []
        if not name:
            floor.bring(many("m", 9))
            assert floor.groups(9) == "m" * 9
        floor.end(running.pop(0))
    assert starts == "n" * drain_limit + "-w"


def test_a_group_at_its_quota_earns_no_credit() -> None:
    """It could not start anything for 1,000 dispatches; free again, it takes turns from the next start on."""
    floor = Floor(many("a", 1_100), many("z"), groups=shares(z={"quota": 1}))
    first, held = floor.ask(), floor.ask()
    assert (first, held) == ("a/a0000", "z/z0000")
    assert floor.groups(1_000) == "a" * 1_000
    floor.end(held)
    assert floor.groups(40) == "za" * 20


def test_a_group_at_its_quota_earns_no_more_than_the_window_where_its_head_is_the_better_one() -> None:
    floor = Floor(many("a", priority=1), many("b", 1_100), groups=shares(a={"quota": 1}))
    held = floor.ask()
    assert (held, floor.groups(1_000)) == ("a/a0000", "b" * 1_000)
    floor.end(held)
    # From V, one unit behind b, as far as 8 units ahead of it.
    assert floor.groups(50) == "a" * 10 + "ba" * 20


# --- deadlines, priorities -------------------------------------------------------------------------------------------


def test_a_group_whose_deadlines_are_all_past_gets_its_share_and_the_window_once() -> None:
    """A deadline is no weapon: 100 starts each, and 4 more or less for the window of 8 units."""
    floor = Floor(many("a"), many("d", deadline=NOW - timedelta(days=30)))
    served = floor.groups(200)
    assert served == "d" * 9 + "ad" * 95 + "a"
    assert Counter(served) == {"d": 104, "a": 96}


def test_deadlines_that_come_nearer_with_every_node_buy_no_second_window() -> None:
    nodes = [task(f"d{number:04}", deadline=NOW - timedelta(days=number)) for number in range(300)]
    assert Floor(many("a"), group("d", *nodes)).groups(200) == "d" * 9 + "ad" * 95 + "a"


@pytest.mark.parametrize("most", [1, 100, 1_000_000])
def test_priorities_move_no_share_between_groups(most: int) -> None:
    """The higher one leads by the window, once, however much higher it is."""
    urgent = Floor(many("a", priority=-most), many("z", priority=most))
    assert urgent.groups(200) == "z" * 9 + "az" * 95 + "a"
    none = Floor(many("a", priority=-most), many("z", priority=most), deadline_window=0)
    assert none.groups(200) == "za" * 100


@pytest.mark.parametrize("urgency", ["high", "critical"])
def test_requested_urgency_moves_no_share_between_groups(urgency: str) -> None:
    floor = Floor(many("a", requested_urgency="routine"), many("z", requested_urgency=urgency))
    assert floor.groups(200) == "z" * 9 + "az" * 95 + "a"


@pytest.mark.parametrize("limit", [1, 5, 20])
def test_a_node_of_the_lowest_priority_in_one_busy_group_is_dispatched_by_decision_k_plus_1(limit: int) -> None:
    """Each dispatch is followed by a node that is more urgent by 200."""
    floor = Floor(group("g", low := task("low", priority=-100)), pass_over_limit=limit)
    nodes, served = [low], []
    for number in range(limit + 3):
        nodes.append(task(f"n{number:02}", priority=100))
        floor.bring(group("g", *nodes))
        served += floor.serve(1)
    assert served.index("g/low") == limit
    assert served[:limit] == [f"g/n{number:02}" for number in range(limit)]


def test_the_decision_of_the_guard_says_how_often_the_node_was_passed_over(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 99})
    nodes, reasons = [node("low", priority=-100)], []
    for number in range(21):
        nodes.append(node(f"n{number:02}", priority=100))
        desk.graph("g", *nodes)
        (decision,) = desk.claim()["decisions"]
        reasons.append((decision["node_id"], [each for each in decision["reasons"] if "passed_over" in each]))
    assert reasons == [*((f"n{number:02}", []) for number in range(20)), ("low", ["passed_over=20"])]


# --- cost ------------------------------------------------------------------------------------------------------------


def test_jobs_of_an_hour_and_of_a_minute_share_cost_and_not_starts() -> None:
    """60,000 tokens against 1,000: a start of the one is worth 60 of the other."""
    floor = Floor(many("h", 20, estimated_tokens=60_000), many("m", 1_000, estimated_tokens=1_000))
    served = floor.groups(9 + 11 * 61)
    assert served == "m" * 9 + ("h" + "m" * 60) * 11
    assert (served.count("h") * 60, served.count("m")) == (660, 669)


def test_what_was_estimated_too_low_is_made_good_when_the_work_ends() -> None:
    """All say 1,000 tokens; those of h use 60,000, and its next start waits for that."""
    floor = Floor(many("h", 20), many("m", 1_000))
    served = floor.groups(1 + 10 * 61, used={"h": 60_000, "m": 1_000})
    assert served == "h" + ("m" * 60 + "h") * 10


def test_what_was_estimated_too_high_is_given_back_when_the_work_ends() -> None:
    floor = Floor(many("a", estimated_tokens=60_000), many("m", estimated_tokens=1_000), deadline_window=0)
    assert floor.groups(40, used={"a": 1_000}) == "ma" * 20


# --- joining, weights ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("joiner", "priority", "window", "expected"),
    [
        ("a", 0, 0, "am" * 20),
        ("z", 0, 0, "mz" * 20),
        ("a", 0, 8, "am" * 20),
        ("z", 0, 8, "mz" * 20),
        ("z", 1, 0, "zm" * 20),
        ("z", 1, 8, "z" * 9 + "mz" * 20),
        ("a", -1, 8, "m" * 9 + "am" * 20),
    ],
)
def test_a_late_joiner_takes_turns_from_its_first_dispatch(
    joiner: str, priority: int, window: int, expected: str
) -> None:
    """It neither catches up on 500 dispatches nor waits for them; the better head of two leads by the window."""
    floor = Floor(many("m", 600), deadline_window=window)
    assert floor.groups(500) == "m" * 500
    floor.bring(many(joiner, priority=priority))
    assert floor.groups(len(expected)) == expected


def test_a_group_that_was_idle_for_long_takes_turns_from_its_first_dispatch() -> None:
    floor = Floor(many("z", 1), many("m", 600), deadline_window=0)
    assert floor.groups(501) == "mz" + "m" * 499
    floor.bring(many("z"))
    assert floor.groups(40) == "zm" * 20


@pytest.mark.parametrize("weight", [2, 10, 16])
def test_equal_weights_are_equal_whatever_they_are(weight: int) -> None:
    """Costs of all sizes, no window: the same picks to the node."""
    graphs = [
        group(name, *(task(f"{name}{each}", estimated_tokens=each * step % 9_000) for each in range(100)))
        for name, step in (("a", 1_717), ("b", 3_301), ("c", 711))
    ]
    light, heavy = (
        Floor(*graphs, deadline_window=0, groups=shares(**{name: {"weight": each} for name in "abc"}))
        for each in (1, weight)
    )
    assert light.serve(200) == heavy.serve(200)


@pytest.mark.parametrize("weight", [1, 2, 10, 16])
def test_between_equal_heads_of_equal_weights_the_turn_goes_to_and_fro_under_the_window_too(weight: int) -> None:
    groups = shares(a={"weight": weight}, b={"weight": weight})
    assert Floor(many("a"), many("b"), groups=groups).groups(100) == "ab" * 50


def test_weights_are_ratios_of_cost() -> None:
    """4 : 2 : 1, with costs that undo each other's number of starts: 2, 4 and 1 units."""
    floor = Floor(
        many("a", estimated_tokens=2_000),
        many("b", estimated_tokens=4_000),
        many("c", estimated_tokens=1_000),
        groups=shares(a={"weight": 4}, b={"weight": 2}),
        deadline_window=0,
    )
    served = Counter(floor.groups(210))
    assert {name: served[name] * cost for name, cost in (("a", 2), ("b", 4), ("c", 1))} == {"a": 240, "b": 120, "c": 60}


# --- classes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [0, 8])
def test_a_mission_that_is_split_into_9_groups_raises_no_share_of_its_class(window: int) -> None:
    one = Floor(many("h"), many("n"), deadline_window=window, **in_classes())
    nine = Floor(many("h"), *(many(str(number)) for number in range(1, 10)), deadline_window=window, **in_classes())
    split = nine.groups(300)
    assert "".join("h" if each == "h" else "n" for each in split) == one.groups(300)
    assert Counter(split)["h"] == 200


def test_a_sporadic_critical_node_is_the_very_next_start() -> None:
    """Whatever else waits, and for how long, with how little of it between two such nodes."""
    floor = Floor(many("h", priority=100), many("n", deadline=NOW), many("l"), **in_classes())
    brought: list[str] = []
    for number, between in enumerate((100, 50, 20, 5, 2, 1, 1, 1)):
        assert "c" not in floor.groups(between)
        floor.bring(group("c", *(task(f"c{each}", priority=-100) for each in range(number + 1))))
        brought += floor.serve(1)
    assert brought == [f"c/c{number}" for number in range(8)]


def test_classes_get_exactly_their_share_of_cost_over_a_long_run() -> None:
    """16 : 8 : 4 : 1 in every 29 starts of one unit."""
    floor = Floor(*(many(name) for name in "chnl"), **in_classes())
    served = floor.groups(29 * 15)
    periods = [Counter(served[at : at + 29]) for at in range(0, len(served), 29)]
    assert periods == [Counter(c=16, h=8, n=4, l=1)] * 15


def test_classes_get_exactly_their_share_of_cost_whatever_a_node_costs() -> None:
    """Nodes of 4, 2, 1 and 1 units, so that 13 starts are 29 units."""
    tokens = {"c": 4_000, "h": 2_000, "n": 1_000, "l": 1_000}
    floor = Floor(*(many(name, estimated_tokens=each) for name, each in tokens.items()), **in_classes())
    served = floor.groups(13 * 20)
    periods = [Counter(served[at : at + 13]) for at in range(0, len(served), 13)]
    assert periods == [Counter(c=4, h=4, n=4, l=1)] * 20


def test_what_a_class_does_not_use_flows_on_and_is_not_owed_to_it() -> None:
    """While critical work is missing low work gets every start; when it comes back, it is 16 to 1 again."""
    floor = Floor(many("c", 16), many("l"), **in_classes())
    assert floor.groups(117) == "cl" + "c" * 15 + "l" * 100
    floor.bring(many("c"))
    assert floor.groups(17 + 1 + 17 * 5) == "c" * 17 + "l" + ("c" * 16 + "l") * 5


def test_what_two_classes_do_not_use_is_shared_by_the_weights_of_the_others() -> None:
    floor = Floor(many("h"), many("n"), many("l"), many("c", 1), **in_classes())
    assert floor.groups(1) == "c"
    served = floor.groups(13 * 10)
    assert [Counter(served[at : at + 13]) for at in range(0, len(served), 13)] == [Counter(h=8, n=4, l=1)] * 10


# --- the other order -------------------------------------------------------------------------------------------------


def test_back_from_the_order_by_score_all_start_equal() -> None:
    """What a was ahead before, and what z got meanwhile, is owed to nobody."""
    floor = Floor(many("a"), groups=shares(a={"priority_class": "high"}, z={"priority_class": "high", "weight": 16}))
    assert floor.groups(50) == "a" * 50
    floor.bring(many("z", priority=1))
    floor.rule(ordering="score")
    assert (floor.groups(30), floor.state.shares.pools) == ("z" * 30, {})
    floor.rule(ordering="fair", groups={}, deadline_window=0)
    assert floor.groups(40) == "za" * 20


def test_the_order_by_score_ranks_all_graphs_by_their_nodes_alone() -> None:
    nodes = {
        name: [task(f"{name}{each}", priority=each * step % 17) for each in range(30)]
        for name, step in (("a", 5), ("b", 7))
    }
    floor = Floor(*(group(name, *each) for name, each in nodes.items()), ordering="score", pass_over_limit=0)
    best = sorted(
        ((each.priority or 0, each.node_id) for each in (*nodes["a"], *nodes["b"])),
        key=lambda each: (-each[0], each[1]),
    )
    assert floor.serve(60) == [f"{node_id[0]}/{node_id}" for _, node_id in best]
