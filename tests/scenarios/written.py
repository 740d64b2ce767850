"""Writes the files of a workspace as other programs do, and asks about one node. It knows no expectation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.scenarios.companion import opened, status_of
from tests.unit.adapters.reading import put, put_graph

if TYPE_CHECKING:
    from pathlib import Path

    from tests.scenarios.surfaces import Json


def workspace(root: Path, *nodes: Json, graph_id: str = "g", **fields: object) -> Path:
    """The file of one graph."""
    return put_graph(root / ".metagit" / "tasks" / "graphs", graph_id, *nodes, **fields)


def put_policy(root: Path, **policy: object) -> Path:
    return put(root / ".metagit" / "schedule" / "policy.json", policy)


def put_merges(root: Path, repository: str, *statuses: str) -> None:
    for number, status in enumerate(statuses):
        put(root / ".metagit" / "merges" / f"m{number}.json", {"repository": repository, "status": status})


def put_trees(root: Path, **paths: Path) -> None:
    """Worktrees of repositories of the project `p`."""
    put_rows(root, *({"repository": f"p/{name}", "path": str(path)} for name, path in paths.items()))


def put_rows(root: Path, *rows: Json) -> None:
    """Rows of active worktrees."""
    active = [{"status": "active", "agent_id": "", **row} for row in rows]
    put(root / ".metagit" / "worktrees" / "worktrees.json", {"worktrees": active})


def explained(root: Path, node_id: str, graph_id: str = "g") -> Json:
    told: Json = status_of(opened(root), node_id=node_id, graph_id=graph_id)["explain"]
    return told


def texts(told: Json) -> list[str]:
    return [reason["text"] for reason in told["reasons"]]
