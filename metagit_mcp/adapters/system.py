"""The time, fresh ids, and where blocking work runs: what the operating system gives, or a test. Knows no workspace."""

import itertools
import os
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TypeVar

R = TypeVar("R")


class SystemClock:
    """Tells the system's time."""

    def now(self) -> datetime:
        """Return the present instant in UTC."""
        return datetime.now(UTC)


class FixedClock:
    """Stands still, so that two processes answer alike."""

    def __init__(self, at: datetime) -> None:
        """Stand at `at`, an aware instant."""
        self._at = at.astimezone(UTC)

    def now(self) -> datetime:
        """Return that instant in UTC."""
        return self._at


class RandomIds:
    """Draws ids from the system's random source."""

    def new(self) -> str:
        """Return 32 hexadecimal digits, never returned before."""
        return os.urandom(16).hex()


class SeededIds:
    """Gives the same sequence of ids for the same seed."""

    def __init__(self, seed: str) -> None:
        """Start the sequence of `seed`."""
        self._seed = seed
        self._numbers = itertools.count()

    def new(self) -> str:
        """Return the next 32 hexadecimal digits of the sequence."""
        return blake2b(f"{self._seed} {next(self._numbers)}".encode(), digest_size=16).hexdigest()


class InlineOffload:
    """Runs blocking work right where it is asked for: right for a command that does one thing."""

    async def __call__(self, blocking: Callable[[], R]) -> R:
        """Return what `blocking` returns."""
        return blocking()


class ThreadOffload:
    """Runs blocking work in a worker thread, so that a server's event loop goes on."""

    async def __call__(self, blocking: Callable[[], R]) -> R:
        """Return what `blocking` returns; a cancelled caller still waits for it, since a write must not be torn."""
        from anyio import to_thread  # noqa: PLC0415 - a command that does one thing needs no threads

        return await to_thread.run_sync(blocking)
