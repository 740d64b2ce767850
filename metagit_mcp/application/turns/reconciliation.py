"""Where files and ledger do not say the same: what is to be written back, and what others did. Writes nothing."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from metagit_mcp.domain.projection import is_due, is_news, is_overruled
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
from metagit_mcp.domain.work import NodeKey, WorkItem

OVERRULED: Final = "was set back by another program while it is leased or under review"


class Reconciliation:
    """Follows both sides, looking only at what changed on one of them.

    `unwritten` are the graphs with rows to be written back, `acted` the nodes on which another program acted, and
    `overruled` those on which its act does not count.
    """

    def __init__(self) -> None:
        """Know neither side yet."""
        self.unwritten: set[str] = set()
        self.acted: set[NodeKey] = set()
        self.overruled: set[NodeKey] = set()
        self._graphs: Mapping[str, LoadedGraph] = {}
        self._rows: dict[str, tuple[LoadedGraph, Mapping[str, TaskNode]]] = {}

    def follow(self, graphs: Mapping[str, LoadedGraph], state: LedgerState, touched: Iterable[NodeKey] | None) -> None:
        """Look again at the graphs that changed, and at the nodes that were touched (None: at everything)."""
        if touched is None:
            self.unwritten, self.acted, self.overruled = set(), set(), set()
        changed = self._changed(graphs, state, everything=touched is None)
        for graph_id in changed:
            self.settle(graphs, state, graph_id)
        for graph_id, node_id in touched or ():
            found = state.item((graph_id, node_id))
            if graph_id not in changed and found is not None:
                self._look(graphs, found)

    def settle(self, graphs: Mapping[str, LoadedGraph], state: LedgerState, graph_id: str) -> None:
        """Look again at a graph that was to be written: work may have come back to what its row says all along."""
        self._forget(graph_id)
        if graph_id not in graphs:
            # A Group that is fed by Events, of which there may be a great many items, or one whose file is gone.
            return
        for item in state.items.get(graph_id, {}).values():
            self._look(graphs, item)

    def _changed(self, graphs: Mapping[str, LoadedGraph], state: LedgerState, *, everything: bool) -> set[str]:
        """Return the graphs to look at again as a whole; none where the files are those of the last look."""
        before, self._graphs = self._graphs, graphs
        if everything:
            return set(state.items)
        if before is graphs:
            return set()
        return {graph_id for graph_id in state.items if before.get(graph_id) is not graphs.get(graph_id)}

    def _forget(self, graph_id: str) -> None:
        self.unwritten.discard(graph_id)
        self.acted = {key for key in self.acted if key[0] != graph_id}
        self.overruled = {key for key in self.overruled if key[0] != graph_id}

    def _look(self, graphs: Mapping[str, LoadedGraph], item: WorkItem) -> None:
        self.acted.discard(item.key)
        self.overruled.discard(item.key)
        node = self.row(graphs, item.key)
        if node is None:
            return
        if is_due(item, node):
            self.unwritten.add(item.graph_id)
        if is_overruled(item, node):
            self.overruled.add(item.key)
        if is_news(item, node):
            self.acted.add(item.key)

    def row(self, graphs: Mapping[str, LoadedGraph], key: NodeKey) -> TaskNode | None:
        """Return a node as its file says it, or None."""
        loaded = graphs.get(key[0])
        if loaded is None or loaded.graph is None:
            self._rows.pop(key[0], None)
            return None
        known = self._rows.get(key[0])
        if known is None or known[0] is not loaded:
            known = self._rows[key[0]] = (loaded, {node.node_id: node for node in loaded.graph.nodes})
        return known[1].get(key[1])

    def acts(self, graphs: Mapping[str, LoadedGraph], state: LedgerState) -> Iterator[tuple[WorkItem, TaskNode]]:
        """Yield the nodes on which another program acted, each with its row."""
        for key in sorted(self.acted):
            item, node = state.item(key), self.row(graphs, key)
            if item is not None and node is not None:
                yield item, node

    def overruled_acts(self) -> Iterator[tuple[str, str]]:
        """Yield the graph and the warning of each act that does not count."""
        for graph_id, node_id in sorted(self.overruled):
            yield graph_id, f"graph {graph_id}: node {node_id} {OVERRULED}; that is ignored"
