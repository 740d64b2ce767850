"""Lists what a host can read, and reads it as whoever asks. Must not know files, nor how the protocol is served.

There is no list of Groups, and none of graphs, which Groups are too: completions name those that a caller may know.
"""

import json
import logging
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError, types
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from metagit_mcp.application.news.topics import Topic
from metagit_mcp.errors import InternalError, MetagitError
from metagit_mcp.interfaces.mcp.board_app import PAGE_URI, AppRequest, app_page, asked_by_app, shown_by_app
from metagit_mcp.interfaces.mcp.opening import Identify, LateApplication
from metagit_mcp.interfaces.mcp.uris import JSON, SCHEMA_JSON, resources, templates, topic_of
from metagit_mcp.wire.answer_size import rendered
from metagit_mcp.wire.requests import PolicyRequest, StatusRequest
from metagit_mcp.wire.resource_answers import DecisionsAnswer, GraphAnswer
from metagit_mcp.wire.schemas import schema_of

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application

Context = ServerRequestContext[Any, Any]
_WHOLE: Final = frozenset({"policy", "status", "decisions"})
# Until 2025-11-25 the protocol had a code of its own for it.
_NOT_FOUND_BEFORE: Final = -32002
_NOT_THERE: Final = frozenset({"GROUP_NOT_FOUND", "GRAPH_NOT_FOUND"})
_MOST_DECISIONS: Final = 100
# A schema changes with the program alone.
_SCHEMA_KEPT_MS: Final = 3_600_000

# Unconfigured, as the server leaves it, logging writes to standard error.
_log = logging.getLogger(__name__)


class ResourceDesk:
    """Lists the resources and their kinds, and reads one."""

    def __init__(self, application: LateApplication, identify: Identify, toolsets: Collection[str]) -> None:
        self._application = application
        self._identify = identify
        self._toolsets = toolsets

    async def list_resources(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return what can be read without an id, by those who may see the whole workspace."""
        _refuse_cursor(params)
        caller = self._identify()
        listed = resources(self._toolsets) if caller is None or caller.may("look") else ()
        return types.ListResourcesResult(resources=list(listed))

    async def list_templates(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return all kinds on one page."""
        _refuse_cursor(params)
        return types.ListResourceTemplatesResult(resource_templates=list(templates(self._toolsets)))

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Return one resource as JSON of a bounded size; what was cut is said in it."""
        uri = params.uri
        if uri == PAGE_URI:
            return app_page()
        asked = asked_by_app(uri) or topic_of(uri, self._toolsets)
        if asked is None:
            told = "Unknown resource. resources/list and resources/templates/list name what there is"
            raise MCPError(_not_found(ctx), f"{told}; ids are percent-encoded.", {"uri": uri})
        if isinstance(asked, Topic) and asked.kind == "schema":
            return _schema(uri, asked.name)
        try:
            text = await self._read(asked)
        except MetagitError as error:
            raise _unread(ctx, uri, error) from None
        except Exception as error:
            _log.exception("reading a resource failed")
            raise _unread(ctx, uri, InternalError()) from error
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=JSON, text=text)])

    async def _read(self, asked: Topic | AppRequest) -> str:
        caller = self._identify()
        if not isinstance(asked, Topic):
            return await shown_by_app(await self._application(caller), asked)
        if caller is not None and asked.kind in _WHOLE:
            # A coordinator's own status is a tool's answer: this one is about everything.
            caller.allow("look")
        return rendered(await answer_of(await self._application(caller), asked))[1].decode()


async def answer_of(application: "Application", topic: Topic) -> object:
    """Return the answer that a resource holds."""
    match topic.kind:
        case "policy":
            return await application.policies.run(PolicyRequest(action="show"))
        case "status":
            return await application.schedule.status(StatusRequest())
        case "decisions":
            status = await application.schedule.status(StatusRequest(recent=_MOST_DECISIONS))
            return DecisionsAnswer(recent_decisions=status.recent_decisions)
        case "graph":
            listed = await application.tasks.list(topic.name, None)
            return GraphAnswer(graph=listed.graphs[0], warnings=listed.warnings)
        case "group":
            return await application.groups.shown(topic.name)
    return await application.groups.outbox(topic.name)


def _schema(uri: str, name: str) -> types.ReadResourceResult:
    # Never cut: part of a schema would be another one.
    text = json.dumps(schema_of(name), separators=(",", ":"))
    contents = types.TextResourceContents(uri=uri, mime_type=SCHEMA_JSON, text=text)
    return types.ReadResourceResult(contents=[contents], ttl_ms=_SCHEMA_KEPT_MS, cache_scope="public")


def _not_found(ctx: Context) -> int:
    return types.INVALID_PARAMS if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else _NOT_FOUND_BEFORE


def _unread(ctx: Context, uri: str, error: MetagitError) -> MCPError:
    code = types.INTERNAL_ERROR
    if error.code in _NOT_THERE:
        code = _not_found(ctx)
    elif error.code == "AUTH_FORBIDDEN":
        code = types.INVALID_REQUEST
    return MCPError(code, error.message, {"uri": uri, **error.as_record()})


def _refuse_cursor(params: types.PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "Unknown cursor: the list of resources has one page.")
