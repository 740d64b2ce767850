"""Makes the small snapshots that tests of the core look at: nodes, graphs, a queue over them.

It must not decide anything: every field that a test does not name has the default of the domain.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from metagit_mcp.domain.approval import Approval, approval_digest
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.state import LedgerState, pause_key
from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.domain.work import ExecutionLease, Holding, Pause, ResourceClosure, WorkItem, WorkState
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


def approval_of(node: TaskNode, graph_id: str = "g", epoch: int = 1) -> Approval:
    """An approval of the node as it is now."""
    digest = approval_digest(node)
    return Approval(graph_id=graph_id, node_id=node.node_id, epoch=epoch, digest=digest, approved_by="owner", at=NOW)


def known(node_id: str, state: WorkState = "open", graph_id: str = "g", **fields: Any) -> WorkItem:  # noqa: ANN401 - any field of an item
    """What the ledger knows of a node."""
    return WorkItem(graph_id=graph_id, node_id=node_id, state=state, changed_at=fields.pop("changed_at", NOW), **fields)


def lease(node_id: str, agent_id: str = "w1", graph_id: str = "g", **holding: Any) -> ExecutionLease:  # noqa: ANN401 - any field of what it holds
    """A live lease on a node, and what it holds."""
    return ExecutionLease(
        lease_id=f"L-{graph_id}-{node_id}",
        graph_id=graph_id,
        node_id=node_id,
        agent_id=agent_id,
        session_epoch=1,
        ownership_epoch=1,
        granted_at=NOW,
        expiry=Expiry(at=NOW + HOUR),
        term_seconds=3_600,
        holding=Holding(**holding),
    )


def ledger(*parts: WorkItem | ExecutionLease | Pause | ResourceClosure | Approval) -> LedgerState:
    """A state that knows these things; a lease makes its node active."""
    state = LedgerState()
    for part in parts:
        learn(state, part)
    return state


def learn(state: LedgerState, part: WorkItem | ExecutionLease | Pause | ResourceClosure | Approval) -> tuple[str, str]:
    """Let a state know one thing more; return the node that it is about."""
    match part:
        case WorkItem():
            before = state.item(part.key)
            if before is not None and before.lease_id != part.lease_id:
                state.leases.pop(before.lease_id or "", None)
            state.items.setdefault(part.graph_id, {})[part.node_id] = part
            return part.key
        case ExecutionLease():
            state.leases[part.lease_id] = part
            owned: dict[str, Any] = {"owner": part.agent_id, "lease_id": part.lease_id, "ownership_epoch": 1}
            return learn(state, known(part.node_id, "active", part.graph_id, **owned))
        case Pause():
            state.pauses[pause_key(part.scope, part.name)] = part
        case ResourceClosure():
            state.closures[part.resource] = part
        case Approval():
            state.approvals[part.graph_id] = (*state.approvals.get(part.graph_id, ()), part)
            return part.graph_id, part.node_id
    return "", ""


def pause(scope: Any, name: str = "", **fields: Any) -> Pause:  # noqa: ANN401 - a literal, and any field
    """A pause by Ann."""
    return Pause(scope=scope, name=name, by=fields.pop("by", "ann"), at=NOW, **fields)


def closure(resource: str, until: datetime) -> ResourceClosure:
    """A closure that an agent reported."""
    return ResourceClosure(resource=resource, until=until, by="w1", at=NOW)


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
