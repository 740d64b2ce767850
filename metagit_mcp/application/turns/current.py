"""Gives every use case the newest view of the workspace, and every command its turn. Answers no question itself."""

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from metagit_mcp.application.turns.reconciliation import OVERRULED
from metagit_mcp.application.turns.shared import Shared, View
from metagit_mcp.application.turns.write_back import WriteBack
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.errors import MetagitError, StoreUnavailable
from metagit_mcp.ports.machine import Ids, Offload
from metagit_mcp.ports.workspace import Warnings, WorkspaceImage

if TYPE_CHECKING:
    from metagit_mcp.application.turns.turn import Turn

R = TypeVar("R")
GraphOf = Callable[[R], str] | None
FollowUp = Callable[[R], Warnings] | None


class Current:
    """Lets use cases look at what is shared, and change it, one after another."""

    def __init__(
        self, shared: Shared, write_back: WriteBack, ids: Ids, offload: Offload, *, writes_at_once: bool
    ) -> None:
        """Read nothing yet. `writes_at_once`: files are brought in step before a command returns, else by `flush`."""
        self._shared = shared
        self._write_back = write_back
        self._writes_at_once = writes_at_once
        self._ids = ids
        self._offload = offload
        # What could not be written back since a command was told of it, by graph.
        self._unwritten: dict[str, Warnings] = {}
        # The work that may yet touch what is shared, possibly in another thread: nobody looks at it until there is
        # none.
        self._under_way: set[Lock] = set()
        # How many looks at a far ledger began: many who wait share one.
        self._looks = 0

    @property
    def has_ledger(self) -> bool:
        """Whether there was a ledger when this was last looked at; raises what `state` raises."""
        return bool(self._shared.known.mark.workspace_id)

    @property
    def state(self) -> LedgerState:
        """What the ledger said when it was last looked at.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: it could not be read.
        """
        return self._shared.known.state

    async def image(self) -> WorkspaceImage:
        """Return what the files say now; a policy that cannot be used is no obstacle."""
        await self._catch_up()
        return self._shared.image

    async def work(self) -> LedgerState:
        """Return the state of all work now, with what happened without a command; no policy is needed for it.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read.
        """
        await self._catch_up()
        return self._shared.work_now()

    async def view(self) -> View:
        """Return the image with its queue at this instant.

        Raises:
            PolicyInvalid: policy.json cannot be used; the defaults never stand in silently.
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read.
        """
        await self._catch_up()
        return self._shared.view(self._shared.clock.instant())

    async def _catch_up(self) -> None:
        asked, before = False, self._looks
        while self._under_way or not asked or not self._shared.is_known:
            if self._under_way:
                # Blocking work is done one piece after another: when this is done, what was before it is.
                await self._offload(_nothing)
                # A look that began since this caller came is one for it too.
                asked = asked or self._looks > before
            else:
                asked = True
                if self._shared.is_far:
                    await self._exclusively(self._look)
                elif self._shared.is_behind():
                    await self._exclusively(self._shared.catch_up)

    def _look(self) -> None:
        self._looks += 1
        self._shared.catch_up_if_behind()

    async def command(
        self, act: "Callable[[Turn], R]", graph_id_of: GraphOf[R] = None, follow_up: FollowUp[R] = None
    ) -> tuple[R, Warnings]:
        """Give `act` the writer's turn, after everything that happened without a command has happened.

        A refusal that `act` raises leaves in force what it let happen before; any other failure leaves nothing. The
        warnings are about files that could not be brought in step yet; with `graph_id_of` only about the graph of the
        answer, and the next command tells the rest. `follow_up` is done when the turn is durable and over; what it
        returns are warnings too.

        Raises:
            StoreUnavailable, ReadOnlyWorkspace, StoreCorrupt, StoreTooNew: the ledger cannot be written.
        """
        return await self._exclusively(lambda: self._commanded(act, graph_id_of, follow_up))

    def _commanded(
        self, act: "Callable[[Turn], R]", graph_id_of: GraphOf[R], follow_up: FollowUp[R]
    ) -> tuple[R, Warnings]:
        from metagit_mcp.application.turns.turn import Turn  # noqa: PLC0415 - the decider is loaded by the first command

        shared = self._shared
        # What takes long is read before the others have to wait.
        shared.look_ahead()
        outcome: list[R] = []
        refusal: MetagitError | None = None
        with shared.ledger.writing() as writer:
            shared.catch_up_in_turn()
            self._note_overruled()
            turn = Turn(shared, writer, self._ids)
            try:
                outcome.append(act(turn))
            except MetagitError as error:
                refusal = error
            if turn.fed_groups:
                from metagit_mcp.application.turns.disclosure import publish  # noqa: PLC0415 - most workspaces need none of it

                publish(turn)
        if self._writes_at_once:
            self._flushed(set(shared.reconciliation.unwritten))
        if refusal is not None:
            raise refusal
        about = sorted(self._unwritten) if graph_id_of is None else [graph_id_of(outcome[0])]
        warnings = tuple(warning for graph_id in about for warning in self._unwritten.pop(graph_id, ()))
        return outcome[0], warnings if follow_up is None else warnings + follow_up(outcome[0])

    def _note_overruled(self) -> None:
        """Note the acts of others that do not count, before the files are written over: the next command tells them."""
        for graph_id, warning in self._shared.reconciliation.overruled_acts():
            known = self._unwritten.get(graph_id, ())
            if warning not in known:
                self._unwritten[graph_id] = (*known, warning)

    def _flushed(self, graph_ids: set[str]) -> None:
        self._note_overruled()
        for graph_id in sorted(graph_ids):
            noted = [each for each in self._unwritten.pop(graph_id, ()) if OVERRULED in each]
            warnings = (*noted, *self._write_back.flush({graph_id}))
            if warnings:
                self._unwritten[graph_id] = warnings
        self._shared.catch_up()
        for graph_id in graph_ids:
            self._shared.settle(graph_id)

    async def flush(self) -> None:
        """Bring the graph files in step with the ledger, one after another, so that no command waits for all."""
        if not self._shared.is_read:
            return
        graph_ids = sorted(self._shared.reconciliation.unwritten)
        for graph_id in graph_ids:
            await self._exclusively(partial(self._flushed, {graph_id}))
        if graph_ids:
            # Else whoever claims next waits until the graphs that were written are judged anew.
            await self._exclusively(self._shared.take_over)

    async def is_overdue(self) -> bool:
        """Say whether something lapsed, or was done by another program, that only a command makes an event."""
        await self._catch_up()
        return bool(self._shared.unwritten_events(self._shared.clock.instant()))

    async def _exclusively(self, blocking: Callable[[], R]) -> R:
        """Do blocking work that touches what is shared. A caller that is cancelled does not wait for it.

        What has begun goes on; what has not begun by then never will.
        """
        turn = Lock()
        self._under_way.add(turn)

        def in_turn() -> R:
            if not turn.acquire(blocking=False):
                # Nobody is left to be told.
                raise StoreUnavailable
            try:
                return blocking()
            finally:
                self._under_way.discard(turn)

        try:
            return await self._offload(in_turn)
        finally:
            if turn.acquire(blocking=False):
                # It has not begun, and now it never will.
                self._under_way.discard(turn)


def _nothing() -> None:
    """Stand at the end of the line of blocking work."""
