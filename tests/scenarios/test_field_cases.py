"""What users of comparable schedulers reported, in our terms: dependencies, order, time, gates.

Each test has the number of its row in the field cases (sections B, C, D and G, and N13) and looks at the core alone:
through the queue, the plan and the explanation. Rows about tools, files and leases are tested where those are.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.domain.policy import AffinityPolicy, GroupPolicy, SchedulePolicy
from metagit_mcp.scheduling.cycle import WorkspaceQueue, census, plan
from metagit_mcp.scheduling.explain import decision, explain
from metagit_mcp.scheduling.lane import Lane
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.graph_codec import load_graph
from metagit_mcp.wire.requests import StatusRequest
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

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import TaskNode

SKIP = SchedulePolicy(skip_on_merge_pressure=True)


def after(queue: WorkspaceQueue, *nodes: TaskNode) -> list[str]:
    """The plan after the one graph changed to these nodes."""
    queue.refresh(replace(queue.snapshot, graphs={"g": group("g", *nodes)}))
    return names(queue)


# --- B. ready set ----------------------------------------------------------------------------------------------


def test_023_a_blocked_node_is_not_ready() -> None:
    queue = queue_over(task("a", "b"), task("b"))
    assert names(queue) == ["b"]
    assert after(queue, task("a", "b"), task("b", status="completed")) == ["a"]


def test_025_a_depends_on_b_makes_b_come_first() -> None:
    assert names(queue_over(task("a", "b", priority=9), task("b"))) == ["b"]
    assert names(queue_over(task("b", "a"), task("a", priority=9))) == ["a"]


def test_026_a_child_waits_for_the_dependency_of_its_parent() -> None:
    nodes = task("e1"), task("e2", "e1"), task("c", parent_id="e2")
    queue = queue_over(*nodes)
    assert names(queue) == ["e1"]
    assert against(queue, "c") == ["not_ready(parent e2: unfinished e1)"]
    assert after(queue, replace(nodes[0], status="completed"), *nodes[1:]) == ["c"]


def test_028_a_container_is_offered_when_no_child_is_open() -> None:
    nodes = task("epic", priority=9), task("c", parent_id="epic")
    queue = queue_over(*nodes)
    assert names(queue) == ["c"]
    assert after(queue, nodes[0], replace(nodes[1], status="completed")) == ["epic"]


@pytest.mark.parametrize("status", ["pending", "ready", "running", "blocked", "completed", "cancelled", "review"])
def test_029_next_and_explain_agree_on_the_child_of_any_parent(status: str) -> None:
    queue = queue_over(task("p", status=status), task("c", parent_id="p"))
    assert (names(queue) == ["c"]) is (against(queue, "c") == [])
    assert names(queue) == (["c"] if status in {"pending", "ready", "running", "completed"} else [])


def test_031_both_directions_between_parent_and_child_follow_one_rule() -> None:
    down = queue_over(task("p", "c"), task("c", parent_id="p"))
    assert (names(down), down.holds("g").for_person) == (["c"], ())
    up = queue_over(task("p"), task("c", "p", parent_id="p"))
    assert names(up) == []
    assert [each.reason.text for each in up.holds("g").for_person] == ["not_ready(cycle c -> p -> c)"] * 2


def test_032_every_view_has_one_answer() -> None:
    statuses = ("pending", "completed", "cancelled", "running", "blocked")
    for a, b, c in permutations(statuses, 3):
        nodes = task("a", status=a), task("b", "a", status=b), task("c", "b", status=c)
        queue = queue_over(*nodes)
        explained = [node.node_id for node in nodes if not explain(queue, ANYONE, "g", node.node_id).against]
        assert names(queue) == explained
        assert census(queue, ANYONE).runnable == len(explained)


def test_035_a_node_with_several_dependencies_appears_once() -> None:
    done = [task(name, status="completed") for name in "xyz"]
    queue = queue_over(task("a", "x", "y", "z", "x"), *done)
    assert names(queue) == ["a"]
    assert census(queue, ANYONE).runnable == 1


def test_040_a_cancelled_child_is_resolved_and_a_cancelled_dependency_is_not() -> None:
    queue = queue_over(task("p"), task("c", parent_id="p", status="cancelled"), task("d", "c"))
    assert names(queue) == ["p"]
    assert against(queue, "d") == ["not_ready(cancelled c)"]


def test_041_what_waits_for_a_cancelled_node_is_told_as_stuck() -> None:
    nodes = task("a", status="cancelled"), task("b", "a", status="running"), task("c", "b")
    queue = queue_over(*nodes)
    assert against(queue, "c") == ["not_ready(unfinished b)"]
    after(queue, nodes[0], replace(nodes[1], status="cancelled"), nodes[2])
    assert [(each.node.node_id, each.reason.text) for each in queue.holds("g").for_person] == [
        ("c", "not_ready(cancelled b)")
    ]


def test_043_readiness_does_not_wait_for_an_agent() -> None:
    queue = queue_over(task("r", status="running"), task("a", "d"), task("d"), policy=SchedulePolicy(slots=1))
    assert census(queue, ANYONE).ready == 1
    after(queue, task("r", status="running"), task("a", "d"), task("d", status="completed"))
    counted = census(queue, ANYONE)
    assert (counted.ready, counted.runnable, dict(counted.not_eligible)) == (
        1,
        0,
        {"observed": 1, "no_slot": 1, "finished": 1},
    )


def test_044_the_first_answer_after_a_completion_has_the_dependent() -> None:
    queue = queue_over(task("1"), task("2", "1"))
    assert names(queue, limit=1) == ["1"]
    assert after(queue, task("1", status="completed"), task("2", "1")) == ["2"]


def test_046_every_asker_of_equal_powers_gets_the_same_first_node() -> None:
    queue = queue_over(task("a", "b", priority=9), task("b"), task("c"))
    askers = (ANYONE, Asker(agent_id="w1"), Asker(agent_id="w2", capabilities=frozenset({"gpu"})))
    assert [names(queue, asker, limit=1) for asker in askers] == [["b"]] * 3


def test_050_every_id_that_is_offered_is_accepted_as_an_argument() -> None:
    ids = ["a", "A-1", "...", "задача", "名前", "é-1", "x" * 255, "½", "..", "e\u0301", "a b", " pad "]
    raw = json.dumps({"nodes": [{"node_id": node_id} for node_id in ids]}).encode()
    queue = queue_of(load_graph("g", raw))
    offered = names(queue)
    assert sorted(offered) == sorted(["a", "A-1", "...", "задача", "名前", "é-1", "x" * 255, "pad"])
    for node_id in offered:
        request = parse_request(StatusRequest, {"node_id": node_id, "graph_id": "g"})
        assert explain(queue, ANYONE, str(request.graph_id), str(request.node_id)).against == ()


def test_055_a_circle_or_a_lost_dependency_is_named_not_run() -> None:
    queue = queue_over(task("a", "a"), task("b", "gone"), task("c", "d"), task("d", "e"), task("e", "c"))
    assert names(queue) == []
    assert [each.reason.text for each in queue.holds("g").for_person] == [
        "not_ready(cycle a -> a)",
        "not_ready(missing dependency gone)",
        *["not_ready(cycle c -> d -> e -> c)"] * 3,
    ]


# --- D. time ---------------------------------------------------------------------------------------------------


def test_079_an_offset_is_an_offset() -> None:
    there = timezone(timedelta(hours=2))
    noon_there = datetime(2026, 11, 29, 12, tzinfo=there)
    raw = json.dumps({"nodes": [{"node_id": "a", "not_before": (noon_there + HOUR).isoformat()}]}).encode()
    loaded = load_graph("g", raw)
    assert against(queue_of(loaded, now=noon_there), "a") == ["deferred(2026-11-29T11:00:00Z)"]
    assert names(queue_of(loaded, now=noon_there + HOUR)) == ["a"]


@pytest.mark.parametrize("status", ["pending", "ready"])
def test_082_a_deferral_decides_whatever_the_status_says(status: str) -> None:
    past, future = task("a", status=status, not_before=NOW - HOUR), task("a", status=status, not_before=NOW + HOUR)
    assert (names(queue_over(past)), names(queue_over(future))) == (["a"], [])
    assert against(queue_over(future), "a") == ["deferred(2026-11-29T13:00:00Z)"]


# --- G. affinity, merge pressure, gates ------------------------------------------------------------------------


def test_124_an_old_or_removed_worktree_gives_no_affinity() -> None:
    policy = SchedulePolicy(affinity=AffinityPolicy(max_age_seconds=3_600))
    nodes = [task(name, repository=f"p/{name}") for name in "abc"]
    trees = around(
        tree("p/a", updated_at=NOW - HOUR), tree("p/b", on_disk=False), tree("p/c", updated_at=NOW - HOUR / 2)
    )
    queue = queue_over(*nodes, policy=policy, surroundings=trees)
    assert [explain(queue, ANYONE, "g", name).reasons[2] for name in "abc"] == [
        "affinity=0",
        "affinity=0",
        "affinity=1",
    ]
    assert names(queue) == ["c", "a", "b"]


def test_127_one_repository_has_one_key_and_two_hosts_have_two() -> None:
    spellings = ["P/A", " p/a ", "p//a", "p\\a", "p/a.git", "/p/a/"]
    nodes = [task(f"n{place}", repository=each) for place, each in enumerate(spellings)]
    nodes.append(task("bare", repository="A", project="P"))
    hosts = [task("one", repository="https://one.example/p/a"), task("two", repository="https://two.example/p/a")]
    queue = queue_over(*nodes, *hosts, surroundings=around(tree("p/a")))
    warm = {
        node.node_id for node in (*nodes, *hosts) if "affinity=1" in explain(queue, ANYONE, "g", node.node_id).reasons
    }
    assert warm == {node.node_id for node in nodes}
    assert len(queue.groups["g"].lanes) == 3


def test_130_each_penalty_and_each_skip_names_cause_and_number() -> None:
    node, merges = task("a", repository="p/a"), around(merges={"p/a": 4})
    told = "merge_pressure depth=4 threshold=3 penalty=2.0"
    assert explain(queue_over(node, surroundings=merges), ANYONE, "g", "a").reasons[-1] == told
    queue = queue_over(node, policy=SKIP, surroundings=merges)
    skipped = decision(queue, ANYONE, plan(queue, ANYONE, 1).skipped[0], "id", at=NOW, skipped=True)
    assert skipped.reasons[-2:] == (told, "skipped_due_to_merge_pressure")
    assert against(queue, "a") == ["merge_pressure(skip)"]


def test_133_a_gated_node_is_never_offered_before_it_is_approved() -> None:
    node = task("a", risk="destructive")
    queue = queue_over(node)
    assert names(queue) == []
    twice = (approval_of(node), approval_of(node))
    queue.refresh(replace(queue.snapshot, approvals={"g": twice}))
    assert names(queue) == ["a"]
    changed = replace(node, title="Drop the other table")
    assert after(queue, changed) == []


def test_134_nothing_to_do_is_told_by_reason() -> None:
    nodes = (
        task("blocked", status="blocked"),
        task("gated", approval="human_required"),
        task("deferred", not_before=NOW + HOUR),
        task("waiting", "gated"),
        task("running", status="running"),
        task("gpu", capabilities=("gpu",)),
        task("wide", slots=9),
        task("pressed", repository="p/a"),
        task("fits"),
        task("done", status="completed"),
        task("bad"),
    )
    policy = replace(SKIP, slots=9, groups={"g": GroupPolicy(quota=1)})
    loaded = group("g", *nodes, defects={"bad": "slots: no"})
    paused = group("h", task("a"), status="paused")
    queue = queue_of(loaded, paused, policy=policy, surroundings=around(merges={"p/a": 3}))
    counted = census(queue, ANYONE)
    assert (names(queue), counted.runnable) == ([], 0)
    assert dict(counted.not_eligible) == {
        "blocked": 1,
        "awaiting_approval": 1,
        "deferred": 1,
        "not_ready": 1,
        "observed": 1,
        "capability_missing": 1,
        "never_fits": 1,
        "merge_pressure": 1,
        "group_quota": 1,
        "finished": 1,
        "graph_invalid": 1,
        "graph_inactive": 1,
    }


def test_n13_every_obstacle_is_shown_at_once_and_counted_once() -> None:
    node = task("a", not_before=NOW + HOUR, approval="human_required")
    policy = SchedulePolicy(groups={"g": GroupPolicy(quota=1)})
    queue = queue_over(node, task("r", status="running"), policy=policy)
    assert against(queue, "a") == ["deferred(2026-11-29T13:00:00Z)", "awaiting_approval", "group_quota(1/1)"]
    assert dict(census(queue, ANYONE).not_eligible) == {"deferred": 1, "observed": 1}


# --- sizes -----------------------------------------------------------------------------------------------------

MANY = 50_000


def test_a_chain_of_50_000_nodes_is_an_ordinary_graph() -> None:
    nodes = [task("n00000"), *(task(f"n{number:05}", f"n{number - 1:05}") for number in range(1, MANY))]
    queue = queue_over(*nodes)
    assert names(queue) == ["n00000"]
    counted = census(queue, ANYONE)
    assert (counted.runnable, dict(counted.not_eligible)) == (1, {"not_ready": MANY - 1})
    assert explain(queue, ANYONE, "g", f"n{MANY - 1:05}").reasons[1] == "dependency=0.0000"


def test_a_circle_of_50_000_nodes_is_named_and_harms_no_other_node() -> None:
    circle = [task(f"n{number:05}", f"n{(number + 1) % MANY:05}") for number in range(MANY)]
    queue = queue_over(*circle, task("other"))
    assert names(queue) == ["other"]
    path = " -> ".join(f"n{number:05}" for number in range(9))
    told = f"not_ready(cycle {path} -> ... 49991 more ... -> n00000)"
    assert against(queue, "n00000") == [told, "not_ready(unfinished n00001)"]
    assert len(queue.holds("g").for_person) == MANY


def test_115_the_head_of_a_group_that_cannot_run_blocks_nobody() -> None:
    gated = task("a", priority=9, approval="human_required")
    queue = queue_of(group("g", gated, task("b", priority=5)), group("h", task("c")))
    assert names(queue) == ["b", "c"]


def test_116_one_runnable_node_behind_10_000_gated_ones_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: Counter[str] = Counter()
    real = Lane.entry

    def counted(self: Lane, place: int) -> tuple[int, int, str] | None:
        drawn["entries"] += 1
        return real(self, place)

    gated = [task(f"n{number:05}", priority=9, approval="human_required") for number in range(5_000)]
    gated += [task(f"m{number:05}", priority=9, capabilities=("gpu",)) for number in range(5_000)]
    queue = queue_of(group("g", *gated, task("one")), group("h", *gated))
    monkeypatch.setattr(Lane, "entry", counted)
    assert names(queue, limit=1) == ["one"]
    assert drawn["entries"] <= 3
    assert dict(census(queue, ANYONE).not_eligible) == {"awaiting_approval": 10_000, "capability_missing": 10_000}


def test_a_snapshot_is_all_that_decides() -> None:
    nodes = [task(f"n{number}", priority=number % 4, repository=f"p/{number % 3}") for number in range(30)]
    snapshot = snapshot_of(group("g", *nodes), surroundings=around(tree("p/1"), merges={"p/2": 3}))
    one, other = WorkspaceQueue(snapshot), WorkspaceQueue(replace(snapshot))
    assert plan(one, ANYONE, 30) == plan(other, ANYONE, 30)
