"""The plain passes over a graph agree with networkx: who waits, who goes in circles, how heavy a chain is.

Edges are drawn at random; networkx decides what is true.
"""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.graph import structure, unmet, upward_ranks, waves
from metagit_mcp.domain.tasks import TaskNode
from tests import oracle

IDS = tuple(f"n{number}" for number in range(9))
STATUSES = ("pending", "pending", "ready", "running", "blocked", "completed", "cancelled", "later")


@st.composite
def graphs(draw: st.DrawFn, *, parents: bool = True) -> tuple[TaskNode, ...]:
    """Nodes with random dependencies, in any order."""
    ids = draw(st.permutations(IDS[: draw(st.integers(1, len(IDS)))]))
    return tuple(
        TaskNode(
            node_id=node_id,
            depends_on=tuple(draw(st.lists(st.sampled_from((*IDS, "gone")), max_size=3))),
            status=draw(st.sampled_from(STATUSES)),
            estimated_tokens=draw(st.sampled_from((0, 1, 7, 1000, 10**9))),
            parent_id=draw(st.sampled_from((None, None, None, *IDS, "gone"))) if parents else None,
        )
        for node_id in ids
    )


def picture(nodes: tuple[TaskNode, ...]) -> nx.DiGraph[str]:
    """An edge from each dependency to the node that needs it."""
    drawn: nx.DiGraph[str] = nx.DiGraph()
    drawn.add_nodes_from(node.node_id for node in nodes)
    drawn.add_edges_from((name, node.node_id) for node in nodes for name in node.depends_on if name in drawn)
    return drawn


@given(graphs())
def test_criticality_is_the_heaviest_path_of_the_condensation(nodes: tuple[TaskNode, ...]) -> None:
    drawn = picture(nodes)
    weight = {node.node_id: node.estimated_tokens or 0 for node in nodes}
    parts = nx.condensation(drawn)
    home = parts.graph["mapping"]
    without_circles: nx.DiGraph[str] = nx.DiGraph()
    without_circles.add_nodes_from(drawn)
    without_circles.add_edges_from((a, b) for a, b in drawn.edges if home[a] != home[b])
    expected: dict[str, int] = {}
    for name in reversed(list(nx.topological_sort(without_circles))):
        expected[name] = weight[name] + max((expected[after] for after in without_circles[name]), default=0)
    assert upward_ranks({node.node_id: node for node in nodes}) == expected


@given(graphs(parents=False))
def test_circles_of_dependencies_are_the_components_of_networkx(nodes: tuple[TaskNode, ...]) -> None:
    unfinished = picture(nodes).subgraph(
        [node.node_id for node in nodes if node.status not in {"completed", "cancelled"}]
    )
    circular = {
        name
        for part in nx.strongly_connected_components(unfinished)
        for name in part
        if len(part) > 1 or unfinished.has_edge(name, name)
    }
    found = structure(nodes).cycles
    assert set(found) == circular
    for path in found.values():
        assert path[0] == path[-1] == min(path)
        assert all(unfinished.has_edge(needed, name) for name, needed in pairwise(path))
        assert len(set(path)) == len(path) - 1


@given(graphs())
def test_circles_through_parents_are_those_of_the_oracle(nodes: tuple[TaskNode, ...]) -> None:
    by_id = {node.node_id: node for node in nodes}
    assert set(structure(nodes).cycles) == oracle.circular(by_id)


@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_of_nodes_names_no_other_circle_rank_or_reason(nodes: tuple[TaskNode, ...], mixer: object) -> None:
    mixed = list(nodes)
    mixer.shuffle(mixed)  # type: ignore[attr-defined]  # the strategy gives a random.Random and is typed as object
    one, other = structure(nodes), structure(tuple(mixed))
    assert one.cycles == other.cycles
    assert upward_ranks(one.by_id) == upward_ranks(other.by_id)
    for node in nodes:
        assert list(unmet(one, node)) == list(unmet(other, node))


@given(graphs(parents=False))
def test_ready_is_what_networkx_and_the_statuses_say(nodes: tuple[TaskNode, ...]) -> None:
    shape, drawn = structure(nodes), picture(nodes)
    status = {node.node_id: node.status for node in nodes}
    for node in nodes:
        if node.status in {"completed", "cancelled"}:
            continue
        done = all(status[name] == "completed" for name in drawn.predecessors(node.node_id))
        ready = done and "gone" not in node.depends_on and node.status != "later"
        known = all(name in status for name in node.depends_on)
        assert (list(unmet(shape, node)) == []) is (ready and known)


@given(graphs(parents=False))
def test_waves_are_the_generations_before_any_circle(nodes: tuple[TaskNode, ...]) -> None:
    drawn = picture(nodes)
    behind = {
        name
        for part in nx.strongly_connected_components(drawn)
        if len(part) > 1 or any(drawn.has_edge(each, each) for each in part)
        for each in part
        for name in ({each} | nx.descendants(drawn, each))
    }
    drawn.remove_nodes_from(behind)
    expected = [sorted(generation) for generation in nx.topological_generations(drawn)]
    assert waves({node.node_id: node for node in nodes}) == expected
