"""Chooses how changes are found: by inotify where it hears every writer, else by looking at the files."""

import contextlib
import os
from collections.abc import Sequence
from typing import Literal

from metagit_mcp.adapters.changes.by_stat import StatChanges
from metagit_mcp.adapters.changes.report import Changes

# File systems on which another machine may write unheard.
_SHARED = (
    "9p",
    "afs",
    "ceph",
    "cifs",
    "fuse.",
    "lustre",
    "ncpfs",
    "nfs",
    "prl_fs",
    "smb",
    "vboxsf",
    "virtio",
)
MOUNTS = "/proc/self/mountinfo"


def open_changes(root: str, folders: Sequence[str], *, mode: Literal["auto", "inotify", "stat"] = "auto") -> Changes:
    """Return an object that looks for changes in `folders`; its first report is everything.

    Args:
        root: absolute path of the workspace.
        folders: paths relative to `root` such as `.metagit/tasks/graphs`, existing or not.
        mode: `METAGIT_WATCH`. inotify hears nothing of other machines that write to a shared disk, so `auto`
            takes `stat` there; `inotify` falls back to `stat` where the system offers none.
    """
    if mode == "stat" or (mode == "auto" and _is_shared(root, folders)):
        return StatChanges(root, folders)
    with contextlib.suppress(ImportError, AttributeError, OSError):
        # AttributeError: a C library without inotify.
        from metagit_mcp.adapters.changes.by_inotify import InotifyChanges  # noqa: PLC0415 - only Linux has it

        return InotifyChanges(root, folders)
    return StatChanges(root, folders)


def _is_shared(root: str, folders: Sequence[str]) -> bool:
    devices = set()
    for path in (root, *(f"{root}/{folder}" for folder in folders)):
        with contextlib.suppress(OSError):
            found = os.stat(path).st_dev
            devices.add(f"{os.major(found)}:{os.minor(found)}")
    return any(kind.startswith(_SHARED) for kind in _kinds_of(devices))


def _kinds_of(devices: set[str]) -> list[str]:
    """Return the file system types of `devices`; a line is `id parent device … - type source options`."""
    try:
        with open(MOUNTS, encoding="utf-8", errors="replace") as lines:
            rows = [line.partition(" - ") for line in lines]
    except OSError:
        return []
    return [after.split()[0] for before, _, after in rows if before.split()[2] in devices]
