"""What a server does unasked: keeps its agents' leases alive, lets terms end, brings files in step. Decides nothing.

A lease follows the connection (work.md §2): models do not report during a command of twenty minutes. So does the hold
that a server has on the session of the one agent for which it was started.
"""

from collections.abc import Iterator

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.turn import Turn
from metagit_mcp.application.work.leases import Attended
from metagit_mcp.domain.admission import hold_ended, hold_kept
from metagit_mcp.domain.commands import ReportWork
from metagit_mcp.domain.events import Event
from metagit_mcp.domain.instant import Instant, seconds_left
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.reporting import renewed
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.machine import Clock

# A lease is renewed when less than this part of its term is left.
_RENEW_PART = 2 / 3


class Keeping:
    """The duties of a server on one workspace; each call does what is due, and no more."""

    def __init__(self, current: Current, attended: Attended, clock: Clock, caller: Caller) -> None:
        """Nothing is due yet."""
        self._caller = caller
        self._current = current
        self._attended = attended
        self._clock = clock
        self._called_at_ms = clock.instant().ticks_ms

    def note_call(self) -> None:
        """Note that the host called just now: it is alive, and so are its agents."""
        self._called_at_ms = self._clock.instant().ticks_ms

    async def look_after(self) -> None:
        """Renew leases, let happen what is overdue, bring files in step; what fails waits for the next time."""
        try:
            await self._renew()
            if await self._current.is_overdue():
                await self._current.command(lambda _: None, _of_no_graph)
            await self._current.flush()
        except MetagitError:
            # The next call of a tool says it to somebody who can do something about it.
            return

    async def _renew(self) -> None:
        if not (self._attended.lease_ids or self._caller.holder):
            return
        policy = (await self._current.image()).policy or SchedulePolicy()
        state, now = self._current.state, self._clock.instant()
        live = self._attended.follow(state)
        if now.ticks_ms - self._called_at_ms > policy.leases.idle_seconds * 1000:
            return
        leases = [state.leases[lease_id] for lease_id in sorted(live)]
        due = [each.lease_id for each in leases if seconds_left(each.expiry, now) < each.term_seconds * _RENEW_PART]
        if due or any(self._hold_kept(state, policy, now)):
            await self._current.command(lambda turn: self._renew_all(turn, due), _of_no_graph)

    def _hold_kept(self, state: LedgerState, policy: SchedulePolicy, now: Instant) -> Iterator[Event]:
        if self._caller.holder is not None:
            yield from hold_kept(state, self._caller.claims_as, self._caller.holder, policy, now)

    def _renew_all(self, turn: Turn, lease_ids: list[str]) -> None:
        turn.happen(self._hold_kept(turn.state, turn.policy, turn.instant))
        for lease_id in lease_ids:
            turn.happen(renewed(turn.state, lease_id, turn.instant))

    async def end(self) -> None:
        """Give back what this connection still holds, and leave the files in step; failures are left to expiry."""
        try:
            # A claim whose caller went away may be under way yet: this waits for it.
            await self._current.image()
            if self._attended.lease_ids or any(self._hold_ended(self._current.state, self._clock.instant())):
                await self._current.command(self._release_all)
            await self._current.flush()
        except MetagitError:
            return

    def _hold_ended(self, state: LedgerState, now: Instant) -> Iterator[Event]:
        if self._caller.holder is not None:
            yield from hold_ended(state, self._caller.claims_as, self._caller.holder, now)

    def _release_all(self, turn: Turn) -> None:
        for lease_id in sorted(self._attended.follow(turn.state)):
            note = "the connection ended"
            turn.decide(ReportWork(lease_id=lease_id, state="released", note=note, connection_ended=True))
        turn.happen(self._hold_ended(turn.state, turn.instant))


def _of_no_graph(_: object) -> str:
    """Leave the warnings to the next command of somebody who reads them."""
    return ""
