"""How long a Group waits at most, if others are as policy assumes: bounds by hand, and figures that are of use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain.limits import DisclosurePolicy
from metagit_mcp.domain.policy import ClassWeights, GroupPolicy, SchedulePolicy
from metagit_mcp.scheduling.assumed import Assumed, Effort
from metagit_mcp.scheduling.estimate import Forecast
from tests.snapshots import NOW, group, queue_of, task
from tests.unit.scheduling.estimates import FEW, one, policy_of, seconds

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import TaskNode


def assumed(*nodes: TaskNode, **fields: Any) -> Assumed:  # noqa: ANN401 - as above
    return Assumed(policy_of(**fields), "g", nodes)


def test_the_work_until_a_turn_is_the_bound_by_hand() -> None:
    one = task("a", estimated_tokens=1_000)
    # Γ = 1 · 1/1 + 1 of the other Group, and the largest slack once more.
    assert assumed(one).units(0) == 3
    # While the Group gets 4 units: its own 4, and 4 · 1/1 more of the other.
    assert assumed(one).units(4) == 3 + 4 + 4
    # Each of two more classes, with one Group: 1·1/4 + 1 and 8·1/4 + 1; (2 + 1)·13/4 of what is fair.
    groups = {"h": GroupPolicy(), "i": GroupPolicy(priority_class="low"), "j": GroupPolicy(priority_class="high")}
    assert assumed(one, groups=groups).units(0) == 3 * 13 / 4 + 1.25 + 3
    # Its own weight and the window count in its class, and e = 2 · (3 - 1) for each slot in every slack.
    heavy = {"g": GroupPolicy(weight=2)}
    grown = assumed(one, groups=heavy, deadline_window=8, disclosure=replace(FEW, max_cost=3))
    assert grown.units(0) == (16 + (1 + 4) / 2 + (3 + 4)) + 7


def test_no_group_that_policy_names_is_left_out() -> None:
    many = {f"g{number}": GroupPolicy(weight=2) for number in range(5)}
    one = task("a", estimated_tokens=1_000)
    # Five of weight 2: 10 · 1/1 + 5, whatever max_groups says.
    assert assumed(one, groups=many).units(0) == 16
    # What policy does not name is of the class normal; where nothing of it is left, that class is not counted.
    high = {"g": GroupPolicy(priority_class="high"), "h": GroupPolicy(priority_class="high")}
    assert assumed(one, groups=high).units(0) == 3
    assert assumed(one, groups=high, disclosure=replace(FEW, max_groups=3)).units(0) == 3 * 12 / 8 + 4 / 8 + 1


def test_the_seconds_until_a_turn_by_hand() -> None:
    one = assumed(task("a", estimated_tokens=1_000))
    # 3 units over 2 slots, 2 for what runs or was refunded, and the longest run: 60 s each.
    assert one.wait(Effort(), 1) == 90 + 120 + 60
    assert one.wait(Effort(starts=2, units=4), 1) == 330 + 120 + 60
    assert one.wait(Effort(), 3) == 3 * 270
    # Each wide node may keep slots empty for the longest run; what takes longer than its cost is added.
    assert one.wait(Effort(wide=1, more=50), 1) == 270 + 60 + 25


def test_what_a_node_costs_in_the_end() -> None:
    it = assumed(disclosure=replace(FEW, max_cost=5))
    said, silent = task("a", estimated_tokens=7_001), task("b")
    wide, unsure, long = task("c", slots=2), task("d", context_budget=9_000), task("e", estimated_tokens=0)
    assert [it.cost(each) for each in (said, silent, wide, unsure, long)] == [8, 5, 10, 9, 1]
    assert [it.runtime(each) for each in (said, wide)] == [480, 300]
    slow = task("f", estimated_tokens=1_000, estimated_runtime_seconds=100, slots=2)
    assert it.runtime(slow) == 100
    every = it.effort([said, silent, wide, unsure, long, slow])
    assert every == Effort(starts=6, units=8 + 5 + 10 + 9 + 1 + 2, wide=2, more=2 * 40)
    assert every - it.effort([slow, wide]) == Effort(starts=4, units=23) == it.effort([said, silent, unsure, long])


# --- ordinary policies -----------------------------------------------------------------------------------------------


FIVE = {name: GroupPolicy() for name in "ghijk"}
CLASSES = {
    "g": GroupPolicy(),
    "h": GroupPolicy(priority_class="critical"),
    "i": GroupPolicy(priority_class="high"),
    "j": GroupPolicy(priority_class="low"),
    "k": GroupPolicy(weight=4),
}


@pytest.mark.parametrize(
    ("policy", "hours"),
    [
        (SchedulePolicy(slots=4), (10.67, 10.67)),
        (SchedulePolicy(slots=4, groups=FIVE, disclosure=DisclosurePolicy(max_groups=5)), (5.33, 10.67)),
        (SchedulePolicy(slots=4, groups=CLASSES), (42.67, 85.33)),
        (SchedulePolicy(slots=4, groups=CLASSES, classes=ClassWeights(critical=4, high=2, normal=2)), (42.67, 42.67)),
        (SchedulePolicy(slots=16, disclosure=DisclosurePolicy(seconds_per_unit=10)), (1.33, 1.33)),
    ],
)
def test_ordinary_policies_give_figures_that_are_of_use(policy: SchedulePolicy, hours: tuple[float, float]) -> None:
    nodes = [one(f"n{number}", estimated_tokens=8_000, priority=-number) for number in range(10)]
    made = Forecast(queue_of(group("g", *nodes), policy=policy).groups["g"], policy, NOW)
    assert tuple(round(seconds(made.node(name))[1] / 3600, 2) for name in ("n0", "n9")) == hours
