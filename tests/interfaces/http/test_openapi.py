"""The document says which routes there are, who may use them and what they answer: compared with the server itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from jsonschema import Draft202012Validator

from metagit_mcp.interfaces.http.routes import CHANGES, LOOKS, json_routes
from metagit_mcp.wire.http.openapi_examples import CLAIM, REPORT, examples_of_answers
from metagit_mcp.wire.http.openapi_operations import OPERATIONS
from tests.interfaces.http.people import OWN, ROLES
from tests.interfaces.http.serving import Server, issued
from tests.interfaces.http.who_may import PUBLIC, ROUTES, mark
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from tests.interfaces.http.calling import Answer
    from tests.interfaces.http.people import People

Json = dict[str, Any]
_PATH: Final = "/v1/openapi.json"
_FILE: Final = Path(__file__).parents[3] / "schemas" / "openapi.json"


def _document(people: People) -> Json:
    answer = people["nobody"].get(_PATH)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    document: Json = answer.json
    return document


def _misfits(document: Json, method: str, path: str, answer: Answer) -> list[str]:
    """Where an answer is not what the document says of it."""
    responses = document["paths"][path][method]["responses"]
    told = responses.get(str(answer.status), responses.get("default"))
    assert told is not None, (method, path, answer.status)
    if "content" not in told:
        return [answer.body.decode()] if answer.body else []
    ((kind, content),) = told["content"].items()
    assert answer.headers["content-type"].partition(";")[0] == kind
    if kind != "application/json":
        return []
    schema = {**content["schema"], "components": document["components"]}
    return [error.message for error in Draft202012Validator(schema).iter_errors(answer.json)]


def test_everybody_gets_the_document_that_is_published(people: People) -> None:
    document = _document(people)
    assert document == json.loads(_FILE.read_text(encoding="utf-8"))
    assert people["garbage"].get(_PATH).json == people["operator"].get(_PATH).json == document


def _without_ids(answer: Json) -> Json:
    """An answer with a dash in the place of each id that is drawn, or made of what is."""
    text = re.sub(r'(?<="state_version": ")\w+|(?<="decision_id": ")\w+', "-", json.dumps(answer))
    found: Json = json.loads(re.sub(r"L-[A-Z2-7]{12}|(?<=urn:metagit:)\w+", "-", text))
    return found


def test_the_examples_of_answers_are_what_a_server_answers(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(root)
    build = node("build", title="Build it", priority=3, estimated_tokens=1000, depends_on=["design"])
    others = (node("design", status="completed"), node("try", depends_on=["build"]), node("sell", risk="destructive"))
    desk.graph("shop", build, *others)
    with Server(desk.root, clock=desk.clock) as server:
        agent = server.caller(issued(desk, "agent", "builder")[0])
        advised = agent.get("/v1/next").json
        claimed = agent.post("/v1/claim", CLAIM).json
        idle = agent.post("/v1/claim", {"agent_id": "builder/2"}).json
        lease_id = claimed["decisions"][0]["lease"]["lease_id"]
        reported = agent.post("/v1/report", {**REPORT, "lease_id": lease_id}).json
    shown = examples_of_answers()
    assert [_without_ids(each) for each in (advised, claimed, idle, reported)] == [
        _without_ids(shown[name][what])
        for name, what in (("next", "work"), ("claim", "work"), ("claim", "nothing to start"), ("report", "completed"))
    ]


def test_it_has_the_routes_that_are_served_and_no_other() -> None:
    async def nothing() -> Any:  # noqa: ANN401 - never called
        raise AssertionError

    served = {
        (route.path.replace(":path", ""), method.lower())
        for route in json_routes(nothing)
        for method in route.methods or ()
    }
    told = {(each.path, each.method) for each in OPERATIONS}
    own = {("/v1/openapi.json", "get"), ("/healthz", "get"), ("/readyz", "get")}
    session = {("/v1/session", method) for method in ("get", "post", "delete")}
    assert told == {(path, method) for path, method in served if method != "head"} | own | session


def test_it_says_who_may_as_the_table_does() -> None:
    acts = {path: act for path, _, act in CHANGES}
    assert {each.path: each.act for each in OPERATIONS if each.path in acts and each.method == "post"} == acts
    rows = {name: marks for name, _, marks in ROUTES}
    for each in OPERATIONS:
        name = f"{each.method.upper()} {each.path}"
        if each.act is None or name not in rows:
            continue
        may = {role for role, sign in zip(ROLES, rows[name], strict=True) if sign != "-"} - {"feeder"}
        assert (name, may) == (name, set(_document_roles(each.path, each.method)))
    assert {f"GET {each.path}" for each in OPERATIONS if each.act is None and each.method == "get"} == PUBLIC - {
        "GET /"
    }
    assert len(LOOKS) == 4


def _document_roles(path: str, method: str) -> list[str]:
    document: Json = json.loads(_FILE.read_text(encoding="utf-8"))
    roles: list[str] = document["paths"][path][method]["x-metagit-roles"]
    return roles


@pytest.mark.parametrize("role", ["viewer", "agent", "coordinator", "operator", "nobody"])
def test_what_is_answered_is_what_it_says(people: People, role: str) -> None:
    document, caller = _document(people), people[role]
    found: dict[str, list[str]] = {}
    looks = {
        "/v1/next": "?limit=5&detail=full",
        "/v1/status": f"?graph_id={OWN}&node_id=free",
        "/v1/board": "",
        "/v1/session": "",
        "/v1/openapi.json": "",
        "/healthz": "",
        "/readyz": "",
    }
    for path, query in looks.items():
        found[path] = _misfits(document, "get", path, caller.get(path + query))
    found["graph"] = _misfits(document, "get", "/v1/graphs/{graph_id}", caller.get(f"/v1/graphs/{OWN}"))
    posts: dict[str, Json] = {
        "/v1/claim": {"graph_id": OWN, "detail": "full"},
        "/v1/start": {"graph_id": OWN, "node_id": "nowhere"},
        "/v1/report": {"lease_id": "L-0000000000AA", "state": "running"},
        "/v1/approve": {"graph_id": OWN, "node_id": "free", "digest": 64 * "0"},
        "/v1/review": {"graph_id": OWN, "node_id": "free", "accept": True},
        "/v1/retry": {"graph_id": OWN, "node_id": "free"},
        "/v1/release": {"graph_id": OWN, "node_id": "free"},
        "/v1/pause": {"scope": "agent", "name": "nobody"},
        "/v1/resume": {"scope": "agent", "name": "nobody"},
        "/v1/session": {"token": "none"},
    }
    for path, body in posts.items():
        found[f"POST {path}"] = _misfits(document, "post", path, caller.post(path, body))
    found["no JSON"] = _misfits(document, "post", "/v1/claim", caller.send("POST", "/v1/claim", b"{"))
    assert {place: misfits for place, misfits in found.items() if misfits} == {}


def test_an_end_of_a_session_has_no_body(people: People) -> None:
    answer = people["nobody"].send("DELETE", "/v1/session")
    assert (answer.status, answer.body, mark(answer.code)) == (204, b"", "+")
