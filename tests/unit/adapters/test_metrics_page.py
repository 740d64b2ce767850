"""The page of metrics is what Prometheus reads: names, labels and values, whole."""

from __future__ import annotations

import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from metagit_mcp import __version__
from metagit_mcp.adapters.metrics_page import CONTENT_TYPE, metrics_page
from metagit_mcp.bootstrap import metrics_page as found_page
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.measures import Calls, MeasuredCall, Standing

STANDING = Standing(
    nodes={"eligible": 3, "running": 2}, ready=3, runnable=1, groups=4, needs_person=5, leases=2, position=77
)


def samples(page: bytes) -> dict[str, float]:
    """What the page says, by name and labels, without what it says of any process."""
    found = {}
    for family in text_string_to_metric_families(page.decode()):
        for each in family.samples:
            labels = ",".join(f"{name}={text}" for name, text in sorted(each.labels.items()))
            found[f"{each.name}{{{labels}}}"] = each.value
    return {name: number for name, number in found.items() if name.startswith("metagit")}


def test_a_server_that_was_asked_nothing() -> None:
    assert samples(metrics_page(Calls(), None, 0)) == {
        f"metagit_info{{version={__version__}}}": 1,
        "metagit_claims_total{}": 0,
        "metagit_subscribers{}": 0,
        "metagit_workspace_readable{}": 0,
    }


def test_calls_and_the_standing_of_the_workspace() -> None:
    calls = Calls()
    calls.add(MeasuredCall(tool="next", outcome="ok", began_ns=0, seconds=0.3, claims=1))
    calls.add(MeasuredCall(tool="next", outcome="INVALID_INPUT", began_ns=0, seconds=0.002))
    found = samples(metrics_page(calls, STANDING, 9))
    buckets = {name: found.pop(name) for name in list(found) if "_bucket" in name}

    assert found == {
        f"metagit_info{{version={__version__}}}": 1,
        "metagit_tool_calls_total{outcome=ok,tool=next}": 1,
        "metagit_tool_calls_total{outcome=INVALID_INPUT,tool=next}": 1,
        "metagit_tool_call_seconds_sum{tool=next}": 0.302,
        "metagit_tool_call_seconds_count{tool=next}": 2,
        "metagit_claims_total{}": 1,
        "metagit_subscribers{}": 9,
        "metagit_workspace_readable{}": 1,
        "metagit_nodes{state=eligible}": 3,
        "metagit_nodes{state=running}": 2,
        "metagit_ready_nodes{}": 3,
        "metagit_runnable_nodes{}": 1,
        "metagit_groups{}": 4,
        "metagit_waiting_for_person{}": 5,
        "metagit_leases_held{}": 2,
        "metagit_ledger_position{}": 77,
    }
    assert buckets["metagit_tool_call_seconds_bucket{le=0.0025,tool=next}"] == 1
    assert buckets["metagit_tool_call_seconds_bucket{le=+Inf,tool=next}"] == 2


def test_the_format_is_the_one_that_every_scraper_reads() -> None:
    assert CONTENT_TYPE == "text/plain; version=0.0.4; charset=utf-8"


def test_without_the_extra_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_page() == (metrics_page, CONTENT_TYPE)

    monkeypatch.delitem(sys.modules, "metagit_mcp.adapters.metrics_page")
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(InvalidInput) as caught:
        found_page()
    assert "pipx install --force '/path/to/clone[telemetry]'" in caught.value.hint
