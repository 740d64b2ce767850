"""Lists of other programs beside a workspace, and what importing them answers. It must not know what a test expects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import MetagitError
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.lists.import_answers import ImportRequest
from tests.scenarios.at_once import finished

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.application.desk import Desk

Json = dict[str, Any]
COUNTS = ("created", "updated", "unchanged", "stale_skipped", "kept_here", "vanished")
EARLY, LATE = "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"


def beside(desk: Desk, name: str) -> Path:
    """A place outside of the workspace."""
    path = desk.root.with_name(f"{desk.root.name}-lists") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def put_issues(desk: Desk, *issues: object, name: str = "shop/.beads/issues.jsonl") -> str:
    """Write what beads exports; return where it is."""
    path = beside(desk, name)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in issues))
    return str(path)


def put_tasks(desk: Desk, document: object, name: str = "shop/.taskmaster/tasks/tasks.json") -> str:
    """Write a tasks.json; return where it is."""
    path = beside(desk, name)
    path.write_text(json.dumps(document))
    return str(path)


def put_pages(desk: Desk, pages: dict[str, str], name: str = "shop/backlog") -> str:
    """Write a folder of Backlog.md, its pages by name; return where it is."""
    folder = beside(desk, name)
    for page, text in {"tasks/.keep": "", **pages}.items():
        path = folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


def run(desk: Desk, system: str, path: str, **fields: object) -> Json:
    """What importing a list answers."""
    request = parse_request(ImportRequest, {"system": system, "path": path, **fields})
    return plain(finished(desk.application.imports.run(request)))


def counts(answer: Json) -> dict[str, int]:
    """What became of the records of the one graph of an answer, those counts left out that are 0."""
    (graph,) = answer["graphs"]
    found = {name: graph[name] for name in COUNTS if graph[name]}
    assert sum(graph[name] for name in COUNTS[:-1]) == graph["records"]
    return found


def told(answer: Json) -> dict[str, tuple[str, tuple[str, ...]]]:
    """What became of each node that is not unchanged, with its fields."""
    (graph,) = answer["graphs"]
    return {each["node_id"]: (each["outcome"], tuple(each["fields"])) for each in graph["nodes"]}


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder with its bytes, every other entry with None; a ledger has files that come and go."""
    entries = [path for path in folder.rglob("*") if "ledger" not in path.name]
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in entries}


def refused(desk: Desk, system: str, path: str, **fields: object) -> MetagitError:
    """The error with which an import is refused; it wrote nothing."""
    before = contents(desk.root)
    with pytest.raises(MetagitError) as caught:
        run(desk, system, path, **fields)
    assert contents(desk.root) == before
    return caught.value
