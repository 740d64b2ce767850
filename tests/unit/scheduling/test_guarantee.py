"""Guaranteed shares: classes divide the whole, Groups their class; only what has work takes part."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.policy import ClassWeights, GroupPolicy, SchedulePolicy
from metagit_mcp.domain.shares import Charged
from metagit_mcp.scheduling.guarantee import guaranteed, has_work, received
from tests.snapshots import HOUR, NOW, group, queue_of, task

if TYPE_CHECKING:
    from metagit_mcp.domain.policy import PriorityClass
    from metagit_mcp.domain.tasks import TaskNode

POLICY = SchedulePolicy(
    groups={
        "alarm": GroupPolicy(priority_class="critical"),
        "shop": GroupPolicy(priority_class="high", weight=3),
        "site": GroupPolicy(priority_class="high"),
        "tidy": GroupPolicy(priority_class="low", weight=16),
    }
)


@pytest.mark.parametrize(
    ("with_work", "shares"),
    [
        ([], {}),
        (["tidy"], {"tidy": Fraction(1)}),
        (["nowhere", "else"], {"else": Fraction(1, 2), "nowhere": Fraction(1, 2)}),
        (["site", "shop"], {"shop": Fraction(3, 4), "site": Fraction(1, 4)}),
        (["tidy", "site"], {"site": Fraction(8, 9), "tidy": Fraction(1, 9)}),
        (
            ["tidy", "site", "shop", "other", "alarm"],
            {
                "alarm": Fraction(16, 29),
                "other": Fraction(4, 29),
                "shop": Fraction(6, 29),
                "site": Fraction(2, 29),
                "tidy": Fraction(1, 29),
            },
        ),
    ],
)
def test_shares_of_the_groups_that_have_work(with_work: list[str], shares: dict[str, Fraction]) -> None:
    found = guaranteed(POLICY, with_work)
    assert found == shares
    assert list(found) == sorted(with_work)


def test_a_class_that_is_split_gets_no_more() -> None:
    parts = [f"part{place}" for place in range(9)]
    found = guaranteed(POLICY, ["alarm", *parts])
    assert found["alarm"] == Fraction(4, 5)
    assert sum(found[name] for name in parts) == Fraction(1, 5)


def test_by_score_nothing_is_guaranteed() -> None:
    assert guaranteed(SchedulePolicy(ordering="score"), ["g", "h"]) == {}


GROUPS = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.tuples(st.sampled_from(("critical", "high", "normal", "low")), st.integers(1, 16)),
    min_size=1,
)


@given(GROUPS, st.tuples(*(st.integers(1, 16),) * 4))
def test_shares_are_what_the_weights_say(
    groups: dict[str, tuple[PriorityClass, int]], weights: tuple[int, int, int, int]
) -> None:
    critical, high, normal, low = weights
    policy = SchedulePolicy(
        classes=ClassWeights(critical=critical, high=high, normal=normal, low=low),
        groups={name: GroupPolicy(priority_class=kind, weight=weight) for name, (kind, weight) in groups.items()},
    )
    found = guaranteed(policy, groups)
    assert sum(found.values()) == 1
    by_class = {"critical": critical, "high": high, "normal": normal, "low": low}
    for one, (kind, weight) in groups.items():
        for other, (its_kind, its_weight) in groups.items():
            if kind == its_kind:
                assert found[one] * its_weight == found[other] * weight
    of_class = {
        kind: sum(found[name] for name, (its_kind, _) in groups.items() if its_kind == kind)
        for kind in {kind for kind, _ in groups.values()}
    }
    assert len({share / by_class[kind] for kind, share in of_class.items()}) == 1


@pytest.mark.parametrize(
    ("node", "works"),
    [
        (task("a"), True),
        (task("a", slots=99), True),
        (task("a", capabilities=("gpu",)), True),
        (task("a", status="running"), True),
        (task("a", status="completed"), False),
        (task("a", status="blocked", blocker_reason="asks"), False),
        (task("a", approval="human_required"), False),
        (task("a", not_before=NOW + HOUR), False),
        (task("a", "b"), False),
    ],
)
def test_a_group_has_work_while_a_node_runs_or_waits_for_its_turn(node: TaskNode, *, works: bool) -> None:
    policy = SchedulePolicy(slots=1, groups={"g": GroupPolicy(quota=0)})
    assert has_work(queue_of(group("g", node), policy=policy).groups["g"]) is works


def test_a_graph_that_is_over_has_no_work() -> None:
    queue = queue_of(group("g", task("a"), status="completed"), group("h"))
    assert [has_work(queue.groups[name]) for name in "gh"] == [False, False]


def test_what_was_received_is_a_share_of_the_cost() -> None:
    charges = [
        Charged(graph_id=name, priority_class="normal", cost=cost) for name, cost in [("g", 1), ("h", 5), ("g", 2)]
    ]
    assert received(charges) == {"g": Fraction(3, 8), "h": Fraction(5, 8)}
    assert received([]) == {}
