"""A change of a node through us goes with what the ledger says of it, and never passes for an act of others."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters.graph_store import GraphFileStore
from metagit_mcp.errors import InvalidStateTransition, NodeNotEligible, WorkAlreadyOwned
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

POLICY = "schedule/policy.json"


def test_a_status_of_leased_work_is_its_holders(desk: Desk) -> None:
    lease_id = desk.brought_to("active")
    before, row = desk.events(), desk.row("a")
    for status in ("completed", "ready", "running"):
        with pytest.raises(WorkAlreadyOwned) as caught:
            desk.beside().update("a", status=status)
        assert caught.value.details == {
            "graph_id": "g",
            "node_id": "a",
            "state": "active",
            "since": "2026-12-01T12:00:00Z",
            "ownership_epoch": 1,
            "owner": "w1",
        }
    assert (desk.events(), desk.row("a")) == (before, row)
    desk.wait(1)
    answer = desk.update("a", priority=7, title="New title")
    assert (answer["node"]["status"], answer["node"]["priority"], answer["changed"]) == ("running", 7, True)
    assert desk.report(lease_id, "running")["node_status"] == "active"
    assert desk.next(preview=True)["warnings"] == []
    # After somebody took it back it can be set.
    desk.release("a")
    assert desk.update("a", status="cancelled")["node"]["status"] == "cancelled"
    assert desk.claim("w2")["decisions"] == []


@pytest.mark.parametrize("before", ["active", "queued", "blocked", "submitted", "parked", "completed", "open"])
def test_a_change_of_a_field_is_no_act(desk: Desk, before: str) -> None:
    desk.put(POLICY, {"groups": {"g": {"review": before == "submitted"}}, "retries": {"max_attempts": 1}})
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    if before == "queued":
        desk.start("a", queue_only=True)
    else:
        lease_id = desk.lease()
        reported = {"submitted": "completed", "parked": "failed", "open": "released"}.get(before, before)
        if before != "active":
            desk.report(lease_id, reported, note="why")
    # Nothing is written back yet: the file still says pending.
    assert desk.statuses()["a"] == "pending"
    desk.wait(10)
    shown = desk.beside().update("a", priority=5)["node"]["status"]
    status = {"active": "running", "submitted": "running", "parked": "blocked", "queued": "pending", "open": "pending"}
    assert (shown, desk.row("a").get("status", "pending")) == (
        status.get(before, before),
        status.get(before, before),
    )
    assert desk.row("a")["priority"] == 5
    desk.look_after()
    assert desk.settled() == before
    assert not [kind for kind in desk.events() if kind.startswith("seen") and kind != "seen_touched"]


@pytest.mark.parametrize("status", ["completed", "cancelled"])
def test_what_an_agent_owns_is_not_ended_behind_its_back(desk: Desk, status: str) -> None:
    desk.graph("g", node("a"))
    desk.start("a", queue_only=True)
    with pytest.raises(WorkAlreadyOwned, match="Node a is owned by w1"):
        desk.update("a", status=status)
    desk.release("a")
    assert desk.update("a", status=status)["node"]["status"] == status


def test_what_is_under_review_is_opened_by_its_review_only(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"g": {"review": True}}})
    desk.brought_to("submitted")
    before, row = desk.events(), desk.row("a")
    # Least of all by whoever did the work: completed is what the review says.
    for status in ("pending", "ready", "running", "completed"):
        with pytest.raises(InvalidStateTransition) as caught:
            desk.update("a", status=status)
        assert caught.value.details["allowed"] == [
            "accept_result",
            "reject_result",
            "cancel",
            "finish_elsewhere",
            "block_elsewhere",
        ]
    assert (desk.events(), desk.row("a")) == (before, row)
    desk.wait(1)
    assert desk.update("a", status="cancelled")["node"]["status"] == "cancelled"
    assert desk.settled() == "cancelled"


def test_an_update_starts_nothing_that_is_owned_or_paused(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.start("a", queue_only=True)
    desk.pause("agent", "w2")
    for node_id, agent_id, text in (
        ("a", "w3", "owned(by w1)"),
        ("a", None, "owned(by w1)"),
        ("b", "w2", "paused(agent w2, by ada)"),
    ):
        with pytest.raises(NodeNotEligible) as caught:
            desk.update(node_id, status="running", agent_id=agent_id)
        assert caught.value.message == f"Node {node_id} may not be started: {text}."
    desk.pause("workspace", until=NOW + timedelta(seconds=60))
    with pytest.raises(NodeNotEligible, match="paused"):
        desk.update("b", status="running")
    desk.wait(60)
    assert desk.update("b", status="running")["changed"] is True
    assert desk.update("a", status="running", agent_id="w1")["changed"] is True


def test_what_was_due_goes_into_the_file_with_a_change_and_has_its_event(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 9})
    desk.graph("g", node("a"), node("b"), node("c"))
    first, second = desk.start("a")["lease"]["lease_id"], desk.start("b")["lease"]["lease_id"]
    desk.report(first, "completed")
    desk.wait(1)
    desk.update("c", status="cancelled")
    assert desk.statuses() == {"a": "completed", "b": "running", "c": "cancelled"}
    told = [(each["type"], each["payload"]["node_id"]) for each in desk.lines("events/taskgraph.jsonl")]
    assert told == [("TaskCompleted", "a"), ("TaskStarted", "b"), ("TaskCancelled", "c")]
    # A change that changes nothing leaves it to the write-back.
    desk.report(second, "completed")
    assert desk.update("c", title="c")["changed"] is False
    assert desk.statuses()["b"] == "running"
    desk.flush()
    assert desk.statuses()["b"] == "completed"


def test_what_came_back_to_what_its_row_says_is_not_written_again_and_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.graph("g", node("a"))
    desk.report(desk.lease(), "released")
    desk.look_after()
    written: list[str] = []

    def revise(_: object, graph_id: str, __: object) -> tuple[str, ...]:
        written.append(graph_id)
        return ()

    monkeypatch.setattr(GraphFileStore, "revise", revise)
    desk.look_after()
    desk.look_after()
    assert written == []
    desk.lease()
    desk.look_after()
    assert written == ["g"]


def test_setting_a_status_is_an_act_even_before_ours_was_written(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    desk.report(desk.lease(), "completed")
    # In the same instant, and with the file saying pending: the change counts as the later one.
    answer = desk.update("a", status="pending")
    assert (answer["node"]["status"], answer["changed"]) == ("pending", True)
    assert desk.claim("w2")["decisions"][0]["lease"]["ownership_epoch"] == 2
    assert desk.row("a")["updated_at"] > "2026-12-01T12:00:00"


def test_blocked_and_parked_work_is_set_free_by_an_update(desk: Desk) -> None:
    desk.put(POLICY, {"retries": {"max_attempts": 1}, "agent_slots": 9})
    desk.graph("g", node("a"), node("b"))
    desk.report(desk.lease(), "failed", note="x")
    desk.report(desk.lease(), "blocked", note="x")
    desk.wait(10)
    for name in ("a", "b"):
        assert desk.beside("cli").update(name, status="ready")["changed"] is True
    assert desk.taken("w1", limit=9) == ["a", "b"]
    assert [kind for kind in desk.events() if kind in {"work_retried", "work_unblocked"}] == [
        "work_retried",
        "work_unblocked",
    ]


def test_an_update_starts_what_has_no_ledger_as_before(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    assert desk.update("a", status="running", agent_id="ada")["node"]["status"] == "running"
    assert (desk.events(), desk.path("schedule/ledger.db").exists()) == ([], False)
    assert desk.taken("w1") == ["b"]
    desk.wait(1)
    assert desk.update("a", status="completed")["changed"] is True
    assert desk.claim("w2")["not_eligible"] == [{"reason": "finished", "nodes": 1}, {"reason": "leased", "nodes": 1}]
