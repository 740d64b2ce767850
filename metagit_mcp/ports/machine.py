"""What the use cases need of the machine: the time, ids, and a way to wait. Knows no implementation."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeVar

from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.value import value

R = TypeVar("R")


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the present instant in UTC."""
        ...

    def instant(self) -> Instant:
        """Return the present instant with the ticks of this boot, which decide about terms."""
        ...


class Ids(Protocol):
    """Draws identifiers."""

    def new(self) -> str:
        """Return an id never returned before: 32 hexadecimal digits."""
        ...


class Offload(Protocol):
    """Runs blocking functions for async use cases, one after another in the order in which they come."""

    async def __call__(self, blocking: Callable[[], R]) -> R:
        """Return what `blocking` returns."""
        ...


class Sleep(Protocol):
    """Lets time pass in an async use case; whoever waits can be cancelled."""

    async def __call__(self, seconds: float) -> float | None:
        """Return after so many seconds; or before, with those that passed, when something may have changed."""
        ...


@value
class Waits:
    """How a process waits: for blocking work, and for time to pass."""

    offload: Offload
    sleep: Sleep
