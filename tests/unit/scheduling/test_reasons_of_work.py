"""The reasons that come from work under way: leases, owners, pauses, budgets, retries, what other programs run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from metagit_mcp.domain.limits import AgentPolicy, LeasePolicy, ResourcePolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.work import Usage
from metagit_mcp.scheduling.cycle import WorkspaceQueue, census
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
    lease,
    ledger,
    names,
    pause,
    queue_of,
    queue_over,
    snapshot_of,
    task,
)

W1, W2 = Asker(agent_id="w1"), Asker(agent_id="w2")
SPENT: dict[str, Any] = {"spent": Usage(tokens=100)}


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (known("a"), []),
        (known("a", retry_at=NOW + HOUR), ["retry_at(2026-11-29T13:00:00Z)"]),
        (known("a", retry_at=NOW), []),
        (known("a", "queued", owner="w1"), ["owned(by w1)"]),
        (known("a", "queued", owner="bad name"), ["owned(by (not a plain name))"]),
        (known("a", "blocked", note="ask Ann"), ["blocked"]),
        (known("a", "parked", note="no disk"), ["blocked(failed)"]),
        (known("a", "submitted", owner="w1"), ["awaiting_review"]),
        (known("a", "completed"), ["finished(completed)"]),
        (known("a", "cancelled"), ["finished(cancelled)"]),
        (known("a", "active", owner="w1", lease_id="L-lost"), ["observed"]),
    ],
)
def test_what_the_ledger_knows_counts(item: Any, said: list[str]) -> None:  # noqa: ANN401 - an item of the table
    assert against(queue_over(task("a"), work=ledger(item)), "a", W2) == said


def test_a_lease_names_who_holds_it_and_until_when() -> None:
    queue = queue_over(task("a"), task("b", "a"), work=ledger(lease("a")))
    assert against(queue, "a", W2) == ["leased(by w1, until 2026-11-29T13:00:00Z)"]
    assert against(queue, "b", W2) == ["not_ready(unfinished a)"]
    assert [node.node_id for node in queue.groups["g"].running] == ["a"]


def test_the_owner_resumes_its_queued_node_and_nobody_else_is_offered_it() -> None:
    queue = queue_over(task("a", priority=9), task("b"), work=ledger(known("a", "queued", owner="w1")))
    assert [names(queue, asker) for asker in (W1, W2, ANYONE)] == [["a", "b"], ["b"], ["b"]]
    assert (against(queue, "a", W1), census(queue, W1).runnable, census(queue, W2).runnable) == ([], 2, 1)
    assert (dict(census(queue, W2).not_eligible), census(queue, W2).ready) == ({"owned": 1}, 2)


def test_who_gave_a_node_back_gets_it_after_all_others() -> None:
    nodes = task("a", priority=9), task("b"), task("c", priority=-5)
    queue = queue_of(
        group("g", *nodes), group("h", task("d", priority=-9)), work=ledger(known("a", released_by=("w1",)))
    )
    assert [names(queue, asker) for asker in (W1, W2)] == [["b", "c", "d", "a"], ["a", "b", "c", "d"]]
    assert names(queue, W1, limit=1, graph_id="g") == ["b"]


@pytest.mark.parametrize(
    ("updated_at", "said", "slots"),
    [
        ("", "observed", 1),
        ("yesterday", "observed", 1),
        ("2026-11-29T11:30:00", "observed", 1),
        ("2026-11-29T11:30:00Z", "observed(until 2026-11-29T12:30:00Z)", 1),
        ("2026-11-29T11:00:00+00:00", "observed(since 2026-11-29T11:00:00Z, overdue)", 0),
        ("2026-11-28T11:00:00+00:00", "observed(since 2026-11-28T11:00:00Z, overdue)", 0),
    ],
)
def test_a_run_of_another_program_holds_its_slot_for_a_time(updated_at: str, said: str, slots: int) -> None:
    policy = SchedulePolicy(leases=LeasePolicy(observed_seconds=3_600), slots=1)
    queue = queue_over(task("a", status="running", updated_at=updated_at), task("b"), policy=policy)
    assert against(queue, "a")[0] == said
    assert (queue.groups["g"].running_slots, against(queue, "b")) == (slots, ["no_slot(1/1)"][:slots])
    needs = [each.reason.text for each in queue.holds("g").for_person]
    assert needs == ([] if slots else [said])


def test_a_run_that_becomes_overdue_frees_its_slot_when_the_time_has_come() -> None:
    policy = SchedulePolicy(leases=LeasePolicy(observed_seconds=3_600), slots=1)
    run = task("a", status="running", updated_at="2026-11-29T12:00:00Z")
    queue = queue_over(run, task("b"), policy=policy)
    for hours, expected in ((0, []), (1, ["b"]), (0.5, [])):
        queue.go_on(NOW + hours * HOUR)
        assert names(queue) == expected


def test_what_is_retried_comes_back_when_its_time_has_come() -> None:
    queue = queue_over(task("a"), work=ledger(known("a", retry_at=NOW + HOUR)))
    counted = census(queue, ANYONE)
    assert (counted.ready, dict(counted.not_eligible)) == (1, {"retry_at": 1})
    assert [each.reason.kind for each in queue.holds("g").for_others] == ["retry_at"]
    queue.go_on(NOW + HOUR)
    assert names(queue) == ["a"]


def test_only_a_newer_word_of_the_file_counts_for_open_work() -> None:
    item = known("a", changed_at=NOW)
    for updated_at, said in (("2026-11-29T11:00:00Z", []), ("2026-11-29T13:00:00Z", ["blocked"])):
        node = task("a", status="blocked", blocker_reason="Ann", updated_at=updated_at)
        assert against(queue_over(node, work=ledger(item)), "a") == said


# --- pauses and closures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (pause("workspace"), "paused(workspace, by ann)"),
        (pause("group", "g"), "paused(group g, by ann)"),
        (pause("agent", "w1"), "paused(agent w1, by ann)"),
        (pause("resource", "api"), "paused(resource api, by ann)"),
        (pause("resource", "deploy"), "paused(resource deploy, by ann)"),
        (pause("workspace", until=NOW + HOUR), "paused(workspace, by ann, until 2026-11-29T13:00:00Z)"),
        (pause("group", "g", by="Ann B."), "paused(group g, by (not a plain name))"),
        (pause("group", "h"), None),
        (pause("agent", "w2"), None),
        (pause("resource", "db"), None),
        (pause("workspace", until=NOW), None),
    ],
)
def test_a_pause_holds_its_scope(made: Any, said: str | None) -> None:  # noqa: ANN401 - a pause of the table
    node = task("a", uses={"api": 1}, exclusive=("deploy",))
    queue = queue_over(node, work=ledger(made))
    assert against(queue, "a", W1) == ([] if said is None else [said])
    assert names(queue, W1) == (["a"] if said is None else [])


def test_pauses_stand_in_the_order_of_their_scopes_and_end_by_themselves() -> None:
    later: dict[str, Any] = {"until": NOW + HOUR}
    made = pause("resource", "api", **later), pause("agent", "w1", **later), pause("group", "g", **later)
    queue = queue_over(task("a", uses={"api": 1}), work=ledger(*made, pause("workspace", **later)))
    assert [each.partition(",")[0] for each in against(queue, "a", W1)] == [
        "paused(workspace",
        "paused(group g",
        "paused(agent w1",
        "paused(resource api",
    ]
    assert dict(census(queue, W1).not_eligible) == {"paused": 1}
    queue.go_on(NOW + HOUR)
    assert (against(queue, "a", W1), names(queue, W1)) == ([], ["a"])


def test_a_resource_that_turned_an_agent_away_is_closed_for_all() -> None:
    node = task("a", uses={"api": 1}, exclusive=("deploy",))
    state = ledger(closure("api", NOW + HOUR), closure("deploy", NOW + 2 * HOUR), closure("db", NOW + HOUR))
    queue = queue_over(node, task("b", uses={"api": 0}), work=state)
    assert against(queue, "a") == [
        "resource_closed(api, until 2026-11-29T13:00:00Z)",
        "resource_closed(deploy, until 2026-11-29T14:00:00Z)",
    ]
    assert names(queue) == ["b"]
    queue.go_on(NOW + 2 * HOUR)
    assert names(queue) == ["a", "b"]


# --- budgets ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "of_group", "item", "is_out"),
    [
        ({"tokens": 100}, None, known("a", **SPENT), True),
        ({"tokens": 101}, None, known("a", **SPENT), False),
        ({"seconds": 1}, None, known("a", **SPENT), False),
        (None, {"tokens": 100}, known("a", **SPENT), True),
        ({}, {"tokens": 100}, known("a", **SPENT), False),
        ({"tokens": 1}, None, None, False),
        ({"tokens": 0}, None, None, True),
        (None, None, known("a", **SPENT), False),
    ],
)
def test_work_without_budget_left_needs_a_person(own: Any, of_group: Any, item: Any, *, is_out: bool) -> None:  # noqa: ANN401 - of the table
    policy = SchedulePolicy(groups={"g": GroupPolicy(budget=of_group)})
    queue = queue_over(task("a", budget=own), policy=policy, work=ledger(*([item] if item else [])))
    said = ["budget_exhausted"] if is_out else []
    assert (against(queue, "a"), [each.reason.text for each in queue.holds("g").for_person]) == (said, said)
    assert (names(queue), census(queue, ANYONE).ready) == ([] if is_out else ["a"], 1)


def test_who_owns_or_paused_it_is_told_before_its_budget() -> None:
    item = known("a", "queued", owner="w1", **SPENT)
    queue = queue_over(task("a", budget={"tokens": 1}), work=ledger(item, pause("group", "g")))
    assert against(queue, "a", W2) == ["owned(by w1)", "paused(group g, by ann)", "budget_exhausted"]
    assert dict(census(queue, W2).not_eligible) == {"owned": 1}
    assert dict(census(queue, W1).not_eligible) == {"paused": 1}


# --- slots -----------------------------------------------------------------------------------------------------


def test_leases_take_slots_of_the_workspace_and_of_their_group() -> None:
    policy = SchedulePolicy(slots=4, groups={"g": GroupPolicy(quota=2)})
    graphs = group("g", task("a"), task("b")), group("h", task("c"), task("d", slots=2), task("e", slots=3))
    queue = queue_of(*graphs, policy=policy, work=ledger(lease("a", slots=2), lease("gone", "w9", "removed")))
    assert against(queue, "b", W2) == ["group_quota(2/2)"]
    assert (against(queue, "c", W2, "h"), against(queue, "d", W2, "h")) == ([], ["no_slot(3/4)"])
    # A lease ends: only runs of other programs lower what a wide node can ever reach.
    assert against(queue, "e", W2, "h") == ["no_slot(3/4)"]
    assert names(queue, W2) == ["c"]
    assert dict(census(queue, W2).not_eligible) == {"leased": 1, "group_quota": 1, "no_slot": 2}


def test_a_lease_in_a_graph_that_is_not_active_holds_its_slot() -> None:
    queue = queue_of(
        group("g", task("a"), status="paused"),
        group("h", task("b")),
        policy=SchedulePolicy(slots=1),
        work=ledger(lease("a")),
    )
    assert against(queue, "b", W2, "h") == ["no_slot(1/1)"]
    assert (queue.groups["g"].running_slots, len(queue.groups["g"].running)) == (1, 1)


def test_an_agent_that_holds_all_it_may_can_start_nothing_and_still_gets_advice() -> None:
    policy = SchedulePolicy(slots=3, agent_slots=2, agents={"w1": AgentPolicy(slots=1)})
    queue = queue_over(task("a"), task("b"), task("c", slots=3), policy=policy, work=ledger(lease("a")))
    assert against(queue, "b", W1) == ["agent_slots(1/1)"]
    assert against(queue, "c", W1) == ["agent_slots(1/1)", "no_slot(1/3)"]
    assert (census(queue, W1).runnable, dict(census(queue, W1).not_eligible)) == (0, {"leased": 1, "agent_slots": 2})
    assert dict(census(queue, W1, "g").not_eligible) == {"leased": 1, "agent_slots": 2}
    assert dict(census(queue, W2).not_eligible) == {"leased": 1, "no_slot": 1}
    assert names(queue, W1) == names(queue, W2) == ["b"]
    assert queue.moment(W1) is queue.moment(W2)


def test_an_approval_is_for_one_ownership() -> None:
    node = task("a", approval="human_required")
    for item, epoch in (
        (None, 1),
        (known("a", ownership_epoch=2), 3),
        (known("a", "parked", ownership_epoch=2), 3),
        (known("a", "queued", owner="w1", ownership_epoch=2), 2),
        (known("a", "blocked", ownership_epoch=2), 3),
        (known("a", "blocked", owner="w1", ownership_epoch=2), 2),
        (known("a", "submitted", owner="w1", ownership_epoch=2), 2),
    ):
        for given in (1, 2, 3):
            state = ledger(approval_of(node, epoch=given), *([item] if item else []))
            waits = "awaiting_approval" in against(queue_over(node, work=state), "a", W1)
            assert waits == (given != epoch)


def test_approvals_of_the_file_and_of_the_ledger_both_count() -> None:
    one, other = task("a", approval="human_required"), task("b", approval="human_required")
    queue = queue_over(one, other, approvals={"g": (approval_of(one),)}, work=ledger(approval_of(other)))
    assert names(queue) == ["a", "b"]


def test_every_reason_of_a_start_at_once_in_the_fixed_order() -> None:
    policy = SchedulePolicy(
        slots=3,
        groups={"g": GroupPolicy(quota=2)},
        resources={"api": ResourcePolicy(capacity=1)},
        skip_on_merge_pressure=True,
        merge_queue_threshold=1,
        agents={"w2": AgentPolicy(slots=0)},
    )
    node = task(
        "a",
        slots=4,
        repository="p/a",
        budget={"tokens": 1},
        capabilities=("gpu",),
        exclusive=("deploy",),
        touches=("src/**",),
        uses={"api": 1},
    )
    held = lease("r", slots=3, repository="p/a", exclusive=("deploy",), touches=("src/x",), uses={"api": 1})
    state = ledger(known("a", "queued", owner="w1", **SPENT), held, pause("workspace"), closure("api", NOW + HOUR))
    queue = queue_over(node, task("r"), policy=policy, work=state, surroundings=around(merges={"p/a": 1}))
    assert against(queue, "a", W2) == [
        "owned(by w1)",
        "paused(workspace, by ann)",
        "budget_exhausted",
        "capability_missing(gpu)",
        "exclusive(deploy, held by r)",
        "conflicts_with(r, src/)",
        "resource_busy(api, 1/1)",
        "resource_closed(api, until 2026-11-29T13:00:00Z)",
        "never_fits(4 slots, limit 2)",
        "merge_pressure(skip)",
        "group_quota(3/2)",
        "agent_slots(0/0)",
        "no_slot(3/3)",
    ]


def test_time_that_passes_is_noticed_although_nothing_else_happens() -> None:
    """Each end of a term is a timer of the queue: of pauses, closures, retries and runs of other programs."""
    run = task("r", status="running", updated_at="2026-11-29T12:00:00Z")
    policy = SchedulePolicy(leases=LeasePolicy(observed_seconds=4 * 3_600))
    state = ledger(
        known("a", retry_at=NOW + 3 * HOUR), pause("workspace", until=NOW + HOUR), closure("api", NOW + 2 * HOUR)
    )
    queue = WorkspaceQueue(snapshot_of(group("g", task("a"), run), policy=policy, work=state))
    for hours in (1, 2, 3, 4):
        assert queue.quiet.until == NOW + hours * HOUR
        queue.go_on(NOW + hours * HOUR - timedelta(microseconds=1))
        assert queue.snapshot.now == NOW + (hours - 1) * HOUR
        queue.go_on(NOW + hours * HOUR)
        assert queue.snapshot.now == NOW + hours * HOUR
