"""Finds the ids that a caller may mean by what it typed so far. Answers no other question.

To a Coordinator its own Group is the only one there is (work.md §7).
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from heapq import nsmallest
from typing import Final

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.turns.current import Current
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.domain.text import is_agent_id, is_any_id
from metagit_mcp.domain.value import value
from metagit_mcp.errors import MetagitError

MOST: Final = 100


@value
class Found:
    """The first ids in their order, and how many there are of them all."""

    ids: tuple[str, ...] = ()
    total: int = 0


class KnownIds:
    """The use cases of completions."""

    def __init__(self, current: Current, caller: Caller) -> None:
        """Keep the collaborators."""
        self._current = current
        self._caller = caller

    async def graphs(self, prefix: str) -> Found:
        """Return the task graphs and Groups whose ids begin so."""
        return found(prefix, filter(is_any_id, await self._graphs()))

    async def groups(self, prefix: str) -> Found:
        """Return the Groups fed by Events whose ids begin so."""
        graphs = await self._graphs()
        return found(prefix, (name for name, loaded in graphs.items() if loaded.is_fed))

    async def nodes(self, prefix: str, graph_id: str) -> Found:
        """Return the nodes whose ids begin so, of one graph or, where that is empty, of all."""
        graphs = await self._graphs()
        chosen = [graphs[graph_id]] if graph_id in graphs else () if graph_id else graphs.values()
        read = (loaded.graph for loaded in chosen if loaded.graph is not None)
        return found(prefix, {node.node_id for graph in read for node in graph.nodes if is_any_id(node.node_id)})

    async def agents(self, prefix: str) -> Found:
        """Return the agents whose ids begin so: those of the policy, and those that took work."""
        if not self._caller.may("look"):
            return Found()
        image = await self._current.image()
        named = set() if image.policy is None else set(image.policy.agents)
        # Who works is not known without the ledger; that is told where it matters.
        with suppress(MetagitError):
            state = self._current.state
            named |= state.sessions.keys() | {lease.agent_id for lease in state.leases.values()}
        return found(prefix, filter(is_agent_id, named))

    async def _graphs(self) -> Mapping[str, LoadedGraph]:
        graphs = (await self._current.image()).graphs
        if self._caller.may("look"):
            return graphs
        own = graphs.get(self._caller.group_id)
        return {} if own is None else {self._caller.group_id: own}


def found(prefix: str, ids: Iterable[str]) -> Found:
    """Return those of the ids that begin with `prefix`."""
    several = [each for each in ids if each.startswith(prefix)]
    return Found(ids=tuple(nsmallest(MOST, several)), total=len(several))
