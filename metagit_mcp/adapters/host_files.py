"""Reads and changes the files of agent hosts, which lie anywhere on the machine; it knows nothing of what is in them.

Other programs and people write them too, so a change is made under a lock of ours, of what stands there at that
moment, and looked over once more before it takes the file's place. The lock is that of the folder: a lock file beside
it would be one more file in somebody's repository or home (ADR 0042).
"""

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Final

from metagit_mcp.adapters.fault_points import fault
from metagit_mcp.adapters.files import replace_at
from metagit_mcp.adapters.locks import LOCK_SECONDS
from metagit_mcp.adapters.places import kind_of
from metagit_mcp.domain.text import shown
from metagit_mcp.errors import HostFileInvalid, MetagitError, ReadOnlyWorkspace, StoreUnavailable

_LIMIT: Final = 8 * 1024 * 1024
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FORBIDDEN: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
# Some network file systems lock no folder: then only the look before the change is left.
_NO_LOCKS: Final = frozenset({errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EINVAL})
_PAUSE: Final = 0.005
_ROUNDS: Final = 20
_MAY_WRITE: Final = "This user must be allowed to write there."

Change = Callable[[bytes | None], bytes | None]
_Found = tuple[bytes | None, os.stat_result | None]


class HostFileStore:
    """The files of agent hosts; see `ports.hosts.HostFiles`."""

    def real(self, path: str) -> str:
        """Return where a path leads, there or not."""
        return os.path.realpath(path)

    def read(self, path: str) -> bytes | None:
        """Return a whole file, or None where there is none."""
        return _read(os.path.realpath(path))[0]

    def revise(self, path: str, change: Change, *, mode: int) -> bool:
        """Give `change` the content (None: no file), put what it returns in its place (None: no file); say whether
        that is a difference.
        """
        target = os.path.realpath(path)
        folder = os.path.dirname(target)
        if not os.path.isdir(folder):
            if change(None) is None:
                return False
            _make_folder(folder)
        with _locked(folder):
            fault("host.locked")
            for _ in range(_ROUNDS):
                done = _changed(target, change, mode)
                if done is not None:
                    return done
        raise StoreUnavailable(f"{shown(path)} is changed by another program all the time.", hint="Try again.")


def _changed(target: str, change: Change, mode: int) -> bool | None:
    """Change a file; None where somebody else did meanwhile."""
    raw, former = _read(target)
    wanted = change(raw)
    if wanted == raw:
        return False
    if _signature(_looked_up(target)) != _signature(former):
        return None
    if former is not None and not os.access(target, os.W_OK):
        raise ReadOnlyWorkspace(f"{shown(target)} may not be written.", hint=_MAY_WRITE, file=target)
    try:
        if wanted is None:
            os.unlink(target)
        else:
            replace_at(target, wanted, former=former, kind="host", mode=mode)
    except OSError as cause:
        raise _write_error(cause, target) from cause
    return True


def _read(target: str) -> _Found:
    try:
        fd = os.open(target, _READ)
    except FileNotFoundError:
        return None, None
    except OSError as cause:
        raise _refused(target, f"cannot be read: {_why(cause)}") from cause
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise _refused(target, f"is not a regular file but {kind_of(found.st_mode)}")
    with os.fdopen(fd, "rb") as file:
        raw = file.read(_LIMIT + 1)
    if len(raw) > _LIMIT:
        raise _refused(target, f"is larger than {_LIMIT} bytes")
    return raw, found


def _looked_up(target: str) -> os.stat_result | None:
    try:
        return os.stat(target)
    except FileNotFoundError:
        return None


def _signature(found: os.stat_result | None) -> tuple[int, int, int] | None:
    return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)


def _make_folder(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as cause:
        raise _write_error(cause, folder) from cause


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Hold the lock of a folder; it ends with the process, however that ends."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as cause:
        raise _write_error(cause, folder) from cause
    try:
        _acquire(fd, folder)
        yield
    finally:
        os.close(fd)


def _acquire(fd: int, folder: str) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise StoreUnavailable(
                    f"{shown(folder)} is locked by another process.", hint="Try again.", lock=folder
                ) from None
            time.sleep(_PAUSE)
            continue
        except OSError as cause:
            if cause.errno not in _NO_LOCKS:
                raise _write_error(cause, folder) from cause
        return


def _refused(target: str, why: str) -> HostFileInvalid:
    hint = "Mend it by hand, or move it away; nothing was changed."
    return HostFileInvalid(f"{shown(target)} {why}.", hint=hint, file=target)


def _write_error(cause: OSError, target: str) -> MetagitError:
    message = f"{shown(target)} cannot be written: {_why(cause)}."
    if cause.errno in _FORBIDDEN:
        return ReadOnlyWorkspace(message, hint=_MAY_WRITE, file=target)
    return StoreUnavailable(message, hint="Try again.", file=target)


def _why(cause: OSError) -> str:
    return os.strerror(cause.errno or errno.EIO)
