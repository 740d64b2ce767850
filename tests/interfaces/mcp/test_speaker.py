"""Who makes a call, where the host says it beside the arguments: the same agent that the hook would sign it with."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest
from mcp import Client

from metagit_mcp.application.caller import Caller
from metagit_mcp.interfaces.hooks.stamp import SIGNED
from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.interfaces.mcp.speaker import signed
from metagit_mcp.interfaces.mcp.tools import TOOLS
from tests.interfaces.hooks.documented import given
from tests.interfaces.hooks.fixtures import answer
from tests.interfaces.mcp.fake_application import LEAST, SETTINGS, FakeApplication
from tests.interfaces.mcp.live import NEXT, REPORT, STATUS, LiveServer, node, write_graph
from tests.interfaces.mcp.raw_wire import ERAS

if TYPE_CHECKING:
    from pathlib import Path

    from metagit_mcp.bootstrap import Application

Json = dict[str, Any]
SESSION = "019f0c1d-thread"
MAIN = {"sessionId": SESSION, "threadId": SESSION}
SUB = {"sessionId": SESSION, "threadId": "t-2"}


@pytest.mark.parametrize(
    ("meta", "named", "agent_id"),
    [
        (MAIN, "", SESSION),
        (SUB, "", f"{SESSION}/t-2"),
        (MAIN, "ada", "ada"),
        (SUB, "ada", "ada/t-2"),
        ({"sessionId": SESSION}, "", SESSION),
        ({"sessionId": SESSION, "threadId": ""}, "", SESSION),
        ({"sessionId": SESSION, "threadId": 7}, "", SESSION),
        # What says nothing, or what no agent can be called, is nobody.
        (None, "", None),
        ({}, "ada", None),
        ({"threadId": "t-2"}, "", None),
        ({"sessionId": ""}, "", None),
        ({"sessionId": 7}, "", None),
        ({"sessionId": "a b"}, "", None),
        # What cannot stand in an id is told by its digest: it is not its session.
        ({"sessionId": SESSION, "threadId": "x" * 250}, "", f"{SESSION}/x-086d4a1c293bde31"),
        ({"sessionId": SESSION, "threadId": "t 2"}, "ada", "ada/x-fd555bee8f13792a"),
        ({"claudecode/toolUseId": "toolu_1"}, "", None),
    ],
)
def test_the_agent_is_the_session_or_a_sub_agent_of_it(meta: Json | None, named: str, agent_id: str | None) -> None:
    expected = {"claim": True} if agent_id is None else {"claim": True, "agent_id": agent_id}
    assert signed({"claim": True}, meta, named) == expected


@pytest.mark.parametrize("there", ["bob", 7, ["bob"]])
def test_who_is_named_stays(there: object) -> None:
    assert signed({"agent_id": there}, SUB, "ada") == {"agent_id": there}


@pytest.mark.parametrize("empty", ["", "  ", None])
def test_an_empty_name_is_filled_in(empty: str | None) -> None:
    assert signed({"agent_id": empty}, SUB, "") == {"agent_id": f"{SESSION}/t-2"}


@pytest.mark.parametrize("environ", [{}, {"METAGIT_AGENT_ID": "ada"}])
@pytest.mark.parametrize(
    "meta", [MAIN, SUB, *({**SUB, "threadId": odd} for odd in ("re searcher", "é", " t ", "x" * 250))]
)
def test_the_hook_gives_the_same_id(meta: Json, environ: dict[str, str]) -> None:
    sub_agent = {"agent_id": meta["threadId"]} if meta is not MAIN else {}
    record = given("codex", "stamp-agent", session_id=SESSION, tool_input={"claim": True}, **sub_agent)
    said: Any = answer("codex", "stamp-agent", record, environ).record
    assert said["hookSpecificOutput"]["updatedInput"] == signed(
        {"claim": True}, meta, environ.get("METAGIT_AGENT_ID", "")
    )


def test_the_same_tools_are_signed() -> None:
    assert {entry.name for entry in TOOLS if entry.asks_who_calls} == SIGNED


@pytest.mark.parametrize("era", ERAS)
def test_agents_of_one_connection_are_told_apart(era: str, tmp_path: Path) -> None:
    write_graph(tmp_path, node("one", priority=2), node("two", priority=1))
    with LiveServer(tmp_path, era=era) as server:
        server.ask(STATUS)
        leases = []
        for meta in (MAIN, SUB):
            server.envelope.update(meta)
            leases.append(server.claim())
        assert [(each["node_id"], each["agent_id"]) for each in leases] == [("one", SESSION), ("two", f"{SESSION}/t-2")]
        refused = server.ask(REPORT, lease_id=leases[0]["lease_id"], state="completed")
        assert refused["code"] == "AUTH_FORBIDDEN"
        held = server.ask(NEXT, claim=True)["held"]
        assert [each["lease_id"] for each in held] == [leases[1]["lease_id"]]
        # A tool that does not ask who calls is called as ever.
        assert "code" not in server.ask(STATUS)


def for_anybody(application: FakeApplication) -> Application:
    """The sample application, in whoever's name."""
    opened: Any = application.opened()
    opened.speaking_for = lambda _: opened
    return cast("Application", opened)


@pytest.mark.parametrize("tool", LEAST)
async def test_over_the_network_the_token_alone_says_who_calls(tool: str) -> None:
    asked = []
    beside: Any = SUB
    for identify in (lambda: None, lambda: Caller(role="agent", claims_as="token")):
        application = FakeApplication()
        async with Client(build_server(partial(for_anybody, application), SETTINGS, identify=identify)) as client:
            await client.call_tool(tool, LEAST[tool], meta=beside)
        asked.append(application.asked[-1])
    here, there = asked
    if tool in SIGNED:
        assert (here.agent_id, there.agent_id) == (f"{SESSION}/t-2", None)
        assert replace(here, agent_id=None) == there
    else:
        assert here == there
