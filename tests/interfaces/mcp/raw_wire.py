"""Drives a server process over its raw wire: lines out, lines in, every wait bounded.

It must not use the MCP SDK, whose client would hide what is on the wire, nor know which server it drives.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from typing import IO, TYPE_CHECKING, Any, Self

from tests import ready

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Message = dict[str, Any]

WAIT_S = 20.0
LEGACY = "2025-11-25"
MODERN = "2026-07-28"
ERAS = (LEGACY, MODERN)
CLIENT = {"name": "raw-wire", "version": "1"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}


class Silence(AssertionError):
    """The server did not do in time what the test waits for."""


class LineReader:
    """Reads lines from a descriptor, each before a deadline."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = b""

    def line(self, timeout: float = WAIT_S) -> bytes:
        """Return the next line without its line feed, or b"" at the end."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self._rest:
            if not select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise Silence(f"no line in {timeout} s; so far {self._rest[:200]!r}")
            chunk = os.read(self._fd, 1 << 16)
            if not chunk:
                return b""
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def until(self, marker: bytes, timeout: float = WAIT_S) -> None:
        """Read lines up to the one that contains `marker`."""
        while marker not in (line := self.line(timeout)):
            if not line:
                raise Silence(f"ended before {marker!r}")


class RawServer:
    """A server process on two pipes.

    Until `initialize` is called, requests carry the envelope of the 2026 era. Answers that come out of turn
    and notifications are kept in `others`.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: int | IO[bytes] = subprocess.PIPE,
        stdout: int | IO[bytes] = subprocess.PIPE,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed in __exit__
        self.process = ready.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=self._stderr,
            env=env,
            cwd=cwd,
            bufsize=0,
            pass_fds=pass_fds,
        )
        self.envelope: Message = dict(ENVELOPE)
        self.others: list[Message] = []
        self._next_id = 0
        self._lines = LineReader(self.process.stdout.fileno()) if self.process.stdout else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(WAIT_S)
        for stream in (self.process.stdin, self.process.stdout, self._stderr):
            if stream is not None:
                stream.close()

    @property
    def stderr(self) -> str:
        """What the server has written to standard error so far."""
        size = os.fstat(self._stderr.fileno()).st_size
        return os.pread(self._stderr.fileno(), size, 0).decode()

    def send_bytes(self, data: bytes, timeout: float = WAIT_S) -> None:
        """Write bytes as they are."""
        assert self.process.stdin is not None
        fd, deadline, rest = self.process.stdin.fileno(), time.monotonic() + timeout, memoryview(data)
        os.set_blocking(fd, False)
        while rest:
            if not select.select([], [fd], [], max(0.0, deadline - time.monotonic()))[1]:
                raise Silence(f"the server has not read {len(rest)} bytes in {timeout} s")
            rest = rest[os.write(fd, rest) :]

    def send(self, message: object) -> None:
        """Write one JSON value as one line."""
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def receive(self, timeout: float = WAIT_S) -> Message:
        """Return the next message the server writes, whatever it is."""
        assert self._lines is not None
        line = self._lines.line(timeout)
        if not line:
            raise Silence(f"the server ended its output; stderr: {self.stderr}")
        message: Message = json.loads(line)
        return message

    def begin(self, method: str, params: Message | None = None) -> int:
        """Send a request and return its id; `answer` waits for the answer."""
        self._next_id += 1
        params = {**(params or {}), **({"_meta": self.envelope} if self.envelope else {})}
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    def answer(self, request_id: int | str, timeout: float = WAIT_S) -> Message:
        """Return the answer to a request, as the whole message."""
        kept = next((message for message in self.others if message.get("id") == request_id), None)
        if kept is not None:
            self.others.remove(kept)
            return kept
        while (message := self.receive(timeout)).get("id") != request_id:
            self.others.append(message)
        return message

    def request(self, method: str, params: Message | None = None) -> Message:
        """Send a request and return the whole answer."""
        return self.answer(self.begin(method, params))

    def notify(self, method: str, params: Message | None = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def initialize(self, version: str = LEGACY) -> Message:
        """Shake hands, as the eras up to 2025-11-25 do, and return the result."""
        self.envelope = {}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
        result: Message = self.request("initialize", params)["result"]
        self.notify("notifications/initialized")
        return result

    def enter(self, era: str) -> None:
        """Do what a client of that era does before its first call."""
        if era != MODERN:
            self.initialize(era)

    def call_tool(self, name: str, arguments: Message | None = None) -> Message:
        """Call a tool and return the whole answer."""
        return self.request("tools/call", {"name": name, "arguments": arguments or {}})

    def remaining(self) -> list[Message]:
        """Return every message up to the end of the output."""
        assert self._lines is not None
        messages = []
        while line := self._lines.line():
            messages.append(json.loads(line))
        return messages

    def await_output(self, timeout: float = WAIT_S) -> None:
        """Wait until the server has written something, and leave it unread."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            raise Silence(f"no output in {timeout} s")

    def end_input(self) -> None:
        """Close the server's standard input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def wait(self, timeout: float = WAIT_S) -> int:
        """Return the exit code."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Silence(f"the server has not ended in {timeout} s; stderr: {self.stderr}") from None

    def close(self, timeout: float = WAIT_S) -> int:
        """End the server as hosts do, by closing its input, and return the exit code."""
        self.end_input()
        return self.wait(timeout)

    def stop(self, number: signal.Signals, timeout: float = WAIT_S) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.wait(timeout)
