"""Task graphs from bytes: the good nodes stand, each bad one is named, and no content makes the reader fail."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.tasks import Acl, Intent, LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.graph_codec import check_node, content_digest, invalid_graph, load_graph, load_record

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


FULL: dict[str, Any] = {
    "graph_id": "g",
    "title": "Demo",
    "root_intent_id": "intent-g",
    "intent": {"intent_id": "intent-g", "goal": "ship it", "repos": []},
    "status": "active",
    "updated_at": "2026-11-29T13:52:06+00:00",
    "nodes": [
        {
            "node_id": "schema",
            "graph_id": "g",
            "title": "Design schema",
            "depends_on": ["a", "b"],
            "status": "ready",
            "intent_id": "intent-g",
            "blocker_reason": None,
            "project": "p",
            "repository": "p/api",
            "agent_id": "agent-1",
            "acl": {"branch": None, "claim_ids": [], "acl_commands": ["metagit branch allocate"]},
            "context_budget": 7,
            "compiled_context_path": "/c.md",
            "priority": -3,
            "estimated_tokens": 0,
            "created_at": "x",
            "updated_at": "y",
            "estimated_runtime_seconds": 60,
            "deadline": "2026-12-01T12:00:00+02:00",
            "not_before": "2026-11-30T00:00:00Z",
            "requested_urgency": "high",
            "business_impact": "much",
            "risk": "external",
            "approval": "human_required",
            "capabilities": ["gpu"],
            "slots": 2,
            "preemptible": False,
            "uses": {"account": 1},
            "exclusive": ["db"],
            "touches": ["src/**"],
            "budget": {"tokens": 5},
            "acceptance": ["tests pass"],
            "model_tier": "small",
            "discovered_from": "a",
            "parent_id": "p",
        }
    ],
}
READ = TaskGraph(
    graph_id="g",
    title="Demo",
    intent=Intent(goal="ship it"),
    updated_at="2026-11-29T13:52:06+00:00",
    nodes=(
        TaskNode(
            node_id="schema",
            title="Design schema",
            depends_on=("a", "b"),
            status="ready",
            intent_id="intent-g",
            project="p",
            repository="p/api",
            agent_id="agent-1",
            acl=Acl(acl_commands=("metagit branch allocate",)),
            context_budget=7,
            compiled_context_path="/c.md",
            priority=-3,
            estimated_tokens=0,
            updated_at="y",
            estimated_runtime_seconds=60,
            deadline=datetime(2026, 12, 1, 10, tzinfo=UTC),
            not_before=datetime(2026, 11, 30, tzinfo=UTC),
            requested_urgency="high",
            business_impact="much",
            risk="external",
            approval="human_required",
            capabilities=("gpu",),
            slots=2,
            preemptible=False,
            uses={"account": 1},
            exclusive=("db",),
            touches=("src/**",),
            budget={"tokens": 5},
            acceptance=("tests pass",),
            model_tier="small",
            discovered_from="a",
            parent_id="p",
        ),
    ),
)


@pytest.mark.parametrize("kept", [None, OTHER])
def test_every_field_is_read_on_both_ways(kept: Any) -> None:  # noqa: ANN401 - what is kept
    raw = json.dumps(FULL).encode()
    assert load_graph("g", raw, kept) == LoadedGraph(graph_id="g", graph=READ, digest=content_digest(raw))


def test_an_empty_object_is_an_active_graph_without_nodes() -> None:
    empty: tuple[dict[str, Any], ...] = (
        {},
        {"nodes": []},
        {"nodes": None},
        {"status": None, "title": None, "intent": None},
    )
    for record in empty:
        found = load(record)
        assert (found.graph, found.defects, found.warnings) == (TaskGraph(), {}, ())


def test_nulls_are_absent() -> None:
    row = dict.fromkeys(FULL["nodes"][0])
    assert nodes({**row, "node_id": "a"}).graph == TaskGraph(nodes=(TaskNode(node_id="a"),))


def test_a_byte_order_mark_is_passed_over_with_a_warning() -> None:
    found = load(b"\xef\xbb\xbf" + b'{"nodes": [{"node_id": "a"}]}')
    assert ids(found) == ["a"]
    assert found.warnings == ("graph g: starts with a byte order mark; other programs refuse that",)


BAD_FILES = [
    (b"", "not valid JSON: Expecting value: line 1 column 1 (char 0)"),
    (b"   \n", "not valid JSON: Expecting value: line 2 column 1 (char 4)"),
    (b"[]", "the file must hold one JSON object"),
    (b"null", "the file must hold one JSON object"),
    (b'"text"', "the file must hold one JSON object"),
    (b'{"nodes": {}}', "nodes: must be a list"),
    (b'{"nodes": "a"}', "nodes: must be a list"),
    (b'{"title": 5}', "title: should be a valid string"),
    (b'{"status": []}', "status: should be a valid string"),
    (b'{"intent": 5}', "intent: should be an object"),
    (b'{"intent": {"goal": 5}}', "intent/goal: should be a valid string"),
    (b'{"intent": {"goal": "\\ud800"}}', "intent: holds half of a character (a lone surrogate)"),
    (b'{"nodes": []} x', "not valid JSON: Extra data: line 1 column 15 (char 14)"),
    (b'{"title": "\xff"}', "not valid JSON: not UTF-8 at byte 11"),
    ('{"nodes": []}'.encode("utf-16"), "not valid JSON: not UTF-8 at byte 0"),
    (b'{"nodes": ' + b"[" * 100_000, "not valid JSON: nested too deeply"),
]


@pytest.mark.parametrize(("raw", "why"), BAD_FILES, ids=[str(number) for number in range(len(BAD_FILES))])
def test_a_file_that_cannot_be_used_is_a_graph_without_nodes(raw: bytes, why: str) -> None:
    assert load_graph("g", raw) == LoadedGraph(
        graph_id="g", graph=None, digest=content_digest(raw), warnings=(f"graph g: {why}",)
    )
    assert load_graph("g", raw) == invalid_graph("g", why, content_digest(raw))


def test_a_text_truncated_at_every_byte_never_fails() -> None:
    raw = json.dumps(FULL, ensure_ascii=False).encode()
    for end in range(len(raw)):
        for kept in (None, OTHER):
            found = load_graph("g", raw[:end], kept)
            assert (found.graph, found.defects, len(found.warnings)) == (None, {}, 1)


# --- kept values -----------------------------------------------------------------------------------------------


def test_kept_values_stand_where_the_key_is_missing_and_end_by_a_null() -> None:
    rows = ({"node_id": "a"}, {"node_id": " b ", "slots": None, "risk": "none"}, {"node_id": "c"})
    kept = {
        "a": {"slots": 2, "deadline": "2026-12-01T00:00:00Z"},
        "b": {"slots": 3, "risk": "destructive", "approval": "human_required"},
        "gone": {"slots": 4},
    }
    found = nodes(*rows, kept=kept)
    assert found.graph == TaskGraph(
        nodes=(
            TaskNode(node_id="a", slots=2, deadline=datetime(2026, 12, 1, tzinfo=UTC)),
            TaskNode(node_id="b", risk="none", approval="human_required"),
            TaskNode(node_id="c"),
        )
    )
    said = "another program dropped a.slots, a.deadline, b.approval"
    assert found.warnings == (f"graph g: {said}; the kept values stay in force (end one by an explicit null)",)


def test_a_kept_value_that_is_wrong_is_a_defect_of_its_node() -> None:
    found = nodes({"node_id": "a"}, {"node_id": 5}, kept={"a": {"slots": 0}})
    assert found.defects == {"a": "slots: should be greater than or equal to 1"}


# --- the object of a file --------------------------------------------------------------------------------------


def test_the_object_of_a_file_is_read_as_the_file() -> None:
    assert load_record("g", FULL).graph == READ
    half = load_record("g", {"nodes": [{"node_id": "a", "title": "\ud800"}]})
    assert half.defects == {"a": "title: holds half of a character (a lone surrogate)"}


def test_an_object_that_no_writer_can_write_is_a_graph_without_nodes() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    found = load_record("g", {"unknown": deep})
    assert (found.graph, found.warnings) == (None, ("graph g: nested too deeply",))
    # Taken apart from the outside, since the interpreter itself would go too deep.
    while deep:
        deep = deep.pop()


# --- before writing --------------------------------------------------------------------------------------------


def test_a_node_is_checked_before_it_is_written() -> None:
    check_node({"node_id": "a", "title": None, "deadline": "2026-12-01T12:00:00Z"})


@pytest.mark.parametrize(
    ("row", "field", "message"),
    [
        ({"node_id": "a", "slots": 0}, "slots", "slots: should be greater than or equal to 1"),
        ({"node_id": "a b"}, "node_id", "node_id: must be letters, digits and '_', '.', '-' only"),
        ({"title": "a"}, "node_id", "node_id: is required"),
        (
            {"node_id": "a", "deadline": "2026-12-01T12:00:00"},
            "deadline",
            "deadline: needs an offset, for example 2026-12-01T12:00:00Z",
        ),
        (
            {"node_id": "a", "not_before": "0001-01-01T00:00:00+09:00"},
            "not_before",
            "not_before: is outside the calendar",
        ),
    ],
)
def test_what_may_not_be_written(row: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_node(row)
    assert (refused.value.message, refused.value.details) == (message, {"field": field})


# --- anything at all -------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ROWS = st.dictionaries(st.sampled_from(["node_id", *FULL["nodes"][0]]), JSON, max_size=4)


@given(st.fixed_dictionaries({"nodes": st.lists(ROWS | JSON, max_size=3)}), st.sampled_from((None, OTHER)))
def test_no_json_makes_the_reader_fail(record: Any, kept: Any) -> None:  # noqa: ANN401 - any JSON
    raw = json.dumps(record).encode()
    found = load_graph("g", raw, kept)
    assert found.graph is not None
    assert found.graph.nodes == getattr(load_graph("g", raw, None if kept else OTHER).graph, "nodes", None)


@given(st.binary(max_size=60))
def test_no_bytes_make_the_reader_fail(raw: bytes) -> None:
    assert load_graph("g", raw).digest == content_digest(raw)
