"""Drives a use case by hand where nothing else is to be done meanwhile. Knows no use case.

A use case is a coroutine, but a command and a hook do one thing only: this saves the start of an event loop.
"""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from metagit_mcp.errors import InternalError

T = TypeVar("T")


async def at_once(blocking: Callable[[], T]) -> T:
    """Return what `blocking` returns: `Offload` to the thread that asks."""
    return blocking()


def finished(use_case: Coroutine[Any, Any, T]) -> T:
    """Return what a use case returns that never has to wait.

    Raises:
        InternalError: it has to.
    """
    try:
        use_case.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    use_case.close()
    raise InternalError("A use case waited for something where there is no event loop.")
