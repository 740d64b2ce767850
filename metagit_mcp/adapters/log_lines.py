"""Finds the lines of a log that are no JSON, and takes them out of it; it knows nothing of what a record says.

One such line ends the reading of the whole log in some programs. It is overwritten with blanks where it stands, which
every reader passes over: no byte after it moves, nobody who appends is disturbed, and a mend that is cut short goes on.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass

from metagit_mcp.adapters.files import open_regular
from metagit_mcp.adapters.json_lines import LINE_LIMIT, append_lines
from metagit_mcp.adapters.locks import locked_in_place
from metagit_mcp.adapters.refusals import StrPath, read_error, shown_name, storage_error

_CHUNK = 1024 * 1024
_BAD_ENDING = ".bad"


@dataclass(frozen=True, slots=True)
class _Line:
    """One line without its newline: where it stands, and its bytes unless they are over `LINE_LIMIT`."""

    number: int
    offset: int
    raw: bytes
    size: int
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class LogFaults:
    """What is wrong with a log.

    Attributes:
        bad: the numbers of the lines that are no JSON, from 1.
        too_long: the numbers of the lines over `LINE_LIMIT`, which are neither read nor mended.
        is_torn: the last line was cut short: it is no JSON and has no newline.
        is_open: the last line is whole but for its newline, without which it does not count.
    """

    bad: tuple[int, ...] = ()
    too_long: tuple[int, ...] = ()
    is_torn: bool = False
    is_open: bool = False


def log_faults(path: StrPath, *, root: StrPath) -> LogFaults:
    """Look at every line of a log; a missing one is in order.

    Raises:
        FileRefused, StoreUnavailable: it cannot be read.
    """
    fd = open_regular(path, root=root)
    if fd is None:
        return LogFaults()
    try:
        odd = list(_odd(fd))
    except OSError as cause:
        raise read_error(cause, shown_name(path, root)) from cause
    finally:
        os.close(fd)
    short = [line for line in odd if line.size <= LINE_LIMIT]
    last = next((line for line in short if not line.is_complete), None)
    is_torn = last is not None and not _is_json(last.raw)
    return LogFaults(
        bad=tuple(line.number for line in short if line.is_complete),
        too_long=tuple(line.number for line in odd if line.size > LINE_LIMIT),
        is_torn=is_torn,
        is_open=last is not None and not is_torn,
    )


def mend_log(path: StrPath, *, root: StrPath, kind: str, mode: int) -> None:
    """Blank the lines that are no JSON, under the lock on the log; each is kept beside it, in `<log>.bad`, first.

    Args:
        kind: first part of the fault points that are passed.
        mode: permissions of the file that keeps them.

    Raises:
        StoreUnavailable, ReadOnlyWorkspace, FileRefused: it cannot be written.
    """
    if log_faults(path, root=root) == LogFaults():
        return
    with locked_in_place(path, root=root, kind=kind, mode=mode) as fd:
        try:
            lines = [line for line in _odd(fd) if line.size <= LINE_LIMIT]
            bad = [line for line in lines if not _is_json(line.raw)]
            if bad:
                aside = f"{os.fspath(path)}{_BAD_ENDING}"
                append_lines(aside, [line.raw for line in bad], root=root, kind=kind, mode=mode)
            _overwrite(fd, bad, is_open=any(not line.is_complete for line in lines))
        except OSError as cause:
            raise storage_error(cause, shown_name(path, root)) from cause


def _overwrite(fd: int, bad: list[_Line], *, is_open: bool) -> None:
    # What is open for appending is written at its end, wherever one points to.
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_APPEND)
    end = os.fstat(fd).st_size
    for line in bad:
        os.pwrite(fd, b" " * line.size, line.offset)
    if is_open:
        os.pwrite(fd, b"\n", end)


def _odd(fd: int) -> Iterator[_Line]:
    """Yield the lines that are no JSON, too long or without a newline."""
    for line in _lines(fd):
        if line.size > LINE_LIMIT or (line.raw.strip() and not (line.is_complete and _is_json(line.raw))):
            yield line


def _lines(fd: int) -> Iterator[_Line]:
    number, offset, size = 1, 0, 0
    start = b""
    at = 0
    while piece := os.pread(fd, _CHUNK, at):
        at += len(piece)
        *ended, rest = piece.split(b"\n")
        for part in ended:
            size += len(part)
            yield _Line(number, offset, start + part if size <= LINE_LIMIT else b"", size)
            number, offset, size, start = number + 1, offset + size + 1, 0, b""
        size += len(rest)
        start = start + rest if size <= LINE_LIMIT else b""
    if size:
        yield _Line(number, offset, start, size, is_complete=False)


def _is_json(raw: bytes) -> bool:
    """Say whether a line is JSON in the widest sense: what any reader understands stays."""
    try:
        json.loads(raw.decode().removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True
