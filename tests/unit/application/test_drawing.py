"""Graphs are drawn in waves, and no text of theirs can be taken for Mermaid or for HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import GraphInvalid, GraphNotFound
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

STYLES = [
    "  classDef completed fill:#d8f5d8,stroke:#2e7d32",
    "  classDef running fill:#fff3c4,stroke:#b28704",
    "  classDef blocked fill:#fde0e0,stroke:#c62828",
    "  classDef cancelled fill:#eeeeee,stroke:#9e9e9e",
]


def test_a_graph_is_drawn_in_waves(desk: Desk) -> None:
    desk.graph(
        "ship",
        node("b", depends_on=["a", "a", "lost"], status="running"),
        node("a", status="completed"),
        node("c", status="blocked"),
        node("d", depends_on=["b"], status="cancelled"),
        title="Ship it",
    )
    assert desk.drawn("ship") == [
        "flowchart LR",
        '  subgraph g0["ship: Ship it"]',
        '    subgraph g0w1["wave 1"]',
        '      g0n0["a<br/>a"]:::completed',
        '      g0n2["c<br/>c"]:::blocked',
        "    end",
        '    subgraph g0w2["wave 2"]',
        '      g0n1["b<br/>b"]:::running',
        "    end",
        '    subgraph g0w3["wave 3"]',
        '      g0n3["d<br/>d"]:::cancelled',
        "    end",
        "    g0n0 --> g0n1",
        "    g0n1 --> g0n3",
        "  end",
        *STYLES,
    ]


def test_what_is_on_or_behind_a_circle_is_drawn_too(desk: Desk) -> None:
    rows = [node("free"), node("x", depends_on=["y"]), node("y", depends_on=["x"]), node("z", depends_on=["y"])]
    desk.graph("loop", *rows)
    assert desk.drawn("loop")[1:-5] == [
        '  subgraph g0["loop: loop"]',
        '    subgraph g0w1["wave 1"]',
        '      g0n0["free<br/>free"]',
        "    end",
        '    subgraph g0w2["in or behind a circle"]',
        '      g0n1["x<br/>x"]',
        '      g0n2["y<br/>y"]',
        '      g0n3["z<br/>z"]',
        "    end",
        "    g0n2 --> g0n1",
        "    g0n1 --> g0n2",
        "    g0n2 --> g0n3",
    ]
    desk.graph("loop", *rows[1:])
    assert desk.drawn("loop")[2] == '    subgraph g0w1["in or behind a circle"]'


def test_text_of_people_is_no_syntax(desk: Desk) -> None:
    title = 'a "b" <img src=x> & `c` #quot;\n\x1b[31m\u202e]; click g0n0 "javascript:1"'
    desk.graph("g", node("n", title=title, status='running"]:::x'), title=title)
    safe = "a #quot;b#quot; #lt;img src=x#gt; #amp; #96;c#96; #35;quot; [31m ]; click g0n0 #quot;javascript:1#quot;"
    assert desk.drawn("g")[1:5] == [
        f'  subgraph g0["g: {safe}"]',
        '    subgraph g0w1["wave 1"]',
        f'      g0n0["n<br/>{safe.removesuffix("pt:1#quot;")}…"]',
        "    end",
    ]


def test_all_active_graphs_are_drawn_by_id_and_a_broken_one_is_named(desk: Desk) -> None:
    assert desk.drawn() == ["flowchart LR", *STYLES]
    desk.graph("b", node("a"))
    desk.graph("a", node("a"), status="paused")
    desk.path("tasks/graphs/c.json").write_text("{")
    drawn = desk.drawn()
    assert [line for line in drawn if line.startswith("  subgraph")] == [
        '  subgraph g0["b: b"]',
        '  subgraph g1["c: cannot be read"]',
    ]
    assert desk.drawn("a")[1] == '  subgraph g0["a: a"]'
    with pytest.raises(GraphInvalid):
        desk.drawn("c")
    with pytest.raises(GraphNotFound):
        desk.drawn("d")
