"""Reads a JSON text of others alike in each Python: how deep it may be, and what is said of a fault. Knows no file.

Python's own limits of depth are no rule: they are others in each version, others for reading than for writing, and in
some they depend on who asks.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

# Half of the least that Python 3.11 to 3.13 read and write: the other half is for whoever calls.
DEEPEST: Final = 500
# What Python says before 3.13 where an object or an array ends behind a comma: at which mark, and of what.
_AFTER_COMMA: Final = {
    "Expecting property name enclosed in double quotes": ("}", "object"),
    "Expecting value": ("]", "array"),
}


class TooDeep(ValueError):
    """Lists and objects are nested deeper than that."""

    def __init__(self) -> None:
        super().__init__("nested too deeply")


def loaded(text: str, **hooks: Callable[[str], Any]) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON value in a text, read as `json.loads` does with these hooks.

    Raises:
        TooDeep: lists and objects are nested more than `DEEPEST` levels deep.
        ValueError: it is no JSON.
    """
    try:
        found = json.loads(text, **hooks)  # type: ignore[arg-type]  # each hook takes a text
    except json.JSONDecodeError as error:
        raise _worded(error) from None
    except RecursionError:
        raise TooDeep from None
    # In a list, so that what is outermost is looked at like all others.
    level: list[Any] = [[found]]
    for _ in range(DEEPEST + 1):
        level = [each for outer in level for each in _inside(outer) if type(each) is dict or type(each) is list]
        if not level:
            return found
    raise TooDeep


def _inside(outer: Any) -> Iterable[Any]:  # noqa: ANN401 - a list or an object
    return outer.values() if type(outer) is dict else outer


def _worded(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """Return what Python 3.13 says: it calls a comma before the end by its name, and points to it."""
    mark, what = _AFTER_COMMA.get(error.msg, ("", ""))
    before = error.doc[: error.pos].rstrip(" \t\n\r")
    if mark and error.doc.startswith(mark, error.pos) and before.endswith(","):
        return json.JSONDecodeError(f"Illegal trailing comma before end of {what}", error.doc, len(before) - 1)
    return error
