"""Who a caller is: its token alone says it, for as long as that is good, and it acts for nobody else."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.interfaces.http.calling import LEGACY, Caller, Outcome, legacy, legacy_session, outcome
from tests.interfaces.http.serving import issued, revoke
from tests.interfaces.http.streams import Stream
from tests.interfaces.http.who_may import NEXT, REPORT, START, UPDATE
from tests.scenarios.planted import FILED
from tests.soon import SOON_S, soon

if TYPE_CHECKING:
    from tests.interfaces.http.people import People
    from tests.soon import Try

_PAUSE: Final = ("/v1/resume", {"scope": "group", "name": "nothing"})


def _lease(answer: Outcome) -> str:
    assert answer.code == "ok", answer
    lease: str = (answer.record.get("lease") or answer.record["decisions"][0]["lease"])["lease_id"]
    return lease


def _agent(people: People, subject: str) -> Caller:
    return people.server.caller(issued(people.desk, "agent", subject)[0])


def test_an_agent_speaks_for_itself_and_what_is_below_it(people: People) -> None:
    """A slash begins a sub-agent, so that whoever issues a token for `a/b` issues one for a part of `a`."""
    people.desk.graph("names", *({"node_id": f"n{number}", "title": "x", "status": "ready"} for number in range(9)))
    above, below = _agent(people, "a"), _agent(people, "a/b")
    of_above, of_below = (_lease(each.tool(NEXT, claim=True, graph_id="names")) for each in (above, below))
    assert below.tool(REPORT, lease_id=of_below, state="running").code == "ok"
    assert above.tool(REPORT, lease_id=of_below, state="running").code == "ok"
    assert above.tool(START, node_id="n5", graph_id="names", agent_id="a/b", new_session=True).code == "ok"
    for name in ("a", "a/", "a/bc", "a/c", "A/B", "ab", "/a/b"):
        assert below.tool(NEXT, claim=True, agent_id=name).code in {"AUTH_FORBIDDEN", "INVALID_INPUT"}, name
        assert below.tool(START, node_id="n8", graph_id="names", agent_id=name, new_session=True).code != "ok", name
    foreign, unknown = (below.tool(REPORT, lease_id=each, state="released") for each in (of_above, "L-000000000000"))
    assert foreign.text.replace(of_above, "L-000000000000") == unknown.text
    assert above.tool(REPORT, lease_id=of_above, state="running").code == "ok"


def test_the_action_id_of_another_agent_gives_nothing_away(people: People) -> None:
    people.desk.graph("actions", *({"node_id": f"n{number}", "title": "x", "status": "ready"} for number in range(3)))
    one, other = _agent(people, "act-one"), _agent(people, "act-other")
    asked: dict[str, Any] = {"claim": True, "graph_id": "actions", "action_id": "first"}
    lease_id = _lease(one.tool(NEXT, **asked))
    assert _lease(one.tool(NEXT, **asked)) == lease_id
    refused = other.tool(NEXT, **asked)
    assert (refused.code, lease_id in refused.text) == ("ACTION_ID_COLLISION", False)
    assert other.tool(NEXT, agent_id="act-one", **asked).code == "AUTH_FORBIDDEN"


def test_an_agent_marks_no_node_as_run_by_another(people: People) -> None:
    marked = {"node_id": "canary-lost", "graph_id": FILED, "status": "running"}
    assert _agent(people, "marker").tool(UPDATE, agent_id="somebody", **marked).code == "AUTH_FORBIDDEN"


# --- the cookie ------------------------------------------------------------------------------------------------------


def _with_cookie(people: People, secret: str | None, **headers: str) -> Caller:
    return people["nobody"].with_headers(Cookie=f"metagit_token={secret}", **headers)


def test_a_token_posted_once_becomes_a_cookie_that_scripts_cannot_read(people: People) -> None:
    secret = people.secrets["viewer"]
    begun = people["nobody"].post("/v1/session", {"token": secret})
    assert begun.json["role"] == "viewer"
    assert begun.headers["set-cookie"] == (
        f"metagit_token={secret}; HttpOnly; Max-Age=2592000; Path=/; SameSite=strict"
    )
    assert _with_cookie(people, secret).get("/v1/status").status == 200
    ended = people["nobody"].send("DELETE", "/v1/session")
    assert (ended.status, "Max-Age=0" in ended.headers["set-cookie"]) == (204, True)


@pytest.mark.parametrize("secret", ["", "mgt_", "\u20ac", "x" * 201, "mgt_" + "x" * 43])
def test_no_session_begins_with_anything_else(people: People, secret: str) -> None:
    refused = people["nobody"].post("/v1/session", {"token": secret})
    assert (refused.code in {"AUTH_REQUIRED", "INVALID_INPUT"}, refused.headers.get("set-cookie")) == (True, None)


def test_a_change_by_cookie_needs_the_boards_own_header(people: People) -> None:
    secret = people.secrets["operator"]
    assert _with_cookie(people, secret).post(*_PAUSE).code == "AUTH_FORBIDDEN"
    assert _with_cookie(people, secret, X_Metagit_Board="1").post(*_PAUSE).code == "ok"
    assert people["operator"].post(*_PAUSE).code == "ok"


def test_the_header_goes_before_the_cookie_and_mcp_takes_no_cookie(people: People) -> None:
    operator = people.secrets["operator"]
    cookie = {"Cookie": f"metagit_token={operator}", "X-Metagit-Board": "1"}
    assert Caller(people.server.port, people.secrets["viewer"], cookie).post(*_PAUSE).code == "AUTH_FORBIDDEN"
    assert Caller(people.server.port, "mgt_bad", cookie).get("/v1/status").code == "AUTH_REQUIRED"
    basic = {**cookie, "Authorization": "Basic eDp5"}
    assert Caller(people.server.port, None, basic).get("/v1/status").code == "AUTH_REQUIRED"
    assert _with_cookie(people, operator, X_Metagit_Board="1").rpc("tools/list").code == "AUTH_REQUIRED"


def test_a_cookie_that_ended_is_no_obstacle_to_signing_in_again(people: People) -> None:
    stale = _with_cookie(people, people.secrets["revoked"])
    assert stale.get("/v1/session").json == {"signed_in": False, "acts": []}
    assert stale.get("/v1/status").code == "AUTH_REQUIRED"
    assert stale.post("/v1/session", {"token": people.secrets["viewer"]}).code == "ok"


# --- sessions of the older protocol ----------------------------------------------------------------------------------


def test_a_session_is_its_openers_alone(people: People) -> None:
    opener = people["viewer"]
    session = legacy_session(opener)

    def found(caller: Caller, session_id: str | None = session) -> int:
        return legacy(caller, "tools/list", session=session_id).status

    assert found(opener) == 200
    assert (found(people["operator"]), found(people["nobody"]), found(opener, "0" * 32)) == (404, 401, 404)
    assert found(opener, None) == 400
    ended = people["agent"].send(
        "DELETE", "/mcp", None, {"Mcp-Session-Id": str(session), "MCP-Protocol-Version": LEGACY}
    )
    assert (ended.status, found(opener)) == (404, 200)
    refused = legacy(opener, "tools/call", {"name": NEXT, "arguments": {"claim": True}}, session=session)
    assert outcome(refused).code == "AUTH_FORBIDDEN"


# --- the end of a token ----------------------------------------------------------------------------------------------


def test_a_revoked_token_is_refused_at_once_and_ends_what_it_began(people: People) -> None:
    people.desk.graph("taken", {"node_id": "only", "title": "x", "status": "ready"})
    assert people["operator"].tool(START, node_id="only", graph_id="taken", queue_only=True).code == "ok"
    for attempt in soon(SOON_S + 1):
        _ended_by_revoking(people, attempt)


def _ended_by_revoking(people: People, attempt: Try) -> None:
    desk, server = people.desk, people.server
    viewer, viewer_id = issued(desk, "viewer", f"ending-{attempt.number}")
    agent, agent_id = issued(desk, "agent", f"ending-agent-{attempt.number}")
    looker, worker = server.caller(viewer), server.caller(agent)
    session = legacy_session(looker)
    answers: list[Outcome] = []
    asked = {"claim": True, "graph_id": "taken", "wait_seconds": 40}
    waiting = Thread(target=lambda: answers.append(worker.tool(NEXT, **asked)))
    waiting.start()
    with Stream.changes(looker) as changes, Stream.listening(looker, "metagit://status") as listening:
        changes.until("event: change")
        listening.until("acknowledged")
        revoke(desk, viewer_id)
        revoke(desk, agent_id)
        with attempt:
            assert looker.get("/v1/status").code == "AUTH_REQUIRED"
            assert legacy(looker, "tools/list", session=session).status == 401
            assert changes.rest() is not None
            assert '"resultType":"complete"' in listening.rest()
            waiting.join(20)
    assert [each.code for each in answers] == ["AUTH_REQUIRED"]
