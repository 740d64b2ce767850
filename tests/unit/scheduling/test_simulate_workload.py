"""What a seed draws of a workload, the policy of a run, and the workloads that are there already."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest

from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy, class_of, weight_of
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.scheduling.simulate import simulate
from metagit_mcp.scheduling.simulation.jobs import START, Job, fits_at_all, jobs_of, wall
from metagit_mcp.scheduling.simulation.lots import Lots
from metagit_mcp.scheduling.simulation.measures import measured
from metagit_mcp.scheduling.simulation.presets import PRESETS, preset
from metagit_mcp.scheduling.simulation.workload import (
    MOST_NODES,
    Arrivals,
    SimulatedGroup,
    Workload,
    nodes_of,
    policy_in_force,
)

# --- lots ----------------------------------------------------------------------------------------------------------


def test_lots_are_the_same_for_the_same_seed_and_name() -> None:
    def draws(seed: int, name: int) -> list[int]:
        lots = Lots(seed, name)
        return [lots.between(0, 10**9) for _ in range(5)]

    assert draws(3, 1) == draws(3, 1)
    assert len({tuple(draws(seed, name)) for seed in range(10) for name in range(10)}) == 100


def test_every_number_is_drawn_about_as_often() -> None:
    lots = Lots(0)
    drawn = Counter(lots.between(-2, 2) for _ in range(10_000))
    assert sorted(drawn) == [-2, -1, 0, 1, 2]
    assert all(1_850 < times < 2_150 for times in drawn.values())


def test_a_spread_reaches_both_ends_and_none_draws_nothing() -> None:
    lots = Lots(0)
    assert {lots.around(20, 10) for _ in range(200)} == {18, 19, 20, 21, 22}
    before = Lots(1)
    assert [before.around(20, 0), before.around(4, 10), before.between(0, 99)] == [20, 4, Lots(1).between(0, 99)]


# --- nodes ---------------------------------------------------------------------------------------------------------


def test_the_nodes_of_a_workload() -> None:
    made = jobs_of(
        Workload(
            groups=(
                SimulatedGroup(
                    graph_id="a",
                    arrivals=(
                        Arrivals(nodes=2, at_seconds=5, every_seconds=10, estimated_tokens=1_500, tokens=0, slots=2),
                        Arrivals(due_seconds=-60, priority=3, requested_urgency="high", tokens=9_001),
                    ),
                ),
                SimulatedGroup(graph_id="b", arrivals=(Arrivals(at_seconds=5, runtime_seconds=7),)),
            )
        ),
        0,
    )
    late = TaskNode(
        node_id="n00003",
        status="ready",
        priority=3,
        estimated_tokens=1_000,
        deadline=START - timedelta(minutes=1),
        requested_urgency="high",
    )

    def wide(node_id: str) -> TaskNode:
        return TaskNode(node_id=node_id, status="ready", estimated_tokens=1_500, slots=2)

    only = TaskNode(node_id="n00001", status="ready", estimated_tokens=1_000)
    assert made == (
        Job(graph_id="a", node=late, at=0, charge=1, cost=10, tokens=9_001, runtime=60, due=-60),
        # Nothing is reported of them, so nothing is corrected.
        Job(graph_id="a", node=wide("n00001"), at=5, charge=4, cost=4, tokens=0, runtime=60),
        Job(graph_id="b", node=only, at=5, charge=1, cost=1, tokens=1_000, runtime=7),
        Job(graph_id="a", node=wide("n00002"), at=15, charge=4, cost=4, tokens=0, runtime=60),
    )
    assert [each.slots for each in made] == [1, 2, 1, 2]


def test_what_is_drawn_stays_in_its_spread() -> None:
    kind = Arrivals(
        nodes=300, every_seconds=10, runtime_seconds=1, estimated_tokens=1_000, tokens=2_000, spread_percent=100
    )
    made = jobs_of(Workload(groups=(SimulatedGroup(graph_id="a", arrivals=(kind,)),)), 1)
    steps = {after.at - before.at for before, after in pairwise(made)}
    assert steps == set(range(21))
    # Work takes a second at least.
    assert {each.runtime for each in made} == {1, 2}
    assert {each.charge for each in made} == {1, 2}
    assert {each.cost for each in made} == {1, 2, 3, 4}


def test_a_second_past_every_date_is_the_last_instant() -> None:
    assert wall(10**12) == wall(10**13)


@pytest.mark.parametrize(("slots", "quota", "fits"), [(2, None, True), (3, None, False), (2, 1, False), (2, 2, True)])
def test_what_fits_at_all(slots: int, quota: int | None, fits: bool) -> None:  # noqa: FBT001 - a column of the table
    policy = SchedulePolicy(slots=2, groups={"a": GroupPolicy(quota=quota)})
    kind = Arrivals(slots=slots)
    (made,) = jobs_of(Workload(groups=(SimulatedGroup(graph_id="a", arrivals=(kind,)),)), 0)
    assert fits_at_all(made, policy) is fits
    assert fits_at_all(made, SchedulePolicy()) is True


# --- policy --------------------------------------------------------------------------------------------------------


def test_groups_say_for_themselves_what_the_policy_does_not() -> None:
    one = (Arrivals(),)
    made = policy_in_force(
        Workload(
            agents=3,
            groups=(
                SimulatedGroup(graph_id="a", arrivals=one, priority_class="high"),
                SimulatedGroup(graph_id="b", arrivals=one, quota=0, weight=5),
                SimulatedGroup(graph_id="c", arrivals=one),
            ),
            policy=SchedulePolicy(groups={"a": GroupPolicy(weight=2, review=True), "c": GroupPolicy(quota=1)}),
        )
    )
    assert made == SchedulePolicy(
        slots=3,
        groups={
            "a": GroupPolicy(weight=2, review=True, priority_class="high"),
            "b": GroupPolicy(weight=5, quota=0),
            "c": GroupPolicy(quota=1),
        },
    )


def test_the_slots_of_the_policy_count() -> None:
    named = Workload(agents=3, groups=(SimulatedGroup(graph_id="a", arrivals=(Arrivals(),)),))
    assert policy_in_force(named).slots == 3
    assert policy_in_force(Workload(agents=3, groups=named.groups, policy=SchedulePolicy(slots=2))).slots == 2


# --- presets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_follows_from_its_seed(name: str) -> None:
    made = preset(name, 4)
    assert made == preset(name, 4)
    assert 0 < nodes_of(made) <= MOST_NODES
    assert jobs_of(made, 4) == jobs_of(made, 4) != jobs_of(made, 5)


def test_the_thousand_groups_have_everything() -> None:
    made = preset("thousand-groups", 0)
    policy, jobs = policy_in_force(made), jobs_of(made, 0)
    names = [each.graph_id for each in made.groups]
    assert {class_of(policy, name) for name in names} == {"critical", "high", "normal", "low"}
    assert {weight_of(policy, name) for name in names} == set(range(1, 17))
    assert {1, 2, 1_000} <= {min(1_000, each.charge) for each in jobs}
    assert preset("thousand-groups", 1) != made


@pytest.mark.no_cover
@pytest.mark.parametrize("name", [name for name in PRESETS if name != "thousand-groups"])
def test_nobody_starves_in_a_preset(name: str) -> None:
    made = preset(name)
    for each in measured(simulate(made)).groups:
        assert each.turn.cost <= each.bound.cost, each.graph_id
        assert each.turn.seconds <= each.bound.seconds, each.graph_id
