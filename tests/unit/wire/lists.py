"""Lists of other programs as tests write them, and records as parsers read them. No expectation."""

from __future__ import annotations

import json
from typing import Any

from metagit_mcp.wire.lists.listed import ListFile, Place, SourceEdge, SourceRecord

Json = dict[str, Any]


def issue(issue_id: str, **fields: object) -> Json:
    """One issue of beads, as short as it may be."""
    return {"id": issue_id, "title": issue_id, "status": "open", "priority": 2, **fields}


def edge(issue_id: str, target: str, kind: str = "blocks", **fields: object) -> Json:
    """One edge of beads: `issue_id` waits for `target`."""
    return {"issue_id": issue_id, "depends_on_id": target, "type": kind, **fields}


def lines(*rows: object) -> ListFile:
    """What beads exports: an object on each line; text stands as it is."""
    text = "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    return ListFile(name="issues.jsonl", raw=text.encode())


def task(task_id: int | str, **fields: object) -> Json:
    """One task of Task Master."""
    return {"id": task_id, "title": f"Task {task_id}", "status": "pending", "dependencies": [], **fields}


def tags(**lists: list[Json]) -> ListFile:
    """A tasks.json with a list for each tag."""
    return tasks_json({tag: {"tasks": rows} for tag, rows in lists.items()})


def tasks_json(document: object) -> ListFile:
    """A tasks.json with anything in it."""
    return ListFile(name="tasks.json", raw=json.dumps(document).encode())


def page(name: str, *fields: str, body: str = "") -> ListFile:
    """A page of Backlog.md with the lines of its front matter."""
    front = "".join(f"{each}\n" for each in fields)
    return ListFile(name=name, raw=f"---\n{front}---\n{body}".encode())


def record(record_id: str, place: Place, **fields: Any) -> SourceRecord:  # noqa: ANN401 - any field
    """A record that is open, as its parser returns it."""
    known: Json = {"title": record_id, "standing": "open", "status": "open", **fields}
    return SourceRecord(record_id=record_id, place=place, **known)


def waits(target: str, kind: str = "blocks") -> SourceEdge:
    """An edge that became a dependency."""
    return SourceEdge(kind=kind, target=target, use="depends_on")
