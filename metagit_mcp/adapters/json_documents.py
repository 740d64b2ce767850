"""Between the bytes of a JSON document and the object in it, nothing lost, in metagit's form. Knows no document.

Unlike the reading codec it keeps every number as it is written, since the whole document is written back.
"""

import json
import re
from typing import Any, Final

from metagit_mcp.wire.codec import Json, indented

_BOM = "\ufeff"


def parse_document(raw: bytes) -> Json:
    """Return the JSON object in `raw`.

    Raises:
        ValueError: with the position, never with the content.
    """
    try:
        document = json.loads(raw.decode().removeprefix(_BOM), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError("it must hold one JSON object")  # noqa: TRY004 - as any other content that is wrong
    return document


def _refuse(word: str) -> Any:  # noqa: ANN401 - it never returns
    raise ValueError(f"{word} is no JSON number")


def render_document(document: Json) -> bytes:
    """Return the document as metagit writes it: indented by two, ASCII, with a final newline.

    It holds what JSON can: names are text, and values are none that only Python knows. Python's own writer, which takes
    ten times as long to indent, is asked only where the two may differ.

    Raises:
        ValueError: it holds a number that JSON has no word for.
    """
    try:
        raw = indented(document)
    except ValueError:
        # Half of a surrogate pair, or lists within lists beyond measure.
        raw = b""
    if not raw or _FRACTION.search(raw):
        return f"{json.dumps(document, indent=2, allow_nan=False)}\n".encode()
    return raw.replace(b"\x7f", b"\\u007f") + b"\n"


# A number at the end of a line, and so in no string, that pydantic and Python may spell in two ways, or that is none.
_FRACTION: Final = re.compile(rb" -?(?:\d+[.e][-+.e\d]*|NaN|Infinity),?$", re.MULTILINE)
