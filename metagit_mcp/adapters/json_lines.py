"""Appends to and reads from logs of one record a line; it knows nothing of what a record says.

Other tools append to the same logs and may die in the middle of a line. A line therefore counts once its
newline is there, and a torn one is closed and never appended onto. Only the byte 10 ends a line: a raw U+2028
belongs to its record.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from metagit_mcp.adapters.fault_points import fault, is_armed
from metagit_mcp.adapters.files import open_regular, write_all
from metagit_mcp.adapters.locks import LOCK_SECONDS, acquired
from metagit_mcp.adapters.refusals import StrPath, read_error, shown_name, storage_error

LINE_LIMIT = 1024 * 1024
# However broken a log is, one call reads no more of it than this.
SCAN_LIMIT = 64 * 1024 * 1024
CHUNK = 64 * 1024
_MARK = 64


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a log after a complete line: which file, how far into it and the last bytes before it.

    The bytes tell a file that only grew from one that was truncated and written anew in place.
    """

    inode: int = 0
    offset: int = 0
    mark: bytes = b""


START = Position()


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a log.

    Attributes:
        rows: complete lines without their newline, the newest first; blank lines are left out.
        torn: what stands after the last newline: a record being written, cut short, or without its newline.
        dropped: lines over `LINE_LIMIT` that were passed over.
        complete: whether the start of the log was reached.
        end: where `TailFollower` goes on; `torn` is not yet behind it.
    """

    rows: tuple[bytes, ...] = ()
    torn: bytes = b""
    dropped: int = 0
    complete: bool = True
    end: Position = START


@dataclass(frozen=True, slots=True)
class Growth:
    """What came to a log since the last look.

    Attributes:
        rows: complete new lines without their newline, the oldest first; blank lines are left out.
        dropped: new lines over `LINE_LIMIT` that were passed over.
        restarted: the log was truncated or replaced; `rows` start again at its first line.
        more: the growth was over `SCAN_LIMIT`; the next look goes on with it.
    """

    rows: tuple[bytes, ...] = ()
    dropped: int = 0
    restarted: bool = False
    more: bool = False


def append_lines(
    path: StrPath,
    rows: Sequence[bytes],
    *,
    root: StrPath,
    kind: str,
    mode: int,
    timeout: float = LOCK_SECONDS,
) -> None:
    """Append records, all or none, under the lock on the log itself; it is created when it is missing.

    Nothing is synced to the disk: a power cut may take or tear the last records, which readers bear.

    Args:
        rows: records without a newline in them.
        kind: first part of the fault points that are passed, such as `events`.
        mode: permissions of a log that is created.

    Raises:
        StoreUnavailable, ReadOnlyWorkspace, FileRefused: nothing was appended.
    """
    if any(b"\n" in row for row in rows):
        raise ValueError("a record of a log is one line")
    raw = b"".join(row + b"\n" for row in rows)
    fd = acquired(os.fspath(path), root=root, mode=mode, timeout=timeout)
    try:
        fault(f"{kind}.locked")
        _append(fd, raw, kind)
    except OSError as cause:
        raise storage_error(cause, shown_name(path, root)) from cause
    finally:
        os.close(fd)


def _append(fd: int, raw: bytes, kind: str) -> None:
    end = os.fstat(fd).st_size
    if end and os.pread(fd, 1, end - 1) != b"\n":
        raw = b"\n" + raw
    try:
        if is_armed(f"{kind}.appended_half"):
            half = len(raw) // 2
            write_all(fd, raw[:half])
            fault(f"{kind}.appended_half")
            raw = raw[half:]
        write_all(fd, raw)
    except OSError:
        os.ftruncate(fd, end)
        raise
    fault(f"{kind}.appended")


def tail_lines(path: StrPath, *, root: StrPath, limit_rows: int, chunk: int = CHUNK) -> Tail:
    """Return the last `limit_rows` complete lines of a log, read backwards in pieces of `chunk` bytes.

    A missing log is an empty one. No lock is taken: a record that is being appended shows up as `torn`.

    Raises:
        FileRefused, StoreUnavailable: as `read_regular`; a log has no size limit.
    """
    fd = open_regular(path, root=root)
    if fd is None:
        return Tail()
    try:
        return _read_backwards(fd, limit_rows, chunk)
    except OSError as cause:
        raise read_error(cause, shown_name(path, root)) from cause
    finally:
        os.close(fd)


def _read_backwards(fd: int, limit_rows: int, chunk: int) -> Tail:
    found = os.fstat(fd)
    at, lowest = found.st_size, max(0, found.st_size - SCAN_LIMIT)
    end = lowest
    lines = _Backwards(limit_rows)
    while at > lowest and not lines.is_full():
        start = max(lowest, at - chunk)
        piece = os.pread(fd, at - start, start)
        if lines.torn is None and b"\n" in piece:
            end = start + piece.rindex(b"\n") + 1
        lines.take(piece)
        at = start
    complete = at == 0 and lines.take_start()
    position = Position(found.st_ino, end, _mark_before(fd, end))
    return Tail(tuple(lines.rows), lines.torn or b"", lines.dropped, complete, position)


def _mark_before(fd: int, offset: int) -> bytes:
    length = min(_MARK, offset)
    return os.pread(fd, length, offset - length)


class _Backwards:
    """Collects lines from pieces of a log that come in last piece first."""

    def __init__(self, limit_rows: int) -> None:
        self.rows: list[bytes] = []
        self.torn: bytes | None = None
        self.dropped = 0
        self._limit = limit_rows
        self._fragment = b""
        self._is_over = False

    def is_full(self) -> bool:
        return self.torn is not None and len(self.rows) >= self._limit

    def take(self, piece: bytes) -> None:
        *before, last = piece.split(b"\n")
        self._extend(last)
        while before:
            self._end_line()
            self._extend(before.pop())

    def take_start(self) -> bool:
        """End the first line of the log; return whether there was room for it."""
        if self.is_full():
            return not self._fragment
        self._end_line()
        return True

    def _extend(self, start: bytes) -> None:
        if not self._is_over:
            self._fragment = start + self._fragment
            self._is_over = len(self._fragment) > LINE_LIMIT

    def _end_line(self) -> None:
        line, is_over = self._fragment, self._is_over
        self._fragment, self._is_over = b"", False
        if is_over:
            self.dropped += not self.is_full()
            line = b""
        if self.torn is None:
            self.torn = line
        elif line.strip() and not self.is_full():
            self.rows.append(line)


class TailFollower:
    """Gives what came to a log since the last look, complete lines only; not to be shared between threads."""

    def __init__(self, path: StrPath, *, root: StrPath, after: Position = START) -> None:
        self._path = path
        self._root = root
        self._after = after
        self._seen: tuple[int, int, int] | None = None
        self._in_dropped_line = False

    def drain(self) -> Growth:
        """Return the growth since the last call, at most `SCAN_LIMIT` bytes of it; no growth costs one stat.

        Raises:
            FileRefused, StoreUnavailable: as `read_regular`; the place in the log is kept.
        """
        if self._is_unchanged():
            return Growth()
        fd = open_regular(self._path, root=self._root)
        if fd is None:
            return self._vanished()
        try:
            return self._grown(fd)
        except OSError as cause:
            raise read_error(cause, shown_name(self._path, self._root)) from cause
        finally:
            os.close(fd)

    def _is_unchanged(self) -> bool:
        try:
            return self._seen is not None and _signature(os.stat(self._path)) == self._seen
        except OSError:
            # What it means is found when the log is opened.
            return False

    def _vanished(self) -> Growth:
        had_rows = self._after.offset > 0
        self._restart()
        return Growth(restarted=had_rows)

    def _restart(self) -> None:
        self._after, self._seen, self._in_dropped_line = START, None, False

    def _grown(self, fd: int) -> Growth:
        found = os.fstat(fd)
        restarted = not self._is_same(fd, found)
        if restarted:
            self._restart()
        start = self._after.offset
        raw = os.pread(fd, min(found.st_size - start, SCAN_LIMIT), start)
        rows, dropped, used = self._lines(raw)
        self._after = Position(found.st_ino, start + used, _mark_before(fd, start + used))
        more = start + len(raw) < found.st_size
        self._seen = None if more else _signature(found)
        return Growth(tuple(rows), dropped, restarted, more)

    def _is_same(self, fd: int, found: os.stat_result) -> bool:
        after = self._after
        if after.offset == 0:
            return True
        is_same_file = found.st_ino == after.inode and found.st_size >= after.offset
        return is_same_file and _mark_before(fd, after.offset) == after.mark

    def _lines(self, raw: bytes) -> tuple[list[bytes], int, int]:
        """Return the rows of `raw`, the lines dropped from it and how many of its bytes are done with."""
        *lines, rest = raw.split(b"\n")
        if lines and self._in_dropped_line:
            lines[0] = b""
            self._in_dropped_line = False
        rows = [line for line in lines if line.strip() and len(line) <= LINE_LIMIT]
        dropped = sum(len(line) > LINE_LIMIT for line in lines)
        if len(rest) <= LINE_LIMIT and not self._in_dropped_line:
            return rows, dropped, len(raw) - len(rest)
        dropped += not self._in_dropped_line
        self._in_dropped_line = True
        return rows, dropped, len(raw)


def _signature(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_mtime_ns, found.st_size, found.st_ino
