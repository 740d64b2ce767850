"""Finds what a question names, graph, node or policy, or says why it cannot be had. Answers no question."""

from collections.abc import Mapping

from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
from metagit_mcp.errors import GraphInvalid, GraphNotFound, MetagitError, NodeAmbiguous, NodeNotFound
from metagit_mcp.ports import WorkspaceImage

_NAMED = 10


def usable_policy(image: WorkspaceImage) -> SchedulePolicy:
    """Return the policy.

    Raises:
        PolicyInvalid: policy.json cannot be used; the defaults never stand in silently.
    """
    error = image.policy_error
    if image.policy is not None:
        return image.policy
    if error is None:  # pragma: no cover - a source without a policy always says why
        raise AssertionError
    raise again(error)


def again(error: MetagitError) -> MetagitError:
    """Return the same error anew, since one instance must not be raised twice."""
    # What it is made of differs from class to class; what it says is always the same.
    anew = type(error).__new__(type(error), error.message)
    anew.__dict__.update(error.__dict__)
    return anew


def known_graph(graphs: Mapping[str, LoadedGraph], graph_id: str) -> LoadedGraph:
    """Return the named graph, usable or not.

    Raises:
        GraphNotFound: no file has this name.
    """
    loaded = graphs.get(graph_id)
    if loaded is None:
        known = sorted(graphs)
        more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        shown = ", ".join(known[:_NAMED]) + more
        hint = f"Known graphs: {shown}." if known else "There is no graph yet: plan one with metagit_task_plan."
        raise GraphNotFound(f"No task graph is called {graph_id}.", hint=hint, graph_id=graph_id)
    return loaded


def usable_graph(graphs: Mapping[str, LoadedGraph], graph_id: str) -> LoadedGraph:
    """Return the named graph.

    Raises:
        GraphNotFound: no file has this name.
        GraphInvalid: its file cannot be used; the message says what is wrong with it.
    """
    loaded = known_graph(graphs, graph_id)
    if loaded.graph is None:
        raise GraphInvalid("; ".join(loaded.warnings), hint="Mend the file; other graphs go on.", graph_id=graph_id)
    return loaded


def find_node(graphs: Mapping[str, LoadedGraph], node_id: str, graph_id: str | None) -> tuple[LoadedGraph, TaskNode]:
    """Return the graph and the node that an id names.

    Raises:
        NodeNotFound: no graph (or not the named one) has it.
        NodeAmbiguous: several graphs have it and none was named.
        GraphNotFound, GraphInvalid: the named graph is missing or unusable.
    """
    among = list(graphs.values()) if graph_id is None else [usable_graph(graphs, graph_id)]
    found = [
        (loaded, node)
        for loaded in among
        if loaded.graph is not None
        for node in loaded.graph.nodes
        if node.node_id == node_id
    ]
    homes = sorted({loaded.graph_id for loaded, _ in found})
    if not found:
        unread = sorted(loaded.graph_id for loaded in among if loaded.graph is None)
        hint = "metagit_schedule_status and `metagit-mcp task list` show the nodes there are."
        if unread:
            hint = f"It may be in a graph that cannot be read: {', '.join(unread[:_NAMED])}. {hint}"
        raise NodeNotFound(f"No node is called {node_id}.", hint=hint, node_id=node_id)
    if len(homes) > 1:
        hint = f"Pass graph_id, one of: {', '.join(homes[:_NAMED])}."
        raise NodeAmbiguous(f"{len(homes)} graphs have a node {node_id}.", hint=hint, node_id=node_id, graphs=homes)
    return found[0]
