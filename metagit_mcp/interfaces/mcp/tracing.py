"""Sends a span of each call while a server serves, where the environment names a collector. Knows no library for it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server.lowlevel import Server

from metagit_mcp.bootstrap import open_traces
from metagit_mcp.interfaces.mcp.measured import measure


@contextmanager
def traced(server: Server[Any]) -> Iterator[None]:
    """Trace the calls of a server until the block ends; at the end, what waits is sent for a second at most."""
    traces = open_traces(os.environ, _say)
    if traces is None:
        yield
        return
    measure(server, traces.add)
    try:
        yield
    finally:
        traces.close()


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"metagit-mcp serve: {text}\n")
        sys.stderr.flush()
