"""Sends a span for each call of a tool to a collector of traces. The only place that knows OpenTelemetry (ADR 0036).

A thread of its own loads the library at the first call and makes the spans afterwards, from when each call began and
ended: no call waits for it, and a collector that is away costs spans, never answers.
"""

from collections.abc import Callable, Mapping
from queue import Full, Queue
from threading import Thread
from typing import TYPE_CHECKING, Final

from metagit_mcp import __version__
from metagit_mcp.wire.measures import MeasuredCall

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

# Set by whoever wants spans: without one nothing is loaded, and nothing leaves the machine.
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_MOST_WAITING: Final = 4_096
_PATIENCE_S: Final = 1.0
_NS: Final = 1_000_000_000


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Say whether the environment asks for spans, in OpenTelemetry's own words."""
    is_off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or environ.get("OTEL_TRACES_EXPORTER") == "none"
    return not is_off and any(environ.get(name) for name in _ENDPOINTS)


class Traces:
    """Takes calls as they end, and makes spans of them."""

    def __init__(self, exporter: "Callable[[], SpanExporter]", say: Callable[[str], None]) -> None:
        """Start nothing yet.

        Args:
            exporter: makes what sends the spans; it may fail where the extra is not installed.
            say: told once if no span can be made.
        """
        self._exporter, self._say = exporter, say
        self._waiting: Queue[MeasuredCall | None] = Queue(_MOST_WAITING)
        self._thread: Thread | None = None

    def add(self, call: MeasuredCall) -> None:
        """Take a call; while too many wait, its span is dropped."""
        if self._thread is None:
            self._thread = Thread(target=self._work, daemon=True, name="traces")
            self._thread.start()
        try:
            self._waiting.put_nowait(call)
        except Full:
            return

    def close(self) -> None:
        """Send what waits, as far as that goes in a second."""
        if self._thread is None:
            return
        try:
            self._waiting.put(None, timeout=_PATIENCE_S)
        except Full:
            return
        self._thread.join(_PATIENCE_S)

    def _work(self) -> None:
        try:
            provider = _provider(self._exporter())
        except ImportError:
            self._say("spans need more: pipx install --force '/path/to/clone[telemetry]'")
            return
        while (call := self._waiting.get()) is not None:
            _make_span(provider, call)
        provider.shutdown()


def otlp_exporter() -> "SpanExporter":
    """Return what sends spans over HTTP, told by the environment where to.

    Raises:
        ImportError: the extra is not installed.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - in its thread

    return OTLPSpanExporter()


def _provider(exporter: "SpanExporter") -> "TracerProvider":
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - in its thread
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above

    named = Resource.create({"service.name": "metagit-mcp", "service.version": __version__})
    # It would wait for a collector that is away when the process ends.
    provider = TracerProvider(resource=named, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _make_span(provider: "TracerProvider", call: MeasuredCall) -> None:
    """Make the span of a call that is over, by the semantic conventions for MCP."""
    from opentelemetry.trace import SpanKind, Status, StatusCode  # noqa: PLC0415 - in its thread
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415 - as above

    span = provider.get_tracer("metagit_mcp", __version__).start_span(
        f"tools/call {call.tool}",
        context=TraceContextTextMapPropagator().extract(call.parent),
        kind=SpanKind.SERVER,
        start_time=call.began_ns,
        attributes={
            "mcp.method.name": "tools/call",
            "mcp.protocol.version": call.protocol,
            "gen_ai.tool.name": call.tool,
            "metagit.outcome": call.outcome,
            "metagit.claims": call.claims,
        },
    )
    if call.outcome != "ok":
        span.set_attribute("error.type", call.outcome)
        span.set_status(Status(StatusCode.ERROR))
    span.end(end_time=call.began_ns + int(call.seconds * _NS))
