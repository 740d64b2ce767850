"""Starts the MCP server on standard input and output: what must happen before the heavy imports, and the imports.

Must not know tools. Importing this module loads nothing heavy.
"""

import asyncio
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Thread
from typing import Final

from metagit_mcp.errors import MetagitError
from metagit_mcp.interfaces.mcp.stdio_claim import claim_wire
from metagit_mcp.settings import Settings

# What a change of a few files takes, many times over; a long load is not waited for.
_PATIENCE_S: Final = 1.0


def run(settings: Settings) -> None:
    """Serve on standard input and output until the host, a signal or the death of the parent ends it.

    Raises:
        OSError: the output cannot be written for another reason than a host that went away.
    """
    wire = claim_wire()
    with _lasting_imports():
        from metagit_mcp.bootstrap import open_application, place_of  # noqa: PLC0415 - after the wire is claimed
        from metagit_mcp.interfaces.mcp.offload import OneThread  # noqa: PLC0415 - as above
        from metagit_mcp.interfaces.mcp.server import build_server  # noqa: PLC0415 - as above
        from metagit_mcp.interfaces.mcp.stdio import serve_stdio  # noqa: PLC0415 - as above
        from metagit_mcp.interfaces.mcp.tracing import traced  # noqa: PLC0415 - as above
        from metagit_mcp.ports.machine import Waits  # noqa: PLC0415 - as above
    # Nobody waits for it: a look at a slow disk must not keep the first answer.
    Thread(target=_report_missing, args=(partial(place_of, settings),), daemon=True).start()
    offload = OneThread()
    waits = Waits(offload=offload, sleep=_asleep)
    server = build_server(partial(open_application, settings, surface="mcp", waits=waits), settings)
    try:
        with traced(server):
            asyncio.run(serve_stdio(server, wire))
    finally:
        offload.drain(_PATIENCE_S)


async def _asleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


def _report_missing(find: Callable[[], object]) -> None:
    """Say on standard error, which hosts show in their logs, that every call of a tool will be refused, and why."""
    try:
        find()
    except MetagitError as error:
        if sys.stderr is not None:
            sys.stderr.write(f"metagit-mcp serve: {error.message} {error.hint}\n")
            sys.stderr.flush()


@contextmanager
def _lasting_imports() -> Iterator[None]:
    """Import without collecting garbage, and never look at what was imported again.

    The SDK makes some hundred thousand objects that live as long as the process. Not walking through them again
    and again saves a fifth of the start and nearly all of the exit.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
