"""Gives the one text that a content of JSON has, whatever the order of its keys, white space and escapes.

Knows no field of an Event but what it is refused by. The plain texts, that is most, take a short way; all others are
read and written with the care that they need. Both ways give the same, which a property test shows.
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Final, NoReturn

from pydantic_core import from_json

from metagit_mcp.wire.codec import Json
from metagit_mcp.wire.group_fields import MOST, refuse_field

LONGEST_EVENT: Final = 64 * 1024
# How deep the values in an object may be for the short way. Those of real Events are five deep; to make a decoder takes
# twice as long with each level.
_DEEPEST: Final = 8


def canonical(given: bytes | str | Json) -> tuple[Json, bytes]:
    """Return the object in a text of JSON, or that was given, and the one text (UTF-8) that its content has.

    A whole number is the same however it is written, up to 2**53.

    Raises:
        SchemaMismatch: it is no JSON object, is too long, or has a key twice.
    """
    try:
        if isinstance(given, dict):
            raw = _bounded(_written(given).encode())
            return _plain(raw) or _with_plain_numbers(from_json(raw))
        raw = _bounded(given.encode() if isinstance(given, str) else given)
        return _plain(raw) or _with_all_its_keys(raw)
    except (TypeError, ValueError, RecursionError) as error:
        _refuse_text(error)


# --- the short way ---------------------------------------------------------------------------------------------------

_Codec = tuple[Callable[[bytes], Json], Callable[[Json], bytes], type[Exception]]


@cache
def _codec() -> _Codec:
    """Return what reads an object without floats that is not deep, what writes it in order, and what a refusal is.

    Made when the first text comes: it takes a process 16 ms.
    """
    import msgspec  # noqa: PLC0415 - as above

    no_float: Any = Annotated[float, msgspec.Meta(gt=0, lt=0)]
    leaf: Any = bool | int | str | None | no_float
    item = leaf
    for _ in range(_DEEPEST):
        item = leaf | list[item] | dict[str, item]  # type: ignore[valid-type]  # a type that is made
    decode = msgspec.json.Decoder(dict[str, item]).decode  # type: ignore[valid-type]  # as above
    return decode, msgspec.json.Encoder(order="sorted").encode, msgspec.DecodeError


def _plain(raw: bytes) -> tuple[Json, bytes] | None:
    """Return the object and its text, or None where anything about it is in doubt."""
    decode, encode, refusal = _codec()
    try:
        record = decode(raw)
    except (refusal, RecursionError):
        return None
    body = encode(record)
    return None if _may_lack_keys(raw, body) else (record, body)


def _may_lack_keys(raw: bytes, body: bytes) -> bool:
    """Say whether a key may stand twice in an object: the readers keep the last one silently.

    A colon is missing then, and only one that was written as an escape could make up for it.
    """
    return raw.count(b":") != body.count(b":") or (b"\\" in raw and b"\\u003" in raw)


# --- the long way ----------------------------------------------------------------------------------------------------

_written: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
).encode


def _with_all_its_keys(raw: bytes) -> tuple[Json, bytes]:
    record, body = _with_plain_numbers(from_json(raw, allow_inf_nan=False))
    if raw != body and _may_lack_keys(raw, body):
        json.loads(raw, object_pairs_hook=_without_twins)
    return record, body


def _with_plain_numbers(record: object) -> tuple[Json, bytes]:
    """Return the object with each whole number written as such, and its text."""
    if type(record) is not dict:
        refuse_field({}, "event", "must be a JSON object")
    text = _written(record)
    if ".0" in text and (".0," in text or ".0}" in text or ".0]" in text):
        record = {name: _plain_number(each) for name, each in record.items()}
        text = _written(record)
    return record, _bounded(text.encode())


def _plain_number(item: object) -> object:
    # Up to 2**53 each whole number is another one as a float, too.
    if type(item) is float:
        return int(item) if item.is_integer() and abs(item) <= MOST else item
    if type(item) is dict:
        return {name: _plain_number(each) for name, each in item.items()}
    return [_plain_number(each) for each in item] if type(item) is list else item


def _bounded(raw: bytes) -> bytes:
    if len(raw) > LONGEST_EVENT:
        refuse_field({}, "event", f"must be at most {LONGEST_EVENT} bytes of JSON")
    return raw


def _without_twins(pairs: list[tuple[str, object]]) -> Json:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("an object has the same key twice")
    return record


def _refuse_text(error: Exception) -> NoReturn:
    """Refuse what is no JSON to everybody; what the readers say of it holds none of the content."""
    if isinstance(error, UnicodeError):
        refuse_field({}, "event", "must not hold half of a character (a lone surrogate)")
    # From Python 3.13 on the number behind a colon is said that no JSON can hold.
    said = str(error).partition(";")[0].partition(": ")[0]
    known = said if type(error) is ValueError else "nested too deeply, or of other values"
    refuse_field({}, "event", f"must be JSON: {known}")
