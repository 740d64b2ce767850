"""Tells the time of the ledger's server, which all hosts on it share (work.md §1, Clock). Knows no SQL."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.value import value
from metagit_mcp.ports.machine import Clock


@value
class Reading:
    """What a clock said (seconds since 1970), and when that was by the ticks of this process."""

    seconds: float
    ticks: float


class LedgerClock:
    """Goes on from what the server said last: at each look at the ledger, and to a writer when its turn begins.

    Ends of terms within one boot of one host are still told by the ticks of that host.
    """

    def __init__(self, own: Clock, reading: Callable[[], Reading | None]) -> None:
        """Keep this host's clock, for as long as the server has said nothing."""
        self._own = own
        self._reading = reading

    def now(self) -> datetime:
        """Return the present instant in UTC."""
        read = self._reading()
        if read is None:
            return self._own.now()
        return datetime.fromtimestamp(read.seconds, UTC) + timedelta(seconds=time.monotonic() - read.ticks)

    def instant(self) -> Instant:
        """Return the present instant, with the ticks of this boot."""
        own = self._own.instant()
        return Instant(wall=self.now(), boot_id=own.boot_id, ticks_ms=own.ticks_ms)
