"""What the tests of change detection share: both ways to watch, and writes that always differ.

Every written file gets an mtime of its own, so that two writes within one tick of the disk's clock differ; the
clocks of the watchers are set so that no file counts as young. It must not know what a test expects.
"""

import itertools
import os
from collections.abc import Callable
from pathlib import Path

from metagit_mcp.adapters.changes import ChangedPaths, Changes
from metagit_mcp.adapters.changes.by_inotify import InotifyChanges
from metagit_mcp.adapters.changes.by_stat import StatChanges

GRAPHS, SCHEDULE, MERGES = ".metagit/tasks/graphs", ".metagit/schedule", ".metagit/merges"
FOLDERS = (GRAPHS, SCHEDULE, MERGES)
LATE = 2**62
Way = Callable[[str, tuple[str, ...]], Changes]
WAYS: dict[str, Way] = {
    "inotify": lambda root, folders: InotifyChanges(root, folders, now=lambda: LATE),
    "stat": lambda root, folders: StatChanges(root, folders, now=lambda: LATE),
}
moments = itertools.count(1_000_000_000)


def write(path: Path, raw: bytes = b"{}") -> None:
    path.write_bytes(raw)
    moment = next(moments)
    os.utime(path, ns=(moment, moment))


def grow(path: Path) -> None:
    """Write in place and leave the mtime to the system; the size tells it from before."""
    with path.open("ab") as opened:
        opened.write(b" ")


def replace(path: Path) -> None:
    write(path.parent / ".metagit-1-a.tmp")
    (path.parent / ".metagit-1-a.tmp").replace(path)


def changed(*names: str, folder: str = GRAPHS) -> ChangedPaths:
    return ChangedPaths(frozenset((folder, name) for name in names))
