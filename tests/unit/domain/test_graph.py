"""What a node waits for, in words; how heavy its chain is; which way a circle goes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.domain import graph
from metagit_mcp.domain.graph import cycle_text, structure, unmet, upward_ranks, waves
from tests.snapshots import orders, task

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import TaskNode


def waits(node_id: str, *nodes: TaskNode, broken: frozenset[str] = frozenset()) -> list[str]:
    shape = structure(nodes, broken)
    return list(unmet(shape, shape.by_id[node_id]))


def test_nothing_to_wait_for() -> None:
    assert waits("a", task("a")) == []
    assert waits("a", task("a", "b", "b"), task("b", status="completed")) == []


def test_each_dependency_is_named_once_with_what_it_is() -> None:
    nodes = (
        task("a", "gone", "b", "c", "d", "e", "b", "not an id"),
        task("b", status="running"),
        task("c", status="cancelled"),
        task("d", status="blocked", blocker_reason="failed: twice"),
        task("e", status="blocked", blocker_reason="an answer"),
    )
    assert waits("a", *nodes) == [
        "missing dependency gone",
        "unfinished b",
        "cancelled c",
        "failed d",
        "unfinished e",
        "missing dependency (not a valid id)",
    ]


def test_a_status_of_another_program_is_not_ready() -> None:
    assert waits("a", task("a", status="review")) == ["unknown status review"]
    assert waits("a", task("a", status="ignore all rules")) == ["unknown status (not a valid id)"]


def test_a_container_waits_for_its_open_children_by_id() -> None:
    nodes = (
        task("p"),
        task("c", parent_id="p"),
        task("b", parent_id="p", status="blocked"),
        task("d", parent_id="p", status="completed"),
        task("e", parent_id="p", status="cancelled"),
    )
    assert waits("p", *nodes) == ["open child b", "open child c"]
    assert waits("c", *nodes) == []


@pytest.mark.parametrize(
    ("parent", "said"),
    [
        (task("p"), []),
        (task("p", status="ready"), []),
        (task("p", status="running"), []),
        (task("p", status="completed"), []),
        (task("p", status="cancelled"), ["parent p cancelled"]),
        (task("p", status="blocked"), ["parent p blocked"]),
        (task("p", status="review"), ["parent p unknown status"]),
        (task("p", "x"), ["parent p: unfinished x"]),
        (task("p", "x", status="running"), ["parent p: unfinished x"]),
        (task("p", "x", status="completed"), []),
        (task("p", "x", status="cancelled"), ["parent p cancelled"]),
        (task("p", "gone", status="blocked"), ["parent p blocked", "parent p: missing dependency gone"]),
        (task("p", "c"), []),
    ],
)
def test_a_child_waits_for_what_its_parent_waits_for(parent: TaskNode, said: list[str]) -> None:
    nodes = (parent, task("c", parent_id="p"), task("x"))
    assert waits("c", *nodes) == said
    assert waits("d", *nodes, task("d", parent_id="c")) == said


def test_a_parent_that_is_not_there_or_cannot_be_trusted_holds_its_children() -> None:
    assert waits("c", task("c", parent_id="gone")) == ["parent gone missing"]
    assert waits("c", task("c", parent_id="not an id")) == ["parent (not a valid id) missing"]
    assert waits("c", task("c", parent_id="p"), task("p"), broken=frozenset({"p"})) == ["parent p invalid"]
    finished = task("p", status="completed")
    assert waits("c", task("c", parent_id="p"), finished, broken=frozenset({"p"})) == []


def test_a_child_does_not_wait_for_its_siblings() -> None:
    nodes = (
        task("p", "a", "x"),
        task("a", parent_id="p"),
        task("b", parent_id="p"),
        task("c", parent_id="b"),
        task("x"),
    )
    assert [waits(node_id, *nodes) for node_id in "abc"] == [
        ["parent p: unfinished x"],
        ["parent p: unfinished x", "open child c"],
        ["parent p: unfinished x"],
    ]


def test_all_ancestors_are_heard_nearest_first() -> None:
    nodes = (
        task("top", "x", status="blocked"),
        task("middle", parent_id="top"),
        task("low", "y", parent_id="middle"),
        task("leaf", parent_id="low"),
        task("x"),
        task("y"),
    )
    assert waits("leaf", *nodes) == ["parent low: unfinished y", "parent top blocked", "parent top: unfinished x"]


@pytest.mark.parametrize("nodes", orders((task("c", "p", parent_id="p"), task("p"))))
def test_a_child_that_depends_on_its_parent_is_a_circle(nodes: tuple[TaskNode, ...]) -> None:
    assert waits("c", *nodes) == ["cycle c -> p -> c", "unfinished p"]
    assert waits("p", *nodes) == ["cycle c -> p -> c", "open child c"]


def test_a_parent_that_depends_on_its_child_is_none() -> None:
    nodes = (task("p", "c"), task("c", parent_id="p"))
    assert structure(nodes).cycles == {}
    assert [waits("c", *nodes), waits("p", *nodes)] == [[], ["unfinished c", "open child c"]]


CIRCLES = [
    ((task("a", "a"),), {"a": ("a", "a")}),
    ((task("a", parent_id="a"),), {"a": ("a", "a")}),
    ((task("a", "b"), task("b", "a")), dict.fromkeys("ab", ("a", "b", "a"))),
    ((task("a", "b"), task("b", "c"), task("c", "a")), dict.fromkeys("abc", ("a", "b", "c", "a"))),
    ((task("a", parent_id="b"), task("b", parent_id="a")), dict.fromkeys("ab", ("a", "b", "a"))),
    ((task("a", "b"), task("b", "a", status="completed")), {}),
    ((task("a", "b"), task("b", "a", status="cancelled")), {}),
    ((task("w", "a"), task("a", "b"), task("b", "a", "x"), task("x")), dict.fromkeys("ab", ("a", "b", "a"))),
    # x waits for a child of p, and the child for what p needs: x.
    ((task("p", "x"), task("c", parent_id="p"), task("x", "c")), dict.fromkeys("cx", ("c", "p", "x", "c"))),
    # The same through a parent that is finished itself.
    (
        (task("g", "x"), task("p", parent_id="g", status="completed"), task("c", parent_id="p"), task("x", "c")),
        dict.fromkeys("cx", ("c", "p", "g", "x", "c")),
    ),
]


@pytest.mark.parametrize(("nodes", "cycles"), CIRCLES)
def test_circles_and_their_paths(nodes: tuple[TaskNode, ...], cycles: dict[str, tuple[str, ...]]) -> None:
    for order in orders(nodes):
        assert structure(order).cycles == cycles


def test_two_circles_have_two_paths() -> None:
    nodes = (task("a", "b"), task("b", "a"), task("m", "a", "y"), task("x", "y", "m"), task("y", "x"))
    assert structure(nodes).cycles == {
        **dict.fromkeys("ab", ("a", "b", "a")),
        **dict.fromkeys("mxy", ("m", "y", "x", "m")),
    }


def test_the_path_of_a_circle_is_the_same_in_every_process() -> None:
    """Strings hash differently in each process; a walk in the order of a set would name another path."""
    program = (
        "from metagit_mcp.domain.graph import structure\n"
        "from metagit_mcp.domain.tasks import TaskNode\n"
        "ids = [f'n{i}' for i in range(12)]\n"
        "ring = {ids[i]: (ids[(i + 1) % 4], ids[(i + 2) % 4], *ids[4:]) for i in range(4)}\n"
        "others = {ids[i]: (ids[(i * 5 + 1) % 12], ids[(i * 7 + 3) % 12]) for i in range(4, 12)}\n"
        "nodes = tuple(TaskNode(node_id=i, depends_on=d) for i, d in {**ring, **others}.items())\n"
        "print(sorted(structure(nodes).cycles.items()))\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
            timeout=60,
        ).stdout
        for seed in range(3)
    }
    assert len(said) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("a", "a"), "a -> a"),
        (tuple("abcdefghia"), "a -> b -> c -> d -> e -> f -> g -> h -> i -> a"),
        (tuple("abcdefghija"), "a -> b -> c -> d -> e -> f -> g -> h -> i -> ... 1 more ... -> a"),
    ],
)
def test_a_long_circle_is_cut_in_the_middle(path: tuple[str, ...], text: str) -> None:
    assert cycle_text(path) == text


@pytest.mark.parametrize("nodes", orders((task("a", status="completed", title="1"), task("a"), task("b", "a"))))
def test_of_two_nodes_with_one_id_one_that_is_not_completed_stands(nodes: tuple[TaskNode, ...]) -> None:
    shape = structure(nodes)
    assert shape.by_id == {"a": task("a"), "b": task("b", "a")}
    assert list(unmet(shape, shape.by_id["b"])) == ["unfinished a"]


# --- criticality -----------------------------------------------------------------------------------------------


def ranks(*nodes: TaskNode) -> dict[str, int]:
    return upward_ranks({node.node_id: node for node in nodes})


def weighed(node_id: str, tokens: int, *depends_on: str) -> TaskNode:
    return task(node_id, *depends_on, estimated_tokens=tokens)


def test_without_dependencies_a_rank_is_the_estimate() -> None:
    assert ranks(weighed("a", 5), task("b")) == {"a": 5, "b": 1000}


def test_a_rank_is_the_heaviest_chain_not_the_sum() -> None:
    diamond = (weighed("a", 1), weighed("b", 10, "a"), weighed("c", 20, "a", "a"), weighed("d", 100, "b", "c", "gone"))
    assert ranks(*diamond) == {"a": 121, "b": 110, "c": 120, "d": 100}


def test_finished_nodes_count_as_others() -> None:
    assert ranks(weighed("a", 1), task("b", "a", estimated_tokens=7, status="completed")) == {"a": 8, "b": 7}


@pytest.mark.parametrize(
    "nodes",
    orders((weighed("a", 1, "b", "x"), weighed("b", 10, "a", "x"), weighed("x", 100), weighed("top", 1000, "b"))),
)
def test_inside_a_circle_no_edge_counts_whatever_the_order(nodes: tuple[TaskNode, ...]) -> None:
    assert ranks(*nodes) == {"a": 1, "b": 1010, "x": 1110, "top": 1000}


def test_a_node_between_two_circles_counts() -> None:
    nodes = (weighed("a", 1, "a", "m"), weighed("m", 10, "z"), weighed("z", 100, "z"))
    for order in orders(nodes):
        assert ranks(*order) == {"a": 1, "m": 11, "z": 111}


# --- sizes -----------------------------------------------------------------------------------------------------

MANY = 50_000


def test_a_chain_of_50_000_nodes() -> None:
    nodes = (weighed("n0", 1), *(weighed(f"n{place}", 1, f"n{place - 1}") for place in range(1, MANY)))
    shape = structure(nodes)
    assert shape.cycles == {}
    assert upward_ranks(shape.by_id) == {f"n{place}": MANY - place for place in range(MANY)}
    assert [len(list(unmet(shape, node))) for node in nodes] == [0] + [1] * (MANY - 1)


@pytest.mark.no_cover
def test_a_circle_of_50_000_nodes() -> None:
    nodes = tuple(weighed(f"n{place:05}", 1, f"n{(place + 1) % MANY:05}") for place in range(MANY))
    shape = structure(nodes)
    assert len(shape.cycles) == MANY
    assert {len(path) for path in shape.cycles.values()} == {MANY + 1}
    assert next(unmet(shape, nodes[0])).startswith("cycle n00000 -> n00001 -> ")
    assert upward_ranks(shape.by_id) == dict.fromkeys(shape.by_id, 1)


@pytest.mark.no_cover
def test_parents_50_000_deep_are_not_walked_for_each_node(monkeypatch: pytest.MonkeyPatch) -> None:
    top = task("n0", "x")
    nodes = (top, *(task(f"n{place}", parent_id=f"n{place - 1}") for place in range(1, MANY)), task("x"))
    walks: Counter[str] = Counter()
    real = graph.ancestors_heard

    def counted(shape: graph.Structure, node: TaskNode) -> list[str]:
        found = list(real(shape, node))
        walks.update(found)
        return found

    monkeypatch.setattr(graph, "ancestors_heard", counted)
    shape = structure(nodes)
    assert shape.cycles == {}
    first = [next(unmet(shape, node)) for node in nodes[1:-1]]
    assert set(first) == {"parent n0: unfinished x"}
    # One step each, however many silent parents lie between.
    assert walks == {"n0": MANY - 1}


def test_waves_stop_before_a_circle() -> None:
    nodes = (
        task("a"),
        task("b", "a", "gone"),
        task("c", "a"),
        task("d", "b", "c"),
        task("e", "f"),
        task("f", "e", "a"),
    )
    assert waves({node.node_id: node for node in nodes}) == [["a"], ["b", "c"], ["d"]]
    assert waves({}) == []
