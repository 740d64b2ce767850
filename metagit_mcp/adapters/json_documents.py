"""Between the bytes of a JSON document and the object in it, nothing lost, in metagit's form. Knows no document.

Unlike the reading codec it keeps every number as it is written, since the whole document is written back.
"""

import json
import re
from math import isinf
from typing import Any, Final

from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.codec import Json, indented
from metagit_mcp.wire.json_alike import TooDeep, loaded

_BOM = "\ufeff"


def parse_document(raw: bytes) -> Json:
    """Return the JSON object in `raw`.

    Raises:
        ValueError: with the position, never with the content.
    """
    try:
        document = loaded(raw.decode().removeprefix(_BOM), parse_constant=_refuse, parse_float=_fraction)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except (_NoNumber, TooDeep):
        raise
    except ValueError:
        # Python reads no whole number of more digits than it would write.
        raise ValueError("a number has too many digits") from None
    if not isinstance(document, dict):
        raise ValueError("it must hold one JSON object")  # noqa: TRY004 - as any other content that is wrong
    return document


class _NoNumber(ValueError):
    """Something that stands for a number could not be written back."""


def _refuse(word: str) -> Any:  # noqa: ANN401 - it never returns
    raise _NoNumber(f"{word} is no JSON number")


def _fraction(digits: str) -> float:
    number = float(digits)
    if isinf(number):
        raise _NoNumber("a number is out of range")
    return number


def render_document(document: Json) -> bytes:
    """Return the document as metagit writes it: indented by two, ASCII, with a final newline.

    It was read by `parse_document`, and what a use case put into it is text, whole numbers, and lists of text: no name
    and no value is one that only Python knows. Python's own writer, which takes ten times as long to indent, is asked
    only where the two may differ.

    Raises:
        InvalidInput: it holds a number that JSON has no word for.
    """
    try:
        raw = indented(document)
    except ValueError:
        # Half of a surrogate pair, or lists within lists beyond measure.
        raw = b""
    if not raw or _FRACTION.search(raw):
        return _by_python(document)
    return raw.replace(b"\x7f", b"\\u007f") + b"\n"


# A number at the end of a line, and so in no string, that pydantic and Python may spell in two ways, or that is none.
_FRACTION: Final = re.compile(rb" -?(?:\d+[.e][-+.e\d]*|NaN|Infinity),?$", re.MULTILINE)


def _by_python(document: Json) -> bytes:
    try:
        return f"{json.dumps(document, indent=2, allow_nan=False)}\n".encode()
    except ValueError:
        raise InvalidInput("A number is out of range: JSON has no word for it.") from None
