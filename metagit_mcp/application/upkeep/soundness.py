"""Says whether the ledger is sound: whole, one history, and a state that follows from it. Mends only its snapshot.

The events are the authority. A snapshot, and whatever follows from it, has to be what they lead to.
"""

from typing import Final

from metagit_mcp.application.turns.ledger import Ledger, snapshot_of
from metagit_mcp.application.turns.shared import Shared
from metagit_mcp.domain.invariants import violations
from metagit_mcp.domain.replay import first_difference, fold
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.text import shown
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.housekeeping import Fault
from metagit_mcp.ports.ledger import EventStore, LedgerMark
from metagit_mcp.ports.machine import Ids
from metagit_mcp.wire.ledger_codec import read_event

_PAGE: Final = 10_000
_VIOLATIONS_NAMED: Final = 20


class Soundness:
    """The checks of one ledger; each raises what the store raises where it cannot be read."""

    def __init__(self, shared: Shared, store: EventStore, ids: Ids) -> None:
        """Look at nothing yet."""
        self._shared = shared
        self._store = store
        self._ids = ids

    def mark(self) -> LedgerMark:
        """Say which ledger there is and how far it goes."""
        return self._store.mark()

    @property
    def shared_at(self) -> str:
        """Where the ledger is, if it is shared with other hosts."""
        return self._store.shared_at

    def damage(self) -> list[Fault]:
        """Return what is wrong with the file that holds the ledger."""
        return [Fault(what=said) for said in self._store.examine()]

    def history(self) -> list[Fault]:
        """Return what does not hold of the state to which all events lead, and where the live state differs from it."""
        if not self._store.mark().workspace_id:
            return []
        live = Ledger(self._store, self._ids)
        refusal: MetagitError | None = None
        try:
            live.follow()
        except MetagitError as error:
            refusal = error
        replayed = self.replayed(self._store.mark() if refusal else live.mark)
        broken = [Fault(what=shown(f"after all events {line}")) for line in violations(replayed)[:_VIOLATIONS_NAMED]]
        snapshot = _wrong_snapshot(live.state, replayed, refusal)
        # What breaks the rules is no state to go on from.
        return [*broken, *([Fault(what=snapshot, is_mendable=not broken)] if snapshot else [])]

    def restore(self) -> None:
        """Keep a snapshot of the state to which all events lead, in place of the one that differs from it."""
        mark = self._store.mark()
        self._store.keep(snapshot_of(self.replayed(mark), mark))
        self._shared.ledger.forget()

    def replayed(self, mark: LedgerMark) -> LedgerState:
        """Return the state to which all events up to a mark lead, from nothing."""
        state, position = LedgerState(), 0
        while position < mark.position:
            page = self._store.read(position, min(_PAGE, mark.position - position))
            fold((read_event(each.kind, each.version, each.body) for each in page), state)
            position += len(page) or mark.position
        return state


def _wrong_snapshot(live: LedgerState, replayed: LedgerState, refusal: MetagitError | None) -> str | None:
    if refusal is not None:
        return refusal.message
    difference = first_difference(live, replayed)
    if difference is None:
        return None
    # What stands there may be words of an agent; where it stands is enough.
    where = shown(difference.partition(": ")[0])
    return f"the newest snapshot is not what the events lead to, first at {where}: restart the servers once mended"
