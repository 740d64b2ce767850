"""The stdio transport works whatever its descriptors are: files, terminals, sockets, devices, or closed."""

from __future__ import annotations

import errno
import json
import os
import pty
import signal
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interfaces.mcp.live import until
from tests.interfaces.mcp.noop_wire import CLEAN_EXIT, ENV, NO_MESSAGE, SERVER, refusal, start, text_of
from tests.interfaces.mcp.raw_wire import CLIENT, ENVELOPE, ERAS, LEGACY, MODERN, LineReader, Message, RawServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def requests_of(era: str, calls: list[tuple[str, Message]]) -> list[Message]:
    """What a client of that era writes to call these tools, ids from 1."""
    lines: list[Message] = []
    if era != MODERN:
        params = {"protocolVersion": era, "capabilities": {}, "clientInfo": CLIENT}
        lines.append({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        lines.append({"jsonrpc": "2.0", "method": "notifications/initialized"})
    meta = {"_meta": ENVELOPE} if era == MODERN else {}
    for number, (name, arguments) in enumerate(calls, 1):
        params = {"name": name, "arguments": arguments, **meta}
        lines.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    return lines


@pytest.mark.parametrize("ending", ["\n", ""], ids=["line feed", "no line feed"])
@pytest.mark.parametrize("era", ERAS)
def test_every_request_in_a_file_is_answered(era: str, ending: str, tmp_path: Path) -> None:
    calls = [("echo", {"text": f"{number} " + "x" * 5000}) for number in range(1, 601)]
    lines = "\n".join(json.dumps(line) for line in requests_of(era, calls)) + ending
    (tmp_path / "in").write_text(lines, encoding="utf-8")
    with (
        (tmp_path / "in").open("rb") as stdin,
        (tmp_path / "out").open("wb") as stdout,
        start(stdin=stdin, stdout=stdout) as server,
    ):
        assert server.wait() == 0
        assert server.stderr == CLEAN_EXIT
    written = [json.loads(line) for line in (tmp_path / "out").read_text(encoding="utf-8").splitlines()]
    answers = {answer["id"]: text_of(answer) for answer in written if answer["id"] != 0}
    assert answers == {number: arguments["text"] for number, (_, arguments) in enumerate(calls, 1)}


def test_an_input_with_nothing_in_it_is_an_ended_one() -> None:
    with start(stdin=subprocess.DEVNULL) as server:
        assert server.remaining() == []
        assert server.wait() == 0
        assert server.stderr == CLEAN_EXIT


@pytest.mark.parametrize(
    "redirection", ["<&-", ">&-", "<&- >&-", "<&- >&- 2>&-"], ids=["0", "1", "0 and 1", "0, 1 and 2"]
)
def test_a_closed_standard_stream_is_an_empty_one(redirection: str) -> None:
    command = ["/bin/sh", "-c", f'exec "$0" "$@" {redirection}', *SERVER]
    with RawServer(command, env=ENV) as server:
        server.end_input()
        assert server.remaining() == []
        assert server.wait() == 0


def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full, start(stdout=full) as server:
        server.begin("ping")
        assert server.wait() == 1
        assert server.stderr.endswith(f"OSError: [Errno {errno.ENOSPC}] No space left on device\n")
        assert "lifespan left" in server.stderr


@pytest.mark.parametrize("era", ERAS)
def test_one_socket_for_both_ways_is_served(era: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, start(stdin=theirs.fileno(), stdout=theirs.fileno()) as server:
        theirs.close()
        lines = LineReader(ours.fileno())
        for request in requests_of(era, [("noop", {}), ("echo", {"text": "again"})]):
            ours.sendall(json.dumps(request).encode() + b"\n")
            if "id" in request:
                assert json.loads(lines.line())["id"] == request["id"]
        ours.shutdown(socket.SHUT_WR)
        assert lines.line() == b""
        assert server.wait() == 0
        assert server.stderr == CLEAN_EXIT


GREETING = "noop is an MCP server. It waits for a host to send JSON-RPC lines; Ctrl-D or Ctrl-C ends it.\n"


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Both ends of a terminal: the person's and the program's."""
    person, program = pty.openpty()
    yield person, program
    os.close(person)
    os.close(program)


def press_control_d(_: RawServer, person: int) -> None:
    os.write(person, b"\x04")


def press_control_c(server: RawServer, _: int) -> None:
    server.process.send_signal(signal.SIGINT)  # what the terminal does, were it the controlling one


@pytest.mark.parametrize("leave", [press_control_d, press_control_c])
def test_a_terminal_is_greeted_and_served(terminal: tuple[int, int], leave: Callable[[RawServer, int], None]) -> None:
    person, program = terminal
    with start(stdin=program) as server:
        os.write(person, b'{"jsonrpc":"2.0","id":"x","method":1}\n')
        assert server.receive() == refusal("x", NO_MESSAGE)
        assert os.get_blocking(program)
        leave(server, person)
        assert server.wait() == 0
        assert server.stderr == GREETING + CLEAN_EXIT


def test_whoever_reads_the_greeting_may_leave_at_once(terminal: tuple[int, int]) -> None:
    with start(stdin=terminal[1]) as server:
        until(lambda: server.stderr.startswith(GREETING))
        assert server.stop(signal.SIGINT) == 0
        assert server.stderr == GREETING + CLEAN_EXIT


def test_a_terminal_takes_the_answers(terminal: tuple[int, int]) -> None:
    person, program = terminal
    with start(stdin=program, stdout=program) as server:
        os.write(person, b'{"jsonrpc":"2.0","id":"x","method":1}\n')
        LineReader(person).until(NO_MESSAGE.encode())
        os.write(person, b"\x04")
        assert server.wait() == 0


def test_a_pipeline_gets_every_answer(tmp_path: Path) -> None:
    calls = [("large", {"size": 50_000})] * 20
    lines = "".join(json.dumps(line) + "\n" for line in requests_of(LEGACY, calls))
    done = subprocess.run(
        SERVER, input=lines.encode(), env=ENV, cwd=tmp_path, capture_output=True, timeout=20, check=True
    )
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == list(range(21))
