"""People are told commands and flags; what is a place in a file or a command already stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import InvalidInput, NodeNotEligible
from metagit_mcp.interfaces.cli.wording import for_people
from metagit_mcp.interfaces.mcp.tools import TOOLS
from tests.interfaces.mcp.fake_application import DECISION, next_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interfaces.cli.conftest import Ended

    Run = Callable[..., Ended]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("metagit_schedule_next gives the next node.", "metagit-mcp schedule next gives the next node."),
        (
            "Set it to running with metagit_task_update and your agent_id, or to blocked with blocker_reason.",
            "Set it to running with metagit-mcp task update and your --agent-id, or to blocked with --blocker-reason.",
        ),
        ("Pass graph_id=shop to add to it.", "Pass --graph-id shop to add to it."),
        (
            "metagit_schedule_next with preview=true and limit=3 only looks.",
            "metagit-mcp schedule next with --preview and --limit 3 only looks.",
        ),
        (
            "action=preview shows it, action=set makes it.",
            "metagit-mcp schedule policy preview shows it, metagit-mcp schedule policy set makes it.",
        ),
        (
            "Report with metagit_work_report and lease_id L-1, or give it back with state=released.",
            "Report with metagit-mcp work report and --lease-id L-1, or give it back with --state released.",
        ),
        (
            "metagit_schedule_next with claim=true, or metagit_work_start.",
            "metagit-mcp schedule next with --claim, or metagit-mcp work start.",
        ),
        ("pass new_session=true if it is dead", "pass --new-session if it is dead"),
        ("graph_id: Only this graph.", "--graph-id: Only this graph."),
        ("status=running on a node", "--status running on a node"),
    ],
)
def test_tools_and_arguments_become_commands_and_flags(said: str, told: str) -> None:
    assert for_people(said) == told


@pytest.mark.parametrize(
    "text",
    [
        "graph shop: nodes/0/node_id: must be letters",
        "graph shop: build/agent_id: should be a valid string",
        """metagit-mcp schedule policy set --patch '{"groups":{"graph_id":{"quota":null}}}'""",
        "metagit-mcp work approve build --graph-id=shop",
        "shop.graph_id and my-node_id are ids",
        "priority=3, cost=0.2500(tokens=1000)",
        "",
    ],
)
def test_what_is_no_argument_stays(text: str) -> None:
    assert for_people(text) == text


def test_every_tool_has_its_command() -> None:
    assert [name for entry in TOOLS if "metagit_" in (name := for_people(entry.name))] == []


def test_an_answer_is_told_in_commands_and_its_json_is_not(run: Run) -> None:
    answer = replace(
        next_answer(DECISION),
        warnings=("odd: metagit_schedule_status says why",),
        next_step="metagit_task_update with agent_id.",
    )
    told = run("schedule", "next", schedule_next=answer).out.splitlines()
    assert told[-2:] == [
        "warning: odd: metagit-mcp schedule status says why",
        "next step: metagit-mcp task update with --agent-id.",
    ]
    record = run("schedule", "next", "--json", schedule_next=answer).record
    assert (record["warnings"], record["next_step"]) == ([*answer.warnings], answer.next_step)


def test_an_error_is_told_in_commands_and_its_json_is_not(run: Run) -> None:
    error = NodeNotEligible("It may not.", hint="metagit_schedule_next gives a node that may.")
    told = run("schedule", "next", schedule_next=error).err.splitlines()
    assert told[1] == "hint: metagit-mcp schedule next gives a node that may."
    assert run("schedule", "next", "--json", schedule_next=error).record["hint"] == error.hint
    again = InvalidInput("graph_id: must be an id", hint="Leave graph_id out.")
    assert run("schedule", "next", schedule_next=again).err.splitlines() == [
        "error: --graph-id: must be an id [INVALID_INPUT]",
        "hint: Leave --graph-id out.",
    ]
