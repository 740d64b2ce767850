"""Finds what a question names, graph, node or policy, or says why it cannot be had. Answers no question."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
from metagit_mcp.domain.text import shown_name
from metagit_mcp.errors import (
    GraphInvalid,
    GraphNotFound,
    MetagitError,
    NodeAmbiguous,
    NodeNotFound,
    PolicyInvalid,
)
from metagit_mcp.ports.workspace import WorkspaceImage

_NAMED = 10
# The fields of the policy whose keys are Groups.
_OF_GROUPS = ("groups/", "graph_overrides/")


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


def about_group(graph_id: str | None) -> AbstractContextManager[None]:
    """Leave out of a refusal what an unusable policy says of other Groups, where one is asked about (ADR 0032).

    Raises:
        PolicyInvalid: without the particulars, where they may name another Group.
    """
    return nullcontext() if graph_id is None else _about_one_group(graph_id)


@contextmanager
def _about_one_group(graph_id: str) -> Iterator[None]:
    try:
        yield
    except PolicyInvalid as error:
        fields: Any = error.details.get("fields", [error.details.get("field", "")])
        others = any(each.startswith(_OF_GROUPS) and each.split("/")[1:2] != [graph_id] for each in fields)
        if not others and len(fields) < _NAMED:
            raise
        hint = "metagit_schedule_status without graph_id says what is wrong with it, and the way out."
        raise PolicyInvalid(hint=hint) from None


def again(error: MetagitError) -> MetagitError:
    """Return the same error anew, since one instance must not be raised twice."""
    # What it is made of differs from class to class; what it says is always the same.
    anew = type(error).__new__(type(error), error.message)
    anew.__dict__.update(error.__dict__)
    return anew


def first_names(names: Iterable[str]) -> str:
    """Return the first names in their order, and how many more there are; `none` if there are none."""
    several = [shown_name(name) for name in sorted(names)]
    more = f" and {len(several) - _NAMED} more" if len(several) > _NAMED else ""
    return f"{', '.join(several[:_NAMED])}{more}" or "none"


def known_graph(graphs: Mapping[str, LoadedGraph], graph_id: str) -> LoadedGraph:
    """Return the named graph, usable or not.

    Raises:
        GraphNotFound: no file has this name.
    """
    loaded = graphs.get(graph_id)
    if loaded is None:
        known = sorted(name for name, each in graphs.items() if not each.is_fed)
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
        raise ambiguous(node_id, homes)
    return found[0]


def ambiguous(node_id: str, homes: list[str]) -> NodeAmbiguous:
    """Return the refusal of an id that several graphs have: these, in order."""
    hint = f"Pass graph_id, one of: {', '.join(homes[:_NAMED])}."
    return NodeAmbiguous(f"{len(homes)} graphs have a node {node_id}.", hint=hint, node_id=node_id, graphs=homes)
