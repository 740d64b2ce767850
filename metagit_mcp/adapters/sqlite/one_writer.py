"""Lets one process after another write the ledger; it knows no SQL.

SQLite's own lock is not enough: a COMMIT may go on to move the log into the ledger, with that lock given up, and until
3.51.2 a commit that meets two such moves can be lost (https://www.sqlite.org/wal.html#walresetbug).
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from typing import Final

from metagit_mcp.adapters.fault_points import fault
from metagit_mcp.adapters.layout import LEDGER
from metagit_mcp.adapters.places import locate
from metagit_mcp.adapters.refusals import storage_error
from metagit_mcp.errors import StoreUnavailable

# Seconds, some blocks long. Longer pauses are unfair to who waits; shorter ones cost the writer its processor.
PAUSE: Final = 0.002
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class OneWriter:
    """An flock(2) on `ledger.db.lock`, whose file stays open: to open it for each block costs a third of a block."""

    def __init__(self, root: str, seconds: float) -> None:
        """Keep where the file is, and how long to wait; it is made when it is needed."""
        self._root = root
        self._path = f"{root}/{LEDGER}.lock"
        self._seconds = seconds
        self._fd: int | None = None

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock for the block; errors as `enter`."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def enter(self) -> None:
        """Take the lock, until `leave`.

        Raises:
            StoreUnavailable: another process held it all the time.
            ReadOnlyWorkspace, FileRefused: the lock file cannot be opened for writing.
        """
        self._acquire()
        try:
            fault("ledger.locked")
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Let others write."""
        if self._fd is not None:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _acquire(self) -> None:
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                if self._is_acquired():
                    return
            except OSError as cause:
                raise storage_error(cause, f"{LEDGER}.lock") from cause
            if time.monotonic() >= deadline:
                hint = "Another command or server is writing. Try again."
                raise StoreUnavailable(f"{LEDGER} is locked by another process.", hint=hint, file=LEDGER)
            time.sleep(PAUSE)

    def _is_acquired(self) -> bool:
        """Try once; say whether the lock is held now: not where another one has it, or the file was replaced."""
        if self._fd is None:
            real, _ = locate(self._path, root=self._root)
            self._fd = os.open(real, _FLAGS, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A lock on a file that was deleted meanwhile keeps nobody out.
            if os.path.samestat(os.fstat(self._fd), os.stat(self._path)):
                return True
        except BlockingIOError:
            return False
        except FileNotFoundError:
            pass
        self.close()
        return False
