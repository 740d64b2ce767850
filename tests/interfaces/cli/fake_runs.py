"""Starts the program with its fake application as a process, on pipes or on a terminal of its own.

It must not know what the program prints. Every wait is bounded.
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from metagit_mcp.interfaces.cli.wording import for_people
from tests import ready

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[3]
WAIT_S = 20.0


def environment(**changes: str) -> dict[str, str]:
    """Return the environment without what would choose another debug level or width."""
    kept = {name: each for name, each in os.environ.items() if name not in {"COLUMNS", "LINES", "PYTHONIOENCODING"}}
    return {**kept, "PYTHONPATH": os.pathsep.join([str(ROOT), kept.get("PYTHONPATH", "")]), **changes}


def command(case: str, *arguments: str) -> list[str]:
    """Return the command that runs `arguments` with the fake application of a case."""
    return [sys.executable, "-m", "tests.interfaces.cli.fake_program", case, *arguments]


def ended(
    case: str,
    *arguments: str,
    stdout: int | IO[bytes] = subprocess.PIPE,
    env: Mapping[str, str] | None = None,
) -> tuple[int, str, str]:
    """Run to the end without a terminal: exit code, standard output, standard error."""
    done = ready.run(
        command(case, *arguments),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(**(env or {})),
        cwd=ROOT,
        timeout=WAIT_S,
        check=False,
    )
    return done.returncode, (done.stdout or b"").decode(), done.stderr.decode()


def said_aside(code: int, answer: Mapping[str, Any]) -> str:
    """What a run with --json says on standard error besides its answer: why it ended with 10 or 11."""
    return f"{for_people(answer['next_step'])}\n" if code in {10, 11} else ""


class Terminal:
    """A run whose standard streams are a terminal; `stdout` may be a pipe instead, as in `$(...)`."""

    def __init__(self, case: str, *arguments: str, captured: bool = False) -> None:
        self._screen, inner = pty.openpty()
        # Nobody types the text that the program would see come back.
        self.process = ready.Popen(
            command(case, *arguments),
            stdin=inner,
            stdout=subprocess.PIPE if captured else inner,
            stderr=inner,
            env=environment(TERM="xterm-256color"),
            cwd=ROOT,
            start_new_session=True,
        )
        os.close(inner)
        self.shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(WAIT_S)
        os.close(self._screen)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def until(self, marker: str) -> None:
        """Wait until the screen shows `marker`."""
        deadline = time.monotonic() + WAIT_S
        while marker not in self.shown:
            if not self._more(deadline):
                raise AssertionError(f"the terminal ended before {marker!r}: {self.shown!r}")

    def type(self, text: str) -> None:
        """Type a text, which is echoed, and Enter."""
        os.write(self._screen, f"{text}\n".encode())

    def rest(self) -> tuple[int, str]:
        """Wait for the end: exit code, and everything the screen has shown."""
        deadline = time.monotonic() + WAIT_S
        while self._more(deadline):
            pass
        return self.process.wait(WAIT_S), self.shown.replace("\r\n", "\n")

    def _more(self, deadline: float) -> bool:
        """Read on; False at the end. Linux reports the end of a terminal as an error."""
        if not select.select([self._screen], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise AssertionError(f"the terminal is silent: {self.shown!r}")
        try:
            chunk = os.read(self._screen, 1 << 16)
        except OSError:
            return False
        self.shown += chunk.decode()
        return bool(chunk)
