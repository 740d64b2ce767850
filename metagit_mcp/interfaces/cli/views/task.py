"""How graphs and nodes look to people. It must not print, nor know where they are kept."""

from collections.abc import Iterator
from typing import Final

from metagit_mcp.interfaces.cli.output import Block, Table
from metagit_mcp.interfaces.cli.views.schedule import counted, view_remarks, without_fraction
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.responses import (
    ApprovalAnswer,
    GraphRecord,
    NodeRecord,
    TaskListAnswer,
    TaskPlanAnswer,
    TaskUpdateAnswer,
)

_INSTANTS: Final = frozenset({"deadline", "not_before", "updated_at", "created_at"})


def view_plan(answer: TaskPlanAnswer) -> Iterator[Block]:
    """Yield the graph with the nodes that were added."""
    done = "created" if answer.created else "extended"
    added = counted(answer.added, "node")
    yield f"Graph {answer.graph.graph_id} {done}: {added} added, {answer.graph.nodes_total} in all"
    yield _nodes(answer.graph)
    yield from view_remarks(answer.warnings, answer.next_step)


def view_update(answer: TaskUpdateAnswer) -> Iterator[Block]:
    """Yield the node after the change."""
    yield "changed" if answer.changed else "not changed"
    yield from view_node(answer.node)
    yield from view_remarks(answer.warnings, answer.next_step)


def view_approval(answer: ApprovalAnswer) -> Iterator[Block]:
    """Yield who approved what."""
    at = answer.at.isoformat(timespec="seconds")
    yield f"{answer.graph_id}/{answer.node_id} approved by {answer.approved_by} at {at}"
    yield from view_remarks(answer.warnings, answer.next_step)


def view_graphs(answer: TaskListAnswer) -> Iterator[Block]:
    """Yield each graph with its nodes, and what is wrong with the others."""
    for graph in answer.graphs:
        yield f"{graph.graph_id} ({graph.status}, {counted(graph.nodes_total, 'node')})"
        yield _nodes(graph)
    if not answer.graphs and not answer.warnings:
        yield 'No task graph. Plan one: metagit-mcp task plan --title "..." --outline FILE'
    yield from view_remarks(answer.warnings, "")


def view_node(node: NodeRecord) -> Iterator[Block]:
    """Yield every field that the node has."""
    fields = plain(node)
    rows = tuple((name, _text(name, each)) for name, each in fields.items() if name not in {"graph_id", "node_id"})
    yield Table(title=f"Node {node.graph_id}/{node.node_id}", header=("field", "value"), rows=rows)


def summary(node: NodeRecord) -> str:
    """Return on one line what a person approves."""
    parts = [f"{node.graph_id}/{node.node_id}: {node.title}"]
    parts += [f"repository {node.repository}"] if node.repository else []
    parts += [f"risk {node.risk}"] if node.risk else []
    parts += [f"after {', '.join(node.depends_on)}"] if node.depends_on else []
    return "; ".join(parts)


def _nodes(graph: GraphRecord) -> Table:
    rows = tuple(
        (each.node_id, each.status, str(each.priority), ", ".join(each.depends_on), each.title) for each in graph.nodes
    )
    header = ("node", "status", "priority", "after", "title")
    return Table(title=graph.title or graph.graph_id, header=header, rows=rows, numbers=frozenset({"priority"}))


def _text(name: str, each: object) -> str:
    if name in _INSTANTS:
        return without_fraction(str(each))
    if not isinstance(each, list):
        return str(each)
    return ("; " if name == "acceptance" else ", ").join(map(str, each)) or "none"
