"""When the workspace is opened, and what calls do to each other meanwhile, in both protocol eras."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING

import pytest
from mcp import Client

from metagit_mcp.errors import InvalidInput, NodeNotFound, WorkspaceNotFound
from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.interfaces.mcp.tools import TOOLS
from metagit_mcp.wire.requests import NextRequest, StatusRequest
from tests.interfaces.mcp.fake_application import SETTINGS, FakeApplication, next_answer, status_answer
from tests.interfaces.mcp.results import refusal

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application

MODES = ("auto", "legacy")
WAIT_S = 20.0


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def connected(application: FakeApplication, mode: str) -> Client:
    return Client(build_server(application.opened, SETTINGS), mode=mode)


# --- opening the workspace


async def test_bad_arguments_are_refused_before_the_workspace_is_looked_for(mode: str) -> None:
    def missing() -> Application:
        raise AssertionError("opened")

    async with Client(build_server(missing, SETTINGS), mode=mode) as client:
        assert refusal(await client.call_tool("metagit_schedule_next", {"limit": 0}))["code"] == "INVALID_INPUT"


async def test_a_workspace_that_is_made_later_is_found(mode: str) -> None:
    attempts = []

    def late() -> Application:
        attempts.append(1)
        if len(attempts) == 1:
            raise WorkspaceNotFound(hint="Pass --workspace PATH.")
        return FakeApplication().opened()

    async with Client(build_server(late, SETTINGS), mode=mode) as client:
        record = refusal(await client.call_tool("metagit_schedule_next", {}))
        assert (record["code"], record["hint"]) == ("WORKSPACE_NOT_FOUND", "Pass --workspace PATH.")
        assert [(await client.call_tool("metagit_schedule_next", {})).is_error for _ in range(2)] == [False, False]
    assert len(attempts) == 2


async def test_many_first_calls_open_the_workspace_once(mode: str) -> None:
    opened = []

    def count() -> Application:
        opened.append(1)
        return FakeApplication().opened()

    async with Client(build_server(count, SETTINGS), mode=mode) as client:
        results = await asyncio.gather(*(client.call_tool("metagit_schedule_next", {}) for _ in range(20)))
    assert [result.is_error for result in results] == [False] * 20
    assert len(opened) == 1


# --- beside each other


async def test_each_of_many_calls_gets_its_own_answer(mode: str) -> None:
    async def echo(request: StatusRequest | NextRequest) -> object:
        for _ in range(request.recent if isinstance(request, StatusRequest) else 0):
            await asyncio.sleep(0)
        if request.graph_id == "g13":
            raise NodeNotFound(graph_id=request.graph_id)
        return status_answer(place=f"/{request.graph_id}")

    async with connected(FakeApplication(instead=echo), mode) as client:
        calls = [{"graph_id": f"g{number}", "recent": 100 - number} for number in range(50)]
        results = await asyncio.gather(*(client.call_tool("metagit_schedule_status", call) for call in calls))
    refused = results.pop(13)
    assert refusal(refused)["details"] == {"graph_id": "g13"}
    paths = [result.structured_content["workspace"]["path"] for result in results if result.structured_content]
    assert paths == [f"/g{number}" for number in range(50) if number != 13]


async def test_a_call_is_cancelled_while_the_workspace_loads(mode: str) -> None:
    loading, loaded = Event(), Event()
    attempts = []

    def slow() -> Application:
        attempts.append(1)
        loading.set()
        assert loaded.wait(WAIT_S)
        return FakeApplication().opened()

    async with asyncio.timeout(WAIT_S), Client(build_server(slow, SETTINGS), mode=mode) as client:
        call = asyncio.create_task(client.call_tool("metagit_schedule_next", {}))
        assert await asyncio.to_thread(loading.wait, WAIT_S)
        # The load goes on, and other requests are answered meanwhile.
        assert len((await client.list_tools()).tools) == len(TOOLS)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert len((await client.list_tools()).tools) == len(TOOLS)
        loaded.set()
        assert not (await client.call_tool("metagit_schedule_next", {})).is_error
    assert len(attempts) == 2


async def test_a_refusal_of_one_call_leaves_the_others_alone(mode: str) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def wait(request: object) -> object:
        if isinstance(request, StatusRequest):
            raise InvalidInput
        begun.set()
        await go_on.wait()
        return next_answer()

    async with asyncio.timeout(WAIT_S), connected(FakeApplication(instead=wait), mode) as client:
        call = asyncio.create_task(client.call_tool("metagit_schedule_next", {}))
        await begun.wait()
        assert refusal(await client.call_tool("metagit_schedule_status", {}))["code"] == "INVALID_INPUT"
        go_on.set()
        assert not (await call).is_error
