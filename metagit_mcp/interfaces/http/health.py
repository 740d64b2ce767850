"""Says whether the server lives, and whether it can answer; to anybody, and nothing else. Knows no answer."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from metagit_mcp.bootstrap import Application
from metagit_mcp.errors import MetagitError

_UNREADY = 503


def health_routes(application: Callable[[], Awaitable[Application]]) -> list[Route]:
    """Return the routes for whoever keeps servers running."""

    async def lives(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def is_ready(_: Request) -> Response:
        try:
            await (await application()).current.work()
        except MetagitError as error:
            return PlainTextResponse(f"{error.code}\n", status_code=_UNREADY)
        return PlainTextResponse("ready\n")

    return [Route("/healthz", lives), Route("/readyz", is_ready)]
