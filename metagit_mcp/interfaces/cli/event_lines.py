"""Gives the lines of an Event log as they come, whole ones only: from a file, a pipe or standard input.

It must not know what a line says. A file may grow meanwhile; one that was cut short or replaced is not read on.
"""

import os
import select
import stat
import sys
from collections import deque
from typing import IO, Final, NoReturn

from metagit_mcp.domain.text import shown
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput

STANDARD_INPUT: Final = "-"
_AT_ONCE: Final = 1 << 20


@value
class EventLine:
    """A line without its end, and which of the log it is; the first is 1. `ends_at` is the byte after it.

    `is_whole` is False for what stands behind the last line end.
    """

    number: int
    raw: bytes
    ends_at: int
    is_whole: bool = True


class EventLines:
    """The lines of one log. `follows`: what stands behind the last line end is waited for."""

    def __init__(self, path: str, longest: int, *, follows: bool) -> None:
        """Open the log.

        Raises:
            InvalidInput: it cannot be read, or not followed.
        """
        self._path = path
        self._longest = longest
        self._follows = follows
        self._stream = _opened(path)
        self._fd = self._stream.fileno()
        found = os.fstat(self._fd)
        self._identity = (found.st_dev, found.st_ino)
        # Standard input has no name to look at again, also where it is a file.
        self._is_file = stat.S_ISREG(found.st_mode) and path != STANDARD_INPUT
        self._lines: deque[EventLine] = deque()
        self._rest = b""
        self._number = self._read = 0
        if follows and not self._is_file:
            self.close()
            self.refuse("only a file can be followed", "Leave --follow out: a pipe is read until it ends.")

    @property
    def name(self) -> str:
        """What people know the log as."""
        return "standard input" if self._path == STANDARD_INPUT else shown(self._path)

    @property
    def size(self) -> int | None:
        """How many bytes it has, or None: nobody can know."""
        return os.fstat(self._fd).st_size if self._is_file and not self._follows else None

    def next(self, *, wait: bool) -> EventLine | None:
        """Return the next line that is not empty; None where there is none for now.

        `wait`: a pipe that has nothing for now is waited for.

        Raises:
            InvalidInput: a line is too long, or the file that is followed is another one now.
        """
        while True:
            while self._lines:
                line = self._lines.popleft()
                if line.raw.strip():
                    return line
            if not (wait or self._is_ready()) or not self._fill():
                return None

    def _is_ready(self) -> bool:
        return self._is_file or bool(select.select([self._fd], [], [], 0)[0])

    def _fill(self) -> bool:
        """Read on; say whether there was anything."""
        chunk = self._chunk() or self._last_chunk()
        *whole, rest = (self._rest + chunk).split(b"\n")
        at = self._read - len(self._rest)
        for raw in whole:
            at += len(raw) + 1
            self._add(raw, at)
        self._rest, self._read = rest, self._read + len(chunk)
        self._refuse_too_long(rest)
        if not chunk and not self._follows and rest:
            self._add(rest, self._read, is_whole=False)
            self._rest = b""
            return True
        return bool(chunk)

    def _add(self, raw: bytes, ends_at: int, *, is_whole: bool = True) -> None:
        self._number += 1
        self._lines.append(EventLine(number=self._number, raw=raw, ends_at=ends_at, is_whole=is_whole))

    def _chunk(self) -> bytes:
        try:
            return os.read(self._fd, _AT_ONCE)
        except OSError as cause:
            self.refuse(f"cannot be read: {cause.strerror}")

    def _refuse_too_long(self, rest: bytes) -> None:
        if len(rest) > self._longest:
            self.refuse(f"line {self._number + 1} has no end within {self._longest} bytes", "Each line is one Event.")

    def _last_chunk(self) -> bytes:
        """Return what was written before the file that is followed became another one, if it did."""
        change = self._change() if self._follows else None
        if change is None:
            return b""
        return self._chunk() or self.refuse(f"{change} while it was followed")

    def _change(self) -> str | None:
        try:
            found = os.stat(self._path)  # noqa: PTH116 - pathlib would be loaded at every start
        except OSError:
            return "was taken away"
        if (found.st_dev, found.st_ino) != self._identity:
            return "was replaced"
        return "was cut short" if found.st_size < self._read else None

    def refuse(self, what: str, hint: str = "") -> NoReturn:
        """Raise what is the matter with the log.

        Raises:
            InvalidInput: with what was said.
        """
        raise InvalidInput(f"{self.name}: {what}", hint=hint, field="file")

    def close(self) -> None:
        """Let go of the file."""
        self._stream.close()


def _opened(path: str) -> IO[bytes]:
    name = shown(path)
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise InvalidInput("standard input is closed", field="file")
        return os.fdopen(os.dup(sys.stdin.buffer.fileno()), "rb", buffering=0)
    try:
        return open(path, "rb", buffering=0)  # noqa: PTH123 - pathlib would be loaded at every start
    except FileNotFoundError:
        raise InvalidInput(f"there is no file '{name}'", field="file") from None
    except (OSError, ValueError) as cause:
        why = getattr(cause, "strerror", None) or "it is no file name"
        raise InvalidInput(f"'{name}' cannot be read: {why}", field="file") from None
