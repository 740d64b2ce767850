"""What a run is worth is worked out by hand for courses that are written down here, without any scheduler."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

import pytest

from metagit_mcp.domain.policy import ClassWeights, GroupPolicy, SchedulePolicy
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.scheduling.simulation.bounds import Bound, bounds_of
from metagit_mcp.scheduling.simulation.course import Course, Service
from metagit_mcp.scheduling.simulation.jobs import Job
from metagit_mcp.scheduling.simulation.measures import measured, quantiles
from metagit_mcp.scheduling.simulation.outcome import Deadlines, GroupOutcome, Quantiles, Step, Turn

PLAIN = SchedulePolicy(slots=1, deadline_window=0)


def job(graph_id: str, number: int, at: int = 0, **fields: Any) -> Job:  # noqa: ANN401 - any field of a job
    """A node of one unit and ten seconds, but for what is named."""
    slots = fields.pop("slots", 1)
    charge = fields.pop("charge", 1)
    named = {"cost": charge, "tokens": 1_000 * charge, "runtime": 10, **fields}
    node = TaskNode(node_id=f"n{number}", slots=slots)
    return Job(graph_id=graph_id, node=node, at=at, charge=charge, **named)


def service(each: Job, begin: int, *, end: int | None = None, is_last: bool = True) -> Service:
    """The whole work on a node in one go, from a second on, or the part up to `end`."""
    until = begin + each.runtime if end is None else end
    return Service(job=each, begin=begin, end=until, charge=each.charge, cost=each.cost, is_last=is_last)


def course(*services: Service, waiting: tuple[Job, ...] = (), policy: SchedulePolicy = PLAIN, **fields: Any) -> Course:  # noqa: ANN401 - any field of a course
    """A course of one agent with these services, and nodes that never start."""
    jobs = {id(each): each for each in (*(each.job for each in services), *waiting)}
    end = max((each.end for each in services), default=0)
    named = {"agents": 1, "end": end, **fields}
    return Course(
        policy=policy, jobs=tuple(sorted(jobs.values(), key=lambda each: each.at)), services=services, **named
    )


def groups_of(made: Course) -> dict[str, GroupOutcome]:
    return {each.graph_id: each for each in measured(made).groups}


# --- shares, waits, turns ------------------------------------------------------------------------------------------


# While both had work, 2 units were started and b got both; a then got the 2 that were left, alone.
TURNS = (
    GroupOutcome(
        graph_id="a",
        priority_class="normal",
        weight=1,
        nodes=2,
        started=2,
        finished=2,
        paused=0,
        never_fit=0,
        cost=2,
        received=2,
        dispatched=4,
        backlogs=1,
        expected=Fraction(2, 4) + 2,
        wait_seconds=Quantiles(p50=20, p95=30, most=30),
        wait_dispatches=Quantiles(p50=2, p95=2, most=2),
        turn=Turn(dispatches=2, cost=2, seconds=20),
        # c = 1 for both: 3·1/1 + 1 of others inside the class, and the largest slack once more.
        bound=Bound(cost=Fraction(5), seconds=60),
        deadlines=Deadlines(),
    ),
    GroupOutcome(
        graph_id="b",
        priority_class="normal",
        weight=3,
        nodes=2,
        started=2,
        finished=2,
        paused=0,
        never_fit=0,
        cost=2,
        received=2,
        dispatched=2,
        backlogs=1,
        expected=Fraction(2 * 3, 4),
        wait_seconds=Quantiles(p50=0, p95=10, most=10),
        wait_dispatches=Quantiles(),
        turn=Turn(seconds=10),
        bound=Bound(cost=Fraction(1, 3) + 1 + 1, seconds=40),
        deadlines=Deadlines(),
    ),
)


def test_two_groups_that_take_turns() -> None:
    a1, a2, b1, b2 = job("a", 1), job("a", 2), job("b", 1), job("b", 2)
    policy = SchedulePolicy(slots=1, deadline_window=0, groups={"b": GroupPolicy(weight=3)})
    outcome = measured(course(service(b1, 0), service(b2, 10), service(a1, 20), service(a2, 30), policy=policy))
    assert outcome.groups == TURNS
    # a received 4/5 of what its weights give, b 4/3: (32/15)² / 2·(16/25 + 16/9), on millionths.
    assert outcome.jain == Fraction((800_000 + 1_333_333) ** 2, 2 * (800_000**2 + 1_333_333**2))
    assert outcome.deadlines == Deadlines()


def test_classes_divide_before_their_groups_do() -> None:
    policy = SchedulePolicy(
        slots=1,
        classes=ClassWeights(high=6, normal=2),
        groups={"urgent": GroupPolicy(priority_class="high"), "b": GroupPolicy(weight=3)},
    )
    rows = [job(name, number) for number in (1, 2) for name in ("urgent", "a", "b")]
    starts = tuple(service(each, 10 * place) for place, each in enumerate(rows[:3]))
    found = groups_of(course(*starts, waiting=tuple(rows[3:]), policy=policy))
    assert {name: (each.received, each.dispatched, each.expected) for name, each in found.items()} == {
        "urgent": (1, 3, Fraction(3 * 6, 8)),
        "a": (1, 3, Fraction(3 * 2, 8 * 4)),
        "b": (1, 3, Fraction(3 * 2 * 3, 8 * 4)),
    }


def test_who_waits_at_the_end_has_waited_until_then() -> None:
    a1, b1, b2 = job("a", 1, charge=3), job("b", 1, at=4), job("b", 2, at=20)
    found = groups_of(course(service(a1, 0), waiting=(b1, b2), end=15, limit=15))
    # What would come after the end never came.
    assert (found["b"].nodes, found["b"].started, found["b"].finished, found["b"].cost) == (2, 0, 0, 0)
    assert (found["b"].received, found["b"].dispatched, found["b"].expected) == (0, 0, Fraction(0))
    assert (found["b"].wait_seconds, found["b"].turn) == (Quantiles(p50=11, p95=11, most=11), Turn(seconds=11))


def test_a_correction_counts_as_work_of_its_group() -> None:
    a1, a2 = job("a", 1, charge=1, cost=5), job("a", 2)
    b1 = job("b", 1)
    found = groups_of(course(service(a1, 0), service(a2, 10), service(b1, 20)))
    # For b the others worked 1 + 4 + 1 units; what it is to be paid by is known from the start.
    assert found["b"].turn == Turn(dispatches=2, cost=6, seconds=20)
    assert (found["b"].received, found["b"].dispatched, found["b"].expected) == (
        1,
        7,
        Fraction(5 + 1, 2) + 1,
    )
    assert (found["a"].cost, found["a"].turn) == (6, Turn(seconds=10))


def test_a_group_at_its_quota_is_owed_nothing() -> None:
    policy = SchedulePolicy(slots=2, groups={"a": GroupPolicy(quota=1)})
    a1, a2 = job("a", 1, runtime=30), job("a", 2)
    b = [job("b", number) for number in range(1, 5)]
    services = (service(a1, 0), *(service(each, 10 * place) for place, each in enumerate(b)), service(a2, 30))
    # Starts of one second stand in their order.
    services = tuple(sorted(services, key=lambda each: each.begin))
    found = groups_of(course(*services, policy=policy, agents=2))
    # At second 30 the quota is free again, b starts first: the only start of another while a could have started.
    assert found["a"].turn == Turn(dispatches=1, cost=1, seconds=0)
    assert (found["a"].received, found["a"].dispatched) == (2, 3)
    assert found["a"].wait_seconds == Quantiles(p50=0, p95=30, most=30)


def test_a_quota_waits_for_the_widest_node() -> None:
    policy = SchedulePolicy(slots=4, groups={"a": GroupPolicy(quota=3)})
    narrow, wide, other = job("a", 1, runtime=20), job("a", 2, slots=3), job("a", 3)
    found = groups_of(course(service(narrow, 0), service(other, 5), service(wide, 20), policy=policy, agents=2))
    # What starts while the wide one lacks quota is none of the backlog.
    assert (found["a"].turn, found["a"].cost, found["a"].received, found["a"].dispatched) == (Turn(), 3, 2, 2)


def test_a_node_that_never_fits_is_no_backlog() -> None:
    policy = SchedulePolicy(slots=2, groups={"a": GroupPolicy(quota=1)})
    nodes = (job("a", 1, slots=2), job("b", 1, slots=3))
    found = groups_of(course(waiting=nodes, policy=policy))
    assert {name: (each.nodes, each.never_fit, each.started) for name, each in found.items()} == {
        "a": (1, 1, 0),
        "b": (1, 1, 0),
    }
    assert {(each.bound, each.wait_seconds, each.expected) for each in found.values()} == {
        (Bound(cost=Fraction(0), seconds=0), Quantiles(), Fraction(0))
    }
    assert measured(course(waiting=nodes, policy=policy)).jain is None


def test_work_that_made_room_waits_again() -> None:
    a1, b1 = job("a", 1, runtime=20), job("b", 1, at=5)
    part = service(a1, 0, end=8, is_last=False)
    found = groups_of(course(part, service(b1, 8), service(a1, 18, end=30)))
    assert (found["a"].started, found["a"].finished, found["a"].paused) == (1, 1, 1)
    assert found["a"].wait_seconds == Quantiles(p50=0, p95=10, most=10)
    assert found["a"].turn == Turn(dispatches=1, cost=1, seconds=10)


def test_work_that_made_room_at_once_waits_again() -> None:
    a1, b1 = job("a", 1), job("b", 1)
    found = groups_of(course(service(a1, 0, end=0, is_last=False), service(b1, 0), service(a1, 10)))
    assert (found["a"].cost, found["a"].paused, found["a"].wait_seconds) == (2, 1, Quantiles(p50=0, p95=10, most=10))
    assert (found["b"].turn, found["b"].received) == (Turn(dispatches=1, cost=1), 1)


def test_work_that_is_cut_off_does_not_wait() -> None:
    a1 = job("a", 1, runtime=50)
    found = groups_of(course(service(a1, 0, end=30, is_last=False), end=30, limit=30))
    assert (found["a"].started, found["a"].finished, found["a"].paused) == (1, 0, 0)
    assert found["a"].wait_seconds == Quantiles()


# --- stretches of the run ------------------------------------------------------------------------------------------


def test_the_stretches_of_a_run() -> None:
    a1, b1, a2 = job("a", 1, runtime=60), job("b", 1, at=1, runtime=40), job("a", 2, at=61, runtime=20)
    steps = measured(course(service(a1, 0), service(b1, 60), service(a2, 100), end=120, limit=120)).steps
    assert [step.until for step in steps] == list(range(2, 121, 2))
    got = [(step.until, step.received, step.expected) for step in steps if step.received or step.expected]
    assert got == [(2, {"a": 1}, {"a": Fraction(1)}), (60, {"b": 1}, {"b": Fraction(1)}), (100, {"a": 1}, {"a": 1})]
    # Who waits does so longer at the end of each stretch, until its start.
    assert [step.longest_wait for step in steps] == [
        {"a": 0, "b": 1},
        *({"b": second} for second in range(3, 60, 2)),
        *({"a": second} for second in range(1, 40, 2)),
        *({} for _ in range(10)),
    ]


def test_a_wait_that_the_end_cuts_off_is_in_the_last_stretch() -> None:
    a1, b1 = job("a", 1, runtime=90), job("b", 1, at=10)
    steps = measured(course(service(a1, 0, end=60, is_last=False), waiting=(b1,), end=60, limit=60)).steps
    assert (steps[-1].until, steps[-1].longest_wait) == (60, {"b": 50})


def test_nothing_at_all_is_one_stretch() -> None:
    assert measured(course(waiting=(job("a", 1, slots=2),))).steps == (Step(until=0),)


# --- deadlines -----------------------------------------------------------------------------------------------------


def test_deadlines_against_both_baselines() -> None:
    first, second, third = job("a", 1, due=30), job("b", 1, due=20), job("a", 2, due=10)
    outcome = measured(course(service(first, 0), service(second, 10), service(third, 20)))
    # EDF: third, second, first, all in time. FIFO: by Group and number as they stand, like here.
    assert {each.graph_id: each.deadlines for each in outcome.groups} == {
        "a": Deadlines(due=2, missed=1, missed_by_edf=0, missed_by_fifo=1),
        "b": Deadlines(due=1, missed=0, missed_by_edf=0, missed_by_fifo=0),
    }
    assert outcome.deadlines == Deadlines(due=3, missed=1, missed_by_edf=0, missed_by_fifo=1)


def test_a_deadline_after_the_cut_says_nothing() -> None:
    late, open_ended = job("a", 1, due=15), job("a", 2, due=40)
    hopeless = job("a", 3, at=5, due=14)
    made = course(waiting=(late, open_ended, hopeless), end=20, limit=20)
    assert measured(made).deadlines == Deadlines(due=1, missed=1, missed_by_edf=0, missed_by_fifo=0)
    assert measured(course(waiting=(late, open_ended), end=20)).deadlines == Deadlines(
        due=2, missed=2, missed_by_edf=0, missed_by_fifo=0
    )


# --- bounds --------------------------------------------------------------------------------------------------------


def test_the_bounds_of_two_levels_by_hand() -> None:
    policy = SchedulePolicy(
        slots=2,
        deadline_window=5,
        class_window=1,
        classes=ClassWeights(high=8, normal=4),
        groups={"u": GroupPolicy(priority_class="high", weight=2), "b": GroupPolicy(weight=3)},
    )
    jobs = [job("u", 1, charge=7), job("a", 1, charge=2, cost=4, runtime=30), job("b", 1, charge=10, cost=6)]
    # e = 2 and D = 2: c = 7 + 4, 2 + 4, 10 + 4; c_max = 14. The classes weigh 8 and 4.
    within = {"u": Fraction(0), "a": 3 * (10 + Fraction(6)) + 14, "b": 1 * (10 + Fraction(14, 3)) + 6}
    across = {
        "u": (within["u"] + 14) * Fraction(12, 8) + 4 * (Fraction(14, 8) + 2) + 14,
        "a": (within["a"] + 14) * Fraction(12, 4) + 8 * (Fraction(14, 4) + 2) + 14,
        "b": (within["b"] + 14) * Fraction(12, 4) + 8 * (Fraction(14, 4) + 2) + 14,
    }
    # c_min = 2, two at once, the longest run is 30 seconds.
    assert bounds_of(policy, 2, jobs) == {
        name: Bound(cost=cost, seconds=30 * (ceil(Fraction(ceil(cost / 2), 2)) + 1)) for name, cost in across.items()
    }


def test_wide_nodes_loosen_the_bounds() -> None:
    policy = SchedulePolicy(slots=4, deadline_window=0, drain_limit=3)
    jobs = [job("a", 1), job("b", 1, slots=4, charge=4)]
    # c = 1 + 3·4 and 4 + 3·4; each Group waits for the other, and for the largest slack of its class.
    assert bounds_of(policy, 2, jobs) == {
        # 45 starts, two at once; the one wide node adds a run.
        "a": Bound(cost=Fraction(13 + 16 + 16), seconds=10 * (23 + 1 + 1)),
        "b": Bound(cost=Fraction(16 + 13 + 16), seconds=10 * (23 + 1 + 1)),
    }


def test_a_workload_without_nodes_has_no_bounds() -> None:
    assert bounds_of(PLAIN, 1, []) == {}


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([], (0, 0, 0)),
        ([7], (7, 7, 7)),
        ([2, 1], (1, 2, 2)),
        (range(1, 101), (50, 95, 100)),
        (range(1, 22), (11, 20, 21)),
    ],
)
def test_quantiles_by_nearest_rank(numbers: list[int], expected: tuple[int, int, int]) -> None:
    found = quantiles(numbers)
    assert (found.p50, found.p95, found.most) == expected
