"""The program of the page about the Claude Agent SDK schedules work: real sessions, a model that is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.hosts.fake_anthropic import Asked, fake_anthropic
from tests.hosts.fake_model import Use
from tests.recipes.blocks import written
from tests.recipes.frameworks import ran, running
from tests.recipes.shop import until

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.hosts.fake_model import Reply
    from tests.recipes.shop import Shop

pytestmark = pytest.mark.interop
PAGE: Final = "claude-agent-sdk"
CLAIM: Final = Use("mcp__metagit__metagit_schedule_next", {"claim": True, "agent_id": "a wrong one"})
ORDER: Final = "Take a node, builder."


def works(asked: Asked) -> Reply:
    """Take a node, report it, stop; one of them cannot go on."""
    if not asked.results:
        return CLAIM
    if len(asked.results) > 1 or not asked.results[0].json()["decisions"]:
        return "done"
    lease = asked.results[0].json()["decisions"][0]["lease"]
    ended: dict[str, Any] = {"state": "completed", "result": {"summary": "It stands."}}
    if lease["node_id"] == "cart":
        ended = {"state": "blocked", "note": "Which currency?"}
    return Use("mcp__metagit__metagit_work_report", {"lease_id": lease["lease_id"], **ended})


def delegates(asked: Asked) -> Reply:
    """Have two sub-agents take a node each, at the same time; they stop without a report."""
    if ORDER in asked.said:
        return "taken" if asked.results else CLAIM
    if asked.results:
        return "done"
    order = {"subagent_type": "builder", "prompt": ORDER, "run_in_background": False}
    return [Use("Agent", {**order, "description": each}) for each in ("one", "two")]


def test_agents_take_and_report_nodes_each_under_its_name(shop: Shop, tmp_path: Path) -> None:
    words = (written(PAGE, "crew.py", tmp_path), "crew/ada", "crew/bob")
    with fake_anthropic(works) as model:
        ran(PAGE, *words, cwd=shop.root, said=tmp_path / "said", **model.environment())
    history = shop.history()
    assert sorted((what, node_id) for what, node_id, _ in history) == [
        *(("blocked", "cart"), ("completed", "search"), ("started", "cart"), ("started", "search")),
    ]
    # Whoever took a node reported it, and none of them as whom the model said.
    doers = {(node_id, agent_id) for _, node_id, agent_id in history}
    assert len(doers) == 2
    assert {agent_id for _, agent_id in doers} <= {"crew/ada", "crew/bob"}
    # The servers of the sessions bring the file in step when they end.
    until(lambda: shop.statuses() == {"search": "completed", "cart": "blocked", "till": "pending"}, tmp_path / "said")


def test_sub_agents_have_names_and_nodes_of_their_own(shop: Shop, tmp_path: Path) -> None:
    words = (written(PAGE, "crew.py", tmp_path), "crew/ada")
    with fake_anthropic(delegates) as model:
        ran(PAGE, *words, cwd=shop.root, said=tmp_path / "said", **model.environment())
    # What they did not report is given back when the session ends.
    until(lambda: len(shop.history()) == 4, tmp_path / "said")
    assert sorted((what, node_id) for what, node_id, _ in shop.history()) == [
        *(("released", "cart"), ("released", "search"), ("started", "cart"), ("started", "search")),
    ]
    names = {agent_id for _, _, agent_id in shop.history()}
    assert [name.rpartition("/")[0] for name in names] == ["crew/ada", "crew/ada"]


def test_a_session_whose_program_was_killed_reports_nothing_and_gives_its_node_back(shop: Shop, tmp_path: Path) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def script(asked: Asked) -> Reply:
        if len(asked.results) == 1:
            # The session has its node, and nobody is there any more to say who it is.
            started[0].kill()
        return works(asked)

    words = (written(PAGE, "crew.py", tmp_path), "crew/ada")
    with (
        fake_anthropic(script) as model,
        running(PAGE, *words, cwd=shop.root, said=tmp_path / "said", **model.environment()) as program,
    ):
        started.append(program)
        until(lambda: len(shop.history()) == 2, tmp_path / "said")
    assert shop.history() == [("started", "search", "crew/ada"), ("released", "search", "crew/ada")]
