"""A host that sends and does not read is held back, and a request counts until it is settled."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from mcp import types
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from metagit_mcp.interfaces.mcp.stdio_messages import Limits, MessageReader, MessageWriter, UnderWay
from metagit_mcp.interfaces.mcp.stdio_pipes import LineInput, LineOutput

MOST_UNDER_WAY = 256
NO_PATIENCE = Limits(patience_s=0.0)
PATIENT = Limits(patience_s=20.0)


class Wire:
    """A reader whose lines a test feeds, and the writer that belongs to it; nothing is connected."""

    def __init__(self, limits: Limits) -> None:
        self.input = LineInput(limits.line_bytes)
        self.output = LineOutput(lambda: None)
        under_way = UnderWay()
        self.writer = MessageWriter(self.output, under_way)
        self.reader = MessageReader(self.input, self.writer, under_way, limits)

    def feed(self, method: str, *ids: int) -> None:
        for number in ids:
            self.input.data_received(b'{"jsonrpc":"2.0","id":%d,"method":"%s"}\n' % (number, method.encode()))

    async def answer(self, request_id: int) -> None:
        response = types.JSONRPCResponse(jsonrpc="2.0", id=request_id, result={})
        await self.writer.send(SessionMessage(response))


async def rest(task: asyncio.Task[SessionMessage]) -> None:
    """Let everything run that can run."""
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()


@pytest.mark.parametrize("settled_by", ["answer", "lost answer", "cancellation"])
async def test_a_host_with_256_requests_under_way_waits(settled_by: str) -> None:
    wire = Wire(PATIENT)
    wire.feed("ping", *range(MOST_UNDER_WAY + 1))
    taken = [await wire.reader.receive() for _ in range(MOST_UNDER_WAY)]
    waiting = asyncio.create_task(wire.reader.receive())
    await rest(waiting)
    if settled_by == "answer":
        await wire.answer(3)
    elif settled_by == "lost answer":
        wire.output.connection_lost(None)
        with pytest.raises(anyio.BrokenResourceError):
            await wire.answer(3)
    else:
        metadata = taken[3].metadata
        assert isinstance(metadata, ServerMessageMetadata)
        assert metadata.on_request_unanswered is not None
        await metadata.on_request_unanswered()
    message = (await asyncio.wait_for(waiting, 20)).message
    assert message == types.JSONRPCRequest(jsonrpc="2.0", id=MOST_UNDER_WAY, method="ping")


async def test_end_of_input_waits_for_the_answers_due() -> None:
    wire = Wire(PATIENT)
    wire.feed("ping", 1, 2)
    wire.input.connection_lost(None)
    await wire.reader.receive()
    await wire.reader.receive()
    ending = asyncio.create_task(wire.reader.receive())
    await rest(ending)
    await wire.answer(1)
    await rest(ending)
    await wire.answer(2)
    with pytest.raises(anyio.EndOfStream):
        await asyncio.wait_for(ending, 20)


async def test_end_of_input_does_not_wait_for_subscriptions() -> None:
    wire = Wire(PATIENT)
    wire.feed("subscriptions/listen", 1)
    wire.input.connection_lost(None)
    await wire.reader.receive()
    with pytest.raises(anyio.EndOfStream):
        await asyncio.wait_for(wire.reader.receive(), 10)


async def test_end_of_input_is_seen_though_nothing_settles() -> None:
    wire = Wire(NO_PATIENCE)
    wire.feed("ping", *range(MOST_UNDER_WAY + 1))
    wire.input.connection_lost(None)
    for _ in range(MOST_UNDER_WAY):
        await wire.reader.receive()
    with pytest.raises(anyio.EndOfStream):
        await asyncio.wait_for(wire.reader.receive(), 20)


async def test_an_ending_server_does_not_wait_for_its_host() -> None:
    wire = Wire(PATIENT)
    wire.output.pause_writing()
    stuck = asyncio.create_task(wire.answer(1))
    await asyncio.sleep(0)
    assert not stuck.done()
    wire.output.hurry()
    with pytest.raises(anyio.BrokenResourceError):
        await asyncio.wait_for(stuck, 20)
