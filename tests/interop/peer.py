"""Where the outside programs are that this project is tried with, and how they are run; `install.py` puts them there.

Must not know: the package under test. It runs on the standard library of any Python from 3.11 on.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
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
        return run(self.command(*arguments), cwd=self.root, stdin=stdin)

    def json(self, *arguments: str, stdin: str = "") -> Any:  # noqa: ANN401 - the answer of any command
        """The parsed answer of one command that takes `--json`."""
        return json.loads(self.run(*arguments, "--json", stdin=stdin))

    def ranking(self) -> list[dict[str, Any]]:
        """Every ready node in metagit's order: graph_id, node_id, score, reasons."""
        lines = run(self.driver("rank"), cwd=self.root).splitlines()
        return [json.loads(line) for line in lines]

    def command(self, *arguments: str) -> list[str]:
        """The command line of one command, for a process of its own."""
        return [str(installed(VENV / "bin/metagit")), *arguments]

    def driver(self, action: str, *arguments: str) -> list[str]:
        """The command line of the driver script, run by metagit's own Python."""
        return [str(installed(VENV / "bin/python")), str(DRIVER), action, str(self.root), *arguments]


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
    patterns = {"claude": "@anthropic-ai/claude-code/bin/claude*", "codex": "@openai/codex-*/vendor/*/bin/codex"}
    found = sorted((HOSTS_HOME / "node_modules").glob(patterns[name]))
    return installed(found[0] if found else HOSTS_HOME / name)


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
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-2000:]
        message = f"{Path(command[0]).name} ended with {done.returncode}: {said}"
        raise PeerError(message)
    return done.stdout


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
