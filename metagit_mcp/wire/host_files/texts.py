"""What documents of other programs have in common: bytes and text, positions, blocks at the end. Knows no format."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

_BOM: Final = "\ufeff"


class Misfit(ValueError):
    """A document is not what it must be; `line` and `column` count from 1 and say where, 0 says nowhere."""

    def __init__(self, what: str, line: int = 0, column: int = 0) -> None:
        """Keep what is wrong, a part of a sentence that holds nothing of the document."""
        super().__init__(what)
        self.what, self.line, self.column = what, line, column


def misfit(text: str, at: int, what: str) -> Misfit:
    """Return the error of a place in a text."""
    line = text.count("\n", 0, at) + 1
    return Misfit(what, line, at - text.rfind("\n", 0, at))


@dataclass(frozen=True, slots=True)
class EntryReading:
    """What stands in a document as our entry: None for nothing. `touched` says that a person has been at it.

    That is seen where the entry has comments in it, stands twice, or does not fit its own digest.
    """

    entry: Any
    touched: bool = False


def decoded(raw: bytes) -> tuple[str, str]:
    """Return the byte order mark of a document, or nothing, and the text after it.

    Raises:
        Misfit: it is not UTF-8.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        raise misfit(before, len(before), "is not UTF-8") from None
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def newline_of(text: str) -> str:
    """Return how the last line of a text ends that ends, or how lines usually do."""
    at = text.rfind("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


# --- a block of whole lines ----------------------------------------------------------------------------------------


def appended(text: str, lines: Sequence[str]) -> str:
    """Return the text with a blank line and these lines at its end, which has a newline if there was one.

    What `without_block` returns is then just what was there before.
    """
    newline = "\r\n" if text.endswith("\r") else newline_of(text)
    block = newline.join(lines)
    if text and not text.endswith("\n"):
        return f"{text}{newline}{newline}{block}"
    return f"{text}{newline}{block}{newline}"


def without_block(text: str, start: int, end: int) -> str:
    """Return the text without the lines from `start` to `end`, and without the blank line that stood before them."""
    before, after = text[:start], text[end:]
    last = _ending(before)
    shorter = before[: len(before) - last]
    if last and (not shorter or shorter.endswith("\n")):
        before = shorter
        if not after and not text.endswith("\n"):
            before = before[: len(before) - _ending(before)]
    return before + after


def _ending(text: str) -> int:
    """Return how long the newline at the end of a text is."""
    return 2 if text.endswith("\r\n") else int(text.endswith("\n"))
