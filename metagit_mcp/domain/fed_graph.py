"""A Group that is fed by Events as a graph of nodes: its contracts in the words of task files. Decides nothing.

What the log and this workspace say of a node comes with its item, as for any other node.
"""

from collections.abc import Mapping
from dataclasses import fields
from itertools import repeat
from operator import attrgetter
from typing import Any, Final

from metagit_mcp.domain.feeds import Contract, FedItem, FedState, Feed
from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.domain.value import rows_of
from metagit_mcp.domain.work import WorkItem

# Of work that nobody here has a hand in; all other states of the log are states of the item too (feeding.py).
_STATUS_OF: Final[Mapping[FedState, str]] = {"active": "running", "submitted": "running"}
_CONTRACT: Final[Any] = Contract
_TOLD: Final = tuple(field.name for field in fields(_CONTRACT))


def graph_of(feed: Feed) -> LoadedGraph:
    """Return the Group as a graph, which is another one for each `feed.shape`."""
    graph = TaskGraph(
        graph_id=feed.group_id,
        title=feed.group_id,
        status="completed" if feed.archived else "active",
        nodes=tuple(_nodes([*feed.nodes.values()])),
    )
    return LoadedGraph(graph_id=feed.group_id, graph=graph, digest=f"{feed.group_id} {feed.shape}", is_fed=True)


def _nodes(contracts: list[Contract]) -> list[TaskNode]:
    """Return the nodes that the contracts tell of, in the same words."""
    columns = {name: map(attrgetter(name), contracts) for name in _TOLD}
    return rows_of(TaskNode, len(contracts), {**columns, "status": repeat("ready", len(contracts))})


def status_as_told(item: WorkItem, fed: FedItem) -> str | None:
    """Return the status of work that nobody here has a hand in, as far as its item's state does not say it."""
    return _STATUS_OF.get(fed.state) if item.state == "open" else None
