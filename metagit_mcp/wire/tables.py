"""Many core values of one shape as columns of JSON, and back. Knows no shape by its name.

A table leads from each field to its column; a field that has its default in every row has none. A column is the list of
what each row has, or, where that repeats, an object: `of`, each of it once, and `at`, which of them each row has (left
out where all have the one). A field whose values have fields themselves has a table, `fields`, of the rows that have
one: those that `at` names, or all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from functools import cache
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import Any, Final, TypeVar, cast, get_args, get_type_hints

from metagit_mcp.domain.value import rows_of
from metagit_mcp.wire.codec import Json, adapter, is_pydantic_loaded
from metagit_mcp.wire.exact import Doubt, list_reader

T = TypeVar("T")
# What repeats so often, in the mean, is written once.
_OFTEN: Final = 2


class Misread(ValueError):
    """A table is none of these values; the place is named by fields."""


@contextmanager
def misread_at(name: str) -> Iterator[None]:
    """Say of whatever cannot be read in the block where that stands.

    Raises:
        Misread: something could not.
    """
    try:
        yield
    except Misread as inner:
        raise Misread(f"{name}/{inner}".rstrip("/")) from None
    except (ValueError, TypeError, LookupError, AttributeError):
        raise Misread(name) from None


# --- the values of several Groups -----------------------------------------------------------------------------------


def table_of_groups(shape: type[T], groups: Mapping[str, Mapping[str, T]], named: str = "") -> Json:
    """Return the values of Groups, one Group after another, as one table; the field `named` is its Group's name."""
    every = [each for group in groups.values() for each in group.values()]
    return {"of": {name: len(group) for name, group in groups.items()}, "fields": table_of(shape, every, named)}


def read_groups(shape: type[T], told: Any, most: int, named: str = "") -> Iterator[tuple[str, list[T]]]:  # noqa: ANN401 - any JSON
    """Yield the Groups of such a table with their values, at most so many; None has none.

    Raises:
        Misread, or what `misread_at` makes one: it is no such table.
    """
    if told is None:
        return
    names, sizes = list_reader(str)([*told["of"]]), list_reader(int)([*told["of"].values()])
    rows = sum(sizes)
    if rows > most or any(size < 0 for size in sizes):
        raise Misread("of")
    known = {named: chain.from_iterable(map(repeat, names, sizes))} if named else {}
    with misread_at("fields"):
        values = iter(read_table(shape, told["fields"], rows, **known))
    for name, size in zip(names, sizes, strict=True):
        yield name, [*islice(values, size)]


# --- writing --------------------------------------------------------------------------------------------------------


def table_of(shape: type[T], items: Sequence[T], without: str = "") -> Json:
    """Return values as a table, without one of the fields."""
    columns: Json = {}
    for field in _fields(shape) if items else ():
        if field.name != without:
            column = _column([*map(attrgetter(field.name), items)], field, _hint_of(shape, field.name))
            if column is not None:
                columns[field.name] = column
    return columns


def _column(items: list[Any], field: "Field[Any]", hint: Any) -> Any:  # noqa: ANN401 - JSON of any annotation
    """Return the column of a field, or None where it has its default in every row."""
    inner, may_lack = _shape_in(hint)
    if inner is None:
        return _plain_column(items, field, hint)
    present = [at for at, item in enumerate(items) if item is not None]
    if may_lack and not present:
        return None
    table = table_of(inner, [items[at] for at in present])
    if len(present) < len(items):
        return {"fields": table, "at": present}
    return {"fields": table} if table or _default_shape(field) is not inner else None


def _plain_column(items: list[Any], field: "Field[Any]", hint: Any) -> Any:  # noqa: ANN401 - as above
    written = _written(items[:1] if _are_one(items) else items, hint)
    keys = _keys(written)
    firsts = dict(zip(keys, written, strict=True))
    if len(firsts) * _OFTEN > len(written) > 1:
        return written
    if len(firsts) > 1:
        numbers = {key: number for number, key in enumerate(firsts)}
        return {"of": [*firsts.values()], "at": [numbers[key] for key in keys]}
    return None if written[:1] == _written(_default_of(field), hint) else {"of": written[:1]}


def _are_one(items: list[Any]) -> bool:
    """Say, without writing them, that all are the same; not of what can be equal and yet be written in several ways."""
    first = items[0]
    return (type(first) in _WRITTEN_IN_ONE_WAY or first == ()) and items.count(first) == len(items)


_WRITTEN_IN_ONE_WAY: Final = frozenset({type(None), str, int, bool})


def _keys(written: list[Any]) -> list[Any]:
    """Return what tells the written ones apart."""
    return written if {dict, list}.isdisjoint(map(type, written)) else [*map(repr, written)]


def _written(items: list[Any], hint: Any) -> list[Any]:  # noqa: ANN401 - any annotation
    written: list[Any] = adapter(_listed(hint)).dump_python(items, mode="json")
    return written


def _default_of(field: "Field[Any]") -> list[Any]:
    """Return the default of a field, if it has one."""
    if field.default_factory is not MISSING:
        return [field.default_factory()]
    return [] if field.default is MISSING else [field.default]


# --- reading --------------------------------------------------------------------------------------------------------


def read_table(shape: type[T], told: Any, rows: int, **known: Iterable[object]) -> list[T]:  # noqa: ANN401 - any JSON
    """Return the values in a table of so many rows; a column that it was written without is `known`.

    Raises:
        Misread, or what `misread_at` makes one: it is no such table.
    """
    if not rows:
        return []
    columns: dict[str, Iterable[object]] = {}
    for name, column in told.items():
        with misread_at(name):
            columns[name] = _read_column(column, _hint_of(shape, name), rows)
    for field in _fields(shape):
        default = _default_shape(field)
        if default is not None and field.name not in told:
            # It cannot be changed, so that one will do for all rows.
            columns[field.name] = repeat(default(), rows)
    return rows_of(shape, rows, columns | known)


def _read_column(told: Any, hint: Any, rows: int) -> Iterable[object]:  # noqa: ANN401 - JSON of any annotation
    if type(told) is list:
        return _read_list(told, hint)
    inner, may_lack = _shape_in(hint)
    if inner is None:
        of = _read_list(told["of"], hint)
        if "at" in told:
            return [of[number] for number in _numbers(told["at"], len(of))]
        (one,) = of
        return repeat(one, rows)
    if "at" not in told:
        return read_table(inner, told["fields"], rows)
    present = _numbers(told["at"], rows if may_lack else 0)
    column: list[object] = [None] * rows
    for at, item in zip(present, read_table(inner, told["fields"], len(present)), strict=True):
        column[at] = item
    return column


def _read_list(told: object, hint: Any) -> list[object]:  # noqa: ANN401 - any annotation
    """Return the values in a list; pydantic decides where one of them is not to the letter as its type says."""
    # What it makes of an instant takes thirty times as long to be compared with that of a clock.
    if datetime in {hint, *get_args(hint)} or not is_pydantic_loaded():
        with suppress(Doubt):
            exactly: list[object] = list_reader(hint)(told)
            return exactly
    found: list[object] = adapter(_listed(hint)).validate_python(told)
    return found


def _numbers(told: object, below: int) -> list[int]:
    found: list[int] = list_reader(int)(told)
    if found and not 0 <= min(found) <= max(found) < below:
        raise ValueError
    return found


# --- shapes ---------------------------------------------------------------------------------------------------------


def _fields(shape: Any) -> "tuple[Field[Any], ...]":  # noqa: ANN401 - the class of a core value
    return fields(shape)


def _hint_of(shape: Any, name: str) -> Any:  # noqa: ANN401 - as above, and any annotation
    return _hints(shape)[name]


@cache
def _hints(shape: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    return get_type_hints(shape, include_extras=True)


def _default_shape(field: "Field[Any]") -> type[Any] | None:
    """Return the shape that the default of a field has, if it is one without any more to say."""
    made: Any = field.default_factory
    return cast("type[Any]", made) if is_dataclass(made) else None


@cache
def _listed(hint: Any) -> Any:  # noqa: ANN401 - any annotation
    return list[hint]


def _shape_in(hint: Any) -> tuple[type[Any] | None, bool]:  # noqa: ANN401 - any annotation
    """Return of what shape the values of a field are, if they have fields, and whether a row may have none."""
    if is_dataclass(hint):
        return cast("type[Any]", hint), False
    given = get_args(hint)
    if len(given) == 2 and given[1] is type(None) and is_dataclass(given[0]):  # noqa: PLR2004 - itself or none
        return cast("type[Any]", given[0]), True
    return None, False
