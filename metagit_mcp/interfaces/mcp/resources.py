"""What a host can read of one Group that is fed by Events, as resources under percent-encoded ids.

There is no list of Groups: who reads knows which one it asks for. Must not know files, nor how the protocol is served.
"""

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from mcp import MCPError, types
from mcp.server.context import ServerRequestContext

from metagit_mcp.domain.text import is_agent_id
from metagit_mcp.errors import InternalError, MetagitError
from metagit_mcp.interfaces.mcp.opening import LateApplication
from metagit_mcp.wire.answer_size import rendered

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application

Context = ServerRequestContext[Any, Any]
TOOLSET: Final = "groups"
_BEGIN: Final = "metagit://groups/"
_OUTBOX: Final = "outbox"
_JSON: Final = "application/json"
_TEMPLATES: Final = (
    types.ResourceTemplate(
        uri_template=f"{_BEGIN}{{group_id}}",
        name="group",
        title="How a Group stands",
        description="Of a Group fed by Events: its Cursor, what is held and missing, its WorkItems by state.",
        mime_type=_JSON,
    ),
    types.ResourceTemplate(
        uri_template=f"{_BEGIN}{{group_id}}/{_OUTBOX}",
        name="group_outbox",
        title="What a Group is to be asked for",
        description="The Commands to send to a Group fed by Events, oldest first; each stays as it is until answered.",
        mime_type=_JSON,
    ),
)

# Unconfigured, as the server leaves it, logging writes to standard error.
_log = logging.getLogger(__name__)


def templates(toolsets: Collection[str]) -> tuple[types.ResourceTemplate, ...]:
    """Return the resources of a server with these toolsets."""
    return _TEMPLATES if TOOLSET in toolsets else ()


class ResourceDesk:
    """Lists the kinds of resources, and reads one."""

    def __init__(self, application: LateApplication) -> None:
        self._application = application

    async def list_resources(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return none: which Groups there are is nobody's to know."""
        _refuse_cursor(params)
        return types.ListResourcesResult(resources=[])

    async def list_templates(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return all kinds on one page."""
        _refuse_cursor(params)
        return types.ListResourceTemplatesResult(resource_templates=list(_TEMPLATES))

    async def read_resource(self, _: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Return one Group, or its outbox."""
        group_id, part = _named(params.uri)
        try:
            text = await _read(await self._application(), group_id, part)
        except MetagitError as error:
            raise _unread(params.uri, error) from None
        except Exception as error:
            _log.exception("reading a resource failed")
            raise _unread(params.uri, InternalError()) from error
        contents = types.TextResourceContents(uri=params.uri, mime_type=_JSON, text=text)
        return types.ReadResourceResult(contents=[contents])


async def _read(application: "Application", group_id: str, part: str) -> str:
    groups = application.groups
    answer: object = await (groups.outbox(group_id) if part else groups.shown(group_id))
    return rendered(answer)[1].decode()


def _named(uri: str) -> tuple[str, str]:
    """Return the Group that a URI names, and which part of it.

    Raises:
        MCPError: it is the URI of no resource.
    """
    if uri.startswith(_BEGIN):
        name, slash, part = uri.removeprefix(_BEGIN).partition("/")
        # What is no UTF-8 becomes a mark that no id has.
        group_id = unquote(name)
        if is_agent_id(group_id) and (slash, part) in {("", ""), ("/", _OUTBOX)}:
            return group_id, part
    known = " and ".join(each.uri_template for each in _TEMPLATES)
    message = f"Unknown resource. Known: {known}, with a percent-encoded id."
    raise MCPError(types.INVALID_PARAMS, message, {"uri": uri})


def _unread(uri: str, error: MetagitError) -> MCPError:
    code = types.INVALID_PARAMS if error.code == "GROUP_NOT_FOUND" else types.INTERNAL_ERROR
    return MCPError(code, error.message, {"uri": uri, **error.as_record()})


def _refuse_cursor(params: types.PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "Unknown cursor: the list of resources has one page.")
