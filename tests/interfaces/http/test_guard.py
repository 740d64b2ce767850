"""Requests that are not meant for this server, or no honest program would send. Most have a token that is good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from metagit_mcp.interfaces.http.guard import MOST_BYTES
from tests.interfaces.http.calling import JSON_TYPE, raw
from tests.interfaces.http.people import OWN
from tests.interfaces.http.who_may import DELIVER, NEXT, PLAN
from tests.scenarios.planted import FILED

if TYPE_CHECKING:
    from tests.interfaces.http.people import People

_ROUTES: Final = (
    *(
        "/",
        "/healthz",
        "/readyz",
        "/metrics",
        "/mcp",
        "/nothing",
        "/v1/session",
        "/v1/status",
        "/v1/board",
        "/v1/changes",
    ),
    *("/v1/graphs/mine", "/v1/approve", "/v1/review", "/v1/retry", "/v1/release", "/v1/pause", "/v1/resume"),
    *("/v1/next", "/v1/claim", "/v1/start", "/v1/report", "/v1/openapi.json"),
)
# At these something begins: a stream, or what is written down.
_STREAMS: Final = frozenset({"/mcp", "/v1/changes", "/v1/next"})
_TAKES: Final = frozenset({"/v1/claim", "/v1/start", "/v1/report"})
_JUDGES: Final = frozenset(path for path in _ROUTES if path[4:] in {"approve", "review", "retry", "release", "pause"})
_CHANGES: Final = _TAKES | _JUDGES


def _asked(people: People, head: str, body: bytes = b"", role: str = "operator") -> tuple[int, str]:
    """The status and the text of an answer; PORT in a head stands for that of the server, SIGNED for a token."""
    signed = f"Authorization: Bearer {people.secrets[role]}"
    text = head.replace("PORT", str(people.server.port)).replace("SIGNED", signed)
    got = raw(people.server.port, f"{text}\r\nConnection: close\r\n\r\n".encode("latin-1") + body).decode()
    return int(got.split(" ", 2)[1]), got


# --- names -----------------------------------------------------------------------------------------------------------

_FOREIGN: Final = (
    *("evil.example", "evil.example:PORT", "127.0.0.1", "127.0.0.1:1", "localhost.:PORT", "0.0.0.0:PORT", "[::]:PORT"),
    *("127.0.0.1:PORT.evil.example", "127.0.0.1.nip.io:PORT", "x@127.0.0.1:PORT", "127.0.0.1:PORT, evil.example", ""),
)


@pytest.mark.parametrize("host", _FOREIGN)
def test_a_request_for_another_name_is_refused_whoever_asks(people: People, host: str) -> None:
    """A page of another site can point its own name at this machine, and call with what its visitor's browser has."""
    found = {path: _asked(people, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nSIGNED")[0] for path in _ROUTES}
    assert found == dict.fromkeys(_ROUTES, 421)


@pytest.mark.parametrize("host", ["127.0.0.1:PORT", "localhost:PORT", "LocalHost:PORT", "[::1]:PORT"])
def test_each_name_of_the_loopback_interface_is_its_own(people: People, host: str) -> None:
    assert _asked(people, f"GET /v1/status HTTP/1.1\r\nHost: {host}\r\nSIGNED")[0] == 200


def test_a_request_names_one_host(people: People) -> None:
    own = "Host: 127.0.0.1:PORT"
    assert _asked(people, "GET /healthz HTTP/1.1\r\nAccept: */*")[0] == 400
    assert _asked(people, f"GET /healthz HTTP/1.1\r\n{own}\r\nHost: evil.example")[0] == 400
    assert _asked(people, "GET /healthz HTTP/1.0\r\nAccept: */*")[0] == 421
    assert _asked(people, f"GET /healthz HTTP/1.0\r\n{own}")[0] == 200
    assert _asked(people, f"GET http://evil.example/v1/status HTTP/1.1\r\n{own}\r\nSIGNED")[0] == 404


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "http://127.0.0.1:1",
        "http://127.0.0.1:PORT.evil.example",
        "file://",
        "http://127.0.0.1:PORT\r\nOrigin: http://evil.example",
    ],
)
def test_a_page_of_another_site_is_refused_at_every_route(people: People, origin: str) -> None:
    head = f"HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: {origin}\r\nSIGNED"
    found = {(how, path): _asked(people, f"{how} {path} {head}")[0] for path in _ROUTES for how in ("GET", "POST")}
    assert set(found.values()) == {403}


@pytest.mark.parametrize("origin", ["http://127.0.0.1:PORT", "HTTP://LOCALHOST:PORT", "http://[::1]:PORT"])
def test_its_own_page_may_call(people: People, origin: str) -> None:
    assert _asked(people, f"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: {origin}\r\nSIGNED")[0] == 200


# --- methods and paths -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "PATCH", "TRACE", "CONNECT", "PROPFIND"])
def test_no_route_has_another_method(people: People, method: str) -> None:
    head = "HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nSIGNED"
    found = {path: _asked(people, f"{method} {path} {head}")[0] for path in _ROUTES}
    assert found == {path: 404 if path == "/nothing" else 405 for path in _ROUTES}


def test_whoever_asks_for_what_is_not_there_is_told_what_is(people: People) -> None:
    answer = people["viewer"].get("/nothing")
    assert (answer.status, answer.json["message"], answer.json["hint"]) == (
        404,
        "Not Found.",
        "The board is at /, MCP at /mcp; GET /v1/openapi.json describes the routes below /v1/.",
    )


def test_whoever_asks_for_headers_alone_begins_nothing(people: People) -> None:
    found = {path: _asked(people, f"HEAD {path} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nSIGNED")[0] for path in _ROUTES}
    refused = {path for path in _ROUTES if found[path] == 405}
    assert refused == {*_STREAMS, *_CHANGES, "/v1/resume"}
    assert {path for path in _ROUTES if found[path] == 404} == {"/nothing"}


_PATHS: Final = (
    *("/v1/graphs/..%2f..%2fschedule%2fpolicy", "/v1/graphs/../../schedule/policy", "/v1/graphs/%2e%2e%2f%2e%2e"),
    *("/v1/graphs/%252e%252e%252f", "/v1/graphs/mine%00", "/v1/graphs/%ff", "/v1/graphs/" + "x" * 9_000),
    *("/v1/graphs/", "/v1/graphs//mine", "/v1/graphs/%0d%0aX-Evil:%201", "/v1/graphs/mine/..%5c..%5cx"),
    *("/v1/status/", "/v1//status", "//v1/status", "/V1/status", "/mcp/", "/mcp/../v1/status", "/v1/status%00"),
    *("/v1/status?graph_id=../../x", "/v1/status?graph_id=mine%00", "/v1/board?graph_id=..%2f..", "/v1/status?x=1"),
    *("/v1/status?recent=-1", "/v1/status?recent=9e9", "/v1/board?limit=0", "/v1/board?limit=101", "/v1/status?y=1"),
    *("/v1/changes?graph_id=..%2fx", "/v1/status?" + "graph_id=mine&" * 2_000 + "graph_id=..", "/.git/config"),
)


@pytest.mark.parametrize("path", _PATHS, ids=[path[:40] for path in _PATHS])
def test_no_path_leads_out_of_the_workspace(people: People, path: str) -> None:
    status, text = _asked(people, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nSIGNED")
    assert status in {400, 404}
    assert "\r\nX-Evil" not in text
    assert text.rpartition("\r\n\r\n")[2].startswith('{"code":"')
    # The same without a token says nothing of what is there.
    assert _asked(people, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:PORT")[0] == 401


_URIS: Final = (
    *("metagit://graphs/../../etc/passwd", "metagit://graphs/..%2f..%2fpolicy", "metagit://graphs/%252e%252e"),
    *(
        "metagit://graphs/mine%00",
        "metagit://groups/mine/../x/outbox",
        "file:///etc/passwd",
        "metagit://schemas/..%2fx",
    ),
    *("metagit://schemas/../../x", "metagit://graphs/" + "x" * 9_000, "metagit://policy?x", "metagit://x@policy", ""),
    *("metagit://graphs/%E2%80%AEmine", "http://127.0.0.1/", "metagit://graphs/", "metagit://groups//outbox"),
)


@pytest.mark.parametrize("uri", _URIS, ids=[uri[:40] for uri in _URIS])
def test_no_uri_leads_out_of_the_workspace(people: People, uri: str) -> None:
    assert people["operator"].read(uri).code == "-32602"


def test_no_argument_names_a_file_elsewhere(people: People) -> None:
    operator = people["operator"]
    before = sorted(path for path in people.desk.root.parent.rglob("*") if people.desk.root not in path.parents)
    for name in ("../evil", "..", "a/../../b", "/etc/passwd", "x\0"):
        assert operator.tool(PLAN, title="x", graph_id=name, outline="a").code == "INVALID_INPUT"
        assert operator.tool(NEXT, graph_id=name).code in {"INVALID_INPUT", "GRAPH_NOT_FOUND"}
    assert operator.tool(PLAN, title="../../evil", outline="a").record["graph"]["graph_id"] == "evil"
    after = sorted(path for path in people.desk.root.parent.rglob("*") if people.desk.root not in path.parents)
    assert after == before


# --- bodies ----------------------------------------------------------------------------------------------------------

_POSTED: Final = ("/mcp", "/v1/approve", "/v1/session", "/v1/claim", "/v1/report")
_HEAD: Final = (
    "POST {} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nSIGNED\r\nContent-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\n"
)
_BODIES: Final = {
    "a list": b"[]",
    "a batch": b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    "half an object": b'{"a":',
    "a deep list": b"[" * 30_000 + b"]" * 30_000,
    "null": b"null",
    "too great a number": b"1e999",
    "no JSON number": b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
    "a long number": b'{"node_id":' + b"9" * 5_000 + b"}",
    "no UTF-8": b'{"a":"\xff"}',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "half a character": b'{"token":"\\ud800","node_id":"\\ud800"}',
    "nothing": b"",
}


@pytest.mark.parametrize("path", _POSTED)
@pytest.mark.parametrize("body", _BODIES.values(), ids=_BODIES.keys())
def test_what_is_no_request_is_refused(people: People, path: str, body: bytes) -> None:
    assert _asked(people, f"{_HEAD.format(path)}Content-Length: {len(body)}", body)[0] == 400


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_what_a_form_can_send_is_refused(people: People, kind: str) -> None:
    head = _HEAD.replace("application/json\r\nAccept", f"{kind}\r\nAccept")
    found = {path: _asked(people, f"{head.format(path)}Content-Length: 2", b"{}")[0] for path in _POSTED}
    assert set(found.values()) <= {400, 415}


def test_lengths_that_cannot_be_are_refused(people: People) -> None:
    for path in _POSTED:
        head = _HEAD.format(path)
        assert _asked(people, f"{head}Content-Length: -1", b"{}")[0] == 400
        assert _asked(people, f"{head}Content-Length: 2\r\nContent-Length: 3", b"{} ")[0] == 400
        assert _asked(people, f"{head}Content-Length: 99999999999", b"{}")[0] == 413
        # What comes after a body that is shorter than what was sent is no request of its own.
        _, text = _asked(people, f"{head}Content-Length: 2", b"{}GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        assert text.count("HTTP/1.1 ") == 1


def test_a_body_that_grows_too_large_is_broken_off(people: People) -> None:
    size = 65_536
    pieces = b"%x\r\n%b\r\n" % (size, b" " * size) * (MOST_BYTES // size + 1) + b"0\r\n\r\n"
    assert _asked(people, f"{_HEAD.format('/mcp')}Transfer-Encoding: chunked", pieces)[0] == 413


def test_a_delivery_of_the_largest_size_gets_through(people: People) -> None:
    event = {"eventId": "x", "text": "x" * 8_000}
    answer = people["operator"].tool(DELIVER, group_id="group:large", events=[event] * 1_000)
    assert answer.code == "SCHEMA_VALIDATION_FAILED"


def test_a_head_has_an_end(people: People) -> None:
    assert _asked(people, f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX: {'a' * 300_000}")[0] == 400


def test_requests_in_a_row_are_answered_in_a_row(people: People) -> None:
    one = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{people.server.port}\r\n"
    got = raw(people.server.port, f"{one}\r\n".encode() * 20 + f"{one}Connection: close\r\n\r\n".encode())
    assert (got.count(b"HTTP/1.1 200 OK"), got.count(b"\r\n\r\nok\n")) == (21, 21)


# --- what is answered and said ---------------------------------------------------------------------------------------


def test_titles_stay_text(people: People) -> None:
    title = "</script><script>alert(1)</script>\u202eevil\x1b[31m\x07"
    people.desk.graph("titles", {"node_id": "odd", "title": title, "status": "ready"}, title=title)
    operator = people["operator"]
    for answer in (operator.get("/v1/board"), operator.get("/v1/status"), operator.get("/v1/graphs/titles")):
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.json
        text = answer.body.decode() + repr(answer.json)
        assert [mark for mark in ("\u202e", "\x1b", "\x07", "\\x1b", "\\u202e") if mark in text] == []


def test_the_page_holds_nothing_and_runs_nothing_of_others(people: People) -> None:
    page = people["nobody"].get("/")
    assert page.body == people["operator"].get("/").body
    assert FILED not in page.body.decode()
    policy = page.headers["content-security-policy"]
    assert ("default-src 'none'" in policy, "unsafe" in policy, "*" in policy) == (True, False, False)


def test_answers_are_kept_by_nobody(people: People) -> None:
    for path in ("/v1/status", "/v1/board", "/v1/session", f"/v1/graphs/{OWN}", "/v1/status?x=1"):
        assert people["operator"].get(path).headers["cache-control"] == "no-store"


def test_what_the_server_says_holds_no_secret_and_no_word_of_anybody(people: People) -> None:
    """After all that the other tests of this process sent to it."""
    assert people["operator"].send("POST", "/v1/approve", b"{", JSON_TYPE).status == 400
    said = people.server.said
    secrets = [name for name, secret in people.secrets.items() if secret and secret in said]
    assert secrets == []
    assert [word for word in (FILED, "canary", "metagit_token=", "Bearer mgt_") if word in said] == []
    assert said.count("\n") < 40, said


def test_no_file_of_the_workspace_holds_a_secret(people: People) -> None:
    files = [path for path in people.desk.root.rglob("*") if path.is_file()]
    kept = b"".join(path.read_bytes() for path in files)
    # The tokens are there, without what they are called with.
    assert people.token_ids["viewer"].encode() in kept
    assert [name for name, secret in people.secrets.items() if secret and secret.encode() in kept] == []
