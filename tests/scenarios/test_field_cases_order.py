"""What users of comparable schedulers reported about order: priority, defaults, ties, limits (field cases, section C).

Each test has the number of its row and looks at the core alone: through the queue, the plan and the explanation.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from metagit_mcp.domain.policy import SchedulePolicy, Weights
from metagit_mcp.domain.tasks import TaskGraph, TaskNode
from metagit_mcp.errors import InvalidInput, PolicyInvalid
from metagit_mcp.scheduling.cycle import WorkspaceQueue, census, plan
from metagit_mcp.scheduling.explain import explain
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.codec import line
from metagit_mcp.wire.graph_codec import load_graph
from metagit_mcp.wire.policy_codec import policy_record, read_policy
from metagit_mcp.wire.requests import NextRequest
from tests.snapshots import (
    ANYONE,
    around,
    group,
    names,
    queue_of,
    queue_over,
    task,
)

SKIP = SchedulePolicy(skip_on_merge_pressure=True)


def after(queue: WorkspaceQueue, *nodes: TaskNode) -> list[str]:
    """The plan after the one graph changed to these nodes."""
    queue.refresh(replace(queue.snapshot, graphs={"g": group("g", *nodes)}))
    return names(queue)


def test_056_priority_decides_in_all_input_orders() -> None:
    nodes = task("a", priority=2), task("b", priority=9), task("c", priority=5)
    for order in permutations(nodes):
        assert names(queue_over(*order)) == ["b", "c", "a"]


def test_059_zero_is_a_value_and_survives_a_round_trip() -> None:
    node = task("a", priority=0, estimated_tokens=0)
    read = load_graph("g", line(TaskGraph(nodes=(node,))))
    assert read.graph == TaskGraph(nodes=(node,))
    queue = queue_of(read, group("h", task("b", priority=-1)))
    assert names(queue) == ["a", "b"]
    assert read_policy({"weights": {"priority": 0}}).weights == Weights(priority=0.0)


def test_061_equal_nodes_leave_in_the_order_of_their_ids() -> None:
    waiting: list[TaskNode] = [task(f"n{number:03}") for number in range(5)]
    queue = queue_over(*waiting)
    served: list[str] = []
    for number in range(5, 30):
        served += names(queue, limit=1)
        waiting = [*(node for node in waiting if node.node_id not in served), task(f"n{number:03}")]
        after(queue, *waiting)
    assert served == [f"n{number:03}" for number in range(25)]


def test_062_age_never_works_backwards() -> None:
    old = task("old", priority=4, updated_at="2026-11-27T11:00:00+00:00")
    fresh = [task(f"n{hour}", priority=0, updated_at=f"2026-11-29T{hour:02}:00:00+00:00") for hour in range(24)]
    assert names(queue_over(*fresh, old), limit=1) == ["old"]


def test_064_without_a_guard_the_order_is_that_of_the_rfc_alone() -> None:
    queue = queue_over(task("low"), *(task(f"n{number:02}", priority=9) for number in range(30)))
    assert names(queue)[-1] == "low"
    assert not [each for each in explain(queue, ANYONE, "g", "low").reasons if each.startswith("passed_over")]


@pytest.mark.parametrize(
    "policy", [SchedulePolicy(), SKIP, SchedulePolicy(slots=7), SchedulePolicy(weights=Weights(cost=0))]
)
def test_065_limit_1_is_the_first_of_all(policy: SchedulePolicy) -> None:
    nodes = [task(f"n{number}", priority=number * 7 % 5, repository=f"p/{number % 3}") for number in range(20)]
    queue = queue_over(*nodes, policy=policy, surroundings=around(merges={"p/1": 3}))
    everything = names(queue)
    assert [names(queue, limit=limit) for limit in (1, 2, 5)] == [everything[:limit] for limit in (1, 2, 5)]


def test_067_blocked_nodes_do_not_fill_the_window() -> None:
    blocked = [task(f"n{number}", "ready", priority=9) for number in range(10)]
    assert names(queue_over(*blocked, task("ready")), limit=1) == ["ready"]


def test_068_a_skipped_node_does_not_use_up_the_limit() -> None:
    nodes = task("a", priority=10, repository="p/a"), task("b", priority=1, repository="p/b")
    found = plan(queue_over(*nodes, policy=SKIP, surroundings=around(merges={"p/a": 3})), ANYONE, 1)
    assert [[pick.node.node_id for pick in picks] for picks in (found.picks, found.skipped)] == [["b"], ["a"]]


@pytest.mark.parametrize("status", ["deferred", "blocked", "review", "pinned", "unknown", "in_progress", "READY", ""])
def test_070_no_other_status_is_actionable_in_any_view(status: str) -> None:
    queue = queue_over(task("a", status=status))
    counted = census(queue, ANYONE)
    assert (names(queue), counted.ready, counted.runnable) == ([], 0, 0)
    assert len(queue.holds("g").for_person) == 1


def test_071_a_completed_node_is_in_no_later_answer() -> None:
    queue = queue_over(task("a"), task("b"))
    assert names(queue, limit=1) == ["a"]
    assert after(queue, task("a", status="completed"), task("b")) == ["b"]


def test_073_the_successor_of_the_finished_node_is_seen_at_once() -> None:
    first = [task("1", priority=1), task("2", "1", priority=2), task("3", "2", priority=3)]
    queue = queue_of(group("g", *first), group("h", *first), policy=SchedulePolicy(slots=1))
    done = group("g", replace(first[0], status="completed"), *first[1:])
    queue.refresh(replace(queue.snapshot, graphs={**queue.snapshot.graphs, "g": done}))
    assert [(pick.graph_id, pick.node.node_id) for pick in plan(queue, ANYONE, 1).picks] == [("g", "2")]


def test_074_the_order_that_is_shown_is_the_order_of_dispatch() -> None:
    nodes = {f"n{number}": task(f"n{number}", priority=number % 3, estimated_tokens=number) for number in range(12)}
    queue = queue_over(*nodes.values())
    shown = names(queue)
    dispatched = []
    while names(queue):
        dispatched += names(queue, limit=1)
        nodes[dispatched[-1]] = replace(nodes[dispatched[-1]], status="completed")
        after(queue, *nodes.values())
    assert dispatched == shown


def test_076_among_equals_the_node_that_holds_back_most_goes_first() -> None:
    held = [task(f"h{number}", "b") for number in range(5)]
    assert names(queue_over(task("a"), task("b"), *held), limit=1) == ["b"]
    diamond = task("a"), task("b", "a"), task("c", "a"), task("d", "b", "c")
    assert queue_over(*diamond).groups["g"].ranks == {"a": 3_000, "b": 2_000, "c": 2_000, "d": 1_000}


BAD_POLICIES = (
    ('{"weights": {"priority": -1}}', "weights/priority"),
    ('{"weights": {"priority": 1e999}}', "weights/priority"),
    ('{"weights": {"priorty": 1}}', "weights/priorty"),
    ('{"merge_queue_threshold": 0}', "merge_queue_threshold"),
)


@pytest.mark.parametrize(("text", "field"), BAD_POLICIES)
def test_077_a_bad_policy_names_its_field(text: str, field: str) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        read_policy(policy_record(text.encode()))
    assert refused.value.details == {"field": field}


@pytest.mark.parametrize("limit", [0, -1, "x", 101, True, 1.9])
def test_077_a_bad_limit_names_its_field(limit: Any) -> None:  # noqa: ANN401 - any JSON
    with pytest.raises(InvalidInput) as refused:
        parse_request(NextRequest, {"limit": limit})
    assert refused.value.details == {"field": "limit"}
