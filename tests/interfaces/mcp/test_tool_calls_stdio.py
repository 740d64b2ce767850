"""Calls over the raw wire, where arguments may be anything, and a server that ends while it loads."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.interfaces.mcp.fake_application import LEAST
from tests.interfaces.mcp.live import until
from tests.interfaces.mcp.raw_wire import ERAS, Message, RawServer

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve()
SERVER = [sys.executable, str(HERE.with_name("fake_server.py"))]
ENV = {**os.environ, "PYTHONPATH": str(HERE.parents[3])}
LIMIT_BYTES = 24_000
LIMIT_BYTES_BY_DEFAULT = 14_000
NEXT = "metagit_schedule_next"
NO_OBJECT = {
    "code": "INVALID_INPUT",
    "message": "arguments: must be a JSON object",
    "hint": "Pass the arguments by name, or {} for none; tools/list has the names.",
    "details": {"field": "arguments"},
    "retryable": False,
}


@pytest.fixture(scope="module", params=ERAS)
def server(request: pytest.FixtureRequest) -> Iterator[RawServer]:
    """One server for all tests that leave it as it was: a process costs more than all its answers here."""
    with RawServer(SERVER, env=ENV) as server:
        server.enter(request.param)
        yield server


@pytest.fixture(params=ERAS)
def stuck_server(request: pytest.FixtureRequest) -> Iterator[RawServer]:
    with RawServer([*SERVER, "stuck"], env=ENV) as server:
        server.enter(request.param)
        yield server


def record_of(answer: Message) -> Message:
    """The JSON in the text of an answer."""
    record: Message = json.loads(answer["result"]["content"][0]["text"])
    return record


def call_line(server: RawServer, tool: str, arguments: str) -> bytes:
    """A call, with id 99, whose arguments are written as they are."""
    meta = f', "_meta": {json.dumps(server.envelope)}' if server.envelope else ""
    call = f'{{"name": "{tool}", "arguments": {arguments}{meta}}}'
    return f'{{"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {call}}}\n'.encode()


@pytest.mark.parametrize(
    "arguments", [[], [1, 2], "graph", '"graph"', "[1]", "{", 7, True, "[" * 100_000], ids=lambda each: repr(each)[:20]
)
def test_arguments_that_are_no_object(server: RawServer, arguments: object) -> None:
    answer = server.request("tools/call", {"name": NEXT, "arguments": arguments})
    assert answer["result"]["isError"]
    assert "structuredContent" not in answer["result"]
    assert record_of(answer) == NO_OBJECT
    # An answer of the newer era names the server, whoever made it.
    assert answer["result"].get("_meta") == server.call_tool(NEXT)["result"].get("_meta")


@pytest.mark.parametrize("arguments", [{}, None, "", "{}", '{"limit": 2}'])
def test_arguments_that_are_an_object_after_all(server: RawServer, arguments: object) -> None:
    answer = server.request("tools/call", {"name": NEXT, "arguments": arguments})
    assert record_of(answer) == answer["result"]["structuredContent"]
    without = server.request("tools/call", {"name": NEXT})
    assert record_of(without) == record_of(answer)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ('{"priority": NaN}', "priority"),
        ('{"priority": Infinity}', "priority"),
        ('{"priority": -Infinity}', "priority"),
        ('{"priority": 1e999}', "priority"),
        ('{"merge_queue_threshold": NaN}', "merge_queue_threshold"),
        ('{"merge_queue_threshold": 1' + "0" * 1000 + "}", "merge_queue_threshold"),
    ],
)
def test_numbers_that_are_none_are_refused(server: RawServer, arguments: str, field: str) -> None:
    server.send_bytes(call_line(server, "metagit_schedule_policy", arguments))
    assert record_of(server.answer(99))["details"] == {"field": field}


@pytest.mark.parametrize("arguments", [r'{"graph_id": "\ud800"}', r'{"capabilities": ["\udfff"]}', r'{"\ud800": 1}'])
def test_half_a_character_is_no_message(server: RawServer, arguments: str) -> None:
    server.send_bytes(call_line(server, NEXT, arguments))
    assert server.answer(99)["error"]["code"] == -32600
    assert not server.call_tool(NEXT)["result"].get("isError")


def test_the_whole_list_of_tools_is_small_on_the_wire(server: RawServer) -> None:
    result = server.request("tools/list")["result"]
    assert [tool["name"] for tool in result["tools"]] == list(LEAST)
    assert wire_bytes(result) <= LIMIT_BYTES


@pytest.mark.parametrize("era", ERAS)
def test_the_list_that_hosts_get_by_default_is_smaller(era: str) -> None:
    with RawServer([*SERVER, "default"], env=ENV) as server:
        server.enter(era)
        result = server.request("tools/list")["result"]
    assert [tool["name"] for tool in result["tools"]] == [
        name for name in LEAST if "_task_" not in name and "_group_" not in name
    ]
    assert wire_bytes(result) <= LIMIT_BYTES_BY_DEFAULT


def wire_bytes(result: Message) -> int:
    """How many bytes a result takes on the wire, where no blank is written."""
    return len(json.dumps(result, separators=(",", ":"), ensure_ascii=False).encode())


def test_requests_are_answered_and_calls_cancelled_while_the_workspace_loads(stuck_server: RawServer) -> None:
    call = stuck_server.begin("tools/call", {"name": NEXT, "arguments": {}})
    assert len(stuck_server.request("tools/list")["result"]["tools"]) == len(LEAST)
    stuck_server.notify("notifications/cancelled", {"requestId": call})
    assert len(stuck_server.request("tools/list")["result"]["tools"]) == len(LEAST)
    assert [message for message in stuck_server.others if "result" in message] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_that_loads(stuck_server: RawServer, number: signal.Signals) -> None:
    stuck_server.begin("tools/call", {"name": NEXT, "arguments": {}})
    stuck_server.request("tools/list")
    until(lambda: stuck_server.stderr != "")
    assert stuck_server.stop(number) == 0
    assert stuck_server.stderr == "opening\n"
