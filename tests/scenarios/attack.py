"""The real program on a workspace: one run of a command, or a server over its raw wire. Every wait is bounded.

It must not know what the program answers, nor import any of its parts.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests import ready
from tests.interfaces.cli.fake_runs import ROOT, environment
from tests.interfaces.mcp.raw_wire import RawServer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

PROGRAM = [sys.executable, "-m", "metagit_mcp"]
WAIT_S = 60.0
# Those of the task graphs are there only on request.
ALL_TOOLS = ("--toolsets", "schedule,work,tasks")
ANSWER_LIMIT = 40_000
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
        assert (self.out.count(b"\n"), self.out[-1:]) == (1, b"\n"), self
        record: Json = json.loads(self.out)
        return record

    @property
    def refusal(self) -> tuple[int, str]:
        """The exit code and the code of the error, which says nothing on standard error."""
        assert self.err == b"", self
        return self.code, str(self.record["code"])


class Run:
    """A command on a workspace, on its way; `limits` are resource limits, `text` is its standard input."""

    def __init__(
        self,
        root: Path,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        limits: Mapping[int, int] | None = None,
        text: str | None = None,
    ) -> None:
        self._text = None if text is None else text.encode()
        self._process = ready.Popen(
            [*PROGRAM, *arguments, "--workspace", str(root)],
            stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(**(env or {})),
            cwd=ROOT,
            preexec_fn=_limiting(limits) if limits else None,  # no test with limits has threads
        )

    def ended(self) -> Ended:
        """Wait for its end."""
        with self._process as process:
            try:
                out, err = process.communicate(self._text, timeout=WAIT_S)
            finally:
                process.kill()
        return Ended(process.returncode, out, err)


def run(root: Path, *arguments: str, **how: Any) -> Ended:  # noqa: ANN401 - as `Run` takes it
    """Run a command on a workspace to its end, with `--json`."""
    return Run(root, *arguments, "--json", **how).ended()


def shown(root: Path, *arguments: str, **how: Any) -> str:  # noqa: ANN401 - as `Run` takes it
    """What a command that ends well prints for people."""
    end = Run(root, *arguments, **how).ended()
    assert (end.code, end.err) == (0, b""), end
    return end.out.decode()


def _limiting(limits: Mapping[int, int]) -> Callable[[], None]:
    def limit() -> None:
        for what, most in limits.items():
            resource.setrlimit(what, (most, most))

    return limit


class Server(RawServer):
    """`metagit-mcp serve` on a workspace."""

    def __init__(self, root: Path, *flags: str, env: Mapping[str, str] | None = None, **how: Any) -> None:  # noqa: ANN401 - as RawServer
        words = [*PROGRAM, "serve", "--workspace", str(root), *ALL_TOOLS, *flags]
        super().__init__(words, env=environment(**(env or {})), cwd=ROOT, **how)

    def ask(self, tool: str, **arguments: Any) -> Json:  # noqa: ANN401 - any JSON
        """Call `metagit_<tool>`; return the record it answers, or the record of its refusal."""
        return record_of(self.call_tool(f"metagit_{tool}", arguments))

    def refusal(self, tool: str, **arguments: Any) -> tuple[str, str]:  # noqa: ANN401 - any JSON
        """The code of a refusal and the field it names."""
        record = self.ask(tool, **arguments)
        return str(record.get("code")), str(record.get("details", {}).get("field"))

    def end(self) -> None:
        """End it as hosts do; it must end well and have said nothing."""
        assert (self.close(), self.stderr) == (0, "")


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


def offered(answer: Json) -> list[str]:
    """The nodes of an answer, in its order."""
    return [each["node_id"] for each in answer["decisions"]]


def logs_parse(root: Path) -> bool:
    """Whether every log of the workspace is whole objects, one a line."""
    found = [log.read_bytes() for log in root.rglob("*.jsonl")]
    return all(
        (not raw or raw.endswith(b"\n")) and all(isinstance(json.loads(line), dict) for line in raw.splitlines())
        for raw in found
    )
