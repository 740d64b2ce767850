"""The duties of a server beside its calls: when they run, that nothing stops them, and how the last one ends."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from mcp import Client

from metagit_mcp.interfaces.mcp import upkeep
from metagit_mcp.interfaces.mcp.server import build_server
from tests.interfaces.mcp.fake_application import SETTINGS, FakeApplication, FakeKeeping

MODES = ("auto", "legacy")
WAIT_S = 20.0
NEXT = "metagit_schedule_next"


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_EVERY_S", 0.001)


def connected(keeping: FakeKeeping, mode: str) -> Client:
    return Client(build_server(FakeApplication(keeping=keeping).opened, SETTINGS), mode=mode)


async def rounds(keeping: FakeKeeping, more: int) -> None:
    """Wait until the duties were looked after that many times more."""
    await keeping.until(len(keeping.duties) + more)


async def test_the_duties_begin_with_the_first_call_and_end_with_the_connection(mode: str) -> None:
    keeping = FakeKeeping()
    async with asyncio.timeout(WAIT_S):
        async with connected(keeping, mode) as client:
            await client.list_tools()
            assert keeping.duties == []
            await client.call_tool(NEXT, {})
            await rounds(keeping, 3)
        looked = len(keeping.duties) - 1
        assert keeping.duties == ["look_after"] * looked + ["end"]
        # The duties are over, and not only late.
        await asyncio.gather(*(asyncio.sleep(0) for _ in range(100)))
    assert len(keeping.duties) == looked + 1


async def test_a_server_that_nobody_asked_anything_has_nothing_to_end(mode: str) -> None:
    keeping = FakeKeeping()
    async with connected(keeping, mode) as client:
        await client.list_tools()
    assert keeping.duties == []


async def test_each_call_is_noted_whatever_comes_of_it(mode: str) -> None:
    keeping = FakeKeeping()
    async with connected(keeping, mode) as client:
        await client.call_tool(NEXT, {})
        # Whoever opens the workspace has called just now; from then on each call is said.
        assert keeping.calls == 0
        await client.call_tool(NEXT, {})
        await client.call_tool("metagit_schedule_status", {"recent": -1})
        await client.list_tools()
    assert keeping.calls == 2


async def test_duties_never_run_twice_at_once(mode: str) -> None:
    at_once: list[int] = []

    async def slow(_duty: str) -> None:
        at_once.append(1)
        for _ in range(50):
            await asyncio.sleep(0.0001)
        assert len(at_once) == 1
        at_once.clear()

    keeping = FakeKeeping(instead=slow)
    async with asyncio.timeout(WAIT_S), connected(keeping, mode) as client:
        await client.call_tool(NEXT, {})
        await rounds(keeping, 4)


async def test_an_error_is_said_once_and_ends_nothing(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    troubles = iter([OSError("a"), OSError("a"), OSError("b"), OSError("a")])

    async def fail(duty: str) -> None:
        if duty == "look_after" and (trouble := next(troubles, None)) is not None:
            raise trouble

    keeping = FakeKeeping(instead=fail)
    async with asyncio.timeout(WAIT_S), connected(keeping, mode) as client:
        await client.call_tool(NEXT, {})
        await rounds(keeping, 6)
    said = [str(record.exc_info[1]) for record in caplog.records if record.exc_info]
    assert said == ["a", "b", "a"]
    assert keeping.duties[-1] == "end"


async def test_an_end_that_fails_is_said_and_the_server_ends(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(duty: str) -> None:
        if duty == "end":
            raise OSError("disk")

    async with connected(FakeKeeping(instead=fail), mode) as client:
        await client.call_tool(NEXT, {})
    assert "the end was not clean" in caplog.text


@pytest.mark.parametrize("stuck", ["look_after", "end"])
async def test_a_duty_that_never_ends_does_not_keep_the_server(
    stuck: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_END_WITHIN_S", 0.05)
    keeping = FakeKeeping(instead=partial(_never, stuck))
    async with asyncio.timeout(WAIT_S), connected(keeping, mode) as client:
        await client.call_tool(NEXT, {})
        await keeping.until(1)
    assert keeping.duties[-1] == "end"


async def _never(stuck: str, duty: str) -> None:
    if duty == stuck:
        await asyncio.Event().wait()
