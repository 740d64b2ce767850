"""Whole turns of Codex with our plugin and a model that a script plays: what hooks and server do at run time.

Must not know: how a hook words its text, beyond the ids in it. What happened is read in the ledger.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.hosts.fake_model import Use
from tests.hosts.fake_responses import Asked, FakeResponses, fake_responses
from tests.hosts.turns import LEASE, ended, folder_of_workspace, leases, work
from tests.scenarios.surfaces import command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hosts.client import Client, Home
    from tests.hosts.fake_model import Reply

pytestmark = pytest.mark.hosts

OURS = "mcp__sched.metagit_"
CLAIM = Use(f"{OURS}schedule_next", {"claim": True})
# Without the first, hooks wait in silence until a person trusts them. Without the second, a server that needs more than
# a second to start has no tools in the first request.
HEADLESS = ("--json", "--skip-git-repo-check", "-c", "mcp_optional_startup_grace_ms=0")
TRUSTED = "--dangerously-bypass-hook-trust"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of_workspace(tmp_path)


def completed(lease: str) -> Use:
    return Use(f"{OURS}work_report", {"lease_id": lease, "state": "completed"})


def turn(model: FakeResponses, codex: Client, *words: str, cwd: Path, **variables: str) -> tuple[str, str]:
    """Run one turn to its good end: the session's id, and the last thing that the model said."""
    said = codex.said("exec", *words, *HEADLESS, *model.words(), "begin", cwd=cwd, **variables)
    events: list[dict[str, Any]] = [json.loads(line) for line in said.splitlines()]
    (session,) = [event["thread_id"] for event in events if event["type"] == "thread.started"]
    texts = [event["item"]["text"] for event in events if event.get("item", {}).get("type") == "agent_message"]
    return session, texts[-1]


def handed_over(asked: Asked) -> list[str]:
    """What the Stop hook told the model, in order."""
    return re.findall(r"<hook_prompt [^>]*>(.*)</hook_prompt>", asked.said)


def works(asked: Asked) -> Reply:
    return work(asked, len(handed_over(asked)), CLAIM, completed)


@pytest.mark.parametrize("trust", [(TRUSTED,), ()], ids=["by its hooks", "by what it tells the server"])
def test_a_session_and_its_sub_agent_are_two_agents(
    codex_with_plugin: Client, folder: Path, trust: tuple[str, ...]
) -> None:
    def script(asked: Asked) -> Reply:
        if "HELPER" in asked.said:
            return "helped" if asked.results else CLAIM
        match len(asked.results):
            case 0:
                return CLAIM
            case 1:
                return Use("multi_agent_v1.spawn_agent", {"message": "HELPER"})
            case 2:
                helper = asked.results[-1].json()["agent_id"]
                return Use("multi_agent_v1.wait_agent", {"targets": [helper], "timeout_ms": 30_000})
            case 3:
                return completed(leases(folder)[1][2])
            case _:
                return "done"

    with fake_responses(script) as model:
        session, said = turn(model, codex_with_plugin, *trust, cwd=folder)

    (own, first, lease), (helper, second, other) = leases(folder)
    assert own == session
    assert re.fullmatch(rf"{session}/[0-9a-f-]+", helper)
    assert first != second
    assert model.asked[-1].results[-1].json()["code"] == "AUTH_FORBIDDEN"
    assert said == "done"
    assert ended(folder, "work_completed") == []
    # Codex waits for no server at its end: whoever was in time gave back what it held, the rest runs out.
    assert set(ended(folder, "work_released")) <= {lease, other}


def test_a_session_is_told_what_it_holds_again(codex_with_plugin: Client, folder: Path) -> None:
    with fake_responses(lambda _: "done") as model:
        session, _ = turn(model, codex_with_plugin, TRUSTED, cwd=folder)
        claim = ("schedule", "next", "--claim", "--agent-id", session)
        lease = command(folder.parents[1], *claim)["decisions"][0]["lease"]["lease_id"]
        turn(model, codex_with_plugin, "resume", session, TRUSTED, cwd=folder)

    assert [LEASE.findall(asked.said) for asked in model.asked] == [[], [lease]]


def test_a_worker_is_told_of_the_next_node_once_for_each_that_it_finished(
    codex_with_plugin: Client, folder: Path
) -> None:
    with fake_responses(works) as model:
        session, said = turn(model, codex_with_plugin, TRUSTED, cwd=folder, METAGIT_WORKER_MODE="1")

    agents, nodes, own = zip(*leases(folder), strict=True)
    assert (set(agents), len(set(nodes))) == ({session}, 3)
    assert ended(folder, "work_completed") == list(own)
    assert [LEASE.findall(text) for text in handed_over(model.asked[-1])] == [[own[0]], [own[1]]]
    # For each node a claim, a report and a word at its end.
    assert len(model.asked) == 3 * 3
    assert said == "done"


def test_a_worker_that_does_not_go_on_is_left_alone(codex_with_plugin: Client, folder: Path) -> None:
    def script(asked: Asked) -> Reply:
        match len(asked.results):
            case 0:
                return CLAIM
            case 1:
                return completed(leases(folder)[0][2])
            case _:
                return "no"

    with fake_responses(script) as model:
        _, said = turn(model, codex_with_plugin, TRUSTED, cwd=folder, METAGIT_WORKER_MODE="1")

    ((_, _, lease),) = leases(folder)
    assert [LEASE.findall(text) for text in handed_over(model.asked[-1])] == [[lease]]
    # A claim, a report, and "no" twice.
    assert len(model.asked) == 4
    assert said == "no"


def test_without_trust_in_its_hooks_nothing_is_told(codex_with_plugin: Client, folder: Path) -> None:
    with fake_responses(works) as model:
        session, said = turn(model, codex_with_plugin, cwd=folder, METAGIT_WORKER_MODE="1")

    ((agent, _, lease),) = leases(folder)
    assert agent == session
    assert ended(folder, "work_completed") == [lease]
    assert re.findall("metagit: |hook_prompt", "\n".join(asked.said for asked in model.asked)) == []
    assert (len(model.asked), said) == (3, "done")


def test_a_shell_speaks_for_its_session(codex_with_plugin: Client, home: Home, folder: Path) -> None:
    claim = Use("exec_command", {"cmd": f"{home.programs}/metagit-mcp schedule next --claim --json"})

    with fake_responses(lambda asked: "done" if asked.results else claim) as model:
        session, _ = turn(model, codex_with_plugin, "--dangerously-bypass-approvals-and-sandbox", cwd=folder)

    assert [agent for agent, _, _ in leases(folder)] == [session]
