"""How a server begins and ends, and what becomes of callers when it does."""

from __future__ import annotations

import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any, Final

import pytest

from metagit_mcp.interfaces.http.address import read_address
from metagit_mcp.interfaces.http.serve import Start, run
from metagit_mcp.settings import Settings
from tests import ready
from tests.interfaces.cli.fake_runs import environment
from tests.interfaces.http.calling import WAIT_S, data_lines, legacy, legacy_session
from tests.interfaces.http.serving import Server, issued
from tests.interfaces.http.streams import Stream
from tests.interfaces.http.who_may import NEXT, REPORT, START, STATUS
from tests.soon import soon
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from metagit_mcp.bootstrap import Application
    from metagit_mcp.interfaces.http.address import Address
    from tests.interfaces.http.calling import Caller

_WAITING: Final[dict[str, Any]] = {"claim": True, "graph_id": "shop", "wait_seconds": 40}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A workspace with two nodes."""
    root = tmp_path / "workspace"
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(root)
    desk.graph("shop", *({"node_id": name, "title": name, "status": "ready"} for name in ("one", "two")))
    return desk


def _refused(desk: Desk, place: str, *flags: str, **env: str) -> tuple[int, str]:
    """The exit code of a server that does not come up, and what it says."""
    server = Server(desk.root, *flags, place=place, clock=None, **env)
    try:
        return server.process.wait(WAIT_S), server.said
    finally:
        server.process.kill()


# --- the beginning ---------------------------------------------------------------------------------------------------


def test_where_nothing_can_listen_is_said(desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        code, said = _refused(desk, f"127.0.0.1:{server.port}")
        assert (code, said.count("\n") <= 3) == (2, True)
        assert f"Nothing can listen at 127.0.0.1:{server.port}: Address already in use" in said
        assert (_refused(desk, "192.0.2.1:0")[0], "Traceback" in said) == (2, False)
        code, said = _refused(desk, "192.0.2.1:0", "--allow-host", "a.example")
        assert (code, "This machine has no address 192.0.2.1." in said) == (2, True)
        assert server.caller(server.first_secret).get("/v1/status").status == 200


@pytest.mark.parametrize("place", ["0.0.0.0:0", "[::]:0", "127.0.0.2:0"])
def test_what_others_reach_needs_the_names_it_is_called_by(desk: Desk, place: str) -> None:
    code, said = _refused(desk, place)
    assert (code, "--allow-host" in said, "operator token" in said) == (2, True, False)


def test_without_tokens_it_serves_this_machine_alone(desk: Desk) -> None:
    code, said = _refused(desk, "0.0.0.0:0", "--no-token", "--allow-host", "x.example:1")
    assert (code, "loopback" in said) == (2, True)


def test_everywhere_only_the_names_that_were_given_are_answered(desk: Desk) -> None:
    flags = ("--allow-host", "build.example:8765", "--allow-origin", "https://board.example")
    with Server(desk.root, *flags, place="0.0.0.0:0", clock=desk.clock) as server:
        operator = server.caller(server.first_secret)

        def status(host: str, origin: str = "https://board.example") -> int:
            return operator.with_headers(Host=host, Origin=origin).get("/v1/status").status

        assert (status("build.example:8765"), status("BUILD.example:8765", "http://build.example:8765")) == (200, 200)
        assert (status(f"127.0.0.1:{server.port}"), status("evil.example")) == (200, 421)
        assert status("build.example:8765", "https://evil.example") == 403


def test_of_two_that_begin_together_one_prints_the_first_token(desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as one, Server(desk.root, clock=desk.clock) as other:
        (secret,) = [each.first_secret for each in (one, other) if each.first_secret is not None]
        for server in (one, other):
            assert server.caller(secret).get("/v1/session").json["role"] == "operator"
    with Server(desk.root, clock=desk.clock) as later:
        assert later.first_secret is None
        assert later.caller(secret).get("/v1/status").status == 200


def test_whoever_was_told_the_address_was_told_the_token(desk: Desk) -> None:
    words = [sys.executable, "-m", "metagit_mcp", "serve", "--http", "127.0.0.1:0", "--workspace", str(desk.root)]
    # Each write arrives by itself.
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, its, ready.Popen(words, stdin=DEVNULL, stdout=DEVNULL, stderr=its.fileno(), env=environment()) as server:
        ours.settimeout(WAIT_S)
        said = ours.recv(10_000).decode().splitlines()
        server.kill()
    assert [line.partition(" ")[0] for line in said] == ["metagit-mcp", "operator"]


def test_a_ledger_that_cannot_be_read_is_said(desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        secret = server.first_secret
    (desk.root / ".metagit" / "schedule" / "ledger.db").write_bytes(b"no database")
    code, said = _refused(desk, "127.0.0.1:0")
    assert (code, "STORE_CORRUPT" in said or "ledger" in said, "Traceback" in said) == (5, True, False)
    assert secret is not None
    assert secret not in said


def test_the_password_of_a_ledger_is_never_said(desk: Desk) -> None:
    address = "postgresql://metagit:hunter2@127.0.0.1:1/ledger"
    code, said = _refused(desk, "127.0.0.1:0", METAGIT_LEDGER=address)
    assert (code, "hunter2" in said, "Traceback" in said) == (5, False, False)


def test_what_the_agents_of_a_server_can_do_is_said_where_it_starts(desk: Desk) -> None:
    desk.graph("shop", {"node_id": "one", "title": "one", "status": "ready", "capabilities": ["gpu"]})
    with Server(desk.root, "--capabilities", "gpu,docker", clock=desk.clock) as server:
        agent = server.caller(issued(desk, "agent", "ada")[0])
        assert agent.tool(NEXT, claim=True, capabilities=["docker"]).record["decisions"] == []
        assert [each["node_id"] for each in agent.tool(NEXT, claim=True).record["decisions"]] == ["one"]


def test_whoever_goes_away_in_the_middle_of_a_request_is_no_news(desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        for path, version in (("/mcp", "2025-11-25"), ("/mcp", "2026-07-28"), ("/v1/pause", "")):
            lines = [
                *(f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", f"MCP-Protocol-Version: {version}"),
                *(f"Authorization: Bearer {server.first_secret}", "Content-Type: application/json"),
                *("Accept: application/json, text/event-stream", "Content-Length: 9", "Expect: 100-continue", "", ""),
            ]
            with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as caller:
                caller.sendall("\r\n".join(lines).encode())
                assert caller.recv(100).startswith(b"HTTP/1.1 100 ")
                caller.sendall(b"{")
        assert server.end() == 0
        assert len(server.said.splitlines()) == 2, server.said


# --- without a token -------------------------------------------------------------------------------------------------


def test_without_a_token_callers_may_look(desk: Desk) -> None:
    with Server(desk.root, "--no-token", clock=desk.clock) as server:
        anybody, operator = server.caller(), server.caller(server.first_secret)
        assert anybody.get("/v1/session").json["role"] == "viewer"
        assert (anybody.tool(STATUS).code, anybody.tool(NEXT, claim=True).code) == ("ok", "AUTH_FORBIDDEN")
        assert anybody.post("/v1/pause", {"scope": "group", "name": "shop"}).code == "AUTH_FORBIDDEN"
        assert server.caller("mgt_bad").get("/v1/status").code == "AUTH_REQUIRED"
        assert anybody.with_headers(Cookie="metagit_token=mgt_old").get("/v1/status").code == "ok"
        assert operator.tool(NEXT, claim=True, graph_id="shop").code == "ok"
        session = legacy_session(anybody)
        assert legacy(operator, "tools/list", session=session).status == 404
        assert anybody.with_headers(Host="evil.example").get("/v1/status").status == 421


# --- the older protocol without sessions -----------------------------------------------------------------------------


def test_clients_of_the_older_protocol_go_from_server_to_server_without_sessions(desk: Desk) -> None:
    with (
        Server(desk.root, "--legacy-stateless", clock=desk.clock) as one,
        Server(desk.root, "--legacy-stateless", clock=desk.clock) as other,
    ):
        secret = one.first_secret or other.first_secret
        assert legacy_session(one.caller(secret)) is None
        for server in (one, other):
            answer = legacy(server.caller(secret), "tools/call", {"name": STATUS, "arguments": {}})
            assert (answer.status, '"isError":false' in answer.body.decode()) == (200, True)


# --- progress, and who goes away -------------------------------------------------------------------------------------


def _take_all(operator: Caller) -> None:
    for name in ("one", "two"):
        assert operator.tool(START, node_id=name, graph_id="shop", queue_only=True).code == "ok"


def _waiting(caller: Caller) -> Stream:
    return Stream.asking(caller, "tools/call", {"name": NEXT, "arguments": _WAITING}, NEXT, token="wait")


def test_a_wait_tells_how_long_it_lasts_and_ends_with_its_caller(desk: Desk) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        operator = server.caller(server.first_secret)
        _take_all(operator)
        agent = server.caller(issued(desk, "agent", "waiter")[0])
        params = {"name": NEXT, "arguments": {**_WAITING, "wait_seconds": 6}, "_meta": {"progressToken": "old"}}
        session = legacy_session(agent)
        with _waiting(agent) as stream, ThreadPoolExecutor() as pool:
            old = pool.submit(legacy, agent, "tools/call", params, session)
            stream.until("notifications/progress")
            methods = [text for text in data_lines(old.result(30).body.decode()) if "notifications/progress" in text]
            assert len(methods) >= 1
        # Who hung up waits for nothing: what becomes free is for whoever asks.
        assert operator.post("/v1/release", {"graph_id": "shop", "node_id": "one"}).code == "ok"
        other = server.caller(issued(desk, "agent", "other")[0])
        taken = other.tool(NEXT, claim=True, graph_id="shop")
        assert [each["node_id"] for each in taken.record["decisions"]] == ["one"]


# --- the end ---------------------------------------------------------------------------------------------------------


class _TooEarly(Exception):
    """The signal met whoever takes it where no server does."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.usefixtures("as_at_the_start")
def test_whoever_was_told_where_it_is_ends_it_well_at_any_time(tmp_path: Path, number: signal.Signals) -> None:
    """What it says first and does last is around the time in which it listens: a signal may come before and after."""
    steps: list[str] = []

    def too_early(*_: object) -> None:
        raise _TooEarly

    @asynccontextmanager
    async def opened(application: Application, _: Address) -> AsyncIterator[None]:
        for step in ("said", "ended"):
            signal.raise_signal(number)
            steps.append(step)
            if step == "said":
                yield
        application.close()

    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    before = signal.signal(number, too_early)
    try:
        run(Settings(workspace=str(tmp_path), watch="stat"), read_address("127.0.0.1:0"), Start(opened=opened))
        assert (steps, signal.getsignal(number)) == (["said", "ended"], too_early)
    finally:
        signal.signal(number, before)


def test_a_stream_of_the_older_protocol_does_not_keep_it(desk: Desk) -> None:
    secret, _ = issued(desk, "operator", "ada")
    for attempt in soon(3.0):
        with Server(desk.root, clock=desk.clock) as server:
            operator = server.caller(secret)
            session = legacy_session(operator)
            listening = operator.with_headers(Accept="text/event-stream", Mcp_Session_Id=session or "")
            with Stream(listening, "GET /mcp") as standing:
                standing.until("200 OK")
                with attempt:
                    assert server.end() == 0
                standing.cut()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_every_stream_open_and_leases_go_on(desk: Desk, number: signal.Signals) -> None:
    with Server(desk.root, clock=desk.clock) as server:
        operator, secret = server.caller(server.first_secret), server.first_secret
        lease_id = operator.tool(NEXT, claim=True, graph_id="shop").record["decisions"][0]["lease"]["lease_id"]
        assert operator.tool(START, node_id="two", graph_id="shop", queue_only=True).code == "ok"
        agent = server.caller(issued(desk, "agent", "waiter")[0])
        session = legacy_session(operator)
        old = operator.with_headers(Accept="text/event-stream", Mcp_Session_Id=session or "")
        with (
            Stream.changes(operator) as changes,
            Stream.listening(operator, "metagit://status") as listening,
            Stream(old, "GET /mcp") as standing,
            _waiting(agent.with_headers(Expect="100-continue")) as waiting,
        ):
            changes.until("event: change")
            listening.until("acknowledged")
            standing.until("200 OK")
            # It is being read; its answer begins with the first progress.
            waiting.until("100 Continue")
            assert server.end(number) == 0
            told = [each.cut() for each in (changes, listening, standing, waiting)]
            assert ('"resultType":"complete"' in told[1], "ending" in told[3]) == (True, True)
            # Whatever does not end in time is cut off in the middle.
            assert [each[-5:] for each in told[:2]] == ["0\r\n\r\n"] * 2
        assert "Traceback" not in server.said, server.said
        assert "ERROR" not in server.said, server.said
    with Server(desk.root, clock=desk.clock) as later:
        # A client of 2026 goes on as if nothing had been.
        assert later.caller(secret).tool(REPORT, lease_id=lease_id, state="completed").code == "ok"
