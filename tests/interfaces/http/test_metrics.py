"""Numbers about the server are for those who may look at the whole workspace, and tell nothing of what it is for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from mcp.server.lowlevel import Server as Lowlevel
from prometheus_client.parser import text_string_to_metric_families

from metagit_mcp.application.caller import Caller as SomeCaller
from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.http import metrics
from tests.interfaces.http.serving import Server, issued
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from metagit_mcp.bootstrap import Application
    from tests.interfaces.http.calling import Caller

PATH = "/metrics"
TITLE, GROUP, NODE = "A title to be kept", "group-to-be-kept", "node-to-be-kept"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Caller]]:
    """Callers of one server, by name."""
    root = tmp_path_factory.mktemp("metrics") / "workspace"
    (root / ".metagit/tasks/graphs").mkdir(parents=True)
    desk = Desk(root)
    desk.graph(GROUP, node(NODE, graph_id=GROUP, title=TITLE), node("other", graph_id=GROUP), title=TITLE)
    named = {role: issued(desk, role)[0] for role in ("viewer", "agent", "operator")}
    named["coordinator"] = issued(desk, "coordinator", group_id=GROUP)[0]
    desk.lease()
    with Server(root, clock=desk.clock) as server:
        callers = {name: server.caller(secret) for name, secret in named.items()}
        yield {**callers, "nobody": server.caller(), "garbage": server.caller("mgt_" + 43 * "x")}


@pytest.mark.parametrize(
    ("who", "code"),
    [
        ("viewer", "ok"),
        ("agent", "ok"),
        ("operator", "ok"),
        ("coordinator", "AUTH_FORBIDDEN"),
        ("nobody", "AUTH_REQUIRED"),
        ("garbage", "AUTH_REQUIRED"),
    ],
)
def test_who_may_see_the_numbers(people: Mapping[str, Caller], who: str, code: str) -> None:
    assert people[who].get(PATH).code == code


def test_the_numbers_are_those_of_the_workspace_and_of_the_calls(people: Mapping[str, Caller]) -> None:
    before = numbers(people)
    assert people["viewer"].tool("metagit_schedule_status").code == "ok"
    assert people["viewer"].tool("metagit_schedule_next", claim=True).code == "AUTH_FORBIDDEN"
    after = numbers(people)
    status = people["viewer"].get("/v1/status").json

    calls = {name: after[name] - before.get(name, 0) for name in after if name.startswith("metagit_tool_calls_total")}
    assert {name: count for name, count in calls.items() if count} == {
        "metagit_tool_calls_total ok metagit_schedule_status": 1,
        "metagit_tool_calls_total AUTH_FORBIDDEN metagit_schedule_next": 1,
    }
    assert after["metagit_ready_nodes"] == status["ready_count"]
    assert after["metagit_nodes running"] == status["counts"]["running"] == 1
    assert after["metagit_groups"] == status["groups_total"]
    assert after["metagit_ledger_position"] > 0


def test_no_id_and_no_title_is_in_them(people: Mapping[str, Caller]) -> None:
    page = people["viewer"].get(PATH).body.decode()

    assert [text for text in (TITLE, GROUP, NODE) if text in page] == []


def test_without_the_extra_it_is_not_there_and_nobody_asked_wrongly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".metagit").mkdir()
    desk = Desk(tmp_path)

    async def opened() -> Application:
        return desk.application

    def missing() -> None:
        raise InvalidInput("Metrics need prometheus-client")

    monkeypatch.setattr(metrics, "metrics_page", missing)
    monkeypatch.setattr(metrics, "caller_now", SomeCaller)
    (route,) = metrics.metrics_routes(Lowlevel("metrics"), opened)
    answer = finished(route.endpoint(None))
    assert (answer.status_code, json.loads(answer.body)["message"]) == (501, "Metrics need prometheus-client")


def numbers(people: Mapping[str, Caller]) -> dict[str, float]:
    """What the page says, by name and the values of the labels."""
    answer = people["viewer"].get(PATH)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = {}
    for family in text_string_to_metric_families(answer.body.decode()):
        for each in family.samples:
            found[" ".join((each.name, *(text for _, text in sorted(each.labels.items()))))] = each.value
    return found
