"""The workspace as it is now: keeps the image and the queue in step with the files. Answers no question itself."""

from collections.abc import Mapping
from datetime import datetime
from threading import Lock

from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.errors import GraphInvalid, GraphNotFound, NodeAmbiguous, NodeNotFound
from metagit_mcp.ports import Clock, Offload, WorkspaceImage, WorkspaceSource
from metagit_mcp.scheduling.cycle import WorkspaceQueue
from metagit_mcp.scheduling.snapshot import Snapshot

_NAMED = 10


@value
class View:
    """One consistent look at the workspace: what was read, the queue over it, and the instant.

    The queue is shared and may be rebuilt while the holder waits for something: use it before the next await.
    """

    image: WorkspaceImage
    policy: SchedulePolicy
    queue: WorkspaceQueue
    now: datetime


class Current:
    """Gives every use case the newest view; what did not change is kept from the last one."""

    def __init__(self, source: WorkspaceSource, clock: Clock, offload: Offload) -> None:
        """Read nothing yet."""
        self._source = source
        self._clock = clock
        self._offload = offload
        # The catch-ups that may yet touch the image and the queue, possibly in another thread: neither is used until
        # there is none.
        self._under_way: set[Lock] = set()
        self._image: WorkspaceImage | None = None
        self._queue: WorkspaceQueue | None = None

    async def image(self) -> WorkspaceImage:
        """Return what the files say now; a policy that cannot be used is no obstacle."""
        asked = False
        while self._under_way or not asked or self._image is None:
            if self._under_way:
                # Blocking work is done one piece after another: when this is done, what was before it is.
                await self._offload(_nothing)
            else:
                asked = True
                if self._image is None or self._source.changed():
                    await self._follow()
        return self._image

    async def view(self) -> View:
        """Return the image with its queue at this instant.

        Raises:
            PolicyInvalid: policy.json cannot be used; the defaults never stand in silently.
        """
        image = await self.image()
        policy = usable_policy(image)
        if self._queue is None:  # pragma: no cover - a finished catch-up leaves a queue wherever there is a policy
            raise AssertionError
        now = self._clock.now()
        self._queue.go_on(now)
        return View(image=image, policy=policy, queue=self._queue, now=now)

    async def _follow(self) -> None:
        """Catch up beside the event loop. A caller that is cancelled does not wait, but the catch-up may go on."""
        turn = Lock()
        self._under_way.add(turn)

        def in_turn() -> None:
            if turn.acquire(blocking=False):
                try:
                    self._catch_up()
                finally:
                    self._under_way.discard(turn)

        try:
            await self._offload(in_turn)
        finally:
            if turn.acquire(blocking=False):
                # It has not begun, and now it never will.
                self._under_way.discard(turn)

    def _catch_up(self) -> None:
        image = self._source.read()
        if image is self._image:
            return
        if image.policy is None:
            self._queue = None
        else:
            snapshot = snapshot_of(image, image.policy, self._clock.now())
            if self._queue is None:
                self._queue = WorkspaceQueue(snapshot)
            else:
                self._queue.refresh(snapshot)
        self._image = image


def _nothing() -> None:
    """Stand at the end of the line of blocking work."""


def usable_policy(image: WorkspaceImage) -> SchedulePolicy:
    """Return the policy.

    Raises:
        PolicyInvalid: policy.json cannot be used; the defaults never stand in silently.
    """
    error = image.policy_error
    if image.policy is not None:
        return image.policy
    if error is None:  # pragma: no cover - a source without a policy always says why
        raise AssertionError
    # A new exception, since one instance must not be raised twice.
    raise type(error)(error.message, hint=error.hint, **error.details)


def snapshot_of(image: WorkspaceImage, policy: SchedulePolicy, now: datetime) -> Snapshot:
    """Return the frozen inputs of a cycle."""
    return Snapshot(
        policy=policy, graphs=image.graphs, surroundings=image.surroundings, approvals=image.approvals, now=now
    )


def known_graph(graphs: Mapping[str, LoadedGraph], graph_id: str) -> LoadedGraph:
    """Return the named graph, usable or not.

    Raises:
        GraphNotFound: no file has this name.
    """
    loaded = graphs.get(graph_id)
    if loaded is None:
        known = sorted(graphs)
        more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        shown = ", ".join(known[:_NAMED]) + more
        hint = f"Known graphs: {shown}." if known else "There is no graph yet: plan one with metagit_task_plan."
        raise GraphNotFound(f"No task graph is called {graph_id}.", hint=hint, graph_id=graph_id)
    return loaded


def usable_graph(graphs: Mapping[str, LoadedGraph], graph_id: str) -> LoadedGraph:
    """Return the named graph.

    Raises:
        GraphNotFound: no file has this name.
        GraphInvalid: its file cannot be used; the message says what is wrong with it.
    """
    loaded = known_graph(graphs, graph_id)
    if loaded.graph is None:
        raise GraphInvalid("; ".join(loaded.warnings), hint="Mend the file; other graphs go on.", graph_id=graph_id)
    return loaded


def find_node(graphs: Mapping[str, LoadedGraph], node_id: str, graph_id: str | None) -> tuple[LoadedGraph, TaskNode]:
    """Return the graph and the node that an id names.

    Raises:
        NodeNotFound: no graph (or not the named one) has it.
        NodeAmbiguous: several graphs have it and none was named.
        GraphNotFound, GraphInvalid: the named graph is missing or unusable.
    """
    among = list(graphs.values()) if graph_id is None else [usable_graph(graphs, graph_id)]
    found = [
        (loaded, node)
        for loaded in among
        if loaded.graph is not None
        for node in loaded.graph.nodes
        if node.node_id == node_id
    ]
    homes = sorted({loaded.graph_id for loaded, _ in found})
    if not found:
        unread = sorted(loaded.graph_id for loaded in among if loaded.graph is None)
        hint = "metagit_schedule_status and `metagit-mcp task list` show the nodes there are."
        if unread:
            hint = f"It may be in a graph that cannot be read: {', '.join(unread[:_NAMED])}. {hint}"
        raise NodeNotFound(f"No node is called {node_id}.", hint=hint, node_id=node_id)
    if len(homes) > 1:
        hint = f"Pass graph_id, one of: {', '.join(homes[:_NAMED])}."
        raise NodeAmbiguous(f"{len(homes)} graphs have a node {node_id}.", hint=hint, node_id=node_id, graphs=homes)
    return found[0]
