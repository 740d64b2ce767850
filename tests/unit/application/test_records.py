"""Nodes and graphs as people and agents read them: every field there is, text made safe, unknown words named so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import GraphInvalid, GraphNotFound
from tests.unit.adapters.reading import AT, node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk, Json

HOSTILE = "one\ntwo\x1b[31m\u202e"
WHOLE: Json = {
    "title": HOSTILE,
    "status": "blocked",
    "blocker_reason": HOSTILE,
    "depends_on": ["b", "no id", "."],
    "priority": -3,
    "project": HOSTILE,
    "repository": HOSTILE,
    "agent_id": HOSTILE,
    "estimated_tokens": 0,
    "estimated_runtime_seconds": 60,
    "requested_urgency": "high",
    "deadline": "2026-12-02T12:00:00+02:00",
    "not_before": "2026-12-01T12:00:00Z",
    "risk": "external",
    "approval": "human_required",
    "capabilities": ["gpu"],
    "slots": 2,
    "acceptance": [HOSTILE],
    "model_tier": "small",
    "parent_id": "b",
    "discovered_from": HOSTILE,
    "updated_at": HOSTILE,
}


def test_a_node_is_shown_with_every_field(desk: Desk) -> None:
    desk.graph("g", node("a", **WHOLE), node("b"))
    safe = "one two [31m"
    texts = dict.fromkeys(("title", "project", "repository", "agent_id", "discovered_from", "updated_at"), safe)
    assert desk.shown("a") == {
        **{name: each for name, each in WHOLE.items() if name != "blocker_reason"},
        **texts,
        "graph_id": "g",
        "node_id": "a",
        "note": safe,
        "depends_on": ["b"],
        "deadline": "2026-12-02T10:00:00Z",
        "acceptance": [safe],
    }


def test_a_node_without_more_is_shown_with_what_every_node_has(desk: Desk) -> None:
    desk.graph("g", node("a", status=HOSTILE, project=" \n", parent_id="no id", updated_at=""))
    plain = {"graph_id": "g", "node_id": "a", "title": "a", "status": "unknown", "depends_on": [], "priority": 0}
    assert desk.shown("a") == plain


def test_graphs_are_listed_by_id_whole_or_by_status(desk: Desk) -> None:
    desk.graph("h", node("a"), status=HOSTILE, intent={"goal": HOSTILE})
    desk.graph("g", node("b", status="running"), node("a"), node("c", status="running"), title=HOSTILE)
    desk.path("tasks/graphs/torn.json").write_text("{")

    def names(graphs: list[Json]) -> list[tuple[str, list[str]]]:
        return [(each["graph_id"], [row["node_id"] for row in each["nodes"]]) for each in graphs]

    assert names(desk.listed()) == [("g", ["b", "a", "c"]), ("h", ["a"])]
    assert names(desk.listed(status="running")) == [("g", ["b", "c"]), ("h", [])]
    assert names(desk.listed("g", "pending")) == [("g", ["a"])]
    row = {"graph_id": "h", "node_id": "a", "title": "a", "status": "pending", "depends_on": [], "priority": 0}
    assert desk.listed("h") == [
        {
            "graph_id": "h",
            "title": "h",
            "goal": "one two [31m",
            "status": "unknown",
            "nodes_total": 1,
            "nodes": [{**row, "updated_at": AT}],
        }
    ]
    with pytest.raises(GraphInvalid):
        desk.listed("torn")
    with pytest.raises(GraphNotFound):
        desk.listed("i")
