"""GET /metrics: what this server was asked and how things stand, in numbers, for whoever may look. Counts nothing."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

from mcp.server.lowlevel import Server
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metagit_mcp.bootstrap import Application, metrics_page
from metagit_mcp.errors import InvalidInput, MetagitError
from metagit_mcp.interfaces.http.answers import refusal, refused
from metagit_mcp.interfaces.http.identity import caller_now
from metagit_mcp.interfaces.mcp.measured import measure
from metagit_mcp.interfaces.mcp.subscriptions import TellingServer
from metagit_mcp.wire.measures import Calls

METRICS_PATH: Final = "/metrics"


def metrics_routes(server: Server[Any], opened: Callable[[], Awaitable[Application]]) -> list[Route]:
    """Count the calls of a server from now on; return the route that shows them."""
    calls = Calls()
    measure(server, calls.add)

    async def show(_: Request) -> Response:
        try:
            standing = await (await opened()).speaking_for(caller_now()).measures.standing()
        except MetagitError as error:
            return refused(error)
        try:
            page, content_type = metrics_page()
        except InvalidInput as missing:
            # Nothing is wrong with what was asked.
            return refusal(HTTPStatus.NOT_IMPLEMENTED, missing)
        headers = {"content-type": content_type, "cache-control": "no-store"}
        return Response(page(calls, standing, _listeners(server)), headers=headers)

    return [Route(METRICS_PATH, show)]


def _listeners(server: Server[Any]) -> int:
    telling = server.telling if isinstance(server, TellingServer) else None
    return 0 if telling is None else telling.listeners
