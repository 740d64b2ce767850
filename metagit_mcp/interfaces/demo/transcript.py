"""Where the demo is printed: plain text of at most 100 columns, coloured only on a terminal. Knows no answer."""

import os
import textwrap
from collections.abc import Iterable
from typing import Final, TextIO

from metagit_mcp.errors import InternalError

WIDTH: Final = 100
_INDENT: Final = " " * 6
_BOLD, _DIM, _RED, _GREEN = 1, 2, 31, 32


class Transcript:
    """Prints line by line, so that each step stands there while the next one runs."""

    def __init__(self, out: TextIO, *, coloured: bool) -> None:
        """Print to `out`."""
        self._out = out
        self._coloured = coloured

    def heading(self, lines: Iterable[str]) -> None:
        """Print what the demo is about."""
        for line in lines:
            self._print(line, _BOLD, indent="")

    def step(self, number: int, title: str) -> None:
        """Print what is done now."""
        self._print(f"{number:2}. {title}", _BOLD, indent="    ")

    def seen(self, lines: Iterable[str]) -> None:
        """Print what is seen then."""
        for line in lines:
            self._print(_INDENT + line, None, indent=_INDENT + "   ")

    def failed(self, lines: Iterable[str]) -> None:
        """Print why the demo ends here."""
        for line in lines:
            self._print(line, _RED, indent="  ")

    def passed(self, line: str) -> None:
        """Print that all is well."""
        self._print(line, _GREEN, indent="")

    def _print(self, text: str, colour: int | None, *, indent: str) -> None:
        plain = text.encode("ascii", "backslashreplace").decode()
        for line in textwrap.wrap(plain, WIDTH, subsequent_indent=indent, break_on_hyphens=False):
            painted = self._coloured and colour is not None
            self._write(f"\x1b[{colour}m{line}\x1b[0m\n" if painted else f"{line}\n")

    def _write(self, line: str) -> None:
        try:
            self._out.write(line)
            self._out.flush()
        except BrokenPipeError:
            # The reader has seen what it wanted; the facts are checked to the end all the same.
            self._leave_unread()
        except OSError as cause:
            self._leave_unread()
            raise InternalError(f"Standard output cannot be written: {cause.strerror}.") from None

    def _leave_unread(self) -> None:
        """Let the buffered rest go nowhere: it would fail once more when the interpreter ends."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())
