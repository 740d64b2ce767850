"""Says why a file of the workspace cannot be used, in the project's own errors; it touches no file itself."""

import errno
import os
from typing import ClassVar

from metagit_mcp.domain.text import shown
from metagit_mcp.errors import ReadOnlyWorkspace, StoreUnavailable, WorkspaceNotFound

StrPath = str | os.PathLike[str]

_FORBIDDEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class FileRefused(StoreUnavailable):
    """A file of the workspace cannot be used as it stands."""

    retryable = False
    way_out: ClassVar[str] = ""

    def __init__(self, name: str, why: str) -> None:
        """Keep which file (relative to the workspace) and why; neither ever holds file content."""
        super().__init__(f"{name} {why}.", hint=self.way_out, file=name, why=why)
        self.name = name
        self.why = why


class FileUnreadable(FileRefused):
    """This user may not read a file of the workspace."""

    way_out = "The user that runs metagit-mcp must be allowed to read it and to enter its folders."


def workspace_gone(root: StrPath) -> WorkspaceNotFound:
    """Return what it means that the folder of the workspace is not there any more."""
    path = os.fspath(root)
    hint = "It was moved or deleted. Move it back, or start anew with --workspace PATH where it is now."
    return WorkspaceNotFound(f"The workspace {shown(path)} is gone.", hint=hint, path=path)


def shown_name(path: StrPath, root: StrPath) -> str:
    """Return `path` relative to the workspace `root`, as it may stand in a message."""
    return shown(os.path.relpath(path, root))


def storage_error(cause: OSError, name: str) -> StoreUnavailable | ReadOnlyWorkspace:
    """Return what a failed write of the file `name` means to the caller."""
    why = os.strerror(cause.errno or errno.EIO)
    if cause.errno in _FORBIDDEN:
        hint = "Answers and previews still work; to record anything, this user must be able to write there."
        return ReadOnlyWorkspace(f"{name} cannot be written: {why}.", hint=hint, file=name)
    hint = "Make room on the disk, then try again." if cause.errno in _FULL else "Try again."
    return StoreUnavailable(f"{name} cannot be written: {why}.", hint=hint, file=name)


def read_error(cause: OSError, name: str) -> StoreUnavailable:
    """Return what a failed read of the file `name` means: the process is short of something or it is bad."""
    why = os.strerror(cause.errno or errno.EIO)
    if cause.errno in _SHORTAGES:
        return StoreUnavailable(f"{name} cannot be read: {why}.", hint="Try again.", file=name)
    kind = FileUnreadable if isinstance(cause, PermissionError) else FileRefused
    return kind(name, f"cannot be read: {why}")
