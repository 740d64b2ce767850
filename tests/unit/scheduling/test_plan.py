"""Plans: limits, slots and quotas between picks, what merge pressure holds back, one Group or all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.scheduling.cycle import Pick, Plan, WorkspaceQueue, plan
from metagit_mcp.scheduling.lane import Lane
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import ANYONE, around, group, lease, ledger, names, orders, queue_of, queue_over, task

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import TaskNode

SKIP = SchedulePolicy(skip_on_merge_pressure=True)


def skipped(queue: WorkspaceQueue, limit: int = 100, graph_id: str | None = None) -> list[str]:
    return [pick.node.node_id for pick in plan(queue, ANYONE, limit, graph_id).skipped]


def test_a_pick_says_graph_node_and_exact_score() -> None:
    node = task("a", priority=2)
    assert plan(queue_over(node), ANYONE, 1) == Plan(
        picks=(Pick(graph_id="g", node=node, score=2_325_000, is_turn=True),), skipped=()
    )


def test_an_empty_workspace_has_an_empty_plan() -> None:
    assert plan(queue_of(), ANYONE, 5) == Plan(picks=(), skipped=())


@pytest.mark.parametrize("nodes", orders((task("a", priority=2), task("b", priority=9), task("c", priority=5))))
def test_priority_decides_in_every_input_order(nodes: tuple[TaskNode, ...]) -> None:
    assert names(queue_over(*nodes)) == ["b", "c", "a"]


def test_a_plan_changes_nothing() -> None:
    queue = queue_over(*(task(f"n{number}") for number in range(9)), policy=SchedulePolicy(slots=4))
    first = plan(queue, ANYONE, 3)
    assert [plan(queue, ANYONE, limit).picks for limit in (9, 1, 3)] == [
        plan(queue, ANYONE, 4).picks,
        first.picks[:1],
        first.picks,
    ]


def test_a_narrow_node_passes_no_wide_one_of_its_own_group_and_those_of_others() -> None:
    """7. What does not fit is held: its Group is set aside, and others go on until slots are kept."""
    nodes = task("wide", priority=9, slots=3), task("a", priority=5, slots=2), task("b", slots=1), task("c", slots=1)
    queue = queue_over(*nodes, task("r", status="running"), policy=SchedulePolicy(slots=4))
    assert names(queue) == ["wide"]
    queue = queue_over(*nodes, policy=SchedulePolicy(slots=4))
    assert names(queue) == ["wide"]
    queue = queue_over(*nodes, policy=SchedulePolicy(slots=5))
    assert names(queue) == ["wide", "a"]
    other = group("h", task("x", priority=-1), task("y", priority=-1))
    queue = queue_of(group("g", *nodes), other, policy=SchedulePolicy(slots=4))
    assert (names(queue), names(queue, graph_id="g")) == (["wide", "x"], ["wide"])
    queue = queue_of(group("g", *nodes), other, policy=SchedulePolicy(slots=4, drain_limit=0))
    assert names(queue) == ["wide"]


def test_a_quota_stops_its_group_and_no_other() -> None:
    policy = SchedulePolicy(groups={"g": GroupPolicy(quota=2)})
    many = [task(f"a{number}", priority=9) for number in range(5)]
    queue = queue_of(group("g", *many), group("h", task("b"), task("c")), policy=policy)
    assert names(queue) == ["a0", "a1", "b", "c"]
    assert names(queue, graph_id="g") == ["a0", "a1"]
    assert names(queue, graph_id="h") == ["b", "c"]


def test_slots_stop_a_plan_of_one_group_too() -> None:
    policy = SchedulePolicy(slots=2)
    queue = queue_of(group("g", task("a"), task("b")), group("h", task("r", status="running")), policy=policy)
    assert names(queue, graph_id="g") == ["a"]
    assert names(queue, graph_id="h") == []


def test_what_an_asker_cannot_do_is_not_in_its_plan() -> None:
    queue = queue_over(task("a", priority=9, capabilities=("gpu",)), task("b"))
    assert names(queue) == ["b"]
    assert names(queue, Asker(capabilities=frozenset({"gpu"}))) == ["a", "b"]


# --- merge pressure --------------------------------------------------------------------------------------------

PRESSED = task("a", priority=10, repository="p/a"), task("b", priority=1, repository="p/b")


def test_a_skipped_node_never_uses_up_the_limit() -> None:
    queue = queue_over(*PRESSED, policy=SKIP, surroundings=around(merges={"p/a": 3}))
    found = plan(queue, ANYONE, 1)
    assert [pick.node.node_id for pick in found.picks] == ["b"]
    assert [(pick.node.node_id, pick.score) for pick in found.skipped] == [("a", 8_325_000)]


def test_under_pressure_without_skipping_the_penalty_counts() -> None:
    queue = queue_over(*PRESSED, surroundings=around(merges={"p/a": 3}))
    assert [(pick.node.node_id, pick.score) for pick in plan(queue, ANYONE, 9).picks] == [
        ("a", 8_325_000),
        ("b", 1_325_000),
    ]
    assert skipped(queue) == []


def test_the_best_of_what_is_skipped_across_lanes_and_groups() -> None:
    merges = {"p/a": 3, "p/b": 4}
    one = [task(f"a{number}", priority=number, repository="p/a") for number in range(4)]
    other = [task(f"b{number}", priority=number, repository="p/b") for number in range(4)]
    queue = queue_of(group("g", *one, *other), group("h", *other), policy=SKIP, surroundings=around(merges=merges))
    assert skipped(queue, 1) == ["a3"]
    assert skipped(queue, 4) == ["a3", "b3", "b3", "a2"]
    assert len(skipped(queue)) == 12
    assert skipped(queue, 3, graph_id="h") == ["b3", "b2", "b1"]
    assert names(queue) == []


def test_what_is_skipped_for_another_reason_first_is_not_told_as_pressure() -> None:
    queue = queue_over(
        task("a", repository="p/a", capabilities=("gpu",)), policy=SKIP, surroundings=around(merges={"p/a": 3})
    )
    assert (skipped(queue), names(queue)) == ([], [])


def test_skipped_nodes_follow_a_change() -> None:
    surroundings = around(merges={"p/a": 3})
    queue = queue_over(*PRESSED, policy=SKIP, surroundings=surroundings)
    assert skipped(queue) == ["a"]
    queue.refresh(replace(queue.snapshot, graphs={"g": group("g", PRESSED[1])}))
    assert skipped(queue) == []


# --- nothing is walked through ---------------------------------------------------------------------------------


def test_a_plan_draws_only_what_it_picks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One runnable node behind 10,000 that this asker may not take: their lanes are judged, not their nodes."""
    gated = [task(f"g{number:05}", priority=9, capabilities=("gpu",)) for number in range(5_000)]
    gated += [task(f"h{number:05}", priority=9, approval="human_required") for number in range(5_000)]
    queue = queue_over(*gated, task("one"))
    drawn: list[int] = []
    real = Lane.entry

    def counted(self: Lane, place: int) -> tuple[int, int, str] | None:
        drawn.append(place)
        return real(self, place)

    monkeypatch.setattr(Lane, "entry", counted)
    assert names(queue, limit=1) == ["one"]
    assert drawn == [0]
    assert names(queue, limit=2) == ["one"]
    # Its lane is looked at again once it is started on trial; for the others nothing changed.
    assert drawn == [0, 0]


def test_the_same_question_is_answered_once_until_something_changes() -> None:
    queue = queue_over(*(task(f"n{number}") for number in range(4)))
    first = plan(queue, ANYONE, 2)
    assert plan(queue, ANYONE, 2) is first
    # Another question in between, which tries out starts of its own, takes nothing of that away.
    assert (plan(queue, ANYONE, 4).picks[:2], plan(queue, ANYONE, 2) is first) == (first.picks, True)
    for number in range(64):
        assert plan(queue, Asker(agent_id=f"w{number}"), 2) == first
    again = plan(queue, ANYONE, 2)
    assert (again == first, again is first) == (True, False)
    state = ledger(lease("n0"))
    queue.follow(state, {("g", "n0")})
    assert names(queue, limit=2) == ["n1", "n2"]
