"""A span for each call: made afterwards, by a thread of its own, and sent where the environment says."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from metagit_mcp import __version__
from metagit_mcp.adapters import traces as module
from metagit_mcp.adapters.traces import Traces, is_wanted, otlp_exporter
from metagit_mcp.wire.measures import MeasuredCall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace.export import SpanExporter

BEGAN = 1_796_036_629_000_000_000
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WAIT_S = 60.0


def call(outcome: str = "ok", **fields: Any) -> MeasuredCall:  # noqa: ANN401 - any field
    return MeasuredCall(tool="metagit_schedule_next", outcome=outcome, began_ns=BEGAN, seconds=0.25, **fields)


def test_each_call_is_a_span_from_when_it_began_to_when_it_ended() -> None:
    kept = InMemorySpanExporter()
    traces = Traces(lambda: kept, pytest.fail)
    traces.add(call(claims=1, protocol="2026-07-28", parent={"traceparent": PARENT}))
    traces.add(call("INVALID_INPUT"))
    traces.close()
    good, bad = kept.get_finished_spans()

    assert (good.name, good.kind) == ("tools/call metagit_schedule_next", SpanKind.SERVER)
    assert (good.start_time, good.end_time) == (BEGAN, BEGAN + 250_000_000)
    assert dict(good.attributes or {}) == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "gen_ai.tool.name": "metagit_schedule_next",
        "metagit.outcome": "ok",
        "metagit.claims": 1,
    }
    assert good.parent is not None
    assert f"{good.parent.trace_id:032x}-{good.parent.span_id:016x}" == PARENT[3:-3]
    assert good.resource.attributes["service.version"] == __version__
    assert (bad.status.status_code, (bad.attributes or {})["error.type"]) == (StatusCode.ERROR, "INVALID_INPUT")
    assert bad.parent is None


def test_without_the_extra_it_says_so_once_and_takes_calls_all_the_same() -> None:
    said: list[str] = []

    def missing() -> SpanExporter:
        raise ImportError

    traces = Traces(missing, said.append)
    traces.add(call())
    traces.close()
    traces.add(call())

    assert said == ["spans need more: pipx install --force '/path/to/clone[telemetry]'"]


def test_a_collector_that_is_slow_costs_spans_and_no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WAITING", 1)
    monkeypatch.setattr(module, "_PATIENCE_S", 0.01)
    going = threading.Event()

    def slow() -> SpanExporter:
        assert going.wait(WAIT_S)
        return kept

    kept = InMemorySpanExporter()
    traces = Traces(slow, pytest.fail)
    for _ in range(3):
        traces.add(call())
    traces.close()
    going.set()
    assert traces._thread is not None  # noqa: SLF001 - the thread has no end of its own that a test could wait for
    traces._waiting.put(None, timeout=WAIT_S)  # noqa: SLF001 - as above
    traces._thread.join(WAIT_S)  # noqa: SLF001 - as above

    assert len(kept.get_finished_spans()) == 1


def test_who_never_called_waits_for_nothing() -> None:
    Traces(lambda: pytest.fail("nobody called"), pytest.fail).close()


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_spans_are_sent_only_where_the_environment_names_a_collector(environ: dict[str, str], wanted: bool) -> None:  # noqa: FBT001 - a row of the table
    assert is_wanted(environ) is wanted


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A collector of traces on this machine: its address, and what it was sent."""
    got: list[bytes] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            got.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Taking)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    thread.join(WAIT_S)
    server.server_close()


def test_a_collector_is_sent_the_spans(collector: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    address, got = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    monkeypatch.setattr(module, "_PATIENCE_S", WAIT_S)
    traces = Traces(otlp_exporter, pytest.fail)
    traces.add(call())
    traces.close()

    (sent,) = [ExportTraceServiceRequest.FromString(body) for body in got]
    (span,) = sent.resource_spans[0].scope_spans[0].spans
    assert span.name == "tools/call metagit_schedule_next"
