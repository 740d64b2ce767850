"""The time and fresh ids, as the operating system gives them or as a test wants them. Knows no workspace."""

import itertools
import os
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_DRAWN_AT_ONCE: Final = 64


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
    """Draws ids from the system's random source, several at a time, since each draw is a system call."""

    def __init__(self) -> None:
        """Draw nothing yet."""
        self._drawn: Iterator[str] = iter(())

    def new(self) -> str:
        """Return 32 hexadecimal digits, never returned before; may be called from any thread."""
        drawn = next(self._drawn, None)
        if drawn is None:
            digits = os.urandom(_DRAWN_AT_ONCE * 16).hex()
            # Two threads that come here at once each draw their own; what one of them leaves behind is never used.
            fresh = iter([digits[at : at + 32] for at in range(0, len(digits), 32)])
            drawn, self._drawn = next(fresh), fresh
        return drawn


class SeededIds:
    """Gives the same sequence of ids for the same seed."""

    def __init__(self, seed: str) -> None:
        """Start the sequence of `seed`."""
        self._seed = seed
        self._numbers = itertools.count()

    def new(self) -> str:
        """Return the next 32 hexadecimal digits of the sequence."""
        return blake2b(f"{self._seed} {next(self._numbers)}".encode(), digest_size=16).hexdigest()
