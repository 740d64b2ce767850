"""Puts a table into a TOML document, replaces it and takes it out again; every other byte stays. Knows no host.

The standard library says what a document means; where its tables stand is found here. A table is put at the end, which
is allowed wherever no inline table is in its way (ADR 0042).
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from metagit_mcp.wire.host_files.texts import EntryReading, Misfit, appended, misfit, newline_of, without_block

_WHERE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_PART: Final = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|(?P<comment>#[^\n]*)"
    r"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<line>\n)"
    r"|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+\Z")
_INLINE: Final = "holds our entry or its neighbours in an inline table; write it as [{}.NAME] first"


@dataclass(frozen=True, slots=True)
class _Statement:
    """A header or a pair, with the lines it is on; `path` is where what it sets stands in the document."""

    start: int
    end: int
    path: tuple[str, ...]
    is_header: bool


@dataclass(frozen=True, slots=True)
class TomlEntries:
    """The table `name` of the table `container`.

    What stands in its part `kept` is not ours: there the host writes down what its user decided. It stays when the rest
    is replaced, and goes with it, since it means nothing alone.
    """

    container: str
    name: str
    kept: str = ""

    def read(self, text: str) -> EntryReading:
        """Return our entry.

        Raises:
            Misfit: it is not TOML, or the container is no table.
        """
        entry = self._entry(text, _meaning(text))
        if entry is None:
            return EntryReading(None)
        spans = self._spans(text)
        return EntryReading(entry, touched=any(_has_comment(text, *span) for span in spans))

    def fresh(self, entry: Mapping[str, Any]) -> str:
        """Return a document with nothing but the entry, as it is made and pasted."""
        return "\n".join((*self._lines(entry), ""))

    def put(self, text: str, entry: Mapping[str, Any]) -> str:
        """Return the text with the entry, in place of the one that is there.

        Raises:
            Misfit: also where an inline table is in the way.
        """
        self._entry(text, _meaning(text))
        spans = self._spans(text)
        changed = appended(text, self._lines(entry))
        if spans:
            (start, end), *others = spans
            block = newline_of(text).join((*self._lines(entry), ""))
            if not text[start:end].endswith("\n"):
                block = block.rstrip("\r\n")
            changed = text[:start] + block + _without(text, others, end)
        return self._checked(text, changed, entry)

    def taken_out(self, text: str) -> str | None:
        """Return the text without the entry; None where nothing else was ever in the file."""
        entry = self._entry(text, _meaning(text))
        if entry is None:
            return text
        if isinstance(entry, dict) and text.replace("\r\n", "\n") == self.fresh(entry):
            return None
        changed = text
        for start, end in reversed(self._spans(text, whole=True)):
            changed = without_block(changed, start, end)
        return self._checked(text, changed, None)

    def _entry(self, text: str, meaning: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever a person wrote there
        container = meaning.get(self.container, {})
        if not isinstance(container, dict):
            start = next((each.start for each in _statements(text) if each.path == (self.container,)), 0)
            raise misfit(text, start, f"has a {self.container} that is no table")
        entry = container.get(self.name)
        if isinstance(entry, dict) and self.kept in entry:
            return {name: each for name, each in entry.items() if name != self.kept} or None
        return entry

    def _spans(self, text: str, *, whole: bool = False) -> list[tuple[int, int]]:
        """Return where our entry stands: each of its tables without what follows the last pair, and single pairs.

        `whole` is with what is kept.
        """
        spans: list[tuple[int, int]] = []
        under_ours = False
        for each in _statements(text):
            is_ours = each.path[:2] == (self.container, self.name) and (whole or each.path[2:3] != (self.kept,))
            if is_ours and under_ours and not each.is_header:
                spans[-1] = (spans[-1][0], each.end)
            elif is_ours:
                spans.append((each.start, each.end))
            under_ours = is_ours and (each.is_header or under_ours)
        return spans

    def _lines(self, entry: Mapping[str, Any]) -> list[str]:
        pairs = (f"{_key(name)} = {_written(each)}" for name, each in entry.items())
        return [f"[{_key(self.container)}.{_key(self.name)}]", *pairs]

    def _checked(self, text: str, changed: str, entry: Mapping[str, Any] | None) -> str:
        """Return what was changed, if it means what it should: an inline table can be in the way of a table."""
        meant = _meaning(text)
        others = dict(meant.get(self.container, {}))
        former = others.pop(self.name, None)
        if entry is not None:
            kept = {self.kept: former[self.kept]} if isinstance(former, dict) and self.kept in former else {}
            others[self.name] = {**entry, **kept}
        wanted = {**meant, self.container: others}
        try:
            found = _meaning(changed)
        except Misfit:
            found = {}
        if {self.container: {}, **found} != wanted:
            at = next((each.start for each in _statements(text) if each.path[:1] == (self.container,)), 0)
            raise misfit(text, at, _INLINE.format(self.container))
        return changed


def _without(text: str, spans: list[tuple[int, int]], at: int) -> str:
    """Return what follows a place, without some of it."""
    kept = []
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "".join((*kept, text[at:]))


def _meaning(text: str) -> dict[str, Any]:
    """Return what a document says.

    Raises:
        Misfit: it is not TOML; says where, and nothing of what stands there.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = _WHERE.search(str(error))
        if where is None or where[1] is None:
            raise misfit(text, len(text), "is not TOML") from None
        raise Misfit("is not TOML", int(where[1]), int(where[2])) from None
    except RecursionError:
        raise Misfit("is nested too deeply") from None


# --- where things stand --------------------------------------------------------------------------------------------


def _statements(text: str) -> Iterator[_Statement]:
    """Yield what a valid document sets, in its order; lines with nothing but a comment belong to nothing."""
    header: tuple[str, ...] = ()
    for start, end in _spread(text):
        line = text[start:end]
        is_header = line.lstrip(" \t").startswith("[")
        path = _path(tomllib.loads(line))
        if is_header:
            header = path
        yield _Statement(start, end, path if is_header else header + path, is_header)


def _spread(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each statement begins and ends, with the end of its line."""
    start, depth, solid = 0, 0, False
    for part in _PART.finditer(text):
        kind = part.lastgroup
        depth += (kind == "open") - (kind == "close")
        if kind == "line" and depth == 0:
            if solid:
                yield start, part.end()
            start, solid = part.end(), False
        elif kind != "comment":
            solid = solid or bool(part[0].strip())
    if solid:
        yield start, len(text)


def _path(said: object) -> tuple[str, ...]:
    """Return the one path that a header or the key of a pair names."""
    path: tuple[str, ...] = ()
    while isinstance(said, dict) and len(said) == 1:
        ((key, said),) = said.items()
        path = (*path, key)
    return path


def _has_comment(text: str, start: int, end: int) -> bool:
    return any(part.lastgroup == "comment" for part in _PART.finditer(text, start, end))


# --- how it is written ---------------------------------------------------------------------------------------------


def _key(name: str) -> str:
    return name if _BARE.match(name) else _written(name)


def _written(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(name)} = {_written(each)}' for name, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    # JSON's strings are TOML's, but for one mark that TOML wants escaped.
    return json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")
