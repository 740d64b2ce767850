"""Builds a workspace with metagit-cli's own commands, and starts this project's command line beside it.

Must not know: how either program stores anything. Files are looked at only where a test is about a file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.interop.peer import CALL_SECONDS, Metagit, environment, run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

REPOSITORY = "default/api"
PRESSED = "default/web"
OUTLINE: list[dict[str, Any]] = [
    {"node_id": "schema", "title": "Design schema", "repository": REPOSITORY, "project": "default"},
    {"node_id": "api", "title": "Build API", "repository": REPOSITORY, "project": "default", "depends_on": ["schema"]},
    {"node_id": "web", "title": "Build web", "repository": PRESSED, "project": "default", "depends_on": ["schema"]},
    {"node_id": "docs", "title": "Write docs"},
    {"node_id": "ship", "title": "Ship it", "depends_on": ["api", "web", "docs"]},
    {"node_id": "legal", "title": "Ask a lawyer"},
    {"node_id": "logo", "title": "Draw a logo"},
]

SHORT_OUTLINE: list[dict[str, Any]] = [
    {"node_id": "survey", "title": "Survey"},
    {"node_id": "report", "title": "Report"},
]


@dataclass(frozen=True)
class Ours:
    """This project's command line at one workspace root."""

    root: Path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "metagit_mcp", *arguments, "--json", "--workspace", str(self.root)]

    def json(self, *arguments: str, codes: Iterable[int] = (0,)) -> Any:  # noqa: ANN401 - any tool's answer
        """The parsed answer of one command; it must end with one of `codes`."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.root,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=CALL_SECONDS,
        )
        assert done.returncode in codes, (arguments, done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def started(self, *arguments: str) -> subprocess.Popen[str]:
        return started(self.command(*arguments), self.root)


def started(command: list[str], root: Path) -> subprocess.Popen[str]:
    """A running command whose output is read later."""
    return subprocess.Popen(
        command,
        cwd=root,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def build(root: Path) -> Metagit:
    """A workspace in which metagit finished, started and blocked work, warmed one repository and queued merges."""
    metagit = Metagit(root)
    metagit.run("init", ".", "--no-prompt", "--minimal", "-k", "umbrella", "-n", "demo")
    create_graph(metagit, "g1", OUTLINE)
    create_graph(metagit, "g2", SHORT_OUTLINE)
    metagit.run("task", "start", "--graph-id", "g1", "--node-id", "schema")
    metagit.run("task", "complete", "--graph-id", "g1", "--node-id", "schema")
    metagit.run("task", "start", "--graph-id", "g2", "--node-id", "survey")
    metagit.run("task", "block", "--graph-id", "g1", "--node-id", "legal", "--reason", "no answer yet")
    metagit.run("schedule", "policy", "set", "--priority", "2", "--cost", "0.75")
    metagit.run("schedule", "policy", "set", "--graph-id", "g1", "--affinity", "0.6")
    warm_repository(metagit)
    for branch in ("one", "two", "three"):
        metagit.run(
            *("merge", "enqueue", "--repository", PRESSED, "--branch", f"agent/{branch}"),
            *("--into", "main", "--repo-path", "."),
        )
    metagit.run("schedule", "next", "--json")
    return metagit


def create_graph(metagit: Metagit, graph: str, outline: list[dict[str, Any]]) -> None:
    metagit.run("task", "create", "--title", f"Graph {graph}", "--goal", "Ship it", "--graph-id", graph)
    metagit.run("task", "expand", "--graph-id", graph, stdin=json.dumps(outline))


def warm_repository(metagit: Metagit) -> None:
    """Give an agent a worktree of `REPOSITORY`: metagit makes one only of a real repository in its manifest."""
    root, author = metagit.root, ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    checkout = root / ".metagit" / REPOSITORY
    checkout.mkdir(parents=True)
    run(["git", "init", "-q", "-b", "main"], cwd=checkout)
    run(["git", *author, "commit", "-q", "--allow-empty", "-m", "First"], cwd=checkout)
    manifest = (root / ".metagit.yml").read_text(encoding="utf-8")
    listed = f"    repos:\n    - name: api\n      path: .metagit/{REPOSITORY}\n"
    (root / ".metagit.yml").write_text(manifest.replace("    repos: []\n", listed), encoding="utf-8")
    agent = ["--repository", REPOSITORY, "--agent-id", "agent-1", "--task-id", "api"]
    branch = metagit.run("branch", "allocate", *agent).split("\t")[1]
    metagit.run("lease", "acquire", *agent, "--branch", branch)
    metagit.run("worktree", "create", *agent, "--branch", branch)
