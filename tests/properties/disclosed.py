"""Draws workloads that keep what policy assumes of them, plays them, and has estimates made on the way.

It must not know how an estimate is made. Work is played by the scheduler itself (scheduling/simulate.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from metagit_mcp.domain.charging import units_of
from metagit_mcp.domain.limits import DisclosurePolicy, PreemptionPolicy
from metagit_mcp.domain.policy import CLASSES, ClassWeights, GroupPolicy, SchedulePolicy
from metagit_mcp.domain.tasks import TaskNode, effective_slots, effective_tokens
from metagit_mcp.scheduling import cycle
from metagit_mcp.scheduling.estimate import Forecast, ScheduleEstimate
from metagit_mcp.scheduling.simulate import simulate
from metagit_mcp.scheduling.simulation.jobs import Job, wall
from metagit_mcp.scheduling.simulation.workload import Arrivals, SimulatedGroup, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from metagit_mcp.scheduling.simulation.course import Course

OWN = "own"
# Far apart, so that a light Group waits long for heavy ones.
WEIGHTS = st.sampled_from((1, 16, 2, 5))


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the Group was told of a node that did not run, or of its next start, while these nodes ran."""

    at: datetime
    node_id: str | None
    running: frozenset[str]
    estimate: ScheduleEstimate

    def begun(self, course: Course) -> datetime:
        """When what was told of began."""
        return min(
            wall(each.begin)
            for each in course.services
            if each.job.graph_id == OWN
            and wall(each.begin) >= self.at
            and self.node_id in {None, each.job.node.node_id}
            # In the same second, but before.
            and not (wall(each.begin) == self.at and each.job.node.node_id in self.running)
        )


@st.composite
def policies(draw: st.DrawFn, most_groups: int = 4) -> SchedulePolicy:
    slots = draw(st.sampled_from((1, 2, 5)))
    names = [OWN, *(f"g{number}" for number in range(draw(st.integers(0, most_groups))))]
    groups = {
        name: GroupPolicy(
            priority_class=draw(st.sampled_from(CLASSES)),
            weight=draw(WEIGHTS),
            quota=draw(st.none() | st.integers(1, slots)) if name != OWN or draw(st.booleans()) else None,
        )
        for name in names
        if name == OWN or draw(st.booleans())
    }
    return SchedulePolicy(
        slots=slots,
        classes=ClassWeights(critical=draw(WEIGHTS), high=draw(WEIGHTS), normal=draw(WEIGHTS), low=draw(WEIGHTS)),
        groups=groups,
        deadline_window=draw(st.sampled_from((0, 8))),
        class_window=draw(st.sampled_from((0, 5))),
        drain_limit=draw(st.sampled_from((0, 3))),
        pass_over_limit=draw(st.sampled_from((0, 2, 20))),
        preemption=PreemptionPolicy(
            enabled=draw(st.booleans()), min_quantum_seconds=draw(st.sampled_from((0, 60))), max_preemptions=2
        ),
        disclosure=DisclosurePolicy(
            max_groups=len(names), max_cost=draw(st.sampled_from((1, 2, 16))), seconds_per_unit=60
        ),
    )


def _job(draw: st.DrawFn, group: str, node: TaskNode, at: int, most: int) -> Job:
    """Work that costs `most` units in the end, or less, and takes no longer than is assumed of its cost."""
    slots = effective_slots(node)
    units = draw(st.integers(1, most))
    charge = units_of(slots, effective_tokens(node))
    least = node.estimated_runtime_seconds or 1
    return Job(
        graph_id=group,
        node=node,
        at=at,
        charge=charge,
        cost=slots * units,
        tokens=1000 * units,
        runtime=max(least, draw(st.sampled_from((60 * units, 30 * units, 1)))),
    )


@st.composite
def own_jobs(draw: st.DrawFn, policy: SchedulePolicy, most: int = 8) -> list[Job]:
    wide = draw(st.booleans())
    jobs, at = [], draw(st.sampled_from((0, 0, 400)))
    for number in range(draw(st.integers(1, most))):
        units = draw(st.none() | st.integers(1, 20))
        before = st.lists(st.sampled_from([f"n{each}" for each in range(number)] or ["n0"]), max_size=2, unique=True)
        node = TaskNode(
            node_id=f"n{number}",
            status="ready",
            depends_on=tuple(draw(before)) if number else (),
            estimated_tokens=None if units is None else 1000 * units,
            priority=draw(st.integers(0, 3)),
            slots=draw(st.sampled_from((None, policy.slots))) if wide else None,
            estimated_runtime_seconds=draw(st.sampled_from((None, 60, 400, 2_000))),
            repository=draw(st.sampled_from((None, "other"))),
        )
        jobs.append(_job(draw, OWN, node, at, units or policy.disclosure.max_cost))
    return jobs


@st.composite
def other_jobs(draw: st.DrawFn, policy: SchedulePolicy, prefix: str = "") -> list[Job]:
    """Work of as many other Groups as there may be; most of it, so that slots are always wanted."""
    most, found = policy.disclosure.max_cost, []
    for group in range(policy.disclosure.max_groups - 1):
        for number in range(draw(st.sampled_from((40, 1, 10)))):
            said = draw(st.none() | st.integers(1, most))
            node = TaskNode(
                node_id=f"{prefix}x{number}",
                status="ready",
                estimated_tokens=None if said is None else 1000 * said,
                priority=draw(st.sampled_from((0, 1_000))),
                requested_urgency=draw(st.sampled_from((None, "critical"))),
            )
            found.append(_job(draw, f"{prefix}g{group}", node, draw(st.sampled_from((0, 0, 0, 900))), most))
    return found


def units(group: str, nodes: int) -> list[Job]:
    """So many nodes of one unit, the first one first; each takes exactly as long as is assumed."""
    made = (
        TaskNode(node_id=f"n{number}", status="ready", estimated_tokens=1_000, priority=-number)
        for number in range(nodes)
    )
    return [Job(graph_id=group, node=node, at=0, charge=1, cost=1, tokens=1_000, runtime=60) for node in made]


def play(policy: SchedulePolicy, jobs: Sequence[Job], every: int, agents: int) -> tuple[list[Told], Course]:
    """Let all work be done; each time that so many asks were made, the Group is told of itself and of its nodes."""
    ordered = tuple(sorted(jobs, key=lambda job: job.at))
    told: list[Told] = []
    asks = 0
    real = cycle.plan

    def watched(queue: cycle.WorkspaceQueue, *question: Any) -> cycle.Plan:  # noqa: ANN401 - passed on as it is
        nonlocal asks
        group = queue.groups.get(OWN)
        if group is not None and asks % every == 0:
            forecast = Forecast(group, policy, queue.now)
            running = frozenset(node.node_id for node in group.running)
            names = [name for name in group.rules.shape.by_id if name not in running]
            told.extend(
                Told(at=queue.now, node_id=name, running=running, estimate=forecast.node(name)) for name in names
            )
            told.append(Told(at=queue.now, node_id=None, running=running, estimate=forecast.whole()))
        asks += 1
        return real(queue, *question)

    # The workload only says how many agents there are: its nodes are these.
    nobody = SimulatedGroup(graph_id="nobody", arrivals=(Arrivals(),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycle, "plan", watched)
        patch.setattr("metagit_mcp.scheduling.simulate.jobs_of", lambda *_: ordered)
        course = simulate(Workload(groups=(nobody,), agents=agents, policy=policy))
    return told, course
