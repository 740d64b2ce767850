"""Finds leases without life, and where files and ledger are out of step; mends what a command may. Decides nothing."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from metagit_mcp.application.next_steps import give_back_command, release_command
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.shared import Shared
from metagit_mcp.domain.events import BlockedLeaseEnded, Event, LeaseExpired, StartByPassed
from metagit_mcp.domain.instant import Instant, has_passed, seconds_left
from metagit_mcp.domain.projection import is_due
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.domain.work import ExecutionLease, WorkItem
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.housekeeping import Fault

# A server renews when a third of the term is over; after twice that, and some seconds for a machine that is busy,
# nobody did (work.md §2).
_UNRENEWED_PART: Final = 1 / 3
_MARGIN_S: Final = 5
# A server writes back within a second; what is older was left by one that was killed.
_IN_FLIGHT: Final = timedelta(seconds=5)
_NAMED: Final = 10
_ENDS: Final = (LeaseExpired, StartByPassed, BlockedLeaseEnded)
_UNREAD: Final = (Fault(what="not looked at, since the ledger cannot be read", is_harm=False),)


class LooseEnds:
    """The checks of what a command or a server does sooner or later."""

    def __init__(self, current: Current, shared: Shared) -> None:
        """Look at nothing yet."""
        self._current = current
        self._shared = shared

    async def leases(self) -> tuple[Fault, ...]:
        """Return the leases that nobody renews, or whose node is gone from its file."""
        state = await self._state()
        if state is None:
            return _UNREAD
        graphs, now = self._shared.image.graphs, self._shared.clock.instant()
        return (*_unrenewed(state, now), *_without_node(state, graphs, is_shared=self._shared.is_far))

    async def ends(self) -> tuple[Fault, ...]:
        """Return the terms that ended and that no command wrote down yet."""
        if await self._state() is None:
            return ()
        ended = [_about(each) for each in self._unwritten() if isinstance(each, _ENDS)]
        what = f"ended, which the next command writes down: {named(ended)}"
        return (Fault(what=what, is_harm=False, is_mendable=True),) if ended else ()

    async def acts(self) -> tuple[Fault, ...]:
        """Return what other programs did that no command took over yet, and what of it does not count."""
        if await self._state() is None:
            return ()
        acted = [_about(each) for each in self._unwritten() if not isinstance(each, _ENDS)]
        overruled = [_node(*key) for key in sorted(self._shared.reconciliation.overruled)]
        taken = f"changed by another program, which the next command takes over: {named(acted)}"
        ignored = f"set back by another program while leased or under review, which does not count: {named(overruled)}"
        found = [Fault(what=taken, is_harm=False, is_mendable=True)] if acted else []
        return (*found, *([Fault(what=ignored, is_harm=False)] if overruled else ()))

    async def unwritten_rows(self) -> tuple[Fault, ...]:
        """Return the nodes whose row does not say yet what the ledger does, by graph."""
        state = await self._state()
        if state is None:
            return _UNREAD
        due = {graph_id: self._due(state, graph_id) for graph_id in sorted(state.items)}
        in_flight = self._shared.clock.now() - _IN_FLIGHT
        return tuple(
            Fault(
                what=f"graph {graph_id}: not written back yet: {named([item.node_id for item in items])}",
                is_harm=any(item.changed_at < in_flight for item in items),
                is_mendable=True,
            )
            for graph_id, items in due.items()
            if items
        )

    def _due(self, state: LedgerState, graph_id: str) -> list[WorkItem]:
        graphs, row = self._shared.filed, self._shared.reconciliation.row
        rows = ((item, row(graphs, item.key)) for _, item in sorted(state.items[graph_id].items()))
        return [item for item, node in rows if node is not None and is_due(item, node)]

    async def command_nothing(self) -> None:
        """Let everything happen that happened without a command."""
        await self._current.command(lambda _: None)

    async def write_back(self) -> None:
        """Bring the files in step with the ledger."""
        await self._current.flush()

    async def _state(self) -> LedgerState | None:
        await self._current.image()
        try:
            return self._current.state
        except MetagitError:
            # What is wrong with the ledger is told by its own check.
            return None

    def _unwritten(self) -> tuple[Event, ...]:
        return self._shared.unwritten_events(self._shared.clock.instant())


def named(several: list[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    more = f" and {len(several) - _NAMED} more" if len(several) > _NAMED else ""
    return f"{', '.join(several[:_NAMED])}{more}"


def _node(graph_id: str, node_id: str) -> str:
    return f"{graph_id}/{node_id}"


def _about(event: Any) -> str:  # noqa: ANN401 - whatever happens without a command
    return str(event.lease_id) if isinstance(event, LeaseExpired) else _node(event.graph_id, event.node_id)


def _unrenewed(state: LedgerState, now: Instant) -> Iterator[Fault]:
    for _, lease in sorted(state.leases.items()):
        left = seconds_left(lease.expiry, now)
        is_left_alone = left < lease.term_seconds * _UNRENEWED_PART - _MARGIN_S
        if lease.attended and is_left_alone and not has_passed(lease.expiry, now, state.last_at):
            what = f"lease {_of(lease)} was not renewed by its server, which may be gone; it ends in {left} s"
            command = release_command(lease.graph_id, lease.node_id)
            yield Fault(what=what, is_harm=False, command=command)


def _without_node(state: LedgerState, graphs: Mapping[str, LoadedGraph], *, is_shared: bool) -> Iterator[Fault]:
    for lease_id, lease in sorted(state.leases.items()):
        loaded = graphs.get(lease.graph_id)
        nodes = () if loaded is None else None if loaded.graph is None else loaded.graph.nodes
        if nodes is None or lease.node_id in {node.node_id for node in nodes}:
            continue
        if is_shared:
            yield Fault(what=f"lease {_of(lease)} is for a node that the files of this host lack", is_harm=False)
        else:
            yield Fault(
                what=f"lease {_of(lease)} is for a node that is gone from its file", command=give_back_command(lease_id)
            )


def _of(lease: ExecutionLease) -> str:
    return f"{lease.lease_id} of {lease.agent_id} on {_node(lease.graph_id, lease.node_id)}"
