"""Logs delivered by real processes: what is acknowledged is durable, a file is followed as it grows, a kill costs none.

Every wait is bounded.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Self

import pytest

from metagit_mcp.bootstrap import init_workspace
from tests import ready
from tests.groups.real_events import LINES
from tests.interfaces.cli.fake_runs import WAIT_S, Terminal, environment

if TYPE_CHECKING:
    from pathlib import Path

G = "group:cli"
PROGRAM = [sys.executable, "-m", "metagit_mcp", "group"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    init_workspace(str(tmp_path))
    return tmp_path


@pytest.fixture
def log(root: Path) -> Path:
    path = root / "events.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in LINES[:20]))
    return path


class Delivering:
    """A delivery under way."""

    def __init__(self, root: Path, file: str, *flags: str, **env: str) -> None:
        self._process = ready.Popen(
            [*PROGRAM, "deliver", file, "--group", G, "--workspace", str(root), "--json", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(**env),
        )
        self._read = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate(timeout=WAIT_S)

    def write(self, *lines: bytes) -> None:
        """Write into its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"".join(lines))
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The next line that it prints."""
        assert self._process.stdout is not None
        fd, deadline = self._process.stdout.fileno(), time.monotonic() + WAIT_S
        while b"\n" not in self._read:
            assert select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0], "it is silent"
            chunk = os.read(fd, 1 << 16)
            assert chunk, "it ended"
            self._read += chunk
        line, _, self._read = self._read.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self, how: signal.Signals | None = None) -> tuple[int, str]:
        """End it, by a signal or at the end of its input: exit code and standard error."""
        if how is not None:
            self._process.send_signal(how)
        _, error = self._process.communicate(timeout=WAIT_S)
        return self._process.returncode, error.decode()


def asked(root: Path, *words: str) -> dict[str, Any]:
    done = ready.run(
        [*PROGRAM, *words, "--workspace", str(root), "--json"],
        capture_output=True,
        env=environment(),
        timeout=WAIT_S,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_file_is_followed_as_it_grows_until_somebody_ends_it(root: Path, log: Path) -> None:
    with Delivering(root, str(log), "--follow") as delivering:
        assert delivering.answer()["cursor"] == 20
        with log.open("ab", buffering=0) as file:
            # Acknowledged is what has its line end.
            file.write(LINES[20] + b"\n" + LINES[21][:100])
            assert delivering.answer()["cursor"] == 21
            file.write(LINES[21][100:] + b"\n")
            assert delivering.answer()["cursor"] == 22
        assert delivering.end(signal.SIGINT)[0] == 130
    assert asked(root, "show", G)["group"]["cursor"] == 22


def test_a_file_that_is_replaced_ends_the_delivery_and_says_so(root: Path, log: Path) -> None:
    with Delivering(root, str(log), "--follow") as delivering:
        assert delivering.answer()["cursor"] == 20
        log.with_name("new").write_bytes(LINES[0] + b"\n")
        log.with_name("new").replace(log)
        error = delivering.answer()
        assert (error["code"], error["message"]) == ("INVALID_INPUT", f"{log}: was replaced while it was followed")
        assert error["details"] == {"field": "file", "durable_line": 20}
        assert delivering.end()[0] == 2


def test_a_pipe_is_delivered_as_it_comes(root: Path) -> None:
    with Delivering(root, "-") as delivering:
        for cursor, lines in ((3, LINES[:3]), (4, LINES[3:4])):
            delivering.write(*(line + b"\n" for line in lines))
            while delivering.answer()["cursor"] < cursor:
                continue
        delivering.write(LINES[4])
        assert delivering.end() == (0, "")
    assert asked(root, "show", G)["group"]["cursor"] == 5


def test_what_was_acknowledged_before_a_kill_is_durable_and_the_rest_is_delivered_by_doing_it_again(
    root: Path, log: Path
) -> None:
    with Delivering(root, "-") as delivering:
        delivering.write(*(line + b"\n" for line in LINES[:7]))
        while (cursor := delivering.answer()["cursor"]) < 7:
            assert cursor > 0
        assert delivering.end(signal.SIGKILL)[0] == -signal.SIGKILL
    for fault in ("ledger.appended", "ledger.committed"):
        with Delivering(root, str(log), METAGIT_MCP_FAULT=fault) as killed:
            assert killed.end()[0] != 0
    with Delivering(root, str(log)) as delivering:
        # The last kill came after the commit, and before the acknowledgement.
        assert delivering.answer()["duplicates"] == 20
        assert delivering.end() == (0, "")
    assert asked(root, "verify", G)["same"] is True


def test_a_terminal_shows_how_far_it_is(root: Path, log: Path) -> None:
    arguments = ("group", "deliver", str(log), "--group", G, "--workspace", str(root))
    with Terminal("real", *arguments) as terminal:
        code, screen = terminal.rest()
    assert code == 0
    assert "delivering" in screen
    assert "100%" in screen
    assert "Delivered up to line 20: 20 applied, 0 known before, 0 held; Cursor 20" in screen
