"""A queue follows the ledger at the cost of what changed, and its answers are those of a queue built anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain.limits import AgentPolicy, ResourcePolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy, Weights
from metagit_mcp.scheduling import workspace
from metagit_mcp.scheduling.cycle import WorkspaceQueue, census, plan
from metagit_mcp.scheduling.demand import Demand
from metagit_mcp.scheduling.lane import Entry, Lane
from metagit_mcp.scheduling.moment import Moment
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import (
    ANYONE,
    HOUR,
    NOW,
    against,
    approval_of,
    around,
    closure,
    group,
    known,
    learn,
    lease,
    ledger,
    names,
    pause,
    queue_of,
    snapshot_of,
    task,
)

if TYPE_CHECKING:
    from metagit_mcp.domain.state import LedgerState
    from metagit_mcp.domain.tasks import LoadedGraph

W1, W2 = Asker(agent_id="w1"), Asker(agent_id="w2")
ANY = Demand(repository="", capabilities=frozenset(), slots=1)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The Groups that were built, one after another."""
    found: list[str] = []
    real = GroupQueue

    def building(loaded: LoadedGraph, *rest: Any) -> GroupQueue:  # noqa: ANN401 - passed on as it is
        found.append(loaded.graph_id)
        return real(loaded, *rest)

    monkeypatch.setattr(workspace, "GroupQueue", building)
    return found


class Followed:
    """A queue and the state it follows, one thing after another."""

    def __init__(self, *graphs: LoadedGraph, **fields: Any) -> None:  # noqa: ANN401 - of a snapshot
        self.work: LedgerState = fields.pop("work", None) or ledger()
        self.snapshot = snapshot_of(*graphs, work=self.work, **fields)
        self.queue = WorkspaceQueue(self.snapshot)
        self.look()

    def look(self) -> None:
        for asker in (ANYONE, W1, W2):
            plan(self.queue, asker, 2)
            census(self.queue, asker)

    def then(self, *parts: Any) -> WorkspaceQueue:  # noqa: ANN401 - what the ledger learns
        touched = {learn(self.work, part) for part in parts} - {("", "")}
        self.queue.follow(self.work, touched)
        fresh = WorkspaceQueue(replace(self.snapshot, now=self.queue.now))
        for asker in (ANYONE, W1, W2):
            assert census(self.queue, asker) == census(fresh, asker)
            assert plan(self.queue, asker, 99) == plan(fresh, asker, 99)
        for graph_id, each in fresh.groups.items():
            assert self.queue.holds(graph_id) == fresh.holds(graph_id)
            followed = self.queue.groups[graph_id]
            assert (followed.running, followed.running_slots) == (each.running, each.running_slots)
            for node_id in each.rules.shape.by_id:
                assert against(self.queue, node_id, W1, graph_id) == against(fresh, node_id, W1, graph_id)
        return self.queue


# --- lanes -----------------------------------------------------------------------------------------------------


def entries(lane: Lane) -> list[Entry | None]:
    return [lane.entry(place) for place in range(len(lane) + 1)]


@pytest.mark.parametrize("drawn", range(5))
def test_a_lane_takes_in_and_gives_out_whether_drawn_or_not(drawn: int) -> None:
    a, b, c, d = (1, 0, "a"), (2, 0, "b"), (3, 0, "c"), (4, 0, "d")
    lane = Lane(ANY, [d, b])
    for place in range(drawn):
        lane.entry(place)
    lane.put(a)
    lane.put(c)
    assert (len(lane), entries(lane)) == (4, [a, b, c, d, None])
    lane = Lane(ANY, [d, c, b, a])
    for place in range(drawn):
        lane.entry(place)
    lane.remove(b)
    lane.remove(d)
    assert len(lane) == 2
    lane.put(d)
    assert (len(lane), entries(lane)) == (3, [a, c, d, None])
    for entry in (a, c, d):
        lane.remove(entry)
    assert (len(lane), lane.entry(0)) == (0, None)
    for _ in range(3):
        lane.put(b)
        lane.remove(b)
    lane.put(b)
    assert (len(lane), entries(lane)) == (1, [b, None])


def test_a_lane_forgets_what_comes_and_goes_before_it_is_drawn() -> None:
    a, b = (1, 0, "a"), (2, 0, "b")
    lane = Lane(ANY, [a, b])
    for _ in range(3):
        lane.remove(b)
        lane.put(b)
    lane.remove(b)
    assert (len(lane), entries(lane)) == (1, [a, None])


# --- one node after another ------------------------------------------------------------------------------------


def test_a_node_on_its_way_from_start_to_end(built: list[str]) -> None:
    told = Followed(group("g", task("a", priority=5), task("b", "a"), task("c", "a", "z"), task("d")))
    built.clear()
    steps: list[tuple[Any, list[str]]] = [
        (known("a", "queued", owner="w2"), ["d"]),
        (lease("a"), ["d"]),
        (lease("a", slots=2), ["d"]),
        (known("a", "submitted"), ["d"]),
        (known("a", "completed"), ["b", "d"]),
        (known("a"), ["a", "d"]),
        (known("a", retry_at=NOW + HOUR), ["d"]),
        (known("a", "blocked", note="Ann"), ["d"]),
        (known("a", "parked", note="disk"), ["d"]),
        (known("a", "cancelled"), ["d"]),
        (known("a", released_by=("w1",)), ["a", "d"]),
    ]
    for part, expected in steps:
        assert names(told.then(part)) == expected
    assert (names(told.queue, W1), names(told.queue, W2)) == (["d", "a"], ["a", "d"])
    # Those that it is compared with.
    assert built == ["g"] * len(steps)


def test_only_the_lanes_of_the_node_are_looked_at(monkeypatch: pytest.MonkeyPatch, built: list[str]) -> None:
    nodes = [task(f"n{number:03}", repository=f"p/{number % 50}") for number in range(1_000)]
    told = Followed(group("g", *nodes), group("h", *nodes))
    built.clear()
    looked: list[tuple[str, int]] = []
    real = Moment._look_at  # noqa: SLF001 - what is counted is the work, not the answer

    def counted(self: Moment, standing: Any, place: int, **how: Any) -> None:  # noqa: ANN401 - passed on as they are
        looked.append((standing.group.graph_id, place))
        real(self, standing, place, **how)

    monkeypatch.setattr(Moment, "_look_at", counted)
    learn(told.work, lease("n000"))
    told.queue.follow(told.work, {("g", "n000")})
    # Both Groups enter alike; the one with the first name goes first, and gives its next node.
    assert names(told.queue, limit=1) == ["n001"]
    assert (looked, built) == ([("g", 0)], [])
    looked.clear()
    assert names(told.queue, limit=2, graph_id="g") == ["n001", "n002"]
    assert names(told.queue, limit=1) == ["n001"]
    # The lane of the node that was started on trial, there and back.
    assert (looked, built) == ([("g", 1), ("g", 1)], [])


@pytest.mark.parametrize("slots", [None, 1, 2, 3])
def test_slots_that_are_taken_and_freed(slots: int | None) -> None:
    policy = SchedulePolicy(slots=slots, groups={"g": GroupPolicy(quota=2)})
    told = Followed(group("g", task("a"), task("b", slots=2)), group("h", task("c"), task("d", slots=3)), policy=policy)
    for part in (
        lease("a"),
        lease("c", "w2", "h"),
        known("a"),
        lease("b", slots=2),
        known("c", graph_id="h"),
        known("b"),
    ):
        told.then(part)


def test_what_leases_hold_keeps_other_groups_away_and_lets_them_go_again() -> None:
    policy = SchedulePolicy(resources={"api": ResourcePolicy(capacity=2)})
    fields: list[dict[str, Any]] = [
        {"exclusive": ("deploy",)},
        {"touches": ("src/**",), "repository": "p/a"},
        {"uses": {"api": 2}},
        {},
    ]
    nodes = [task(f"n{number}", **each) for number, each in enumerate(fields)]
    told = Followed(group("g", *nodes), group("h", *nodes), policy=policy)
    for number, each in enumerate(fields):
        told.then(lease(f"n{number}", **each))
        expected = [f"n{other}" for other in range(4)]
        if number < 3:
            expected.remove(f"n{number}")
        assert names(told.queue, graph_id="h") == expected
        told.then(known(f"n{number}"))


def test_a_lease_elsewhere_in_a_repository_keeps_nobody_away() -> None:
    here, there = (("src/**",), ("docs/**",))
    other = task("b", repository="p/a", touches=there)
    told = Followed(group("g", task("a", repository="p/a", touches=here)), group("h", other))
    assert names(told.then(lease("a", repository="p/a", touches=here)), graph_id="h") == ["b"]


def test_a_resource_that_every_start_of_an_agent_takes_runs_out_and_comes_back() -> None:
    policy = SchedulePolicy(resources={"api": ResourcePolicy(capacity=2)}, agents={"w*": AgentPolicy(uses={"api": 1})})
    told = Followed(group("g", *(task(name, repository=f"p/{name}") for name in "abc")), policy=policy)
    assert names(told.then(lease("a", uses={"api": 1})), W1) == ["b"]
    assert names(told.then(lease("b", uses={"api": 1})), W1) == []
    assert names(told.then(known("a")), W1) == ["a"]


def test_pauses_and_closures_are_in_force_at_once_and_end_in_time() -> None:
    told = Followed(group("g", task("a", uses={"api": 1}), task("b")))
    assert names(told.then(closure("api", NOW + HOUR))) == ["b"]
    assert names(told.then(pause("agent", "w1")), W1) == []
    assert names(told.queue, W2) == ["b"]
    told.queue.go_on(NOW + HOUR)
    assert names(told.then(), W2) == ["a", "b"]
    told.work.pauses.clear()
    assert names(told.then(), W1) == ["a", "b"]


def test_an_approval_in_the_ledger_is_in_force_at_once() -> None:
    node = task("a", approval="human_required")
    told = Followed(group("g", node))
    assert names(told.then(approval_of(node))) == ["a"]


def test_a_timer_that_comes_with_an_event_is_noticed() -> None:
    told = Followed(group("g", task("a"), task("b")))
    told.queue.go_on(NOW + HOUR)
    assert names(told.then(known("a", retry_at=NOW + 2 * HOUR), known("b", retry_at=NOW + 0.5 * HOUR))) == ["b"]
    told.queue.go_on(NOW + 2 * HOUR)
    assert names(told.queue) == ["a", "b"]
    told.queue.go_on(NOW + HOUR)
    assert names(told.queue) == ["b"]
    told.queue.go_on(NOW)
    assert names(told.queue) == []


def test_work_of_nodes_that_no_file_has_holds_its_slots() -> None:
    told = Followed(group("g", task("a")), policy=SchedulePolicy(slots=1))
    assert names(told.then(lease("gone"))) == []
    assert names(told.then(known("gone"), lease("x", graph_id="lost"))) == []
    assert names(told.then(known("x", graph_id="lost"))) == ["a"]


def test_a_branch_without_an_item_takes_it_back() -> None:
    told = Followed(group("g", task("a")))
    before = told.work.branch()
    assert names(told.then(known("a", "completed"))) == []
    told.queue.follow(before, {("g", "a")})
    assert names(told.queue) == ["a"]


# --- what is built anew ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "rebuilt"),
    [
        (lease("c"), []),
        (known("c", "queued", owner="w1"), []),
        (known("c", "completed"), ["g"]),
        (known("c", "blocked", note="Ann"), ["g"]),
        (known("p", ownership_epoch=3), ["g"]),
        (known("d"), []),
    ],
)
def test_a_hierarchy_is_built_anew_only_where_it_is_felt(part: Any, rebuilt: list[str], built: list[str]) -> None:  # noqa: ANN401 - of the table
    nodes = task("p"), task("c", parent_id="p"), task("d", "p"), task("e", status="completed", parent_id="p")
    told = Followed(group("g", *nodes), group("h", task("a")))
    built.clear()
    learn(told.work, part)
    told.queue.follow(told.work, {part.key})
    assert built == rebuilt
    told.then()


def test_a_dependency_of_the_parent_that_failed_is_told_of_its_children() -> None:
    told = Followed(group("g", task("x"), task("p", "x"), task("c", parent_id="p")))
    told.then(known("x", "blocked", note="Ann"))
    assert against(told.queue, "c") == ["not_ready(parent p: unfinished x)"]
    told.then(known("x", "parked", note="disk"))
    assert against(told.queue, "c") == ["not_ready(parent p: failed x)"]


def test_an_id_that_stands_twice_is_built_anew(built: list[str]) -> None:
    told = Followed(group("g", task("a"), task("a", status="completed")))
    built.clear()
    told.then(lease("a"))
    assert built[0] == "g"


def test_runs_of_other_programs_change_what_can_ever_fit() -> None:
    row = "2026-11-29T12:30:00Z"
    told = Followed(
        group("g", task("a", status="running", updated_at=row), task("w", slots=2)),
        policy=SchedulePolicy(slots=2),
        work=ledger(known("a", "active", owner="w1", changed_at=NOW - HOUR)),
    )
    assert against(told.then(known("a", changed_at=NOW)), "w") == ["never_fits(2 slots, limit 1)", "no_slot(1/2)"]
    assert against(told.then(known("a", "completed", changed_at=NOW + HOUR)), "w") == []


def test_a_repository_that_becomes_ready_or_empty_changes_who_is_least_served() -> None:
    policy = SchedulePolicy(weights=Weights(fairness=1.0))
    nodes = task("a", repository="p/a"), task("b", repository="p/b")
    told = Followed(group("g", *nodes), policy=policy, surroundings=around(services={"p/a": 1}))
    # Once b is started, p/a is the only ready one.
    assert [pick.score for pick in plan(told.queue, ANYONE, 9).picks] == [1_325_000, 1_325_000]
    assert [pick.score for pick in plan(told.queue, ANYONE, 1, "g").picks] == [1_325_000]
    told.then(lease("b"))
    assert [pick.score for pick in plan(told.queue, ANYONE, 9).picks] == [1_325_000]


def test_another_state_is_compared_node_by_node(built: list[str]) -> None:
    graphs = [group(name, task("a", approval="human_required"), task("b")) for name in ("g", "h", "i", "j")]
    told = Followed(*graphs, work=ledger(lease("b", graph_id="i")))
    built.clear()
    other = told.work.branch()
    learn(other, lease("b", graph_id="i", slots=2))
    learn(other, known("b", "completed"))
    learn(other, approval_of(task("a", approval="human_required"), "h"))
    told.queue.refresh(replace(told.snapshot, work=other))
    assert built == ["g", "h", "i"]
    assert names(told.queue) == ["a", "b", "b"]
    assert told.queue.holdings.slots == 2


def test_who_owns_something_is_told_apart_and_all_others_share_what_they_see() -> None:
    told = Followed(group("g", task("a"), task("b")))
    shared = told.queue.moment(ANYONE)
    assert told.queue.moment(W1) is shared
    told.then(known("a", "queued", owner="w1"))
    assert told.queue.moment(W1) is not shared
    assert told.queue.moment(W2) is told.queue.moment(ANYONE) is shared
    told.then(known("a"))
    assert told.queue.moment(W1) is shared


def test_a_lane_that_is_new_joins_the_others() -> None:
    told = Followed(group("g", task("a", repository="p/a"), task("b", repository="p/b", status="completed")))
    assert names(told.then(known("b"))) == ["a", "b"]
    assert [len(lane) for lane in told.queue.groups["g"].lanes] == [1, 1]


def test_a_group_that_nobody_looked_at_yet_follows_unseen() -> None:
    told = Followed(group("g", task("a")), group("h", task("b")))
    asker = Asker(capabilities=frozenset({"new"}))
    assert names(told.queue, asker, graph_id="g") == ["a"]
    learn(told.work, lease("b", graph_id="h"))
    told.queue.follow(told.work, {("h", "b")})
    assert (names(told.queue, asker, graph_id="g"), names(told.queue, asker)) == (["a"], ["a"])


def test_skipped_lanes_follow_too() -> None:
    policy = SchedulePolicy(skip_on_merge_pressure=True)
    nodes = task("a", repository="p/a"), task("b", repository="p/a"), task("c")
    told = Followed(group("g", *nodes), policy=policy, surroundings=around(merges={"p/a": 4}))
    assert [pick.node.node_id for pick in plan(told.queue, ANYONE, 9).skipped] == ["a", "b"]
    told.then(lease("a"))
    assert [pick.node.node_id for pick in plan(told.queue, ANYONE, 9).skipped] == ["b"]
    told.then(lease("b"))
    assert plan(told.queue, ANYONE, 9).skipped == ()


def test_a_queue_without_graphs_follows_too() -> None:
    queue = queue_of()
    state = ledger(lease("a"))
    queue.follow(state, {("g", "a")})
    assert (names(queue), queue.holdings.slots) == ([], 1)
