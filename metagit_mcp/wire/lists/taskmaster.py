"""Reads the tasks.json of Task Master: one list for each tag (docs/how-to/import-a-list.md). Knows no file.

Ids are numbers or strings, and are compared as text. In a sub-task an id without a dot is a sibling if there is one of
that number, else the task of that number at the top.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from metagit_mcp.domain.text import shown_name
from metagit_mcp.domain.value import changed, value
from metagit_mcp.wire.lists.listed import (
    DEFAULT_PRIORITY,
    ID_RULE,
    ListFile,
    Notes,
    Place,
    SourceEdge,
    SourceList,
    SourceRecord,
    Standing,
    instant,
    is_usable,
    json_object,
    named,
    refuse_conflict,
    refuse_twice,
    title_of,
    unreadable,
    word,
)

Json = dict[str, Any]
LEGACY_TAG: Final = "master"
_MOST: Final = 10**15
_PRIORITIES: Final = {"critical": 4, "high": 3, "medium": 2, "low": 1}
_STANDINGS: Final[Mapping[str, Standing]] = {
    "pending": "open",
    "in-progress": "taken",
    "done": "done",
    "completed": "done",
    "review": "held",
    "deferred": "held",
    "blocked": "held",
    "cancelled": "cancelled",
}


@value
class _Task:
    """One entry as it stands in the file, with its full id and that of the task above it."""

    full_id: str
    above: str
    place: Place
    priority: int
    raw: Json


def read_taskmaster(file: ListFile) -> tuple[SourceList, ...]:
    """Return the lists of a file, one for each tag, in its order.

    Raises:
        InvalidInput: it is in the middle of a merge, holds no lists, or has one id for two tasks of a tag.
    """
    refuse_conflict(file)
    document = json_object(file)
    tags = {tag: each for tag, each in document.items() if isinstance(each, dict) and "tasks" in each}
    if isinstance(document.get("tasks"), list):
        if LEGACY_TAG in tags:
            raise unreadable(Place(file=file.name), f"holds tasks of the tag {LEGACY_TAG} in two places")
        tags = {LEGACY_TAG: document, **tags}
    if not tags:
        raise unreadable(Place(file=file.name), "holds no list of tasks")
    return tuple(_list(file, tag, each) for tag, each in tags.items())


def _list(file: ListFile, tag: str, each: Json) -> SourceList:
    place = Place(file=file.name, path=shown_name(named(tag)))
    if not isinstance(each["tasks"], list):
        raise unreadable(place, "tasks: must be a list")
    notes = Notes()
    tasks = list(_tasks(each["tasks"], "", DEFAULT_PRIORITY, place, notes))
    known = {task.full_id for task in tasks}
    records = tuple(_record(task, known, notes) for task in tasks)
    refuse_twice(records)
    metadata = each.get("metadata")
    said = metadata if isinstance(metadata, dict) else {}
    return SourceList(
        name=named(tag),
        title=named(tag),
        tag=named(tag),
        records=records,
        problems=tuple(notes.problems),
        passed_over=notes.passed_over,
        as_of=instant(said.get("updated")) or instant(said.get("lastModified")),
    )


def _tasks(rows: list[Any], above: str, priority: int, place: Place, notes: Notes) -> Iterator[_Task]:
    """Yield the tasks of a list, each before its sub-tasks, which inherit its priority."""
    for number, raw in enumerate(rows):
        at = changed(place, path=f"{place.path}/{'subtasks' if above else 'tasks'}/{number}")
        full_id = _full_id(raw, above)
        if not full_id:
            notes.wrong(at, "id", f"{ID_RULE}; what stands below it is left out too")
            notes.passed("unusable id")
            continue
        urgency = _priority(raw, priority, at, notes)
        yield _Task(full_id=full_id, above=above, place=at, priority=urgency, raw=raw)
        below = raw.get("subtasks") or []
        if isinstance(below, list):
            yield from _tasks(below, full_id, urgency, at, notes)
        else:
            notes.wrong(at, "subtasks", "should be a list: the task is not ready")


def _full_id(raw: object, above: str) -> str:
    """Return the id of an entry below the task `above`, or at the top; empty: it has none that may name a node."""
    own = _text_id(raw.get("id")) if isinstance(raw, dict) else ""
    full_id = f"{above}.{own}" if above else own
    return full_id if own and is_usable(full_id) else ""


def _text_id(given: object) -> str:
    """Return an id as text, be it a number or a string; empty: it is none."""
    if isinstance(given, str):
        return named(given)
    if isinstance(given, bool) or not isinstance(given, int | float) or not abs(given) < _MOST:
        return ""
    return str(int(given) if given == int(given) else given)


def _priority(raw: Json, inherited: int, at: Place, notes: Notes) -> int:
    given = raw.get("priority")
    if given is None:
        return inherited
    found = _PRIORITIES.get(word(given)) if isinstance(given, str) else None
    if found is None:
        notes.wrong(at, "priority", f"should be one of {', '.join(_PRIORITIES)}: what stands above it counts")
    return found or inherited


def _record(task: _Task, known: set[str], notes: Notes) -> SourceRecord:
    given = task.raw.get("status", "pending")
    status = named(given) if isinstance(given, str) else "(no text)"
    standing = _STANDINGS.get(word(status))
    if standing is None:
        notes.wrong(task.place, "status", "is not known here: the task is not ready")
        standing = "held"
    edges = tuple(_edges(task, known, notes))
    why = f"status {status} in Task Master" if standing == "held" else ""
    held = [f"{edge.kind}: {edge.why}" for edge in edges if edge.use == "held"]
    updated_at = instant(task.raw.get("updatedAt"))
    if updated_at is None and task.raw.get("updatedAt") is not None:
        notes.wrong(task.place, "updatedAt", "should be an RFC 3339 instant")
    return SourceRecord(
        record_id=task.full_id,
        title=title_of(task.raw.get("title"), task.full_id),
        place=task.place,
        standing=standing,
        status=status,
        why_held="; ".join(filter(None, (why, *held))),
        priority=task.priority,
        edges=edges,
        updated_at=updated_at,
    )


def _edges(task: _Task, known: set[str], notes: Notes) -> Iterator[SourceEdge]:
    if task.above:
        yield SourceEdge(kind="subtasks", target=task.above, use="parent_id")
    if not _has_all_below(task):
        yield SourceEdge(kind="subtasks", target="", use="held", why="cannot be read")
    given = task.raw.get("dependencies")
    for number, each in enumerate(given if isinstance(given, list) else [] if given is None else [None]):
        name = _text_id(each)
        if name:
            yield SourceEdge(kind="dependencies", target=_meant(name, task.above, known), use="depends_on")
        else:
            notes.wrong(task.place, f"dependencies/{number}", "is no id: the task is not ready")
            yield SourceEdge(kind="dependencies", target="", use="held", why="cannot be read")


def _has_all_below(task: _Task) -> bool:
    """Say whether all sub-tasks of a task are in the list too; it must not be over before them."""
    below = task.raw.get("subtasks") or []
    return isinstance(below, list) and all(_full_id(each, task.full_id) for each in below)


def _meant(name: str, above: str, known: set[str]) -> str:
    """Return the full id that a dependency means: a sibling if there is one, else what has that very id."""
    sibling = f"{above}.{name}"
    return sibling if above and "." not in name and sibling in known else name
