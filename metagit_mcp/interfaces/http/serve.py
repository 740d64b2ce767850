"""Starts the HTTP server: the socket, the first token, uvicorn, and a clean end. Must not know a route.

Importing this module loads nothing heavy: `run` does.
"""

import asyncio
import errno
import gc
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput
from metagit_mcp.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from metagit_mcp.bootstrap import Application
    from metagit_mcp.interfaces.http.address import Address

# What a change of a few files takes, many times over; a long load is not waited for.
_PATIENCE_S: Final = 1.0
# Streams are told to end first; whoever still has an answer coming gets so long.
_GRACE_S: Final = 5
_BACKLOG: Final = 512


@value
class Start:
    """What goes around the time in which the server listens; whether clients of the older protocol get a session."""

    opened: "Callable[[Application, Address], AbstractAsyncContextManager[None]]"
    legacy_stateless: bool = False


def run(settings: Settings, address: "Address", start: "Start | None" = None) -> None:
    """Serve over HTTP until a signal ends it.

    Args:
        settings: how the process was started.
        address: where to listen; port 0 takes a free one.
        start: how to begin; default: say where the server is, and print a first token if there is none.

    Raises:
        WorkspaceNotFound, ReadOnlyWorkspace, StoreUnavailable, StoreCorrupt, StoreTooNew: nothing could be served.
        InvalidInput: the place to listen at is taken, or not this machine's.
    """
    start = start or Start(opened=greet)
    listener = _listen(address)
    bound = address.listening(listener.getsockname()[1])
    try:
        asyncio.run(_serve(settings, bound, listener, start))
    finally:
        listener.close()


def _listen(address: "Address") -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listener = socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)
    except OSError as cause:
        raise _nowhere(address, cause) from None
    # Connections inherit it; asyncio sets it only where the protocol was named. Without it each answer, whose head and
    # body are written apart, waits for the client's delayed acknowledgement: 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setblocking(False)  # noqa: FBT003 - the standard library's own
    return listener


def _nowhere(address: "Address", cause: OSError) -> InvalidInput:
    """Return why nothing can listen at an address."""
    if cause.errno == errno.EADDRNOTAVAIL:
        return InvalidInput(
            f"This machine has no address {address.host}.", hint="127.0.0.1 is on every machine.", field="http"
        )
    return InvalidInput(
        f"Nothing can listen at {address.host}:{address.port}: {cause.strerror or 'it is no address'}.",
        hint="Another server may be there; choose another port, or 0 for a free one.",
        field="http",
    )


async def _serve(settings: Settings, address: "Address", listener: socket.socket, start: Start) -> None:
    from metagit_mcp.application.caller import Caller  # noqa: PLC0415 - heavy imports are the server's own
    from metagit_mcp.bootstrap import open_application  # noqa: PLC0415 - as above
    from metagit_mcp.interfaces.http.app import build_app  # noqa: PLC0415 - as above
    from metagit_mcp.interfaces.http.identity import caller_now  # noqa: PLC0415 - as above
    from metagit_mcp.interfaces.http.listening import Ending, Uvicorn, configured  # noqa: PLC0415 - as above
    from metagit_mcp.interfaces.mcp.offload import OneThread  # noqa: PLC0415 - as above
    from metagit_mcp.interfaces.mcp.opening import LateApplication  # noqa: PLC0415 - as above
    from metagit_mcp.interfaces.mcp.server import build_server  # noqa: PLC0415 - as above
    from metagit_mcp.interfaces.mcp.tracing import traced  # noqa: PLC0415 - as above
    from metagit_mcp.ports.machine import Waits  # noqa: PLC0415 - as above

    offload = OneThread()
    ending = Ending()
    waits = Waits(offload=offload, sleep=ending.sleep)
    # One process answers all: no caller's agent is the process's own.
    settings = replace(settings, agent_id="", session_id="")
    opened = LateApplication(partial(open_application, settings, surface="http", waits=waits))
    # Whoever starts a server is told at once what is wrong with its workspace.
    application = await opened()
    server = build_server(opened, settings, identify=caller_now)
    terms = Caller(
        capabilities=settings.capabilities,
        policy_read_only=settings.policy_read_only,
        max_wait_seconds=settings.max_wait_seconds,
    )
    app = build_app(server, opened, address, terms, legacy_stateless=start.legacy_stateless)
    # The start of the program put off looking for garbage; what was loaded until now is none.
    gc.freeze()
    gc.enable()
    serving = Uvicorn(configured(app, grace_s=_GRACE_S), (ending.end, server.end_streams))
    try:
        # Whoever is told where the server is may end it at once; and what it said is taken back to the end.
        with serving.capture_signals():
            async with start.opened(application, address):
                with traced(server):
                    await serving.serve([listener])
    finally:
        offload.drain(_PATIENCE_S)


@asynccontextmanager
async def greet(application: "Application", address: "Address") -> AsyncIterator[None]:
    """Say on standard error where the server is, and print the first operator's token, this once."""
    first = await application.access.first_operator()
    place = "" if address.url == address.own_url else f", listening at {address.own_url}/ "
    lines = [f"metagit-mcp serves {application.place.path} at {address.url}/ (MCP at {address.url}/mcp){place}"]
    if first is not None:
        lines.append(f"operator token, shown this once: {first.secret}")
    elif not address.anonymous:
        lines.append("no token is shown again: metagit-mcp token issue NAME --role operator makes one")
    # In one piece: a script that waits for the address finds the token behind it.
    say(*lines)
    yield


def say(*lines: str) -> None:
    """Write lines to standard error, at once and in one piece."""
    if sys.stderr is not None:
        sys.stderr.write("".join(f"{line}\n" for line in lines))
        sys.stderr.flush()
