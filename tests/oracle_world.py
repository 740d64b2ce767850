"""What the oracle looks at: one asker's world, and each node with the status that counts there.

It must not share code with the core: it uses the domain's dataclasses as records and none of their functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from metagit_mcp.domain.policy import SchedulePolicy
    from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
    from metagit_mcp.domain.work import ExecutionLease, Pause, ResourceClosure, WorkItem

T = TypeVar("T")
FINISHED = {"completed", "cancelled"}
OPEN = {"pending", "ready"}
# What an approval vouches for: title, repository, risk, dependencies.
Vouched = tuple[str, str, str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A worktree: repository key, owner, whether it is on disk, and when it was touched."""

    repository: str
    agent_id: str
    on_disk: bool
    updated_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class World:
    """Everything that decides, as seen by one asker at one instant."""

    policy: SchedulePolicy
    graphs: Mapping[str, LoadedGraph]
    trees: Sequence[Tree] = ()
    merge_depth: Mapping[str, int] = field(default_factory=dict)
    services: Mapping[str, int] = field(default_factory=dict)
    # With the ownership each approval is for.
    approvals: Mapping[tuple[str, str], Sequence[tuple[int, Vouched]]] = field(default_factory=dict)
    items: Mapping[tuple[str, str], WorkItem] = field(default_factory=dict)
    leases: Sequence[ExecutionLease] = ()
    pauses: Sequence[Pause] = ()
    closures: Sequence[ResourceClosure] = ()
    now: datetime
    agent_id: str = ""
    capabilities: frozenset[str] = frozenset()
    # Answers that many questions share; each is worked out from the fields above alone.
    known: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def once(self, key: tuple[str, ...], work: Callable[[], T]) -> T:
        if key not in self.known:
            self.known[key] = work()
        answer: T = self.known[key]
        return answer


@dataclass(frozen=True, kw_only=True)
class Found:
    """One node of a plan, by its graph and id, with its score in micros."""

    graph_id: str
    node_id: str
    score: int


def nodes_of(world: World, graph_id: str) -> dict[str, TaskNode]:
    graph = world.graphs[graph_id].graph
    nodes = () if graph is None else graph.nodes
    return world.once(("nodes", graph_id), lambda: {node.node_id: as_it_is(world, graph_id, node) for node in nodes})


def item_of(world: World, graph_id: str, node: TaskNode) -> WorkItem | None:
    return world.items.get((graph_id, node.node_id))


def as_it_is(world: World, graph_id: str, node: TaskNode) -> TaskNode:
    """The node with the status that counts: the ledger's, or a newer word of the file; work under way heeds few."""
    item = item_of(world, graph_id, node)
    if item is None:
        return node
    since = written_at(node)
    is_weak = item.state in {"active", "submitted"} and node.status not in {"completed", "cancelled", "blocked"}
    if since is not None and since > item.changed_at and not is_weak:
        return node
    said = {"blocked": item.note, "parked": f"failed: {item.note}"}.get(item.state)
    words = {"active": "running", "submitted": "running", "parked": "blocked", "open": "ready", "queued": "ready"}
    status = words.get(item.state, item.state)
    is_same = node.status in OPEN if status == "ready" else node.status == status != "blocked"
    return node if is_same else replace(node, status=status, blocker_reason=said)


def written_at(node: TaskNode) -> datetime | None:
    try:
        at = datetime.fromisoformat(node.updated_at)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


def every_node(world: World) -> Iterator[tuple[str, TaskNode]]:
    for graph_id in sorted(world.graphs):
        for _, node in sorted(nodes_of(world, graph_id).items()):
            yield graph_id, node


def slots(node: TaskNode) -> int:
    return node.slots or 1


def place(node: TaskNode) -> str:
    """The repository of a node under the one spelling that counts."""
    parts = _segments(node.repository)
    if not parts:
        return ""
    if parts[-1].endswith(".git") and parts[-1] != ".git":
        parts[-1] = parts[-1][: -len(".git")]
    return "/".join(_segments(node.project) + parts if len(parts) == 1 and parts != ["."] else parts)


def _segments(name: str | None) -> list[str]:
    return [part.strip() for part in (name or "").casefold().replace("\\", "/").split("/") if part.strip()]
