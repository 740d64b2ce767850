"""The whole order of work: what claims in a row would get, then what follows as slots come free."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.shares import Hold, Round, Shares
from metagit_mcp.scheduling.lineup import is_in_line, lineup, reasons_behind
from tests.snapshots import ANYONE, NOW, group, lease, ledger, names, queue_of, queue_over, task

if TYPE_CHECKING:
    from metagit_mcp.scheduling.workspace import WorkspaceQueue


def lined_up(queue: WorkspaceQueue, limit: int = 100, graph_id: str | None = None) -> tuple[list[str], list[str]]:
    """The ids of those that start now, and of those that come later."""
    found = lineup(queue, ANYONE, limit, graph_id)
    return [pick.node.node_id for pick in found.now], [pick.node.node_id for pick in found.later]


def test_those_that_start_now_are_the_plan_and_the_rest_follows_in_the_same_order() -> None:
    queue = queue_over(*(task(name, priority=9 - place) for place, name in enumerate("abcd")), policy=SLOTS)
    assert lined_up(queue) == (["a", "b"], ["c", "d"])
    assert names(queue) == ["a", "b"]
    assert lined_up(queue, 3) == (["a", "b"], ["c"])
    assert lined_up(queue, 2) == (["a", "b"], [])


SLOTS = SchedulePolicy(slots=2)


def test_every_slot_taken_leaves_the_order_of_what_follows() -> None:
    work = ledger(lease("a"), lease("b"))
    queue = queue_over(*(task(name) for name in "abcd"), policy=SLOTS, work=work)
    assert lined_up(queue) == ([], ["c", "d"])
    assert lined_up(queue, graph_id="g") == ([], ["c", "d"])


def test_what_was_found_is_kept_until_something_changes() -> None:
    queue = queue_over(task("a"), task("b"))
    found = lineup(queue, ANYONE, 9)
    assert lineup(queue, ANYONE, 9) is found
    queue.follow(ledger(lease("a")), [("g", "a")])
    assert lined_up(queue, 9) == (["b"], [])


def test_what_the_starts_before_it_keep_out_comes_last_by_score() -> None:
    locked = [task(f"n{place}", exclusive=("lock",), priority=place) for place in range(4)]
    queue = queue_of(group("g", *locked), group("h", task("x", exclusive=("lock",), priority=1)))
    assert lined_up(queue) == (["n3"], ["n2", "n1", "x", "n0"])
    assert lined_up(queue, 3) == (["n3"], ["n2", "n1"])
    assert lined_up(queue, graph_id="h") == (["x"], [])


def test_what_a_quota_or_a_pause_keeps_out_is_not_in_line() -> None:
    policy = SchedulePolicy(groups={"g": GroupPolicy(quota=1)})
    queue = queue_of(group("g", task("a"), task("b"), task("wide", slots=2)), policy=policy, work=ledger(lease("a")))
    assert lined_up(queue) == ([], [])
    moment = queue.moment(ANYONE)
    assert [is_in_line(moment, "g", name) for name in ("a", "b", "wide")] == [False, False, False]


def test_a_held_node_is_in_line_though_its_group_keeps_its_quota_for_another() -> None:
    policy = SchedulePolicy(slots=9, groups={"g": GroupPolicy(quota=2)})
    shares = Shares(
        rounds={"g": Round(lacking="big", lacking_starts=3)}, holds=[Hold(graph_id="g", node_id="b", slots=1, at=NOW)]
    )
    work = replace(ledger(lease("a")), shares=shares)
    nodes = (task("a"), task("b"), task("c"), task("big", slots=2, priority=9))
    queue = queue_over(*nodes, policy=policy, work=work)
    moment = queue.moment(ANYONE)
    assert [is_in_line(moment, "g", name) for name in ("a", "b", "c", "big")] == [False, True, False, False]
    assert lined_up(queue) == (["b"], [])


def test_what_stands_against_a_node_once_those_before_it_have_started() -> None:
    queue = queue_over(*(task(name) for name in "abc"), policy=SLOTS)
    found = lineup(queue, ANYONE, 9)
    later = [(pick.graph_id, pick.node) for pick in found.later]
    told = reasons_behind(queue, ANYONE, found, later)
    assert {key: [each.text for each in reasons] for key, reasons in told.items()} == {("g", "c"): ["no_slot(2/2)"]}
    assert reasons_behind(queue, ANYONE, found, later) is told
    assert reasons_behind(queue, ANYONE, found, []) == {}
