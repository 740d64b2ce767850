"""Builds the MCP server object: identity, tools, prompts, resources, duties, and the way of a call.

Must not know files, nor over which transport it is served. It uses public names of the SDK only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError, types
from mcp.server.caching import CacheHint
from mcp.server.context import HandlerResult, ServerRequestContext

from metagit_mcp import __version__
from metagit_mcp.errors import MetagitError
from metagit_mcp.interfaces.mcp.arguments import ObjectArguments
from metagit_mcp.interfaces.mcp.completions import CompletionDesk
from metagit_mcp.interfaces.mcp.errors import failed, refused, unknown_tool
from metagit_mcp.interfaces.mcp.guidance import instructions
from metagit_mcp.interfaces.mcp.opening import Identify, LateApplication, the_process
from metagit_mcp.interfaces.mcp.prompts import PromptDesk, prompts
from metagit_mcp.interfaces.mcp.resources import ResourceDesk
from metagit_mcp.interfaces.mcp.speaker import signed
from metagit_mcp.interfaces.mcp.subscriptions import SubscriptionDesk, TellingServer
from metagit_mcp.interfaces.mcp.telling import Telling
from metagit_mcp.interfaces.mcp.tools import TOOLS, Call, ToolEntry, entry_input_schema, entry_output_schema
from metagit_mcp.interfaces.mcp.upkeep import upkeep
from metagit_mcp.interfaces.mcp.uris import templates
from metagit_mcp.settings import Settings
from metagit_mcp.wire.codec import Json

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application

Context = ServerRequestContext[Any, Any]

NAME: Final = "metagit_mcp"
TITLE: Final = "metagit scheduler"
# The list is fixed while the server runs; a host may keep it for this long without asking again.
_LIST_KEPT_MS: Final = 60_000
_LISTS: Final = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")


def build_server(
    open_application: "LateApplication | Callable[[], Application]",
    settings: Settings,
    extra_tools: Sequence[ToolEntry] = (),
    identify: Identify = the_process,
) -> TellingServer:
    """Return the server. Nothing is read before the first call of a tool.

    Args:
        open_application: finds and opens the workspace; it may block, and is tried again if it fails. Or what did so:
            then its duties begin at once, whoever asks first and by which way.
        settings: `toolsets` decides which tools there are.
        extra_tools: more tools, whatever their toolset; for tests and measurements.
        identify: says who makes the request that is being answered; None: whoever started the process.
    """
    entries = [*(entry for entry in TOOLS if entry.toolset in settings.toolsets), *extra_tools]
    application = (
        open_application if isinstance(open_application, LateApplication) else LateApplication(open_application)
    )
    desk = ToolDesk(entries, application, identify, settings.agent_id)
    server = TellingServer(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=instructions(settings.toolsets),
        lifespan=upkeep(application),
        cache_hints=dict.fromkeys(_LISTS, CacheHint(ttl_ms=_LIST_KEPT_MS)),
        on_list_tools=desk.list_tools,
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, desk.call_tool)
    _offer_prompts(server, settings)
    _offer_resources(server, application, identify, settings)
    if prompts(settings.toolsets) or templates(settings.toolsets):
        completing = CompletionDesk(application, identify, settings.toolsets)
        server.add_request_handler("completion/complete", types.CompleteRequestParams, completing.complete)
    # Instead of the span per message that the SDK makes for a telemetry exporter, which is not part of this program.
    server.middleware[:] = [ObjectArguments(server)]
    return server


def _offer_prompts(server: TellingServer, settings: Settings) -> None:
    if prompts(settings.toolsets):
        desk = PromptDesk(settings.toolsets)
        server.add_request_handler("prompts/list", types.PaginatedRequestParams, desk.list_prompts)
        server.add_request_handler("prompts/get", types.GetPromptRequestParams, desk.get_prompt)


def _offer_resources(
    server: TellingServer, application: LateApplication, identify: Identify, settings: Settings
) -> None:
    if not templates(settings.toolsets):
        return
    desk = ResourceDesk(application, identify, settings.toolsets)
    server.add_request_handler("resources/list", types.PaginatedRequestParams, desk.list_resources)
    server.add_request_handler("resources/templates/list", types.PaginatedRequestParams, desk.list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, desk.read_resource)
    server.telling = Telling(application)
    told = SubscriptionDesk(server.telling, identify, settings.toolsets)
    server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, told.listen)
    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, told.subscribe)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, told.unsubscribe)
    server.add_notification_handler("notifications/initialized", types.NotificationParams, told.connected)


class ToolDesk:
    """Lists the tools and answers their calls."""

    def __init__(
        self, entries: Iterable[ToolEntry], application: LateApplication, identify: Identify, agent_id: str
    ) -> None:
        self._agent_id = agent_id
        self._entries: Mapping[str, ToolEntry] = {entry.name: entry for entry in entries}
        self._application = application
        self._identify = identify
        self._listed: types.ListToolsResult | None = None

    async def list_tools(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Return all tools, in the order of the table, on one page."""
        if params is not None and params.cursor is not None:
            raise MCPError(types.INVALID_PARAMS, "Unknown cursor: the list of tools has one page.")
        if self._listed is None:
            # Not at the start: the schemas cost some milliseconds, and not every host asks first.
            self._listed = types.ListToolsResult(tools=[described(entry) for entry in self._entries.values()])
        return self._listed

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> HandlerResult:
        """Answer one call. Refusals and failures are results too; only an unknown tool is a protocol error."""
        entry = self._entries.get(params.name)
        if entry is None:
            toolset = next((each.toolset for each in TOOLS if each.name == params.name), None)
            raise unknown_tool(params.name, self._entries, toolset)
        progress, caller = ctx.session.report_progress, self._identify()
        arguments = params.arguments or {}
        if entry.asks_who_calls and caller is None:
            arguments = signed(arguments, params.meta, self._agent_id)
        call = Call(application=partial(self._application, caller), arguments=arguments, progress=progress)
        try:
            if self._application.opened is not None:
                self._application.opened.keeping.note_call()
            return succeeded(*await entry.answering(call))
        except MetagitError as error:
            return refused(error)
        except Exception as error:  # noqa: BLE001 - the border: what nobody expected is told apart and logged
            return failed(error)


def described(entry: ToolEntry) -> types.Tool:
    """Return a tool as tools/list shows it."""
    effects = entry.effects
    return types.Tool(
        name=entry.name,
        title=entry.title,
        description=entry.description,
        input_schema=entry_input_schema(entry),
        output_schema=entry_output_schema(entry),
        annotations=types.ToolAnnotations(
            read_only_hint=effects.read_only,
            destructive_hint=effects.destructive,
            idempotent_hint=effects.idempotent,
            # Everything is in the workspace.
            open_world_hint=False,
        ),
        _meta=_hints_of(entry) or None,
    )


def _hints_of(entry: ToolEntry) -> Json:
    """Return what only some hosts understand; the others pass over it."""
    hints: Json = {"anthropic/alwaysLoad": True} if entry.always_loaded else {}
    return hints if entry.page_uri is None else {**hints, "ui": {"resourceUri": entry.page_uri}}


def succeeded(record: Json, line: bytes) -> Json:
    """Return the tool result of an answer: structured content, and the same JSON as text for hosts that show text.

    In the form of the wire, which the SDK checks all the same and fits to the era: its model would only add a copy.
    """
    text = {"type": "text", "text": line.decode()}
    return {"content": [text], "structuredContent": record, "isError": False, "resultType": "complete"}
