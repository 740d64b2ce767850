"""Wakes whoever waits as soon as any host changed the ledger; it knows nothing of what changed.

PostgreSQL tells a listening connection of its own, in a thread of its own, which is started when somebody waits on an
event loop. Nothing rests on it: who waits looks anyway now and then, and a notice that is lost costs that long.
"""

import asyncio
import os
import selectors
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.machine import Sleep

if TYPE_CHECKING:
    from metagit_mcp.adapters.postgres.link import Link

# Many hosts change much at once: whoever is woken looks fifty times a second at most.
_SETTLE_S: Final = 0.02
_AGAIN_S: Final = 1.0
_END_WITHIN_S: Final = 1.0


class Alarm:
    """Makes the waits of a process end when the ledger changed."""

    def __init__(self, url: str, stream: Callable[[], int | None]) -> None:
        """Listen to nothing yet; `stream` says which ledger counts, None: any."""
        self._url = url
        self._stream = stream
        self._lock = Lock()
        self._waiting: set[Callable[[], object]] = set()
        self._ended = Event()
        self._thread: Thread | None = None
        self._bell = self._rope = -1

    def woken(self, plain: Sleep) -> Sleep:
        """Return a `Sleep` that ends before its time when the ledger changed."""
        return partial(self._sleep, plain)

    async def _sleep(self, plain: Sleep, seconds: float) -> float | None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # The command line has none, and nothing else to do.
            return await plain(seconds)
        begun, rung = monotonic(), loop.create_future()
        ring = partial(_ring, loop, rung)
        with self._lock:
            self._waiting.add(ring)
        asleep = asyncio.ensure_future(plain(seconds))
        try:
            # Not before: the first thing that the listener does is to wake those who wait.
            self._start()
            await asyncio.wait({asleep, rung}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            with self._lock:
                self._waiting.discard(ring)
            is_over = asleep.done()
            asleep.cancel()
        if is_over:
            return asleep.result()
        await asyncio.sleep(min(_SETTLE_S, seconds))
        return monotonic() - begun

    def _start(self) -> None:
        if self._thread is None and not self._ended.is_set():
            self._bell, self._rope = os.pipe()
            self._thread = Thread(target=self._listen, name="ledger alarm", daemon=True)
            self._thread.start()

    def _listen(self) -> None:
        try:
            from metagit_mcp.adapters.postgres.link import Link  # noqa: PLC0415 - it loads psycopg
        except ImportError:
            # Whoever asks the ledger is told.
            return
        while not self._ended.is_set():
            with suppress(MetagitError), closing(Link(self._url, busy_seconds=_AGAIN_S)) as link:
                link.run("listen")
                # Something may have changed while nobody listened.
                self.wake()
                self._hear(link)
            self._ended.wait(_AGAIN_S)

    def _hear(self, link: "Link") -> None:
        with selectors.DefaultSelector() as ears:
            ears.register(self._bell, selectors.EVENT_READ)
            ears.register(link.descriptor, selectors.EVENT_READ)
            while not self._ended.is_set():
                ears.select()
                stream = self._stream()
                if any(stream is None or each == str(stream) for each in link.heard()):
                    self.wake()

    def wake(self) -> None:
        """Let everybody who waits look."""
        with self._lock:
            for ring in self._waiting:
                ring()

    def close(self) -> None:
        """Listen no more."""
        self._ended.set()
        if self._thread is not None:
            os.write(self._rope, b".")
            self._thread.join(_END_WITHIN_S)
            if not self._thread.is_alive():
                os.close(self._bell)
                os.close(self._rope)
            self._thread = None


def _ring(loop: asyncio.AbstractEventLoop, rung: "asyncio.Future[None]") -> None:
    # The loop may have ended meanwhile: nobody waits there any more.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, rung)


def _settle(rung: "asyncio.Future[None]") -> None:
    if not rung.done():
        rung.set_result(None)
