"""Finds changes by looking at every file, where the kernel does not tell; it never opens a file."""

import os
import time
from collections.abc import Sequence

from metagit_mcp.adapters.changes.report import EVERYTHING, ChangedPaths, Everything, is_reported
from metagit_mcp.adapters.changes.signatures import Clock, Signature, Signatures, identity_of, signature_of


class StatChanges:
    """Compares times, size, inode and mode of every file in the folders, links followed."""

    def __init__(
        self,
        root: str,
        folders: Sequence[str],
        *,
        now: Clock = time.time_ns,
        ticks: Clock = time.monotonic_ns,
    ) -> None:
        """Watch `folders`, given relative to `root`; the clocks are those of `Signatures`."""
        self._folders = [_Folder(os.path.join(root, name), name, Signatures(now, ticks)) for name in folders]
        self._is_first = True

    def drain(self) -> ChangedPaths | Everything:
        """Look at every file of the folders."""
        looks = [(folder.name, folder.changed()) for folder in self._folders]
        is_first, self._is_first = self._is_first, False
        paths: set[tuple[str, str]] = set()
        for folder, names in looks:
            if names is None or is_first:
                return EVERYTHING
            paths.update((folder, name) for name in names)
        return ChangedPaths(frozenset(paths))

    def close(self) -> None:
        """Nothing is held between two looks."""


class _Folder:
    """One folder: which one it is and how its files looked."""

    def __init__(self, path: str, name: str, files: Signatures[str]) -> None:
        self.name = name
        self._path = path
        self._files = files
        self._identity: tuple[int, int, int] | None = None

    def changed(self) -> set[str] | None:
        """Return the names that changed, or None when the folder itself did."""
        former, self._identity = self._identity, identity_of(self._path)
        names = self._files.replace(_look(self._path) if self._identity else {})
        return names if self._identity == former else None


def _look(path: str) -> dict[str, Signature]:
    try:
        # Through a descriptor each stat starts at the folder: a fifth faster than by path with 1,000 files.
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        with os.scandir(fd) as entries:
            return {entry.name: _signature(entry) for entry in entries if is_reported(entry.name)}
    finally:
        os.close(fd)


def _signature(entry: os.DirEntry[str]) -> Signature:
    try:
        return signature_of(entry.stat())
    except OSError:
        # A link to nothing stands in the folder all the same.
        return (0, 0, 0, entry.inode(), 0)
