"""Completes the ids that prompts and resources take, with those that the caller may know. Answers no other question."""

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from mcp import types
from mcp.server.context import ServerRequestContext

from metagit_mcp.application.known_ids import Found, found
from metagit_mcp.errors import MetagitError
from metagit_mcp.interfaces.mcp.opening import Identify, LateApplication
from metagit_mcp.interfaces.mcp.prompts import prompts
from metagit_mcp.interfaces.mcp.uris import templates
from metagit_mcp.wire.schemas import schema_names

if TYPE_CHECKING:
    from metagit_mcp.application.known_ids import KnownIds

Context = ServerRequestContext[Any, Any]
_log = logging.getLogger(__name__)


class CompletionDesk:
    """Completes arguments. What is not known is completed with nothing: a host asks at every key that is hit."""

    def __init__(self, application: LateApplication, identify: Identify, toolsets: Collection[str]) -> None:
        self._application = application
        self._identify = identify
        taken = {each.name: {named.name for named in each.arguments or ()} for each in prompts(toolsets)}
        for kind in templates(toolsets):
            taken[kind.uri_template] = set(_variables(kind.uri_template))
        self._taken = taken

    async def complete(self, _: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Return the ids that begin with what was typed, at most as many as a host shows."""
        ref, argument = params.ref, params.argument
        name = ref.name if isinstance(ref, types.PromptReference) else ref.uri
        given = (params.context.arguments if params.context else None) or {}
        ids = Found()
        if argument.name in self._taken.get(name, ()):
            ids = await self._ids(argument.name, argument.value, given.get("graph_id", ""))
        has_more = ids.total > len(ids.ids)
        return types.CompleteResult(
            completion=types.Completion(values=list(ids.ids), total=ids.total, has_more=has_more)
        )

    async def _ids(self, argument: str, prefix: str, graph_id: str) -> Found:
        if argument == "name":
            return found(prefix, schema_names())
        try:
            known = (await self._application(self._identify())).known_ids
            return await _of_kind(known, argument, prefix, graph_id)
        except MetagitError as error:
            _log.debug("nothing can be completed: %s", error.code)
            return Found()


async def _of_kind(known: "KnownIds", argument: str, prefix: str, graph_id: str) -> Found:
    match argument:
        case "graph_id":
            return await known.graphs(prefix)
        case "group_id":
            return await known.groups(prefix)
        case "node_id":
            return await known.nodes(prefix, graph_id)
    return await known.agents(prefix)


def _variables(template: str) -> list[str]:
    return [part.partition("}")[0] for part in template.split("{")[1:]]
