"""A call that waits: its host is told that it does, and may give it up, in both protocol eras."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from mcp import Client, MCPError

from metagit_mcp.interfaces.mcp.server import build_server
from tests.interfaces.mcp.fake_application import DECISION, SETTINGS, FakeApplication, next_answer

if TYPE_CHECKING:
    from metagit_mcp.wire.requests import NextRequest

MODES = ("auto", "legacy")
WAIT_S = 20.0
NEXT = "metagit_schedule_next"


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Waiting:
    """An application whose `next` tells of its progress, or waits until somebody gives it up."""

    def __init__(self, tells: tuple[float, ...] = (), *, ends: bool = True) -> None:
        self.application = FakeApplication(instead=self._wait)
        self.begun, self.given_up = asyncio.Event(), asyncio.Event()
        self._tells, self._ends = tells, ends

    async def _wait(self, _: NextRequest) -> object:
        self.begun.set()
        for waited in self._tells:
            await self.application.progress(waited, 50.0)
        try:
            await (asyncio.sleep(0) if self._ends else asyncio.Event().wait())
        except asyncio.CancelledError:
            self.given_up.set()
            raise
        return next_answer(DECISION)

    def client(self, mode: str) -> Client:
        return Client(build_server(self.application.opened, SETTINGS), mode=mode)


async def test_the_host_is_told_how_long_it_waits(mode: str) -> None:
    told: list[tuple[float, float | None]] = []
    all_told = asyncio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert message is None
        told.append((progress, total))
        if len(told) == 3:
            all_told.set()

    async with asyncio.timeout(WAIT_S), Waiting((5.0, 10.0, 15.0)).client(mode) as client:
        result = await client.call_tool(NEXT, {"wait_seconds": 50}, progress_callback=hear)
        assert not result.is_error
        await all_told.wait()
    assert told == [(5.0, 50.0), (10.0, 50.0), (15.0, 50.0)]


async def test_a_host_that_did_not_ask_is_told_nothing(mode: str) -> None:
    async with asyncio.timeout(WAIT_S), Waiting((5.0, 10.0)).client(mode) as client:
        assert not (await client.call_tool(NEXT, {"wait_seconds": 50})).is_error


async def test_a_call_that_its_client_gives_up_ends_at_once(mode: str) -> None:
    waiting = Waiting(ends=False)
    async with asyncio.timeout(WAIT_S), waiting.client(mode) as client:
        call = asyncio.create_task(client.call_tool(NEXT, {"wait_seconds": 300}))
        await waiting.begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await waiting.given_up.wait()


async def test_a_call_whose_client_runs_out_of_time_ends_at_once(mode: str) -> None:
    waiting = Waiting(ends=False)
    async with asyncio.timeout(WAIT_S), waiting.client(mode) as client:
        # It may run out of time before it is heard.
        while not waiting.begun.is_set():
            with pytest.raises(MCPError, match=r"(?i)timed out"):
                await client.call_tool(NEXT, {"wait_seconds": 300}, read_timeout_seconds=0.1)
        await waiting.given_up.wait()


async def test_a_waiting_call_does_not_keep_others_waiting(mode: str) -> None:
    waiting = Waiting(ends=False)
    async with asyncio.timeout(WAIT_S), waiting.client(mode) as client:
        call = asyncio.create_task(client.call_tool(NEXT, {"wait_seconds": 300}))
        await waiting.begun.wait()
        waiting.application.instead = None
        assert not (await client.call_tool(NEXT, {})).is_error
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
