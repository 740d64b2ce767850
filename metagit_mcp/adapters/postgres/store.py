"""The event store over a PostgreSQL ledger: which one is meant, who writes, and what a cut connection means.

It knows no SQL and no rule. psycopg is loaded by the first question about a ledger that has a name.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeVar

from metagit_mcp.adapters.fault_points import fault
from metagit_mcp.adapters.freed_memory import give_back_after
from metagit_mcp.adapters.ledger_writer import writer_for
from metagit_mcp.adapters.postgres.address import public_name
from metagit_mcp.adapters.postgres.clock import LedgerClock, Reading
from metagit_mcp.adapters.postgres.failures import cut, no_driver, unknown_outcome, unreachable
from metagit_mcp.adapters.postgres.naming import LedgerName
from metagit_mcp.adapters.turn import Turn
from metagit_mcp.errors import MetagitError, StoreUnavailable
from metagit_mcp.ports.ledger import InboxSize, LedgerMark, LedgerWriter, StoredEvent, StoredSnapshot
from metagit_mcp.ports.machine import Clock, Waits

if TYPE_CHECKING:
    from metagit_mcp.adapters.postgres.alarm import Alarm
    from metagit_mcp.adapters.postgres.connected import Begun, ConnectedLedger, Found

T = TypeVar("T")
BUSY_SECONDS: Final = 5.0
_TRIES: Final = 3
_PAUSE: Final = 0.05


class PostgresEventStore:
    """The `EventStore` of many hosts."""

    def __init__(self, root: str, url: str, *, named: str | None = None, busy_seconds: float = BUSY_SECONDS) -> None:
        """Keep where the ledger is; nothing is asked yet.

        Args:
            root: absolute path of the workspace on this host.
            url: address of the database, which may hold a password.
            named: the name of the ledger; None: what workspace.json says.
            busy_seconds: how long to wait for another writer, and for the server after a cut at the very end.
        """
        self.shared_at = public_name(url)
        self._url = url
        self._name = LedgerName(root, named)
        self._busy_seconds = busy_seconds
        self._turn = Turn(busy_seconds)
        self._ledger: ConnectedLedger | None = None
        self._found: Found | None = None
        self._is_writing = False
        # No attempt to connect before: one that took long would hold up whoever only looks, again and again.
        self._not_before = 0.0
        self._reading: Reading | None = None
        self._alarm: Alarm | None = None

    # --- reading -------------------------------------------------------------------------------------------------

    def mark(self) -> LedgerMark:
        """Say how far the ledger goes."""
        with self._turn:
            found = self._look()
            return LedgerMark() if found is None else found.mark

    def read(self, after: int, limit: int | None = None) -> Sequence[StoredEvent]:
        """Return the events after a position, at most `limit`."""
        return self._of_ledger(lambda ledger, stream: ledger.read(stream, after, limit), ())

    def snapshot(self) -> StoredSnapshot | None:
        """Return the newest snapshot, or None."""
        return self._of_ledger(lambda ledger, stream: ledger.snapshot(stream), None)

    def inbox_size(self, group_id: str) -> InboxSize:
        """Say how much the inbox of a Group holds."""
        return self._of_ledger(lambda ledger, stream: ledger.inbox_size(stream, group_id), InboxSize())

    def examine(self) -> Sequence[str]:
        """Return which events are missing; also without a ledger the server is asked."""
        with self._turn:
            self._asked(lambda ledger: ledger.look(""))
        return self._of_ledger(lambda ledger, stream: ledger.faults(stream), ())

    def clock(self, own: Clock) -> Clock:
        """Return the clock of the server, which all hosts share; until it is asked, the one of this host."""
        return LedgerClock(own, lambda: self._reading)

    def woken(self, waits: Waits) -> Waits:
        """Return the waits of a server, which end before their time when any host changed the ledger."""
        from metagit_mcp.adapters.postgres.alarm import Alarm  # noqa: PLC0415 - a command does not wait like this

        self._alarm = self._alarm or Alarm(self._url, lambda: None if self._found is None else self._found.stream)
        return Waits(offload=waits.offload, sleep=self._alarm.woken(waits.sleep))

    def _of_ledger(self, ask: "Callable[[ConnectedLedger, int], T]", nothing: T) -> T:
        with self._turn:
            found = self._found or self._look()
            return nothing if found is None else self._asked(lambda ledger: ask(ledger, found.stream))

    def _look(self) -> "Found | None":
        """Return the ledger that the name leads to now."""
        named = self._name.known()
        self._note(None if named is None else self._asked(lambda ledger: ledger.look(named)))
        return self._found

    def _note(self, found: "Found | None") -> None:
        self._found = found
        if found is not None:
            self._reading = found.clock

    # --- the connection ------------------------------------------------------------------------------------------

    def _asked(self, ask: "Callable[[ConnectedLedger], T]") -> T:
        """Ask, once more over a new connection if the one that there was had been cut meanwhile."""
        former = self._ledger
        ledger = former or self._connected()
        try:
            return ask(ledger)
        except MetagitError:
            if self._is_writing or former is None or not ledger.link.is_lost:
                raise
        return ask(self._connected())

    def _connected(self) -> "ConnectedLedger":
        self._drop()
        begun = time.monotonic()
        if begun < self._not_before:
            raise unreachable(self.shared_at)
        try:
            from metagit_mcp.adapters.postgres.connected import ConnectedLedger  # noqa: PLC0415 - it loads psycopg
            from metagit_mcp.adapters.postgres.link import Link  # noqa: PLC0415 - as above
        except ImportError as cause:
            raise no_driver() from cause
        try:
            self._ledger = ConnectedLedger(Link(self._url, busy_seconds=self._busy_seconds))
        except StoreUnavailable:
            now = time.monotonic()
            self._not_before = now + (now - begun)
            raise
        return self._ledger

    def _drop(self) -> None:
        if self._ledger is not None:
            self._ledger.link.close()
            self._ledger = None

    def close(self) -> None:
        """Close the connection; the next use opens another. Nobody is woken any more."""
        if self._alarm is not None:
            self._alarm.close()
        with self._turn:
            self._drop()

    # --- writing -------------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self, known: LedgerMark, new_id: Callable[[], str]) -> Iterator[LedgerWriter]:
        """Become the one writer, of a new ledger if there is none."""
        with self._turn:
            if self._is_writing:
                raise RuntimeError("a writing block of this store is open already")
            ledger, begun = self._begun(known, new_id)
            stream, mark = begun.found.stream, begun.found.mark
            self._is_writing = True
            try:
                writer = writer_for(
                    known,
                    mark,
                    lambda after: begun.news if _follows(begun, after) else ledger.read(stream, after),
                    lambda: ledger.snapshot(stream),
                    lambda group_id: ledger.inbox(stream, group_id),
                )
                fault("ledger.begun")
                yield writer
                fault("ledger.appended")
                self._commit(ledger, begun, writer.numbered())
            finally:
                self._is_writing = False
                ledger.end()
            fault("ledger.committed")

    def _begun(self, known: LedgerMark, new_id: Callable[[], str]) -> "tuple[ConnectedLedger, Begun]":
        for _ in range(_TRIES):
            named = self._name.known()
            found = self._found or self._look() or self._made(new_id)
            named = named or found.mark.workspace_id
            begun = self._asked(lambda ledger: ledger.begin(found, named, known))  # noqa: B023 - called at once
            if begun is not None and self._ledger is not None:
                self._note(begun.found)
                self._name.tell(begun.found.mark.workspace_id)
                return self._ledger, begun
            # It was lost, or another one has that name.
            self._found = None
        raise cut(self.shared_at)

    def _made(self, new_id: Callable[[], str]) -> "Found":
        from metagit_mcp.adapters.postgres.making import make_tables  # noqa: PLC0415 - it loads psycopg

        with self._name.choosing():
            found = self._look()
            if found is None:
                self._asked(lambda ledger: make_tables(ledger.link))
                found = self._asked(lambda ledger: ledger.add(self._name.known(), new_id(), self._name.tell))
        fault("ledger.created")
        return found

    def _commit(self, ledger: "ConnectedLedger", begun: "Begun", events: Sequence[StoredEvent]) -> None:
        try:
            ledger.commit(begun.found.stream, events)
        except MetagitError as error:
            if not ledger.link.is_lost:
                raise
            if not self._is_committed(begun):
                raise cut(ledger.link.name) from error

    def _is_committed(self, begun: "Begun") -> bool:
        """Say whether the commit whose answer was lost took place; wait for a server that is starting again."""
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                return self._connected().is_committed(begun.found.stream, begun.transaction)
            except MetagitError as error:
                if time.monotonic() >= deadline:
                    raise unknown_outcome(self.shared_at) from error
            time.sleep(_PAUSE)

    def keep(self, snapshot: StoredSnapshot) -> None:
        """Keep a snapshot of the ledger that was looked at last."""
        with suppress(MetagitError), self._turn:
            found = self._found
            if found is not None and not self._is_writing:
                self._asked(lambda ledger: ledger.keep(found.stream, snapshot))
        give_back_after(len(snapshot.body))


def _follows(begun: "Begun", after: int) -> bool:
    """Say whether the news are what follows this position."""
    return bool(begun.news) and begun.news[0].position == after + 1
