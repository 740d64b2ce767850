"""The real program on a workspace: one run of a command, or a server over its raw wire. Every wait is bounded.

It must not know what the program answers, nor import any of its parts.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.interfaces.cli.fake_runs import ROOT, environment
from tests.interfaces.mcp.raw_wire import RawServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PROGRAM = [sys.executable, "-m", "metagit_mcp"]
WAIT_S = 60.0
ANSWER_LIMIT = 40_000
NOBODY = 65534
Json = dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """A run that is over."""

    code: int
    out: bytes
    err: bytes

    @property
    def record(self) -> Json:
        """The one line of JSON on standard output."""
        assert (self.out.count(b"\n"), self.out[-1:]) == (1, b"\n"), (self.code, self.out[:500], self.err[-2000:])
        record: Json = json.loads(self.out)
        return record


def started(root: Path, *arguments: str, env: Json | None = None, limits: Sequence[tuple[int, int]] = ()) -> Any:  # noqa: ANN401 - Popen[bytes] is no class at run time
    """Start a command on a workspace, under resource limits if any are named."""
    return subprocess.Popen(
        [*PROGRAM, *arguments, "--workspace", str(root)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**(env or {})),
        cwd=ROOT,
        preexec_fn=_limiting(limits) if limits else None,
    )


def ended(process: Any) -> Ended:  # noqa: ANN401 - as above
    """Wait for a run."""
    with process:
        try:
            out, err = process.communicate(timeout=WAIT_S)
        finally:
            process.kill()
    return Ended(process.returncode, out, err)


def run(root: Path, *arguments: str, **how: Any) -> Ended:  # noqa: ANN401 - as `started`
    """Run a command on a workspace to its end, with `--json`."""
    return ended(started(root, *arguments, "--json", **how))


def _limiting(limits: Sequence[tuple[int, int]]) -> Callable[[], None]:
    def limit() -> None:
        for what, most in limits:
            resource.setrlimit(what, (most, most))

    return limit


class Server(RawServer):
    """`metagit-mcp serve` on a workspace."""

    def __init__(self, root: Path, *flags: str, env: Json | None = None, **how: Any) -> None:  # noqa: ANN401 - as RawServer
        super().__init__(
            [*PROGRAM, "serve", "--workspace", str(root), *flags], env=environment(**(env or {})), cwd=ROOT, **how
        )

    def ask(self, tool: str, **arguments: Any) -> Json:  # noqa: ANN401 - any JSON
        """Call `metagit_<tool>`; return the record it answers or the record of its refusal."""
        return record_of(self.call_tool(f"metagit_{tool}", arguments))


def record_of(message: Json) -> Json:
    """The record in the answer of a tool: checked to be small, and the same as text and as structured content."""
    result = message["result"]
    (block,) = result["content"]
    record: Json = json.loads(block["text"])
    assert len(block["text"].encode()) <= ANSWER_LIMIT
    if not result.get("isError"):
        assert result["structuredContent"] == record
    return record


def graphs_of(root: Path) -> Path:
    """The folder of task graphs, made if need be."""
    folder = root / ".metagit" / "tasks" / "graphs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def reader(root: Path) -> None:
    """Let every other user read the workspace."""
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)


__all__ = [
    "ANSWER_LIMIT",
    "NOBODY",
    "PROGRAM",
    "Ended",
    "Server",
    "ended",
    "graphs_of",
    "os",
    "reader",
    "run",
    "started",
]
