"""Reads JSON, with comments and trailing commas where a host allows them, and says where everything stands.

It changes nothing, and knows no host. What it takes for JSON is what the standard library takes, but for NaN and the
infinities; a key that stands twice counts as it does there, by its last value.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from metagit_mcp.wire.host_files.texts import misfit

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_COMMENT: Final = re.compile(r"//[^\n\r]*|/\*.*?\*/", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_WORD: Final = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_DEEPEST: Final = 100
# Far above what a configuration holds, and below the length at which Python refuses to read a number.
_LONGEST_NUMBER: Final = 1000


@dataclass(frozen=True, slots=True)
class Node:
    """A value: its text is `text[start:end]`. An object has `members`, and `tail`: where its last part ends.

    The last part is a member, a comma or a comment, or the brace that opens it. `comma` says that a comma follows the
    last member.
    """

    start: int
    end: int
    value: Any
    members: "tuple[Member, ...] | None" = None
    tail: int = 0
    comma: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A key and its value: `before` is where that ends which precedes the key, `comma` where a comma follows, or -1."""

    key: str
    start: int
    before: int
    node: Node
    comma: int = -1


@dataclass(frozen=True, slots=True)
class Document:
    """A text, the value in it, or None where there are only spaces and comments; and where the comments are."""

    text: str
    root: Node | None
    comments: tuple[tuple[int, int], ...]

    def has_comment(self, start: int, end: int) -> bool:
        """Say whether a comment stands between two places."""
        return any(start <= first < end for first, _ in self.comments)


def parse(text: str, *, lenient: bool) -> Document:
    """Return what a text holds; `lenient` allows comments and trailing commas.

    Raises:
        Misfit: it is not JSON; says where, and never what stands there.
    """
    scanner = _Scanner(text, lenient=lenient)
    scanner.blank()
    root = None if scanner.at == len(text) else scanner.value(0)
    scanner.blank()
    if scanner.at < len(text):
        raise misfit(text, scanner.at, "has something after its end")
    return Document(text, root, tuple(scanner.comments))


class _Scanner:
    """Goes through a text once. `solid` is where the last part ends that is no space."""

    def __init__(self, text: str, *, lenient: bool) -> None:
        self.text, self.at, self.solid = text, 0, 0
        self.comments: list[tuple[int, int]] = []
        self._lenient = lenient

    def blank(self) -> None:
        """Pass over spaces and comments."""
        while True:
            self.at = self._matched(_SPACE)
            if not self._lenient or not self.text.startswith(("//", "/*"), self.at):
                return
            start, end = self.at, self._matched(_COMMENT)
            if end == start:
                raise misfit(self.text, start, "has a comment without an end")
            self.comments.append((start, end))
            self.at = self.solid = end

    def value(self, depth: int) -> Node:
        """Return the value that begins here."""
        if depth > _DEEPEST:
            raise misfit(self.text, self.at, f"is nested deeper than {_DEEPEST} levels")
        start, mark = self.at, self.text[self.at : self.at + 1]
        if mark == "{":
            return self._object(depth)
        if mark == "[":
            return self._array(depth)
        if mark == '"':
            text = self._string()
            return Node(start, self.at, text)
        end = self._matched(_WORD)
        if end == start:
            raise misfit(self.text, start, "lacks a value")
        self.at = self.solid = end
        return Node(start, end, _word(self.text[start:end]))

    def _string(self) -> str:
        start = self.at
        end = self._matched(_STRING)
        if end == start:
            raise misfit(self.text, start, "has a string that is none")
        self.at = self.solid = end
        text: str = json.loads(self.text[start:end])
        return text

    def _object(self, depth: int) -> Node:
        start, members, comma = self.at, list[Member](), False
        self._pass()
        while not self._closes("}", comma=comma):
            if members and not comma:
                raise misfit(self.text, self.at, "lacks a comma or a closing brace")
            members.append(self._member(depth))
            comma = members[-1].comma >= 0
        tail = self.solid
        self._pass()
        value = {each.key: each.node.value for each in members}
        return Node(start, self.at, value, tuple(members), tail, comma)

    def _member(self, depth: int) -> Member:
        start, before = self.at, self.solid
        if not self.text.startswith('"', start):
            raise misfit(self.text, start, "lacks a key in quotes")
        key = self._string()
        self.blank()
        if not self.text.startswith(":", self.at):
            raise misfit(self.text, self.at, "lacks a colon after a key")
        self._pass()
        self.blank()
        node = self.value(depth + 1)
        self.blank()
        at = self.at
        return Member(key, start, before, node, at if self._comma() else -1)

    def _array(self, depth: int) -> Node:
        start, items, comma = self.at, list[Any](), False
        self._pass()
        while not self._closes("]", comma=comma):
            if items and not comma:
                raise misfit(self.text, self.at, "lacks a comma or a closing bracket")
            items.append(self.value(depth + 1).value)
            self.blank()
            comma = self._comma()
        self._pass()
        return Node(start, self.at, items)

    def _closes(self, mark: str, *, comma: bool) -> bool:
        """Say whether an object or array ends here; after a comma it must not, where that is not allowed."""
        self.blank()
        if not self.text.startswith(mark, self.at):
            return False
        if comma and not self._lenient:
            raise misfit(self.text, self.at, "has a comma before the end of a list or object")
        return True

    def _comma(self) -> bool:
        if self.text.startswith(",", self.at):
            self._pass()
            return True
        return False

    def _pass(self) -> None:
        """Pass over one mark."""
        self.at += 1
        self.solid = self.at

    def _matched(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self.text, self.at)
        return self.at if found is None else found.end()


def _word(word: str) -> object:
    if len(word) > _LONGEST_NUMBER:
        return float(word)
    return json.loads(word)
