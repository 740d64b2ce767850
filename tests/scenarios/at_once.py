"""Drives a use case to its end where nothing has to wait. It must not know any use case."""

from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from metagit_mcp.ports.machine import Waits

T = TypeVar("T")


async def at_once(blocking: Callable[[], T]) -> T:
    """An `Offload` that runs the work right here."""
    return blocking()


async def no_time(seconds: float) -> None:
    """A `Sleep` after which no time has passed."""
    assert seconds >= 0


AT_ONCE: Final = Waits(offload=at_once, sleep=no_time)


def finished(use_case: Coroutine[Any, Any, T]) -> T:
    """Return what the use case returns."""
    try:
        use_case.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    use_case.close()
    raise AssertionError("the use case waited for something")
