"""One Group's queue: lanes, counts, timers; and a workspace of them that follows changes at their own cost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from metagit_mcp.domain.limits import AgentPolicy
from metagit_mcp.domain.policy import AffinityPolicy, GroupPolicy, SchedulePolicy, WeightOverride, Weights
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.scheduling import workspace
from metagit_mcp.scheduling.capabilities import asker_for
from metagit_mcp.scheduling.cycle import WorkspaceQueue, census, plan
from metagit_mcp.scheduling.demand import Demand, demand_of
from metagit_mcp.scheduling.lane import Lane
from metagit_mcp.scheduling.moment import Moment
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.quiet import Quiet, quiet_between
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.terms import cold_from
from tests.snapshots import (
    ANYONE,
    HOUR,
    NOW,
    against,
    approval_of,
    around,
    group,
    names,
    queue_of,
    queue_over,
    snapshot_of,
    task,
    tree,
)

ANY = Demand(repository="", capabilities=frozenset(), slots=1)


def test_a_lane_draws_each_entry_once_best_first() -> None:
    lane = Lane(ANY, [(3, 0, "c"), (1, 0, "a"), (2, 0, "b")])
    assert len(lane) == 3
    assert [lane.entry(place) for place in (1, 0, 2, 3, 1)] == [
        (2, 0, "b"),
        (1, 0, "a"),
        (3, 0, "c"),
        None,
        (2, 0, "b"),
    ]
    assert len(lane) == 3
    assert Lane(ANY, []).entry(0) is None


def test_nodes_that_need_the_same_share_a_lane_however_it_is_spelt() -> None:
    nodes = (
        task("a", repository="p/a", capabilities=("x", "y")),
        task("b", repository="A.git", project="P", capabilities=("y", "x", "x"), slots=1),
        task("c", repository="p/a"),
        task("d", repository="p/a", capabilities=()),
        task("e", repository="p/a", slots=2),
    )
    lanes = queue_over(*nodes).groups["g"].lanes
    assert [(lane.demand, len(lane)) for lane in lanes] == [
        (Demand(repository="p/a", capabilities=frozenset("xy"), slots=1), 2),
        (Demand(repository="p/a", capabilities=frozenset(), slots=1), 2),
        (Demand(repository="p/a", capabilities=frozenset(), slots=2), 1),
    ]
    assert demand_of(nodes[0]) == demand_of(nodes[1]) == lanes[0].demand


def test_what_a_group_says_of_itself() -> None:
    nodes = (
        task("a", deadline=NOW + 30 * HOUR),
        task("b", not_before=NOW + HOUR),
        task("c", "a", status="ready"),
        task("r2", status="running", slots=2),
        task("r1", status="running"),
        task("d", status="completed", deadline=NOW + HOUR, not_before=NOW + HOUR),
        task("e", approval="human_required", status="blocked"),
    )
    policy = SchedulePolicy(groups={"g": GroupPolicy(quota=9)})
    found = queue_over(*nodes, policy=policy).groups["g"]
    assert dict(found.first_reasons) == {"deferred": 1, "not_ready": 1, "observed": 2, "finished": 1, "blocked": 1}
    assert (found.ready_count, found.running_slots, found.quota) == (2, 3, 9)
    assert [node.node_id for node in found.running] == ["r1", "r2"]
    assert (found.top_rank, found.ranks["a"]) == (2000, 2000)
    assert found.quiet == Quiet(until=NOW + HOUR)


@pytest.mark.parametrize("loaded", [LoadedGraph(graph_id="g", graph=None), group("g")])
def test_a_graph_without_nodes_offers_nothing(loaded: LoadedGraph) -> None:
    queue = queue_of(loaded)
    found = queue.groups["g"]
    assert (list(found.lanes), found.ready_count, found.top_rank, found.quiet) == ([], 0, 0, Quiet())
    assert (names(queue), queue.holds("g").for_person) == ([], ())


def test_what_runs_in_an_inactive_graph_takes_no_slots() -> None:
    policy = SchedulePolicy(slots=1)
    queue = queue_of(group("g", task("a")), group("h", task("r", status="running"), status="completed"), policy=policy)
    assert queue.groups["h"].running_slots == 0
    assert names(queue) == ["a"]


# --- time ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hours", "quiet"),
    [
        ((), Quiet()),
        ((0,), Quiet(since=NOW)),
        ((1,), Quiet(until=NOW + HOUR)),
        ((-2, -1, 1, 2), Quiet(since=NOW - HOUR, until=NOW + HOUR)),
    ],
)
def test_the_time_in_which_no_timer_lies(hours: tuple[int, ...], quiet: Quiet) -> None:
    assert quiet_between((NOW + each * HOUR for each in hours), NOW) == quiet
    assert quiet.holds_at(NOW)
    if quiet.since is not None:
        assert [quiet.holds_at(quiet.since), quiet.holds_at(quiet.since - timedelta(microseconds=1))] == [True, False]
    if quiet.until is not None:
        assert [quiet.holds_at(quiet.until), quiet.holds_at(quiet.until - timedelta(microseconds=1))] == [False, True]


def test_time_alone_makes_a_node_eligible_and_a_clock_that_goes_back_takes_it_again() -> None:
    before = snapshot_of(group("g", task("a", not_before=NOW + HOUR)))
    queue = WorkspaceQueue(before)
    for hours, expected in ((0, []), (1, ["a"]), (0, []), (2, ["a"]), (-1, [])):
        queue.go_on(NOW + hours * HOUR)
        assert names(queue) == expected


def test_only_groups_whose_time_came_are_built_again() -> None:
    graphs = group("g", task("a", not_before=NOW + HOUR)), group("h", task("b", not_before=NOW + 2 * HOUR))
    before = snapshot_of(*graphs, group("i", task("c")))
    queue = WorkspaceQueue(before)
    groups = dict(queue.groups)
    queue.refresh(replace(before, now=NOW + HOUR))
    assert [name for name in groups if queue.groups[name] is not groups[name]] == ["g"]


def test_a_worktree_grows_cold_and_one_without_an_end_does_not() -> None:
    policy = SchedulePolicy(affinity=AffinityPolicy(max_age_seconds=3_600))
    trees = (
        tree("p/a", updated_at=NOW),
        tree("p/b", updated_at=None),
        tree("p/c", updated_at=datetime.max.replace(tzinfo=UTC)),
    )
    nodes = [task(name, repository=f"p/{name}") for name in "abc"]
    before = snapshot_of(group("g", *nodes), policy=policy, surroundings=around(*trees))
    queue = WorkspaceQueue(before)
    assert names(queue) == ["a", "b", "c"]
    queue.refresh(replace(before, now=NOW + HOUR))
    assert names(queue) == ["b", "c", "a"]
    queue.refresh(replace(before, now=NOW + HOUR - timedelta(microseconds=1)))
    assert names(queue) == ["a", "b", "c"]
    assert [cold_from(each, 3_600) for each in trees] == [NOW + HOUR, None, None]
    assert cold_from(trees[0], None) is None


# --- following changes -----------------------------------------------------------------------------------------

A, B = task("a", repository="p/a"), task("b", repository="p/b", priority=1)
POLICIES: list[tuple[SchedulePolicy, list[str]]] = [
    (SchedulePolicy(), ["b", "a"]),
    (SchedulePolicy(slots=1), ["b"]),
    (SchedulePolicy(weights=Weights(priority=0)), ["a", "b"]),
    (SchedulePolicy(merge_queue_threshold=1), ["a", "b"]),
    (SchedulePolicy(merge_queue_threshold=1, merge_pressure_penalty=0.25), ["b", "a"]),
    (SchedulePolicy(merge_queue_threshold=1, skip_on_merge_pressure=True), ["a"]),
    (SchedulePolicy(graph_overrides={"g": WeightOverride(priority=0.0)}), ["a", "b"]),
    (SchedulePolicy(groups={"g": GroupPolicy(quota=0)}), []),
    (SchedulePolicy(weights=Weights(fairness=2.0)), ["a", "b"]),
    (SchedulePolicy(weights=Weights(affinity=2.0)), ["a", "b"]),
    (SchedulePolicy(weights=Weights(affinity=2.0), affinity=AffinityPolicy(scope="agent")), ["b", "a"]),
]


@pytest.mark.parametrize("start", range(len(POLICIES)))
def test_another_policy_is_in_force_at_once(start: int) -> None:
    surroundings = around(tree("p/a"), merges={"p/b": 1}, services={"p/b": 1})
    before = snapshot_of(group("g", A, B), policy=POLICIES[start][0], surroundings=surroundings)
    queue = WorkspaceQueue(before)
    for policy, expected in POLICIES[start:] + POLICIES[: start + 1]:
        queue.refresh(replace(before, policy=policy))
        assert names(queue) == expected


def test_surroundings_are_in_force_at_once() -> None:
    before = snapshot_of(group("g", A, replace(B, priority=0)))
    queue = WorkspaceQueue(before)
    for surroundings, expected in ((around(), ["a", "b"]), (around(tree("p/b")), ["b", "a"]), (around(), ["a", "b"])):
        queue.refresh(replace(before, surroundings=surroundings))
        assert names(queue) == expected


def test_approvals_are_in_force_at_once_and_end_with_their_graph() -> None:
    gated = task("a", approval="human_required")
    before = snapshot_of(group("g", gated), group("h", B))
    queue = WorkspaceQueue(before)
    for approvals, expected in (({}, ["b"]), ({"g": (approval_of(gated),), "gone": ()}, ["b", "a"]), ({}, ["b"])):
        queue.refresh(replace(before, approvals=approvals))
        assert names(queue) == expected
    queue.refresh(replace(before, approvals={"g": (approval_of(gated),)}, graphs={"h": before.graphs["h"]}))
    assert names(queue) == ["b"]


def test_graphs_that_come_change_and_go() -> None:
    before = snapshot_of(group("g", A))
    queue = WorkspaceQueue(before)
    assert names(queue) == ["a"]
    for graphs, expected in (
        ({"g": group("g", A), "h": group("h", B)}, ["b", "a"]),
        ({"h": group("h", B)}, ["b"]),
        ({"h": group("h", replace(B, status="running"))}, []),
        ({}, []),
    ):
        queue.refresh(replace(before, graphs=graphs))
        assert names(queue) == expected
        assert sorted(queue.groups) == sorted(graphs)
        assert census(queue, ANYONE).runnable == len(expected)


def test_a_start_elsewhere_takes_its_slot_from_every_group() -> None:
    policy = SchedulePolicy(slots=1)
    before = snapshot_of(group("g", A), group("h", B), policy=policy)
    queue = WorkspaceQueue(before)
    assert (names(queue), against(queue, "a")) == (["b"], [])
    running = {**before.graphs, "h": group("h", replace(B, status="running"))}
    queue.refresh(replace(before, graphs=running))
    assert (names(queue), against(queue, "a")) == ([], ["no_slot(1/1)"])


def test_a_repository_that_becomes_ready_changes_who_is_least_served() -> None:
    policy = SchedulePolicy(weights=Weights(fairness=1.0))
    served = around(services={"p/a": 1, "p/b": 1})
    before = snapshot_of(group("g", A), group("h", replace(B, priority=0)), policy=policy, surroundings=served)
    queue = WorkspaceQueue(before)
    picks = plan(queue, ANYONE, 9).picks
    assert [pick.score for pick in picks] == [1_325_000, 1_325_000]
    fresh = {**before.graphs, "i": group("i", task("c", repository="p/c"))}
    queue.refresh(replace(before, graphs=fresh))
    assert [(pick.node.node_id, pick.score) for pick in plan(queue, ANYONE, 9).picks] == [
        ("c", 1_325_000),
        # Once c is started, p/a and p/b are the ready ones that were served least.
        ("a", 1_325_000),
        ("b", 1_325_000),
    ]


def test_who_needs_a_person_is_asked_anew_after_a_change() -> None:
    before = snapshot_of(group("g", task("a", "gone")))
    queue = WorkspaceQueue(before)
    first = queue.holds("g").for_person
    assert [each.node.node_id for each in first] == ["a"]
    assert queue.holds("g").for_person is first
    queue.refresh(replace(before, graphs={"g": group("g", task("a"))}))
    assert queue.holds("g").for_person == ()


def test_a_change_of_one_group_looks_at_that_group_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = {f"g{number}": group(f"g{number}", task("a", repository=f"p/{number}")) for number in range(50)}
    before = snapshot_of(*graphs.values())
    queue = WorkspaceQueue(before)
    assert (len(names(queue)), census(queue, ANYONE).runnable) == (50, 50)
    looked: list[str] = []
    real = Moment._stand  # noqa: SLF001 - what is counted is the work, not the answer

    def counted(self: Moment, found: Any) -> Any:  # noqa: ANN401 - passed on as it is
        looked.append(found.graph_id)
        return real(self, found)

    monkeypatch.setattr(Moment, "_stand", counted)
    built: list[str] = []
    real_build = GroupQueue

    def building(loaded: LoadedGraph, *rest: Any) -> Any:  # noqa: ANN401 - passed on as it is
        built.append(loaded.graph_id)
        return real_build(loaded, *rest)

    monkeypatch.setattr(workspace, "GroupQueue", building)
    changed = {**graphs, "g7": group("g7", task("a", status="completed"), task("b", priority=9))}
    queue.refresh(replace(before, graphs=changed))
    assert (names(queue)[0], len(names(queue)), census(queue, ANYONE).runnable) == ("b", 50, 50)
    assert (looked, built) == (["g7"], ["g7"])
    queue.refresh(replace(before, graphs=changed, now=NOW + HOUR))
    assert (len(names(queue)), looked, built) == (50, ["g7"], ["g7"])


# --- who asks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent_id", "claimed", "can"),
    [
        ("", None, frozenset()),
        ("", frozenset({"gpu"}), frozenset({"gpu"})),
        ("other", frozenset({"gpu"}), frozenset({"gpu"})),
        ("w1", None, frozenset({"gpu", "write"})),
        ("w1", frozenset({"gpu", "root"}), frozenset({"gpu"})),
        ("w1", frozenset(), frozenset()),
        ("none", frozenset({"gpu"}), frozenset()),
    ],
)
def test_what_an_agent_claims_can_only_narrow_what_policy_grants(
    agent_id: str, claimed: frozenset[str] | None, can: frozenset[str]
) -> None:
    policy = SchedulePolicy(agents={"w*": AgentPolicy(capabilities=("gpu", "write")), "none": AgentPolicy()})
    assert asker_for(policy, agent_id, claimed) == Asker(agent_id=agent_id, capabilities=can)


def test_own_worktrees_count_for_their_agent_alone() -> None:
    policy = SchedulePolicy(affinity=AffinityPolicy(scope="agent"))
    trees = around(tree("p/b", agent_id="w1"), tree("p/a"))
    queue = queue_over(A, replace(B, priority=0), policy=policy, surroundings=trees)
    assert [names(queue, Asker(agent_id=agent_id)) for agent_id in ("", "w1", "w2")] == [
        ["a", "b"],
        ["b", "a"],
        ["a", "b"],
    ]
    assert [pick.score for pick in plan(queue, ANYONE, 2).picks] == [325_000, 325_000]


def test_a_path_that_is_gone_makes_nothing_warm_unless_policy_says_so() -> None:
    trees = around(tree("p/b", on_disk=False))
    for require_path, expected in ((True, ["a", "b"]), (False, ["b", "a"])):
        policy = SchedulePolicy(affinity=AffinityPolicy(require_path=require_path))
        assert names(queue_over(A, replace(B, priority=0), policy=policy, surroundings=trees)) == expected


def test_agents_that_see_the_same_share_one_moment_and_few_are_kept() -> None:
    queue = queue_over(A, *(task(f"n{number}", capabilities=(str(number),)) for number in range(64)))
    assert queue.moment(Asker(agent_id="w1")) is queue.moment(Asker(agent_id="w2")) is queue.moment(ANYONE)
    first = queue.moment(ANYONE)
    assert queue.moment(Asker(capabilities=frozenset({"of no node"}))) is first
    for number in range(64):
        queue.moment(Asker(capabilities=frozenset({str(number)})))
    assert queue.moment(ANYONE) is not first
    assert len(queue._moments) == 64  # noqa: SLF001 - the bound is on what is kept
