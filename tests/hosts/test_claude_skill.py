"""The skill of the plugin in Claude Code: who begins with it is asked for no call of the loop, and for all others.

Must not know: what the skill says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hosts.fake_anthropic import Asked, fake_anthropic
from tests.hosts.fake_model import Use
from tests.hosts.talk import Talk
from tests.hosts.turns import ended, folder_of_workspace, leases

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hosts.client import Client
    from tests.hosts.fake_model import Reply

pytestmark = pytest.mark.hosts

OURS = "mcp__plugin_metagit_sched__metagit_"
BEGIN = "/metagit:work-loop"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of_workspace(tmp_path)


def test_the_loop_runs_without_a_question(claude_with_plugin: Client, folder: Path) -> None:
    def script(asked: Asked) -> Reply:
        match len(asked.results):
            case 0:
                return Use(f"{OURS}schedule_next", {"claim": True})
            case 1:
                return Use(f"{OURS}schedule_status")
            case 2:
                return Use(f"{OURS}work_report", {"lease_id": leases(folder)[0][2], "state": "completed"})
            case _:
                return "done"

    with fake_anthropic(script) as model, Talk(claude_with_plugin, cwd=folder, **model.environment()) as talk:
        turn = talk.say(BEGIN)

    assert turn["permission_denials"] == []
    assert [got.is_error for got in model.asked[-1].results] == [False, False, False]
    ((agent, _, lease),) = leases(folder)
    assert (agent, ended(folder, "work_completed")) == (turn["session_id"], [lease])


def test_what_is_not_of_the_loop_is_asked_for(claude_with_plugin: Client, folder: Path) -> None:
    policy = {"action": "show"}

    def script(asked: Asked) -> Reply:
        return "done" if asked.results else Use(f"{OURS}schedule_policy", policy)

    with fake_anthropic(script) as model, Talk(claude_with_plugin, cwd=folder, **model.environment()) as talk:
        turn = talk.say(BEGIN)

    (denied,) = turn["permission_denials"]
    assert (denied["tool_name"], denied["tool_input"]) == (f"{OURS}schedule_policy", policy)
