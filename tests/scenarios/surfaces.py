"""The two surfaces as processes of their own on a workspace: a server on its raw wire, and one command.

Every wait is bounded. It must not know what a test expects beyond whether a call is refused.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests import ready
from tests.interfaces.cli.fake_runs import ROOT, WAIT_S, environment, said_aside
from tests.interfaces.mcp.raw_wire import MODERN, RawServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PROGRAM = [sys.executable, "-m", "metagit_mcp"]
# Those of the task graphs are there only on request.
ALL_TOOLS = ("--toolsets", "schedule,work,tasks")
NOW = "2026-12-01T12:00:00Z"
STILL = {"METAGIT_MCP_CLOCK": NOW, "METAGIT_MCP_IDS": "scenario"}
Json = dict[str, Any]


class Server:
    """A server process; short tool names, as in `call("schedule_next", limit=2)`."""

    def __init__(self, raw: RawServer) -> None:
        self.raw = raw

    def begin(self, tool: str, **arguments: object) -> int:
        """Ask, and return the id of the request."""
        return self.raw.begin("tools/call", {"name": f"metagit_{tool}", "arguments": arguments})

    def outcome(self, request_id: int) -> tuple[bool, Json]:
        """Whether the tool refused, and what it said."""
        result = self.raw.answer(request_id)["result"]
        (block,) = result["content"]
        record: Json = json.loads(block["text"])
        refused = bool(result.get("isError", False))
        assert result.get("structuredContent", record) == record
        return refused, record

    def call(self, tool: str, **arguments: object) -> Json:
        """What the tool answers."""
        refused, record = self.outcome(self.begin(tool, **arguments))
        assert not refused, record
        return record

    def refusal(self, tool: str, **arguments: object) -> Json:
        """The error with which the tool refuses."""
        refused, record = self.outcome(self.begin(tool, **arguments))
        assert refused, record
        return record


@contextmanager
def serving(root: Path, *flags: str, env: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A server of the workspace, which must end well and say nothing on standard error."""
    words = [*PROGRAM, "serve", "--workspace", str(root), *ALL_TOOLS, *flags]
    with RawServer(words, env=environment(**(env or {})), cwd=ROOT) as raw:
        raw.enter(MODERN)
        yield Server(raw)
        assert (raw.close(), raw.stderr) == (0, "")


def command(root: Path, *arguments: str, code: int = 0, env: Mapping[str, str] | None = None) -> Json:
    """What one command prints with --json; it must end with `code`."""
    ended = ready.run(
        [*PROGRAM, *arguments, "--workspace", str(root), "--json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(**(env or {})),
        cwd=ROOT,
        timeout=WAIT_S,
        check=False,
    )
    record: Json = json.loads(ended.stdout)
    aside = said_aside(code, record)
    assert (ended.returncode, ended.stderr, ended.stdout.count("\n")) == (code, aside, 1), ended
    return record


def lines_of(path: Path) -> list[Json]:
    """Every line of a log; each must be an object."""
    return [dict(json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def chosen(answer: Json) -> list[str]:
    """The ids of the decisions, in their order."""
    return [each["node_id"] for each in answer["decisions"]]


def against(answer: Json) -> dict[str, int]:
    """How many nodes are not eligible, by reason."""
    return {each["reason"]: each["nodes"] for each in answer["not_eligible"]}
