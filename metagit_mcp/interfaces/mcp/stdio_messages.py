"""Turns lines into the messages the SDK's serving loop reads, and its messages into lines.

It counts the requests under way, so that a host that does not read cannot pile up answers and the end of
input does not cut off answers that are due. Must not know descriptors, tools or the application.
"""

import asyncio
import json
import logging
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self

import anyio
from mcp import types
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from metagit_mcp.interfaces.mcp.stdio_lines import Line, OverlongLine
from metagit_mcp.interfaces.mcp.stdio_pipes import LineInput, LineOutput, happens

_LOG = logging.getLogger(__name__)

_MOST_UNDER_WAY = 256
_ENDLESS = frozenset({"subscriptions/listen"})  # answered only when the subscription ends

# The two orders in which clients write a request. Both are anchored at an end of the line: an "id" in between
# may belong to an argument.
_ID = rb'(-?\d{1,18}|"[^"\\]{0,256}")'
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*' + _ID + rb'\s*,\s*"method"\s*:')
_METHOD_FIRST = re.compile(rb'\s*\{\s*"method"\s*:')
_ID_LAST = re.compile(rb',\s*"id"\s*:\s*' + _ID + rb"\s*\}\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one connection may cost.

    `line_bytes`: a longer message is refused. `patience_s`: after the end of input, answers that are due are
    waited for as long as one is written at least this often.
    """

    # A call may carry 8 MiB of Events, and what is around them.
    line_bytes: int = 12 << 20
    patience_s: float = 5.0


class UnderWay:
    """The ids of the requests that are due an answer."""

    def __init__(self) -> None:
        self._ids: set[types.RequestId] = set()
        self._settled = asyncio.Event()

    def begin(self, request: types.JSONRPCRequest) -> None:
        """Count a request."""
        if request.method not in _ENDLESS:
            self._ids.add(request.id)

    async def settle(self, request_id: types.RequestId | None) -> None:
        """Count a request no longer: it is answered, or its sender cancelled it."""
        self._ids.discard("" if request_id is None else request_id)
        self._settled.set()

    async def fewer_than(self, limit: int, patience: float) -> bool:
        """Wait for it; False when `patience` seconds pass in which nothing settles."""
        while len(self._ids) >= limit:
            self._settled.clear()
            if not await happens(self._settled, patience):
                return False
        return True


class MessageStream:
    """What the SDK wants of every stream; closing is its owner's affair here."""

    async def aclose(self) -> None:
        """Leave the wire open; `serve_stdio` closes it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class MessageSource(MessageStream, ABC):
    """A stream the SDK reads."""

    @abstractmethod
    async def receive(self) -> SessionMessage | Exception:
        """Return the next message; EndOfStream when there is none."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class MessageWriter(MessageStream):
    """Writes each message as one line, when the host reads."""

    def __init__(self, lines: LineOutput, under_way: UnderWay) -> None:
        self._lines = lines
        self._under_way = under_way

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message whole or not at all; BrokenResourceError when nobody reads any more."""
        message = item.message
        try:
            line = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            if not await self._lines.ready():
                raise anyio.BrokenResourceError
            self._lines.write(line)
        finally:
            if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                await self._under_way.settle(message.id)

    def hurry(self) -> None:
        """Wait for the host no longer: the connection is ending."""
        self._lines.hurry()


class MessageReader(MessageSource):
    """Reads messages; a line that is none is refused by its id, or ignored if it tells none."""

    def __init__(self, lines: LineInput, writer: MessageWriter, under_way: UnderWay, limits: Limits) -> None:
        self._lines = lines
        self._writer = writer
        self._under_way = under_way
        self._limits = limits

    async def receive(self) -> SessionMessage:
        """Return the next message; EndOfStream after the last one, when the answers due are written."""
        while await self._settled_below(_MOST_UNDER_WAY):
            line = await self._lines.next_line()
            if line is None:
                await self._settled_below(1)
                break
            if (message := await self._accept(line)) is not None:
                return message
        raise anyio.EndOfStream

    async def _settled_below(self, limit: int) -> bool:
        """Wait until fewer requests are under way; give up if the input has ended and nothing settles."""
        while not await self._under_way.fewer_than(limit, self._limits.patience_s):
            if self._lines.ended:
                self._writer.hurry()
                return False
        return True

    async def _accept(self, line: Line) -> SessionMessage | None:
        if isinstance(line, OverlongLine):
            await self._refuse(line.head, line.tail, f"The message is longer than {self._limits.line_bytes} bytes.")
            return None
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            await self._refuse(line, line, "The line is not a JSON-RPC 2.0 message.")
            return None
        if not isinstance(message, types.JSONRPCRequest):
            return SessionMessage(message)
        self._under_way.begin(message)
        settle = partial(self._under_way.settle, message.id)
        return SessionMessage(message, ServerMessageMetadata(on_request_unanswered=settle))

    async def _refuse(self, head: bytes, tail: bytes, reason: str) -> None:
        """Answer the request that the line seems to be; its host would wait until the time-out."""
        request_id = _request_id(head, tail)
        if request_id is None:
            _LOG.debug("ignored a line: %s", reason)
            return
        error = types.ErrorData(code=types.INVALID_REQUEST, message=reason)
        answer = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
        try:
            await self._writer.send(SessionMessage(answer))
        except anyio.BrokenResourceError:
            _LOG.debug("nobody reads the refusal of request %r", request_id)


def _request_id(head: bytes, tail: bytes) -> types.RequestId | None:
    """Return the id of the request that begins with `head` and ends with `tail`, if it is certain."""
    found = _ID_FIRST.match(head) or (_METHOD_FIRST.match(head) and _ID_LAST.search(tail))
    if not found:
        return None
    try:
        request_id: types.RequestId = json.loads(found[1])
    except ValueError:
        return None
    return request_id
