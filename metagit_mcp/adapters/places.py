"""Decides which regular file inside the workspace a path stands for; it never opens one.

Links are followed, also in the workspace root and in `.metagit` itself, but only to places inside the
resolved root (interfaces.md §1): what a graph file says must not come from anywhere else on the machine.
"""

import os
import stat

from metagit_mcp.adapters.refusals import FileRefused, StrPath, read_error, shown_name

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def locate(path: StrPath, *, root: StrPath) -> tuple[str, os.stat_result | None]:
    """Return the resolved path of a file and what stands there: a regular file, or None when nothing does.

    Args:
        path: absolute path below `root`, as the caller spells it.
        root: absolute path of the workspace.

    Raises:
        FileRefused: it leads out of the workspace or nowhere, or it is no regular file.
    """
    try:
        return _located(os.fspath(path), os.fspath(root))
    except FileNotFoundError:
        return os.fspath(path), None
    except OSError as cause:
        raise read_error(cause, shown_name(path, root)) from cause


def _located(path: str, root: str) -> tuple[str, os.stat_result | None]:
    folder, name = os.path.split(path)
    real = f"{real_folder(folder, root=root, asked=path)}/{name}"
    try:
        found = os.lstat(real)
    except FileNotFoundError:
        return real, None
    if stat.S_ISLNK(found.st_mode):
        real, found = _followed(real, path, root)
    if not stat.S_ISREG(found.st_mode):
        raise FileRefused(shown_name(path, root), f"is not a regular file but {kind_of(found.st_mode)}")
    return real, found


def kind_of(mode: int) -> str:
    """Return in words what a file is that is no regular one."""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def real_folder(folder: str, *, root: str, asked: str = "") -> str:
    """Return a path of a folder, there or not, without a link between the workspace and its last part.

    A refusal names `asked`, or else the folder.

    Nothing is remembered from one call to the next: any part may have become a link out of the tree meanwhile, with
    the inode number of the folder that stood there. To look at each part costs less than to resolve the whole path.

    Raises:
        FileRefused: it leads out of the workspace.
        OSError: a part of it is no folder.
    """
    if _has_no_link(folder, root):
        return folder
    real = os.path.realpath(folder)
    if not _is_inside(real, os.path.realpath(root)):
        raise FileRefused(shown_name(asked or folder, root), "leads out of the workspace")
    return real


def _has_no_link(folder: str, root: str) -> bool:
    at = root.rstrip("/")
    if folder.rstrip("/") != at and not folder.startswith(f"{at}/"):
        return False
    for part in folder[len(at) :].split("/"):
        if part == "..":
            return False
        if part:
            at = f"{at}/{part}"
            try:
                if stat.S_ISLNK(os.lstat(at).st_mode):
                    return False
            except FileNotFoundError:
                return True
    return True


def _is_inside(real: str, real_root: str) -> bool:
    return real == real_root or real.startswith(real_root.rstrip("/") + "/")


def _followed(link: str, path: str, root: str) -> tuple[str, os.stat_result]:
    try:
        real = os.path.realpath(link, strict=True)
    except OSError as cause:
        raise FileRefused(shown_name(path, root), "is a link that leads nowhere") from cause
    if not _is_inside(real, os.path.realpath(root)):
        raise FileRefused(shown_name(path, root), "is a link that leads out of the workspace")
    return real, os.lstat(real)
