"""Calls of our tools are signed with the agent that makes them, and nothing else is changed or decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.interfaces.hooks.stamp import SIGNED
from tests.interfaces.hooks.documented import HOSTS, SESSION, assert_documented, given
from tests.interfaces.hooks.fixtures import clean, run

if TYPE_CHECKING:
    from tests.interfaces.hooks.fixtures import Workshop

EVENT = "stamp-agent"
TOOLS = Path(__file__).resolve().parents[2] / "golden" / "tools_list.json"
INPUT = {"claim": True, "graph_id": "shop", "agent_id": SESSION}
SIGNED_AS = {
    "claude": {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": INPUT}},
    "codex": {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": INPUT}
    },
    "cursor": {"permission": "allow", "updated_input": INPUT},
}


def stamp(workshop: Workshop, environ: dict[str, str] | None = None, **changes: object) -> str | None:
    """Return the agent that Claude Code's call is signed with."""
    record: Any = workshop.ask("claude", EVENT, environ, **changes).record
    assert_documented("claude", EVENT, record)
    return None if record is None else str(record["hookSpecificOutput"]["updatedInput"]["agent_id"])


@pytest.mark.parametrize("host", HOSTS)
def test_a_call_is_signed_as_its_host_wants_it(host: str, workshop: Workshop) -> None:
    assert workshop.ask(host, EVENT).record == SIGNED_AS[host]
    ran = workshop.run(host, EVENT)
    assert (ran.code, ran.record, ran.err) == (0, SIGNED_AS[host], "")


def test_it_needs_no_workspace(tmp_path: Path) -> None:
    ran = run(EVENT, json.dumps(given("claude", EVENT)), environ=clean(), cwd=tmp_path)
    assert (ran.code, ran.record) == (0, SIGNED_AS["claude"])


def test_the_tools_that_are_signed_are_those_that_ask_who_calls() -> None:
    listed: Any = json.loads(TOOLS.read_text())
    tools = listed if isinstance(listed, list) else listed["tools"]
    about = {each["name"]: each["inputSchema"]["properties"].get("agent_id", {}).get("description") for each in tools}
    # Where it is a hint about a node, a stamp would change the node; where there is none, the call would be refused.
    asking = {name for name, told in about.items() if told and not told.startswith("Which agent fits")}
    assert asking == SIGNED
    assert set(about) - asking


@pytest.mark.parametrize(
    "tool_name",
    [
        "mcp__plugin_metagit_sched__metagit_schedule_status",
        "mcp__metagit__metagit_task_update",
        "mcp__metagit__metagit_task_plan",
        "mcp__other__claim",
        "metagit_schedule_next",
        "Bash",
        "",
        None,
        7,
    ],
)
def test_other_tools_are_left_alone(tool_name: object, workshop: Workshop) -> None:
    assert stamp(workshop, tool_name=tool_name) is None


@pytest.mark.parametrize("tool", sorted(SIGNED))
@pytest.mark.parametrize("server", ["mcp__metagit__", "mcp__plugin_metagit_sched__", "mcp__sched__"])
def test_a_server_may_have_any_name(server: str, tool: str, workshop: Workshop) -> None:
    assert stamp(workshop, tool_name=f"{server}{tool}") == SESSION


@pytest.mark.parametrize("empty", [None, "", "  "])
def test_an_empty_agent_is_filled_in(empty: str | None, workshop: Workshop) -> None:
    assert stamp(workshop, tool_input={"agent_id": empty}) == SESSION


@pytest.mark.parametrize("named", ["ada", 7, ["ada"], {}])
def test_an_agent_that_is_named_stays(named: object, workshop: Workshop) -> None:
    assert stamp(workshop, tool_input={"agent_id": named}) is None


@pytest.mark.parametrize("tool_input", [None, "{}", [], 3])
def test_an_input_that_is_no_object_is_left_alone(tool_input: object, workshop: Workshop) -> None:
    assert stamp(workshop, tool_input=tool_input) is None


@pytest.mark.parametrize(
    ("environ", "changes", "agent_id"),
    [
        ({}, {}, SESSION),
        ({}, {"agent_id": "a0f"}, f"{SESSION}/a0f"),
        ({"CLAUDE_PLUGIN_OPTION_AGENT_ID": "team"}, {}, "team"),
        ({"CLAUDE_PLUGIN_OPTION_AGENT_ID": "team", "METAGIT_AGENT_ID": "ada"}, {}, "ada"),
        ({"METAGIT_AGENT_ID": "ada"}, {"agent_id": "a0f"}, "ada/a0f"),
        ({"METAGIT_AGENT_ID": "  ", "CLAUDE_PLUGIN_OPTION_AGENT_ID": "${user_config.agent_id}"}, {}, SESSION),
        ({"METAGIT_AGENT_ID": "ada"}, {"session_id": None}, "ada"),
        ({}, {"session_id": None, "conversation_id": "c-1"}, "c-1"),
        # What is no agent's id is nobody.
        ({}, {"session_id": None}, None),
        ({}, {"session_id": "", "agent_id": "a0f"}, None),
        ({}, {"session_id": "a b"}, None),
        ({}, {"session_id": "-a"}, None),
        # A sub-agent of any name is not its parent.
        ({}, {"agent_id": "x y"}, f"{SESSION}/x-887fcea6a80333c6"),
        ({}, {"agent_id": "x" * 256}, f"{SESSION}/x-85e62acd750c4eb5"),
        ({"METAGIT_AGENT_ID": "a\nb"}, {}, None),
        ({}, {"session_id": 5}, None),
    ],
)
def test_who_calls(
    environ: dict[str, str], changes: dict[str, object], agent_id: str | None, workshop: Workshop
) -> None:
    assert stamp(workshop, environ, **changes) == agent_id
