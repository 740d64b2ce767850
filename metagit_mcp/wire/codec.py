"""Between bytes and core values: one cached pydantic adapter per type, errors in our own words. Knows no file.

pydantic is loaded by the first text that needs it: what is plain and short is read without it (`exact.py`).
"""

import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from metagit_mcp.domain.text import AGENT_PATTERN, ANY_ID_PATTERN, ID_PATTERN

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import ErrorDetails

T = TypeVar("T")
Json = dict[str, Any]
_BOM = b"\xef\xbb\xbf"
# Far above every bound of ours, and below the length at which Python refuses to read a number.
_LONGEST_INT = 1000


_ADAPTERS: Final[dict[type[Any], "TypeAdapter[Any]"]] = {}
# Beyond that pydantic has made up for the time that it takes to load.
_READ_EXACTLY: Final = 1024 * 1024
_left_to_read = [_READ_EXACTLY]


def adapter(shape: type[T]) -> "TypeAdapter[T]":
    """Return the adapter of a dataclass, built at first use (0.4 to 1.4 ms each)."""
    if shape not in _ADAPTERS:
        from pydantic import TypeAdapter  # noqa: PLC0415 - it takes longer to load than most of what a hook does

        _ADAPTERS[shape] = TypeAdapter(shape)
    return _ADAPTERS[shape]


def refusal() -> "type[ValidationError]":
    """Return the class of what an adapter raises: in an `except` it is asked for only when something was raised."""
    from pydantic_core import ValidationError  # noqa: PLC0415 - as above

    return ValidationError


def validated(shape: type[T], raw: bytes) -> T:
    """Return the value of `shape` in a JSON text, as its adapter reads it.

    Raises:
        ValidationError: it is none.
    """
    if _is_read_exactly(raw):
        from metagit_mcp.wire.exact import exact  # noqa: PLC0415 - as above

        found = exact(shape, raw)
        if found is not None:
            return found
    return adapter(shape).validate_json(raw)


def is_pydantic_loaded() -> bool:
    """Say whether it has been needed for something: then it costs no more to use it."""
    return "pydantic" in sys.modules


def _is_read_exactly(raw: bytes) -> bool:
    """Say whether a text is to be read without pydantic, if it can be; it counts as read then."""
    if is_pydantic_loaded() or len(raw) > _left_to_read[0]:
        return False
    _left_to_read[0] -= len(raw)
    return True


def plain(item: object) -> Json:
    """Return a dataclass as JSON-ready dictionaries, absent (None) fields left out."""
    dumped: Json = adapter(type(item)).dump_python(item, mode="json", exclude_none=True)
    return dumped


def line(item: object) -> bytes:
    """Return a dataclass as one line of JSON without the newline, absent fields left out."""
    return adapter(type(item)).dump_json(item, exclude_none=True)


@cache
def _writer() -> Callable[..., bytes]:
    """Return what writes JSON: to import it at each line takes as long as to write a short one."""
    from pydantic_core import to_json  # noqa: PLC0415 - as above

    return to_json


def compact(record: Mapping[str, Any]) -> bytes:
    """Return a JSON object as one compact line of UTF-8."""
    return _writer()(record)


def ascii_line(record: Mapping[str, Any]) -> bytes:
    """Return a JSON object as one compact line of ASCII."""
    return _writer()(record, ensure_ascii=True)


def indented(record: Mapping[str, Any]) -> bytes:
    """Return a JSON object in ASCII, indented by two.

    Raises:
        ValueError: it holds half of a surrogate pair, or is nested too deeply.
    """
    return _writer()(record, indent=2, ensure_ascii=True)


def parse_json(raw: bytes) -> object:
    """Return the JSON value in `raw` (a byte order mark is passed over).

    Raises:
        ValueError: with the position, never with the content.
    """
    from pydantic_core import from_json  # noqa: PLC0415 - as above

    return from_json(raw.removeprefix(_BOM), allow_inf_nan=False)


def parse_own_json(raw: bytes) -> object:
    """Return the JSON value in a text that a program of ours wrote, if it can be without loading pydantic.

    Raises:
        ValueError: it is none.
    """
    if _is_read_exactly(raw):
        from metagit_mcp.wire.exact import parsed  # noqa: PLC0415 - as above

        try:
            return parsed(raw)
        except (ValueError, RecursionError):
            return parse_json(raw)
    return parse_json(raw)


def parse_leniently(raw: bytes) -> object:
    """Return the JSON value in `raw`, accepting what only strings and numbers can be wrong with.

    Half of a surrogate pair in a string, NaN and numbers out of any range come through, so that the field they
    stand in can be named; `parse_json` refuses the whole text for them.

    Raises:
        ValueError: with the position, never with the content.
    """
    from metagit_mcp.wire.json_alike import loaded  # noqa: PLC0415 - only a text that pydantic refused needs it

    try:
        return loaded(raw.removeprefix(_BOM).decode(), parse_int=_whole)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from None


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float("inf")


def has_bom(raw: bytes) -> bool:
    """Say whether the text starts with a byte order mark."""
    return raw.startswith(_BOM)


def first_problem(error: "ValidationError") -> tuple[str, str]:
    """Return the field path and the rule of the first error, without the offending input."""
    return problem(error.errors(include_url=False, include_input=False)[0])


_UNNAMED: Final = "(not a name)"
_PLAIN_KEY: Final = re.compile(r"[\w.*$:@-]{1,255}\Z")
_PATTERNS: Final = {
    ID_PATTERN: "must be letters, digits and '_', '.', '-' only",
    ANY_ID_PATTERN: "must be letters, digits and '_', '.', '-', in ids from Events also ':', '/', '@'",
    AGENT_PATTERN: "must be letters, digits and '_', '.', ':', '/', '@', '-' only",
}
_RULES: Final = {
    "unexpected_keyword_argument": "unknown field",
    "extra_forbidden": "unknown field",
    "missing": "is required",
    "tuple_type": "should be a list",
    "dataclass_type": "should be an object",
}


def problem(detail: "ErrorDetails") -> tuple[str, str]:
    """Return one pydantic error as (field path, rule). The path uses slashes: `nodes/3/priority`."""
    # A bad key of a map is named by its map, its text and a mark.
    path = detail["loc"][:-1] if detail["loc"][1:] and detail["loc"][-1] == "[key]" else detail["loc"]
    where = "/".join(_shown_part(part) for part in path)
    if detail["type"] == "string_pattern_mismatch":
        return where, _PATTERNS[detail["ctx"]["pattern"]]
    return where, _RULES.get(
        detail["type"], detail["msg"].removeprefix("Input ").removeprefix("String ").removeprefix("Tuple ")
    )


def _shown_part(part: int | str) -> str:
    """Return a part of a path as text; a key that the writer chose is shown only if it is plain."""
    text = str(part)
    return text if is_plain_key(text) else _UNNAMED


def is_plain_key(text: str) -> bool:
    """Say whether a key that the writer of a document chose may be shown."""
    return _PLAIN_KEY.match(text) is not None
