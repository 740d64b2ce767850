"""Callers that are slow, silent, or do not read: each is put off in its time, and others are answered meanwhile."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

import pytest

from metagit_mcp.interfaces.http.address import Address
from metagit_mcp.interfaces.http.guard import Guard
from metagit_mcp.interfaces.http.listening import Hasty, Uvicorn, configured

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope, Send

_BOUND_S: Final = 0.3
# Less than it takes to send what is dripped.
_WAIT_S: Final = 20.0
_PIECE: Final = b"x" * 65_536


class _Quick(Hasty):
    """The same with bounds for which a test can wait."""

    head_within_s = _BOUND_S
    read_within_s = _BOUND_S


class _App:
    """Reads a body, or writes without an end; knows how much it wrote, and who went."""

    def __init__(self) -> None:
        self.written, self.over = 0, asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        if scope["path"] == "/read":
            while (await receive()).get("more_body", False):
                pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        if scope["path"] == "/endless":
            await self._write(receive, send)
        await send({"type": "http.response.body", "body": b"ok"})

    async def _write(self, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(_gone(receive))
        while not gone.done():
            await send({"type": "http.response.body", "body": _PIECE, "more_body": True})
            self.written += len(_PIECE)
            await asyncio.sleep(0)
        self.over.set()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@asynccontextmanager
async def _served() -> AsyncIterator[tuple[_App, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        listener.setblocking(False)  # noqa: FBT003 - the standard library's own
        app = _App()
        guard = Guard(app, Address(host="127.0.0.1", port=port), body_within_s=_BOUND_S)
        server = Uvicorn(configured(guard, grace_s=1, connection=_Quick))
        serving = asyncio.create_task(server.serve([listener]))
        try:
            yield app, port
        finally:
            server.should_exit = True
            await asyncio.wait_for(serving, _WAIT_S)


def _head(port: int, path: str, *more: str) -> bytes:
    return "\r\n".join((f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", *more, "", "")).encode()


async def _line(port: int) -> socket.socket:
    """A connection. A stream of asyncio would forget what came before a reset that meets what it sends."""
    line = socket.socket()
    line.setblocking(False)  # noqa: FBT003 - the standard library's own
    await asyncio.get_running_loop().sock_connect(line, ("127.0.0.1", port))
    return line


async def _send(line: socket.socket, text: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(line, text)


async def _all_of(line: socket.socket) -> bytes:
    got = b""
    async with asyncio.timeout(_WAIT_S):
        with suppress(ConnectionResetError):
            while part := await asyncio.get_running_loop().sock_recv(line, 65_536):
                got += part
    return got


async def _drip(line: socket.socket, text: bytes) -> None:
    """Send a byte now and then, for as long as anybody listens."""
    with suppress(ConnectionError):
        for number in range(len(text)):
            await _send(line, text[number : number + 1])
            await asyncio.sleep(_BOUND_S / 10)


_SLOW: Final = {
    "silent": (b"", b""),
    "a head without an end": (b"GET / HTTP/1.1\r\nHost: x\r\nX: ", b"a" * 1_000),
    "after an answer": (b"GET /quick HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\nGET /", b"a" * 1_000),
    "a body that comes byte by byte": (
        b"POST /read HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 1000\r\n\r\n",
        b"a" * 999,
    ),
    "a body that nobody reads": (
        b"POST /quick HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 1000\r\n\r\n",
        b"a" * 999,
    ),
}


@pytest.mark.parametrize(("first", "then"), _SLOW.values(), ids=_SLOW.keys())
async def test_who_takes_too_long_is_put_off(first: bytes, then: bytes) -> None:
    async with _served() as (_, port):
        with await _line(port) as line:
            await _send(line, first.replace(b"PORT", str(port).encode()))
            dripping = asyncio.create_task(_drip(line, then))
            got = await _all_of(line)
            dripping.cancel()
            await asyncio.wait([dripping])
        assert (b"408" in got) == (b"/read" in first)


async def test_an_answer_that_nobody_reads_is_kept_in_bounds_and_given_up() -> None:
    async with _served() as (app, port):
        with await _line(port) as line:
            await _send(line, _head(port, "/endless", "Content-Length: 0"))
            await asyncio.wait_for(app.over.wait(), _WAIT_S)
        # What the system keeps for a connection on both sides, and not what was written in all that time.
        assert app.written < 64 * 1024 * 1024


async def test_others_are_answered_while_two_hundred_are_silent() -> None:
    async with _served() as (_, port):
        with ExitStack() as lines:
            silent = [lines.enter_context(await _line(port)) for _ in range(200)]
            line = lines.enter_context(await _line(port))
            await _send(line, _head(port, "/quick", "Content-Length: 0", "Connection: close"))
            assert b"200 OK" in await _all_of(line)
            assert [await _all_of(each) for each in silent] == [b""] * 200
