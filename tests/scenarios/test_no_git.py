"""RFC-0012 accepts no scheduler that needs git: neither git nor any other program is run by a command or a server.

The search path has nothing but a `git` that fails loudly, and everything lies where git would be of use.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.interfaces.cli.fake_runs import environment
from tests.interfaces.mcp.raw_wire import RawServer
from tests.scenarios.claiming import told_by
from tests.scenarios.surfaces import ALL_TOOLS, Json, Server
from tests.scenarios.written import put_merges, put_rows, workspace
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 60


@pytest.fixture
def loud_git(tmp_path: Path) -> tuple[dict[str, str], Path]:
    """A search path with nothing but a `git` that fails and leaves a trace."""
    programs, trace = tmp_path / "programs", tmp_path / "git-was-run"
    programs.mkdir()
    (programs / "git").write_text(f'#!/bin/sh\necho "$@" >> {trace}\necho "git was run" >&2\nexit 99\n')
    (programs / "git").chmod(0o755)
    return {"PATH": str(programs)}, trace


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The worktree of a repository whose main checkout is the workspace, as git lays them out."""
    main, worktree = tmp_path / "main", tmp_path / "worktree"
    own = main / ".git" / "worktrees" / "worktree"
    own.mkdir(parents=True)
    worktree.mkdir()
    (main / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "commondir").write_text("../..\n")
    (worktree / ".git").write_text(f"gitdir: {own}\n")
    workspace(main, node("a", repository="p/web", risk="destructive"), node("b", repository="p/api"))
    put_rows(main, {"repository": "p/web", "path": str(worktree)})
    put_merges(main, "p/api", "queued", "running", "queued")
    return worktree


COMMANDS = [
    "schedule next --limit 3",
    "schedule next --preview --json",
    "schedule status --node-id a",
    "schedule explain b --json",
    "schedule count",
    "schedule plan --mermaid",
    "schedule policy show",
    "schedule policy preview --cost 0",
    "schedule policy set --priority 2",
    'task plan --title Ship --nodes [{"title":"Build"}]',
    "task list",
    "task show a",
    "task update b --status running --agent-id ada",
    "work approve a --operator ada",
    "schedule next --claim --agent-id ada --limit 2",
    "work start a --agent-id ada",
    "schedule next --claim --agent-id ada --json",
    "init --nested",
    "schemas export made",
    "schemas check made",
]
CALLS: list[tuple[str, Json]] = [
    ("schedule_next", {}),
    ("schedule_status", {"node_id": "a"}),
    ("schedule_policy", {"action": "set", "cost": 0.5}),
    ("schedule_policy", {"action": "preview", "affinity": 0}),
    ("task_plan", {"title": "Ship", "outline": "Build\nTest (after: build)\n"}),
    ("task_update", {"node_id": "b", "status": "running", "agent_id": "ada"}),
    ("schedule_next", {"claim": True, "graph_id": "ship", "agent_id": "bob"}),
    ("work_start", {"node_id": "build", "graph_id": "ship", "agent_id": "bob"}),
]


def test_commands_run_no_git_and_no_other_program(
    checkout: Path, loud_git: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    path, trace = loud_git
    ended = subprocess.run(
        [sys.executable, "-m", "tests.scenarios.alone", json.dumps([line.split() for line in COMMANDS])],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(**path),
        cwd=checkout,
        timeout=SECONDS,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, json.dumps([0] * len(COMMANDS)))
    assert not trace.exists()
    schedule = tmp_path / "main" / ".metagit" / "schedule"
    approved = told_by(schedule / "ledger.db", "approval_granted")
    assert [each["approval"]["node_id"] for each in approved] == ["a"]


def test_a_server_runs_no_git_and_no_other_program(checkout: Path, loud_git: tuple[dict[str, str], Path]) -> None:
    path, trace = loud_git
    words = [sys.executable, "-m", "tests.scenarios.alone", json.dumps([["serve", *ALL_TOOLS]])]
    with RawServer(words, env=environment(**path), cwd=checkout) as raw:
        server = Server(raw)
        for tool, arguments in CALLS:
            server.call(tool, **arguments)
        assert (raw.close(), raw.stderr) == (0, "[0]")
    assert not trace.exists()
