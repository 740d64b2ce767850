"""One bad node of a task graph harms only itself: it stands without the field, or is left out, and is named."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.wire.graph_codec import load_graph

ID_RULE = "must be letters, digits, '_', '.', '-' (at most 255)"
OTHER = {"other": {"slots": 1}}


def load(record: object, kept: Any = None) -> LoadedGraph:  # noqa: ANN401 - what is kept
    raw = record if isinstance(record, bytes) else json.dumps(record).encode()
    return load_graph("g", raw, kept)


def nodes(*rows: object, kept: Any = None) -> LoadedGraph:  # noqa: ANN401 - what is kept
    return load({"nodes": rows}, kept)


def ids(loaded: LoadedGraph) -> list[str]:
    assert loaded.graph is not None
    return [node.node_id for node in loaded.graph.nodes]


HALF = "holds half of a character (a lone surrogate)"
BIG = "should be less than or equal to 1000000000"
BAD_FIELDS = [
    ("title", 5, "title: should be a valid string"),
    ("title", "\ud800", f"title: {HALF}"),
    ("acceptance", ["fine", "\udfff"], f"acceptance: {HALF}"),
    ("uses", {"\ud800": 1}, f"uses: {HALF}"),
    ("depends_on", "b", "depends_on: should be a list"),
    ("depends_on", ["b", 5], "depends_on/1: should be a valid string"),
    ("status", 3, "status: should be a valid string"),
    ("acl", "x", "acl: should be an object"),
    ("acl", {"acl_commands": [5]}, "acl/acl_commands/0: should be a valid string"),
    ("context_budget", 10**10, f"context_budget: {BIG}"),
    ("priority", 2**53, "priority: should be less than or equal to 1000000"),
    ("priority", -(2**53), "priority: should be greater than or equal to -1000000"),
    ("priority", 1.5, "priority: should be a valid integer, got a number with a fractional part"),
    ("priority", "x", "priority: should be a valid integer, unable to parse string as an integer"),
    ("priority", float("nan"), "priority: should be a finite number"),
    ("priority", float("inf"), "priority: should be a finite number"),
    ("priority", 10**300, "priority: should be less than or equal to 1000000"),
    ("priority", 10**4000, "priority: should be a finite number"),
    ("estimated_tokens", 10**9 + 1, f"estimated_tokens: {BIG}"),
    ("estimated_tokens", [], "estimated_tokens: should be a valid integer"),
    ("estimated_runtime_seconds", -1, "estimated_runtime_seconds: should be greater than or equal to 0"),
    ("deadline", "soon", None),
    ("deadline", "2026-12-01T12:00:00", "deadline: needs an offset, for example 2026-12-01T12:00:00Z"),
    ("deadline", "2026-12-01", "deadline: needs an offset, for example 2026-12-01T12:00:00Z"),
    ("deadline", "0001-01-01T00:00:00+23:59", "deadline: is outside the calendar"),
    ("deadline", 10**400, None),
    ("not_before", "9999-12-31T23:59:59-23:59", "not_before: is outside the calendar"),
    ("not_before", [], None),
    ("requested_urgency", "now", "requested_urgency: should be 'routine', 'normal', 'high' or 'critical'"),
    ("risk", "destructiv", "risk: should be 'none', 'reversible', 'external', 'high_risk' or 'destructive'"),
    ("approval", "yes", "approval: should be 'not_required', 'policy_required' or 'human_required'"),
    ("capabilities", "gpu", "capabilities: should be a list"),
    ("capabilities", [""], "capabilities/0: should have at least 1 character"),
    ("slots", 0, "slots: should be greater than or equal to 1"),
    ("slots", -1, "slots: should be greater than or equal to 1"),
    ("slots", 10**7, "slots: should be less than or equal to 1000000"),
    ("preemptible", "maybe", None),
    ("uses", {"no name at all": "x"}, None),
    ("uses", [], None),
    ("exclusive", {}, "exclusive: should be a list"),
    ("budget", {"tokens": None}, "budget/tokens: should be a valid integer"),
    ("acceptance", "all", "acceptance: should be a list"),
    ("model_tier", "huge", "model_tier: should be 'small', 'standard' or 'large'"),
    ("parent_id", 5, "parent_id: should be a valid string"),
]


@pytest.mark.parametrize(("name", "bad", "why"), BAD_FIELDS, ids=[f"{a}-{str(b)[:20]!a}" for a, b, _ in BAD_FIELDS])
def test_a_node_with_a_bad_field_stands_without_it_and_is_named(name: str, bad: Any, why: str | None) -> None:  # noqa: ANN401 - any JSON
    found = nodes({"node_id": "b"}, {"node_id": "a", "slots": 2, "priority": 1, name: bad}, {"node_id": "c"})
    assert found.graph is not None
    fields: dict[str, Any] = {"slots": 2, "priority": 1}
    fields.pop(name, None)
    assert found.graph.nodes == (TaskNode(node_id="b"), TaskNode(node_id="a", **fields), TaskNode(node_id="c"))
    assert list(found.defects) == ["a"]
    assert found.defects["a"].startswith(f"{name}")
    assert found.defects["a"] == (why or found.defects["a"])
    assert "no name at all" not in found.defects["a"]
    assert found.warnings == (f"graph g: a/{found.defects['a']}",)


def test_a_number_of_5000_digits_costs_only_its_node() -> None:
    row = b'{"nodes": [{"node_id": "a", "priority": %s}, {"node_id": "b", "unknown": %s}]}'
    found = load(row % (b"9" * 5_000, b"-" + b"9" * 5_000))
    assert (ids(found), list(found.defects)) == (["a", "b"], ["a"])


def test_all_bad_fields_of_a_node_are_left_out_and_the_first_is_named() -> None:
    found = nodes({"node_id": "a", "slots": 0, "priority": "x", "title": "stays"})
    assert found.graph == TaskGraph(nodes=(TaskNode(node_id="a", title="stays"),))
    assert found.defects == {
        "a": "priority: should be a valid integer, unable to parse string as an integer",
    }


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"node_id": None},
        {"node_id": ""},
        {"node_id": "  "},
        {"node_id": 5},
        {"node_id": "a b"},
        {"node_id": "a/b"},
        {"node_id": ".."},
        {"node_id": "."},
        {"node_id": "x" * 256},
        {"node_id": "a\u200db"},
        {"node_id": "e\u0301"},
        {"node_id": "½"},
        {"node_id": "🚀", "slots": 0},
        {"node_id": ".", "slots": 0},
        {"node_id": "\ud800"},
    ],
)
@pytest.mark.parametrize("kept", [None, OTHER])
def test_a_node_without_a_usable_id_is_left_out(row: dict[str, Any], kept: Any) -> None:  # noqa: ANN401 - what is kept
    found = nodes({"node_id": "a"}, row, kept=kept)
    assert ids(found) == ["a"]
    assert (found.defects, found.warnings) == ({}, (f"graph g: nodes/1/node_id: {ID_RULE}",))
    assert (found.left_out, found.is_whole) == (found.warnings, False)


@pytest.mark.parametrize("row", [None, 5, "a", [], True])
def test_a_node_that_is_no_object_is_left_out(row: object) -> None:
    found = nodes(row, {"node_id": "a"})
    assert (ids(found), found.warnings) == (["a"], ("graph g: nodes/0: must be an object",))
    assert (found.left_out, found.is_whole) == (found.warnings, False)


@pytest.mark.parametrize("node_id", ["задача", "名前", "é-1", "...", "x" * 255])
@pytest.mark.parametrize("kept", [None, OTHER])
def test_ids_of_all_scripts(node_id: str, kept: Any) -> None:  # noqa: ANN401 - what is kept
    found = nodes({"node_id": node_id}, {"node_id": f" {node_id} ", "title": "padded"}, kept=kept)
    assert ids(found) == [node_id, node_id]
    assert found.defects == {node_id: "node_id: used twice"}


def test_lenient_numbers_are_read_as_the_task_graph_tools_do() -> None:
    found = nodes({"node_id": "a", "priority": "7", "estimated_tokens": 3.0, "slots": True})
    assert found.graph == TaskGraph(nodes=(TaskNode(node_id="a", priority=7, estimated_tokens=3, slots=1),))


def test_instants_with_any_offset_and_seconds_since_1970() -> None:
    found = nodes({"node_id": "a", "deadline": "2026-12-01T12:00:00+05:30", "not_before": 1_764_000_000})
    assert found.graph == TaskGraph(
        nodes=(
            TaskNode(
                node_id="a",
                deadline=datetime(2026, 12, 1, 6, 30, tzinfo=UTC),
                not_before=datetime(2025, 11, 24, 16, tzinfo=UTC),
            ),
        )
    )


def test_ids_used_twice_are_named_and_none_of_them_is_lost() -> None:
    found = nodes({"node_id": "a", "slots": 0}, {"node_id": "a"}, {"node_id": "b"}, {"node_id": "a"})
    assert ids(found) == ["a", "a", "b", "a"]
    assert found.defects == {"a": "node_id: used twice"}
    assert found.warnings == ("graph g: a/node_id: used twice",)


def test_unknown_statuses_are_named_at_most_five() -> None:
    rows = [{"node_id": f"n{number}", "status": "later"} for number in range(7)]
    assert nodes(*rows).warnings == (
        "graph g: unknown status of n0, n1, n2, n3, n4 and 2 more; such nodes are not ready",
    )


def test_defects_are_named_at_most_five() -> None:
    rows = [{"node_id": f"n{number}", "slots": 0} for number in reversed(range(7))]
    found = nodes(*rows)
    assert len(found.defects) == 7
    rule = "slots: should be greater than or equal to 1"
    assert found.warnings == (
        *(f"graph g: n{number}/{rule}" for number in range(5)),
        "graph g: 2 more nodes have fields that cannot be used",
    )


def test_another_id_inside_of_the_file_is_a_warning() -> None:
    assert load({"graph_id": "h"}).warnings == ("graph g: names itself h; the file name decides",)
    assert load({"graph_id": "no id"}).warnings == ("graph g: names itself (not a valid id); the file name decides",)
    assert load({"graph_id": "g"}).warnings == load({"graph_id": None}).warnings == ()
