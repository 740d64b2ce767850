"""A workspace to read in tests: writes its files as others write them, and reads it with a clock that the test moves.

It must not know what a test expects.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from metagit_mcp.adapters.changes.by_stat import StatChanges
from metagit_mcp.adapters.layout import WATCHED
from metagit_mcp.adapters.patience import Patience
from metagit_mcp.adapters.workspace_source import WorkspaceFiles

AT = "2026-11-29T13:52:06.850666+00:00"
Json = dict[str, Any]

# Reading a file may move its access time, by the mount's rules, and is no change of it.
_STATE = ("st_mode", "st_ino", "st_uid", "st_gid", "st_nlink", "st_size", "st_mtime_ns", "st_ctime_ns")


def state_of(path: Path) -> tuple[int, ...]:
    """Return whatever of a file or folder every change of it moves."""
    found = path.stat()
    return tuple(getattr(found, name) for name in _STATE)


def node(node_id: str, **fields: object) -> Json:
    """One node of a graph file, as short as metagit accepts it."""
    return {"node_id": node_id, "graph_id": "g", "title": node_id, "created_at": AT, "updated_at": AT, **fields}


def graph(*nodes: Json, graph_id: str = "g", **fields: object) -> Json:
    """One graph file."""
    return {
        "graph_id": graph_id,
        "title": graph_id,
        "nodes": list(nodes),
        "status": "active",
        "created_at": AT,
        "updated_at": AT,
        **fields,
    }


def put(path: Path, document: object) -> Path:
    """Write a JSON document in place, as metagit does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")
    return path


def put_graph(folder: Path, graph_id: str, *nodes: Json, **fields: object) -> Path:
    """Write one graph under its own name."""
    return put(folder / f"{graph_id}.json", graph(*nodes, graph_id=graph_id, **fields))


def without(document: Json, *fields: str) -> Json:
    """The graph as a program writes it back that does not know these fields of nodes."""
    rows = [{name: each for name, each in row.items() if name not in fields} for row in document["nodes"]]
    return {**document, "nodes": rows}


class Time:
    """A clock far away from every mtime until a test moves it; a pause moves it and calls what the test gave."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.pauses = 0
        self.on_pause: Callable[[int], None] = lambda _: None

    def now(self) -> int:
        return self.now_ns

    def pause(self, seconds: float) -> None:
        self.pauses += 1
        self.now_ns += round(seconds * 1e9)
        self.on_pause(self.pauses)

    def at_pause(self, number: int, path: Path, document: object) -> None:
        """Write a document in place during the pause of this number."""
        self.on_pause = lambda pauses: _put_if(path, document, now=pauses == number)

    def just_after(self, path: Path) -> None:
        """Move to the moment after the file was written."""
        self.now_ns = path.stat().st_mtime_ns + 1_000_000


def _put_if(path: Path, document: object, *, now: bool) -> None:
    if now:
        put(path, document)


class Reader:
    """One process that reads the workspace."""

    def __init__(self, root: Path) -> None:
        self.time = Time()
        # Seen from the far future no file is young, so none is reported twice.
        changes = StatChanges(str(root), WATCHED, now=lambda: 2**62)
        self.files = WorkspaceFiles(str(root), changes, Patience(self.time.now, self.time.pause))
        self.read = self.files.read

    def nodes(self, graph_id: str = "g") -> Mapping[str, Any]:
        """The nodes of a graph by id; none when the graph cannot be used."""
        found = self.read().graphs[graph_id].graph
        return {} if found is None else {each.node_id: each for each in found.nodes}

    def warnings(self) -> tuple[str, ...]:
        return self.read().warnings


def kept_of(root: Path) -> Any:  # noqa: ANN401 - any JSON
    """What kept.json says, or None without one."""
    path = root / ".metagit" / "schedule" / "kept.json"
    return json.loads(path.read_text()) if path.exists() else None
