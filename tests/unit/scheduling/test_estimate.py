"""What a Coordinator may be told of its Group: windows, rounding, confidence, and why there is none."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain.feeds import FedItem, Offer
from metagit_mcp.domain.limits import PreemptionPolicy
from metagit_mcp.domain.policy import GroupPolicy
from metagit_mcp.domain.work import Checkpoint
from metagit_mcp.scheduling.estimate import (
    Forecast,
    Record,
    ScheduleEstimate,
    StartWindow,
    confidence_of,
    rounded_down,
    rounded_up,
)
from tests.snapshots import HOUR, NOW, group, known, lease, ledger, queue_of
from tests.unit.scheduling.estimates import STILL, forecast, one, policy_of, seconds

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import TaskNode
    from metagit_mcp.domain.work import WorkItem, WorkState

# --- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "up", "down"),
    [(-5, 300, 0), (0, 300, 0), (299, 300, 0), (300, 300, 300), (301, 600, 300), (1300, 2400, 1200)],
)
def test_ends_are_rounded_outward(given: int, up: int, down: int) -> None:
    assert (rounded_up(given), rounded_down(given)) == (up, down)


def test_confidence_is_learned() -> None:
    records = (Record(), Record(kept=1), Record(missed=1), Record(kept=2, missed=1))
    assert [confidence_of(each) for each in records] == [0.5, 0.67, 0.33, 0.6]


# --- one node --------------------------------------------------------------------------------------------------------


def test_a_node_that_is_ready_may_start_at_once() -> None:
    told = forecast(one("a")).node("a")
    assert told == ScheduleEstimate(
        capacity_status="available",
        confidence=0.5,
        last_calculated_at=NOW,
        estimated_start=StartWindow(earliest=NOW, latest=NOW + timedelta(seconds=300)),
        estimated_completion=NOW + timedelta(seconds=600),
    )


@pytest.mark.parametrize(
    ("others", "latest", "status"),
    [
        # As good, and what a plan may still do to the scores: 510 s for two more.
        ([one("b"), one("c")], 600, "queued"),
        # A priority less; but in another repository worktrees and merges may turn it, and near its deadline too.
        ([one("b", priority=-1), one("c", priority=-1)], 300, "available"),
        ([one("b", priority=-1, repository="r"), one("c", priority=-2, repository="r")], 600, "queued"),
        ([one("b", priority=-1, deadline=NOW), one("c", requested_urgency="routine", deadline=NOW)], 600, "queued"),
        # What depends on it comes later, and what is finished is done.
        ([one("b", "a"), one("c", "b", "a")], 300, "available"),
        ([one("b", status="completed"), one("c", status="cancelled")], 300, "available"),
        # Whatever is not ready yet may be by then.
        ([one("b", priority=1), one("c", "b")], 600, "queued"),
    ],
)
def test_what_may_come_first_counts(others: list[TaskNode], latest: int, status: str) -> None:
    told = forecast(one("a"), *others).node("a")
    assert (seconds(told)[:2], told.capacity_status) == ((0, latest), status)


@pytest.mark.parametrize(
    ("fields", "latest"),
    [
        # Agents that can do it may come late, and so may what it shares: all may come first.
        ({"capabilities": ("python",)}, 600),
        ({"uses": {"gpu": 1}}, 600),
        ({"exclusive": ("key",)}, 600),
        # Of two slots: Γ = 10 + 2 + 10 with a slack of 2 + 3 · 2 + 2, then 2 and 10 more, and 4; 240 s until both free.
        ({"slots": 2, "estimated_tokens": 500}, 2_400),
        ({}, 300),
    ],
)
def test_a_node_that_others_may_pass_comes_last(fields: dict[str, Any], latest: int) -> None:
    others = (one("b", priority=-9), one("c", priority=-9))
    assert seconds(forecast(one("a", **fields), *others).node("a"))[1] == latest


@pytest.mark.parametrize(
    "item",
    [
        known("a", "queued", owner="w1"),
        known("a", released_by=("w1",)),
        known(
            "a",
            fed=FedItem(mission_id="m", since=NOW, state="offered", offer=Offer(candidates=("w1",), until=NOW + HOUR)),
        ),
    ],
)
def test_a_node_that_only_some_agents_take_comes_last(item: WorkItem) -> None:
    others = (one("b", priority=-9), one("c", priority=-9))
    assert seconds(forecast(one("a"), *others, work=ledger(item)).node("a"))[1] == 600


def test_the_guard_lets_others_pass() -> None:
    others = [one(f"b{number}", priority=-9) for number in range(9)]
    free, guarded = (forecast(one("a"), *others, pass_over_limit=limit).node("a") for limit in (0, 3))
    # One of them may be older: a unit more, and one of the other Group.
    assert (free.capacity_status, guarded.capacity_status) == ("available", "queued")
    assert (seconds(free)[1], seconds(guarded)[1]) == (300, 600)
    first = [one(f"c{number}", priority=9) for number in range(7)]
    assert seconds(forecast(one("a"), *first, pass_over_limit=3).node("a"))[1] == 1_200


def test_what_waits_for_others_waits_once_for_each() -> None:
    nodes = (one("a"), one("b", "a"), one("c", "b"), one("other", priority=-9))
    told = forecast(*nodes).node("c")
    # Three turns of 270 s, three units of its own with those of the other Group, and two runs.
    assert (seconds(told), told.capacity_status) == ((0, 1_200, 1_200), "constrained")
    assert 3 * 270 + 6 * 30 + 2 * 60 <= 1_200


def test_the_way_there_takes_as_long_as_it_says() -> None:
    nodes = (one("a", estimated_runtime_seconds=1_300), one("b", "a", estimated_runtime_seconds=700), one("c", "b"))
    earliest, latest, end = seconds(forecast(*nodes).node("c"))
    # Three turns of 210 s and 1,300 s, two units with those of the other Group, (1,240 s + 640 s) / 2 more, both runs.
    assert (earliest, latest, end) == (1_200, 9_600, 9_600)
    assert 4_800 < 3 * 1_510 + 120 + 940 + 2_000 <= 9_600
    # What runs has a part of it behind it.
    runs = replace(lease("a"), granted_at=NOW - timedelta(seconds=1_000))
    assert seconds(forecast(*nodes, work=ledger(runs)).node("c"))[0] == 600
    # Whoever worked on it before may have left less than that.
    before = known("a", "queued", owner="w1", preemptions=1)
    assert seconds(forecast(*nodes, work=ledger(before)).node("c"))[0] == 600
    point = Checkpoint(checkpoint_id="1", at=NOW, lease_id="L")
    assert seconds(forecast(*nodes, work=ledger(known("b", checkpoint=point))).node("c"))[0] == 1_200


def test_nothing_starts_before_its_time() -> None:
    late = one("a", not_before=NOW + HOUR)
    assert seconds(forecast(late).node("a"))[:2] == (2_400, 4_800)
    assert seconds(forecast(late, one("b", "a")).node("b"))[:2] == (2_400, 4_800)
    again = known("a", failures=1, retry_at=NOW + timedelta(seconds=700))
    assert seconds(forecast(one("a"), work=ledger(again)).node("a"))[:2] == (600, 1_200)
    gone = known("a", failures=1, retry_at=NOW - HOUR)
    assert seconds(forecast(one("a"), work=ledger(gone)).node("a"))[:2] == (0, 300)


def test_parents_are_waited_for_and_wait_for_their_children() -> None:
    parent = one("p", "a", not_before=NOW + HOUR)
    told = forecast(one("a"), parent, one("c", parent_id="p")).node("c")
    assert (seconds(told)[0], told.capacity_status) == (2_400, "constrained")
    told = forecast(
        one("p"), one("c", parent_id="p", estimated_runtime_seconds=1_300), one("d", parent_id="p", status="completed")
    ).node("p")
    assert seconds(told)[0] == 1_200
    told = forecast(one("p", risk="destructive"), one("c", parent_id="p")).node("c")
    assert (told.unknown, told.capacity_status) == ("needs_person", "blocked")
    told = forecast(one("a"), one("p", "a", status="completed", risk="none"), one("c", parent_id="p")).node("c")
    assert (seconds(told)[0], told.capacity_status) == (0, "queued")


def test_what_goes_in_a_circle_never_starts() -> None:
    told = forecast(one("a", "b"), one("b", "a"), one("c", "b")).node("c")
    assert (told.unknown, told.capacity_status, told.estimated_start) == ("needs_person", "blocked", None)


def test_what_runs_has_started() -> None:
    begun = NOW - timedelta(seconds=20)
    runs = replace(lease("a"), granted_at=begun)
    told = forecast(one("a", estimated_runtime_seconds=1_000), work=ledger(runs)).node("a")
    assert told == ScheduleEstimate(
        capacity_status="available",
        confidence=0.5,
        last_calculated_at=NOW,
        estimated_start=StartWindow(earliest=begun, latest=begun),
        estimated_completion=NOW + timedelta(seconds=1_200),
    )
    seen = forecast(one("a", status="running")).node("a")
    assert seen.estimated_start == StartWindow(earliest=NOW, latest=NOW)
    # Since when it runs, and how much is left, its file does not say.
    assert seconds(forecast(one("a", status="running", estimated_runtime_seconds=900), one("b", "a")).node("b"))[0] == 0


def test_a_quota_makes_the_group_wait_for_its_own() -> None:
    nodes = [one("a"), one("b", priority=-9)]
    limits: dict[str, Any] = {"groups": {"g": GroupPolicy(quota=1)}}
    assert seconds(forecast(*nodes, **limits).node("a"))[1] == 600
    runs = ledger(lease("b"))
    told = forecast(*nodes, work=runs, **limits).node("a")
    # It comes anew once b has ended: two turns, and the longest run twice.
    assert (seconds(told)[:2], told.capacity_status) == ((0, 1_200), "constrained")
    # A quota that leaves it all slots is none.
    assert seconds(forecast(*nodes, work=runs, groups={"g": GroupPolicy(quota=2)}).node("a"))[1] == 300


def test_whoever_makes_room_comes_back() -> None:
    nodes, asked = (one("a"), one("b", "a"), one("c")), PreemptionPolicy(max_preemptions=1)
    still, moved = (forecast(*nodes, preemption=each, work=ledger(lease("a"))).node("b") for each in (STILL, asked))
    # Twice a turn more, since a may have to start again, and its unit and one more.
    assert (seconds(still)[1], seconds(moved)[1]) == (600, 1_200)
    assert seconds(forecast(one("a"), preemption=asked).node("a"))[1] == 300


# --- why there is none -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "fields", "unknown", "status"),
    [
        (one("a"), {"slots": None}, "no_slot_limit", "available"),
        (one("a"), {"ordering": "score"}, "no_shares", "available"),
        (one("a"), {"paused": True}, "paused", "blocked"),
        (one("a", slots=3), {}, "never_fits", "blocked"),
        (one("a"), {"groups": {"g": GroupPolicy(quota=0)}}, "never_fits", "blocked"),
        (one("a", status="blocked"), {}, "needs_person", "blocked"),
        (one("a", status="completed"), {}, "finished", "available"),
    ],
)
@pytest.mark.parametrize("node_id", ["a", None])
def test_no_window_where_nothing_bounds_it(
    node_id: str | None, node: TaskNode, fields: dict[str, Any], unknown: str, status: str
) -> None:
    made = forecast(node, **fields)
    told = made.whole() if node_id is None else made.node(node_id)
    assert (told.unknown, told.capacity_status, told.confidence) == (unknown, status, 0.5)
    assert (told.estimated_start, told.estimated_completion) == (None, None)


@pytest.mark.parametrize(
    ("state", "fed", "unknown"),
    [
        ("open", {"state": "open"}, "with_group"),
        ("open", {"state": "offered", "offer": Offer(candidates=("w1",), until=NOW)}, "with_group"),
        ("open", {"state": "offered", "offer": Offer(candidates=("w1",), until=NOW + HOUR)}, None),
        ("open", {"state": "queued", "owner": "w1", "until": NOW}, "with_group"),
        ("open", {"state": "queued", "owner": "w1", "until": NOW + HOUR}, None),
        ("open", {"state": "queued", "owner": "w1"}, None),
        ("open", {"state": "active", "owner": "w9"}, "with_group"),
        ("blocked", {"state": "blocked"}, "with_group"),
        ("queued", {"state": "offered", "offer": Offer(candidates=("w1",), until=NOW)}, None),
    ],
)
def test_what_its_group_has_to_do_first(state: WorkState, fed: dict[str, Any], unknown: str | None) -> None:
    item = known("a", state, owner=fed.get("owner"), fed=FedItem(mission_id="m", since=NOW, **fed))
    made = forecast(one("a"), one("b", "a"), work=ledger(item))
    assert (made.node("a").unknown, made.node("b").unknown) == (unknown, unknown)


def test_a_node_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        forecast(one("a")).node("b")


# --- the Group -------------------------------------------------------------------------------------------------------


def test_the_group_starts_next_what_is_ready() -> None:
    told = forecast(one("a"), one("b", "a")).whole()
    # Two turns with two units each, then both runs.
    assert (seconds(told), told.capacity_status) == ((0, 300, 1_200), "available")
    told = forecast(one("a"), one("b"), work=ledger(lease("b"))).whole()
    assert (seconds(told), told.capacity_status) == ((0, 300, 600), "queued")
    told = forecast(one("a", slots=2, estimated_tokens=500)).whole()
    assert (seconds(told)[:2], told.capacity_status) == ((0, 2_400), "available")


def test_the_group_starts_next_what_becomes_ready() -> None:
    nodes = (one("a", estimated_runtime_seconds=900), one("b", "a"), one("c", not_before=NOW + 9 * HOUR), one("d", "b"))
    told = forecast(*nodes, work=ledger(lease("a"))).whole()
    assert (seconds(told)[:2], told.capacity_status) == ((600, 2_400), "constrained")
    # Whoever is asked to make room starts again, before that.
    told = forecast(*nodes, work=ledger(lease("a")), preemption=PreemptionPolicy()).whole()
    assert seconds(told)[0] == 0


def test_a_group_in_which_all_runs_only_ends() -> None:
    told = forecast(one("a"), work=ledger(lease("a"))).whole()
    assert (told.capacity_status, told.estimated_start, told.unknown) == ("constrained", None, None)
    assert told.estimated_completion == NOW + timedelta(seconds=300)


def test_where_a_person_has_to_act_nobody_knows_the_end() -> None:
    told = forecast(one("a"), one("b", status="blocked"), one("c", "b")).whole()
    assert (seconds(told), told.unknown, told.capacity_status) == ((0, 300, None), "needs_person", "available")


def test_a_graph_that_cannot_be_read_tells_nothing() -> None:
    queue = queue_of(replace(group("g"), graph=None), policy=policy_of())
    told = Forecast(queue.groups["g"], policy_of(), NOW).whole()
    assert (told.unknown, told.capacity_status) == ("needs_person", "blocked")


def test_each_way_is_walked_once_however_many_ask() -> None:
    # Each of a hundred rows needs all three of the row before: 3 to the power of 100 ways lead to the last.
    rows = [[f"{row}-{place}" for place in range(3)] for row in range(100)]
    nodes = [one(name, *(rows[row - 1] if row else ())) for row, names in enumerate(rows) for name in names]
    made = forecast(*nodes, one("apart", priority=-9))
    judged: list[str] = []
    real = Forecast._unknown  # noqa: SLF001 - what is counted is the work, not the answer

    def counted(self: Forecast, node: TaskNode) -> Any:  # noqa: ANN401 - passed on as it is
        judged.append(node.node_id)
        return real(self, node)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Forecast, "_unknown", counted)
        told = [made.node(name) for name in (rows[99][0], rows[50][1], rows[99][0])]
        made.whole()
    assert told[0] == told[2]
    assert sorted(judged) == sorted([*(name for names in rows for name in names), "apart"])
