"""A list of tasks that another program keeps, in one neutral form, whichever program it is. Knows no graph and no file.

A parser gives a `SourceList`: every record and every edge that stands in the source, those included that lead to
nothing here, and each thing that is wrong as a value. Only a source that cannot be trusted as a whole is refused.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, Literal

from metagit_mcp.domain.text import is_id, shown, shown_name
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.codec import parse_json

# What a record's status comes to: may be started, somebody works at it there, or not to be started and why.
Standing = Literal["open", "taken", "held", "done", "cancelled"]
# What an edge becomes; `held` keeps its node back, since a task graph has no word for it.
EdgeUse = Literal["depends_on", "parent_id", "discovered_from", "held", "none"]

DEFAULT_PRIORITY: Final = 2
LONGEST_TITLE: Final = 500
_LONGEST_TEXT: Final = 255
_MOST_CRITERIA: Final = 100
_NAMED: Final = 10
_BOM: Final = b"\xef\xbb\xbf"
_MARKERS: Final = (b"<<<<<<< ", b"=======", b">>>>>>> ", b"||||||| ")


@value
class ListFile:
    """One file of a source as it was read: its name below the source, and its bytes."""

    name: str
    raw: bytes


@value
class Place:
    """Where something stands: a file, and its line or, where lines say nothing, the path of the field."""

    file: str
    line: int | None = None
    path: str = ""

    @property
    def text(self) -> str:
        """The place as it may stand in a message."""
        line = "" if self.line is None else f", line {self.line}"
        return f"{shown(self.file)}{line}{f', {shown(self.path)}' if self.path else ''}"


@value
class SourceProblem:
    """Something that is wrong with one field, which counts as not there; the rest of its record does."""

    place: Place
    field: str
    rule: str

    @property
    def text(self) -> str:
        """The problem as one sentence, without content of the file."""
        return f"{self.place.text}: {self.field}: {self.rule}"


@value
class SourceEdge:
    """One edge: its kind as the source calls it, the id it leads to, what it becomes, and why where that is nothing.

    `instead` are the ids that it stands for where that is not its target itself.
    """

    kind: str
    target: str
    use: EdgeUse
    why: str = ""
    instead: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        """The ids that it leads to."""
        return self.instead or (self.target,)


@value
class SourceRecord:
    """One task of the source. Times are aware instants; a higher priority is more urgent.

    `status` is the source's own word. `why_held` says why nobody may start it whatever it waits for. `aside` says why
    the source itself does not offer it: it is of use only where another record needs it.
    """

    record_id: str
    title: str
    place: Place
    standing: Standing
    status: str
    why_held: str = ""
    priority: int = DEFAULT_PRIORITY
    edges: tuple[SourceEdge, ...] = ()
    updated_at: datetime | None = None
    not_before: datetime | None = None
    deadline: datetime | None = None
    agent_id: str | None = None
    runtime_seconds: int | None = None
    acceptance: tuple[str, ...] | None = None
    aside: str = ""


@value
class SourceList:
    """One list: the name that a graph gets by default, its records in their order, what stands in it besides.

    `passed_over` counts entries that are no tasks, by kind. `as_of` is how new the whole is, where the source says it.
    `tag` tells it from the other lists of the same source.
    """

    name: str
    title: str
    records: tuple[SourceRecord, ...]
    problems: tuple[SourceProblem, ...] = ()
    passed_over: Mapping[str, int]
    as_of: datetime | None = None
    tag: str = ""


class Notes:
    """Collects what is wrong, and what is passed over."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.problems: list[SourceProblem] = []
        self.passed_over: dict[str, int] = {}

    def wrong(self, place: Place, field: str, rule: str) -> None:
        """Note something that is wrong with a field."""
        self.problems.append(SourceProblem(place=place, field=field, rule=rule))

    def passed(self, kind: str) -> None:
        """Note an entry that is no task."""
        self.passed_over[kind] = self.passed_over.get(kind, 0) + 1


# --- refusals --------------------------------------------------------------------------------------------------


def refuse_conflict(file: ListFile, *, anywhere: bool = True) -> None:
    """Refuse a file in the middle of a merge: either side may be the wrong one.

    `anywhere` False leaves out the marks that may be a part of prose.

    Raises:
        InvalidInput: names file and line.
    """
    marks = _MARKERS if anywhere else (_MARKERS[0], _MARKERS[2])
    if not any(mark in file.raw for mark in marks):
        return
    for number, line in enumerate(file.raw.split(b"\n"), start=1):
        if line.startswith(marks):
            raise InvalidInput(
                f"{Place(file=file.name, line=number).text}: holds a conflict marker of a merge",
                hint="End the merge, then import again. Nothing was written.",
                field="path",
                file=shown(file.name),
                line=number,
            )


def refuse_twice(records: Iterable[SourceRecord]) -> None:
    """Refuse a source in which one id stands for two tasks: which of them is meant, nobody can tell.

    Raises:
        InvalidInput: names the id and both places.
    """
    found: dict[str, list[Place]] = {}
    for record in records:
        found.setdefault(record.record_id, []).append(record.place)
    twice = {name: places for name, places in sorted(found.items()) if len(places) > 1}
    if not twice:
        return
    told = [f"{name} in {' and in '.join(each.text for each in places)}" for name, places in twice.items()]
    more = f"; and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    raise InvalidInput(
        f"one id stands for two tasks: {'; '.join(told[:_NAMED])}{more}",
        hint="Give one of them another id in its own program, then import again. Nothing was written.",
        field="path",
        ids=list(twice),
        files=[shown(each.file) for places in twice.values() for each in places],
    )


def unreadable(place: Place, why: str) -> InvalidInput:
    """Return the refusal of a source that cannot be read."""
    hint = "Mend it, or let its own program write it anew. Nothing was written."
    where = {} if place.line is None else {"line": place.line}
    return InvalidInput(f"{place.text}: {why}", hint=hint, field="path", file=shown(place.file), **where)


def json_value(raw: bytes) -> object:
    """Return the JSON value in `raw`.

    Raises:
        ValueError: also where a key stands twice in one object: which of them counts, nobody can tell.
    """
    found = parse_json(raw)
    json.loads(raw.removeprefix(_BOM), object_pairs_hook=_no_key_twice)
    return found


def _no_key_twice(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        keys = sorted(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"one object has the key {shown_name(keys[0])} twice")


def json_object(file: ListFile) -> dict[str, Any]:
    """Return the JSON object that a file holds.

    Raises:
        InvalidInput: it holds something else.
    """
    try:
        record = json_value(file.raw)
    except ValueError as error:
        raise unreadable(Place(file=file.name), f"not valid JSON: {error}") from None
    if not isinstance(record, dict):
        raise unreadable(Place(file=file.name), "must hold one JSON object")
    return record


# --- fields ----------------------------------------------------------------------------------------------------


def instant(given: object) -> datetime | None:
    """Return an RFC 3339 instant, or a day as its begin; UTC where no offset is given. None: it is none."""
    if not isinstance(given, str):
        return None
    try:
        at = datetime.fromisoformat(given.strip())
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def end_of_day(given: str) -> datetime | None:
    """Return the last second of a day, or the instant that is given instead of one."""
    try:
        day = date.fromisoformat(given.strip())
    except ValueError:
        return instant(given)
    return datetime(day.year, day.month, day.day, 23, 59, 59, tzinfo=UTC)


def word(given: str) -> str:
    """Return a word of a vocabulary in the one form in which all are compared: small, joined by dashes."""
    return "-".join(shown(given).strip("\"' ").casefold().replace("_", " ").replace("-", " ").split())


def named(given: str) -> str:
    """Return a name, an id or a status that was written elsewhere, safe to keep and to show."""
    return shown(given, _LONGEST_TEXT)


def title_of(given: object, record_id: str) -> str:
    """Return a title on one line; a task without one is called by its id."""
    return (shown(given, LONGEST_TITLE) if isinstance(given, str) else "") or record_id


def agent_of(given: object) -> str | None:
    """Return who works at it, a hint: the first of several, without the @ before it."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        given = given[0] if given else None
    return (named(given).lstrip("@") or None) if isinstance(given, str) else None


def criteria(lines: Iterable[str]) -> tuple[str, ...] | None:
    """Return criteria of being done, each on one line; None: there are none."""
    kept = [text for line in lines if (text := shown(line, LONGEST_TITLE))]
    return tuple(kept[:_MOST_CRITERIA]) or None


def is_usable(record_id: object) -> bool:
    """Say whether an id may name a node."""
    return isinstance(record_id, str) and is_id(record_id)


ID_RULE: Final = "must be letters, digits, '_', '.', '-' (at most 255)"
