"""One server process on two pipes, and a client that adds as little time of its own as Python allows.

Must not know: which server it talks to, and the SDK, whose client would be most of what is measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from threading import Timer
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from tests.interop.peer import environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REPOSITORY = Path(__file__).resolve().parents[2]
PROTOCOL = "2025-11-25"
LONGEST = 600.0
PAGE = os.sysconf("SC_PAGE_SIZE")


class ServerFailed(Exception):
    """The server ended, or answered with an error."""


class Session:
    """A running server; the clock starts with the process. Killed if a measurement hangs."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the session
        self.started = perf_counter()
        self._process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env={**environment(), **(variables or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._watchdog = Timer(LONGEST, self._process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()
        self._last = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        try:
            self._process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._errors.close()

    def initialize(self) -> None:
        """The handshake of the 2025 protocol."""
        client = {"name": "bench", "version": "1"}
        self._request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """The result of a tool; ServerFailed if it refused."""
        result = self._request("tools/call", {"name": tool, "arguments": arguments})[0]
        if result.get("isError"):
            raise ServerFailed(result["content"][0]["text"])
        return result

    def seconds(self, tool: str, arguments: Mapping[str, object]) -> float:
        """From the request leaving to the last byte of the answer, parsing not included."""
        return self._request("tools/call", {"name": tool, "arguments": arguments})[1]

    def resident_bytes(self) -> int:
        """The memory the server process holds now."""
        statm = Path(f"/proc/{self._process.pid}/statm")
        if statm.exists():
            return int(statm.read_text(encoding="ascii").split()[1]) * PAGE
        command = ["ps", "-o", "rss=", "-p", str(self._process.pid)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) * 1024

    def _request(self, method: str, params: Mapping[str, object]) -> tuple[dict[str, Any], float]:
        self._last += 1
        request = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        assert self._process.stdout is not None
        begun = self._write(request)
        while line := self._process.stdout.readline():
            taken = perf_counter() - begun
            message = json.loads(line)
            if message.get("id") == self._last:
                if "error" in message:
                    raise ServerFailed(str(message["error"]))
                return message["result"], taken
        raise ServerFailed(self._last_words())

    def _write(self, message: Mapping[str, object]) -> float:
        assert self._process.stdin is not None
        line = json.dumps(message).encode() + b"\n"
        begun = perf_counter()
        self._process.stdin.write(line)
        self._process.stdin.flush()
        return begun

    def _last_words(self) -> str:
        self._errors.seek(0)
        return "the server ended: " + self._errors.read().decode(errors="replace")[-2000:]
