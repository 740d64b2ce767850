"""The time and fresh ids, as the operating system gives them or as a test wants them. Knows no workspace."""

import itertools
import os
from datetime import UTC, datetime
from hashlib import blake2b


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
