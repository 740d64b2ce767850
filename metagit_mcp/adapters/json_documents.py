"""Between the bytes of a JSON document and the object in it, nothing lost, in metagit's form. Knows no document.

Unlike the reading codec it keeps every number as it is written, since the whole document is written back.
"""

import json
from typing import Any

from metagit_mcp.wire.codec import Json

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

    Raises:
        ValueError: it holds a number that JSON has no word for.
    """
    return f"{json.dumps(document, indent=2, allow_nan=False)}\n".encode()
