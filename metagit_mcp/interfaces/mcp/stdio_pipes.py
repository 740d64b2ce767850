"""The two ends of the wire on the event loop: lines in, lines out, whatever the descriptors are.

Must not know what a line means.
"""

import asyncio
import os
import socket
import stat
from collections import deque
from collections.abc import Callable
from typing import cast

import anyio

from metagit_mcp.interfaces.mcp.stdio_blocking import DirectWriter, ThreadReader
from metagit_mcp.interfaces.mcp.stdio_lines import Line, LineSplitter

_PAUSE_AT = 1 << 20  # bytes received behind an unread line


class LineInput(asyncio.Protocol):
    """The lines of a stream in order; it stops reading while the server is behind."""

    def __init__(self, limit: int) -> None:
        self._splitter = LineSplitter(limit)
        self._lines: deque[Line] = deque()
        self._unread = 0
        self._news = asyncio.Event()
        self._transport: asyncio.ReadTransport | None = None
        self.ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for flow control."""
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Queue the lines that `data` ends."""
        self._lines.extend(self._splitter.feed(data))
        if self._lines:
            self._unread += len(data)
            self._news.set()
        if self._unread > _PAUSE_AT and self._transport is not None:
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  a broken stream is an ended one
        """Note the end of the stream."""
        self._lines.extend(self._splitter.finish())
        self.ended = True
        self._news.set()

    async def next_line(self) -> Line | None:
        """Return the next line, or None at the end of the stream."""
        while not self._lines:
            if self.ended:
                return None
            self._news.clear()
            await self._news.wait()
        line = self._lines.popleft()
        if not self._lines:
            self._resume()
        return line

    def close(self) -> None:
        """Stop reading."""
        if self._transport is not None:
            self._transport.close()

    def _resume(self) -> None:
        paused, self._unread = self._unread > _PAUSE_AT, 0
        if paused and not self.ended and self._transport is not None:
            self._transport.resume_reading()


class LineOutput(asyncio.Protocol):
    """Writes lines whole; it says when the host is not reading and when it has gone."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        self.failure: Exception | None = None
        self._on_lost = on_lost
        self._transport: asyncio.WriteTransport | None = None
        self._full = False
        self._hurried = False
        self._news = asyncio.Event()
        self._lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; a host may use one socket for both ways, and its incoming half is not ours to read."""
        self._transport = cast("asyncio.WriteTransport", transport)
        if transport.get_extra_info("socket") is not None:
            cast("asyncio.Transport", transport).pause_reading()

    def pause_writing(self) -> None:
        """Note that the host is not reading."""
        self._full = True
        self._news.clear()

    def resume_writing(self) -> None:
        """Note that the host is reading again."""
        self._full = False
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that nobody reads any more; a host that went away is no failure."""
        self.failure = None if isinstance(exc, ConnectionError) else exc
        self._lost.set()
        self.hurry()
        self._on_lost()

    async def ready(self) -> bool:
        """Wait until the host reads; False when a line cannot be delivered any more."""
        while self._full and not self._hurried:
            await self._news.wait()
        return not (self._full or self._lost.is_set())

    def write(self, line: bytes) -> None:
        """Hand over one line; call it right after `ready()`."""
        if self._transport is not None:
            self._transport.write(line)

    def hurry(self) -> None:
        """Wait for the host no longer: the server is ending."""
        self._hurried = True
        self._news.set()

    async def flush(self, patience: float) -> None:
        """Deliver what is written and end, unless the host reads nothing for `patience` seconds."""
        if self._transport is None or (self._full and self._hurried):
            return
        self._transport.close()
        while not self._lost.is_set():
            unsent = self._transport.get_write_buffer_size()
            if not await happens(self._lost, patience) and self._transport.get_write_buffer_size() >= unsent:
                self._transport.abort()
                return

    def abort(self) -> None:
        """End at once, unless it ends already; what the host has not taken is dropped."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.abort()


async def happens(event: asyncio.Event, seconds: float) -> bool:
    """Return whether `event` is set within `seconds`."""
    with anyio.move_on_after(seconds):
        await event.wait()
    return event.is_set()


async def open_input(fd: int, limit: int) -> LineInput:
    """Return the lines of `fd`, which it owns from now on; a line may have `limit` bytes."""
    lines, loop = LineInput(limit), asyncio.get_running_loop()
    if _is_pollable(fd):
        await loop.connect_read_pipe(lambda: lines, os.fdopen(fd, "rb", buffering=0))
    else:
        ThreadReader(fd, lines).start()
    return lines


async def open_output(fd: int, on_lost: Callable[[], None]) -> LineOutput:
    """Return the output to `fd`, which it owns from now on.

    `on_lost` is called when nobody reads any more.
    """
    lines, loop = LineOutput(on_lost), asyncio.get_running_loop()
    if not _is_pollable(fd):
        lines.connection_made(DirectWriter(fd, lines))
    elif stat.S_ISSOCK(os.fstat(fd).st_mode):
        await loop.create_connection(lambda: lines, sock=socket.socket(fileno=fd))
    else:
        await loop.connect_write_pipe(lambda: lines, os.fdopen(fd, "wb", buffering=0))
    return lines


def _is_pollable(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
