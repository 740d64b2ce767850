"""What a holder reports is the state of its node, in ledger and file, and is kept for those who come after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import (
    AuthForbidden,
    BudgetExceeded,
    InvalidInput,
    InvalidStateTransition,
    LeaseNotFound,
    NodeNotEligible,
    WorkLeaseExpired,
    WorkStaleOwnership,
)
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk, Json

POLICY = "schedule/policy.json"
AT = "2026-12-01T12:00:00Z"
ASK = "Ask for the next: metagit_schedule_next with claim=true."


def hints(answer: Json) -> Json:
    """What the one node that was claimed comes with."""
    (decision,) = answer["decisions"]
    found: Json = decision["dispatch_hints"]
    return found


def under(lease_id: str) -> str:
    return (
        f"Report with metagit_work_report and lease_id {lease_id}: running now and then, completed with a result, "
        "blocked or failed with a note, released to give it back."
    )


GONE_ON = ("active", "running", None, False)
STATES: list[tuple[str, Json, tuple[str, str, str | None, bool], str, Json]] = [
    ("running", {}, GONE_ON, "", {}),
    ("checkpointed", {"checkpoint": {"uri": "s3://here"}}, GONE_ON, "", {}),
    ("paused", {"note": "parsed"}, ("queued", "ready", None, True), ASK, {}),
    ("blocked", {"note": "needs a key"}, ("blocked", "blocked", "needs a key", True), ASK, {}),
    ("completed", {}, ("completed", "completed", None, True), ASK, {}),
    ("failed", {"note": "broke"}, ("open", "ready", None, True), ASK, {"retry_at": "2026-12-01T12:02:00Z"}),
    ("released", {}, ("open", "ready", None, True), ASK, {}),
]


@pytest.mark.parametrize(("state", "fields", "now", "next_step", "more"), STATES)
def test_each_state_is_told_and_written_back(
    desk: Desk, state: str, fields: Json, now: tuple[str, str, str | None, bool], next_step: str, more: Json
) -> None:
    desk.graph("g", node("a"), node("b"))
    lease = desk.start("a")["lease"]
    desk.flush()
    assert desk.row("a")["status"] == "running"
    desk.wait(60)
    answer = desk.report(lease["lease_id"], state, **fields)
    node_status, status, reason, released = now
    if not released:
        next_step, more = under(lease["lease_id"]), {"lease": {**lease, "expires_at": "2026-12-01T12:16:00Z"}}
    assert answer == {
        "graph_id": "g",
        "node_id": "a",
        "node_status": node_status,
        "preempt_requested": False,
        "released_slot": released,
        "warnings": [],
        "next_step": next_step,
        **more,
    }
    desk.flush()
    row = desk.row("a")
    assert (row["status"], row["blocker_reason"]) == (status, reason)
    assert desk.statuses()["b"] == "pending"
    assert desk.shown("a")["status"] == status


def test_a_review_stands_between_the_result_and_its_use(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"g": {"review": True}}})
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    review = "A person reviews it: metagit-mcp work review a --graph-id g --accept. " + ASK
    answer = desk.report(desk.lease(), "completed", result={"summary": "first"})
    assert (answer["node_status"], answer["released_slot"], answer["next_step"]) == ("submitted", True, review)
    desk.flush()
    assert (desk.statuses(), desk.claim("w2")["decisions"]) == ({"a": "running", "b": "pending"}, [])
    assert desk.claim("w2")["not_eligible"] == [
        {"reason": "awaiting_review", "nodes": 1},
        {"reason": "not_ready", "nodes": 1},
    ]
    rejected = desk.review("a", accept=False, note="no tests")
    assert rejected == {
        "graph_id": "g",
        "node_id": "a",
        "node_status": "open",
        "by": "ada",
        "warnings": [],
        "next_step": "metagit_schedule_next gives the next node.",
    }
    claimed = desk.claim("w2")
    assert hints(claimed)["attempts"] == [{"agent_id": "w1", "at": AT, "outcome": "rejected", "note": "no tests"}]
    lease_id = claimed["decisions"][0]["lease"]["lease_id"]
    desk.report(lease_id, "completed", result={"summary": "second", "artifacts": ["dist/a"], "evidence": ["ci/7"]})
    assert desk.beside("cli").review("a", accept=True)["node_status"] == "completed"
    assert desk.statuses()["a"] == "completed"
    assert hints(desk.claim("w2"))["inputs"] == [
        {"node_id": "a", "summary": "second", "artifacts": ["dist/a"], "evidence": ["ci/7"]}
    ]
    for accept in (True, False):
        with pytest.raises(InvalidStateTransition) as caught:
            desk.review("a", accept=accept)
        assert caught.value.details["state"] == "completed"


def test_failed_work_is_tried_again_later_and_at_last_parked(desk: Desk) -> None:
    desk.put(POLICY, {"retries": {"max_attempts": 2, "backoff_seconds": 30, "max_backoff_seconds": 30}})
    desk.graph("g", node("a"))
    first = desk.report(desk.lease(), "failed", note="no network")
    assert (first["node_status"], first["retry_at"]) == ("open", "2026-12-01T12:00:30Z")
    assert desk.claim("w2")["not_eligible"] == [{"reason": "retry_at", "nodes": 1}]
    desk.wait(60)
    claimed = desk.claim("w2")
    assert hints(claimed)["attempts"] == [{"agent_id": "w1", "at": AT, "outcome": "failed", "note": "no network"}]
    assert claimed["decisions"][0]["lease"]["ownership_epoch"] == 2
    parked = desk.report(claimed["decisions"][0]["lease"]["lease_id"], "failed", note="again")
    assert (parked["node_status"], parked["next_step"]) == (
        "parked",
        f"It waits for a person: metagit-mcp work retry a --graph-id g. {ASK}",
    )
    assert "retry_at" not in parked
    desk.flush()
    assert (desk.row("a")["status"], desk.row("a")["blocker_reason"]) == ("blocked", "failed: again")
    desk.wait(3600)
    assert desk.claim("w1")["decisions"] == []
    assert desk.beside("cli").retry("a")["node_status"] == "open"
    assert desk.statuses()["a"] == "ready"
    assert [each["agent_id"] for each in hints(desk.claim("w3"))["attempts"]] == ["w1", "w2"]
    with pytest.raises(InvalidStateTransition):
        desk.retry("a")


def test_a_resource_that_turned_an_agent_away_costs_no_attempt(desk: Desk) -> None:
    desk.put(POLICY, {"resources": {"api": {"capacity": 9}}, "retries": {"max_attempts": 1}})
    desk.graph("g", node("a", uses={"api": 1}), node("b", uses={"api": 1}), node("c"))
    limited = {"resource": "api", "until": "2026-12-01T12:05:00Z"}
    answer = desk.report(desk.lease(), "failed", rate_limited=limited)
    # What uses the resource waits for it, and for nothing else.
    assert (answer["node_status"], answer["retry_at"]) == ("open", AT)
    # Closed for all, in every process.
    other = desk.beside()
    assert other.taken("w2") == ["c"]
    with pytest.raises(NodeNotEligible) as caught:
        other.start("b", agent_id="w3")
    assert caught.value.details["reasons"] == ["resource_closed(api)"]
    against = other.status(node_id="b")["explain"]["reasons"]
    assert [each["text"] for each in against] == ["resource_closed(api, until 2026-12-01T12:05:00Z)"]
    desk.wait(300)
    assert (desk.taken("w3"), other.taken("w4")) == (["a"], ["b"])


def test_a_success_on_the_resource_sets_free_what_it_turned_away(desk: Desk) -> None:
    desk.put(POLICY, {"resources": {"api": {"capacity": 9}}, "agent_slots": 2})
    desk.graph("g", node("a", uses={"api": 1}), node("b", uses={"api": 1}))
    first, second = desk.lease(), desk.lease()
    desk.report(first, "failed", rate_limited={"resource": "api", "until": "2026-12-01T12:05:00Z"})
    assert desk.taken("w2") == []
    desk.report(second, "completed")
    assert desk.taken("w2") == ["a"]


def test_what_has_nothing_to_do_with_the_resource_waits_itself(desk: Desk) -> None:
    desk.graph("g", node("a"))
    answer = desk.report(desk.lease(), "failed", rate_limited={"resource": "api", "until": "2026-12-01T12:05:00Z"})
    assert (answer["node_status"], answer["retry_at"]) == ("open", "2026-12-01T12:05:00Z")


def test_what_is_unblocked_goes_on_from_its_checkpoint_with_its_owner(desk: Desk) -> None:
    desk.graph("g", node("a"))
    point = {"checkpoint_id": "half", "uri": "s3://half", "digest": "sha256:1", "note": "half of it"}
    desk.report(desk.lease(), "blocked", note="needs a key", checkpoint=point)
    desk.flush()
    desk.wait(60)
    assert desk.update("a", status="ready")["changed"] is True
    assert desk.claim("w2")["not_eligible"] == [{"reason": "owned", "nodes": 1}]
    claimed = desk.claim("w1")
    assert hints(claimed)["resume_from"] == {**point, "at": AT}
    lease = claimed["decisions"][0]["lease"]
    assert (lease["resume_from"], lease["ownership_epoch"]) == ("half", 1)


def test_blocked_work_has_an_owner_for_a_while_only(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.report(desk.lease(), "blocked", note="needs a key")
    desk.flush()
    desk.wait(86_400)
    assert desk.claim("w2")["not_eligible"] == [{"reason": "blocked", "nodes": 1}]
    desk.update("a", status="ready")
    lease = desk.claim("w2")["decisions"][0]["lease"]
    assert (lease["ownership_epoch"], "resume_from" in lease) == (2, True)


def test_what_is_given_back_goes_to_another_first(desk: Desk) -> None:
    desk.graph("g", node("a", priority=9), node("b"))
    desk.report(desk.lease(), "released", note="not mine")
    assert desk.taken("w1") == ["b"]
    claimed = desk.claim("w2")
    assert hints(claimed)["attempts"] == [{"agent_id": "w1", "at": AT, "outcome": "released", "note": "not mine"}]


def test_a_person_takes_work_back(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    lease_id = desk.lease()
    desk.flush()
    with pytest.raises(InvalidStateTransition) as caught:
        desk.release("b")
    assert caught.value.details == {
        "graph_id": "g",
        "node_id": "b",
        "state": "open",
        "trigger": "revoke",
        "allowed": ["accept", "start", "cancel", "finish_elsewhere", "block_elsewhere"],
    }
    assert desk.beside("cli").release("a", "it hangs")["node_status"] == "open"
    assert desk.statuses()["a"] == "ready"
    with pytest.raises(WorkStaleOwnership) as late:
        desk.report(lease_id, "completed", result={"summary": "done after all"})
    assert late.value.details["closure"] == "revoked"
    assert desk.status(node_id="a")["explain"]["runnable"] is True
    claimed = desk.claim("w2")
    assert hints(claimed)["attempts"] == [{"agent_id": "w1", "at": AT, "outcome": "revoked", "note": "it hangs"}]
    assert claimed["decisions"][0]["lease"]["ownership_epoch"] == 2
    assert desk.events().count("evidence_kept") == 1


# --- what is refused -----------------------------------------------------------------------------------------------


def test_a_report_needs_a_live_lease_of_its_agent(desk: Desk) -> None:
    desk.graph("g", node("a"))
    with pytest.raises(LeaseNotFound):
        desk.report("L-AAAAAAAAAAAA", "running")
    lease_id = desk.lease()
    with pytest.raises(AuthForbidden):
        desk.report(lease_id, "running", agent_id="w2")
    assert desk.report(lease_id, "running", agent_id="w1")["node_status"] == "active"
    desk.report(lease_id, "completed")
    for state in ("completed", "running", "released"):
        with pytest.raises(WorkStaleOwnership) as caught:
            desk.report(lease_id, state, note="again")
        assert caught.value.details["closure"] == "completed"
    # What comes after the end of finished work is not even evidence.
    assert "evidence_kept" not in desk.events()


def test_a_lease_that_ran_out_is_over(desk: Desk) -> None:
    desk.graph("g", node("a"))
    lease_id = desk.lease(lease_seconds=60)
    desk.wait(59)
    assert desk.report(lease_id, "running")["lease"]["expires_at"] == "2026-12-01T12:01:59Z"
    desk.wait(60)
    with pytest.raises(WorkLeaseExpired) as caught:
        desk.report(lease_id, "completed", result={"summary": "late"})
    assert caught.value.message == f"Lease {lease_id} ran out at 2026-12-01T12:01:59Z."
    assert desk.events()[-2:] == ["lease_expired", "evidence_kept"]
    # Said once more, it is not kept once more; and it completes nothing.
    with pytest.raises(WorkLeaseExpired):
        desk.report(lease_id, "completed", result={"summary": "late"})
    assert desk.events().count("evidence_kept") == 1
    assert hints(desk.claim("w2"))["attempts"] == [
        {"agent_id": "w1", "at": "2026-12-01T12:01:59Z", "outcome": "expired", "note": ""}
    ]


NOT_ENOUGH: list[tuple[str, Json, str, str]] = [
    ("blocked", {}, "note: is required for blocked", "note"),
    ("failed", {"note": "  "}, "note: is required for failed", "note"),
    ("checkpointed", {}, "checkpoint: checkpointed needs one", "checkpoint"),
    ("paused", {}, "checkpoint: paused needs one", "checkpoint"),
]


@pytest.mark.parametrize(("state", "fields", "message", "field"), NOT_ENOUGH)
def test_a_report_that_says_too_little_changes_nothing(
    desk: Desk, state: str, fields: Json, message: str, field: str
) -> None:
    desk.graph("g", node("a"))
    lease_id = desk.lease()
    before = desk.events()
    with pytest.raises(InvalidInput) as caught:
        desk.report(lease_id, state, **fields)
    assert (caught.value.message, caught.value.details, desk.events()) == (message, {"field": field}, before)


def test_usage_is_cumulative_and_a_budget_ends_the_work(desk: Desk) -> None:
    desk.graph("g", node("a", budget={"tokens": 100, "tool_calls": 5}))
    lease_id = desk.lease()
    left = desk.report(lease_id, "running", usage={"tokens": 60})["budget_left"]
    assert left == [{"name": "tokens", "limit": 100, "left": 40}, {"name": "tool_calls", "limit": 5, "left": 5}]
    with pytest.raises(InvalidInput, match="usage/tokens: was 60"):
        desk.report(lease_id, "running", usage={"tokens": 59})
    with pytest.raises(BudgetExceeded) as caught:
        desk.report(lease_id, "running", usage={"tokens": 101})
    assert caught.value.details["budget"] == {"tokens": 100, "tool_calls": 5}
    # The refusal happened: the work is paused, and what it used is counted.
    assert desk.events()[-2:] == ["usage_reported", "work_paused"]
    desk.flush()
    assert desk.row("a")["updated_at"] == "2026-11-29T13:52:06.850666+00:00"
    assert desk.claim("w1")["not_eligible"] == [{"reason": "budget_exhausted", "nodes": 1}]
    desk.graph("g", {**desk.row("a"), "budget": {"tokens": 200}})
    claimed = desk.claim("w1")["decisions"][0]["lease"]
    assert claimed["budget"] == [{"name": "tokens", "limit": 200, "left": 99}]
