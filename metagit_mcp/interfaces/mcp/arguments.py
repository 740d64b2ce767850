"""Lets only those calls of tools through whose arguments are an object. Must not know any tool.

The SDK would answer others with a protocol error, which no agent learns from.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp import types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.mcp.errors import refused
from metagit_mcp.wire.codec import Json, parse_json

Context = ServerRequestContext[Any, Any]


class ObjectArguments:
    """A middleware of the server. An object that comes as a JSON string, as some hosts send it, is read."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Pass the request on, or answer it here."""
        params = ctx.params or {}
        given = params.get("arguments") if ctx.method == "tools/call" else None
        if given is None or isinstance(given, Mapping):
            return await call_next(ctx)
        try:
            arguments = _object_in(given)
        except InvalidInput as error:
            return self._in_envelope(refused(error), ctx)
        return await call_next(replace(ctx, params={**params, "arguments": arguments}))

    def _in_envelope(self, result: types.CallToolResult, ctx: Context) -> HandlerResult:
        """Name the server in an answer of the era without a handshake, as the SDK does in all that it passes on."""
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return result
        return result.model_copy(update={"meta": {types.SERVER_INFO_META_KEY: self._server.server_info_stamp}})


def _object_in(given: object) -> Json:
    read = _read(given) if isinstance(given, str) else given
    if not isinstance(read, dict):
        raise InvalidInput(
            "arguments: must be a JSON object",
            hint="Pass the arguments by name, or {} for none; tools/list has the names.",
            field="arguments",
        )
    return read


def _read(text: str) -> object:
    if not text:
        return {}
    try:
        return parse_json(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return text
