"""One HTTP/1.1 connection of asyncio that adds next to nothing of its own, and can be cut in the middle of a call.

Must not know what is asked, nor import any part of the package.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

# A server closes a connection that is idle for longer, perhaps just when a request comes.
IDLE_S = 20.0


class LineCut(Exception):
    """Nobody listens, or the connection ended before the whole answer."""


@dataclass(frozen=True)
class Head:
    """How an answer begins."""

    status: int
    headers: Mapping[str, str]

    @property
    def is_stream(self) -> bool:
        """Whether events follow."""
        return self.headers.get("content-type", "").startswith("text/event-stream")


class Line:
    """A connection to a server, opened when it is needed; one request at a time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._used_at = 0.0
        # Two who share a line would take each other's answers.
        self._asked = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()

    def cut(self) -> None:
        """Drop the connection, whatever is under way."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", within_s: float = 60.0
    ) -> tuple[Head, bytes]:
        """Send a request, and take the whole answer.

        Raises:
            LineCut: there was none, or not all of it.
        """
        try:
            async with asyncio.timeout(within_s), self._asked:
                head = await self.begin(method, path, headers, body)
                parts = [part async for part in self.parts(head)]
        except TimeoutError:
            self.cut()
            raise LineCut("no whole answer in time") from None
        if head.headers.get("connection", "").lower() == "close":
            self.cut()
        return head, b"".join(parts)

    async def begin(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Head:
        """Send a request, and take the head of the answer."""
        named = {"Host": f"127.0.0.1:{self.port}", "Content-Length": str(len(body)), **headers}
        said = "".join(f"{name}: {text}\r\n" for name, text in named.items())
        if monotonic() - self._used_at > IDLE_S:
            self.cut()
        self._used_at = monotonic()
        try:
            return await self._sent(f"{method} {path} HTTP/1.1\r\n{said}\r\n".encode() + body)
        except (OSError, asyncio.IncompleteReadError) as error:
            self.cut()
            raise LineCut(type(error).__name__) from None

    async def _sent(self, request: bytes) -> Head:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**20)
        self._writer.write(request)
        rows = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (row.partition(":") for row in rows[1:] if row)
        return Head(int(rows[0].split(" ", 2)[1]), {name.lower(): text.strip() for name, _, text in pairs})

    async def parts(self, head: Head) -> AsyncIterator[bytes]:
        """Yield the body as it comes.

        Raises:
            LineCut: it ended too early.
        """
        reader = self._reader
        assert reader is not None
        try:
            if head.headers.get("transfer-encoding") != "chunked":
                yield await reader.readexactly(int(head.headers.get("content-length", "0")))
                return
            while size := int(await reader.readline() or b"-1", 16):
                if size < 0:
                    raise asyncio.IncompleteReadError(b"", None)  # noqa: TRY301 - it is translated where all others are
                yield (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            self.cut()
            raise LineCut(type(error).__name__) from None


async def events(parts: AsyncIterator[bytes]) -> AsyncIterator[tuple[str, str]]:
    """Yield name and data of each event of a stream."""
    left = b""
    async for part in parts:
        left = (left + part).replace(b"\r\n", b"\n")
        *whole, left = left.split(b"\n\n")
        for block in whole:
            fields = dict.fromkeys(("event", "data"), "")
            for row in block.decode().split("\n"):
                name, _, text = row.partition(":")
                with suppress(KeyError):
                    fields[name] = fields[name] + text.removeprefix(" ")
            if fields["data"]:
                yield fields["event"] or "message", fields["data"]
