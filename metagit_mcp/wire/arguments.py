"""How an argument is declared, and how arguments are read as a request or refused in one sentence. Knows no request."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, field, fields
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from metagit_mcp.domain.text import ANY_ID_PATTERN, ID_PATTERN, close_words, is_any_id, is_id
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.codec import Json, adapter, compact, parse_json, problem
from metagit_mcp.wire.portable import input_schema

T = TypeVar("T")
_LONGEST_NAME: Final = 100


def said(description: str, default: Any = MISSING, **bounds: object) -> Any:  # noqa: ANN401 - stands for any field
    """Declare an argument with the description that its schema shows; without a default it is required."""
    return field(default=default, metadata={"description": description, **bounds})


def parse_request(shape: type[T], arguments: Mapping[str, Any]) -> T:
    """Read arguments as `shape`.

    An empty string or null is absent; a JSON string is accepted where a list or an object is expected.

    Raises:
        InvalidInput: with `details.field`; unknown names are refused with the one that may be meant.
    """
    kinds = _kinds(shape)
    for name in arguments:
        if name not in kinds:
            raise _unknown(name, kinds)
    given = {name: _filled_in(_decoded(each, kinds[name], name)) for name, each in _filled_in(arguments).items()}
    _refuse_half_characters(given)
    try:
        request = adapter(shape).validate_python(given)
    except ValidationError as error:
        raise _wrong(shape, error) from None
    for name, is_fit in _id_checks(shape):
        # `.` and `..` fit the pattern, and its letters are not the same to every program.
        if (given_id := getattr(request, name)) is not None and not is_fit(given_id):
            raise InvalidInput(f"{name}: is no id that a file could have", hint=_hint(shape, name), field=name)
    return request


def _wrong(shape: type[Any], error: ValidationError) -> InvalidInput:
    """Return the first thing that is wrong; a misspelt field before the one that is missing because of it."""
    details = error.errors(include_url=False, include_input=False)
    unknown = [each for each in details if each["type"] == "unexpected_keyword_argument"]
    where, rule = problem((unknown or details)[0])
    hint = _field_hint(shape, where) if unknown else _hint(shape, where)
    return InvalidInput(f"{where}: {rule}", hint=hint, field=where)


def _field_hint(shape: type[Any], where: str) -> str:
    outer, inner = where.partition("/")[0], where.rpartition("/")[2]
    part = input_schema(shape)["properties"][outer]
    known = list(part.get("items", part)["properties"])
    return f"{_meant(inner, known)}Known: {', '.join(known)}."


def _filled_in(given: Any) -> Any:  # noqa: ANN401 - any JSON value may stand in an argument
    """Leave out what an object says nothing of; other values are what they are."""
    if not isinstance(given, Mapping):
        return given
    return {name: each for name, each in given.items() if each not in (None, "")}


_KINDS: Final[dict[type[Any], Mapping[str, str]]] = {}
_ID_RULES: Final = {ID_PATTERN: is_id, ANY_ID_PATTERN: is_any_id}
_ID_CHECKS: Final[dict[type[Any], Sequence[tuple[str, Callable[[str], bool]]]]] = {}


def _kinds(shape: type[Any]) -> Mapping[str, str]:
    if shape not in _KINDS:
        _KINDS[shape] = {name: str(each["type"]) for name, each in input_schema(shape)["properties"].items()}
    return _KINDS[shape]


def _id_checks(shape: type[Any]) -> Sequence[tuple[str, Callable[[str], bool]]]:
    if shape not in _ID_CHECKS:
        patterns = {name: str(each.get("pattern")) for name, each in _metadata(shape).items()}
        _ID_CHECKS[shape] = [(name, _ID_RULES[each]) for name, each in patterns.items() if each in _ID_RULES]
    return _ID_CHECKS[shape]


def _refuse_half_characters(given: Json) -> None:
    """Refuse half of a surrogate pair here, since no answer and no file could hold it."""
    try:
        compact(given)
    except ValueError:
        raise InvalidInput("a text holds half of a character (a lone surrogate)") from None


def _unknown(name: str, kinds: Mapping[str, str]) -> InvalidInput:
    known = ", ".join(sorted(kinds))
    quoted = name if name.isidentifier() and len(name) <= _LONGEST_NAME else "(not a name)"
    return InvalidInput(f"unknown argument {quoted}", hint=f"{_meant(name, kinds)}Known: {known}.", field=quoted)


def _meant(name: str, known: Iterable[str]) -> str:
    return "".join(f"Did you mean {each}? " for each in close_words(name, known))


_NAMES: Final = '["one", "two"]'
_EXAMPLES: Final = {
    "nodes": '[{"title": "Build it"}, {"title": "Test it", "depends_on": ["build-it"]}]',
    "events": '[{"eventId": "event:1", "groupId": "group:auth", "sequence": 1, "kind": "work.started", ...}]',
    "result": '{"summary": "Built it", "artifacts": ["dist/it.whl"]}',
    "checkpoint": '{"note": "Parsed; next: types"}',
    "usage": '{"tokens": 1200}',
    "rate_limited": '{"resource": "api", "until": "2026-12-01T12:00:00Z"}',
}


def _decoded(each: object, kind: str, name: str) -> object:
    if isinstance(each, str) and kind in {"array", "object"}:
        try:
            return parse_json(each.encode("utf-8", "surrogatepass"))
        except ValueError as error:
            hint = f"For example: {_EXAMPLES.get(name, _NAMES)}"
            raise InvalidInput(f"{name}: must be a JSON {kind}: {error}", hint=hint, field=name) from None
    if isinstance(each, bool) and kind in {"integer", "number"}:
        raise InvalidInput(f"{name}: must be {'an integer' if kind == 'integer' else 'a number'}", field=name)
    return each


def _hint(shape: type[Any], where: str) -> str:
    name = where.partition("/")[0]
    described = _metadata(shape)[name].get("description", "")
    return f"{name}: {described}." if described else ""


def _metadata(shape: type[Any]) -> Mapping[str, Mapping[Any, Any]]:
    return {each.name: each.metadata for each in fields(shape)}
