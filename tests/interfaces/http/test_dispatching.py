"""An orchestrator without MCP: advice, claims that are repeated, waits that end, reports; as requests to a server."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.interfaces.http.serving import Server, issued, revoke
from tests.interfaces.http.streams import Stream
from tests.interfaces.http.who_may import NEXT
from tests.interfaces.mcp.live import until
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interfaces.http.calling import Answer, Caller

Json = dict[str, Any]
_CLAIM: Final = "/v1/claim"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A workspace with three nodes, one of them after another."""
    root = tmp_path / "workspace"
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(root)
    desk.graph("shop", *(node(name, graph_id="shop") for name in ("one", "two")), node("three", depends_on=["one"]))
    return desk


def _agent(desk: Desk, server: Server, name: str = "builder") -> Caller:
    return server.caller(issued(desk, "agent", name)[0])


def _taken(answer: Answer) -> list[str]:
    assert answer.status == 200, answer
    return [each["node_id"] for each in answer.json["decisions"]]


def _lease(answer: Answer) -> Json:
    (decision,) = answer.json["decisions"]
    lease: Json = decision["lease"]
    return lease


# --- from advice to report -------------------------------------------------------------------------------------------


def test_from_advice_to_report(desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        agent = _agent(desk, server)
        assert _taken(agent.get("/v1/next?limit=9&detail=brief")) == ["one", "two"]
        claimed = agent.post(_CLAIM, {})
        lease = _lease(claimed)
        assert (lease["node_id"], lease["agent_id"]) == ("one", "builder")
        assert [each["lease_id"] for each in agent.post(_CLAIM, {}).json["held"]] == [lease["lease_id"]]
        done = {"lease_id": lease["lease_id"], "state": "completed", "result": {"summary": "Built"}}
        reported = agent.post("/v1/report", done)
        assert (reported.status, reported.json["node_status"], reported.json["released_slot"]) == (
            200,
            "completed",
            True,
        )
        started = agent.post("/v1/start", {"node_id": "three"})
        assert [each["summary"] for each in started.json["dispatch_hints"]["inputs"]] == ["Built"]


def test_advice_is_logged_once_and_a_preview_never(desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        agent, viewer = _agent(desk, server), server.caller(issued(desk, "viewer")[0])
        first = agent.get("/v1/next").json
        assert agent.get("/v1/next").json == first
        assert viewer.get("/v1/next?preview=true").json["decisions"][0]["node_id"] == "one"
        assert len(desk.lines("schedule/decisions.jsonl")) == 1


def test_nothing_to_start_is_an_answer_that_counts_the_reasons(desk: Desk) -> None:
    desk.graph("shop", node("one", risk="destructive"), node("two", depends_on=["one"]))
    with Server(desk.root, clock=desk.clock) as server:
        agent = _agent(desk, server)
        for answer in (agent.get("/v1/next"), agent.post(_CLAIM, {"action_id": "one"})):
            assert (answer.status, answer.json["decisions"], answer.json["not_eligible"]) == (
                200,
                [],
                [{"reason": "awaiting_approval", "nodes": 1}, {"reason": "not_ready", "nodes": 1}],
            )
        # There was nothing to repeat.
        desk.approve("one")
        assert _taken(agent.post(_CLAIM, {"action_id": "one"})) == ["one"]


def test_an_answer_is_whole_however_large(desk: Desk) -> None:
    many = [
        node(f"n{number:03d}", graph_id="shop", title="x" * 190, acceptance=["y" * 190] * 4) for number in range(99)
    ]
    desk.graph("shop", *many)
    with Server(desk.root, clock=desk.clock) as server:
        answer = _agent(desk, server).get("/v1/next?limit=99&detail=full")
        by_tool = _agent(desk, server, "other").tool(NEXT, limit=99, detail="full").record
    assert (len(answer.body) > 100_000, len(answer.json["decisions"]), answer.json["truncated"]) == (True, 99, False)
    assert by_tool["truncated"]


@pytest.mark.parametrize("path", ["/v1/next", "/v1/status", "/v1/board", "/v1/changes"])
@pytest.mark.parametrize(
    "query", ["limit=1&limit=2", "graph_id=&graph_id=shop", "capabilities=a&capabilities=b", "z&z"]
)
def test_a_name_that_stands_twice_in_a_query_is_refused(path: str, query: str, desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        refused = _agent(desk, server).get(f"{path}?{query}")
    name = query.partition("&")[0].partition("=")[0]
    assert (refused.status, refused.json) == (
        400,
        {
            "code": "INVALID_INPUT",
            "message": f"{name} stands twice in the query",
            "hint": "Send each name once; lists are separated by commas.",
            "details": {"field": name},
            "retryable": False,
        },
    )


@pytest.mark.parametrize(
    ("path", "most"),
    [*((path, 1024 * 1024) for path in (_CLAIM, "/v1/start", "/v1/report")), ("/v1/session", 64 * 1024)],
)
def test_a_body_may_have_so_many_bytes(path: str, most: int, desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        agent = _agent(desk, server)
        fits, large = (agent.post(path, {"z": "x" * (size - len('{"z": ""}'))}) for size in (most, most + 1))
    assert (fits.status, large.status) == (400, 413)
    assert large.json == {
        "code": "INVALID_INPUT",
        "message": f"The body has at most {most} bytes.",
        "hint": "Send less.",
        "details": {"field": "body"},
        "retryable": False,
    }


def test_a_report_may_hold_all_that_a_result_may(desk: Desk) -> None:
    result = {"summary": "s" * 4_000, "artifacts": ["é" * 1_000] * 50, "evidence": ["\u2028" * 1_000] * 50}
    with Server(desk.root, clock=desk.clock) as server:
        agent = _agent(desk, server)
        lease_id = _lease(agent.post(_CLAIM, {}))["lease_id"]
        assert agent.post("/v1/report", {"lease_id": lease_id, "state": "completed", "result": result}).code == "ok"


def test_a_server_that_is_asked_over_http_alone_does_its_duties(desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        agent, operator = _agent(desk, server), server.caller(issued(desk, "operator", "ada")[0])
        _lease(agent.post(_CLAIM, {"lease_seconds": 60}))
        until(lambda: desk.statuses("shop")["one"] == "running")
        desk.wait(61)
        # The lease ended, and nobody had to ask.
        until(lambda: "lease_expired" in desk.events())
        assert operator.post("/v1/release", {"graph_id": "shop", "node_id": "one"}).status == 409


# --- what is refused -------------------------------------------------------------------------------------------------

_REFUSED: Final[tuple[tuple[str, str, Json | None, int, str], ...]] = (
    ("GET", "/v1/next?claim=true", None, 400, "claim"),
    ("GET", "/v1/next?wait_seconds=5", None, 400, "wait_seconds"),
    ("GET", "/v1/next?limits=5", None, 400, "limits"),
    ("GET", "/v1/next?agent=a&agent_id=b", None, 400, "agent"),
    ("POST", _CLAIM, {"claim": False}, 400, "claim"),
    ("POST", _CLAIM, {"preview": True}, 400, "preview"),
    ("POST", _CLAIM, {"limit": 0}, 400, "limit"),
    ("POST", _CLAIM, {"agent_id": "other"}, 403, "agent_id"),
    ("POST", _CLAIM, {"agent_id": "builderr/x"}, 403, "agent_id"),
    ("POST", "/v1/start", {}, 400, "node_id"),
    ("POST", "/v1/report", {"lease_id": "L-1", "state": "done"}, 400, "state"),
)


def test_what_is_refused_names_the_field(desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        agent = _agent(desk, server)
        for method, path, body, status, field in _REFUSED:
            answer = agent.get(path) if method == "GET" else agent.post(path, body)
            assert (path, answer.status, answer.json["details"]["field"]) == (path, status, field)
            assert answer.json["hint"] != ""
        assert "command_answered" not in desk.events()
        assert _taken(agent.post(_CLAIM, {"agent_id": "builder/tests"})) == ["one"]
        lease_id = _lease(agent.post(_CLAIM, {}))["lease_id"]
        other = _agent(desk, server, "other").post("/v1/report", {"lease_id": lease_id, "state": "running"})
        assert (other.status, other.code) == (404, "LEASE_NOT_FOUND")


def test_a_report_under_a_lease_that_ended_is_a_conflict(desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        agent = _agent(desk, server)
        lease_id = _lease(agent.post(_CLAIM, {"lease_seconds": 60}))["lease_id"]
        desk.wait(61)
        late = agent.post("/v1/report", {"lease_id": lease_id, "state": "completed"})
        assert (late.status, late.code, late.json["details"]["closure"]) == (409, "WORK_LEASE_EXPIRED", "expired")


# --- repetition ------------------------------------------------------------------------------------------------------


def test_the_same_body_again_gets_the_first_reply_and_another_is_a_conflict(desk: Desk) -> None:
    body = {"limit": 1, "action_id": "run-17/claim"}
    with Server(desk.root, clock=desk.clock) as server:
        agent = _agent(desk, server)
        first = agent.post(_CLAIM, body)
        assert agent.post(_CLAIM, body).body == first.body
        # To name oneself, and that it is a claim, says nothing new.
        assert agent.post(_CLAIM, {**body, "agent_id": "builder", "claim": True}).body == first.body
        others = (
            agent.post(_CLAIM, {**body, "limit": 2}),
            agent.post(_CLAIM, {**body, "agent_id": "builder/tests"}),
            agent.post("/v1/start", {"node_id": "two", "action_id": body["action_id"]}),
            _agent(desk, server, "other").post(_CLAIM, body),
        )
        assert [(each.status, each.code) for each in others] == [(409, "ACTION_ID_COLLISION")] * 4
        report = {"lease_id": _lease(first)["lease_id"], "state": "completed", "action_id": "run-17/report"}
        reported = agent.post("/v1/report", report)
        assert agent.post("/v1/report", report).body == reported.body
        assert desk.events().count("work_completed") == 1


def test_a_repetition_after_the_lease_ended_says_that_it_did(desk: Desk) -> None:
    body = {"lease_seconds": 60, "action_id": "one"}
    with Server(desk.root, clock=desk.clock) as server:
        agent = _agent(desk, server)
        first = agent.post(_CLAIM, body).json
        desk.wait(90)
        again = agent.post(_CLAIM, body).json
        (warning,) = again["warnings"]
        lease_id = first["decisions"][0]["lease"]["lease_id"]
        assert ({**again, "warnings": []}, f"lease {lease_id} has ended since (expired)" in warning) == (first, True)
        assert _taken(agent.post(_CLAIM, {**body, "action_id": "two"})) == ["one"]


@pytest.mark.parametrize("route", ["claim", "report"])
def test_what_was_done_before_a_server_died_is_answered_by_the_next(desk: Desk, route: str) -> None:
    """The commit is the last that the first server does: its reply is lost."""
    secret, _ = issued(desk, "agent", "builder")
    body: Json = {"action_id": "once"}
    if route == "report":
        desk.graph("shop", node("one", graph_id="shop"))
        lease_id = desk.lease("builder")
        body |= {"lease_id": lease_id, "state": "completed"}
    with Server(desk.root, clock=desk.clock, METAGIT_MCP_FAULT="ledger.committed") as server:
        with pytest.raises((ConnectionError, OSError)):
            server.caller(secret).post(f"/v1/{route}", body)
        assert server.process.wait(20) == -signal.SIGKILL
    before = desk.events()
    with Server(desk.root, clock=desk.clock) as server:
        agent = server.caller(secret)
        answer = agent.post(f"/v1/{route}", body)
        assert agent.post(f"/v1/{route}", body).body == answer.body
        assert (answer.status, desk.events()) == (200, before)
        assert agent.post(f"/v1/{route}", {**body, "agent_id": "builder/x"}).code == "ACTION_ID_COLLISION"
    assert before.count("command_answered") == 1


def test_two_orchestrators_at_once_get_different_nodes(desk: Desk) -> None:
    desk.graph("shop", *(node(f"n{number}", graph_id="shop") for number in range(12)))
    together = Barrier(4)

    def claims(name: str, caller: Caller) -> list[str]:
        taken = []
        for number in range(3):
            together.wait(20)
            body = {"agent_id": f"{name}/{number}", "action_id": f"{name}-{number}"}
            taken += _taken(caller.post(_CLAIM, body))
            # Each asks twice, as whoever lost a reply does.
            assert _taken(caller.post(_CLAIM, body)) == taken[-1:]
        return taken

    with (
        Server(desk.root, clock=desk.clock) as one,
        Server(desk.root, clock=desk.clock) as other,
        ThreadPoolExecutor() as pool,
    ):
        callers = {
            name: _agent(desk, server, name) for name, server in zip("abcd", (one, other, one, other), strict=True)
        }
        given = list(pool.map(claims, callers, callers.values()))
    assert sorted(each for some in given for each in some) == sorted(f"n{number}" for number in range(12))


# --- waiting ---------------------------------------------------------------------------------------------------------


def _all_owned(desk: Desk) -> None:
    for name in ("one", "two"):
        desk.start(name, "holder", queue_only=True)


def _begun_to_wait(caller: Caller) -> Stream:
    body = json.dumps({"wait_seconds": 40}).encode()
    waiting = Stream(
        caller.with_headers(Content_Type="application/json", Expect="100-continue"), f"POST {_CLAIM}", body
    )
    # It is being read: the wait begins.
    waiting.until("100 Continue")
    return waiting


def test_a_wait_ends_with_work(desk: Desk) -> None:
    _all_owned(desk)
    with Server(desk.root, clock=desk.clock) as server, ThreadPoolExecutor() as pool:
        agent = _agent(desk, server)
        waiting = pool.submit(agent.post, _CLAIM, {"wait_seconds": 40})
        assert agent.get("/v1/next").json["decisions"] == []
        desk.release("two")
        assert _taken(waiting.result(20)) == ["two"]


def test_a_wait_lasts_no_longer_than_the_server_lets_it(desk: Desk) -> None:
    _all_owned(desk)
    with Server(desk.root, "--max-wait", "1", clock=desk.clock) as server:
        answer = _agent(desk, server).post(_CLAIM, {"wait_seconds": 300})
        assert (answer.status, answer.json["decisions"]) == (200, [])


def test_whoever_hangs_up_while_it_waits_takes_nothing(desk: Desk) -> None:
    _all_owned(desk)
    with Server(desk.root, clock=desk.clock) as server:
        agent, other = _agent(desk, server), _agent(desk, server, "other")
        with _begun_to_wait(agent):
            assert other.get("/v1/status").status == 200
        # The end of a connection is heard before what comes over another one.
        assert other.get("/v1/status").status == 200
        desk.graph("empty")
        desk.release("two")
        # As long as it takes a caller that waits to look five times.
        assert _taken(other.post(_CLAIM, {"graph_id": "empty", "wait_seconds": 1})) == []
        assert desk.status()["running"] == []
        assert _taken(other.post(_CLAIM, {})) == ["two"]
        assert server.end() == 0
        assert len(server.said.splitlines()) == 2, server.said


def test_a_wait_ends_with_the_server_and_with_its_token(desk: Desk) -> None:
    _all_owned(desk)
    secret, token_id = issued(desk, "agent", "builder")
    with Server(desk.root, clock=desk.clock) as server, ThreadPoolExecutor() as pool:
        operator = server.caller(issued(desk, "operator", "ada")[0])
        waiting = pool.submit(server.caller(secret).post, _CLAIM, {"wait_seconds": 40})
        assert operator.get("/v1/status").status == 200
        revoke(desk, token_id)
        ended = waiting.result(20)
        assert (ended.status, ended.code) == (401, "AUTH_REQUIRED")
        with _begun_to_wait(operator) as begun:
            assert server.end() == 0
            status, _, said = begun.cut().partition("\r\n\r\n")[2].partition("\r\n")
        record = json.loads(said.partition("\r\n\r\n")[2])
        assert (status, record["code"], record["retryable"]) == (
            "HTTP/1.1 503 Service Unavailable",
            "STORE_UNAVAILABLE",
            True,
        )
