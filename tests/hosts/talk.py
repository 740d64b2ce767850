"""A `claude -p` process that is told one thing after another, and what it says of its hooks meanwhile.

Must not know: the plugin, nor what the model answers. Every wait is bounded.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hosts.client import Client

LONGEST_S = 90
_LAST_S = 10
_WORDS = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-hook-events")
Json = dict[str, Any]


class Talk:
    """One process of the client in `cwd`, killed with all it started after `LONGEST_S` or where the block ends."""

    def __init__(self, client: Client, *words: str, cwd: Path, **variables: str) -> None:
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - it is closed where the block ends
        self._process = subprocess.Popen(
            [str(client.program), *_WORDS, *words],
            cwd=cwd,
            env={**client.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )
        self._guard = threading.Timer(LONGEST_S, self._kill)
        self._guard.start()
        self.events: list[Json] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self._process.wait(_LAST_S)
        self._guard.cancel()
        self._log.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                # What nobody reads any more.
                with suppress(BrokenPipeError):
                    stream.close()

    def say(self, text: str) -> Json:
        """Tell it something, and return what its turn came to: `result`, `session_id` and more."""
        self.begin(text)
        return self.outcome()

    def begin(self, text: str) -> None:
        """Tell it something, and wait for nothing."""
        self._write({"type": "user", "message": {"role": "user", "content": text}})

    def interrupt(self) -> None:
        """Stop its turn, as a person does who presses Escape."""
        self._write({"type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"}})

    def outcome(self) -> Json:
        """What a turn comes to, when it has."""
        event: Json = {}
        while event.get("type") != "result":
            event = self._next()
        return event

    def end(self) -> None:
        """Let it come to its end: the rest of what it says is kept too."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.stdout is not None
        self.events += map(json.loads, self._process.stdout)
        assert (self._process.wait(LONGEST_S), self.complaints) == (0, "")

    def kill(self) -> None:
        """Kill it and all that it started, as a machine that runs out of memory would."""
        self._kill()
        assert self._process.wait(_LAST_S) == -signal.SIGKILL

    @property
    def complaints(self) -> str:
        """What it said on standard error."""
        self._log.flush()
        self._log.seek(0)
        return self._log.read()

    def hooks(self, event: str) -> list[Json]:
        """What came of each run of a hook: outcome, exit_code, stdout, stderr."""
        found = [each for each in self.events if each.get("subtype") == "hook_response"]
        names = ("outcome", "exit_code", "stdout", "stderr")
        return [{name: each[name] for name in names} for each in found if each["hook_event"] == event]

    def _write(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _next(self) -> Json:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"it ended: {self.complaints}"
        event: Json = json.loads(line)
        self.events.append(event)
        return event

    def _kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
