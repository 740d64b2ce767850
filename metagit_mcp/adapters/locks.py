"""Holds the locks that other tools on the same workspace respect too; it knows nothing of what they protect.

A lock is an exclusive flock(2): on `<file>.lock` for graphs, index, merges and worktrees, on the file itself
for the policy and the logs (interfaces.md §1). It ends with the process, however that ends.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

from metagit_mcp.adapters.fault_points import fault
from metagit_mcp.adapters.files import create_whole
from metagit_mcp.adapters.places import locate
from metagit_mcp.adapters.refusals import StrPath, shown_name, storage_error
from metagit_mcp.errors import StoreUnavailable

LOCK_SECONDS = 5.0
_FIRST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.02
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


@contextlib.contextmanager
def locked(path: StrPath, *, root: StrPath, kind: str, timeout: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock beside the file `path`; `<path>.lock` is created when it is missing.

    Args:
        path: absolute path of the protected file below `root`; its folder exists.
        root: absolute path of the workspace.
        kind: first part of the fault point `<kind>.locked`.
        timeout: seconds to wait for another holder; this blocks the thread. Locks are not re-entrant.

    Raises:
        StoreUnavailable: another process held the lock all the time; it may be retried.
        ReadOnlyWorkspace, FileRefused: the lock file cannot be opened for writing.
    """
    fd = acquired(f"{os.fspath(path)}.lock", root=root, mode=0o644, timeout=timeout)
    try:
        fault(f"{kind}.locked")
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def locked_in_place(
    path: StrPath,
    *,
    root: StrPath,
    kind: str,
    mode: int = 0o600,
    first: bytes = b"",
    timeout: float = LOCK_SECONDS,
) -> Iterator[int]:
    """Hold the lock on the file itself and give its descriptor, open for appending and reading.

    Args:
        path: absolute path below `root`; its folder exists.
        root: absolute path of the workspace.
        kind: first part of the fault point `<kind>.locked`.
        mode: permissions of a file that is created for the lock.
        first: content of such a file, there from its first moment, so that no reader finds an empty one.
        timeout: as `locked`.

    Raises:
        StoreUnavailable, ReadOnlyWorkspace, FileRefused: as `locked`.
    """
    if first:
        create_whole(path, first, root=root, mode=mode)
    fd = acquired(os.fspath(path), root=root, mode=mode, timeout=timeout)
    try:
        fault(f"{kind}.locked")
        yield fd
    finally:
        os.close(fd)


def acquired(path: str, *, root: StrPath, mode: int, timeout: float) -> int:
    """Return a descriptor, open for appending and reading, that holds the lock on the file `path` until it is closed.

    Raises:
        StoreUnavailable, ReadOnlyWorkspace, FileRefused: as `locked`.
    """
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        fd = _tried(path, root, mode)
        if fd is not None:
            return fd
        if time.monotonic() >= deadline:
            name = shown_name(path, root)
            raise StoreUnavailable(f"{name} is locked by another process.", hint="Try again.", lock=name)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _tried(path: str, root: StrPath, mode: int) -> int | None:
    """Return a descriptor that holds the lock, or None when another process holds it or replaced the file."""
    real, _ = locate(path, root=root)
    try:
        fd = os.open(real, _FLAGS, mode)
        try:
            if _is_held(fd, real):
                return fd
        except BaseException:
            os.close(fd)
            raise
    except OSError as cause:
        raise storage_error(cause, shown_name(path, root)) from cause
    os.close(fd)
    return None


def _is_held(fd: int, real: str) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A lock on a file that was renamed over or deleted meanwhile protects nothing.
        return os.path.samestat(os.fstat(fd), os.stat(real))
    except (BlockingIOError, FileNotFoundError):
        return False
