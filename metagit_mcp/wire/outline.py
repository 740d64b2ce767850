"""Reads an outline: one task a line, two spaces deeper for a child, `(after: id, id)` for what must come first.

Knows neither ids that exist nor files.
"""

import re
from typing import Final

from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput

# No two parts of it can match the same text, so that a long line costs its length once.
_AFTER: Final = re.compile(r"\(after:([^()]*)\)\Z", re.IGNORECASE)
# Taken for a part of the title, such a remark would be lost without a word.
_NO_AFTER: Final = re.compile(r"\(after(?::|\s[^()]*\)\Z)", re.IGNORECASE)
_BULLET: Final = re.compile(r"(?:[-*+]|\d+[.)])\s+")
_INDENT: Final = 2


@value
class OutlineItem:
    """One line: its title, the place of its parent among the items (None at the top), and the ids it comes after."""

    title: str
    parent: int | None
    after: tuple[str, ...]


def parse_outline(text: str) -> tuple[OutlineItem, ...]:
    """Return the items of an outline in its order; blank lines are passed over, a leading bullet is dropped.

    Raises:
        InvalidInput: names the line: a tab, an odd indent, a child without a parent, a line without a title, or
            one whose dependencies stand in another form.
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
    found = _AFTER.search(text)
    named = text[: found.start()] if found else text
    if _NO_AFTER.search(named.strip()):
        raise _wrong(number, "says what it comes after, but not in one '(after: id, id)' at its end")
    after = tuple(name.strip() for name in found[1].split(",") if name.strip()) if found else ()
    title = _BULLET.sub("", named, count=1).strip()
    if not title:
        raise _wrong(number, "has no title")
    return OutlineItem(title=title, parent=parent, after=after)


def _wrong(number: int, rule: str) -> InvalidInput:
    hint = "One task a line, two spaces = child of the line above, '(after: id)' = depends on."
    return InvalidInput(f"outline: line {number} {rule}", hint=hint, field="outline", line=number)
