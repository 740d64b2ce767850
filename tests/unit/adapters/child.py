"""A second process for the tests of the file adapters: `python -m tests.unit.adapters.child ACTION ROOT ARGUMENT…`.

It must not know what a test expects: it does one thing and prints what came of it.
"""

import fcntl
import os
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from metagit_mcp.adapters.fault_points import arm_fault, die_at
from metagit_mcp.adapters.files import atomic_write, read_regular
from metagit_mcp.adapters.json_lines import append_lines
from metagit_mcp.adapters.locks import locked, locked_in_place
from metagit_mcp.errors import MetagitError

NOBODY = 65534


def write(root: str, path: str, kind: str, text: str) -> None:
    """Write `text` the way the kind of file is written, under its lock."""
    raw = text.encode()
    if kind in {"decisions", "events", "audit"}:
        append_lines(path, [raw], root=root, kind=kind, mode=0o600)
    elif kind == "policy":
        with locked_in_place(path, root=root, kind=kind, first=b"{}"):
            atomic_write(path, raw, root=root, kind=kind)
    else:
        with locked(path, root=root, kind=kind):
            atomic_write(path, raw, root=root, kind=kind)


def die(root: str, path: str, point: str, text: str) -> None:
    """Write and be killed at the fault point."""
    arm_fault(point, partial(die_at, point))
    write(root, path, point.partition(".")[0], text)


def append(root: str, path: str, count: str, tag: str) -> None:
    """Append `count` records one by one."""
    for number in range(int(count)):
        row = f'{{"tag": "{tag}", "number": {number}, "fill": "{"x" * 500}"}}'
        append_lines(path, [row.encode()], root=root, kind="events", mode=0o644)


def read_as_nobody(root: str, path: str) -> None:
    """Read as a user who owns nothing."""
    become_nobody()
    read_regular(path, root=root)


def write_as_nobody(root: str, path: str, kind: str) -> None:
    """Write as a user who owns nothing."""
    become_nobody()
    write(root, path, kind, "new")


def become_nobody() -> None:
    """Give up every right of this process."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def write_limited(root: str, path: str, kind: str, limit: str, length: str) -> None:
    """Write `length` bytes where a file may not grow beyond `limit`: what a full disk looks like."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    write(root, path, kind, "x" * int(length))


def hold(_root: str, path: str) -> None:
    """Hold the flock on `path` as another tool does, until stdin ends."""
    with Path(path).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        print("held", flush=True)  # noqa: T201 - the parent waits for it
        sys.stdin.read()


def peek(_root: str, path: str) -> None:
    """Say whether another tool could lock `path` now."""
    with Path(path).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


ACTIONS: dict[str, Callable[..., None]] = {
    action.__name__: action
    for action in (write, die, append, read_as_nobody, write_as_nobody, write_limited, hold, peek)
}


def main(action: str, *arguments: str) -> None:
    """Do one thing; print the code and message of the error that came of it, or `done`."""
    try:
        ACTIONS[action](*arguments)
    except MetagitError as error:
        print(error.code, error.message)  # noqa: T201 - this is the answer
    except BlockingIOError:
        print("busy")  # noqa: T201 - this is the answer
    else:
        print("done")  # noqa: T201 - this is the answer


if __name__ == "__main__":
    main(*sys.argv[1:])
