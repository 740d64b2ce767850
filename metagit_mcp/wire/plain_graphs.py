"""Reads a task graph by msgspec where nothing about it is in doubt. Knows no file, and never says what is wrong.

What it refuses is left to pydantic, which alone decides what is lenient and what is wrong, and so is the little that
both would read in different ways: a property compares them (ADR 0048).
"""

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from metagit_mcp.domain.tasks import OWN_NODE_FIELDS, TaskGraph, TaskNode
from metagit_mcp.domain.value import changed, copies_of
from metagit_mcp.wire.exact import bounds_of

_LETTERS: Final = f"{string.ascii_letters}{string.digits}_.-".encode()
_NO_IDS: Final = frozenset({".", ".."})
# What many nodes say alike.
_SHARED: Final = ("status", "intent_id", "project", "repository", "updated_at")
_INSTANTS: Final = (attrgetter("deadline"), attrgetter("not_before"))
# Of what is finer than a microsecond msgspec makes the nearest one, pydantic the one before; a text may be escaped.
_FINER: Final = re.compile(rb"\.\d{7}|\\u00(?:2[eE]|3\d)")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
# More than any graph has that we know. How deep a text may be at most is not told by msgspec.
_LEVELS: Final = 16


def plain_graph(raw: bytes) -> tuple[TaskGraph, bool] | None:
    """Return the graph in a text of JSON, and whether a node may say something in a field of ours.

    None: pydantic has to look at it. All nodes have ids (`is_id`).
    """
    # Most graphs are of programs that do not know our fields: the text without them is told by a type, too.
    for has_own in (False, True):
        found = _decoded(raw, has_own=has_own)
        if found is not None:
            rows = list(reversed(found.nodes))
            if not _are_ids([row.node_id for row in rows]) or (has_own and _are_finer(rows, raw)) or _is_deep(raw):
                return None
            # Each row makes room for the next value: of a long graph that is a fifth of the memory.
            found.nodes = ()
            nodes = copies_of(TaskNode, (rows.pop() for _ in range(len(rows))), _SHARED)
            return changed(*copies_of(TaskGraph, (found,)), nodes=tuple(nodes)), has_own
    return None


def _decoded(raw: bytes, *, has_own: bool) -> Any:  # noqa: ANN401 - of a class that is made
    try:
        if not raw.isascii():
            # What is of no field is passed over, whatever its bytes are.
            raw.decode()
        return _decoder(has_own).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _are_ids(names: list[str]) -> bool:
    """Say whether all are ids, and of the letters that every program knows."""
    letters = "".join(names)
    return letters.isascii() and not letters.encode().translate(None, _LETTERS) and _NO_IDS.isdisjoint(names)


def _is_deep(raw: bytes) -> bool:
    """Say whether more than some levels may be nested in each other, unless brackets in strings are laid to hide it."""
    brackets = raw.translate(None, _NO_BRACKETS)
    for _ in range(_LEVELS):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return bool(brackets)


def _are_finer(rows: Sequence[Any], raw: bytes) -> bool:
    """Say whether an instant may be written finer than it can be kept."""
    return any(any(map(instant, rows)) for instant in _INSTANTS) and _FINER.search(raw) is not None


@cache
def _decoder(has_own: bool) -> "msgspec.json.Decoder[Any]":  # noqa: FBT001 - the key of the cache
    row: Any = _struct(TaskNode, {} if has_own else dict.fromkeys(OWN_NODE_FIELDS))
    return msgspec.json.Decoder(_struct(TaskGraph, {"nodes": tuple[row, ...]}))


def _struct(shape: type[Any], others: Mapping[str, object]) -> type[msgspec.Struct]:
    """Return what msgspec reads fast in place of a class of ours, whose fields it fills one by one."""
    hints = {**get_type_hints(shape, include_extras=True), **others}
    read: list[tuple[str, Any, Any]] = []
    for field in fields(shape):
        bounds = {name: each for name, each in field.metadata.items() if name != "pattern"}
        default = msgspec.NODEFAULT if field.default is MISSING else field.default
        read.append((field.name, _bounded(_typed(hints[field.name]), bounds), default))
    return msgspec.defstruct(shape.__name__, read, gc=False, kw_only=True)


def _typed(hint: Any) -> Any:  # noqa: ANN401 - any annotation
    """Return the annotation with its bounds in the words of msgspec."""
    origin, given = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bounded(_typed(given[0]), bounds_of(given[1:]))
    if origin in {Union, UnionType}:
        return Union[tuple(map(_typed, given))]  # noqa: UP007 - a type that is made
    return tuple[_typed(given[0]), ...] if origin is tuple else hint  # type: ignore[misc]  # as above


def _bounded(hint: Any, bounds: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
    return Annotated[hint, msgspec.Meta(**bounds)] if bounds else hint
