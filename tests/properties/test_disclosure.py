"""Whatever other Groups do: a Group is told the same, and what it is told comes true while policy assumes enough."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagit_mcp.application.turns.disclosure import estimate
from metagit_mcp.application.turns.shared import View
from metagit_mcp.domain.limits import DisclosurePolicy, PreemptionPolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.shares import Charged, Hold, Preemption
from metagit_mcp.scheduling.estimate import Forecast
from metagit_mcp.wire.codec import line
from tests.properties.disclosed import OWN, Told, other_jobs, own_jobs, play, policies, units
from tests.snapshots import HOUR, NOW, closure, group, known, lease, ledger, pause, queue_of, task
from tests.unit.application.test_fed_graphs import image

if TYPE_CHECKING:
    from metagit_mcp.domain.state import LedgerState
    from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
    from metagit_mcp.scheduling.simulation.course import Course

OTHER_NAMES = st.sampled_from(("g0", "g1", "g9", "zz", "a"))


@given(st.data())
@settings(max_examples=settings().max_examples // 2)
def test_every_start_falls_inside_its_window(data: st.DataObject) -> None:
    policy = data.draw(policies())
    jobs = data.draw(own_jobs(policy)) + data.draw(other_jobs(policy))
    agents = (policy.slots or 1) + data.draw(st.integers(0, 3))
    assert outside(*play(policy, jobs, data.draw(st.integers(3, 9)), agents)) == []


def outside(every: list[Told], course: Course) -> list[tuple[Told, datetime]]:
    """What did not start inside the window that was told, and when it did."""
    found = []
    for told in every:
        window = told.estimate.estimated_start
        if window is not None and not window.earliest <= told.begun(course) <= window.latest:
            found.append((told, told.begun(course)))
    return found


HEAVY, NORMAL = GroupPolicy(weight=16), GroupPolicy()
CRITICAL, HIGH, LOW = (GroupPolicy(priority_class=each) for each in ("critical", "high", "low"))


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize(("own", "around"), [(NORMAL, (HEAVY, HEAVY)), (LOW, (CRITICAL, HIGH, NORMAL))])
def test_a_light_group_among_heavy_ones_waits_nearly_as_long(
    own: GroupPolicy, around: tuple[GroupPolicy, ...], slots: int
) -> None:
    names = [f"g{number}" for number in range(len(around))]
    policy = SchedulePolicy(
        slots=slots,
        groups={OWN: own, **dict(zip(names, around, strict=True))},
        deadline_window=0,
        preemption=PreemptionPolicy(enabled=False),
        disclosure=DisclosurePolicy(max_groups=1 + len(around), max_cost=1),
    )
    jobs = [*units(OWN, 6), *(job for name in names for job in units(name, 200))]
    every, course = play(policy, jobs, 9, slots)
    assert outside(every, course) == []
    last = next(told for told in every if told.node_id == "n5")
    assert last.estimate.estimated_start is not None
    # A window is rounded up to twice as much at most.
    assert (last.begun(course) - last.at) / (last.estimate.estimated_start.latest - last.at) > 0.4


# --- nothing of others -----------------------------------------------------------------------------------------------


@st.composite
def others(draw: st.DrawFn) -> tuple[list[LoadedGraph], list[Any]]:
    """Other Groups and what the ledger knows of them: their ids, sizes, order, titles, deadlines, running work."""
    graphs: list[LoadedGraph] = []
    parts: list[Any] = []
    for name in draw(st.lists(OTHER_NAMES, unique=True)):
        nodes = [
            task(
                f"{draw(st.sampled_from('xyz'))}{number}",
                title=draw(st.sampled_from(("", "secret"))),
                estimated_tokens=draw(st.none() | st.integers(0, 90_000)),
                deadline=draw(st.none() | st.just(NOW + HOUR)),
                priority=draw(st.integers(-9, 9)),
                slots=draw(st.none() | st.integers(1, 5)),
                capabilities=draw(st.none() | st.just(("python",))),
                exclusive=draw(st.none() | st.just(("key",))),
                status=draw(st.sampled_from(("ready", "running", "completed", "blocked"))),
            )
            for number in range(draw(st.integers(0, 6)))
        ]
        graphs.append(group(name, *nodes, status=draw(st.sampled_from(("active", "completed")))))
        for node in nodes:
            if draw(st.booleans()):
                held = {"slots": node.slots or 1, "exclusive": node.exclusive or ()}
                parts.append(lease(node.node_id, "w9", name, **held))
            elif draw(st.booleans()):
                parts.append(known(node.node_id, "queued", name, owner="w9"))
        parts += draw(
            st.sampled_from(([], [pause("group", name)], [pause("agent", "w9")], [closure("gpu", NOW + HOUR)]))
        )
    return graphs, parts


def view_of(policy: SchedulePolicy, own: LoadedGraph, parts: list[Any], around: tuple[list[Any], list[Any]]) -> View:
    graphs, theirs = around
    work = ledger(*theirs, *parts)
    _share(work, [each.graph_id for each in graphs])
    every = (*graphs[::2], own, *graphs[1::2])
    queue = queue_of(*every, policy=policy, work=work)
    return View(image=image(*every), policy=policy, queue=queue, now=NOW, work=work)


def _share(work: LedgerState, names: list[str]) -> None:
    """Others were charged, wait for slots, and have somebody asked to make room."""
    for name in names[:1]:
        work.shares.recent.append(Charged(graph_id=name, priority_class="normal", cost=9))
        work.shares.holds.append(Hold(graph_id=name, node_id="x0", slots=2, at=NOW))
        work.shares.preemptions["L"] = Preemption(lease_id="L", graph_id=name, node_id="x0", at=NOW)


@st.composite
def own_nodes(draw: st.DrawFn, policy: SchedulePolicy) -> list[TaskNode]:
    changed: dict[str, Any] = {
        "status": draw(st.sampled_from(("ready", "ready", "blocked"))),
        "not_before": draw(st.none() | st.just(NOW + HOUR)),
        "exclusive": draw(st.none() | st.just(("key",))),
    }
    first, *rest = [job.node for job in draw(own_jobs(policy))]
    return [replace(first, **changed), *rest]


@given(st.data())
def test_the_bytes_do_not_depend_on_other_groups(data: st.DataObject) -> None:
    policy = data.draw(policies())
    nodes = data.draw(own_nodes(policy))
    runs = data.draw(st.sampled_from((None, *(node.node_id for node in nodes))))
    parts = [] if runs is None else [replace(lease(runs, "w1", OWN), granted_at=NOW - timedelta(minutes=7))]
    one, two = (view_of(policy, group(OWN, *nodes), parts, data.draw(others())) for _ in range(2))
    for name in (None, *(node.node_id for node in nodes)):
        assert line(estimate(one, OWN, name)) == line(estimate(two, OWN, name))


# --- more of its own -------------------------------------------------------------------------------------------------


@given(st.data())
def test_more_work_of_its_own_ahead_makes_nothing_earlier(data: st.DataObject) -> None:
    policy = data.draw(policies())
    nodes = [job.node for job in data.draw(own_jobs(policy))]
    more = [
        replace(job.node, node_id=f"more-{job.node.node_id}", depends_on=()) for job in data.draw(own_jobs(policy, 3))
    ]
    # Some of it stands in the way of a node that was there before.
    needed = {nodes[-1].node_id: (*nodes[-1].depends_on, more[0].node_id)} if data.draw(st.booleans()) else {}
    grown = [replace(node, depends_on=needed.get(node.node_id, node.depends_on)) for node in nodes]
    before, after = (
        Forecast(queue_of(group(OWN, *each), policy=policy).groups[OWN], policy, NOW) for each in (nodes, grown + more)
    )
    for node in nodes:
        assert latest(before, node) <= latest(after, node)


def latest(forecast: Forecast, node: TaskNode) -> datetime:
    """The end of the window; where nobody can tell, it is as late as can be."""
    window = forecast.node(node.node_id).estimated_start
    return datetime.max.replace(tzinfo=UTC) if window is None else window.latest
