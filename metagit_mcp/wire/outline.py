"""Reads an outline: one task a line, two spaces deeper for a child, and at its end, in any order,
`(after: id, id)` for what must come first and `(risk: destructive)` for what can go wrong.

Knows neither ids that exist nor files.
"""

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Final, get_args

from metagit_mcp.domain.tasks import Risk
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.requests import PlannedNode, TaskUpdateRequest

# No two parts of it can match the same text, so that a long line costs its length once.
_REMARK: Final = re.compile(r"\((\w[\w -]*)([:=])([^()]*)\)\Z")
# Taken for a part of the title, such a remark would be lost without a word.
_NO_AFTER: Final = re.compile(r"\(after(?:[:=]|\s[^()]*\)\Z)", re.IGNORECASE)
_NO_RISK: Final = re.compile(r"\(risk\s*[:=]", re.IGNORECASE)
_RISKS: Final[Mapping[str, Risk]] = {word: word for word in get_args(Risk)}
_FIELDS: Final = frozenset(each.name for each in fields(PlannedNode))
_CHANGED_LATER: Final = _FIELDS & {each.name for each in fields(TaskUpdateRequest)} - {"node_id"}
_BULLET: Final = re.compile(r"\A(?:[-*+]|\d+[.)])\s+")
_INDENT: Final = 2


@value
class OutlineItem:
    """One line: title, place of its parent among the items (None at the top), the ids it comes after, and its risk."""

    title: str
    parent: int | None
    after: tuple[str, ...]
    risk: Risk | None = None


def parse_outline(text: str) -> tuple[OutlineItem, ...]:
    """Return the items of an outline in its order; blank lines are passed over, a leading bullet is dropped.

    Raises:
        InvalidInput: names the line: a tab, an odd indent, a child without a parent, a line without a title, or
            one that says something of its task in a form, or of a field, that an outline does not know.
    """
    items: list[OutlineItem] = []
    path: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        level = _level(line, number)
        if level > len(path):
            raise _wrong(number, "is indented deeper than a child of the line above")
        del path[level:]
        items.append(_item(line.strip(), path[-1] if path else None, number))
        path.append(len(items) - 1)
    return tuple(items)


def _level(line: str, number: int) -> int:
    indent = line[: len(line) - len(line.lstrip())]
    if indent.strip(" "):
        raise _wrong(number, "must be indented with spaces")
    if len(indent) % _INDENT:
        raise _wrong(number, "must be indented by two spaces a level")
    return len(indent) // _INDENT


def _item(text: str, parent: int | None, number: int) -> OutlineItem:
    named, said = _remarks(text, number)
    if _NO_AFTER.search(named.strip()):
        raise _wrong(number, "says what it comes after, but not in one '(after: id, id)' at its end")
    if _NO_RISK.search(named):
        raise _wrong(number, "says what can go wrong, but not in one '(risk: VALUE)' at its end")
    title = _BULLET.sub("", named, count=1).strip()
    if not title:
        raise _wrong(number, "has no title")
    after = tuple(name.strip() for name in said.get("after", "").split(",") if name.strip())
    return OutlineItem(title=title, parent=parent, after=after, risk=_risk(said.get("risk"), number))


def _remarks(text: str, number: int) -> tuple[str, Mapping[str, str]]:
    """Return a line without what stands at its end in parentheses, and that by its word, each at most once."""
    said: dict[str, str] = {}
    while found := _REMARK.search(text.rstrip()):
        word = re.sub(r"[ -]+", "_", found[1].strip().lower())
        if word in said or (word in {"after", "risk"} and found[2] == "="):
            break
        if word in {"after", "risk"}:
            said[word] = found[3]
            text = text[: found.start()]
        elif word in _FIELDS:
            raise _unknown(number, word)
        else:
            break
    return text, said


def _risk(given: str | None, number: int) -> Risk | None:
    if given is None:
        return None
    risk = _RISKS.get(given.strip().lower())
    if risk is None:
        raise _wrong(number, f"has a risk that is not one of {', '.join(_RISKS)}")
    return risk


def _unknown(number: int, name: str) -> InvalidInput:
    """Return the refusal of a field that an outline cannot set: as a part of the title it would be lost."""
    other = "give the tasks as nodes instead of an outline"
    later = f"metagit-mcp task update NODE --{name.replace('_', '-')} VALUE, or " if name in _CHANGED_LATER else ""
    hint = (
        f"To set {name}: {later}{other}. At the end of a line an outline knows '(after: id, id)' and '(risk: VALUE)'."
    )
    return _refused(number, f"says its {name} in parentheses, which an outline does not know", hint)


def _wrong(number: int, rule: str) -> InvalidInput:
    hint = (
        "One task a line, two spaces = child of the line above, '(after: id)' = depends on, "
        "'(risk: destructive)' = what can go wrong."
    )
    return _refused(number, rule, hint)


def _refused(number: int, rule: str, hint: str) -> InvalidInput:
    return InvalidInput(f"outline: line {number} {rule}", hint=hint, field="outline", line=number)
