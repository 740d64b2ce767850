"""Every call of a tool is measured as it ended, in both protocol eras, and whatever its name or its end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, MCPError

from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.mcp.errors import refused
from metagit_mcp.interfaces.mcp.measured import measure
from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.wire.measures import MeasuredCall
from tests.interfaces.mcp.fake_application import SETTINGS, FakeApplication
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

    from metagit_mcp.interfaces.mcp.subscriptions import TellingServer

ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def measured(server: TellingServer) -> list[MeasuredCall]:
    """What is told of the calls of a server from now on."""
    calls: list[MeasuredCall] = []
    measure(server, calls.append)
    return calls


def without_times(calls: list[MeasuredCall]) -> list[MeasuredCall]:
    return [replace(each, began_ns=0, seconds=0.0) for each in calls]


def told(tool: str, outcome: str, **fields: Any) -> MeasuredCall:  # noqa: ANN401 - any field
    return MeasuredCall(tool=tool, outcome=outcome, began_ns=0, seconds=0.0, **fields)


@pytest.mark.parametrize("mode", ERAS)
async def test_it_tells_how_calls_ended_and_how_many_leases_they_gave(tmp_path: Path, mode: str) -> None:
    (tmp_path / ".metagit/tasks/graphs").mkdir(parents=True)
    desk = Desk(tmp_path)
    desk.graph("g", node("a"), node("b"))
    server = build_server(lambda: desk.application, SETTINGS)
    calls = measured(server)
    async with Client(server, mode=mode) as client:
        await client.list_tools()
        first = await client.call_tool("metagit_schedule_next", {"claim": True, "agent_id": "w1"})
        lease_id = (first.structured_content or {})["decisions"][0]["lease"]["lease_id"]
        await client.call_tool("metagit_work_start", {"node_id": "b", "agent_id": "w2"})
        await client.call_tool("metagit_work_report", {"lease_id": lease_id, "state": "running"})
        await client.call_tool("metagit_schedule_next", {"limit": 0})
        with pytest.raises(MCPError):
            await client.call_tool("metagit_" + "x" * 40, {})

    era = {"protocol": ERAS[mode]}
    assert without_times(calls) == [
        told("metagit_schedule_next", "ok", claims=1, **era),
        told("metagit_work_start", "ok", claims=1, **era),
        told("metagit_work_report", "ok", **era),
        told("metagit_schedule_next", "INVALID_INPUT", **era),
        told("unknown", "protocol_error", **era),
    ]
    assert all(each.seconds > 0 and each.began_ns > 0 for each in calls)


async def test_a_trace_that_the_caller_is_in_is_told_as_it_was_sent() -> None:
    server = build_server(FakeApplication().opened, SETTINGS)
    calls = measured(server)
    async with Client(server, mode="auto") as client:
        for meta in ({"traceparent": PARENT, "tracestate": "a=1"}, {"traceparent": 7}, {"traceparent": "x" * 513}):
            await client.call_tool("metagit_schedule_status", {}, meta=meta)  # type: ignore[arg-type] # as callers may

    assert [each.parent for each in calls] == [{"traceparent": PARENT, "tracestate": "a=1"}, {}, {}]


async def ended(*, answer: object = None, error: BaseException | None = None) -> str:
    """What is told of a call that ends so."""
    server = build_server(FakeApplication().opened, SETTINGS)
    calls = measured(server)
    request: Any = SimpleNamespace(method="tools/call", params=None, protocol_version=None)

    async def rest(_: object) -> Any:  # noqa: ANN401 - as the SDK has it
        if error is not None:
            raise error
        return answer

    with suppress(*(() if error is None else (type(error),))):
        await server.middleware[0](request, rest)
    (call,) = without_times(calls)
    assert replace(call, outcome="") == told("unknown", "")
    return call.outcome


async def test_a_call_that_is_given_up_is_told_as_such() -> None:
    assert await ended(error=asyncio.CancelledError()) == "cancelled"


async def test_an_answer_that_another_middleware_gave_is_told_as_any_other() -> None:
    assert await ended(answer=refused(InvalidInput("arguments: must be a JSON object"))) == "INVALID_INPUT"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"isError": True, "content": []}, "error"),
        ({"isError": True, "content": [{"type": "text", "text": "not JSON"}]}, "error"),
        ({"isError": False, "structuredContent": {"decisions": [{"node_id": "a"}]}}, "ok"),
        (None, "ok"),
    ],
)
async def test_whatever_an_answer_looks_like_it_is_told(answer: object, outcome: str) -> None:
    assert await ended(answer=answer) == outcome
