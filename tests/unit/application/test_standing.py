"""How things stand: every node counted once, lists cut with their totals, and the command for what a person must do."""

from __future__ import annotations

import os
import shlex
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import GraphInvalid, GraphNotFound, NodeAmbiguous, NodeNotFound
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.application.desk import Desk

Json = dict[str, Any]

SINCE = "2026-12-01T11:00:00Z"
HOSTILE = "one\ntwo\x1b[31m\u202e"
SAFE = "one two [31m"


def test_an_empty_workspace(desk: Desk) -> None:
    answer = desk.status()
    assert answer["workspace"] == {"path": str(desk.root), "chosen_by": "--workspace"}
    assert set(answer["counts"].values()) == {0}
    assert (answer["groups"], answer["groups_total"], answer["needs_person_total"]) == ([], 0, 0)
    assert (answer["waiting"], answer["waiting_total"]) == ([], 0)
    assert answer["next_step"].startswith("There is no task graph here")
    assert "explain" not in answer


COUNTED: list[Json] = [
    node("ready"),
    node("open", capabilities=["gpu"]),
    node("waits", depends_on=["ready"]),
    node("stuck", status="blocked", blocker_reason=HOSTILE),
    node("early", not_before="2026-12-01T13:00:00Z"),
    node("gated", risk="destructive"),
    node("busy", status="running", agent_id=HOSTILE, repository=HOSTILE, title=HOSTILE, updated_at=SINCE),
    node("plain", status="running", updated_at=SINCE),
    node("done", status="completed"),
    node("dropped", status="cancelled"),
    node("wrong", slots=0),
]


def test_every_node_is_counted_once(desk: Desk) -> None:
    desk.graph("g", *COUNTED, title=HOSTILE)
    desk.graph("over", node("a"), node("b"), status="completed")
    answer = desk.status()
    assert answer["counts"] == {
        **dict.fromkeys(("waiting", "blocked", "deferred", "awaiting_approval", "invalid"), 1),
        **dict.fromkeys(("graphs", "eligible", "running", "finished", "inactive"), 2),
        **dict.fromkeys(("awaiting_review", "not_offered"), 0),
        "nodes": 13,
    }
    assert (answer["ready_count"], answer["runnable_count"]) == (4, 1)
    one: Json = {"graph_id": "g", "title": SAFE, "state": "active", "nodes": 11, "ready": 4, "runnable": 1}
    two: Json = {"graph_id": "over", "title": "over", "state": "completed", "nodes": 2, "ready": 0, "runnable": 0}
    fair: Json = {"class": "normal", "weight": 1, "received": 0.0}
    inactive = [{"reason": "graph_inactive", "nodes": 2}]
    assert answer["groups"] == [
        {**one, **fair, "guaranteed": 1.0, "running": 2, "running_slots": 2, "finished": 2, "starts_before": 0},
        {**two, **fair, "guaranteed": 0.0, "running": 0, "running_slots": 0, "finished": 0, "waits_for": inactive},
    ]
    assert answer["running"] == [
        {"graph_id": "g", "node_id": "busy", "title": SAFE, "repository": SAFE, "agent_id": SAFE, "since": SINCE},
        {"graph_id": "g", "node_id": "plain", "title": "plain", "since": SINCE},
    ]
    assert answer["next_step"] == "metagit_schedule_next gives the next node."
    assert desk.status(graph_id="over")["counts"]["nodes"] == 2


# node, reason, and how a person ends it
STUCK: list[tuple[str, str, Json]] = [
    ("gated", "awaiting_approval", {"command": "metagit-mcp work approve gated --graph-id g"}),
    (
        "lost",
        "not_ready(missing dependency gone)",
        {"command": "metagit-mcp task update lost --graph-id g --depends-on NODE"},
    ),
    ("stuck", "blocked", {"command": "metagit-mcp task update stuck --graph-id g --status ready", "note": SAFE}),
    (
        "wrong",
        "graph_invalid(slots: should be greater than or equal to 1)",
        {"file": ".metagit/tasks/graphs/g.json"},
    ),
]


def test_what_only_a_person_can_do_has_its_command_or_its_file(desk: Desk) -> None:
    desk.graph(
        "g",
        node("gated", risk="destructive"),
        node("stuck", status="blocked", blocker_reason=HOSTILE),
        node("lost", depends_on=["gone"]),
        node("wrong", slots=0),
        node("fine", depends_on=["gated"]),
    )
    answer = desk.status()
    assert answer["needs_person"] == [
        {"graph_id": "g", "node_id": name, "title": name, "reason": reason, **way} for name, reason, way in STUCK
    ]
    assert (answer["needs_person_total"], answer["waiting_total"]) == (4, 1)
    assert answer["waiting"] == [
        {"graph_id": "g", "node_id": "fine", "title": "fine", "reason": "not_ready(unfinished gated)"}
    ]
    desk.path("tasks/graphs/torn.json").write_text("{")
    (torn,) = desk.status(graph_id="torn")["needs_person"]
    assert torn == {"graph_id": "torn", "reason": "graph_invalid", "file": ".metagit/tasks/graphs/torn.json"}


def test_work_under_leases_and_runs_of_others_run(desk: Desk) -> None:
    desk.graph("g", node("a", agent_id="hint"), node("b", status="running", updated_at=SINCE), node("c"))
    desk.start("a", "w1", lease_seconds=600)
    desk.start("c", "w2", queue_only=True)
    answer = desk.status()
    assert answer["running"] == [
        {
            "graph_id": "g",
            "node_id": "a",
            "title": "a",
            "agent_id": "w1",
            "since": "2026-12-01T12:00:00Z",
            "leased_until": "2026-12-01T12:10:00Z",
        },
        {"graph_id": "g", "node_id": "b", "title": "b", "since": SINCE},
    ]
    counts = {name: nodes for name, nodes in answer["counts"].items() if nodes}
    # What somebody owns and has not started could be started, by its owner.
    assert counts == {"graphs": 1, "nodes": 3, "running": 2, "eligible": 1}
    assert answer["groups"][0]["running"] == 2
    # What lapsed does not run any more, though no command has written it.
    desk.wait(600)
    assert [each["node_id"] for each in desk.status()["running"]] == ["b"]


def _taken_out(desk: Desk) -> None:
    desk.graph("g", node("c"))


def _emptied(desk: Desk) -> None:
    file = desk.path("tasks/graphs/g.json")
    file.write_text("")
    # One that was written just now might be half-written, and the last good one stands meanwhile.
    os.utime(file, (0, 0))


def _removed(desk: Desk) -> None:
    desk.path("tasks/graphs/g.json").unlink()


@pytest.mark.parametrize("lose", [_taken_out, _emptied, _removed])
def test_a_lease_whose_node_no_file_tells_of_is_shown(lose: Callable[[Desk], None], desk: Desk) -> None:
    desk.put("schedule/policy.json", {"slots": 1})
    desk.graph("g", node("a", title="Build it"), node("c"))
    desk.graph("h", node("b"))
    lease = desk.start("a", "w1", graph_id="g")["lease"]["lease_id"]
    lose(desk)
    (row,) = desk.status()["running"]
    assert (row["graph_id"], row["node_id"], row["agent_id"]) == ("g", "a", "w1")
    assert row["title"] == "(in no graph file: see metagit-mcp doctor)"
    (card,) = desk.board()["running"]
    assert {name: card[name] for name in row} == row
    assert desk.status(graph_id="h")["running"] == []
    assert desk.status()["runnable_count"] == 0
    assert desk.report(lease, "released")["released_slot"] is True
    assert (desk.status()["running"], desk.status()["runnable_count"] > 0) == ([], True)


@pytest.mark.parametrize("graph_id", ["g", None])
@pytest.mark.parametrize("lose", [_taken_out, _emptied, _removed])
def test_a_node_that_no_file_tells_of_is_taken_back_from_who_has_it(
    lose: Callable[[Desk], None], graph_id: str | None, desk: Desk
) -> None:
    desk.graph("g", node("a"), node("c"))
    desk.claim("w1")
    lose(desk)
    taken = desk.release("a", graph_id=graph_id)
    assert (taken["graph_id"], taken["node_id"], taken["node_status"]) == ("g", "a", "open")
    assert (desk.status()["running"], desk.claim("w1", graph_id=None)["held"]) == ([], [])
    # Nobody has it any more.
    for node_id in ("a", "nobody's"):
        with pytest.raises((NodeNotFound, GraphNotFound, GraphInvalid)):
            desk.release(node_id, graph_id=graph_id)


def test_a_node_that_no_file_tells_of_and_several_had_is_to_be_named_with_its_graph(desk: Desk) -> None:
    for name in ("g", "h"):
        desk.graph(name, node("a"))
        desk.start("a", "w1" if name == "g" else "w2", graph_id=name)
        desk.graph(name, node("c"))
    with pytest.raises(NodeAmbiguous, match="2 graphs have a node a"):
        desk.release("a")
    assert desk.release("a", graph_id="h")["graph_id"] == "h"
    # What nobody owns is not meant.
    assert desk.release("a")["graph_id"] == "g"


LEFT: list[Json] = [
    node("lost", status="running"),
    node("parked", priority=9),
    node("said", status="blocked", blocker_reason="failed: by hand"),
    node("sent", priority=8),
    node("spent", budget={"tokens": 0}),
]


def test_what_agents_left_to_a_person_has_its_command(desk: Desk) -> None:
    groups = {"g": {"review": True}, "h": {"budget": {"tokens": 0}}}
    desk.put("schedule/policy.json", {"retries": {"max_attempts": 1}, "groups": groups})
    desk.graph("g", *LEFT)
    desk.graph("h", node("spent"))
    desk.report(desk.lease(), "failed", note="No key")
    desk.report(desk.lease(), "completed")
    answer = desk.status()
    told = [(each["node_id"], each["reason"], each.get("command"), each.get("file")) for each in answer["needs_person"]]
    assert told == [
        (
            "lost",
            "observed(since 2026-11-29T13:52:06Z, overdue)",
            "metagit-mcp task update lost --graph-id g --status ready",
            None,
        ),
        ("parked", "blocked(failed)", "metagit-mcp work retry parked --graph-id g", None),
        ("said", "blocked(failed)", "metagit-mcp task update said --graph-id g --status ready", None),
        ("sent", "awaiting_review", "metagit-mcp work review sent --graph-id g --accept", None),
        ("spent", "budget_exhausted", None, ".metagit/tasks/graphs/g.json"),
        ("spent", "budget_exhausted", None, ".metagit/schedule/policy.json"),
    ]
    counts = {name: nodes for name, nodes in answer["counts"].items() if nodes}
    assert counts == {"graphs": 2, "nodes": 6, "running": 1, "blocked": 2, "awaiting_review": 1, "eligible": 2}


def test_what_is_tried_again_later_is_deferred(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.report(desk.lease(), "failed", note="No key")
    answer = desk.status(node_id="a")
    assert (answer["counts"]["deferred"], answer["needs_person"]) == (1, [])
    assert answer["waiting"][0]["reason"] == "retry_at(2026-12-01T12:01:00Z)"
    assert answer["explain"]["reasons"] == [{"reason": "retry_at", "text": "retry_at(2026-12-01T12:01:00Z)"}]


def test_pauses_are_told_until_they_end(desk: Desk) -> None:
    desk.graph("g", node("a"))
    assert desk.status()["pauses"] == []
    desk.pause("group", "g", until=NOW + timedelta(seconds=60))
    desk.pause("agent", "w1", reason=HOSTILE)
    by = {"by": "ada", "at": "2026-12-01T12:00:00Z"}
    agents: Json = {"scope": "agent", "name": "w1", **by, "note": SAFE}
    assert desk.status()["pauses"] == [
        agents,
        {"scope": "group", "name": "g", **by, "until": "2026-12-01T12:01:00Z"},
    ]
    desk.wait(60)
    assert desk.status()["pauses"] == [agents]


def test_an_explanation_is_of_the_status_that_counts(desk: Desk) -> None:
    path = desk.graph("g", node("a"))
    before = path.read_text()
    desk.start("a", "w1", lease_seconds=600)
    path.write_text(before)
    told = desk.status(node_id="a")["explain"]
    assert (told["status"], told["runnable"]) == ("running", False)
    assert told["reasons"][0] == {"reason": "leased", "text": "leased(by w1, until 2026-12-01T12:10:00Z)"}


def test_a_command_is_quoted_for_the_shell(desk: Desk) -> None:
    desk.graph("-g", node("-x", status="blocked"))
    desk.graph("été", node("x", status="blocked"))
    commands = [each["command"] for each in desk.status()["needs_person"]]
    assert [shlex.split(each)[3:5] for each in commands] == [["--node-id=-x", "--graph-id=-g"], ["x", "--graph-id"]]
    assert commands[1] == "metagit-mcp task update x --graph-id 'été' --status ready"


def test_lists_are_cut_with_their_totals(desk: Desk) -> None:
    desk.graph("a", *(node(f"r{number:02d}", status="running", updated_at=SINCE) for number in range(60)))
    desk.graph("b", *(node(f"b{number:02d}", status="blocked") for number in range(30)))
    answer = desk.status()
    assert [each["node_id"] for each in answer["running"]] == [f"r{number:02d}" for number in range(50)]
    assert [each["node_id"] for each in answer["needs_person"]] == [f"b{number:02d}" for number in range(20)]
    assert (answer["counts"]["running"], answer["needs_person_total"]) == (60, 30)


def test_a_node_is_explained_with_its_place(desk: Desk) -> None:
    desk.graph("g", node("a", priority=1), node("b", priority=2), node("c", depends_on=["a"]))
    desk.graph("h", *(node(f"n{number:03d}", priority=-1) for number in range(120)))
    told = desk.status(node_id="a")["explain"]
    assert {name: each for name, each in told.items() if name != "factors"} == {
        "graph_id": "g",
        "node_id": "a",
        "title": "a",
        "status": "pending",
        "runnable": True,
        "reasons": [],
        "score": 1.325,
        "score_reasons": ["priority=1", "dependency=1.0000", "affinity=0", "cost=0.5000(tokens=1000)"],
        "place": 2,
    }
    assert [factor["name"] for factor in told["factors"]][:2] == ["priority", "dependency"]
    waits = desk.status(node_id="c", detail="brief")["explain"]
    assert (waits["runnable"], waits.get("place"), waits.get("factors")) == (False, None, None)
    assert waits["reasons"] == [{"reason": "not_ready", "text": "not_ready(unfinished a)"}]
    places = [desk.status(node_id=f"n{number:03d}")["explain"].get("place") for number in (0, 97, 98)]
    assert places == [3, 100, None]


def test_what_waits_for_a_person_is_explained_with_the_command_for_it(desk: Desk) -> None:
    desk.graph(
        "g",
        node("a", risk="destructive"),
        node("b", status="blocked"),
        node("c", depends_on=["a"]),
        node("d"),
        node("e"),
    )
    desk.put("schedule/policy.json", {"groups": {"g": {"review": True}}})
    lease_id = desk.start("e")["lease"]["lease_id"]
    desk.report(lease_id, "completed")
    steps = {name: desk.status(node_id=name)["next_step"] for name in "abcde"}
    other = "metagit_schedule_next gives the next node."
    assert steps == {
        "a": "A person approves it: metagit-mcp work approve a --graph-id g.",
        "b": "It waits for a person: metagit-mcp task update b --graph-id g --status ready.",
        "c": other,
        "d": other,
        "e": "A person reviews it: metagit-mcp work review e --graph-id g --accept.",
    }


def test_what_waits_for_a_person_is_explained_with_the_file_where_no_command_does_it(desk: Desk) -> None:
    desk.graph("g", node("spent", budget={"tokens": 0}), node("wrong", slots=0))
    desk.graph("h", node("over"))
    desk.put("schedule/policy.json", {"groups": {"h": {"budget": {"tokens": 0}}}})
    files = {name: desk.status(node_id=name)["next_step"] for name in ("spent", "wrong", "over")}
    assert files == {
        "spent": "It waits for a person: change .metagit/tasks/graphs/g.json.",
        "wrong": "It waits for a person: change .metagit/tasks/graphs/g.json.",
        "over": "It waits for a person: change .metagit/schedule/policy.json.",
    }
    said = desk.next()["next_step"]
    assert "2 budget_exhausted: their budget is used up, and a person may raise it" in said


def test_a_persons_words_stand_apart_in_an_explanation(desk: Desk) -> None:
    desk.graph("g", node("a", status="blocked", blocker_reason=HOSTILE), node("b", status=HOSTILE))
    assert desk.status(node_id="a")["explain"]["reasons"] == [{"reason": "blocked", "text": "blocked", "note": SAFE}]
    told = desk.status(node_id="b")["explain"]
    assert (told["status"], told["reasons"]) == (
        "unknown",
        [{"reason": "not_ready", "text": "not_ready(unknown status (not a valid id))"}],
    )


def test_merge_pressure_is_told_by_repository(desk: Desk) -> None:
    for number, repository in enumerate(["p/b", "p/b", "p/b", "P/A "]):
        desk.put(f"merges/m{number}.json", {"repository": repository, "status": "queued"})
    assert desk.status()["merge_pressure"] == [
        {"repository": "p/a", "depth": 1, "threshold": 3, "pressured": False},
        {"repository": "p/b", "depth": 3, "threshold": 3, "pressured": True},
    ]


def test_recent_decisions_are_newest_first_and_brief_unless_asked(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.graph("h", node("b"))
    desk.next(agent_id="one")
    desk.next(graph_id="h", agent_id="two")
    recent = desk.status()["recent_decisions"]
    assert [(each["node_id"], each["agent_id"], "factors" in each) for each in recent] == [
        ("b", "two", False),
        ("a", "one", False),
    ]
    full = desk.status(detail="full", recent=1)["recent_decisions"]
    assert [(each["node_id"], "factors" in each) for each in full] == [("b", True)]
    assert [each["node_id"] for each in desk.status(graph_id="g")["recent_decisions"]] == ["a"]
    assert desk.status(recent=0)["recent_decisions"] == []


def test_warnings_of_files_and_of_the_log_are_one_list(desk: Desk) -> None:
    desk.graph("g", node("a", slots=0))
    desk.path("schedule").mkdir()
    desk.path("schedule/decisions.jsonl").write_text("garbage\n")
    assert desk.status()["warnings"] == [
        ".metagit/schedule/decisions.jsonl: 1 of the newest lines make no sense and are passed over",
        "graph g: a/slots: should be greater than or equal to 1",
    ]
