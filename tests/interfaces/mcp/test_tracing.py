"""Calls are traced where the environment names a collector, and nothing is loaded where it does not."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from mcp import Client

from metagit_mcp.adapters.traces import Traces
from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.interfaces.mcp.tracing import traced
from tests.interfaces.mcp.fake_application import SETTINGS, FakeApplication

if TYPE_CHECKING:
    import pytest

    from metagit_mcp.wire.measures import MeasuredCall


async def test_calls_are_traced_until_the_server_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[MeasuredCall] = []
    ends: list[int] = []
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(Traces, "add", lambda _, call: calls.append(call))
    monkeypatch.setattr(Traces, "close", lambda _: ends.append(len(calls)))
    server = build_server(FakeApplication().opened, SETTINGS)
    with traced(server):
        async with Client(server, mode="auto") as client:
            await client.call_tool("metagit_schedule_status", {})

    assert [(each.tool, each.outcome) for each in calls] == [("metagit_schedule_status", "ok")]
    assert ends == [1]


def test_without_a_collector_no_call_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", raising=False)
    server = build_server(FakeApplication().opened, SETTINGS)
    before = list(server.middleware)
    with traced(server):
        assert server.middleware == before


def test_what_the_extra_brings_is_loaded_by_no_server_that_starts() -> None:
    served = "metagit_mcp.interfaces.mcp.tracing, metagit_mcp.interfaces.http.metrics, metagit_mcp.adapters.traces"
    looking = "print([name for name in ('opentelemetry.sdk', 'prometheus_client') if name in sys.modules])"
    command = [sys.executable, "-c", f"import sys, {served}; {looking}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout == "[]\n"
