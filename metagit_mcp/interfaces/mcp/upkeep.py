"""Runs the duties of a server beside its calls, and its last one at the clean end. Must not know what they are."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final

import anyio
from mcp.server.lowlevel import Server

from metagit_mcp.interfaces.mcp.opening import LateApplication

# Statuses stand in the graph files within a second (work.md §1).
_EVERY_S: Final = 0.5
# Hosts kill a server some two seconds after they closed its input; what is not released by then runs out.
_END_WITHIN_S: Final = 1.5

_log = logging.getLogger(__name__)


def upkeep(application: LateApplication) -> Callable[[Server[Any]], AbstractAsyncContextManager[dict[str, Any]]]:
    """Return the lifespan of a server: duties while it lives, the end of the leases it granted when it goes."""

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        duties = asyncio.create_task(_look_after(application))
        try:
            yield {}
        finally:
            duties.cancel()
            with suppress(asyncio.CancelledError):
                await duties
            await _end(application)

    return lifespan


async def _look_after(application: LateApplication) -> None:
    """Do what is due, one time after another; an error that nobody expected is said once and ends nothing."""
    said = ""
    while True:
        await asyncio.sleep(_EVERY_S)
        try:
            if application.opened is not None:
                await application.opened.keeping.look_after()
        except Exception as error:  # noqa: BLE001 - the duties of the next half second must not depend on this one
            if repr(error) != said:
                said = repr(error)
                _log.error("looking after the workspace failed", exc_info=error)


async def _end(application: LateApplication) -> None:
    if application.opened is None:
        return
    with anyio.move_on_after(_END_WITHIN_S):
        try:
            await application.opened.keeping.end()
        except Exception as error:  # noqa: BLE001 - nobody is left to be told, and the process ends in any case
            _log.error("the end was not clean", exc_info=error)
