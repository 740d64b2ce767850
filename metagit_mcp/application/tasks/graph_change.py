"""One plan for one graph, worked out on the file's own record under its lock. Knows no file."""

from datetime import datetime
from typing import Any

from metagit_mcp.application.rows import instant_of, row_id
from metagit_mcp.application.tasks.authoring import (
    FreshIds,
    checked,
    new_graph,
    new_node,
    outlined,
    planned,
    rows_of,
)
from metagit_mcp.domain.text import is_id
from metagit_mcp.domain.value import value
from metagit_mcp.errors import GraphExists, InvalidInput
from metagit_mcp.wire.outline import OutlineItem, parse_outline
from metagit_mcp.wire.requests import TaskPlanRequest, refuse_blank

Json = dict[str, Any]
# Room for `.json.lock` in a file name of 255 bytes.
_LONGEST_GRAPH_ID_BYTES = 240


@value
class GraphPlan:
    """A plan as it was asked for: the graph it is for, and its outline read."""

    graph_id: str
    request: TaskPlanRequest
    outline: tuple[OutlineItem, ...]


@value
class PlannedGraph:
    """A graph record with the plan in it, and what is new."""

    record: Json
    created: bool
    added: tuple[str, ...]


def graph_plan(request: TaskPlanRequest) -> GraphPlan:
    """Return what a request plans, before any file is looked at.

    Raises:
        InvalidInput: nodes and outline together, or no node at all; an outline that cannot be read, or an id that no
            file can have.
    """
    if request.nodes is not None and request.outline is not None:
        raise InvalidInput("Pass nodes or outline, not both.", field="outline")
    refuse_blank(request.title)
    graph_id = file_id(request.graph_id or FreshIds().made_from(request.title))
    outline = parse_outline(request.outline or "")
    if not outline and not request.nodes:
        hint = 'Pass an outline, one task a line, or nodes: [{"title": "Build it"}].'
        raise InvalidInput("There is nothing to plan: no node is named.", hint=hint, field="nodes")
    return GraphPlan(graph_id=graph_id, request=request, outline=outline)


def file_id(graph_id: str) -> str:
    """Return the id of a graph that a file can have.

    Raises:
        InvalidInput: no file can.
    """
    if not is_id(graph_id) or len(graph_id.encode()) > _LONGEST_GRAPH_ID_BYTES:
        raise InvalidInput("graph_id: cannot be the name of a file", field="graph_id")
    if graph_id.startswith("."):
        raise InvalidInput("graph_id: begins with a dot, and hidden files are no graphs", field="graph_id")
    return graph_id


def planned_graph(plan: GraphPlan, record: Json | None, now: datetime) -> PlannedGraph:
    """Return the graph with the plan's nodes added at the end; what is there stays as it is.

    Raises:
        GraphExists: the graph is there and the request did not name it to add to it.
        InvalidInput, UnknownDependency, GraphCycle: the plan is refused as a whole.
        GraphInvalid: the graph that is there cannot be used.
    """
    graph_id, request = plan.graph_id, plan.request
    if record is not None and request.graph_id is None:
        hint = f"Pass graph_id={graph_id} to add to it, or choose another title."
        raise GraphExists(f"There is a graph {graph_id} already.", hint=hint, graph_id=graph_id)
    # The task graph tools refuse a graph without a goal, and every command with it.
    goal = request.goal if request.goal and request.goal.strip() else request.title
    base = record or new_graph(graph_id, request.title, goal, now)
    rows = rows_of(graph_id, base)
    taken = [name for row in rows if (name := row_id(row)) is not None]
    fresh = planned(request.nodes or (), taken) if request.outline is None else outlined(plan.outline, taken)
    added = tuple(str(each["node_id"]) for each in fresh)
    rows += [new_node(graph_id, str(each["node_id"]), each, now) for each in fresh]
    revised = {**base, "nodes": rows, "updated_at": instant_of(now)}
    checked(graph_id, revised, added)
    return PlannedGraph(record=revised, created=record is None, added=added)
