"""Sub-agents share one connection and are told apart: by the stamps that the hook writes, on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.interfaces.hooks.documented import SESSION, given
from tests.interfaces.hooks.fixtures import answer
from tests.interfaces.mcp.live import NEXT, REPORT, LiveServer, node, write_graph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = dict[str, Any]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    write_graph(tmp_path, *(node(name, priority=9 - place) for place, name in enumerate(("one", "two", "three"))))
    with LiveServer(tmp_path) as server:
        yield server


def signed(tool: str, arguments: Json, sub_agent: str = "") -> Json:
    """Return the arguments as the hook hands them to the host, when an agent of the session calls a tool."""
    changes: Json = {"tool_name": f"mcp__plugin_metagit_sched__{tool}", "tool_input": arguments}
    if sub_agent:
        changes |= {"agent_id": sub_agent, "agent_type": "general-purpose"}
    record: Any = answer("claude", "stamp-agent", given("claude", "stamp-agent", **changes), {}).record
    stamped: Json = record["hookSpecificOutput"]["updatedInput"]
    return stamped


def ask(server: LiveServer, tool: str, sub_agent: str = "", **arguments: object) -> Json:
    return server.ask(tool, **signed(tool, arguments, sub_agent))


def test_two_sub_agents_on_one_connection_hold_different_leases(server: LiveServer) -> None:
    taken = [ask(server, NEXT, name, claim=True)["decisions"][0] for name in ("a0f", "a1b", "")]
    assert [(each["node_id"], each["lease"]["agent_id"]) for each in taken] == [
        ("one", f"{SESSION}/a0f"),
        ("two", f"{SESSION}/a1b"),
        ("three", SESSION),
    ]
    assert len({each["lease"]["lease_id"] for each in taken}) == 3


def test_whoever_asks_again_gets_the_lease_it_holds(server: LiveServer) -> None:
    lease = ask(server, NEXT, "a0f", claim=True)["decisions"][0]["lease"]
    again = ask(server, NEXT, "a0f", claim=True)
    assert (again["decisions"], [each["lease_id"] for each in again["held"]]) == ([], [lease["lease_id"]])
    # The other one gets a node of its own.
    other = ask(server, NEXT, "a1b", claim=True)
    assert ([each["node_id"] for each in other["decisions"]], other["held"]) == (["two"], [])


def test_a_report_on_the_lease_of_another_agent_is_refused(server: LiveServer) -> None:
    lease = ask(server, NEXT, "a0f", claim=True)["decisions"][0]["lease"]
    about: Json = {"lease_id": lease["lease_id"], "state": "completed"}
    for other in ("a1b", ""):
        refused = ask(server, REPORT, other, **about)
        assert refused["code"] == "AUTH_FORBIDDEN"
        assert f"{SESSION}/a0f" in refused["message"] + refused["hint"] + str(refused["details"])
    done = ask(server, REPORT, "a0f", **about)
    assert (done["node_status"], done["released_slot"]) == ("completed", True)


def test_what_names_its_agent_itself_is_not_signed_anew(server: LiveServer) -> None:
    arguments: Json = {"claim": True, "agent_id": "ada"}
    record = given("claude", "stamp-agent", tool_input=arguments)
    assert answer("claude", "stamp-agent", record, {}).record is None
    assert server.ask(NEXT, **arguments)["decisions"][0]["lease"]["agent_id"] == "ada"
