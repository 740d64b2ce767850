"""Reads the folder of Backlog.md: a page for each task, and its configuration. Knows no file.

Ids are compared by prefix and number, without regard to case and leading zeros. One whose prefix is not in the list
any more is found by its number alone, with a problem; where the caller is strict, it is missing.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from metagit_mcp.domain.value import changed, value
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.lists.front_matter import Field, Page, read_page, read_yaml, text_of
from metagit_mcp.wire.lists.listed import (
    DEFAULT_PRIORITY,
    ListFile,
    Notes,
    Place,
    SourceEdge,
    SourceList,
    SourceRecord,
    Standing,
    agent_of,
    criteria,
    end_of_day,
    instant,
    is_usable,
    named,
    refuse_conflict,
    refuse_twice,
    title_of,
    word,
)

CONFIGS: Final = ("config.yml", "config.yaml", "backlog.config.yml")
# The folders with pages of tasks, each with why Backlog itself does not offer what lies there.
FOLDERS: Final[Mapping[str, str]] = {
    "tasks": "",
    "completed": "",
    "drafts": "draft",
    "archive/tasks": "archived",
    "archive/drafts": "archived draft",
}
_ID: Final = re.compile(r"(?:(?P<prefix>\w[\w-]*?)-)?(?P<number>\d{1,15}(?:\.\d{1,15})*)\Z", re.ASCII)
_STATUSES: Final = ("To Do", "In Progress", "Done")
_PRIORITIES: Final = ("high", "medium", "low")
_WORKING: Final = frozenset({"in-progress", "doing", "started", "active", "wip"})
_WAITING: Final = frozenset({"to-do", "todo", "open", "ready", "backlog"})
_BEGIN: Final = "<!-- AC:BEGIN -->"
_END: Final = "<!-- AC:END -->"
_CRITERION: Final = re.compile(r"\s*[-*] \[[ xX]\] (?:#\d+ )?(?P<text>.*)")
_SUBTASKS: Final = "subtasks"


@value
class _Config:
    """What the folder says of itself: statuses from first to terminal, priorities from most to least urgent."""

    name: str
    statuses: tuple[str, ...]
    priorities: tuple[str, ...]


@value
class _Name:
    """An id taken apart: its prefix in capitals, or empty, and its numbers."""

    prefix: str
    numbers: tuple[int, ...]

    @property
    def text(self) -> str:
        """The one form in which all ids are kept."""
        number = ".".join(map(str, self.numbers))
        return f"{self.prefix}-{number}" if self.prefix else number


@value
class _Draft:
    """A record whose edges are not made yet, the fields of its page, and its place in the manual order."""

    name: _Name
    record: SourceRecord
    fields: Mapping[str, Field]
    order: float


def read_backlog(files: Sequence[ListFile], folder: str, *, strict: bool = False) -> SourceList:
    """Return the tasks of a folder in their manual order, given its pages and configuration by their names below it.

    Raises:
        InvalidInput: a page is in the middle of a merge, one id stands for two tasks, the configuration cannot be read.
    """
    for file in files:
        refuse_conflict(file, anywhere=False)
    notes = Notes()
    config = _config(files, folder, notes)
    drafts = [draft for file in files if (draft := _draft(file, config, notes)) is not None]
    refuse_twice(draft.record for draft in drafts)
    edges = _Edges(drafts, notes, strict=strict)
    records = tuple(edges.added(draft) for draft in sorted(drafts, key=lambda each: each.order))
    return SourceList(
        name=config.name,
        title=config.name,
        records=records,
        problems=tuple(notes.problems),
        passed_over=notes.passed_over,
    )


def _config(files: Iterable[ListFile], folder: str, notes: Notes) -> _Config:
    file = next((each for name in CONFIGS for each in files if each.name == name), None)
    fields = {} if file is None else read_yaml(file, text_of(file))

    def names(key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        given = fields[key].listed() if key in fields else ()
        if file is not None and given is None:
            rule = f"should be a list: {', '.join(default)} are taken"
            notes.wrong(Place(file=file.name, line=fields[key].line), key, rule)
        return tuple(filter(None, map(named, given or ()))) or default

    name = named(_text(fields, "project_name") or folder)
    return _Config(name=name, statuses=names("statuses", _STATUSES), priorities=names("priorities", _PRIORITIES))


# --- one page --------------------------------------------------------------------------------------------------


def _draft(file: ListFile, config: _Config, notes: Notes) -> _Draft | None:
    """Return the task of a page; one that cannot be read costs only itself."""
    folder = file.name.rpartition("/")[0]
    if folder not in FOLDERS:
        return None
    try:
        page = read_page(file)
    except InvalidInput as error:
        line = error.details.get("line")
        place = Place(file=file.name, line=line if isinstance(line, int) else None)
        why = error.message.removeprefix(f"{place.text}: ")
        notes.wrong(place, "front matter", f"cannot be read ({why}): the task is left out")
        notes.passed("unreadable page")
        return None
    if page is None:
        notes.passed("page without front matter")
        return None
    return _read(file, folder, page, config, notes)


def _read(file: ListFile, folder: str, page: Page, config: _Config, notes: Notes) -> _Draft | None:
    fields = page.fields
    name = _name(_text(fields, "id") or "")
    if name is None or not is_usable(name.text):
        notes.wrong(Place(file=file.name, line=_line(fields, "id")), "id", "must be a prefix and a number, as TASK-12")
        notes.passed("unusable id")
        return None
    place = Place(file=file.name)
    status = named(_text(fields, "status") or ("(no text)" if "status" in fields else config.statuses[0]))
    standing, why = _standing(word(status), status, folder, config)
    if standing == "held" and word(status) not in map(word, config.statuses):
        _wrong(place, fields, "status", "is not one of the configuration: the task is not ready", notes)
    record = SourceRecord(
        record_id=name.text,
        title=title_of(_text(fields, "title"), name.text),
        place=place,
        standing=standing,
        status=status,
        why_held=why,
        priority=_priority(place, fields, config, notes),
        updated_at=_instant(place, fields, "updated_date", notes) or _instant(place, fields, "created_date", notes),
        deadline=_deadline(place, fields, notes),
        agent_id=agent_of(_items(fields, "assignee")),
        acceptance=criteria(_criteria(page.body)),
        aside=FOLDERS[folder],
    )
    return _Draft(name=name, record=record, fields=fields, order=_order(place, fields, notes))


def _standing(status: str, written: str, folder: str, config: _Config) -> tuple[Standing, str]:
    """Return what a status comes to: the last one configured is done, the first one may be started."""
    known = [word(each) for each in config.statuses]
    if folder == "completed" or status == known[-1]:
        return "done", ""
    if folder == "archive/tasks":
        return "cancelled", ""
    if status == known[0] or (status in known and status in _WAITING):
        return "open", ""
    if status in known and status in _WORKING:
        return "taken", ""
    return "held", f"status {written} in Backlog.md"


def _name(text: str) -> _Name | None:
    found = _ID.match(text.strip())
    if found is None:
        return None
    numbers = tuple(map(int, found["number"].split(".")))
    return _Name(prefix=(found["prefix"] or "").upper(), numbers=numbers)


def _text(fields: Mapping[str, Field], key: str) -> str | None:
    return fields[key].text if key in fields else None


def _items(fields: Mapping[str, Field], key: str) -> tuple[str, ...]:
    return (fields[key].listed() if key in fields else None) or ()


def _line(fields: Mapping[str, Field], key: str) -> int | None:
    return fields[key].line if key in fields else None


def _wrong(place: Place, fields: Mapping[str, Field], key: str, rule: str, notes: Notes) -> None:
    notes.wrong(changed(place, line=_line(fields, key)), key, rule)


def _priority(place: Place, fields: Mapping[str, Field], config: _Config, notes: Notes) -> int:
    known = [word(each) for each in config.priorities]
    values = {each: len(known) - place for place, each in enumerate(known)}
    default = values.get("medium", DEFAULT_PRIORITY if known == [*_PRIORITIES] else (len(known) + 1) // 2)
    if "priority" not in fields:
        return default
    found = values.get(word(fields["priority"].text or ""))
    if found is None:
        _wrong(place, fields, "priority", f"is not one of the configuration: {default} is taken", notes)
    return found or default


def _instant(place: Place, fields: Mapping[str, Field], key: str, notes: Notes) -> datetime | None:
    at = instant(_text(fields, key))
    if at is None and key in fields:
        _wrong(place, fields, key, "should be a day or an instant", notes)
    return at


def _deadline(place: Place, fields: Mapping[str, Field], notes: Notes) -> datetime | None:
    given = _text(fields, "due_date")
    at = None if given is None else end_of_day(given)
    if at is None and "due_date" in fields:
        _wrong(place, fields, "due_date", "should be a day or an instant", notes)
    return at


def _order(place: Place, fields: Mapping[str, Field], notes: Notes) -> float:
    """Return the place of a task in the manual order; one without stands behind all others."""
    if "ordinal" not in fields:
        return math.inf
    with suppress(ValueError):
        ordinal = float(_text(fields, "ordinal") or "")
        if math.isfinite(ordinal):
            return ordinal
    _wrong(place, fields, "ordinal", "should be a number", notes)
    return math.inf


def _criteria(body: Sequence[str]) -> Iterator[str]:
    inside = False
    for line in body:
        if line.strip() in {_BEGIN, _END}:
            inside = line.strip() == _BEGIN
        elif inside and (found := _CRITERION.match(line)):
            yield found["text"]


# --- edges -----------------------------------------------------------------------------------------------------


def _parents(kind: str, targets: Iterable[str]) -> Iterator[SourceEdge]:
    """Yield the edges to the parents of one task, which may have one."""
    for number, target in enumerate(dict.fromkeys(targets)):
        if number:
            yield SourceEdge(kind=kind, target=target, use="held", why="is a second parent")
        else:
            yield SourceEdge(kind=kind, target=target, use="parent_id")


class _Edges:
    """Finds what the ids in the pages mean."""

    def __init__(self, drafts: Sequence[_Draft], notes: Notes, *, strict: bool) -> None:
        self._notes = notes
        self._strict = strict
        self._ids = {draft.record.record_id for draft in drafts}
        self._by_number: dict[tuple[int, ...], list[str]] = {}
        for draft in drafts:
            self._by_number.setdefault(draft.name.numbers, []).append(draft.record.record_id)
        # Who lists whom as a sub-task, where the sub-task itself names no parent.
        self._claimed: dict[str, list[str]] = {}
        for draft in drafts:
            for each in _items(draft.fields, _SUBTASKS):
                self._claimed.setdefault(self._found(draft, _SUBTASKS, each), []).append(draft.record.record_id)

    def added(self, draft: _Draft) -> SourceRecord:
        """Return the record with its edges; one that cannot be read holds it."""
        edges = tuple(self._edges(draft))
        held = [f"{edge.kind}: {edge.why}" for edge in edges if edge.use == "held"]
        why = "; ".join(filter(None, (draft.record.why_held, *held)))
        return changed(draft.record, edges=edges, why_held=why)

    def _edges(self, draft: _Draft) -> Iterator[SourceEdge]:
        for key in ("dependencies", "parent_task_id"):
            field = draft.fields.get(key)
            if field is not None and field.listed() is None:
                _wrong(draft.record.place, draft.fields, key, "cannot be read: the task is not ready", self._notes)
                yield SourceEdge(kind=key, target="", use="held", why="cannot be read")
        for each in _items(draft.fields, "dependencies"):
            target = self._found(draft, "dependencies", each)
            yield SourceEdge(kind="dependencies", target=target, use="depends_on")
        yield from self._parent(draft)
        for each in _items(draft.fields, _SUBTASKS):
            target = self._found(draft, _SUBTASKS, each)
            why = "the sub-task says it itself" if target in self._ids else "there is no such task"
            yield SourceEdge(kind=_SUBTASKS, target=target, use="none", why=why)

    def _parent(self, draft: _Draft) -> Iterator[SourceEdge]:
        named_ones = _items(draft.fields, "parent_task_id")
        if named_ones:
            yield from _parents("parent_task_id", [self._found(draft, "parent_task_id", each) for each in named_ones])
            return
        above = changed(draft.name, numbers=draft.name.numbers[:-1])
        if above.numbers and above.text in self._ids:
            yield SourceEdge(kind="dotted id", target=above.text, use="parent_id")
        else:
            yield from _parents("listed as sub-task", self._claimed.get(draft.record.record_id, ()))

    def _found(self, draft: _Draft, key: str, written: str) -> str:
        """Return the id that a reference means; one that means none or several is left as it is, and so missing."""
        name = _name(written)
        if name is None:
            return named(written)
        if name.text in self._ids:
            return name.text
        others = self._by_number.get(name.numbers, [])
        if self._strict or len(others) != 1:
            return name.text
        if key != _SUBTASKS:
            rule = f"prefix_mismatch: {name.text} is taken for {others[0]}"
            _wrong(draft.record.place, draft.fields, key, rule, self._notes)
        return others[0]
