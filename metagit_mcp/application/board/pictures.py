"""One task graph as a picture: its nodes in waves, what needs what, and the chain that takes the longest.

Decides nothing. Only what is not finished counts for the chain.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from metagit_mcp.application.board.reasons import Look
from metagit_mcp.application.board.work import ended_leases, lost_cards
from metagit_mcp.domain.graph import waves
from metagit_mcp.domain.tasks import FINISHED_STATUSES, GRAPH_STATUSES, STATUSES, LoadedGraph, TaskNode
from metagit_mcp.domain.text import is_any_id, known_word, shown, shown_or_none
from metagit_mcp.scheduling.eligibility import first_kind
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.wire.board_answers import GraphPicture, PictureEdge, PictureNode

NODES_SHOWN: Final = 2_000
EDGES_SHOWN: Final = 8_000
_TOLD: Final = frozenset({"awaiting_approval", "awaiting_review"})
# What a chain takes: seconds first, then nodes, so that without estimates the number of nodes decides.
_Length = tuple[int, int]


def graph_picture(look: Look, loaded: LoadedGraph) -> GraphPicture:
    """Return the picture of a usable graph."""
    group = look.view.queue.groups[loaded.graph_id]
    by_id, graph = group.rules.shape.by_id, loaded.graph
    found = waves(by_id)
    wave_of = {node_id: number for number, wave in enumerate(found, start=1) for node_id in wave}
    is_circular = len(wave_of) < len(by_id)
    last = len(found) + is_circular
    order = sorted(by_id, key=lambda node_id: (wave_of.get(node_id, last), node_id))
    chain, seconds = critical_chain(by_id, order[: len(wave_of)])
    lost, _ = lost_cards(look, ended_leases(look), len(by_id))
    critical, gone = frozenset(chain), frozenset(card.node_id for card in lost)
    nodes = [
        _node(group, by_id[name], wave_of.get(name, last), is_critical=name in critical, is_lost=name in gone)
        for name in order
    ]
    edges = _edges(by_id, chain)
    return GraphPicture(
        at=look.view.now,
        state_version=look.view.state_version,
        graph_id=loaded.graph_id,
        title="" if graph is None else shown(graph.title),
        goal="" if graph is None or graph.intent is None else shown(graph.intent.goal, 500),
        state="invalid" if graph is None else known_word(graph.status, GRAPH_STATUSES),
        waves=last,
        nodes=tuple(nodes[:NODES_SHOWN]),
        nodes_total=len(nodes),
        edges=tuple(edges[:EDGES_SHOWN]),
        edges_total=len(edges),
        chain=tuple(chain),
        truncated=len(nodes) > NODES_SHOWN or len(edges) > EDGES_SHOWN,
        circular=is_circular or None,
        chain_seconds=seconds or None,
    )


def critical_chain(by_id: Mapping[str, TaskNode], order: list[str]) -> tuple[list[str], int]:
    """Return the chain of unfinished nodes that takes the longest, first to last, and its seconds.

    `order` are nodes of which each needs only earlier ones. Of chains that are alike the one with the least ids wins.
    """
    longest: dict[str, _Length] = {}
    before: dict[str, str] = {}
    for node_id in order:
        node = by_id[node_id]
        if node.status in FINISHED_STATUSES:
            continue
        needed = sorted(name for name in node.depends_on if name in longest)
        best = max(needed, key=longest.__getitem__, default=None)
        seconds, count = (0, 0) if best is None else longest[best]
        longest[node_id] = (seconds + (node.estimated_runtime_seconds or 0), count + 1)
        if best is not None:
            before[node_id] = best
    at = max(sorted(longest), key=longest.__getitem__, default=None)
    seconds = 0 if at is None else longest[at][0]
    chain: list[str] = []
    while at is not None:
        chain.append(at)
        at = before.get(at)
    return chain[::-1], seconds


def _node(group: GroupQueue, node: TaskNode, wave: int, *, is_critical: bool, is_lost: bool) -> PictureNode:
    return PictureNode(
        node_id=node.node_id,
        title=shown(node.title),
        wave=wave,
        state="lost" if is_lost else _state(group, node),
        critical=is_critical or None,
        agent_id=shown_or_none(_agent(group, node)),
        estimated_runtime_seconds=node.estimated_runtime_seconds,
        parent_id=node.parent_id if node.parent_id is not None and is_any_id(node.parent_id) else None,
    )


def _agent(group: GroupQueue, node: TaskNode) -> str | None:
    lease, item = group.rules.leases.get(node.node_id), group.rules.items.get(node.node_id)
    if lease is not None:
        return lease.agent_id
    return (None if item is None else item.owner) or node.agent_id


def _state(group: GroupQueue, node: TaskNode) -> str:
    """Return the word that says most of how a node stands."""
    kind, item = first_kind(group.rules, node), group.rules.items.get(node.node_id)
    if kind is None:
        return "ready"
    if kind in _TOLD:
        return kind
    if item is not None and item.state == "parked":
        return "failed"
    # A node that waits for others is not ready, whatever its file says.
    word = known_word(node.status, STATUSES)
    return "pending" if word == "ready" else word


def _edges(by_id: Mapping[str, TaskNode], chain: list[str]) -> list[PictureEdge]:
    steps = set(zip(chain, islice(chain, 1, None), strict=False))
    edges = [
        PictureEdge(source=name, target=node_id, kind="needs", critical=(name, node_id) in steps or None)
        for node_id, node in by_id.items()
        for name in dict.fromkeys(node.depends_on)
        if name in by_id
    ]
    edges += [
        PictureEdge(source=node.discovered_from, target=node_id, kind="discovered")
        for node_id, node in by_id.items()
        if node.discovered_from is not None and node.discovered_from in by_id
    ]
    return sorted(edges, key=lambda edge: (edge.source, edge.target, edge.kind))
