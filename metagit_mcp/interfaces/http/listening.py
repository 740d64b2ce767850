"""How connections are held: uvicorn, with an end that streams are told of, and no patience with silent callers.

Must not know what is served.
"""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from metagit_mcp.errors import StoreUnavailable

_KEEP_ALIVE_S: Final = 30
_MOST_HEAD_BYTES: Final = 32 * 1024
_MOST_CONNECTIONS: Final = 2_000
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Hasty(H11Protocol):
    """A connection that is closed when the head of a request does not come in time, or an answer is not read."""

    # The head of a request comes in one piece from every program that means it.
    head_within_s = 10.0
    # An answer that nobody takes is kept in memory.
    read_within_s = 30.0
    _waiting: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - as uvicorn declares it
        """Wait for the first head."""
        super().connection_made(transport)
        self._mind()

    def data_received(self, data: bytes) -> None:
        """Go on with what came."""
        super().data_received(data)
        self._mind()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._rest()
        self._read_on()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Count the time as long as nobody reads what was written."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.read_within_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: it was read."""
        self._read_on()
        super().resume_writing()

    def _read_on(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _mind(self) -> None:
        """Count the time as long as no request is being answered."""
        if not self._is_idle():
            self._rest()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(self.head_within_s, self._give_up)

    def _rest(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self._is_idle():
            self.transport.close()

    def _is_idle(self) -> bool:
        # None before the first request, whatever it is declared as.
        cycle: Any = self.cycle
        return cycle is None or bool(cycle.response_complete)


def configured(app: ASGIApp, *, grace_s: int, connection: type[Hasty] = Hasty) -> uvicorn.Config:
    """Return how to serve: quietly, since callers' names and what they ask for belong into no log."""
    return uvicorn.Config(
        app,
        http=connection,
        ws="none",
        lifespan="on",
        access_log=False,
        # What a stranger sends would fill it with warnings.
        log_level="error",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=grace_s,
        h11_max_incomplete_event_size=_MOST_HEAD_BYTES,
        limit_concurrency=_MOST_CONNECTIONS,
    )


class Ending:
    """How whoever waits in a use case hears that the server ends: nobody is answered by it any more."""

    def __init__(self) -> None:
        """Go on."""
        self._ended = asyncio.Event()

    def end(self) -> None:
        """Let all waits end."""
        self._ended.set()

    async def sleep(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            StoreUnavailable: the server ends before.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), seconds)
            raise StoreUnavailable("This server is ending.", hint="Ask again in a moment.")


class Uvicorn(uvicorn.Server):
    """A server that tells its streams to end before it waits for them."""

    def __init__(self, config: uvicorn.Config, end: Iterable[Callable[[], None]] = ()) -> None:
        """Keep what tells them."""
        super().__init__(config)
        self._end = tuple(end)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End at a signal, and with it: uvicorn would raise it again, and the process would seem to have failed."""
        before = {each: signal.signal(each, self.handle_exit) for each in _SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        for each in self._end:
            each()
        # That streams are cut off in the middle is what is wanted now, and no error.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)
