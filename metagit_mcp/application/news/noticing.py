"""Notices which of the things that a host can read are other than before, and who may be told of it.

It looks when it is asked, and a look at a workspace where nothing happened reads no file. Must not know how hosts are
told, nor how they name things.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.news.changes import Change
from metagit_mcp.application.news.topics import Topic
from metagit_mcp.application.news.watching import Watching
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.shared import Shared
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.ledger import EventStore
from metagit_mcp.ports.machine import Waits
from metagit_mcp.ports.workspace import DecisionLog, WorkspaceImage

if TYPE_CHECKING:
    from metagit_mcp.scheduling.quiet import Quiet


class Noticing:
    """The use case of subscriptions."""

    def __init__(self, current: Current, shared: Shared, store: EventStore, log: DecisionLog, waits: Waits) -> None:
        """Look at nothing yet."""
        self._current = current
        self._shared = shared
        self._log = log
        self._offload = waits.offload
        self.pause = waits.sleep
        self._watching = Watching(current, shared, store, waits)
        self._image: WorkspaceImage | None = None
        self._quiet: Quiet | None = None
        self._newest: object = None
        self._trouble = ""

    async def begin(self) -> None:
        """Take how things are now for known."""
        self._image, self._trouble = await self._current.image(), ""
        self._newest = await self._offload(self._newest_decision)
        await self._watching.begin()
        await self._time_told()

    async def news(self) -> frozenset[Topic]:
        """Return what is other than when this was asked last, or than at `begin`.

        A ledger that cannot be read is news of the status, once; what happened to it is told when it can be read.
        """
        try:
            changes = await self._watching.changes()
        except MetagitError as error:
            changes, trouble = [], error.code
        else:
            trouble = ""
        image, newest = await self._current.image(), await self._offload(self._newest_decision)
        topics = {*_of_changes(changes, image), *_of_files(self._image, image)}
        if newest != self._newest:
            topics |= {Topic(kind="decisions"), Topic(kind="status")}
        if await self._time_told() or trouble != self._trouble:
            topics.add(Topic(kind="status"))
        self._image, self._newest, self._trouble = image, newest, trouble
        return frozenset(topics)

    async def _time_told(self) -> bool:
        """Say whether time alone changed what can be started, as the end of a pause does."""
        try:
            view = await self._current.view()
        except MetagitError:
            # It is told by another way that nothing can be started.
            self._quiet = None
            return False
        before, self._quiet = self._quiet, view.queue.quiet
        return before is not None and not before.holds_at(view.now)

    def is_good(self, caller: Caller | None) -> bool:
        """Say whether a caller may still be told anything: its token is live, as far as anybody can tell now."""
        try:
            tokens = self._current.state.tokens
        except MetagitError:
            # A ledger that cannot be read may have been thrown away, with every token in it.
            return True
        return caller is None or caller.is_good(tokens, self._shared.clock.now())

    def _newest_decision(self) -> object:
        return next((each.decision_id for each in self._log.recent(1)[0]), None)


def _of_changes(changes: Iterable[Change], image: WorkspaceImage) -> Iterable[Topic]:
    for change in changes:
        yield Topic(kind="status")
        if change.graph_id is not None:
            yield from _of_graph(change.graph_id, image.graphs.get(change.graph_id))


def _of_files(before: WorkspaceImage | None, after: WorkspaceImage) -> Iterable[Topic]:
    """Yield what files say anew; what the image of the same state holds is the same object."""
    if before is None or before is after:
        return
    if before.state_version != after.state_version:
        yield Topic(kind="status")
    if before.revision != after.revision:
        yield Topic(kind="policy")
    for graph_id in before.graphs.keys() | after.graphs.keys():
        graph = after.graphs.get(graph_id)
        if before.graphs.get(graph_id) is not graph:
            yield Topic(kind="status")
            yield from _of_graph(graph_id, graph)


def _of_graph(graph_id: str, graph: LoadedGraph | None) -> Iterable[Topic]:
    yield Topic(kind="graph", name=graph_id)
    if graph is not None and graph.is_fed:
        yield Topic(kind="group", name=graph_id)
        yield Topic(kind="outbox", name=graph_id)
