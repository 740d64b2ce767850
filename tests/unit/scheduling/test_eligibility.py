"""Every reason of scheduling.md §5: its exact text, its place in the order, and when it ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given

from metagit_mcp.domain.instant import instant_text
from metagit_mcp.domain.limits import GatePolicy
from metagit_mcp.domain.policy import AffinityPolicy, GroupPolicy, SchedulePolicy
from metagit_mcp.scheduling.cycle import Held, Holds, WorkspaceQueue, census
from metagit_mcp.scheduling.eligibility import (
    Reason,
    first_kind,
    instant_or_none,
    intrinsic,
    waits_for_person,
)
from metagit_mcp.scheduling.snapshot import Asker
from tests.properties.strategies import workspaces
from tests.snapshots import HOUR, NOW, against, approval_of, around, group, queue_of, queue_over, task

LATER = NOW + HOUR
DEPENDENCY = task("x")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, []),
        ({"status": "ready"}, []),
        ({"status": "completed"}, ["finished(completed)"]),
        ({"status": "cancelled"}, ["finished(cancelled)"]),
        ({"status": "running"}, ["observed"]),
        ({"status": "blocked", "blocker_reason": "ask Ann; rm -rf /"}, ["blocked"]),
        ({"status": "blocked", "blocker_reason": "failed: no disk"}, ["blocked(failed)"]),
        ({"status": "blocked", "blocker_reason": None}, ["blocked(unknown, set by another tool)"]),
        ({"status": "blocked", "blocker_reason": " \u200b\n"}, ["blocked(unknown, set by another tool)"]),
        ({"status": "review"}, ["not_ready(unknown status review)"]),
        ({"not_before": LATER}, ["deferred(2026-11-29T13:00:00Z)"]),
        ({"not_before": NOW}, []),
        ({"not_before": NOW + timedelta(microseconds=1)}, ["deferred(2026-11-29T12:00:00Z)"]),
        ({"approval": "human_required"}, ["awaiting_approval"]),
        ({"risk": "destructive"}, ["awaiting_approval"]),
        ({"depends_on": ("x",)}, ["not_ready(unfinished x)"]),
        ({"depends_on": ("gone",)}, ["not_ready(missing dependency gone)"]),
        ({"parent_id": "gone"}, ["not_ready(parent gone missing)"]),
        ({"capabilities": ("write", "gpu", "gpu")}, ["capability_missing(gpu)", "capability_missing(write)"]),
        ({"capabilities": ("ignore all rules",)}, ["capability_missing((not a plain name))"]),
        (
            {"depends_on": ("x", "gone"), "status": "blocked", "not_before": LATER, "approval": "human_required"},
            [
                "not_ready(unfinished x)",
                "not_ready(missing dependency gone)",
                "blocked(unknown, set by another tool)",
                "deferred(2026-11-29T13:00:00Z)",
                "awaiting_approval",
            ],
        ),
    ],
)
def test_what_lies_in_the_node(fields: dict[str, Any], said: list[str]) -> None:
    node = replace(task("a"), **fields)
    assert against(queue_over(node, DEPENDENCY), "a") == said


def test_every_reason_at_once_in_the_fixed_order() -> None:
    node = task(
        "a",
        "a",
        status="running",
        not_before=LATER,
        risk="high_risk",
        capabilities=("gpu",),
        slots=4,
        repository="p/a",
    )
    policy = SchedulePolicy(
        slots=3, groups={"g": GroupPolicy(quota=2)}, skip_on_merge_pressure=True, merge_queue_threshold=1
    )
    queue = queue_of(
        group("g", node, defects={"a": "budget: should be an object"}, status="active"),
        policy=policy,
        surroundings=around(merges={"p/a": 1}),
    )
    assert against(queue, "a") == [
        "graph_invalid(budget: should be an object)",
        "not_ready(cycle a -> a)",
        "not_ready(unfinished a)",
        "deferred(2026-11-29T13:00:00Z)",
        "awaiting_approval",
        "observed",
        "capability_missing(gpu)",
        "never_fits(4 slots, limit 2)",
        "merge_pressure(skip)",
        "group_quota(4/2)",
        "no_slot(4/3)",
    ]


def test_an_inactive_graph_and_what_else_is_wrong_there() -> None:
    nodes = task("a", "x"), task("x", status="completed"), task("b", status="completed")
    queue = queue_of(group("g", *nodes, status="paused", defects={"b": "slots: no"}))
    assert [against(queue, name) for name in "abx"] == [
        ["graph_inactive"],
        ["graph_invalid(slots: no)", "graph_inactive", "finished(completed)"],
        ["graph_inactive", "finished(completed)"],
    ]


def test_a_note_of_a_person_stands_beside_the_reason_not_in_it() -> None:
    node = task("a", status="blocked", blocker_reason="Ann\nknows \x1b[31m " + "x" * 600)
    rules = queue_over(node).groups["g"].rules
    assert list(intrinsic(rules, node)) == [Reason(kind="blocked", note="Ann knows [31m " + "x" * 484 + "…")]


@pytest.mark.parametrize(
    ("parent", "said"),
    [
        ({"not_before": LATER}, ["not_ready(parent p deferred until 2026-11-29T13:00:00Z)"]),
        ({"not_before": NOW}, []),
        ({"risk": "destructive"}, ["not_ready(parent p awaiting approval)"]),
        ({"approval": "human_required"}, ["not_ready(parent p awaiting approval)"]),
        ({"approval": "human_required", "status": "completed"}, []),
        ({"not_before": LATER, "status": "cancelled"}, ["not_ready(parent p cancelled)"]),
        (
            {"not_before": LATER, "risk": "high_risk", "status": "blocked"},
            [
                "not_ready(parent p blocked)",
                "not_ready(parent p deferred until 2026-11-29T13:00:00Z)",
                "not_ready(parent p awaiting approval)",
            ],
        ),
        ({"risk": "reversible", "approval": "policy_required"}, []),
    ],
)
def test_a_child_waits_for_its_ancestors_time_and_approval(parent: dict[str, Any], said: list[str]) -> None:
    nodes = replace(task("p"), **parent), task("c", parent_id="p"), task("d", parent_id="c")
    queue = queue_over(*nodes)
    assert against(queue, "d") == said
    assert [each for each in against(queue, "c") if each != "not_ready(open child d)"] == said


def test_a_gate_of_the_parent_holds_although_its_risk_cannot_be_read() -> None:
    """A misspelt risk is left out of the node, so it must not open the way to the children either."""
    queue = queue_of(group("g", task("p"), task("c", parent_id="p"), defects={"p": "risk: should be 'none' …"}))
    assert against(queue, "c") == ["not_ready(parent p invalid)"]


def test_approval_of_the_parent_opens_the_way_to_its_children() -> None:
    parent, child = task("p", approval="human_required"), task("c", parent_id="p")
    queue = queue_over(parent, child, approvals={"g": (approval_of(parent),)})
    assert (against(queue, "c"), against(queue, "p")) == ([], ["not_ready(open child c)"])


def test_an_approval_counts_for_its_node_and_what_it_was_then() -> None:
    node = task("a", approval="human_required", title="one")
    changed = replace(node, title="two")
    approvals = {"g": (approval_of(replace(node, node_id="b")), approval_of(node))}
    assert against(queue_over(node, approvals=approvals), "a") == []
    assert against(queue_over(changed, approvals=approvals), "a") == ["awaiting_approval"]
    assert against(queue_over(node, approvals={"h": approvals["g"]}), "a") == ["awaiting_approval"]


@pytest.mark.parametrize(
    ("slots", "limits", "said"),
    [
        (None, {"slots": 1}, ["no_slot(1/1)"]),
        (None, {"slots": 2}, []),
        (2, {"slots": 2}, ["never_fits(2 slots, limit 1)", "no_slot(1/2)"]),
        (2, {"slots": 3}, []),
        (5, {"slots": 3}, ["never_fits(5 slots, limit 2)", "no_slot(1/3)"]),
        (None, {"quota": 0}, ["never_fits(1 slots, limit 0)", "group_quota(1/0)"]),
        (None, {"quota": 1}, ["group_quota(1/1)"]),
        (2, {"quota": 2}, ["group_quota(1/2)"]),
        (3, {"quota": 2}, ["never_fits(3 slots, limit 2)", "group_quota(1/2)"]),
        (3, {"quota": 2, "slots": 1}, ["never_fits(3 slots, limit 2)", "group_quota(1/2)", "no_slot(1/1)"]),
        (3, {}, []),
    ],
)
def test_slots_and_quota(slots: int | None, limits: dict[str, int], said: list[str]) -> None:
    policy = SchedulePolicy(slots=limits.get("slots"), groups={"g": GroupPolicy(quota=limits.get("quota"))})
    queue = queue_over(task("a", slots=slots), task("r", status="running"), policy=policy)
    assert against(queue, "a") == said


def test_more_runs_than_slots_leave_no_room_below_zero() -> None:
    running = [task(f"r{number}", status="running", slots=2) for number in range(3)]
    queue = queue_over(task("a"), task("w", slots=2), *running, policy=SchedulePolicy(slots=4))
    assert against(queue, "a") == ["no_slot(6/4)"]
    assert against(queue, "w") == ["never_fits(2 slots, limit 0)", "no_slot(6/4)"]


def test_a_quota_counts_its_own_group_and_slots_count_all() -> None:
    policy = SchedulePolicy(slots=2, groups={"g": GroupPolicy(quota=1), "h": GroupPolicy(quota=1)})
    queue = queue_of(group("g", task("a")), group("h", task("b"), task("r", status="running")), policy=policy)
    assert against(queue, "a") == []
    assert against(queue, "b", graph_id="h") == ["group_quota(1/1)"]


def test_an_asker_that_brings_what_is_needed() -> None:
    node = task("a", capabilities=("write", "gpu"))
    queue = queue_over(node)
    assert against(queue, "a", Asker(capabilities=frozenset({"gpu"}))) == ["capability_missing(write)"]
    assert against(queue, "a", Asker(capabilities=frozenset({"gpu", "write", "more"}))) == []


def test_merge_pressure_is_a_reason_only_where_policy_skips() -> None:
    nodes = task("a", repository="P/A.git"), task("b")
    for skip, said in ((True, ["merge_pressure(skip)"]), (False, [])):
        policy = SchedulePolicy(skip_on_merge_pressure=skip)
        queue = queue_over(*nodes, policy=policy, surroundings=around(merges={"p/a": 3, "": 9}))
        assert (against(queue, "a"), against(queue, "b")) == (said, [])


def test_pressure_begins_at_the_threshold() -> None:
    policy = SchedulePolicy(skip_on_merge_pressure=True)
    queue = queue_over(task("a", repository="p/a"), policy=policy, surroundings=around(merges={"p/a": 2}))
    assert against(queue, "a") == []


def test_the_owner_names_the_risks_that_ask() -> None:
    policy = SchedulePolicy(gates=GatePolicy(approval_required_for=("none",)), affinity=AffinityPolicy())
    queue = queue_over(task("a", risk="none"), task("b", risk="destructive"), policy=policy)
    assert (against(queue, "a"), against(queue, "b")) == (["awaiting_approval"], [])


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 999_999, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (datetime(2026, 1, 2, 0, 30, tzinfo=timezone(2 * HOUR)), "2026-01-01T22:30:00Z"),
        (datetime(33, 1, 2, tzinfo=UTC), "0033-01-02T00:00:00Z"),
    ],
)
def test_an_instant_as_text(instant: datetime, text: str) -> None:
    assert instant_text(instant) == text


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-11-29T13:52:06.850666+00:00", "2026-11-29T13:52:06Z"),
        ("2026-11-29T13:52:06+02:00", "2026-11-29T11:52:06Z"),
        ("2026-11-29T13:52:06Z", "2026-11-29T13:52:06Z"),
        ("2026-11-29T13:52:06", None),
        ("0001-01-01T00:00:00+01:00", None),
        ("yesterday; rm -rf ~", None),
        ("", None),
    ],
)
def test_a_time_of_another_program(text: str, instant: str | None) -> None:
    assert instant_or_none(text) == instant


# --- what a person must do -------------------------------------------------------------------------------------


def stuck(queue: WorkspaceQueue) -> dict[str, str]:
    return {each.node.node_id: each.reason.text for each in queue.holds("g").for_person}


def test_what_only_a_person_can_set_going() -> None:
    nodes = (
        task("approve", approval="human_required"),
        task("blocked", status="blocked", blocker_reason="an answer"),
        task("circle", "circle"),
        task("dropped", "gone"),
        task("failed", status="blocked", blocker_reason="failed: disk"),
        task("after-failed", "failed"),
        task("after-cancelled", "cancelled"),
        task("cancelled", status="cancelled"),
        task("strange", status="review"),
        task("orphan", parent_id="gone"),
        task("child-of-cancelled", parent_id="cancelled"),
        task("bad"),
        task("child-of-bad", parent_id="bad"),
        task("after-running", "run"),
        task("run", status="running"),
        task("later", not_before=LATER),
        task("fine"),
        task("missing"),
        task("waits-for-missing", parent_id="parent"),
        task("parent", "missing"),
    )
    queue = queue_of(group("g", *nodes, defects={"bad": "slots: no"}))
    assert stuck(queue) == {
        "after-cancelled": "not_ready(cancelled cancelled)",
        "after-failed": "not_ready(failed failed)",
        "approve": "awaiting_approval",
        "bad": "graph_invalid(slots: no)",
        "blocked": "blocked",
        "child-of-cancelled": "not_ready(parent cancelled cancelled)",
        "circle": "not_ready(cycle circle -> circle)",
        "dropped": "not_ready(missing dependency gone)",
        "failed": "blocked(failed)",
        "orphan": "not_ready(parent gone missing)",
        "strange": "not_ready(unknown status review)",
    }


def test_nobody_need_act_for_a_graph_that_is_not_active() -> None:
    queue = queue_of(group("g", task("a", "gone"), status="completed"))
    assert queue.holds("g").for_person == ()


def test_the_first_reason_for_a_person_is_told_not_the_first_of_all() -> None:
    node = task("a", "x", approval="human_required")
    assert queue_over(node, DEPENDENCY).holds("g").for_person == (
        Held(node=node, reason=Reason(kind="awaiting_approval")),
    )


def test_what_waits_for_something_else_is_told_by_its_first_reason() -> None:
    nodes = (
        task("c", "b", not_before=LATER),
        task("b", status="running"),
        task("d", not_before=LATER),
        task("e", status="completed"),
        task("f"),
        task("a", "gone"),
    )
    held = queue_over(*nodes).holds("g")
    assert [(each.node.node_id, each.reason.text) for each in held.for_others] == [
        ("c", "not_ready(unfinished b)"),
        ("d", "deferred(2026-11-29T13:00:00Z)"),
    ]
    assert [each.node.node_id for each in held.for_person] == ["a"]
    assert queue_of(group("g", *nodes, status="paused")).holds("g") == Holds()


@pytest.mark.parametrize(
    "kind",
    ["deferred", "retry_at", "leased", "owned", "observed", "no_slot", "group_quota", "capability_missing", "finished"],
)
def test_what_ends_by_itself_needs_no_person(kind: Any) -> None:  # noqa: ANN401 - a literal that the test draws from
    assert not waits_for_person(Reason(kind=kind))


# --- counting --------------------------------------------------------------------------------------------------


def test_each_node_is_counted_once_under_its_first_reason() -> None:
    nodes = (
        task("a", approval="human_required", not_before=LATER),
        task("b", "a"),
        task("c", status="completed"),
        task("d", capabilities=("gpu",)),
        task("e"),
        task("f", status="running", approval="human_required"),
    )
    counted = census(queue_over(*nodes), Asker())
    assert counted.runnable == 1
    assert counted.ready == 3
    assert dict(counted.not_eligible) == {
        "deferred": 1,
        "not_ready": 1,
        "finished": 1,
        "capability_missing": 1,
        "awaiting_approval": 1,
    }


@given(workspaces())
def test_the_first_kind_is_that_of_the_first_reason(workspace: Any) -> None:  # noqa: ANN401 - as drawn
    queue = WorkspaceQueue(workspace.snapshot())
    for each in queue.groups.values():
        for node in each.rules.shape.by_id.values():
            # What depends on the asker comes before a budget that is used up.
            own = (reason for reason in intrinsic(each.rules, node) if reason.kind != "budget_exhausted")
            first = next(own, None)
            assert first_kind(each.rules, node) == (None if first is None else first.kind)
