"""That warmth decides nothing is said exactly when all ready nodes lie in several repositories that are all warm.

The oracle judges, on workspaces where that is often so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.policy import AffinityPolicy
from metagit_mcp.scheduling.cycle import WorkspaceQueue, plan
from metagit_mcp.scheduling.explain import explain
from metagit_mcp.scheduling.snapshot import Surroundings
from tests import oracle
from tests.properties.strategies import REPOSITORIES, Workspace, askers, successors, workspaces
from tests.snapshots import tree

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import LoadedGraph
    from metagit_mcp.scheduling.snapshot import Asker

IDLE = "affinity=no_effect"


def housed(loaded: LoadedGraph) -> LoadedGraph:
    """The graph with a repository for each node that has none, and without what nodes wait for."""
    if loaded.graph is None:
        return loaded
    free: dict[str, Any] = {"depends_on": (), "parent_id": None, "not_before": None}
    nodes = tuple(replace(each, repository=oracle.place(each) or "solo", **free) for each in loaded.graph.nodes)
    return replace(loaded, graph=replace(loaded.graph, nodes=nodes))


@st.composite
def warm_workspaces(draw: st.DrawFn) -> Workspace:
    """A workspace with worktrees of most repositories, and often with a repository for each node."""
    workspace = draw(workspaces())
    cold = draw(st.sampled_from((*(None,) * 8, *REPOSITORIES)))
    trees = tuple(tree(name) for name in REPOSITORIES if name != cold)
    graphs = dict(workspace.graphs)
    if draw(st.sampled_from((True, True, False))):
        graphs = {name: housed(loaded) for name, loaded in graphs.items()}
    policy = replace(workspace.policy, affinity=AffinityPolicy())
    return replace(workspace, graphs=graphs, policy=policy, surroundings=Surroundings(worktrees=trees))


def assert_as_oracle(queue: WorkspaceQueue, workspace: Workspace, asker: Asker) -> bool:
    world = workspace.seen_by(asker)
    ready = {oracle.place(node) for name, node in oracle.every_node(world) if not oracle.own_reasons(world, name, node)}
    is_idle = len(ready) > 1 and all(oracle.warm(world, each) for each in ready)
    for graph_id, node in oracle.every_node(world):
        expected = is_idle and oracle.warm(world, oracle.place(node)) and oracle.weight(world, graph_id, "affinity") > 0
        said = explain(queue, asker, graph_id, node.node_id).reasons
        assert [text for text in said if text.startswith("affinity")][1:] == [IDLE] * expected
    return is_idle


@given(st.data())
def test_affinity_without_effect_is_as_the_oracle_says(data: st.DataObject) -> None:
    workspace = data.draw(warm_workspaces())
    queue = WorkspaceQueue(snapshot := workspace.snapshot())
    asker = data.draw(askers(workspace.policy))
    assert_as_oracle(queue, workspace, asker)
    plan(queue, asker, 3)
    workspace = data.draw(successors(workspace))
    queue.refresh(workspace.snapshot(snapshot))
    assert_as_oracle(queue, workspace, asker)
