"""Puts the HTTP interface together: MCP, the board, its JSON and health, behind the guard and the identity.

Must not know how it is served.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from metagit_mcp.application.access import Access
from metagit_mcp.application.caller import Caller
from metagit_mcp.bootstrap import Application
from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.board.page import board_page
from metagit_mcp.interfaces.http.address import Address
from metagit_mcp.interfaces.http.answers import refusal
from metagit_mcp.interfaces.http.document import document_routes
from metagit_mcp.interfaces.http.guard import MOST_BYTES, Guard
from metagit_mcp.interfaces.http.health import health_routes
from metagit_mcp.interfaces.http.identity import DOCUMENT_PATH, MCP_PATH, Identity
from metagit_mcp.interfaces.http.metrics import metrics_routes
from metagit_mcp.interfaces.http.routes import json_routes
from metagit_mcp.interfaces.http.session import session_routes

# A session of the older protocol, which remembers its client, is forgotten after this long without a request.
_SESSION_IDLE_S: Final = 1_800.0
_MOST_SESSIONS: Final = 1_000
_PLACES: Final = f"The board is at /, MCP at {MCP_PATH}; GET {DOCUMENT_PATH} describes the routes below /v1/."
Opened = Callable[[], Awaitable[Application]]


def build_app(
    server: Server[Any], opened: Opened, address: Address, terms: Caller, *, legacy_stateless: bool = False
) -> ASGIApp:
    """Return the ASGI application.

    Args:
        server: the MCP server, which asks `identity.caller_now` who calls.
        opened: gives the application in the name of the process.
        address: the names of the server; its port is known.
        terms: what holds for every caller.
        legacy_stateless: clients of the older protocol get no session, so that any process may answer them.
    """

    async def access() -> Access:
        return (await opened()).access

    inner = _Later()
    identity = Identity(inner, access, address, terms)
    app = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        stateless_http=legacy_stateless,
        max_request_body_size=MOST_BYTES,
        session_idle_timeout=_SESSION_IDLE_S,
        max_sessions=_MOST_SESSIONS,
        transport_security=_names_known(address),
        custom_starlette_routes=[
            Route("/", _board),
            *health_routes(opened),
            *session_routes(identity.caller_with, address),
            *json_routes(opened),
            *document_routes(),
            *metrics_routes(server, opened),
        ],
    )
    # Another spelling of a path is another path: a redirect would name the scheme of this side of a proxy.
    app.router.redirect_slashes = False
    app.add_exception_handler(HTTPException, _nothing_there)
    logging.getLogger("mcp.server.streamable_http").addFilter(_is_news)
    inner.app = app
    return Guard(identity, address)


class _Later:
    """Stands for what comes after the identity, which its routes have to know."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


def _names_known(address: Address) -> TransportSecuritySettings:
    return TransportSecuritySettings(allowed_hosts=sorted(address.names()), allowed_origins=sorted(address.pages()))


def _is_news(record: logging.LogRecord) -> bool:
    """Keep out of the log that somebody went away in the middle of a request: the SDK takes it for an error."""
    return record.exc_info is None or not isinstance(record.exc_info[1], ClientDisconnect)


async def _nothing_there(_: Request, error: Exception) -> Response:
    """Answer what no route answers, or not in this way, as any other refusal."""
    if not isinstance(error, HTTPException):  # pragma: no cover - it is registered for these
        raise error
    response = refusal(error.status_code, InvalidInput(f"{error.detail}.", hint=_PLACES, field="path"))
    response.headers.update(error.headers or {})
    return response


async def _board(_: Request) -> Response:
    """Answer the page, which is the same for everybody and holds nothing."""
    page = board_page()
    return HTMLResponse(page.document, headers={"content-security-policy": page.policy, "cache-control": "no-cache"})
