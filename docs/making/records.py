"""Records as tables: the fields of dataclasses with their JSON kinds. It must not know which record a page is about."""

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Literal, TypeGuard, Union, get_args, get_origin, get_type_hints

from making.markdown import Row, code, table, told


def kind_of(annotation: Any) -> str:  # noqa: ANN401 - annotations have no type
    """Return the JSON kind of a field, with a link where the kind is a record of this page; one of several: each."""
    several = arms_of(annotation)
    if len(several) > 1:
        return ", ".join(map(kind_of, several))
    plain = several[0]
    origin, arguments = get_origin(plain), get_args(plain)
    if is_record(plain):
        return f"[{plain.__name__}](#{plain.__name__.lower()})"
    if origin is tuple:
        return f"list of {kind_of(arguments[0])}"
    if origin is Literal:
        return ", ".join(map(code, arguments))
    names = {str: "text", int: "integer", float: "number", bool: "true or false", datetime: "instant"}
    return names.get(plain, "object")


def is_record(annotation: object) -> TypeGuard[type[Any]]:
    """Say whether a field holds a record of its own."""
    return isinstance(annotation, type) and is_dataclass(annotation)


def arms_of(annotation: Any) -> list[Any]:  # noqa: ANN401 - annotations have no type
    """Return what a value may be, without `None`."""
    if get_origin(annotation) not in (Union, UnionType):
        return [annotation]
    return [arm for arm in get_args(annotation) if arm is not NoneType]


def presence(each: Field[Any]) -> str:
    """Return a field's name, marked when it may be absent."""
    return f"{code(each.metadata.get('alias', each.name))}{' ?' if each.default is None else ''}"


def record_rows(shape: type[Any]) -> Iterator[Row]:
    """Yield name and kind of each field of a record."""
    hints = get_type_hints(shape)
    for each in fields(shape):
        yield presence(each), kind_of(hints[each.name])


def records_of(shape: type[Any], found: dict[str, type[Any]]) -> None:
    """Collect the records that a record holds, in the order in which a reader meets them."""
    for hint in get_type_hints(shape).values():
        for inner in held_by(hint):
            if is_record(inner) and inner.__name__ not in found:
                found[inner.__name__] = inner
                records_of(inner, found)


def held_by(annotation: Any) -> list[Any]:  # noqa: ANN401 - annotations have no type
    """Return what a field holds: the items of a list, else the value itself."""
    inner = arms_of(annotation)[0]
    return arms_of(get_args(inner)[0]) if get_origin(inner) is tuple else [inner]


def record_parts(records: Mapping[str, type[Any]]) -> list[str]:
    """Return a section for each record."""
    return [
        f"### {name}\n\n{told(shape)}\n\n{table(('field', 'type'), record_rows(shape))}"
        for name, shape in records.items()
    ]
