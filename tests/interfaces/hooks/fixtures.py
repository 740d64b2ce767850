"""A workspace, agents at work in it, and hooks run on it: in this process, and in one of their own.

It must not know what hooks should answer.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from subprocess import PIPE
from typing import TYPE_CHECKING, Any

from metagit_mcp.interfaces.hooks.calls import Call
from metagit_mcp.interfaces.hooks.events import answer_to
from tests import ready
from tests.interfaces.hooks.documented import given
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from metagit_mcp.interfaces.hooks.hosts import Said

Json = dict[str, Any]
LIMIT_S = 30
# What the shell of whoever runs the tests may have set.
OURS = ("CLAUDE", "CODEX", "CURSOR", "METAGIT", "PLUGIN", "WORKSPACE_FOLDER", "XDG_STATE")


def clean(**variables: str) -> dict[str, str]:
    """Return this process's environment without what hosts set, and with these."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(OURS)}
    return {**kept, **variables}


@dataclass(frozen=True)
class Ran:
    """How a hook ended."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> Json | None:
        return json.loads(self.out) if self.out else None


def run(event: str, text: str | bytes, *flags: str, environ: Mapping[str, str], cwd: Path | None = None) -> Ran:
    """Run a hook in a process of its own."""
    words = [sys.executable, "-m", "metagit_mcp", "hook", event, *flags]
    with ready.Popen(words, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=dict(environ), cwd=cwd) as process:
        out, err = process.communicate(text if isinstance(text, bytes) else text.encode(), timeout=LIMIT_S)
    return Ran(process.returncode, out.decode(), err.decode())


def answer(host: str, event: str, record: Json, environ: Mapping[str, str]) -> Said:
    """Answer an event in this process."""
    return answer_to(Call(event, host), record, environ)


class Workshop:
    """A workspace with two Groups, the folder in which hooks keep what they told, and agents in it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.state = folder / "ws", folder / "state"
        self.root.mkdir()
        (self.root / ".metagit/tasks").mkdir(parents=True)
        self.desk = Desk(self.root)
        self.desk.graph("shop", *(node(name, priority=9 - place) for place, name in enumerate(("api", "page", "mail"))))
        self.desk.graph("docs", node("guide"))
        self.environ = {
            "CLAUDE_PROJECT_DIR": str(self.root),
            "XDG_STATE_HOME": str(self.state),
            "METAGIT_MCP_CLOCK": f"@{self.desk.clock}",
        }

    def close(self) -> None:
        """Let go of the files."""
        self.desk.application.close()

    @staticmethod
    def node(node_id: str, **fields: object) -> Json:
        """A node as a file has it."""
        return node(node_id, **fields)

    @staticmethod
    def gated(node_id: str) -> Json:
        """A node that a person has to approve."""
        return node(node_id, approval="human_required")

    def ask(self, host: str, event: str, environ: Mapping[str, str] | None = None, **changes: object) -> Said:
        """Answer an event in this process."""
        return answer(host, event, given(host, event, **changes), {**self.environ, **(environ or {})})

    def run(self, host: str, event: str, environ: Mapping[str, str] | None = None, **changes: object) -> Ran:
        """Answer an event in a process of its own."""
        known = clean(**{**self.environ, **(environ or {})})
        return run(event, json.dumps(given(host, event, **changes)), "--host", host, environ=known, cwd=self.root)
