"""Writes task graph files, one atomic read-modify-write at a time. Knows no rule of what may be changed."""

import contextlib
from collections.abc import Callable
from typing import Any

from metagit_mcp.adapters.files import atomic_write, make_folder, read_regular
from metagit_mcp.adapters.follow_up import follow_up
from metagit_mcp.adapters.graph_files import read_graph
from metagit_mcp.adapters.graph_index import list_graph
from metagit_mcp.adapters.json_documents import parse_document, render_document
from metagit_mcp.adapters.kept import Kept, Nodes, graph_lesson, learn, read_kept
from metagit_mcp.adapters.layout import GRAPHS
from metagit_mcp.adapters.locks import locked
from metagit_mcp.adapters.refusals import FileRefused
from metagit_mcp.domain.text import is_id, shown
from metagit_mcp.errors import GraphInvalid, InvalidInput
from metagit_mcp.wire.codec import Json


class GraphFileStore:
    """The graph files of one workspace, to be written."""

    def __init__(self, root: str) -> None:
        """Touch nothing yet."""
        self._root = root

    def revise(self, graph_id: str, change: Callable[[Json | None], Json | None]) -> tuple[str, ...]:
        """Give `change` the graph with our kept fields, write what it returns; see `ports.workspace.GraphStore`."""
        if not is_id(graph_id):
            raise InvalidInput(f"graph_id: {shown(graph_id, 40)!r} is no id", field="graph_id")
        root, path = self._root, f"{self._root}/{GRAPHS}/{graph_id}.json"
        make_folder(f"{root}/{GRAPHS}", root=root)
        with locked(path, root=root, kind="graph"):
            known = read_kept(root)
            kept = known.nodes(graph_id)
            former = _read(path, root, graph_id)
            revised = change(None if former is None else _with_kept(former, kept))
            if revised is None:
                return ()
            revised = _with_nulls(revised, kept)
            raw = _render(revised, graph_id)
            atomic_write(path, raw, root=root, kind="graph")
            unlisted = follow_up(lambda: list_graph(root, graph_id, revised))
            return unlisted + follow_up(lambda: _keep(root, known, graph_id, raw))

    def peek(self, graph_id: str) -> Json | None:
        """Return the graph with our kept fields in it, as `revise` would give it; creates nothing.

        Raises:
            GraphInvalid: the file that is there cannot be used.
        """
        former = _read(f"{self._root}/{GRAPHS}/{graph_id}.json", self._root, graph_id)
        return None if former is None else _with_kept(former, read_kept(self._root).nodes(graph_id))


def _read(path: str, root: str, graph_id: str) -> Json | None:
    try:
        image = read_regular(path, root=root)
        return None if image is None else parse_document(image.raw)
    except (FileRefused, ValueError) as error:
        hint = "Mend the file; other graphs go on."
        raise GraphInvalid(f"graph {graph_id}: {error}", hint=hint, graph_id=graph_id) from None


def _render(graph: Json, graph_id: str) -> bytes:
    with contextlib.suppress(InvalidInput):
        return render_document(graph)
    raise GraphInvalid(f"graph {graph_id}: holds a number that JSON has no word for", graph_id=graph_id)


def _keep(root: str, known: Kept, graph_id: str, raw: bytes) -> None:
    """Keep what the written graph says of our fields; what it does not say any more is ended."""
    loaded = read_graph(graph_id, raw).loaded
    learn(root, known, {graph_id: graph_lesson(loaded, known.nodes(graph_id))})


def _with_kept(graph: Json, kept: Nodes) -> Json:
    """Return the graph with kept values where its nodes lack the key."""
    return _filled(graph, kept, lambda ours: ours)


def _with_nulls(graph: Json, kept: Nodes) -> Json:
    """Return the graph with an explicit null where a change removed a kept field.

    Without it, a process that is killed before kept.json is written would leave the field in force.
    """
    return _filled(graph, kept, lambda _: None)


def _filled(graph: Json, kept: Nodes, fill: Callable[[Any], Any]) -> Json:
    rows = graph.get("nodes")
    if not kept or not isinstance(rows, list):
        return graph
    return {**graph, "nodes": [_row_filled(row, kept, fill) for row in rows]}


def _row_filled(row: Any, kept: Nodes, fill: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - a row may be any JSON
    node_id = row.get("node_id") if isinstance(row, dict) else None
    ours = kept.get(node_id.strip()) if isinstance(node_id, str) else None
    return {**row, **{name: fill(each) for name, each in ours.items() if name not in row}} if ours else row
