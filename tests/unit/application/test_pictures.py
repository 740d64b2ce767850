"""One task graph as a picture: waves, states, what was discovered, and the chain that takes the longest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.application.board import pictures
from metagit_mcp.errors import GraphInvalid, GraphNotFound
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

Json = dict[str, Any]
POLICY = "schedule/policy.json"


def waves(picture: Json) -> list[list[str]]:
    rows = picture["nodes"]
    return [[row["node_id"] for row in rows if row["wave"] == wave] for wave in range(1, picture["waves"] + 1)]


def edges(picture: Json) -> list[str]:
    marks = {"needs": "->", "discovered": "~>"}
    return [
        f"{each['source']} {marks[each['kind']]} {each['target']}{' !' if each.get('critical') else ''}"
        for each in picture["edges"]
    ]


def states(picture: Json) -> dict[str, str]:
    return {row["node_id"]: row["state"] for row in picture["nodes"]}


def test_nodes_stand_in_waves_and_the_longest_chain_is_marked(desk: Desk) -> None:
    desk.graph(
        "g",
        node("a", estimated_runtime_seconds=10),
        node("b", depends_on=["a"], estimated_runtime_seconds=5),
        node("c", depends_on=["a"], estimated_runtime_seconds=60, discovered_from="b", parent_id="b"),
        node("d", depends_on=["b", "c", "zz"]),
        node("e", discovered_from="zz"),
        title="Ship it",
        intent={"goal": "fast"},
    )
    picture = desk.picture()
    assert waves(picture) == [["a", "e"], ["b", "c"], ["d"]]
    assert edges(picture) == ["a -> b", "a -> c !", "b ~> c", "b -> d", "c -> d !"]
    assert (picture["chain"], picture["chain_seconds"]) == (["a", "c", "d"], 70)
    assert [row["node_id"] for row in picture["nodes"] if row.get("critical")] == ["a", "c", "d"]
    assert (picture["title"], picture["goal"], picture["state"]) == ("Ship it", "fast", "active")
    assert (picture["nodes_total"], picture["edges_total"], picture["truncated"]) == (5, 5, False)
    assert ("circular" in picture, picture["state_version"]) == (False, desk.status()["state_version"])
    (row,) = (row for row in picture["nodes"] if row["node_id"] == "c")
    assert (row["parent_id"], row["estimated_runtime_seconds"]) == ("b", 60)


def test_without_estimates_the_chain_with_the_most_nodes_is_meant_and_what_is_done_is_left_out(desk: Desk) -> None:
    desk.graph(
        "g",
        node("a", status="completed"),
        node("b", depends_on=["a"]),
        node("c", depends_on=["b"]),
        node("d"),
        node("e", status="cancelled", estimated_runtime_seconds=900),
    )
    picture = desk.picture()
    assert (picture["chain"], "chain_seconds" in picture) == (["b", "c"], False)
    desk.graph("g", node("a", status="completed"))
    assert desk.picture()["chain"] == []


def test_circles_stand_in_the_last_wave(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b", depends_on=["c"]), node("c", depends_on=["b"]), node("d", depends_on=["c"]))
    picture = desk.picture()
    assert (waves(picture), picture["circular"]) == ([["a"], ["b", "c", "d"]], True)
    assert picture["chain"] == ["a"]


def test_a_node_is_told_by_the_word_that_says_most_of_it(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 9, "retries": {"max_attempts": 1}, "leases": {"unattended_seconds": 60, "seconds": 60}})
    desk.put(POLICY, {**desk.document(POLICY), "groups": {"g": {"review": True}}})
    desk.graph(
        "g",
        *(node(name) for name in ("run", "judged", "parked", "free")),
        node("gated", approval="human_required"),
        node("later", depends_on=["free"], status="ready"),
        node("stuck", status="blocked", blocker_reason="no disk"),
        node("odd", status="review"),
        node("gone"),
        node("done", status="completed"),
    )
    desk.start("gone", "w0")
    desk.wait(61)
    desk.look_after()
    desk.start("run", "w1")
    desk.report(desk.start("judged", "w2")["lease"]["lease_id"], "completed")
    desk.report(desk.start("parked", "w3")["lease"]["lease_id"], "failed", note="no")
    picture = desk.picture()
    assert states(picture) == {
        "run": "running",
        "judged": "awaiting_review",
        "parked": "failed",
        "free": "ready",
        "gated": "awaiting_approval",
        "later": "pending",
        "stuck": "blocked",
        "odd": "unknown",
        "gone": "lost",
        "done": "completed",
    }
    agents = {row["node_id"]: row.get("agent_id") for row in picture["nodes"]}
    assert (agents["run"], agents["judged"], agents["free"]) == ("w1", "w2", None)


def test_a_large_graph_is_cut_and_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "NODES_SHOWN", 2)
    monkeypatch.setattr(pictures, "EDGES_SHOWN", 1)
    desk.graph("g", node("a"), node("b"), node("c", depends_on=["a", "b"]))
    picture = desk.picture()
    assert (waves(picture), edges(picture), picture["truncated"]) == ([["a", "b"], []], ["a -> c !"], True)
    assert (picture["nodes_total"], picture["edges_total"]) == (3, 2)
    desk.graph("g", node("a"), node("b", depends_on=["a"], discovered_from="a"))
    assert desk.picture()["truncated"] is True


def test_what_cannot_be_drawn_is_refused(desk: Desk) -> None:
    (desk.path("tasks/graphs") / "bad.json").write_text("{")
    with pytest.raises(GraphInvalid):
        desk.picture("bad")
    with pytest.raises(GraphNotFound):
        desk.picture("none")


def test_texts_of_others_are_safe_to_show(desk: Desk) -> None:
    desk.graph("g", node("a", title="one\ntwo\x1b[31m\u202e", parent_id="../x"), title="x\x00y")
    picture = desk.picture()
    assert (picture["title"], picture["nodes"][0]["title"]) == ("x y", "one two [31m")
    assert "parent_id" not in picture["nodes"][0]
