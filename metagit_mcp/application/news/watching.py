"""Tells whoever looks on what happens: ledger events, terms that end, and what other programs write into graph files.

Writes nothing, and remembers no more than the last image and the events that nobody wrote yet.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from metagit_mcp.application.news.changes import Change, change_of
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.shared import Shared
from metagit_mcp.domain.events import KIND_OF, Event
from metagit_mcp.domain.projection import is_act
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import STATUSES, LoadedGraph, TaskNode
from metagit_mcp.domain.text import known_word
from metagit_mcp.domain.work import WorkItem
from metagit_mcp.ports.ledger import EventStore, LedgerMark
from metagit_mcp.ports.machine import Waits
from metagit_mcp.wire.ledger_codec import read_event

# Who looks on learns of a change within a second.
_LOOK_EVERY_S: Final = 0.5
Graphs = Mapping[str, LoadedGraph]


class Watching:
    """The use case of `watch`."""

    def __init__(self, current: Current, shared: Shared, store: EventStore, waits: Waits) -> None:
        """Look at nothing yet."""
        self._current = current
        self._shared = shared
        self._store = store
        self._waits = waits
        self._mark = LedgerMark()
        self._graphs: Graphs = {}
        # What lapsed or was seen, was told, and is no event of the ledger yet.
        self._told: set[tuple[object, ...]] = set()

    async def begin(self) -> None:
        """Take how things are now for known: what changes from here on is told by `follow`."""
        self._graphs = (await self._current.image()).graphs
        self._mark = self._shared.ledger.mark
        self._told = {_key(event) for event in self._unwritten()}

    async def follow(self, tell: Callable[[Change], bool]) -> None:
        """Tell each change, until `tell` says that nobody listens.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read.
        """
        while all(tell(change) for change in await self.changes()):
            await self._waits.sleep(_LOOK_EVERY_S)

    async def changes(self) -> list[Change]:
        """Return what changed since this was asked last, or since `begin`.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read.
        """
        # The image is had without the ledger too; who looks on is to know that it cannot be read.
        await self._waits.offload(self._store.mark)
        image = await self._current.image()
        before, mark = self._mark, self._shared.ledger.mark
        graphs, self._graphs, self._mark = self._graphs, image.graphs, mark
        happened: list[Event] = []
        if mark.workspace_id == before.workspace_id or not before.workspace_id:
            happened = await self._waits.offload(lambda: self._events(before.position, mark.position))
        news = [event for event in happened if _key(event) not in self._told]
        unwritten = {_key(event): event for event in self._unwritten()}
        news += [event for key, event in unwritten.items() if key not in self._told]
        self._told = set(unwritten)
        state, now = self._shared.ledger.state, self._shared.clock.now()
        told = [change for event in news if (change := change_of(event, state)) is not None]
        return [*told, *_file_changes(graphs, image.graphs, state, now)]

    def _events(self, after: int, last: int) -> list[Event]:
        """Return the events of the ledger in between, which `ledger.state` has folded."""
        if after >= last:
            return []
        stored = self._store.read(after)
        return [read_event(each.kind, each.version, each.body) for each in stored if each.position <= last]

    def _unwritten(self) -> tuple[Event, ...]:
        return self._shared.unwritten_events(self._shared.clock.instant())


def _key(event: Any) -> tuple[object, ...]:  # noqa: ANN401 - any event
    """Return what an event has in common with the same one before it was written."""
    names = ("lease_id", "graph_id", "node_id", "seen_at")
    return (KIND_OF[type(event)], *(getattr(event, name, None) for name in names))


def _file_changes(before: Graphs, after: Graphs, state: LedgerState, now: datetime) -> Iterator[Change]:
    if before is after:
        return
    for graph_id in sorted(before.keys() | after.keys()):
        old, new = before.get(graph_id), after.get(graph_id)
        if new is None:
            yield Change(at=now, change="graph_removed", graph_id=graph_id)
        elif old is None:
            yield Change(at=now, change="graph_added", graph_id=graph_id)
        elif (old.graph is None) != (new.graph is None):
            change = "graph_invalid" if new.graph is None else "graph_mended"
            yield Change(at=now, change=change, graph_id=graph_id)
        elif old is not new:
            yield from _statuses(old, new, state.items.get(graph_id, {}), now)


def _statuses(old: LoadedGraph, new: LoadedGraph, items: Mapping[str, WorkItem], now: datetime) -> Iterator[Change]:
    """Yield the statuses that changed without the ledger; what it wrote itself, or will tell of, is left out."""
    known = {node.node_id: node.status for node in _nodes(old)}
    for node in _nodes(new):
        if known.get(node.node_id) != node.status and _is_news(items.get(node.node_id), node):
            yield Change(
                at=now,
                change="file_status",
                graph_id=new.graph_id,
                node_id=node.node_id,
                status=known_word(node.status, STATUSES),
            )


def _nodes(loaded: LoadedGraph) -> tuple[TaskNode, ...]:
    return () if loaded.graph is None else loaded.graph.nodes


def _is_news(item: WorkItem | None, node: TaskNode) -> bool:
    return item is None or (item.state == "open" and is_act(item, node))
