"""Drives a use case to its end where nothing has to wait. It must not know any use case."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def at_once(blocking: Callable[[], T]) -> T:
    """An `Offload` that runs the work right here."""
    return blocking()


def finished(use_case: Coroutine[Any, Any, T]) -> T:
    """Return what the use case returns."""
    try:
        use_case.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    use_case.close()
    raise AssertionError("the use case waited for something")
