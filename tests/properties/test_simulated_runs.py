"""Whatever a workload holds: a run keeps its limits, ends, is the same twice, and nobody waits past the proven bounds.

The bounds are I5 and I6 of the scheduling rules, looked at from outside: on what was started, not on any tag.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from metagit_mcp.domain.limits import PreemptionPolicy
from metagit_mcp.domain.policy import CLASSES, ClassWeights, SchedulePolicy, quota_for
from metagit_mcp.scheduling.simulate import simulate
from metagit_mcp.scheduling.simulation.measures import measured
from metagit_mcp.scheduling.simulation.workload import Arrivals, SimulatedGroup, Workload

if TYPE_CHECKING:
    from metagit_mcp.scheduling.simulation.course import Course

WEIGHTS = st.integers(1, 16)
TOKENS = st.one_of(st.just(1_000), st.integers(0, 100_000))


@st.composite
def kinds(draw: st.DrawFn, slots: int) -> Arrivals:
    return Arrivals(
        nodes=draw(st.integers(1, 12)),
        at_seconds=draw(st.sampled_from((0, 0, 90, 900))),
        every_seconds=draw(st.sampled_from((0, 0, 45, 300))),
        runtime_seconds=draw(st.sampled_from((1, 60, 600))),
        estimated_tokens=draw(TOKENS),
        tokens=draw(st.none() | TOKENS),
        spread_percent=draw(st.sampled_from((0, 50))),
        priority=draw(st.integers(-100, 100)),
        slots=draw(st.integers(1, slots)),
        due_seconds=draw(st.none() | st.integers(-1_000, 5_000)),
        requested_urgency=draw(st.sampled_from((None, "critical", "routine"))),
    )


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    slots = draw(st.integers(1, 5))
    widest = draw(st.sampled_from((1, slots)))
    policy = SchedulePolicy(
        slots=slots,
        classes=ClassWeights(critical=draw(WEIGHTS), high=draw(WEIGHTS), normal=draw(WEIGHTS), low=draw(WEIGHTS)),
        deadline_window=draw(st.sampled_from((0, 8, 50))),
        class_window=draw(st.sampled_from((0, 5))),
        drain_limit=draw(st.sampled_from((0, 3))),
        pass_over_limit=draw(st.sampled_from((0, 2, 20))),
        preemption=PreemptionPolicy(
            enabled=draw(st.booleans()), min_quantum_seconds=draw(st.sampled_from((0, 60, 300)))
        ),
    )
    groups = tuple(
        SimulatedGroup(
            graph_id=f"g{number}",
            arrivals=tuple(draw(st.lists(kinds(widest), min_size=1, max_size=2))),
            priority_class=draw(st.sampled_from(CLASSES)),
            weight=draw(WEIGHTS),
            quota=draw(st.none() | st.integers(1, slots)),
        )
        for number in range(draw(st.integers(1, 5)))
    )
    return Workload(groups=groups, agents=draw(st.integers(1, slots + 2)), policy=policy)


def overruns(course: Course) -> list[tuple[int, str]]:
    """The seconds at which more slots were in use than the workspace or a Group may use, and of what."""
    changes = [
        (second, sign, each.job.graph_id, each.job.slots)
        for each in course.services
        for second, sign in ((each.begin, 1), (each.end, -1))
    ]
    limits = {"": course.policy.slots, **{job.graph_id: quota_for(course.policy, job.graph_id) for job in course.jobs}}
    used: Counter[str] = Counter()
    found = []
    # In one second, ends come first.
    for second, sign, graph_id, slots in sorted(changes, key=lambda change: change[:2]):
        for name in ("", graph_id):
            used[name] += sign * slots
            limit = limits[name]
            if sign > 0 and limit is not None and used[name] > limit:
                found.append((second, name))
    return found


@given(workloads(), st.integers(0, 9))
def test_a_run_keeps_its_limits_and_its_bounds(workload: Workload, seed: int) -> None:
    course = simulate(workload, seed)
    assert overruns(course) == []
    assert all(each.job.at <= each.begin for each in course.services)
    outcome = measured(course)
    assert [each.graph_id for each in outcome.groups if each.finished + each.never_fit != each.nodes] == []
    past = [(each.graph_id, each.turn, each.bound) for each in outcome.groups if each.turn.cost > each.bound.cost]
    late = [(each.graph_id, each.turn, each.bound) for each in outcome.groups if each.turn.seconds > each.bound.seconds]
    assert (past, late) == ([], [])


@given(workloads())
@settings(max_examples=settings().max_examples // 5)
def test_a_run_is_the_same_twice(workload: Workload) -> None:
    assert measured(simulate(workload, 1)) == measured(simulate(workload, 1))
