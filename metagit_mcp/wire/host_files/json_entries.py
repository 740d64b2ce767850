"""Puts an entry into a JSON document, replaces it and takes it out again; every other byte stays. Knows no host.

Nothing is remembered but the document itself, so what is put in must show what was there before (ADR 0042):

* Into an object that has members a new one is put in the way that the last of them stands: on a line of its own, or
  on the same line.
* Into an object that is there and empty it is put on one line, directly after the brace or the last comment.
* An object that had to be made is written over several lines, or else on one line with a space inside each brace.

From this follows, when the entry is taken out, what else was made for it: its container, or the whole file.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from metagit_mcp.wire.host_files.jsonc import Document, Member, Node, parse
from metagit_mcp.wire.host_files.texts import EntryReading, misfit, newline_of

_UNIT: Final = "  "
_INDENT: Final = re.compile(r"[\r\n]([ \t]*)\Z")


@dataclass(frozen=True, slots=True)
class JsonEntries:
    """The entry `name` of the object `container` at the top of a document; `lenient` allows comments."""

    container: str
    name: str
    lenient: bool = False

    def read(self, text: str) -> EntryReading:
        """Return our entry; for every error of this class see `parse`.

        Raises:
            Misfit: it is not JSON, or the document or the container is no object.
        """
        document = parse(text, lenient=self.lenient)
        ours = self._ours(self._container(document))
        if not ours:
            return EntryReading(None)
        last = ours[-1]
        commented = document.has_comment(last.start, last.node.end)
        return EntryReading(last.node.value, touched=commented or len(ours) > 1)

    def fresh(self, entry: Mapping[str, Any]) -> str:
        """Return a document with nothing but the entry, as it is made and pasted."""
        inner = _lines(entry, 2 * _UNIT, _UNIT, "\n")
        return f'{{\n{_UNIT}"{self.container}": {{\n{2 * _UNIT}"{self.name}": {inner}\n{_UNIT}}}\n}}\n'

    def put(self, text: str, entry: Mapping[str, Any]) -> str:
        """Return the text with the entry, in place of the one that is there."""
        document = parse(text, lenient=self.lenient)
        container = self._container(document)
        ours = self._ours(container)
        if len(ours) > 1 and container is not None:
            return self.put(_without(document, container, ours[0]), entry)
        if ours:
            return _replaced(document, ours[0], entry)
        if document.root is None:
            return f'{{ "{self.container}": {{ "{self.name}": {_line(entry)} }} }}{text}'
        if container is None:
            return _inserted(document, document.root, self.container, {self.name: entry}, made=True)
        return _inserted(document, container, self.name, entry)

    def taken_out(self, text: str) -> str | None:
        """Return the text without the entry, and without what was made for it; None where that is the whole file."""
        document = parse(text, lenient=self.lenient)
        container = self._container(document)
        ours = self._ours(container)
        if not ours or container is None or document.root is None:
            return text
        if len(ours) > 1:
            return self.taken_out(_without(document, container, ours[0]))
        entry = ours[0].node.value
        if isinstance(entry, dict) and text.replace("\r\n", "\n") == self.fresh(entry):
            return None
        outer, *earlier = [each for each in reversed(_members(document.root)) if each.key == self.container]
        # Without the last of several containers the one before it would come into force.
        if earlier or not _was_made(document, container):
            return _without(document, container, ours[0])
        if _is_padded(document, document.root):
            return text[: document.root.start] + text[document.root.end :]
        return _without(document, document.root, outer)

    def _container(self, document: Document) -> Node | None:
        root = document.root
        if root is None:
            return None
        if root.members is None:
            raise misfit(document.text, root.start, "must hold one JSON object")
        found = [each.node for each in root.members if each.key == self.container]
        if not found:
            return None
        if found[-1].members is None:
            raise misfit(document.text, found[-1].start, f"has a {self.container} that is no object")
        return found[-1]

    def _ours(self, container: Node | None) -> list[Member]:
        return [each for each in _members(container) if each.key == self.name]


def _members(node: Node | None) -> tuple[Member, ...]:
    return () if node is None or node.members is None else node.members


# --- what was made -------------------------------------------------------------------------------------------------


def _was_made(document: Document, node: Node) -> bool:
    """Say whether an object was made for its one member: it is on several lines with it, or padded on one."""
    members = _members(node)
    if len(members) != 1 or members[0].comma >= 0 or document.has_comment(node.start, node.end):
        return False
    inner = members[0].node
    return "\n" in document.text[inner.start : inner.end] or _is_padded(document, node)


def _is_padded(document: Document, node: Node) -> bool:
    """Say whether an object of one member is on one line, with a space inside each brace."""
    members = _members(node)
    if len(members) != 1:
        return False
    text, inner = document.text, members[0]
    gaps = text[node.start + 1 : inner.start], text[inner.node.end : node.end - 1]
    return gaps == (" ", " ") and "\n" not in text[node.start : node.end]


# --- changes -------------------------------------------------------------------------------------------------------


def _replaced(document: Document, member: Member, entry: Mapping[str, Any]) -> str:
    text, node = document.text, member.node
    written = _line(entry)
    if "\n" in text[node.start : node.end]:
        indent = _indent_before(text, member.start) or ""
        written = _lines(entry, indent, _unit(document), newline_of(text))
    return text[: node.start] + written + text[node.end :]


def _inserted(document: Document, node: Node, key: str, value: Mapping[str, Any], *, made: bool = False) -> str:
    """Return the text with a member at the end of an object; `made` says that the value is an object around ours."""
    text, members = document.text, _members(node)
    indent = _indent_before(text, members[-1].start) if members else None
    newline, unit = newline_of(text), _unit(document)
    if indent is not None:
        lead = newline + indent
        written = _nested(value, indent, unit, newline) if made else _lines(value, indent, unit, newline)
    else:
        lead = _lead_on_one_line(document, node, newline)
        written = _padded(value) if made else _line(value)
    put = f"{lead}{json.dumps(key)}: {written}"
    if not members:
        return text[: node.tail] + put + text[node.tail :]
    if node.comma:
        return f"{text[: node.tail]}{put},{text[node.tail :]}"
    last = members[-1].node.end
    return f"{text[:last]},{text[last : node.tail]}{put}{text[node.tail :]}"


def _lead_on_one_line(document: Document, node: Node, newline: str) -> str:
    """Return what stands before a member that is put on the line of what precedes it, if that lets it."""
    text = document.text
    if any(end == node.tail and text.startswith("//", start) for start, end in document.comments):
        return newline
    if node.members or node.tail > node.start + 1:
        return " "
    gap = text[node.tail : node.end - 1]
    return newline + (_indent_before(text, node.end - 1) or "") + _unit(document) if "\n" in gap else ""


def _without(document: Document, node: Node, member: Member) -> str:
    """Return the text without a member of an object, and without the comma that belongs to it."""
    text, members = document.text, _members(node)
    start, end, last = member.before, member.node.end, member is members[-1]
    rest = text[end:] if member.comma < 0 else text[end : member.comma] + text[member.comma + 1 :]
    if any(begun < start == ended and text.startswith("//", begun) for begun, ended in document.comments):
        # What follows on the same line must not become a part of the comment.
        start = start if rest.lstrip(" \t").startswith(("\n", "\r")) else member.start
    if member.comma >= 0:
        return text[:start] + rest
    if last and len(members) > 1:
        comma = members[-2].comma
        return text[:comma] + text[comma + 1 : start] + text[end:]
    return text[:start] + text[end:]


# --- how it is written ---------------------------------------------------------------------------------------------


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _padded(value: Mapping[str, Any]) -> str:
    (name, inner), *_ = value.items()
    return f"{{ {json.dumps(name)}: {_line(inner)} }}"


def _lines(value: Mapping[str, Any], indent: str, unit: str, newline: str) -> str:
    """Return an object with each member on a line of its own."""
    inner = f",{newline}".join(f"{indent}{unit}{json.dumps(name)}: {_line(each)}" for name, each in value.items())
    return f"{{{newline}{inner}{newline}{indent}}}"


def _nested(value: Mapping[str, Any], indent: str, unit: str, newline: str) -> str:
    (name, inner), *_ = value.items()
    deeper = indent + unit
    written = _lines(inner, deeper, unit, newline)
    return f"{{{newline}{deeper}{json.dumps(name)}: {written}{newline}{indent}}}"


def _indent_before(text: str, at: int) -> str | None:
    """Return the spaces between the beginning of a line and a place; None where something else stands there."""
    found = _INDENT.search(text, 0, at)
    return None if found is None else found[1]


def _unit(document: Document) -> str:
    """Return by how much a document indents."""
    members = _members(document.root)
    return (_indent_before(document.text, members[0].start) if members else None) or _UNIT
