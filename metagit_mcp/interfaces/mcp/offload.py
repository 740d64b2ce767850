"""Runs blocking file work beside the event loop, so that pings and cancellations are answered during a long load.

Must not know what the work is.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, TypeVar

import anyio.lowlevel

R = TypeVar("R")


class OneThread:
    """An `Offload` that runs one function after another in a thread of its own.

    One thread, because file work that never overlaps needs no locks within the process. The thread is a daemon:
    the end of the server must not wait for a long load whose answer nobody wants any more.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread: Thread | None = None

    async def __call__(self, blocking: Callable[[], R]) -> R:
        """Return what `blocking` returns.

        A cancelled caller does not wait: its function is not begun, or ends unseen. That holds for a caller that was
        cancelled before it asked, and was not told yet because it has not waited for anything since.
        """
        await anyio.lowlevel.checkpoint_if_cancelled()
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[R] = loop.create_future()
        self._jobs.put(partial(_run, blocking, outcome, loop))
        self._start()
        return await outcome

    def drain(self, patience_s: float) -> None:
        """Wait a while for the work under way: a change of several files should not stop between two of them."""
        if self._thread is not None:
            idle = Event()
            self._jobs.put(idle.set)
            idle.wait(patience_s)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._work, name="file work", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            self._jobs.get()()


def _run(blocking: Callable[[], R], outcome: asyncio.Future[R], loop: asyncio.AbstractEventLoop) -> None:
    if outcome.cancelled():
        return
    try:
        settle: Callable[[], None] = partial(_settle, outcome, outcome.set_result, blocking())
    except BaseException as error:  # noqa: BLE001 - the thread must go on, and the caller gets whatever went wrong
        settle = partial(_settle, outcome, outcome.set_exception, _passable(error))
    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        # The loop ended during the work: nobody is left to be told.
        return


def _passable(error: BaseException) -> Exception:
    """Return the error as one that a future can hold and that ends no more than the call."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    passable = RuntimeError(f"{type(error).__name__} in file work")
    passable.__cause__ = error
    return passable


def _settle(outcome: asyncio.Future[Any], how: Callable[[Any], None], what: object) -> None:
    if not outcome.done():
        how(what)
