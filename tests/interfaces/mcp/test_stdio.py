"""The stdio transport keeps its word on the raw wire, in both protocol eras, with real processes.

The server is `noop_server.py`: what holds here holds for any server object.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, types

from tests.interfaces.mcp.live import until
from tests.interfaces.mcp.noop_wire import (
    CLEAN_EXIT,
    ENV,
    LIMIT,
    NO_MESSAGE,
    SERVER,
    TOO_LONG,
    refusal,
    start,
    text_of,
)
from tests.interfaces.mcp.raw_wire import ENVELOPE, ERAS, LEGACY, MODERN, LineReader, Message, RawServer

# Longer than a test waits for an end.
SHORT_PATIENCE, LONG_PATIENCE = "0.2", "100"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

# Starts the rest of its command line on its own pipes and stays in between, as `npx` and `uv run` do.
WRAPPER = "import subprocess, sys; subprocess.run(sys.argv[1:], close_fds=False)"


# --- protocol eras


@pytest.mark.parametrize("era", ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY, MODERN])
def test_every_era_is_served_until_end_of_input(era: str) -> None:
    with start() as server:
        server.enter(era)
        assert text_of(server.call_tool("echo", {"text": "grün"})) == "grün"
        assert server.close() == 0
        assert server.stderr == CLEAN_EXIT


def test_discover_then_initialize() -> None:
    with start() as server:
        assert server.request("server/discover")["result"]["supportedVersions"] == [MODERN]
        assert server.initialize()["protocolVersion"] == LEGACY
        assert text_of(server.call_tool("noop")) == "ok"
        assert server.close() == 0


def test_discover_then_modern_calls() -> None:
    with start() as server:
        opening = server.request("server/discover")["result"]
        assert text_of(server.call_tool("noop")) == "ok"
        # Now the SDK has decided the era, and answers itself: both answers are one.
        assert server.request("server/discover")["result"] == opening
        assert server.close() == 0
        assert server.stderr == CLEAN_EXIT


@pytest.mark.parametrize(
    ("envelope", "code"),
    [({**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "1999-01-01"}, -32022), ({}, -32601)],
    ids=["unknown version", "no envelope"],
)
@pytest.mark.parametrize("era", ERAS)
def test_a_refused_discover_decides_nothing(era: str, envelope: Message, code: int) -> None:
    with start() as server:
        server.envelope = envelope
        assert server.request("server/discover")["error"]["code"] == code
        server.envelope = dict(ENVELOPE)
        server.enter(era)
        assert text_of(server.call_tool("noop")) == "ok"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_is_served(mode: str) -> None:
    parameters = StdioServerParameters(command=SERVER[0], args=SERVER[1:], env=ENV)
    async with Client(parameters, mode=mode) as client:
        result = await client.call_tool("echo", {"text": "hello"})
    assert result.content == [types.TextContent(type="text", text="hello")]


# --- how it ends


@pytest.mark.parametrize("number", STOP_SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("era", ERAS)
def test_a_signal_ends_it_cleanly(era: str, number: signal.Signals) -> None:
    with start() as server:
        server.enter(era)
        server.call_tool("noop")
        assert server.stop(number) == 0
        assert server.stderr == CLEAN_EXIT


def test_a_signal_before_the_first_message_ends_it_cleanly() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end) as marker, start(stdout=write_end) as server:
        os.close(write_end)
        # An answer proves that the server listens; nothing was read from the wire before it.
        server.send({"jsonrpc": "2.0", "id": "x", "method": 1, "params": {}})
        assert LineReader(marker.fileno()).line() != b""
        assert server.stop(signal.SIGTERM) == 0
        assert server.stderr == CLEAN_EXIT


def fill_the_pipe(server: RawServer, era: str) -> None:
    """Ask for more than a pipe holds, twice, behind a call that never ends, and read nothing."""
    server.enter(era)
    server.begin("tools/call", {"name": "block"})
    for _ in range(2):
        server.begin("tools/call", {"name": "large", "arguments": {"size": 1 << 20}})
    server.await_output()


@pytest.mark.parametrize("number", STOP_SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("era", ERAS)
def test_a_signal_ends_it_while_the_host_does_not_read(era: str, number: signal.Signals) -> None:
    with start(LONG_PATIENCE) as server:
        fill_the_pipe(server, era)
        assert server.stop(number) == 0
        assert server.stderr == "lifespan entered\nblocking\nblock cancelled\nlifespan left\nreturned\n"


@pytest.mark.parametrize("era", ERAS)
def test_end_of_input_ends_it_while_the_host_does_not_read(era: str) -> None:
    with start(SHORT_PATIENCE) as server:
        fill_the_pipe(server, era)
        assert server.close() == 0
        assert server.stderr.endswith("block cancelled\nlifespan left\nreturned\n")


def test_a_host_that_closes_its_end_ends_it() -> None:
    with start() as server:
        server.initialize()
        assert server.process.stdout is not None
        server.process.stdout.close()
        assert server.wait() == 0
        assert server.stderr == CLEAN_EXIT


def test_the_death_of_the_parent_ends_it_though_the_pipe_stays_open() -> None:
    alive, held_while_alive = os.pipe()
    command = [sys.executable, "-c", WRAPPER, *SERVER]
    with os.fdopen(alive), RawServer(command, env=ENV, pass_fds=[held_while_alive]) as wrapper:
        os.close(held_while_alive)
        wrapper.initialize()
        wrapper.process.kill()
        wrapper.wait()
        # This test still holds the writing end of stdin, so the server sees no end of input.
        assert LineReader(alive).line() == b""
        assert wrapper.remaining() == []
        assert wrapper.stderr == CLEAN_EXIT


@pytest.mark.parametrize("era", ERAS)
def test_end_of_input_cancels_what_does_not_finish(era: str) -> None:
    with start(SHORT_PATIENCE) as server:
        server.enter(era)
        request_id = server.begin("tools/call", {"name": "block"})
        until(lambda: "blocking" in server.stderr)
        server.end_input()
        closed = {"code": -32000, "message": "Connection closed"}
        assert server.remaining() == [{"jsonrpc": "2.0", "id": request_id, "error": closed}]
        assert server.wait() == 0
        assert server.stderr == "lifespan entered\nblocking\nblock cancelled\nlifespan left\nreturned\n"


@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_call_is_cancelled_and_not_answered(era: str) -> None:
    with start() as server:
        server.enter(era)
        request_id = server.begin("tools/call", {"name": "block"})
        server.call_tool("noop")  # `block` was sent first, so it runs by now
        server.notify("notifications/cancelled", {"requestId": request_id})
        server.call_tool("noop")
        server.end_input()
        assert [*server.others, *server.remaining()] == []
        assert server.wait() == 0
        assert server.stderr == "lifespan entered\nblocking\nblock cancelled\nlifespan left\nreturned\n"


# --- what arrives


@pytest.mark.parametrize("era", ERAS)
def test_the_wire_carries_nothing_but_messages(era: str) -> None:
    with start() as server:
        server.enter(era)
        assert text_of(server.call_tool("noisy")) == "ok"
        server.end_input()
        assert [*server.others, *server.remaining()] == []
        assert server.wait() == 0
        assert server.stderr == (
            "lifespan entered\nprinted by the tool\nprinted by a child\nlifespan left\nreturned\nleft unflushed"
        )


PING = {"jsonrpc": "2.0", "id": "in-batch", "method": "ping"}
IGNORED = {
    "text": b"GET / HTTP/1.1",
    "blank": b"",
    "carriage return": b"\r",
    "not UTF-8": b"\xff\xfe\x00",
    "truncated": b'{"jsonrpc":"2.0","id":',
    "null": b"null",
    "empty object": b"{}",
    "deep": b"[" * 100_000,
    "batch": json.dumps([PING]).encode(),
    "no version": b'{"method":"ping"}',
    "malformed response": b'{"jsonrpc":"2.0","id":7,"result":7}',
    "answer to nothing": b'{"jsonrpc":"2.0","id":7,"result":{}}',
    "id null": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "unknown notification": b'{"jsonrpc":"2.0","method":"notifications/moon","params":{"full":true}}',
    "malformed notification": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":7}}',
    "too long": b"x" * (LIMIT + 1),
}


@pytest.mark.parametrize("era", ERAS)
def test_what_is_no_message_is_ignored(era: str) -> None:
    with start() as server:
        server.send_bytes(b"".join(line + b"\n" for line in IGNORED.values()))
        server.enter(era)
        for line in IGNORED.values():
            server.send_bytes(line + b"\n")
            assert text_of(server.call_tool("noop")) == "ok"
        assert server.others == []
        assert server.close() == 0


REFUSED: list[tuple[bytes, Message]] = [
    (b'{"jsonrpc":"2.0","id":7,"method":7}', refusal(7, NO_MESSAGE)),
    (b'{"jsonrpc": "2.0", "id": "a b", "method": "ping", "params": []}', refusal("a b", NO_MESSAGE)),
    (b'{"method":"ping","params":{"id":1},"jsonrpc":"1.0","id":-8}', refusal(-8, NO_MESSAGE)),
    (b'{"id":9,"method":"ping","params":{"text":"\xff"}}', refusal(9, NO_MESSAGE)),
    (b'{"jsonrpc":"2.0","id":10,"method":"' + b"x" * LIMIT + b'"}', refusal(10, TOO_LONG)),
    (b'{"method":"' + b"x" * LIMIT + b'","jsonrpc":"2.0","id":11}', refusal(11, TOO_LONG)),
]


@pytest.mark.parametrize("era", ERAS)
def test_a_request_that_cannot_be_read_is_refused_by_its_id(era: str) -> None:
    with start() as server:
        server.enter(era)
        for line, answer in REFUSED:
            server.send_bytes(line + b"\n")
            assert server.receive() == answer
        assert text_of(server.call_tool("noop")) == "ok"


def peak_kib(server: RawServer) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


@pytest.mark.parametrize("era", ERAS)
def test_a_line_of_70_mb_is_refused_and_costs_no_memory(era: str) -> None:
    with start() as server:
        server.enter(era)
        server.call_tool("noop")
        before = peak_kib(server)
        server.send_bytes(b'{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"text":"')
        for _ in range(70):
            server.send_bytes(b"x" * 1_000_000)
        server.send_bytes(b'"}}\n')
        assert server.receive() == refusal("big", TOO_LONG)
        assert text_of(server.call_tool("noop")) == "ok"
        assert peak_kib(server) - before < 3 * LIMIT // 1024


def test_a_message_just_under_the_limit_is_served() -> None:
    text = "x" * (LIMIT - 1000)
    with start() as server:
        server.initialize()
        assert text_of(server.call_tool("echo", {"text": text})) == text
