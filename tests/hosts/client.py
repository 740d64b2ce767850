"""The client of an agent host, with a home of its own, no account and no network; and what it says to the server.

Must not know: the plugin. Every wait is bounded, also where a hook or a server hangs.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = Path(sys.executable).with_name("metagit-mcp")
BETWEEN = Path(__file__).with_name("between.py")
CALL_SECONDS = 60
# What still writes after it was killed is not waited for longer than this.
_LAST_S = 10
# No usage data, no reports of errors, no look for updates: nothing but what the test asks for.
SWITCHES = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
CODEX_CONFIG = """\
check_for_update_on_startup = false

[analytics]
enabled = false
"""


@dataclass(frozen=True)
class Client:
    """One client in one home; `environ` is all that it sees of the environment."""

    program: Path
    environ: Mapping[str, str]

    def run(
        self, *words: str, cwd: Path, stdin: str = "", seconds: int = CALL_SECONDS, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """One run to its end, which is a kill of everything it started if it takes longer than `seconds`."""
        return bounded([str(self.program), *words], cwd, {**self.environ, **more}, stdin, seconds)

    def said(self, *words: str, cwd: Path, **more: str) -> str:
        """Standard output of a run that succeeds."""
        done = self.run(*words, cwd=cwd, stdin="", seconds=CALL_SECONDS, **more)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout


def bounded(
    command: list[str], cwd: Path, env: Mapping[str, str], stdin: str, seconds: int
) -> subprocess.CompletedProcess[str]:
    """Run a command in a session of its own; TimeoutExpired after `seconds`, when nothing of it is left."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=cwd, env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=_LAST_S)
            raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)


@dataclass(frozen=True)
class Home:
    """A home, and the folder of programs in it that the clients find `metagit-mcp` in."""

    path: Path
    programs: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "programs", self.path / "bin")
        for folder in (self.programs, self.path / "tmp", self.path / ".codex"):
            folder.mkdir(parents=True)
        (self.path / ".codex/config.toml").write_text(CODEX_CONFIG, encoding="utf-8")
        self.put_program(f'exec {shlex.quote(str(PROGRAM))} "$@"')

    @property
    def environ(self) -> dict[str, str]:
        """The whole environment of a client: none of the caller's accounts, settings or sessions."""
        return {
            "HOME": str(self.path),
            "TMPDIR": str(self.path / "tmp"),
            "PATH": os.pathsep.join([str(self.programs), "/usr/local/bin", "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            **SWITCHES,
        }

    def put_program(self, *lines: str) -> None:
        """Make `metagit-mcp` a shell script of these lines."""
        script = self.programs / "metagit-mcp"
        script.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
        script.chmod(0o755)

    def listen_in(self, refused: str = "-") -> Conversation:
        """Write down from now on what is said to servers; `refused` is a method that none of them knows."""
        record = self.path / "conversation.jsonl"
        record.unlink(missing_ok=True)
        words = [sys.executable, str(BETWEEN), str(record), refused, str(PROGRAM)]
        serve = f'[ "$1" = serve ] && exec {shlex.join(words)} "$@"'
        self.put_program(serve, f'exec {shlex.quote(str(PROGRAM))} "$@"')
        return Conversation(record)


@dataclass(frozen=True)
class Conversation:
    """What a host and a server said to each other."""

    record: Path

    @property
    def start(self) -> dict[str, Any]:
        """The folder that the server was started in, and what of ours its environment has: cwd, env."""
        started: dict[str, Any] = self._entries()[0]
        return started

    def asked(self) -> list[str]:
        """The methods of the host's frames, in their order."""
        return [frame["method"] for frame in self.frames("host") if "method" in frame]

    def frames(self, by: str) -> list[dict[str, Any]]:
        """The frames of `host`, `server` or `between`."""
        return [entry["frame"] for entry in self._entries() if entry.get("by") == by]

    def answer(self, method: str) -> dict[str, Any]:
        """The result of the first request of a method."""
        number = next(frame["id"] for frame in self.frames("host") if frame.get("method") == method)
        result: dict[str, Any] = next(frame for frame in self.frames("server") if frame.get("id") == number)["result"]
        return result

    def _entries(self) -> list[Any]:
        return [json.loads(line) for line in self.record.read_text(encoding="utf-8").splitlines()]
