"""Takes fields of one Event apart: each is what it should be, or is refused by its name. Knows no kind of Event."""

import re
from datetime import UTC, datetime
from typing import Final, NoReturn

from metagit_mcp.domain.text import shown
from metagit_mcp.errors import SchemaMismatch
from metagit_mcp.wire.codec import Json

MOST: Final = 2**53
_is_id: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,255}\Z").match
_KIND: Final = re.compile(r"(?=.{1,160}\Z)[a-z][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_-]*)+\Z")
_is_instant: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})\Z"
).match
_WHAT_AN_ID_IS: Final = (
    "must be at most 256 letters, digits and '_', '.', ':', '/', '@', '-', the first a letter, digit or '_'"
)
_WHAT_AN_INSTANT_IS: Final = "must be an instant with its offset, like 2026-12-01T12:00:00Z"
_HINT: Final = "Have the Event delivered again as the Group's log has it."
# What this program does as such an extension asks: what is left of a budget is told in the Event's own fields.
KNOWN_EXTENSIONS: Final = frozenset({"urn:missionweaveprotocol:extension:bounded-offline-execution"})


def is_fed_id(text: object) -> bool:
    """Say whether something may name a thing of a Group that is fed by Events (interfaces.md §1)."""
    return type(text) is str and _is_id(text) is not None


def is_kind(text: object) -> bool:
    """Say whether something may name a kind of Event."""
    return type(text) is str and _KIND.match(text) is not None


class Part:
    """An object inside an Event. An absent field and null mean the same."""

    __slots__ = ("_event", "_path", "record")

    def __init__(self, record: Json, event: Json, path: str = "") -> None:
        """Look at `record`, which stands at `path` (empty, or with a final slash) of the whole `event`."""
        self.record = record
        self._event = event
        self._path = path

    def refuse(self, name: str, rule: str) -> NoReturn:
        """Raise what is wrong with a field.

        Raises:
            SchemaMismatch: with the kind and id of the Event, the path of the field and the rule.
        """
        refuse_field(self._event, self._path + name, rule)

    def part(self, name: str) -> "Part":
        """Return an object that must be there."""
        given = self.record.get(name)
        if type(given) is not dict:
            self.refuse(name, "is required" if given is None else "must be an object")
        return Part(given, self._event, f"{self._path}{name}/")

    def part_or_none(self, name: str) -> "Part | None":
        """Return an object that may be left out."""
        given = self.record.get(name)
        if type(given) is dict:
            return Part(given, self._event, f"{self._path}{name}/")
        return None if given is None else self.part(name)

    def parts(self, name: str) -> "list[Part]":
        """Return a list of objects, empty when it is left out."""
        parts = []
        for place, each in enumerate(self.listed(name)):
            if type(each) is not dict:
                self.refuse(f"{name}/{place}", "must be an object")
            parts.append(Part(each, self._event, f"{self._path}{name}/{place}/"))
        return parts

    def listed(self, name: str) -> list[object]:
        """Return a list, empty when it is left out."""
        given = self.record.get(name)
        if given is None:
            return []
        if type(given) is not list:
            self.refuse(name, "must be a list")
        return given

    def either(self, name: str, other: str) -> str:
        """Return the name under which something stands, where each dialect has its own; the first if under none."""
        return other if self.record.get(name) is None and self.record.get(other) is not None else name

    def named(self, name: str) -> str:
        """Return an id that must be there."""
        given = self.record.get(name)
        if type(given) is not str or _is_id(given) is None:
            self.refuse(name, "is required" if given is None else _WHAT_AN_ID_IS)
        return given

    def all_named(self, name: str) -> tuple[str, ...]:
        """Return a list of ids, each once; empty when it is left out."""
        names = self.listed(name)
        if not names:
            return ()
        for place, each in enumerate(names):
            if not is_fed_id(each):
                self.refuse(f"{name}/{place}", _WHAT_AN_ID_IS)
        return tuple(dict.fromkeys(map(str, names)))

    def text(self, name: str) -> str:
        """Return a text that must be there."""
        given = self.record.get(name)
        if type(given) is not str or not given:
            self.refuse(name, "is required" if given in (None, "") else "must be a text")
        return given

    def text_or_none(self, name: str) -> str | None:
        """Return a text that may be left out."""
        given = self.record.get(name)
        if given is not None and type(given) is not str:
            self.refuse(name, "must be a text")
        return given

    def shown(self, name: str) -> str:
        """Return a text as it can be shown, empty when it is left out."""
        given = self.text_or_none(name)
        return shown(given) if given else ""

    def whole(self, name: str, *, least: int = 0, most: int = MOST) -> int:
        """Return a whole number that must be there."""
        given = self.record.get(name)
        if type(given) is not int or not least <= given <= most:
            self.refuse(name, "is required" if given is None else f"must be a whole number from {least} to {most}")
        return given

    def whole_or_none(self, name: str, *, least: int = 0, most: int = MOST) -> int | None:
        """Return a whole number that may be left out."""
        given = self.record.get(name)
        if given is None or (type(given) is int and least <= given <= most):
            return given
        return self.whole(name, least=least, most=most)

    def number(self, name: str, *, most: int) -> float:
        """Return a number of at least 0 that must be there."""
        given = self.record.get(name)
        if (type(given) is int or type(given) is float) and 0 <= given <= most:
            return float(given)
        return self.refuse(name, f"must be a number from 0 to {most}")

    def instant(self, name: str) -> datetime:
        """Return an instant that must be there, in UTC; what is smaller than a microsecond is cut off."""
        given = self.record.get(name)
        if type(given) is not str or _is_instant(given) is None:
            self.refuse(name, "is required" if given is None else _WHAT_AN_INSTANT_IS)
        try:
            at = datetime.fromisoformat(given.upper())
            return at if at.tzinfo is UTC else at.astimezone(UTC)
        except (ValueError, OverflowError):
            self.refuse(name, _WHAT_AN_INSTANT_IS)

    def instant_or_none(self, name: str) -> datetime | None:
        """Return an instant that may be left out."""
        return None if self.record.get(name) is None else self.instant(name)

    def refuse_extensions(self) -> None:
        """Refuse an extension that must be understood and is not known here (K12); others may be passed over."""
        if self.record.get("extensions"):
            extensions = self.part("extensions")
            for name in extensions.record:
                critical = extensions.part(name).record.get("critical")
                if type(critical) is not bool:
                    extensions.refuse(f"{name}/critical", "must be true or false")
                if critical and name not in KNOWN_EXTENSIONS:
                    extensions.refuse(name, "this extension is critical, and not known here")


def refuse_field(event: Json, field: str, rule: str) -> NoReturn:
    """Raise what is wrong with a field of an Event, which is named as well as can be.

    Raises:
        SchemaMismatch: with kind, field and rule, and the id and sequence of the Event where they are any.
    """
    kind, event_id, sequence = event.get("kind"), event.get("eventId") or event.get("id"), event.get("sequence")
    facts: dict[str, object] = {"kind": kind if is_kind(kind) else "unknown", "field": shown(field), "rule": rule}
    if is_fed_id(event_id):
        facts["event_id"] = event_id
    if type(sequence) is int and abs(sequence) <= MOST:
        facts["sequence"] = sequence
    of = f"{facts['kind']} {facts['sequence']}" if "sequence" in facts else facts["kind"]
    raise SchemaMismatch(f"Event {of}: {facts['field']}: {rule}.", hint=_HINT, **facts)
