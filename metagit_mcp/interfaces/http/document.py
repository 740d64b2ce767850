"""Serves the OpenAPI document to anybody: it holds nothing of a workspace. Must not know what stands in it."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from metagit_mcp.interfaces.http.identity import DOCUMENT_PATH
from metagit_mcp.wire.codec import compact
from metagit_mcp.wire.http.openapi import openapi_document


def document_routes() -> list[Route]:
    """Return the route of the document."""
    return [Route(DOCUMENT_PATH, _show, methods=["GET"])]


def _show(_: Request) -> Response:
    # Made when it is first asked for, in a thread: others are answered meanwhile.
    return Response(compact(openapi_document()), media_type="application/json", headers={"cache-control": "no-cache"})
