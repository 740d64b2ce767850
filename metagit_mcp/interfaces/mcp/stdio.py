"""Serves an MCP server object over standard input and output until host, signal or parent ends it.

It replaces the SDK's own stdio transport, which neither SIGTERM nor SIGINT ends cleanly and which lets an
opening `server/discover` decide the protocol era. Must not know tools or the application.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.models import InitializationOptions
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage

from metagit_mcp.interfaces.mcp.stdio_claim import Wire
from metagit_mcp.interfaces.mcp.stdio_messages import (
    Limits,
    MessageReader,
    MessageSource,
    MessageStream,
    MessageWriter,
    UnderWay,
)
from metagit_mcp.interfaces.mcp.stdio_pipes import LineOutput, open_input, open_output

DEFAULT_LIMITS = Limits()
_PARENT_CHECK_EVERY_S = 1.0


async def serve_stdio(
    server: Server[Any],
    wire: Wire,
    *,
    initialization: InitializationOptions | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Serve until end of input, SIGTERM, SIGINT, or the death of host or parent; then clean up and return.

    Args:
        server: its lifespan is entered once, and left after the last answer is written.
        wire: what `claim_wire()` returned, before this event loop began.
        initialization: what `initialize` answers; default: derived from the server.
        limits: how long a message may be, and how long the end of input waits for answers.

    Raises:
        OSError: the output cannot be written for another reason than a host that went away (a full disk).
    """
    serving = anyio.CancelScope()
    output = await open_output(wire.output_fd, serving.cancel)
    lines = await open_input(wire.input_fd, limits.line_bytes)
    with _stopping(output, serving, wire.parent_pid):
        _greet_terminal(server.name, wire.input_fd)
        # The lifespan is outside the scope, so that its cleanup is not cancelled with the serving.
        async with server.lifespan(server) as state:
            with serving:
                under_way = UnderWay()
                writer = MessageWriter(output, under_way)
                reader = MessageReader(lines, writer, under_way, limits)
                source = _EraNeutralSource(server, state, reader, writer)
                options = initialization or server.create_initialization_options()
                await serve_dual_era_loop(server, source, writer, lifespan_state=state, init_options=options)
                await output.flush(limits.patience_s)
            output.abort()
            lines.close()
    if output.failure is not None:
        raise output.failure


def _greet_terminal(name: str, input_fd: int) -> None:
    if os.isatty(input_fd) and sys.stderr is not None:
        how_to = "It waits for a host to send JSON-RPC lines; Ctrl-D or Ctrl-C ends it."
        sys.stderr.write(f"{name} is an MCP server. {how_to}\n")
        sys.stderr.flush()


@contextmanager
def _stopping(output: LineOutput, serving: anyio.CancelScope, parent_pid: int) -> Iterator[None]:
    """Stop serving on SIGTERM, SIGINT and the death of the parent, whether the host reads or not."""

    def stop() -> None:
        output.hurry()
        serving.cancel()

    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, stop)
    watch = loop.create_task(_watch_parent(stop, parent_pid))
    try:
        yield
    finally:
        watch.cancel()
        for number in signals:
            loop.remove_signal_handler(number)


async def _watch_parent(stop: Callable[[], None], parent_pid: int) -> None:
    """Notice that this process is an orphan: the pipe may be kept open by others after its host died."""
    while True:
        if os.getppid() != parent_pid:
            stop()
            return
        await asyncio.sleep(_PARENT_CHECK_EVERY_S)


class _EraNeutralSource(MessageSource):
    """Answers `server/discover` aside until another request decides the protocol era.

    The SDK takes the first request for the decision. Hosts discover first and initialize then, if they like.
    """

    def __init__(self, server: Server[Any], state: object, reader: MessageReader, writer: MessageWriter) -> None:
        self._server = server
        self._state = state
        self._reader = reader
        self._writer = writer
        self._undecided = True

    async def receive(self) -> SessionMessage:
        while True:
            item = await self._reader.receive()
            if not (self._undecided and isinstance(item.message, types.JSONRPCRequest)):
                return item
            if item.message.method != "server/discover":
                self._undecided = False
                return item
            await self._answer_aside(item)

    async def _answer_aside(self, request: SessionMessage) -> None:
        """Let the SDK answer on a connection of its own that carries nothing but this request."""
        requests, connection = anyio.create_memory_object_stream[SessionMessage | Exception](1)
        requests.send_nowait(request)
        answer = _OneAnswer(self._writer, requests)
        await serve_dual_era_loop(self._server, connection, answer, lifespan_state=self._state)


class _OneAnswer(MessageStream):
    """Passes an answer on and ends the connection it came from."""

    def __init__(self, writer: MessageWriter, requests: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        self._writer = writer
        self._requests = requests

    async def send(self, item: SessionMessage, /) -> None:
        try:
            await self._writer.send(item)
        finally:
            if not isinstance(item.message, types.JSONRPCNotification):
                self._requests.close()
