"""Lets the threads of one process use a store one after another; it knows nothing of the store."""

import threading

from metagit_mcp.errors import StoreUnavailable


class Turn:
    """A lock that its thread may take again, and for which no thread waits without end."""

    def __init__(self, seconds: float) -> None:
        """Make a lock for which a thread waits so many seconds at most."""
        self._seconds = seconds
        self._lock = threading.RLock()

    def waiting(self, seconds: float) -> "Turn":
        """Return the same lock with another longest wait."""
        turn = Turn(seconds)
        turn._lock = self._lock
        return turn

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=self._seconds):
            raise StoreUnavailable("Another call of this process has the ledger and does not end.", hint="Try again.")

    def __exit__(self, *_: object) -> None:
        self._lock.release()
