"""Reads the issues that beads exports: one JSON object on a line (docs/how-to/import-a-list.md). Knows no file.

A line that is no issue costs only itself. Every edge is told, also those that beads itself does not wait for.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from metagit_mcp.domain.text import shown_name
from metagit_mcp.domain.value import changed
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
    agent_of,
    instant,
    is_usable,
    json_value,
    named,
    refuse_conflict,
    refuse_twice,
    title_of,
    unreadable,
    word,
)

Json = dict[str, Any]
_LEAST_URGENT: Final = 4
_MOST_MINUTES: Final = 1_000_000
_STANDINGS: Final[Mapping[str, Standing]] = {
    "open": "open",
    "in-progress": "taken",
    "hooked": "taken",
    "blocked": "held",
    "deferred": "held",
    "pinned": "held",
    "closed": "done",
}
_HIDDEN_TYPES: Final = frozenset({"merge-request", "gate", "molecule", "message", "agent", "role", "rig"})
_MARKS: Final = ("pinned", "ephemeral", "wisp", "is_template")
# What beads does not wait for: links between issues, and links to whom and to what they belong.
_NO_DEPENDENCY: Final = frozenset(
    {
        *("related", "relates-to", "tracks", "duplicates", "supersedes", "caused-by", "validates", "replies-to"),
        *("approved-by", "authored-by", "assigned-to", "attests", "delegated-from", "until"),
    }
)
_WAITS: Final = "waits-for"
_KINDS: Final = _NO_DEPENDENCY | {"blocks", _WAITS, "parent-child", "discovered-from", "conditional-blocks"}


def read_beads(file: ListFile, folder: str) -> SourceList:
    """Return the issues in a file; `folder` names the list where the ids have no one prefix.

    Raises:
        InvalidInput: it is in the middle of a merge, has one id for two issues, or holds something else altogether.
    """
    refuse_conflict(file)
    notes = Notes()
    found = [record for place, each in _lines(file, notes) if (record := _issue(place, each, notes)) is not None]
    if notes.problems and not found:
        raise unreadable(Place(file=file.name), f"holds no issue of beads; {notes.problems[0].text}")
    refuse_twice(found)
    records = tuple(_with_children(record, _children(found)) for record in found)
    name = _prefix(record.record_id for record in found) or folder
    return SourceList(
        name=name, title=name, records=records, problems=tuple(notes.problems), passed_over=notes.passed_over
    )


def _lines(file: ListFile, notes: Notes) -> Iterator[tuple[Place, Json]]:
    """Yield the issues of a file with their places; what else stands on a line is counted."""
    for number, raw in enumerate(file.raw.split(b"\n"), start=1):
        if not raw.strip():
            continue
        place = Place(file=file.name, line=number)
        try:
            each = json_value(raw)
        except ValueError as error:
            notes.wrong(place, "line", f"not valid JSON: {error}")
            notes.passed("unreadable line")
            continue
        if not isinstance(each, dict):
            notes.wrong(place, "line", "must be a JSON object")
            notes.passed("unreadable line")
        elif (kind := _no_issue(each)) is not None:
            notes.passed(kind)
        else:
            yield place, each


def _no_issue(each: Json) -> str | None:
    """Return what a line is that is no issue."""
    if "_schema" in each and "id" not in each:
        return "header"
    kind = each.get("_type", "issue")
    if kind != "issue":
        return shown_name(named(kind)) if isinstance(kind, str) else "unknown type"
    return "tombstone" if each.get("status") == "tombstone" else None


def _issue(place: Place, each: Json, notes: Notes) -> SourceRecord | None:
    issue_id = each.get("id")
    if not isinstance(issue_id, str) or not is_usable(issue_id):
        notes.wrong(place, "id", ID_RULE)
        notes.passed("unusable id")
        return None
    edges = tuple(_edges(place, issue_id, each, notes))
    record = SourceRecord(
        record_id=issue_id,
        title=title_of(each.get("title"), issue_id),
        place=place,
        standing="open",
        status="",
        priority=_priority(place, each, notes),
        edges=edges,
        updated_at=_instant(place, each, "updated_at", notes),
        not_before=_instant(place, each, "defer_until", notes),
        deadline=_instant(place, each, "due_at", notes),
        agent_id=agent_of(each.get("assignee")),
        runtime_seconds=_seconds(place, each, notes),
        aside=_hidden(each),
    )
    return _with_status(record, each, notes)


def _with_status(record: SourceRecord, each: Json, notes: Notes) -> SourceRecord:
    given = each.get("status", "open")
    status = named(given) if isinstance(given, str) else "(no text)"
    standing = _STANDINGS.get(word(status))
    if standing is None:
        notes.wrong(record.place, "status", "is not known here: the task is not ready")
        standing = "held"
    why = f"status {status} in beads" if standing == "held" else ""
    if word(status) == "deferred" and record.not_before is not None:
        standing, why = "open", ""
    held = [f"{each.kind} {each.target}".strip() + f": {each.why}" for each in record.edges if each.use == "held"]
    return changed(record, standing=standing, status=status, why_held="; ".join(filter(None, (why, *held))))


def _hidden(each: Json) -> str:
    """Return why beads itself does not offer an issue."""
    kind = each.get("issue_type", each.get("type"))
    if isinstance(kind, str) and word(kind) in _HIDDEN_TYPES:
        return word(kind)
    return next((mark for mark in _MARKS if each.get(mark) is True), "")


def _priority(place: Place, each: Json, notes: Notes) -> int:
    given = each.get("priority")
    if given is None:
        notes.wrong(place, "priority", "is missing: P2 is taken")
    elif isinstance(given, bool) or given not in range(_LEAST_URGENT + 1):
        notes.wrong(place, "priority", "should be 0 to 4: P2 is taken")
    else:
        return _LEAST_URGENT - int(given)
    return DEFAULT_PRIORITY


def _instant(place: Place, each: Json, field: str, notes: Notes) -> Any:  # noqa: ANN401 - an instant, or None
    given = each.get(field)
    at = instant(given)
    if at is None and given not in (None, ""):
        notes.wrong(place, field, "should be an RFC 3339 instant")
    return at


def _seconds(place: Place, each: Json, notes: Notes) -> int | None:
    given = each.get("estimated_minutes")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= _MOST_MINUTES:
        notes.wrong(place, "estimated_minutes", f"should be a whole number of minutes up to {_MOST_MINUTES}")
        return None
    return given * 60


# --- edges -----------------------------------------------------------------------------------------------------


def _edges(place: Place, issue_id: str, each: Json, notes: Notes) -> Iterator[SourceEdge]:
    given = each.get("dependencies")
    if given is not None and not isinstance(given, list):
        notes.wrong(place, "dependencies", "should be a list: the task is not ready")
        yield SourceEdge(kind="dependencies", target="", use="held", why="cannot be read")
        return
    has_parent = False
    for number, edge in enumerate(given or ()):
        made = _edge(issue_id, edge, has_parent=has_parent)
        if made.use == "held":
            notes.wrong(place, f"dependencies/{number}", f"{made.kind}: {made.why}; the task is not ready")
        has_parent = has_parent or made.use == "parent_id"
        yield made


def _edge(issue_id: str, edge: object, *, has_parent: bool) -> SourceEdge:
    target = edge.get("depends_on_id") if isinstance(edge, dict) else None
    if not isinstance(edge, dict) or not isinstance(target, str) or not named(target):
        return SourceEdge(kind="dependencies", target="", use="held", why="cannot be read")
    kind, target = _kind(edge.get("type", "blocks")), named(target)
    if edge.get("issue_id", issue_id) != issue_id:
        return SourceEdge(kind=kind, target=target, use="held", why="is written at another issue than its own")
    match kind:
        case "blocks" | "waits-for":
            return SourceEdge(kind=kind, target=target, use="depends_on")
        case "parent-child" if has_parent:
            return SourceEdge(kind=kind, target=target, use="held", why="is a second parent")
        case "parent-child":
            return SourceEdge(kind=kind, target=target, use="parent_id")
        case "discovered-from":
            return SourceEdge(kind=kind, target=target, use="discovered_from")
        case "conditional-blocks":
            return SourceEdge(kind=kind, target=target, use="held", why="runs only if that fails")
        case known if known in _NO_DEPENDENCY:
            return SourceEdge(kind=kind, target=target, use="none", why="nothing waits for it")
    return SourceEdge(kind=kind, target=target, use="held", why="is of an unknown kind")


def _kind(given: object) -> str:
    """Return the kind of an edge in one spelling; one that is not known is shown only if it is a plain name."""
    if not isinstance(given, str):
        return "(no text)"
    kind = word(given)
    return kind if kind in _KINDS else shown_name(named(given))


def _children(records: Iterable[SourceRecord]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for record in records:
        for edge in record.edges:
            if edge.use == "parent_id":
                found.setdefault(edge.target, []).append(record.record_id)
    return found


def _with_children(record: SourceRecord, children: Mapping[str, list[str]]) -> SourceRecord:
    """Return the record with each `waits-for` leading to all children of its target, or to a target without any."""
    if not any(edge.kind == _WAITS for edge in record.edges):
        return record
    return changed(record, edges=tuple(_spread(edge, record.record_id, children) for edge in record.edges))


def _spread(edge: SourceEdge, own: str, children: Mapping[str, list[str]]) -> SourceEdge:
    if edge.kind != _WAITS or edge.use != "depends_on":
        return edge
    return changed(edge, instead=tuple(name for name in children.get(edge.target, ()) if name != own))


def _prefix(ids: Iterable[str]) -> str:
    """Return what all ids begin with, up to the last dash of their first part; empty where they differ."""
    found = {name.partition(".")[0].rpartition("-")[0] for name in ids}
    return found.pop() if len(found) == 1 else ""
