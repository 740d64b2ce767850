"""Server processes of a soak: started, killed, started again at the same place; what they hold of memory.

Must not import any part of the package: they are started as users start them.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from tests.interop.http_server import free_port

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
TICK: Final = os.sysconf("SC_CLK_TCK")
START_S: Final = 60.0
END_S: Final = 15.0
_LISTENS: Final = re.compile(r" at http://[^/]+?:(\d+)/ ")
_SECRET: Final = re.compile(r"^operator token, shown this once: (\S+)$", re.MULTILINE)


class ServerFailed(Exception):
    """A server did not start, or not end."""


class Server:
    """A place where a server is, or was, or will be again."""

    def __init__(
        self, root: Path, name: str, environ: Mapping[str, str], *flags: str, module: str = "metagit_mcp"
    ) -> None:
        self.name = name
        self.port = free_port()
        self._said = root.with_name(f"{root.name}.{name}.said")
        self._environ = {**os.environ, **environ}
        self._words = [sys.executable, "-m", module, "serve", "--http", f"127.0.0.1:{self.port}"]
        self._words += ["--workspace", str(root), "--toolsets", "schedule,work,tasks,groups", *flags]
        self._process: subprocess.Popen[bytes] | None = None
        self._from = 0
        # When it was away: from the kill until it listened again.
        self.away: list[tuple[float, float]] = []
        self.begun_at = monotonic()

    @property
    def said(self) -> str:
        """All that its processes said."""
        return self._said.read_text(errors="replace") if self._said.exists() else ""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def first_secret(self) -> str | None:
        """The operator's token that it printed, if it did."""
        found = _SECRET.search(self.said)
        return None if found is None else found[1]

    @property
    def is_up(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def start(self) -> None:
        """Start a process, and wait until it listens."""
        self._from = len(self.said)
        with self._said.open("ab") as out:
            self._process = subprocess.Popen(  # noqa: ASYNC220 - it takes a millisecond
                self._words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self._environ
            )
        await self.listens()

    async def listens(self) -> None:
        """Wait until it listens."""
        give_up = monotonic() + START_S
        while _LISTENS.search(self.said[self._from :]) is None:
            if not self.is_up or monotonic() > give_up:
                raise ServerFailed(f"server {self.name} did not start: {self.said[self._from :][-2000:]}")
            await asyncio.sleep(0.05)
        self.begun_at = monotonic()

    async def kill(self) -> None:
        """Kill it without a word, as a machine that fails would."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> int:
        """End it as its user would; return its exit code."""
        return await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        give_up = monotonic() + END_S
        while self._process.poll() is None:
            if monotonic() > give_up:
                self._process.kill()
                raise ServerFailed(f"server {self.name} did not end")
            await asyncio.sleep(0.02)
        return self._process.wait()

    def resident_bytes(self) -> int:
        """The memory it holds now."""
        return int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]) * PAGE

    def processor_seconds(self) -> float:
        """What it took of a processor so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK
