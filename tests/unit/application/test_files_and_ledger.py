"""The files and the ledger say the same in the end: what others do counts, and what is stale is written again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import PolicyInvalid, WorkStaleOwnership
from metagit_mcp.scheduling import workspace
from metagit_mcp.scheduling.queue import GroupQueue
from tests.unit.adapters.reading import AT, node
from tests.unit.application.desk import NOW, Desk

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import LoadedGraph
    from tests.unit.application.desk import Json

POLICY = "schedule/policy.json"


def at(seconds: int) -> str:
    """The instant so many seconds after the beginning, as other programs write it."""
    return (NOW + timedelta(seconds=seconds)).isoformat()


# --- what other programs did ---------------------------------------------------------------------------------------

DONE: Json = {"status": "completed"}
ACTS: list[tuple[str, Json, str, str, str]] = [
    # from, what the file says, to, what the file says then, the event
    ("active", DONE, "completed", "completed", "seen_finished"),
    ("active", {"status": "cancelled"}, "cancelled", "cancelled", "seen_finished"),
    ("active", {"status": "blocked", "blocker_reason": "x"}, "blocked", "blocked", "seen_blocked"),
    ("active", {"status": "ready"}, "active", "running", "seen_touched"),
    ("active", {"status": "pending"}, "active", "running", "seen_touched"),
    ("active", {"status": "running"}, "active", "running", "seen_touched"),
    ("submitted", {"status": "ready"}, "submitted", "running", "seen_touched"),
    ("submitted", DONE, "completed", "completed", "seen_finished"),
    ("queued", DONE, "completed", "completed", "seen_finished"),
    ("queued", {"status": "running"}, "open", "running", "seen_open"),
    ("queued", {"status": "blocked", "blocker_reason": "x"}, "blocked", "blocked", "seen_blocked"),
    ("blocked", {"status": "ready"}, "queued", "ready", "work_unblocked"),
    ("blocked", {"status": "running"}, "open", "running", "seen_open"),
    ("blocked", {"status": "blocked", "blocker_reason": "y"}, "blocked", "blocked", "seen_blocked"),
    ("blocked", {"status": "cancelled"}, "cancelled", "cancelled", "seen_finished"),
    ("parked", {"status": "ready"}, "open", "ready", "work_retried"),
    ("parked", DONE, "completed", "completed", "seen_finished"),
    ("parked", {"status": "running"}, "open", "running", "seen_open"),
    ("completed", {"status": "ready"}, "open", "ready", "seen_open"),
    ("completed", {"status": "running"}, "open", "running", "seen_open"),
    ("completed", {"status": "blocked", "blocker_reason": "x"}, "open", "blocked", "seen_open"),
]


@pytest.mark.parametrize(("before", "act", "after", "status", "event"), ACTS)
def test_what_another_program_did_counts(
    desk: Desk, before: str, act: Json, after: str, status: str, event: str
) -> None:
    desk.put(POLICY, {"groups": {"g": {"review": before == "submitted"}}, "retries": {"max_attempts": 1}})
    desk.brought_to(before)
    known = desk.events()
    desk.wait(10)
    desk.set_row("a", **{"blocker_reason": None, **act, "updated_at": at(10)})
    # It is seen before any command wrote it down.
    waits = desk.next(agent_id="w1", preview=True)
    seen = desk.status(node_id="a")["explain"]["status"]
    assert (seen, desk.events()) == (status, known)
    assert [each["node_id"] for each in waits["decisions"]] == (
        ["a"] if status == "ready" else ["b"] if status == "completed" else []
    )
    assert desk.settled() == after
    assert desk.events()[len(known)] == event
    desk.flush()
    assert desk.row("a")["status"] == status
    # Nothing is left to be said: whoever comes next finds both in step.
    before_next = desk.events()
    desk.beside().look_after()
    assert (desk.settled(), desk.row("a")["status"], desk.events()[: len(before_next)]) == (after, status, before_next)


@pytest.mark.parametrize("act", [DONE, {"status": "cancelled"}, {"status": "blocked", "blocker_reason": "x"}])
def test_work_that_another_program_ended_is_fenced(desk: Desk, act: Json) -> None:
    lease_id = desk.brought_to("active")
    desk.wait(10)
    desk.set_row("a", **act, updated_at=at(10))
    with pytest.raises(WorkStaleOwnership) as caught:
        desk.beside().report(lease_id, "completed", result={"summary": "mine"})
    assert caught.value.details["closure"] == ("revoked" if act["status"] == "blocked" else "finished")
    assert desk.row("a")["status"] == act["status"]


def test_an_act_that_does_not_count_is_told_until_it_is_written_over(desk: Desk) -> None:
    lease_id = desk.brought_to("active")
    desk.wait(10)
    desk.set_row("a", status="ready", updated_at=at(10))
    warning = "graph g: node a was set back by another program while it is leased or under review; that is ignored"
    assert desk.next(preview=True)["warnings"] == desk.status()["warnings"] == [warning]
    assert desk.taken("w2") == []
    desk.look_after()
    assert (desk.row("a")["status"], desk.next(preview=True)["warnings"]) == ("running", [])
    assert desk.report(lease_id, "completed")["node_status"] == "completed"


def test_after_its_end_a_node_that_is_opened_again_starts_anew(desk: Desk) -> None:
    desk.brought_to("completed")
    desk.wait(10)
    desk.set_row("a", status="pending", updated_at=at(10))
    (decision,) = desk.claim("w2")["decisions"]
    assert (decision["node_id"], decision["lease"]["ownership_epoch"]) == ("a", 2)
    assert not {"attempts", "resume_from"} & decision["dispatch_hints"].keys()


def test_a_run_that_another_program_began_is_observed(desk: Desk) -> None:
    desk.brought_to("open")
    desk.wait(10)
    desk.set_row("a", status="running", updated_at=at(10))
    desk.put(POLICY, {"slots": 1})
    assert desk.status(node_id="a")["explain"]["reasons"][0]["text"] == "observed(until 2026-12-02T12:00:10Z)"
    desk.graph("h", node("c"))
    assert desk.claim("w2")["not_eligible"][0] == {"reason": "no_slot", "nodes": 1}
    desk.wait(86_400)
    assert desk.taken("w2") == ["c"]
    assert [each["node_id"] for each in desk.status()["needs_person"]] == ["a"]


@pytest.mark.parametrize("before", ["active", "blocked", "completed", "parked"])
def test_an_older_copy_written_over_ours_is_written_again(desk: Desk, before: str) -> None:
    desk.put(POLICY, {"retries": {"max_attempts": 1}})
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    stale = desk.document("tasks/graphs/g.json")
    lease_id = desk.start("a")["lease"]["lease_id"]
    if before != "active":
        desk.report(lease_id, {"parked": "failed"}.get(before, before), note="why")
    desk.flush()
    ours = desk.row("a")
    desk.wait(10)
    desk.put("tasks/graphs/g.json", stale)
    # Nobody is misled meanwhile, and no event is made of it.
    assert desk.taken("w2") == (["b"] if before == "completed" else [])
    known = [kind for kind in desk.events() if kind.startswith("seen")]
    desk.look_after()
    assert (desk.row("a"), known) == ({**ours, "updated_at": desk.row("a")["updated_at"]}, [])
    assert desk.row("a")["updated_at"] == ours["updated_at"]


def test_a_node_that_left_its_file_and_came_back_is_known(desk: Desk) -> None:
    lease_id = desk.brought_to("active")
    whole = desk.document("tasks/graphs/g.json")
    desk.put("tasks/graphs/g.json", {**whole, "nodes": whole["nodes"][1:]})
    assert desk.claim("w2")["not_eligible"] == [{"reason": "not_ready", "nodes": 1}]
    desk.path("tasks/graphs/g.json").unlink()
    # Its holder goes on, whatever the files say of it.
    assert desk.report(lease_id, "running")["node_status"] == "active"
    assert desk.report(lease_id, "completed")["node_status"] == "completed"
    desk.look_after()
    assert not desk.path("tasks/graphs/g.json").exists()
    desk.put("tasks/graphs/g.json", whole)
    desk.look_after()
    assert (desk.row("a")["status"], desk.taken("w2")) == ("completed", ["b"])


def test_what_stands_in_a_row_besides_stays(desk: Desk) -> None:
    desk.graph("g", {**node("a"), "mine": [1.5]}, node("b"))
    desk.path("tasks/graphs/torn.json").write_text("{")
    desk.start("a")
    desk.flush()
    row = desk.row("a")
    assert row == {
        **node("a"),
        "mine": [1.5],
        "status": "running",
        "blocker_reason": None,
        "updated_at": "2026-12-01T12:00:00.000001+00:00",
    }
    assert desk.document("tasks/graphs/g.json")["updated_at"] == row["updated_at"]
    assert desk.row("b") == node("b")
    (event,) = desk.lines("events/taskgraph.jsonl")
    assert (event["type"], event["payload"]) == ("TaskStarted", {"graph_id": "g", "node_id": "a"})
    assert desk.document("tasks/index.json")["graphs"][0]["graph_id"] == "g"


def test_each_write_back_has_its_task_event(desk: Desk) -> None:
    cli = desk.beside("cli")
    desk.graph("g", node("a"))
    for name, fields in (("blocked", {"note": "x"}), ("released", {}), ("completed", {})):
        cli.report(cli.start("a")["lease"]["lease_id"], name, **fields)
        if name == "blocked":
            desk.wait(1)
            cli.update("a", status="ready")
    assert [each["type"] for each in desk.lines("events/taskgraph.jsonl")] == [
        "TaskStarted",
        "TaskBlocked",
        "TaskReady",
        "TaskStarted",
        "TaskReady",
        "TaskStarted",
        "TaskCompleted",
    ]


# --- write-back that fails -----------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_written_is_a_warning_and_is_written_later(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.graph("h", node("c"))
    lock = desk.path("tasks/graphs/g.json.lock")
    lock.mkdir()
    cli = desk.beside("cli")
    answer = cli.claim()
    assert [each["node_id"] for each in answer["decisions"]] == ["a"]
    (warning,) = answer["warnings"]
    assert warning.startswith("graph g: its statuses are not written back yet: ")
    assert desk.statuses() == {"a": "pending", "b": "pending"}
    # It harms no other graph, whose agents are told nothing of this one.
    assert cli.start("c", agent_id="w2")["warnings"] == []
    assert (desk.statuses("h"), desk.taken("w3")) == ({"c": "running"}, ["b"])
    lock.rmdir()
    desk.beside("cli").report(answer["decisions"][0]["lease"]["lease_id"], "running")
    assert desk.statuses() == {"a": "running", "b": "running"}


def test_a_server_tells_the_next_caller_what_it_could_not_write(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    lock = desk.path("tasks/graphs/g.json.lock")
    lock.mkdir()
    lease_id = desk.lease()
    desk.look_after()
    (warning,) = desk.report(lease_id, "running")["warnings"]
    assert warning.startswith("graph g: its statuses are not written back yet: ")
    assert desk.report(lease_id, "running")["warnings"] == []
    lock.rmdir()
    desk.look_after()
    assert (desk.statuses()["a"], desk.report(lease_id, "running")["warnings"]) == ("running", [])


def test_what_a_killed_process_left_unwritten_the_next_one_writes(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    desk.report(desk.lease(), "completed")
    # It ends without having written anything.
    later = desk.beside()
    assert desk.statuses()["a"] == "pending"
    assert [each["node_id"] for each in later.next(preview=True)["decisions"]] == ["b"]
    later.look_after()
    assert desk.statuses()["a"] == "completed"
    assert desk.row("a")["updated_at"] > AT


# --- what follows the writing ----------------------------------------------------------------------------------------


def test_a_graph_that_was_written_is_judged_before_anybody_asks(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.report(desk.lease(), "completed")
    desk.flush()
    judged: list[str] = []

    class Watched(GroupQueue):
        def __init__(self, loaded: LoadedGraph, *others: Any) -> None:  # noqa: ANN401 - what it takes
            judged.append(loaded.graph_id)
            super().__init__(loaded, *others)

    monkeypatch.setattr(workspace, "GroupQueue", Watched)
    assert (desk.taken(), judged) == (["b"], [])
    desk.flush()
    assert judged == ["g"]


def test_a_policy_that_cannot_be_used_keeps_no_file_from_being_written(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    lease_id = desk.lease()
    desk.put(POLICY, {"slots": "many"})
    desk.report(lease_id, "completed")
    desk.flush()
    assert desk.row("a")["status"] == "completed"
    with pytest.raises(PolicyInvalid):
        desk.next()
