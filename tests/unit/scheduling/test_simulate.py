"""A run goes through the plan and the decider of real work, in virtual time, and is the same every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain.limits import AgentPolicy, LeasePolicy, PreemptionPolicy, ResourcePolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.scheduling import cycle
from metagit_mcp.scheduling.simulate import simulate
from metagit_mcp.scheduling.simulation.workload import Arrivals, SimulatedGroup, Workload

if TYPE_CHECKING:
    from metagit_mcp.scheduling.simulation.course import Course
    from metagit_mcp.scheduling.snapshot import Asker

# Without a window only tags decide, and of equal tags the better head.
STRICT = SchedulePolicy(deadline_window=0)


def brings(graph_id: str, *arrivals: Arrivals, **fields: Any) -> SimulatedGroup:  # noqa: ANN401 - any field of a Group
    return SimulatedGroup(graph_id=graph_id, arrivals=arrivals, **fields)


def workload(*groups: SimulatedGroup, **fields: Any) -> Workload:  # noqa: ANN401 - any field of a workload
    named = {"agents": 1, "policy": STRICT, **fields}
    return Workload(groups=groups, **named)


def order(made: Course) -> str:
    """The Groups in the order of their starts, each as one letter."""
    return "".join(each.job.graph_id for each in made.services)


def times(made: Course) -> list[tuple[str, int, int]]:
    return [(f"{each.job.graph_id}/{each.job.node.node_id}", each.begin, each.end) for each in made.services]


# --- what a run is made of -----------------------------------------------------------------------------------------


def test_a_run_asks_the_plan_of_real_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> cycle.Plan:
        raise AssertionError("the plan was asked")

    monkeypatch.setattr(cycle, "plan", broken)
    with pytest.raises(AssertionError, match="the plan was asked"):
        simulate(workload(brings("a", Arrivals())))


def test_a_run_takes_what_the_plan_says(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def nothing(_: cycle.WorkspaceQueue, asker: Asker, limit: int) -> cycle.Plan:
        asked.append(f"{asker.agent_id} {limit}")
        return cycle.Plan(picks=(), skipped=())

    monkeypatch.setattr(cycle, "plan", nothing)
    made = simulate(workload(brings("a", Arrivals(), Arrivals(at_seconds=30)), agents=2))
    # Both times the first agent gets nothing, and the other one is like it.
    assert (made.services, made.end, asked) == ((), 30, ["agent-1 1", "agent-1 1"])


def test_each_step_of_a_small_run() -> None:
    made = simulate(
        workload(
            brings("a", Arrivals(nodes=3, runtime_seconds=40, estimated_tokens=2_500, tokens=7_000)),
            brings("b", Arrivals(nodes=2, at_seconds=10, every_seconds=55, runtime_seconds=5)),
            agents=2,
        )
    )
    assert times(made) == [
        ("a/n00001", 0, 40),
        ("a/n00002", 0, 40),
        ("b/n00001", 40, 45),
        ("a/n00003", 40, 80),
        ("b/n00002", 65, 70),
    ]
    assert [(each.charge, each.cost, each.is_last) for each in made.services] == [
        (3, 7, True),
        (3, 7, True),
        (1, 1, True),
        (3, 7, True),
        (1, 1, True),
    ]
    assert (made.agents, made.policy.slots, made.end, made.limit, len(made.jobs)) == (2, 2, 80, None, 5)


def test_a_run_that_is_cut_off() -> None:
    made = simulate(workload(brings("a", Arrivals(nodes=4, runtime_seconds=40)), duration_seconds=80, agents=1))
    assert times(made) == [("a/n00001", 0, 40), ("a/n00002", 40, 80)]
    assert (made.services[1].is_last, made.end, made.limit) == (True, 80, 80)
    made = simulate(workload(brings("a", Arrivals(nodes=4, runtime_seconds=40)), duration_seconds=79, agents=1))
    assert times(made) == [("a/n00001", 0, 40), ("a/n00002", 40, 79)]
    assert (made.services[1].is_last, made.end) == (False, 79)


def test_what_never_fits_never_starts() -> None:
    made = simulate(workload(brings("a", Arrivals(slots=3)), brings("b", Arrivals(slots=2)), agents=2))
    assert times(made) == [("b/n00001", 0, 60)]


def test_agents_that_may_hold_nothing_do_not_ask() -> None:
    policy = SchedulePolicy(slots=4, agents={"agent-[13]": AgentPolicy(slots=0)})
    made = simulate(workload(brings("a", Arrivals(nodes=4)), agents=3, policy=policy))
    assert [each.begin for each in made.services] == [0, 60, 120, 180]


def test_each_agent_asks_for_itself_where_policy_tells_them_apart() -> None:
    # Every lease of the first agent takes two units of the account, of which there is one.
    policy = SchedulePolicy(
        agents={"agent-1": AgentPolicy(uses={"account": 2})}, resources={"account": ResourcePolicy(capacity=1)}
    )
    made = simulate(workload(brings("a", Arrivals(nodes=2)), agents=2, policy=policy))
    assert [each.begin for each in made.services] == [0, 60]


def test_finished_nodes_leave_the_graph_when_more_come() -> None:
    made = simulate(workload(brings("a", Arrivals(nodes=200, every_seconds=60, runtime_seconds=60))))
    assert [(each.begin, each.end) for each in made.services] == [(60 * n, 60 * n + 60) for n in range(200)]


def test_review_does_not_stop_a_run() -> None:
    policy = SchedulePolicy(groups={"a": GroupPolicy(review=True)})
    made = simulate(workload(brings("a", Arrivals(nodes=2)), policy=policy))
    assert times(made) == [("a/n00001", 0, 60), ("a/n00002", 60, 120)]


# --- preemption ----------------------------------------------------------------------------------------------------


LONG = Arrivals(runtime_seconds=1_000, estimated_tokens=10_000)


def room_for(*urgent: Arrivals, **preemption: Any) -> Course:  # noqa: ANN401 - any field of the preemption policy
    """One slot, which long work of the class low has, and urgent work that comes later; a second agent waits."""
    rules = PreemptionPolicy(**{"min_quantum_seconds": 60, **preemption})
    policy = SchedulePolicy(slots=1, preemption=rules, leases=LeasePolicy(start_by_seconds=100))
    groups = (brings("low", LONG, priority_class="low"), brings("urgent", *urgent, priority_class="critical"))
    return simulate(workload(*groups, agents=2, policy=policy))


def test_work_is_paused_for_work_that_is_further_behind() -> None:
    made = room_for(Arrivals(at_seconds=10))
    assert times(made) == [("low/n00001", 0, 60), ("urgent/n00001", 60, 120), ("low/n00001", 120, 1_060)]
    # 600 of 10,000 tokens are used in the first minute, and the rest when the work goes on.
    assert [(each.charge, each.cost, each.is_last) for each in made.services] == [
        (10, 1, False),
        (1, 1, True),
        (10, 10, True),
    ]


def test_nobody_is_asked_to_pause_where_the_policy_says_so() -> None:
    assert times(room_for(Arrivals(at_seconds=10), enabled=False)) == [
        ("low/n00001", 0, 1_000),
        ("urgent/n00001", 1_000, 1_060),
    ]


def test_a_short_quantum_does_not_keep_a_run_from_its_end() -> None:
    # The work is over before it could be asked, and nothing happens at that instant any more.
    made = room_for(Arrivals(at_seconds=1_000, runtime_seconds=90))
    assert (times(made)[-1], made.end) == (("urgent/n00001", 1_000, 1_090), 1_090)


def test_paused_work_that_is_not_gone_on_with_is_anybodys() -> None:
    made = room_for(Arrivals(at_seconds=10), Arrivals(at_seconds=70, runtime_seconds=300))
    assert times(made) == [
        ("low/n00001", 0, 60),
        ("urgent/n00001", 60, 120),
        ("urgent/n00002", 120, 420),
        ("low/n00001", 420, 1_360),
    ]


# --- the same every time -------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_course_and_another_one_another() -> None:
    drawn = Arrivals(nodes=30, every_seconds=50, estimated_tokens=20_000, tokens=30_000, spread_percent=80)
    one = workload(brings("a", drawn), brings("b", drawn), agents=3)
    assert simulate(one, 5) == simulate(one, 5)
    assert simulate(one, 5) != simulate(one, 6)


# --- fair shares by hand -------------------------------------------------------------------------------------------


def test_weights_of_one_and_three_by_hand() -> None:
    made = simulate(
        workload(brings("a", Arrivals(nodes=4), weight=1), brings("b", Arrivals(nodes=12), weight=3)), seed=0
    )
    # Tags by start, in units: a enters at 1 and goes up by 1, b at 1/3 and by 1/3; of equal tags the lower node id.
    assert order(made) == "bbabbbabbbabbbab"
    assert {(each.charge, each.end - each.begin) for each in made.services} == {(1, 60)}


def test_what_was_used_counts_not_what_was_said() -> None:
    said_less = Arrivals(nodes=6, estimated_tokens=1_000, tokens=3_000)
    made = simulate(workload(brings("a", said_less), brings("b", Arrivals(nodes=18))))
    # a is corrected by 2 at each end, so that b starts three times in between.
    assert order(made)[:16] == "abbbabbbabbbabbb"


def test_by_score_alone_the_higher_priority_goes_first() -> None:
    policy = SchedulePolicy(ordering="score")
    made = simulate(workload(brings("a", Arrivals(nodes=3)), brings("b", Arrivals(nodes=3, priority=1)), policy=policy))
    assert order(made) == "bbbaaa"
