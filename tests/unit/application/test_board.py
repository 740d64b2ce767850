"""What one look at the board tells: who is needed, who works and is lost, what comes next, and why the rest waits."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import GraphNotFound, PolicyInvalid
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

Json = dict[str, Any]
POLICY = "schedule/policy.json"


def at(seconds: float = 0) -> str:
    return (NOW + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def ids(cards: list[Json]) -> list[str]:
    return [card.get("node_id", "") for card in cards]


def told(cards: list[Json]) -> dict[str, list[str]]:
    """The reasons of each card."""
    return {card["node_id"]: [each["text"] for each in card["reasons"]] for card in cards}


def written(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).isoformat()


# --- 1. who is needed -------------------------------------------------------------------------------------------------


def test_requirement_1_what_needs_a_person_comes_oldest_first_with_the_act_that_helps(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"g": {"review": True}}, "retries": {"max_attempts": 1}, "slots": 9})
    desk.graph(
        "g",
        node("young", approval="human_required", updated_at=written(-60)),
        node("old", approval="human_required", updated_at=written(-3600), repository="p/api", risk="external"),
        node("done", priority=9),
        node("broken", priority=8),
        node("wide", slots=10),
    )
    (desk.path("tasks/graphs") / "h.json").write_text("{")
    desk.report(desk.lease("w1"), "completed", result={"summary": "all of it"})
    desk.wait(1)
    desk.report(desk.lease("w2"), "failed", note="no disk")
    desk.wait(1)
    desk.pause("workspace", reason="tea")
    board = desk.board()
    cards = [
        (card["reason"], card.get("node_id"), card.get("since", "")[:19], card["act"]["act"])
        for card in board["needs_person"]
    ]
    assert cards == [
        ("awaiting_approval", "old", at(-3600)[:19], "approve"),
        ("awaiting_approval", "young", at(-60)[:19], "approve"),
        ("awaiting_review", "done", at(0)[:19], "review"),
        ("blocked", "broken", at(1)[:19], "retry"),
        ("paused", None, at(2)[:19], "resume"),
        ("never_fits", "wide", "", "command"),
        ("graph_invalid", None, "", "file"),
    ]
    assert (board["totals"]["needs_person"], desk.status()["needs_person_total"]) == (7, 7)
    old, _, done, broken, pause, wide, file = board["needs_person"]
    assert (old["repository"], old["risk"], len(old["act"]["digest"])) == ("p/api", "external", 64)
    assert old["act"]["command"] == "metagit-mcp work approve old --graph-id g"
    assert (done["summary"], done["agent_id"], "digest" in done["act"]) == ("all of it", "w1", False)
    assert broken["note"] == "failed: no disk"
    assert (pause["act"]["scope"], "name" in pause["act"], pause["note"]) == ("workspace", False, "tea")
    assert (wide["nodes"], wide["act"]["command"].split()[:4]) == (1, ["metagit-mcp", "schedule", "policy", "set"])
    assert file["act"] == {"act": "file", "file": ".metagit/tasks/graphs/h.json", "leaves": []}


def test_requirement_1_nothing_needs_a_person_where_nothing_does(desk: Desk) -> None:
    desk.graph("g", node("a"))
    board = desk.board()
    assert (board["needs_person"], board["totals"]["needs_person"]) == ([], 0)


def test_the_digest_on_the_board_is_the_one_that_an_approval_is_bound_to(desk: Desk) -> None:
    desk.graph("g", node("a", approval="human_required"))
    (card,) = desk.board()["needs_person"]
    _, digest = finished(desk.application.rules.approvable("a", None))
    assert card["act"]["digest"] == digest


def test_requirement_3_an_act_says_what_it_does_not_fix(desk: Desk) -> None:
    desk.graph("g", node("a", approval="human_required", not_before=at(60), depends_on=["b"]), node("b"))
    desk.pause("group", "g")
    (pause, card) = sorted(desk.board()["needs_person"], key=lambda each: each["reason"], reverse=True)
    assert (pause["reason"], card["reason"]) == ("paused", "awaiting_approval")
    assert card["act"]["leaves"] == [
        {"reason": "not_ready", "text": "not_ready(unfinished b)"},
        {"reason": "deferred", "text": f"deferred({at(60)})", "until": at(60)},
        {"reason": "paused", "text": "paused(group g, by ada)"},
    ]


def test_a_node_that_only_its_file_can_mend_names_the_file(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"h": {"budget": {"tokens": 0}}}})
    desk.graph("g", node("a", budget={"tokens": 0}), node("c", depends_on=["zz"]))
    desk.graph("h", node("b"))
    acts = {card["node_id"]: (card["act"]["act"], card["act"].get("file")) for card in desk.board()["needs_person"]}
    assert acts == {
        "a": ("file", ".metagit/tasks/graphs/g.json"),
        "b": ("file", ".metagit/schedule/policy.json"),
        "c": ("command", None),
    }


# --- 2. what comes next -----------------------------------------------------------------------------------------------


def test_requirement_2_the_whole_queue_in_dispatch_order_with_its_reasons(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 2, "groups": {"shop": {"class": "high"}}})
    desk.graph("shop", *(node(f"s{place}", estimated_tokens=500) for place in range(3)))
    desk.graph("web", *(node(f"w{place}", priority=place) for place in range(2)))
    board = desk.board()
    assert [(card["place"], card["node_id"], card.get("now")) for card in board["queue"]] == [
        (1, "s0", True),
        (2, "w1", True),
        (3, "s1", None),
        (4, "s2", None),
        (5, "w0", None),
    ]
    assert ids(board["queue"][:2]) == ids(desk.next(limit=9, preview=True)["decisions"])
    assert told(board["queue"]) == {
        **{key: [] for key in ("s0", "w1")},
        **{key: ["no_slot(2/2)"] for key in ("s1", "s2", "w0")},
    }
    first = board["queue"][1]
    assert (first["class"], first["score"], first["score_reasons"][0]) == ("normal", 1.325, "priority=1")
    assert (board["totals"]["queue"], board["totals"]["not_runnable"], board["truncated"]) == (5, 0, False)


def test_the_queue_goes_on_while_every_slot_is_taken(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 1})
    desk.graph("g", node("a"), node("b"), node("c", priority=3))
    desk.taken("w1")
    board = desk.board()
    assert (ids(board["running"]), ids(board["queue"])) == (["c"], ["a", "b"])
    assert told(board["queue"]) == {"a": ["no_slot(1/1)"], "b": ["no_slot(1/1)"]}


def test_what_those_before_it_keep_out_stands_at_the_end_of_the_queue(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 9})
    desk.graph("g", *(node(f"n{place}", exclusive=["lock"], priority=9 - place) for place in range(3)), node("x"))
    board = desk.board()
    assert ids(board["queue"]) == ["n0", "x", "n1", "n2"]
    assert told(board["queue"][2:]) == {key: ["exclusive(lock, held by n0)"] for key in ("n1", "n2")}
    assert desk.board(limit=3)["queue"] == board["queue"][:3]


# --- 3. and 4. why not ------------------------------------------------------------------------------------------------


def test_requirement_3_every_reason_at_once_with_the_instant_at_which_it_ends(desk: Desk) -> None:
    desk.put(POLICY, {"resources": {"api": {"capacity": 1}}, "gates": {"approval_required_for": ["external"]}})
    desk.graph(
        "g",
        node("a", uses={"api": 1}),
        node("b", depends_on=["a"], not_before=at(3600), risk="external", uses={"api": 1}, capabilities=["gpu"]),
    )
    desk.report(desk.lease("w1"), "failed", note="429", rate_limited={"resource": "api", "until": at(600)})
    desk.pause("resource", "api", until=NOW + timedelta(seconds=60))
    (card,) = (card for card in desk.board()["not_runnable"] if card["node_id"] == "b")
    assert card["reasons"] == [
        {"reason": "not_ready", "text": "not_ready(unfinished a)"},
        {"reason": "deferred", "text": f"deferred({at(3600)})", "until": at(3600)},
        {"reason": "awaiting_approval", "text": "awaiting_approval", "person": True},
        {"reason": "paused", "text": f"paused(resource api, by ada, until {at(60)})", "until": at(60)},
        {"reason": "capability_missing", "text": "capability_missing(gpu)"},
        {"reason": "resource_closed", "text": f"resource_closed(api, until {at(600)})", "until": at(600)},
    ]


def test_requirement_4_a_blocked_card_has_a_current_reason_and_inactive_graphs_come_last(desk: Desk) -> None:
    desk.graph("a", node("gone"), status="completed")
    desk.graph("b", node("x", status="blocked"), node("y", depends_on=["x"]), node("z", status="completed"))
    board = desk.board()
    assert told(board["not_runnable"]) == {
        "x": ["blocked(unknown, set by another tool)"],
        "y": ["not_ready(unfinished x)"],
        "gone": ["graph_inactive"],
    }
    assert board["totals"]["not_runnable"] == 3


def test_a_name_that_looks_like_an_instant_ends_nothing(desk: Desk) -> None:
    desk.graph("g", node("a", capabilities=["2026-12-02T00:00:00Z"]))
    (card,) = desk.board()["not_runnable"]
    assert card["reasons"] == [{"reason": "capability_missing", "text": "capability_missing(2026-12-02T00:00:00Z)"}]


# --- 5. and 6. who works, who is lost ---------------------------------------------------------------------------------


def test_requirement_5_state_and_proof_of_life_are_two_marks(desk: Desk) -> None:
    desk.put(POLICY, {"leases": {"seconds": 100, "unattended_seconds": 100}})
    desk.graph("g", node("a", priority=9), node("b", budget={"tokens": 100}))
    first, second = desk.lease("w1"), desk.lease("w2")
    desk.wait(40)
    desk.report(second, "checkpointed", checkpoint={"checkpoint_id": "cp"}, usage={"tokens": 30})
    desk.wait(20)
    late, live = desk.board()["running"]
    assert {name: late.get(name) for name in ("node_id", "state", "proof", "proof_at", "proof_by", "progress_at")} == {
        "node_id": "a",
        "state": "working",
        "proof": "late",
        "proof_at": at(0),
        "proof_by": "server",
        "progress_at": None,
    }
    assert (live["proof"], live["proof_at"], live["progress_at"]) == ("live", at(40), at(40))
    assert (live["used"], live["renewals"], late["used"]) == ([{"name": "tokens", "used": 30}], 1, [])
    assert (late["since"], late["leased_until"], late["agent_id"], late["slots"]) == (at(0), at(100), "w1", 1)
    desk.report(first, "running")
    assert desk.board()["running"][0]["proof"] == "live"


def test_requirement_5_a_run_that_only_a_file_tells_of_is_seen_and_in_the_end_overdue(desk: Desk) -> None:
    desk.put(POLICY, {"leases": {"observed_seconds": 100}})
    desk.graph(
        "g", node("a", status="running", agent_id="script", updated_at=written(-10)), node("b", status="running")
    )
    seen = {card["node_id"]: (card["state"], card["proof"], card["proof_by"]) for card in desk.board()["running"]}
    assert seen == {"a": ("seen", "file", "file"), "b": ("seen", "overdue", "file")}
    desk.wait(91)
    board = desk.board()
    assert [card["proof"] for card in board["running"]] == ["overdue", "overdue"]
    lost = {card["node_id"]: card for card in board["lost"]}
    assert (lost["a"]["kind"], lost["a"]["lost_at"], lost["a"]["agent_id"]) == ("run_overdue", at(90), "script")
    assert lost["a"]["act"]["command"] == "metagit-mcp task update a --graph-id g --status ready"


def test_requirement_6_lost_is_its_own_state_and_an_intentional_pause_is_another(desk: Desk) -> None:
    desk.put(POLICY, {"leases": {"seconds": 100, "start_by_seconds": 500}, "slots": 5})
    desk.graph("g", node("a", priority=9), node("b"), node("c"))
    desk.report(desk.lease("w1"), "checkpointed", checkpoint={"checkpoint_id": "cp", "note": "half"})
    desk.report(desk.lease("w2"), "paused", note="for the other one")
    desk.wait(101)
    board = desk.board()
    (lost,) = board["lost"]
    assert lost == {
        "graph_id": "g",
        "node_id": "a",
        "kind": "lease_expired",
        "title": "a",
        "may_start": True,
        "attempts": 1,
        "agent_id": "w1",
        "lost_at": at(101),
        "checkpoint": {"checkpoint_id": "cp", "at": at(0), "note": "half"},
    }
    (paused,) = board["paused_work"]
    assert (paused["node_id"], paused["agent_id"], paused["since"], paused["until"]) == ("b", "w2", at(0), at(500))
    assert [(card["node_id"], card.get("lost")) for card in board["queue"]] == [("a", True), ("c", None)]
    assert told(board["not_runnable"]) == {"b": ["owned(by w2)"]}
    desk.start("a", "w3")
    desk.start("b", "w2")
    assert (desk.board()["lost"], desk.board()["paused_work"]) == ([], [])


def test_the_newest_loss_comes_first(desk: Desk) -> None:
    desk.put(POLICY, {"leases": {"seconds": 100, "unattended_seconds": 100}, "slots": 5})
    desk.graph("g", node("a"), node("b", status="running", updated_at=written(-90_000)), node("gone"))
    desk.taken("w1")
    desk.taken("w2")
    desk.wait(101)
    desk.look_after()
    desk.graph("g", node("a"), node("b", status="running", updated_at=written(-90_000)))
    assert ids(desk.board()["lost"]) == ["a", "b"]


def test_it_ends_with_the_error_that_leaves_nothing_to_show(desk: Desk) -> None:
    desk.graph("g", node("a"))
    with pytest.raises(GraphNotFound):
        desk.board(graph_id="h")
    desk.put(POLICY, {"slots": 0})
    with pytest.raises(PolicyInvalid):
        desk.board()
