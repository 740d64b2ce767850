"""Writes what was counted in the text format of Prometheus. The only place that knows its client library (ADR 0036).

It is loaded when somebody scrapes: until then counting is plain numbers.
"""

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)

from metagit_mcp import __version__
from metagit_mcp.wire.measures import Calls, Standing

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
_BY_OUTCOME: Final = ("tool", "outcome")
# By the field of the standing: the name, and what it says.
_GAUGES: Final = {
    "ready": ("metagit_ready_nodes", "Nodes that are ready by their status and dependencies."),
    "runnable": ("metagit_runnable_nodes", "Nodes that an agent without special capabilities could start now."),
    "groups": ("metagit_groups", "Groups: task graphs, and those fed by Events."),
    "needs_person": ("metagit_waiting_for_person", "Cases that only a person can set going."),
    "leases": ("metagit_leases_held", "Live leases, of every process on this ledger."),
    "position": ("metagit_ledger_position", "The place of the last event in the ledger that this process has read."),
}


def metrics_page(calls: Calls, standing: Standing | None, subscribers: int) -> bytes:
    """Return the page. Without a standing it says that the workspace cannot be read, and what was counted."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Numbers(calls, standing, subscribers))
    return generate_latest(registry)


class _Numbers:
    """Gives the library what was counted."""

    def __init__(self, calls: Calls, standing: Standing | None, subscribers: int) -> None:
        self._calls, self._standing, self._subscribers = calls, standing, subscribers

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("metagit", "The running program.", value={"version": __version__})
        yield from _of_calls(self._calls)
        yield GaugeMetricFamily("metagit_subscribers", "Streams that are told what changes.", value=self._subscribers)
        readable = self._standing is not None
        yield GaugeMetricFamily("metagit_workspace_readable", "1: the gauges below are told.", value=float(readable))
        if self._standing is not None:
            yield from _of_standing(self._standing)


def _of_calls(calls: Calls) -> Iterator[Metric]:
    ended = CounterMetricFamily(
        "metagit_tool_calls",
        "Calls of tools by how they ended: ok, or the code of a refusal.",
        labels=["tool", "outcome"],
    )
    for (tool, outcome), count in sorted(calls.ended.items()):
        ended.add_metric([tool, outcome], count)
    yield ended
    seconds = HistogramMetricFamily(
        "metagit_tool_call_seconds", "How long calls took, with what they waited for work.", labels=["tool"]
    )
    for tool, times in sorted(calls.times.items()):
        seconds.add_metric([tool], times.buckets(), times.sum)
    yield seconds
    yield CounterMetricFamily("metagit_claims", "Leases that calls of tools were given.", value=calls.claims)


def _of_standing(standing: Standing) -> Iterator[Metric]:
    nodes = GaugeMetricFamily("metagit_nodes", "Nodes by what they are now.", labels=["state"])
    for state, count in sorted(standing.nodes.items()):
        nodes.add_metric([state], count)
    yield nodes
    for name, (metric, told) in _GAUGES.items():
        yield GaugeMetricFamily(metric, told, value=getattr(standing, name))
