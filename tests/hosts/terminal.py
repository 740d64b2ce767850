"""A client in a terminal, as a person has it: what it shows, and what is typed. Every wait is bounded.

Must not know: the plugin, nor what a client draws.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.hosts.client import Client, Home

LONGEST_S = 40
_LAST_S = 10
_LOOK_S = 0.1
_ROWS, _COLUMNS = 40, 120
_CONTROL = re.compile(r"\x1b\[[0-9;?>]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b[78]")


class Terminal:
    """One run of a client in `cwd`, killed with all that it started where the block ends."""

    def __init__(self, client: Client, *words: str, cwd: Path, **variables: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            [str(client.program), *words],
            cwd=cwd,
            env={**client.environ, "TERM": "xterm-256color", **variables},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._drawn = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(_LAST_S)
        os.close(self._ours)

    def end(self) -> int:
        """Ask it to end, and return its exit code."""
        self._process.terminate()
        # A terminal whose program has ended can be read no more.
        with suppress(OSError):
            self.until(lambda: self._process.poll() is not None, _LAST_S)
        return self._process.wait(_LAST_S)

    @property
    def shown(self) -> str:
        """All that it drew since the last look, without the control characters."""
        return _CONTROL.sub("", self._drawn.decode("utf-8", "replace"))

    def type(self, text: str) -> None:
        """Press the keys; what was drawn before is forgotten."""
        self._drawn = b""
        os.write(self._ours, text.encode())

    def until(self, is_so: Callable[[], bool], seconds: float = LONGEST_S) -> bool:
        """Read what it draws until something is so; False when it is not after `seconds`."""
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                return False
            if select.select([self._ours], [], [], _LOOK_S)[0]:
                self._drawn += os.read(self._ours, 65_536)
        return True


def settle_in(home: Home, folder: Path, key: str) -> None:
    """Answer in advance what Claude Code asks a person once: its look, the trust in a folder, the use of a key."""
    path = home.path / ".claude.json"
    known = json.loads(path.read_text(encoding="utf-8"))
    known["hasCompletedOnboarding"] = True
    known["customApiKeyResponses"] = {"approved": [key], "rejected": []}
    known["projects"] = {str(folder): {"hasTrustDialogAccepted": True}}
    path.write_text(json.dumps(known), encoding="utf-8")
