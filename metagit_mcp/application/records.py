"""Turns nodes and graphs into the records that the task tools answer with. Reads nothing."""

from collections.abc import Collection

from metagit_mcp.domain.tasks import GRAPH_STATUSES, STATUSES, LoadedGraph, TaskNode
from metagit_mcp.domain.text import is_id, known_word, shown
from metagit_mcp.wire.responses import GraphRecord, NodeRecord


def node_record(graph_id: str, node: TaskNode) -> NodeRecord:
    """Return one node, its free text made safe to show."""
    return NodeRecord(
        graph_id=graph_id,
        node_id=node.node_id,
        title=shown(node.title),
        status=known_word(node.status, STATUSES),
        depends_on=tuple(name for name in node.depends_on if is_id(name)),
        priority=node.priority,
        note=_text(node.blocker_reason, 500),
        project=_text(node.project),
        repository=_text(node.repository),
        agent_id=_text(node.agent_id),
        estimated_tokens=node.estimated_tokens,
        estimated_runtime_seconds=node.estimated_runtime_seconds,
        requested_urgency=node.requested_urgency,
        deadline=node.deadline,
        not_before=node.not_before,
        risk=node.risk,
        approval=node.approval,
        capabilities=node.capabilities,
        slots=node.slots,
        acceptance=None if node.acceptance is None else tuple(shown(line, 500) for line in node.acceptance),
        model_tier=node.model_tier,
        parent_id=node.parent_id if node.parent_id is not None and is_id(node.parent_id) else None,
        discovered_from=_text(node.discovered_from),
        updated_at=_text(node.updated_at, 40),
    )


def _text(text: str | None, limit: int = 200) -> str | None:
    return (shown(text, limit) or None) if text else None


def graph_record(loaded: LoadedGraph, node_ids: Collection[str]) -> GraphRecord:
    """Return one usable graph with the named nodes, in the order of the file."""
    graph = loaded.graph
    if graph is None:  # pragma: no cover - callers pass usable graphs
        raise AssertionError
    wanted = set(node_ids)
    return GraphRecord(
        graph_id=loaded.graph_id,
        title=shown(graph.title),
        goal=shown(graph.intent.goal, 500) if graph.intent is not None else "",
        status=known_word(graph.status, GRAPH_STATUSES),
        nodes_total=len(graph.nodes),
        nodes=tuple(node_record(loaded.graph_id, node) for node in graph.nodes if node.node_id in wanted),
    )
