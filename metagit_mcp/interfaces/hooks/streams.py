"""Standard input, output and error of a hook: bounded in size and time, and never in anybody's way. Knows no event."""

import json
import os
import select
import time
from _thread import start_new_thread
from contextlib import suppress

_MOST_BYTES = 10 * 1024 * 1024
_CHUNK = 64 * 1024
# A host writes its JSON at once, then closes the pipe; one that leaves it open is not waited for.
_WHOLE_SECONDS = 2.0
_AFTER_LAST_BRACE = 0.1
_LONGEST_LINE = 1_000
_UNREAD = frozenset({"session-end"})


def hold_open() -> None:
    """Put nothing in the place of a stream that is closed, or the next file to be opened would become it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def is_terminal() -> bool:
    """Say whether a person would have to type what is read."""
    return os.isatty(0)


def end_after(seconds: float) -> None:
    """End the process without an answer if it still runs then: a host waits, and so does whoever sits before it."""
    start_new_thread(_end, (seconds,))


def _end(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(0)


def object_from(event: str) -> dict[str, object]:
    """Return the JSON object on standard input; an empty one for anything else, and for an event that needs none."""
    if event in _UNREAD or is_terminal():
        return {}
    try:
        found = json.loads(_bytes(), parse_constant=_refused)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _refused(name: str) -> object:
    """Refuse NaN and Infinity, which are no JSON and could not be handed back."""
    raise ValueError(name)


def _bytes() -> bytes:
    """Return what is there, or nothing where it is too much; that is read all the same, so that no pipe breaks."""
    chunks, size = list[bytes](), 0
    until = time.monotonic() + _WHOLE_SECONDS
    while (left := until - time.monotonic()) > 0:
        is_whole = bool(chunks) and chunks[-1].rstrip().endswith(b"}")
        try:
            if not select.select((0,), (), (), min(left, _AFTER_LAST_BRACE) if is_whole else left)[0]:
                break
            chunk = os.read(0, _CHUNK)
        except OSError:
            break
        if not chunk:
            break
        size += len(chunk)
        if size <= _MOST_BYTES:
            chunks.append(chunk)
        else:
            chunks = [b""]
    return b"".join(chunks)


def write(record: dict[str, object]) -> None:
    """Write one line of JSON on standard output; nothing where it cannot be written, or where it would be no JSON."""
    with suppress(OSError, ValueError, RecursionError):
        left = memoryview(f"{json.dumps(record, allow_nan=False)}\n".encode())
        while left:
            left = left[os.write(1, left) :]


def say(what: str) -> None:
    """Say on standard error, in one line, why there is no answer."""
    tell(f"metagit-mcp hook: {what}")


def tell(line: str) -> None:
    """Write one line on standard error, where that can be written."""
    with suppress(OSError):
        os.write(2, f"{' '.join(line.split())[:_LONGEST_LINE]}\n".encode("utf-8", "replace"))
