"""Keeps tasks/index.json, metagit's list of task graphs, in step with a graph that was written. Reads no node.

The scheduler never reads the list, but metagit's commands stop at a damaged one: it is then made anew from the files.
"""

import os
from typing import Any, Final

from metagit_mcp.adapters.files import atomic_write, read_regular
from metagit_mcp.adapters.json_documents import parse_document, render_document
from metagit_mcp.adapters.layout import GRAPHS, INDEX
from metagit_mcp.adapters.locks import locked
from metagit_mcp.errors import MetagitError
from metagit_mcp.wire.codec import Json

_COLUMNS: Final[Json] = {"title": "", "status": "active", "objective_id": None, "updated_at": ""}


def list_graph(root: str, graph_id: str, graph: Json) -> None:
    """Put a graph's row into the list, sorted by id; unknown fields of the list and of the row stay.

    Raises:
        ReadOnlyWorkspace, StoreUnavailable, FileRefused: the list cannot be written.
    """
    path = f"{root}/{INDEX}"
    with locked(path, root=root, kind="index"):
        index = _found(path, root) or {"graphs": _rows_of_files(root)}
        rows = {str(row["graph_id"]): row for row in index["graphs"]}
        rows[graph_id] = {**rows.get(graph_id, {}), **_row(graph_id, graph)}
        index["graphs"] = [rows[name] for name in sorted(rows)]
        atomic_write(path, render_document(index), root=root, kind="index")


def has_usable_list(root: str) -> bool:
    """Say whether the list can be used, or is not there at all. Raises what `unlisted` raises."""
    return _found(f"{root}/{INDEX}", root) is not None or read_regular(f"{root}/{INDEX}", root=root) is None


def unlisted(root: str) -> dict[str, Json]:
    """Return the graphs whose row in the list is missing, says something else, or stands for no file.

    Each has the row that it should have, an empty one where there is no file. A file that cannot be used has no say in
    it. Without a list and without graphs nothing is missing.

    Raises:
        StoreUnavailable, FileRefused: the list cannot be read.
    """
    found = _found(f"{root}/{INDEX}", root)
    rows = {} if found is None else {str(row["graph_id"]): row for row in found["graphs"]}
    files = {str(row["graph_id"]): row for row in _rows_of_files(root)}
    named = {name.removesuffix(".json") for name in _names(f"{root}/{GRAPHS}")}
    different = {name: row for name, row in files.items() if {**rows.get(name, {}), **row} != rows.get(name)}
    return different | {name: {} for name in rows.keys() - named}


def list_anew(root: str) -> None:
    """Bring every row of the list in step with the files; unknown fields of the list and of its rows stay.

    Raises:
        ReadOnlyWorkspace, StoreUnavailable, FileRefused: the list cannot be written.
    """
    path = f"{root}/{INDEX}"
    with locked(path, root=root, kind="index"):
        index = _found(path, root) or {"graphs": []}
        former = {str(row["graph_id"]): row for row in index["graphs"]}
        rows = {str(row["graph_id"]): {**former.get(str(row["graph_id"]), {}), **row} for row in _rows_of_files(root)}
        kept = {name.removesuffix(".json") for name in _names(f"{root}/{GRAPHS}")} & former.keys()
        rows = {name: former[name] for name in kept} | rows
        index["graphs"] = [rows[name] for name in sorted(rows)]
        atomic_write(path, render_document(index), root=root, kind="index")


def _found(path: str, root: str) -> Json | None:
    """Return the list as it stands, or None when it is missing or cannot be used."""
    image = read_regular(path, root=root)
    try:
        index = None if image is None else parse_document(image.raw)
    except ValueError:
        return None
    rows = index.get("graphs") if index is not None else None
    is_usable = isinstance(rows, list) and all(isinstance(row, dict) and "graph_id" in row for row in rows)
    return index if is_usable else None


def _row(graph_id: str, graph: Json) -> dict[str, Any]:
    return {"graph_id": graph_id, **{name: graph.get(name, missing) for name, missing in _COLUMNS.items()}}


def _rows_of_files(root: str) -> list[dict[str, Any]]:
    folder = f"{root}/{GRAPHS}"
    rows = []
    for name in _names(folder):
        try:
            image = read_regular(f"{folder}/{name}", root=root)
            graph = parse_document(b"" if image is None else image.raw)
        except (MetagitError, ValueError):
            continue
        rows.append(_row(name.removesuffix(".json"), graph))
    return rows


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith(".")]
    except OSError:
        return []
