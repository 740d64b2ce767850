"""Reads and replaces whole files of the workspace; it knows nothing of what stands in them.

`replace_at` replaces any file: whoever calls it has decided that it may be written.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from metagit_mcp.adapters.fault_points import fault
from metagit_mcp.adapters.places import locate, real_folder
from metagit_mcp.adapters.refusals import (
    FileRefused,
    StrPath,
    read_error,
    shown_name,
    storage_error,
    workspace_gone,
)

READ_LIMIT = 256 * 1024 * 1024
TEMP_PREFIX = ".metagit-"
TEMP_SUFFIX = ".tmp"

# A pipe or a leased file must never block, and a link put in place after `locate` must not be followed.
_READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_TEMP_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FileImage:
    """One file as it was read: its bytes and (mtime_ns, size, inode), taken before the first byte was read.

    A write during the read therefore leaves a signature that differs from what stands there afterwards.
    """

    raw: bytes
    signature: tuple[int, int, int]


def read_regular(path: StrPath, *, root: StrPath, limit: int = READ_LIMIT) -> FileImage | None:
    """Return a whole file of the workspace, or None when it is missing.

    Args:
        path: absolute path below `root`.
        root: absolute path of the workspace.
        limit: most bytes that are read.

    Raises:
        FileRefused: not a regular file inside the workspace, over the limit, or not readable for this user.
        StoreUnavailable: the process is short of descriptors or memory.
    """
    fd = open_regular(path, root=root)
    if fd is None:
        return None
    try:
        before = os.fstat(fd)
        raw = _read_whole(fd, before.st_size, limit)
    except OSError as cause:
        raise read_error(cause, shown_name(path, root)) from cause
    finally:
        os.close(fd)
    if raw is None:
        raise FileRefused(shown_name(path, root), f"is larger than {limit} bytes")
    return FileImage(raw, (before.st_mtime_ns, before.st_size, before.st_ino))


def open_regular(path: StrPath, *, root: StrPath) -> int | None:
    """Return a descriptor for reading a file, or None when it is missing; errors as `read_regular`."""
    real, found = locate(path, root=root)
    if found is None:
        return None
    try:
        fd = os.open(real, _READ_FLAGS)
    except FileNotFoundError:
        return None
    except OSError as cause:
        raise read_error(cause, shown_name(path, root)) from cause
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise FileRefused(shown_name(path, root), "is no longer a regular file")


def _read_whole(fd: int, size: int, limit: int) -> bytes | None:
    if size > limit:
        return None
    raw = os.read(fd, size + 1)
    if len(raw) == size:
        return raw
    # Another tool writes in place at this moment, so its size says nothing any more.
    pieces, total = [raw], len(raw)
    while pieces[-1]:
        if total > limit:
            return None
        pieces.append(os.read(fd, 1 << 20))
        total += len(pieces[-1])
    return b"".join(pieces)


def atomic_write(path: StrPath, raw: bytes, *, root: StrPath, kind: str, mode: int = 0o600) -> None:
    """Replace a file as a whole, its lock being held; readers see the former or the new content, never less.

    Args:
        path: absolute path below `root`; where it is a link inside the workspace, its target is replaced.
        raw: the new content.
        root: absolute path of the workspace.
        kind: first part of the fault points that are passed, such as `graph`.
        mode: permissions of a new file; an existing one keeps its permissions and, where possible, its owner.

    Raises:
        ReadOnlyWorkspace, StoreUnavailable, FileRefused: a write that fails before the rename leaves nothing.
    """
    target, former = locate(path, root=root)
    try:
        replace_at(target, raw, former=former, kind=kind, mode=mode)
    except OSError as cause:
        raise storage_error(cause, shown_name(path, root)) from cause


def replace_at(target: str, raw: bytes, *, former: os.stat_result | None, kind: str, mode: int) -> None:
    """Replace the file at a resolved path, or make it; `former` is what stands there. The rest as `atomic_write`.

    Raises:
        OSError: before the rename, which leaves nothing, or for the folder after it.
    """
    folder = os.path.dirname(target)
    with _temporary(folder, mode) as (fd, temp):
        if former is not None:
            _take_over(fd, former)
        write_all(fd, raw)
        fault(f"{kind}.temp_written")
        os.fsync(fd)
        fault(f"{kind}.before_rename")
        os.replace(temp, target)
    fault(f"{kind}.renamed")
    _sync_folder(folder)


def create_whole(path: StrPath, raw: bytes, *, root: StrPath, mode: int = 0o600) -> None:
    """Create a file with its content in one step; one that exists stays. Errors as `atomic_write`."""
    target, former = locate(path, root=root)
    if former is not None:
        return
    try:
        with _temporary(os.path.dirname(target), mode) as (fd, temp):
            write_all(fd, raw)
            os.fsync(fd)
            _name_if_free(temp, target)
    except OSError as cause:
        raise storage_error(cause, shown_name(path, root)) from cause


def _name_if_free(temp: str, target: str) -> None:
    try:
        os.link(temp, target)
    except FileExistsError:
        return
    except OSError as cause:
        if cause.errno not in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS}:
            raise
        # Some file systems have no hard links; another creator in these microseconds would lose its file.
        os.rename(temp, target)


def make_folder(path: StrPath, *, root: StrPath) -> None:
    """Create a folder of the workspace with its parents, unless it is there. Errors as `atomic_write`.

    Raises:
        WorkspaceNotFound: the workspace itself is gone; it must not come to life again with nothing but this in it.
    """
    if not os.path.isdir(root):
        raise workspace_gone(root)
    try:
        os.makedirs(real_folder(os.fspath(path), root=os.fspath(root)), exist_ok=True)
    except OSError as cause:
        raise storage_error(cause, shown_name(path, root)) from cause


def write_all(fd: int, raw: bytes) -> None:
    """Write every byte of `raw`, however many writes that takes."""
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(fd, rest) :]


@contextlib.contextmanager
def _temporary(folder: str, mode: int) -> Iterator[tuple[int, str]]:
    """Give a new file that other tools take for nothing of theirs: it starts with a dot and is no `.json`."""
    # The name is short on purpose: a file name of 255 bytes leaves no room for a suffix.
    temp = f"{folder}/{TEMP_PREFIX}{os.getpid()}-{os.urandom(6).hex()}{TEMP_SUFFIX}"
    fd = os.open(temp, _TEMP_FLAGS, mode)
    try:
        yield fd, temp
    finally:
        os.close(fd)
        with contextlib.suppress(OSError):
            os.unlink(temp)


def _take_over(fd: int, former: os.stat_result) -> None:
    own = os.fstat(fd)
    if (own.st_uid, own.st_gid) != (former.st_uid, former.st_gid):
        # Without this, a root process in a container would lock the owner out of a file with mode 0600.
        with contextlib.suppress(PermissionError):
            os.fchown(fd, former.st_uid, former.st_gid)
    os.fchmod(fd, stat.S_IMODE(former.st_mode))


def _sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as cause:
        # Some network file systems cannot sync a folder; the rename itself is done.
        if cause.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(fd)
