"""A coordinator sees its own Group, and of every other one as much as of one that is not there."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pytest

from tests.groups.offered import offering
from tests.interfaces.http.calling import Outcome, outcome
from tests.interfaces.http.people import OWN, OWN_FED
from tests.interfaces.http.who_may import DELIVER, ESTIMATE, NEXT, PLAN, POLICY, REPORT, START, STATUS, UPDATE
from tests.scenarios.planted import FED, FILED, WORD

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interfaces.http.calling import Answer, Caller
    from tests.interfaces.http.people import People

    Json = dict[str, Any]
    Ask = Callable[[Caller], Outcome | Answer]

# As long as the ids of the other Groups, and nobody's.
_NOBODYS: Final = {FILED: "nobody-group", FED: "group:nobody"}
assert all(len(there) == len(gone) for there, gone in _NOBODYS.items())
_ROUTES: Final = (
    *("/v1/status?graph_id={}", "/v1/board?graph_id={}", "/v1/graphs/{}", "/v1/changes?graph_id={}"),
    "/v1/next?preview=true&graph_id={}",
)
_URIS: Final = ("metagit://board/graphs/{}", "metagit://graphs/{}", "metagit://groups/{}", "metagit://groups/{}/outbox")


def _call(tool: str, given: Json, caller: Caller) -> Outcome:
    return caller.tool(tool, **given)


def _read(uri: str, caller: Caller) -> Outcome:
    return caller.read(uri)


def _get(path: str, caller: Caller) -> Answer:
    return caller.get(path)


def _asks(group_id: str) -> dict[str, Ask]:
    """All that can be asked about a Group, by what it is asked for."""
    named = {"graph_id": group_id}
    tools: dict[str, tuple[str, Json]] = {
        "preview": (NEXT, {**named, "preview": True}),
        "advice": (NEXT, named),
        "claim": (NEXT, {**named, "claim": True}),
        "status": (STATUS, named),
        "node": (STATUS, {**named, "node_id": f"{WORD}-key"}),
        "policy": (POLICY, {**named, "action": "preview", "priority": 2.0}),
        "start": (START, {**named, "node_id": f"{WORD}-key"}),
        "plan": (PLAN, {**named, "title": "more", "outline": "more"}),
        "update": (UPDATE, {**named, "node_id": f"{WORD}-key", "priority": 1}),
        "estimate": (ESTIMATE, {"group_id": group_id}),
        "estimate of a node": (ESTIMATE, {"group_id": group_id, "node_id": f"{WORD}-key"}),
        "deliver": (DELIVER, {"group_id": group_id, "events": offering(group_id).log}),
    }
    asks: dict[str, Ask] = {name: partial(_call, tool, given) for name, (tool, given) in tools.items()}
    for template in _URIS:
        asks[template] = partial(_read, template.format(quote(group_id, safe="")))
    for template in _ROUTES:
        asks[template] = partial(_get, template.format(quote(group_id, safe="")))
    return asks


def _said(answer: Outcome | Answer, group_id: str) -> str:
    """All that was answered, with the id that was asked for taken out."""
    if isinstance(answer, Outcome):
        text = f"{answer.code} {json.dumps(answer.record)}"
    else:
        text = f"{answer.status} {answer.body.decode()} {sorted(answer.headers.items())}"
    return text.replace(group_id, "GROUP").replace(quote(group_id, safe=""), "GROUP")


@pytest.mark.parametrize("role", ["coordinator", "feeder"])
@pytest.mark.parametrize(("there", "gone"), sorted(_NOBODYS.items()))
def test_a_foreign_group_and_an_unknown_one_look_the_same(people: People, role: str, there: str, gone: str) -> None:
    caller = people[role]
    foreign = {name: _said(ask(caller), there) for name, ask in _asks(there).items()}
    unknown = {name: _said(ask(caller), gone) for name, ask in _asks(gone).items()}
    assert foreign == unknown
    assert WORD not in json.dumps(foreign).replace(f"{WORD}-key", "")


def _looks() -> dict[str, Ask]:
    """What a coordinator is answered about its own Group, or where it names none."""
    tools: dict[str, tuple[str, Json]] = {
        "preview": (NEXT, {"preview": True, "limit": 100}),
        "status": (STATUS, {"recent": 100, "detail": "full"}),
        "own preview": (NEXT, {"preview": True, "graph_id": OWN, "limit": 100}),
        "own node": (STATUS, {"graph_id": OWN, "node_id": "free"}),
        "plan": (PLAN, {"title": "more", "outline": "some more"}),
        "update": (UPDATE, {"node_id": "free", "priority": 2}),
        "another's node": (UPDATE, {"node_id": f"{WORD}-key", "priority": 2}),
        "another's, explained": (STATUS, {"node_id": f"{WORD}-key"}),
        "estimate": (ESTIMATE, {"group_id": OWN}),
        "fed estimate": (ESTIMATE, {"group_id": OWN_FED}),
        "deliver": (DELIVER, {"group_id": OWN_FED, "events": offering(OWN_FED).log}),
        "report": (REPORT, {"lease_id": "L-000000000000", "state": "running"}),
    }
    asks: dict[str, Ask] = {name: partial(_call, tool, given) for name, (tool, given) in tools.items()}
    for path in ("/v1/status", "/v1/board?limit=100&recent=100", f"/v1/graphs/{OWN}", "/v1/session", "/"):
        asks[path] = partial(_get, path)
    uris = (
        "metagit://board",
        f"metagit://board/graphs/{OWN}",
        f"metagit://graphs/{OWN}",
        "metagit://groups/group%3Acli",
        "metagit://groups/group%3Acli/outbox",
    )
    for uri in (*uris, "metagit://status", "metagit://decisions", "metagit://policy"):
        asks[uri] = partial(_read, uri)
    for kind in ("graph_id", "agent_id", "node_id"):
        asks[f"complete {kind}"] = partial(_completed, kind)
    return asks


def _completed(argument: str, caller: Caller) -> Outcome:
    name = "work_loop" if argument == "agent_id" else "unblock"
    params = {"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": argument, "value": ""}}
    return outcome(caller.rpc("completion/complete", params))


@pytest.mark.parametrize("role", ["coordinator", "feeder"])
def test_nothing_that_a_coordinator_is_answered_names_another_group(people: People, role: str) -> None:
    caller = people[role]
    said = {name: _said(ask(caller), "\0").replace(f"{WORD}-key", "") for name, ask in _looks().items()}
    assert [name for name, text in said.items() if WORD in text.lower()] == []


def test_an_operator_is_answered_about_the_other_groups(people: People) -> None:
    """The word is there to be found."""
    said = {name: _said(ask(people["operator"]), "\0") for name, ask in _looks().items()}
    found = {name for name, text in said.items() if WORD in text.replace(f"{WORD}-key", "").lower()}
    assert found >= {"preview", "status", "/v1/status", "/v1/board?limit=100&recent=100", "metagit://status"}


def test_only_the_own_group_completes(people: People) -> None:
    assert _completed("graph_id", people["coordinator"]).record["completion"]["values"] == [OWN]
    assert _completed("graph_id", people["feeder"]).record["completion"]["values"] == [OWN_FED]
    assert _completed("agent_id", people["coordinator"]).record["completion"]["values"] == []


def test_a_change_of_another_group_does_not_move_what_a_coordinator_sees(people: People) -> None:
    """It could otherwise watch others at work by asking again and again."""
    caller = people["coordinator"]
    asks = (("/v1/status", caller.get), ("/v1/board", caller.get), (f"/v1/graphs/{OWN}", caller.get))
    before = [look(path).body for path, look in asks]
    changed = people["operator"].tool(UPDATE, node_id=f"{WORD}-wide", graph_id=FILED, priority=-7)
    assert changed.code == "ok"
    assert [look(path).body for path, look in asks] == before
