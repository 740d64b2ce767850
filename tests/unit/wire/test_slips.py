"""A field that a person misspelt in a small graph file is named; a field of another program is left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metagit_mcp.wire.graph_codec import load_graph
from metagit_mcp.wire.slips import SMALL, slips
from tests.unit.adapters.reading import node

Json = dict[str, Any]


def warned(*nodes: Json, **more: object) -> tuple[str, ...]:
    return load_graph("g", json.dumps({"graph_id": "g", "title": "G", "nodes": nodes, **more}).encode()).warnings


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("depend_on", "depends_on"),
        ("dependson", "depends_on"),
        ("priorty", "priority"),
        ("estimate_tokens", "estimated_tokens"),
        ("capability", "capabilities"),
        ("aproval", "approval"),
        ("slot", "slots"),
    ],
)
def test_a_slip_is_named(slip: str, meant: str) -> None:
    row = {**node("a"), slip: 1}
    row.pop(meant, None)
    assert warned(node("b"), row) == (f"graph g: a/{slip}: unknown field; is {meant} meant?",)


def test_it_is_named_where_the_text_is_taken_apart_too() -> None:
    assert warned({**node("a"), "priorty": 1, "slots": -1}) == (
        "graph g: a/priorty: unknown field; is priority meant?",
        "graph g: a/slots: should be greater than or equal to 1",
    )


@pytest.mark.parametrize("name", ["created_by", "created_at", "note", "labels", "title\n", "depends on!", "x" * 300])
def test_a_field_of_another_program_is_left_alone(name: str) -> None:
    assert warned({**node("a"), name: 1}) == ()


def test_a_field_beside_the_one_that_it_resembles_is_no_slip() -> None:
    both = {**node("a"), "priority": 3, "priorty": 1}
    assert warned(both) == ()
    assert warned(both, {**node("b"), "priority": 0, "priorty": 1}) == (
        "graph g: b/priorty: unknown field; is priority meant?",
    )


def test_each_slip_is_named_once_and_five_at_most() -> None:
    assert len(warned({**node("a"), "priorty": 1}, {**node("b"), "priorty": 2})) == 1
    names = ["priorty", "prioriti", "depend_on", "slot", "aproval", "deadlin", "not_befor"]
    assert len(warned({"node_id": "a", "title": "A", **dict.fromkeys(names, 1)})) == 5


def test_many_unknown_fields_are_no_slips() -> None:
    assert list(slips([{"node_id": "a", **{f"slot{place}": 1 for place in range(60)}}])) == []
    assert list(slips("nodes")) == list(slips([5])) == []


def test_a_large_file_is_not_looked_through() -> None:
    assert warned({**node("a"), "priorty": 1}, note="x" * SMALL) == ()
