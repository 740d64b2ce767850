"""Real processes that set up the same host at once lose nothing, and one that is killed leaves the old or the new."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tomllib
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters.fault_points import HOST_POINTS
from tests import ready
from tests.interfaces.cli.fake_runs import WAIT_S, environment
from tests.scenarios.surfaces import PROGRAM

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 2
TOOLSETS = ("schedule", "work", "tasks", "groups")
OTHERS = {f"s{number}": {"command": "x", "args": [str(number)]} for number in range(20)}
BEFORE = json.dumps({"mcpServers": OTHERS, "b": [1]}, indent=2)


def start(folder: Path, line: str, fault: str = "") -> subprocess.Popen[bytes]:
    home = {"HOME": str(folder), "CODEX_HOME": str(folder / ".codex"), "METAGIT_MCP_FAULT": fault}
    return ready.Popen(
        [*PROGRAM, "config", *line.split()],
        cwd=folder,
        env=environment(**home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    with process:
        _, err = process.communicate(timeout=WAIT_S)
    return process.returncode, err


def test_writers_at_once_lose_nothing_of_others(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / ".mcp.json"
    path.write_text(BEFORE)
    for _ in range(ROUNDS):
        lines = [f"claude-code --write --toolsets {name}" for name in TOOLSETS]
        assert [ended(each) for each in [start(tmp_path, line) for line in lines]] == [(0, b"")] * len(lines)
        written = json.loads(path.read_text())
        ours = written["mcpServers"].pop("metagit")
        assert (written, ours["args"][-1] in TOOLSETS) == (json.loads(BEFORE), True)
        assert ended(start(tmp_path, "claude-code --remove")) == (0, b"")
        assert path.read_text() == BEFORE
    assert sorted(each.name for each in tmp_path.iterdir()) == [".git", ".mcp.json"]


def test_writers_of_one_file_that_is_not_there_yet_make_one(tmp_path: Path) -> None:
    processes = [start(tmp_path, "codex --write") for _ in range(4)]
    assert [ended(each) for each in processes] == [(0, b"")] * 4
    assert list(tomllib.loads((tmp_path / ".codex" / "config.toml").read_text())["mcp_servers"]) == ["metagit"]
    removers = [start(tmp_path, "codex --remove") for _ in range(4)]
    assert [ended(each) for each in removers] == [(0, b"")] * 4
    assert list((tmp_path / ".codex").iterdir()) == []


@pytest.mark.parametrize(
    "line", ["claude-code --write", "claude-code --write --toolsets tasks", "claude-code --remove"]
)
@pytest.mark.parametrize("point", HOST_POINTS)
def test_a_kill_leaves_the_old_or_the_new(tmp_path: Path, line: str, point: str) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / ".mcp.json"
    path.write_text(BEFORE)
    if line != "claude-code --write":
        assert ended(start(tmp_path, "claude-code --write"))[0] == 0
    old = path.read_bytes()
    code, err = ended(start(tmp_path, line, fault=point))
    assert (code, err) == (-signal.SIGKILL, f"{point}\n".encode())
    left = path.read_bytes()
    # The next one is not stopped by what is left, nor by the lock of the dead.
    assert ended(start(tmp_path, line)) == (0, b"")
    new = path.read_bytes()
    assert left == (new if point == "host.renamed" else old)
    assert old != new


def test_what_is_read_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".mcp.json")
    code, err = ended(start(tmp_path, "claude-code --write"))
    assert (code, b"is not a regular file but a pipe" in err) == (5, True)
