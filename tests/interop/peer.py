"""Where the outside programs are that this project is tried with, and how they are run; `install.py` puts them there.

Must not know: the package under test. It runs on the standard library of any Python from 3.11 on.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

HOME = Path(__file__).resolve().parents[2] / ".peer"
VENV = HOME / "venv"
NODE_HOME = HOME / "node"
NODE_BINARY = NODE_HOME / "node_modules/node/bin/node"
INSPECTOR_SCRIPT = NODE_HOME / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CONFORMANCE_SCRIPT = NODE_HOME / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
BUNDLER_SCRIPT = NODE_HOME / "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"
TOOLS_VENV = HOME / "tools"
CONTRACT_VENV = HOME / "contract"
BROWSER_HOME = HOME / "browser"
AXE_SCRIPT = BROWSER_HOME / "node_modules/axe-core/axe.min.js"
HOSTS_HOME = HOME / "hosts"
FRAMEWORKS_HOME = HOME / "frameworks"
DRIVER = Path(__file__).with_name("peer_driver.py")

CALL_SECONDS = 120
COMMAND = ".ci/interop"


class PeerError(Exception):
    """An outside program is missing, could not be installed, or refused a call."""


# --- What tests call -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Metagit:
    """metagit-cli at one workspace root, driven through its command line."""

    root: Path

    def run(self, *arguments: str, stdin: str = "") -> str:
        """Standard output of one command; PeerError with its standard error if it fails."""
        return _loaded_metagit().run(["metagit", *arguments], self.root, stdin)

    def json(self, *arguments: str, stdin: str = "") -> Any:  # noqa: ANN401 - the answer of any command
        """The parsed answer of one command that takes `--json`."""
        return json.loads(self.run(*arguments, "--json", stdin=stdin))

    def ranking(self) -> list[dict[str, Any]]:
        """Every ready node in metagit's order: graph_id, node_id, score, reasons."""
        lines = _loaded_metagit().run(["rank", str(self.root)], self.root).splitlines()
        return [json.loads(line) for line in lines]

    def command(self, *arguments: str) -> list[str]:
        """The command line of one command, for a process of its own."""
        return [str(installed(VENV / "bin/metagit")), *arguments]

    def holder(self, graph: str) -> list[str]:
        """The command line of what holds the lock of a graph, or of the policy where `graph` is empty."""
        return [*_driver(), str(self.root), graph]


def inspect(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One run of the Inspector's command line; the caller judges its exit code."""
    return on_node(INSPECTOR_SCRIPT, "--cli", *arguments, cwd=cwd)


def on_node(script: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One run of a script that npm installed; the caller judges its exit code."""
    command = [str(installed(NODE_BINARY)), str(installed(script)), *arguments]
    return _process(command, cwd=cwd, seconds=CALL_SECONDS, path=[NODE_BINARY.parent])


def schemathesis(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One run of what tries a server by its OpenAPI document; the caller judges its exit code."""
    return _process([str(installed(CONTRACT_VENV / "bin/st")), *arguments], cwd=cwd, seconds=CALL_SECONDS, path=[])


def tool(name: str) -> Path:
    """A program that builds, starts or checks packages."""
    return installed(TOOLS_VENV / "bin" / name)


def host(name: str) -> Path:
    """The client of an agent host, `claude` or `codex`: the program itself, which needs no Node."""
    patterns = {
        "claude": "frameworks/claude-agent-sdk/lib/python*/site-packages/claude_agent_sdk/_bundled/claude",
        "codex": "hosts/node_modules/@openai/codex-*/vendor/*/bin/codex",
    }
    found = sorted(HOME.glob(patterns[name]))
    return installed(found[0] if found else HOME / name)


def framework(page: str, name: str = "python") -> Path:
    """A program of the venv in which a page's recipe runs."""
    return installed(FRAMEWORKS_HOME / page / "bin" / name)


def installed(program: Path) -> Path:
    """The program, or PeerError that says how to install it."""
    if not program.exists():
        message = f"{program.name} is not installed: run {COMMAND}"
        raise PeerError(message)
    return program


def chromium() -> Path | None:
    """The Chromium of this machine, if it has one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return Path(found) if found else None


# --- Running -------------------------------------------------------------------------------------


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    stdin: str = "",
    seconds: int = CALL_SECONDS,
    path: Sequence[Path] = (),
) -> str:
    """Standard output of a command; PeerError with the end of its standard error if it fails."""
    done = _process(command, cwd=cwd, seconds=seconds, path=path, stdin=stdin)
    return _output(Path(command[0]).name, done.returncode, done.stdout, done.stderr)


def _output(name: str, code: int, stdout: str, stderr: str) -> str:
    if code:
        said = (stderr or stdout).strip()[-2000:]
        message = f"{name} ended with {code}: {said}"
        raise PeerError(message)
    return stdout


class _LoadedMetagit:
    """A metagit that has loaded its commands and forks for each: to load them takes seconds, to run one no time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            _driver(), env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(self._process.communicate)

    def run(self, words: list[str], folder: Path, stdin: str = "") -> str:
        """As `run`; the first word is what `peer_driver.py` knows."""
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        try:
            asked.write(json.dumps({"words": words, "folder": str(folder), "stdin": stdin}) + "\n")
            asked.flush()
            done = json.loads(answered.readline())
        except BaseException:
            # A late answer would be taken for that to the next command.
            self._process.kill()
            _loaded_metagit.cache_clear()
            raise
        return _output(words[0], **done)


@cache
def _loaded_metagit() -> _LoadedMetagit:
    return _LoadedMetagit()


def _driver() -> list[str]:
    return [str(installed(VENV / "bin/python")), str(DRIVER)]


def environment(path: Sequence[Path] = ()) -> dict[str, str]:
    """The environment of a child: no Python switch that slows it, no workspace of the caller."""
    dropped = re.compile(r"PYTHON(DONTWRITEBYTECODE|UNBUFFERED|PATH)|METAGIT_.*|CLAUDE_PROJECT_DIR")
    kept = {name: value for name, value in os.environ.items() if not dropped.fullmatch(name)}
    kept["PATH"] = os.pathsep.join([*map(str, path), kept.get("PATH", "")])
    return kept


def _process(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    seconds: int,
    path: Sequence[Path],
    stdin: str = "",
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        env=environment(path),
    )
