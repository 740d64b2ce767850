"""Turns nodes and graphs into the records that the task tools answer with. Reads nothing."""

from collections.abc import Collection, Iterable

from metagit_mcp.domain.tasks import GRAPH_STATUSES, STATUSES, LoadedGraph, TaskNode
from metagit_mcp.domain.text import is_any_id, known_word, shown, shown_or_none
from metagit_mcp.domain.work import Pause
from metagit_mcp.wire.responses import GraphRecord, NodeRecord, PauseRecord


def node_record(graph_id: str, node: TaskNode) -> NodeRecord:
    """Return one node, its free text made safe to show."""
    return NodeRecord(
        graph_id=graph_id,
        node_id=node.node_id,
        title=shown(node.title),
        status=known_word(node.status, STATUSES),
        depends_on=tuple(name for name in node.depends_on if is_any_id(name)),
        priority=node.priority,
        note=shown_or_none(node.blocker_reason, 500),
        project=shown_or_none(node.project),
        repository=shown_or_none(node.repository),
        agent_id=shown_or_none(node.agent_id),
        estimated_tokens=node.estimated_tokens,
        estimated_runtime_seconds=node.estimated_runtime_seconds,
        requested_urgency=node.requested_urgency,
        deadline=node.deadline,
        not_before=node.not_before,
        risk=node.risk,
        approval=node.approval,
        capabilities=None if node.capabilities is None else tuple(map(shown, node.capabilities)),
        slots=node.slots,
        acceptance=None if node.acceptance is None else tuple(shown(line, 500) for line in node.acceptance),
        model_tier=node.model_tier,
        parent_id=node.parent_id if node.parent_id is not None and is_any_id(node.parent_id) else None,
        discovered_from=shown_or_none(node.discovered_from),
        updated_at=shown_or_none(node.updated_at, 40),
    )


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


def pause_records(pauses: Iterable[Pause]) -> tuple[PauseRecord, ...]:
    """Return pauses in the order of their scopes and names."""
    return tuple(
        PauseRecord(
            scope=each.scope,
            name=each.name,
            by=shown(each.by),
            at=each.at,
            note=shown_or_none(each.reason, 500),
            until=each.until,
        )
        for each in sorted(pauses, key=lambda each: (each.scope, each.name))
    )
