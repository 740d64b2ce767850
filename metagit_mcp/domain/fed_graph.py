"""A Group that is fed by Events as a graph of nodes: its contracts in the words of task files. Decides nothing.

What the log and this workspace say of a node comes with its item, as for any other node.
"""

from collections.abc import Mapping
from typing import Final

from metagit_mcp.domain.feeds import Contract, FedItem, FedState, Feed
from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.domain.work import WorkItem

# Of work that nobody here has a hand in; all other states of the log are states of the item too (feeding.py).
_STATUS_OF: Final[Mapping[FedState, str]] = {"active": "running", "submitted": "running"}


def graph_of(feed: Feed) -> LoadedGraph:
    """Return the Group as a graph, which is another one for each `feed.shape`."""
    graph = TaskGraph(
        graph_id=feed.group_id,
        title=feed.group_id,
        status="completed" if feed.archived else "active",
        nodes=tuple(map(_node, feed.nodes.values())),
    )
    return LoadedGraph(graph_id=feed.group_id, graph=graph, digest=f"{feed.group_id} {feed.shape}", is_fed=True)


def _node(contract: Contract) -> TaskNode:
    # Written out: there may be 100,000 of them, and a loop over the names takes twice as long.
    return TaskNode(
        node_id=contract.node_id,
        title=contract.title,
        depends_on=contract.depends_on,
        status="ready",
        priority=contract.priority,
        requested_urgency=contract.requested_urgency,
        deadline=contract.deadline,
        estimated_runtime_seconds=contract.estimated_runtime_seconds,
        business_impact=contract.business_impact,
        risk=contract.risk,
        approval=contract.approval,
        capabilities=contract.capabilities,
        budget=contract.budget,
        acceptance=contract.acceptance,
    )


def status_as_told(item: WorkItem, fed: FedItem) -> str | None:
    """Return the status of work that nobody here has a hand in, as far as its item's state does not say it."""
    return _STATUS_OF.get(fed.state) if item.state == "open" else None
