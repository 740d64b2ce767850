"""Makes the small snapshots that tests of the core look at: nodes, graphs, a queue over them.

It must not decide anything: every field that a test does not name has the default of the domain.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from metagit_mcp.domain.approval import Approval, approval_digest
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.scheduling.cycle import WorkspaceQueue, plan, reasons_against
from metagit_mcp.scheduling.snapshot import Asker, Snapshot, Surroundings, Worktree

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ANYONE = Asker()


def task(node_id: str, *depends_on: str, **fields: Any) -> TaskNode:  # noqa: ANN401 - any field of a node
    """A node: its id, what it depends on, and whatever else counts."""
    return TaskNode(node_id=node_id, depends_on=depends_on, **fields)


def group(graph_id: str, *nodes: TaskNode, status: str = "active", **fields: Any) -> LoadedGraph:  # noqa: ANN401 - as above
    """A graph as read from its file."""
    return LoadedGraph(graph_id=graph_id, graph=TaskGraph(title=graph_id, status=status, nodes=nodes), **fields)


def snapshot_of(*graphs: LoadedGraph, now: datetime = NOW, **fields: Any) -> Snapshot:  # noqa: ANN401 - as above
    """A snapshot of graphs; policy, surroundings and approvals as named, else the defaults."""
    known: dict[str, Any] = {"policy": SchedulePolicy(), "surroundings": Surroundings(), "approvals": {}, **fields}
    return Snapshot(graphs={graph.graph_id: graph for graph in graphs}, now=now, **known)


def queue_of(*graphs: LoadedGraph, **fields: Any) -> WorkspaceQueue:  # noqa: ANN401 - as above
    """A queue over graphs; keywords as of `snapshot_of`."""
    return WorkspaceQueue(snapshot_of(*graphs, **fields))


def queue_over(*nodes: TaskNode, **fields: Any) -> WorkspaceQueue:  # noqa: ANN401 - as above
    """A queue over one graph `g` of these nodes."""
    return queue_of(group("g", *nodes), **fields)


def names(queue: WorkspaceQueue, asker: Asker = ANYONE, limit: int = 100, graph_id: str | None = None) -> list[str]:
    """The ids of the plan, best first."""
    return [pick.node.node_id for pick in plan(queue, asker, limit, graph_id).picks]


def against(queue: WorkspaceQueue, node_id: str, asker: Asker = ANYONE, graph_id: str = "g") -> list[str]:
    """Every reason against a node, as text."""
    node = queue.groups[graph_id].rules.shape.by_id[node_id]
    return [reason.text for reason in reasons_against(queue, asker, graph_id, node)]


def approval_of(node: TaskNode, graph_id: str = "g") -> Approval:
    """An approval of the node as it is now."""
    digest = approval_digest(node)
    return Approval(graph_id=graph_id, node_id=node.node_id, epoch=1, digest=digest, approved_by="owner", at=NOW)


def tree(repository: str, **fields: Any) -> Worktree:  # noqa: ANN401 - as above
    """A worktree on disk, of nobody in particular."""
    known: dict[str, Any] = {"agent_id": "", "path": f"/trees/{repository}", "on_disk": True, **fields}
    return Worktree(repository=repository, **known)


def around(
    *trees: Worktree, merges: dict[str, int] | None = None, services: dict[str, int] | None = None
) -> Surroundings:
    """What lies around the graphs."""
    return Surroundings(worktrees=trees, merge_depth=merges or {}, services=services or {})


def orders(nodes: Sequence[TaskNode]) -> list[tuple[TaskNode, ...]]:
    """The nodes in every rotation, forwards and backwards."""
    turned = [(*nodes[place:], *nodes[:place]) for place in range(len(nodes))]
    return turned + [tuple(reversed(each)) for each in turned]
