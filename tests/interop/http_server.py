"""Starts the server over HTTP as an operator does, on a free port of this machine, and ends it.

Must not know: what is asked of it.
"""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.request import urlopen

from tests.interop.peer import environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_UP_SECONDS = 60
_LOOK_SECONDS = 0.05
# The system gives away those above.
_PORTS = range(10_000, 30_000)


@contextmanager
def served(workspace: Path, log: Path, *flags: str, program: tuple[str, ...] = ()) -> Iterator[str]:
    """The address of a server of `workspace`, with all toolsets; what it says on standard error goes to `log`."""
    address = f"127.0.0.1:{free_port()}"
    start = program or (sys.executable, "-m", "metagit_mcp")
    toolsets = ("--toolsets", "schedule,work,tasks,groups")
    command = [*start, "serve", "--http", address, "--workspace", str(workspace), *toolsets, *flags]
    with started(command, address, log):
        yield f"http://{address}"


@contextmanager
def started(command: list[str], address: str, log: Path, **variables: str) -> Iterator[None]:
    """Run a command that serves at `address` until the block ends; further variables are of its environment."""
    with log.open("wb") as said:
        server = subprocess.Popen(
            command, cwd=log.parent, env=environment() | variables, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        try:
            wait_until_up(server, address, log)
            yield
        finally:
            server.terminate()
            try:
                server.wait(timeout=_UP_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(timeout=_UP_SECONDS)
                raise


def free_port() -> int:
    """A port that nobody listens on now, and that the system gives nobody who asks for any."""
    # Other tests draw as well: not by the lots that pytest's plugins set to the same beginning in each process.
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def wait_until_up(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Wait until the server answers; fail with what it said when it ends, or takes too long."""
    deadline = time.monotonic() + _UP_SECONDS
    while True:
        # It listens before it can answer.
        with suppress(OSError), urlopen(f"http://{address}/healthz", timeout=_UP_SECONDS):
            return
        assert time.monotonic() < deadline, f"not up after {_UP_SECONDS} s: {log.read_text(errors='replace')}"
        with suppress(subprocess.TimeoutExpired):
            code = server.wait(timeout=_LOOK_SECONDS)
            raise AssertionError(f"ended with {code}: {log.read_text(errors='replace')}")
