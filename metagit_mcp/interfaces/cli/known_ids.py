"""The ids that a shell completes: graphs, nodes and agents of the workspace at hand.

It must not print: whatever fails, there is nothing to complete.
"""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

from metagit_mcp.errors import MetagitError
from metagit_mcp.interfaces.by_hand import finished
from metagit_mcp.interfaces.cli.invocation import Invocation

if TYPE_CHECKING:
    from metagit_mcp.application.known_ids import Found, KnownIds

_Ask = Callable[["KnownIds", str, str], Coroutine[Any, Any, "Found"]]
_ASKED: Final[dict[str, _Ask]] = {
    "graph_id": lambda known, prefix, _: known.graphs(prefix),
    "after_group": lambda known, prefix, _: known.graphs(prefix),
    "group_id": lambda known, prefix, _: known.graphs(prefix),
    "node": lambda known, prefix, graph_id: known.nodes(prefix, graph_id),
    "node_id": lambda known, prefix, graph_id: known.nodes(prefix, graph_id),
    "agent_id": lambda known, prefix, _: known.agents(prefix),
}


def ids_known(context: click.Context, parameter: click.Parameter, prefix: str) -> list[str]:
    """Return the ids that begin so, of what the parameter names; of nodes those of the graph named before."""
    invocation = context.find_object(Invocation)
    ask, given = _ASKED[str(parameter.name)], context.params
    graph_id = given.get("graph_id") or given.get("group_id") or ""
    with suppress(MetagitError):
        known = None if invocation is None else invocation.application().known_ids
        return [] if known is None else list(finished(ask(known, prefix, graph_id)).ids)
    return []
