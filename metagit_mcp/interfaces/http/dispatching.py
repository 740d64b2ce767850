"""What an orchestrator without MCP asks for: advice, a claim, a start, a report. Parse, one application call, render.

Answers are those of the tools, whole. A handler must not decide who may: the use case does.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from starlette.requests import Request

from metagit_mcp.bootstrap import Application
from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.http.reading import body_of, query_of
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.http.http_requests import advice_request, claim_request
from metagit_mcp.wire.requests import WorkReportRequest, WorkStartRequest

# A result with all that it may hold, each character escaped.
_MOST_BYTES: Final = 1024 * 1024
A = TypeVar("A")


async def show_next(request: Request, application: Application, _: str) -> object:
    """Advice: what `schedule next --json` prints."""
    return await application.schedule.next(advice_request(query_of(request)))


async def claim(request: Request, application: Application, _: str) -> object:
    """Take what is next: what `schedule next --claim --json` prints."""
    asked = claim_request(await body_of(request, _MOST_BYTES))
    answering = application.schedule.next(asked)
    return await (while_there(request, answering) if asked.wait_seconds else answering)


async def start(request: Request, application: Application, _: str) -> object:
    """Take one named node: what `work start --json` prints."""
    return await application.work.start(parse_request(WorkStartRequest, await body_of(request, _MOST_BYTES)))


async def report(request: Request, application: Application, _: str) -> object:
    """Say how the work under a lease stands: what `work report --json` prints."""
    return await application.work.report(parse_request(WorkReportRequest, await body_of(request, _MOST_BYTES)))


async def while_there(request: Request, answering: Coroutine[Any, Any, A]) -> A:
    """Return an answer that may take its time, unless its caller goes away: who hung up takes nothing.

    Raises:
        InvalidInput: it went away; nobody hears this.
    """
    work, leaving = asyncio.ensure_future(answering), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((work, leaving), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise InvalidInput("The request broke off.")
    finally:
        for each in (work, leaving):
            each.cancel()
        await asyncio.gather(work, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    """Wait until the caller of a request that was read to its end is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
