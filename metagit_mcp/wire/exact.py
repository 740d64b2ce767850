"""Reads JSON into core values where nothing about it is in doubt, without pydantic. Knows no type by its name.

To load pydantic takes a process longer than all the rest of what a hook does (ADR 0040). Whatever is not to the letter
as a type says is left to pydantic, which alone decides what is lenient and what is wrong: a test compares both.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from math import isfinite
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from metagit_mcp.domain.bounds import Interval, MinLen

T = TypeVar("T")
Reader = Callable[[Any], Any]

# Later versions of Python know the hour 24, which pydantic does not.
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d(\.\d{1,6})?(Z|\+00:00)", re.ASCII)
_LARGEST_EXACT: Final = 2**53
_CONFIGS: Final = frozenset({"extra", "strict", "serialize_by_alias"})
# What field metadata may say; the first two do not matter for reading.
_TOLD: Final = frozenset({"description", "examples", "alias", "allow_inf_nan"})
_BOUNDS: Final = ("ge", "le", "min_length", "max_length", "pattern")
# pydantic reads a text that is some 200 deep; what a type says is never so deep that this would matter.
_DEEPEST: Final = 100
# Half of a pair of surrogates, which the standard library lets pass.
_MAYBE_HALF: Final = b"\\ud"


class Doubt(ValueError):
    """Something is not to the letter as its type says."""


def exact(shape: type[T], raw: bytes) -> T | None:
    """Return the value of `shape` in a JSON text, or None where pydantic has to look at it."""
    try:
        read: T = _reader(shape)(parsed(raw))
    except (ValueError, RecursionError):
        return None
    return read


def parsed(raw: bytes) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON value in a text.

    Raises:
        ValueError, RecursionError: it is none, or pydantic has to look at it.
    """
    if _MAYBE_HALF in raw.lower():
        raise Doubt
    return json.loads(raw.decode(), object_pairs_hook=_object, parse_constant=_doubted)


def list_reader(hint: Any) -> Reader:  # noqa: ANN401 - any annotation
    """Return what reads JSON as a list of values of a type; it raises `Doubt` where pydantic has to look at it."""
    return _reader(list[hint])


def plainly(item: object) -> Any:  # noqa: ANN401 - any JSON
    """Return a core value of texts and numbers as JSON-ready lists and dictionaries, absent fields (None) included."""
    if isinstance(item, Mapping):
        return {key: plainly(each) for key, each in item.items()}
    if isinstance(item, tuple):
        return [plainly(each) for each in item]
    if not is_dataclass(item):
        return item
    by_alias = getattr(item, "__pydantic_config__", {}).get("serialize_by_alias", False)
    return {
        field.metadata.get("alias", field.name) if by_alias else field.name: plainly(getattr(item, field.name))
        for field in fields(item)
    }


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _doubted(pairs)


def _doubted(_: object) -> Any:  # noqa: ANN401 - it returns nothing
    raise Doubt


_READERS: Final[dict[Any, Reader]] = {}


def _reader(hint: Any, bounds: Mapping[str, Any] | None = None) -> Reader:  # noqa: ANN401 - any annotation
    """Return what reads a value of this type, within bounds."""
    if bounds:
        return _bounded(_reader(hint), bounds)
    if hint not in _READERS:
        _READERS[hint] = _made(hint)
    return _READERS[hint]


def _made(hint: Any) -> Reader:  # noqa: ANN401 - as above
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, given = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _reader(given[0], bounds_of(given[1:]))
    if origin is Literal:
        return _literal(given)
    if origin in {Union, UnionType} and len(given) == 2 and given[1] is type(None):  # noqa: PLR2004 - itself or none
        return _optional(_reader(given[0]))
    if origin in _CONTAINERS:
        return _CONTAINERS[origin](given)
    if isinstance(hint, type) and is_dataclass(hint) and not hasattr(hint, "__get_pydantic_core_schema__"):
        return _of_dataclass(hint)
    return _doubted


# --- single values ----------------------------------------------------------------------------------------------------


def _of_type(kind: type[Any]) -> Reader:
    def read(given: Any) -> Any:  # noqa: ANN401 - any JSON
        return given if type(given) is kind else _doubted(given)

    return read


def _float(given: Any) -> float:  # noqa: ANN401 - any JSON
    if type(given) is int and abs(given) <= _LARGEST_EXACT:
        return float(given)
    if type(given) is float and isfinite(given):
        return given
    raise Doubt


def _anything(given: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return what is given, unless it is so deep that pydantic might not read it."""
    level = [given]
    for _ in range(_DEEPEST):
        level = [each for outer in level for each in _inside(outer)]
        if not level:
            return given
    raise Doubt


def _inside(given: Any) -> Iterable[Any]:  # noqa: ANN401 - any JSON
    if type(given) is dict:
        return given.values()
    return given if type(given) is list else ()


def _instant(given: Any) -> datetime:  # noqa: ANN401 - any JSON
    if type(given) is str and _INSTANT.fullmatch(given):
        return datetime.fromisoformat(given)
    raise Doubt


def _literal(options: tuple[Any, ...]) -> Reader:
    words = frozenset(options)

    def read(given: Any) -> Any:  # noqa: ANN401 - any JSON
        return given if type(given) is str and given in words else _doubted(given)

    return read


def _optional(inner: Reader) -> Reader:
    def read(given: Any) -> Any:  # noqa: ANN401 - any JSON
        return None if given is None else inner(given)

    return read


def bounds_of(marks: Iterable[object]) -> dict[str, Any]:
    """Return the bounds by name; `?` for what is not known here, or said twice."""
    found: dict[str, Any] = {}
    for mark in marks:
        for name, each in _bounds_in(mark):
            found["?" if name in found else name] = each
    return found


def _bounds_in(mark: object) -> list[tuple[str, Any]]:
    if isinstance(mark, Interval):
        return [(name, each) for name, each in (("ge", mark.ge), ("le", mark.le)) if each is not None]
    return [("min_length", mark.min_length)] if isinstance(mark, MinLen) else [("?", mark)]


def _bounded(inner: Reader, bounds: Mapping[str, Any]) -> Reader:
    if bounds.keys() - set(_BOUNDS):
        return _doubted
    checks = [_CHECKS[name](limit) for name, limit in bounds.items()]

    def read(given: Any) -> Any:  # noqa: ANN401 - any JSON
        found = inner(given)
        return found if found is None or all(check(found) for check in checks) else _doubted(given)

    return read


def _fits(pattern: str) -> Callable[[Any], bool]:
    # pydantic's `$` is the very end, and its letters may be others than Python's.
    whole = re.compile(pattern.removeprefix("^").removesuffix("$"))
    return lambda text: text.isascii() and whole.fullmatch(text) is not None


_CHECKS: Final[dict[str, Callable[[Any], Callable[[Any], bool]]]] = {
    "ge": lambda least: lambda found: bool(found >= least),
    "le": lambda most: lambda found: bool(found <= most),
    "min_length": lambda least: lambda found: len(found) >= least,
    "max_length": lambda most: lambda found: len(found) <= most,
    "pattern": _fits,
}
_PLAIN: Final[dict[Any, Reader]] = {
    **{kind: _of_type(kind) for kind in (str, int, bool)},
    float: _float,
    datetime: _instant,
    Any: _anything,
}


# --- several values ---------------------------------------------------------------------------------------------------


def _listed(given: tuple[Any, ...]) -> Reader:
    """Read `list[X]`."""
    each_of = _reader(given[0])

    def read(items: Any) -> list[Any]:  # noqa: ANN401 - any JSON
        return [each_of(each) for each in items] if type(items) is list else _doubted(items)

    return read


def _rowed(given: tuple[Any, ...]) -> Reader:
    """Read `tuple[X, ...]`."""
    if given[1:] != (...,):
        return _doubted
    listed = _listed(given)
    return lambda items: tuple(listed(items))


def _mapped(given: tuple[Any, ...]) -> Reader:
    """Read `dict[K, V]`."""
    key_of, each_of = _reader(given[0]), _reader(given[1])

    def read(items: Any) -> dict[Any, Any]:  # noqa: ANN401 - any JSON
        if type(items) is not dict:
            raise Doubt
        return {key_of(key): each_of(each) for key, each in items.items()}

    return read


_CONTAINERS: Final[dict[Any, Callable[[tuple[Any, ...]], Reader]]] = {
    list: _listed,
    tuple: _rowed,
    dict: _mapped,
    Mapping: _mapped,
}


def _of_dataclass(shape: type[Any]) -> Reader:
    config: Mapping[str, Any] = getattr(shape, "__pydantic_config__", {})
    if config.keys() - _CONFIGS:
        return _doubted
    is_closed = config.get("extra") == "forbid"
    # Not before it is needed: a type may contain itself. And whole, whichever thread makes it.
    table = cache(lambda: dict(_table(shape)))

    def read(given: Any) -> Any:  # noqa: ANN401 - any JSON
        if type(given) is not dict:
            raise Doubt
        known, found = table(), dict[str, Any]()
        for key, each in given.items():
            if key in known:
                name, reader = known[key]
                found[name] = reader(each)
            elif is_closed:
                raise Doubt
            else:
                _anything(each)
        try:
            return shape(**found)
        except TypeError:
            # A field is missing.
            raise Doubt from None

    return read


def _table(shape: type[Any]) -> Iterable[tuple[str, tuple[str, Reader]]]:
    """Yield the key of each field, its name, and what reads it."""
    hints = get_type_hints(shape, include_extras=True)
    for field in fields(shape):
        bounds = {name: each for name, each in field.metadata.items() if name not in _TOLD}
        yield field.metadata.get("alias", field.name), (field.name, _reader(hints[field.name], bounds))
