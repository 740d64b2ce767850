"""Finds changes from the kernel's inotify queue, at the cost of one system call when there are none.

inotify does not tell what happens behind a link or above the workspace, so links are looked at, and folders
reached through one are compared by their inode. It hears nothing of what other hosts write to a shared disk,
nor of a write through a hard link from a folder that is not watched. It never opens a file.
"""

import contextlib
import errno
import os
import select
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from inotify_simple import INotify, flags  # type: ignore[import-untyped]  # it ships no types

from metagit_mcp.adapters.changes.by_stat import StatChanges
from metagit_mcp.adapters.changes.report import EVERYTHING, NOTHING, ChangedPaths, Everything, is_reported
from metagit_mcp.adapters.changes.signatures import (
    ABSENT,
    Clock,
    Signature,
    Signatures,
    identity_of,
    signature_of,
)

Path = tuple[str, str]

_NAMES = flags.CREATE | flags.DELETE | flags.MOVED_FROM | flags.MOVED_TO | flags.ATTRIB
_ITSELF = flags.DELETE_SELF | flags.MOVE_SELF
# One inode may be a watched folder and lie above another; without MASK_ADD the second watch ends the first.
_ABOVE = _NAMES | _ITSELF | flags.ONLYDIR | flags.MASK_ADD
_FOLDER = _ABOVE | flags.MODIFY | flags.CLOSE_WRITE
_OVERFLOW = int(flags.Q_OVERFLOW)
_LOST = flags.DELETE_SELF | flags.MOVE_SELF | flags.IGNORED | flags.UNMOUNT
_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class InotifyChanges:
    """Watches the folders, and what lies between them and the root, so that later folders are noticed too."""

    def __init__(
        self, root: str, folders: Sequence[str], *, now: Clock = time.time_ns, ticks: Clock = time.monotonic_ns
    ) -> None:
        """Watch `folders`, given relative to `root`; the clocks are those of `Signatures`.

        Raises:
            OSError: this user may open no further queue.
        """
        self._root = root
        self._folders = tuple(folders)
        self._queue = INotify(nonblocking=True)
        # Asked first: to poll takes half the time of asking the queue how long it is.
        self._news = select.poll()
        self._news.register(self._queue.fileno(), select.POLLIN)
        self._is_first = True
        self._links: set[Path] = set()
        self._targets: Signatures[Path] = Signatures(now, ticks)
        self._unwatched: tuple[str, ...] = ()
        self._look_at = partial(StatChanges, root, now=now, ticks=ticks)
        self._by_stat = self._look_at(())
        self._children: dict[int, set[str]] = {}
        self._names: dict[int, list[str]] = {}
        self._identities: dict[str, tuple[int, int, int] | None] = {}
        self._compared: list[tuple[str, tuple[int, int, int] | None]] = []
        self._watch()

    def drain(self) -> ChangedPaths | Everything:
        """Empty the queue, place lost watches anew, look at the few files that the kernel is silent about."""
        events = self._queue.read(timeout=0) if self._news.poll(0) else []
        is_moved = self._is_moved()
        if not (events or is_moved or self._is_first or self._hears_too_little()):
            return NOTHING
        paths, is_lost, is_stale = self._sorted(events)
        if is_lost or is_stale or is_moved:
            former = self._identities
            self._watch()
            is_lost |= self._identities != former
        self._note_links(paths)
        rest = self._silent()
        is_lost, self._is_first = is_lost or self._is_first, False
        if is_lost or isinstance(rest, Everything):
            return EVERYTHING
        return ChangedPaths(rest.paths.union(paths)) if paths else rest

    def close(self) -> None:
        """Close the queue; its watches end with it."""
        self._queue.close()

    def _path(self, folder: str) -> str:
        return f"{self._root}/{folder}" if folder else self._root

    def _sorted(self, events: Iterable[tuple[int, int, int, str]]) -> tuple[set[Path], bool, bool]:
        """Return the files that changed, whether events were lost and whether a watch may be misplaced."""
        paths: set[Path] = set()
        is_lost = is_stale = False
        for wd, mask, _, name in events:
            folders = self._names.get(wd, ())
            is_lost |= bool(mask & _OVERFLOW or (folders and mask & _LOST))
            is_stale |= not name or name in self._children.get(wd, ())
            if name and is_reported(name):
                paths.update((folder, name) for folder in folders)
        return paths, is_lost, is_stale

    def _is_moved(self) -> bool:
        """Say whether a folder that no watch covers was replaced: the root itself or one behind a link."""
        return any(identity_of(path) != known for path, known in self._compared)

    def _watch(self) -> None:
        former = {*self._children, *self._names}
        self._children, self._names = defaultdict(set), defaultdict(list)
        # The identity comes first: a folder replaced between the two steps is then found at the next look.
        self._identities = {folder: identity_of(self._path(folder)) for folder in ("", *self._folders)}
        unwatched = tuple(folder for folder in self._folders if not self._watch_folder(folder))
        for wd in former.difference(self._children, self._names):
            # One whose folder is gone has ended already.
            with contextlib.suppress(OSError):
                self._queue.rm_watch(wd)
        if unwatched != self._unwatched:
            self._unwatched, self._by_stat = unwatched, self._look_at(unwatched)
        compared = ("", *(folder for folder in self._folders if self._is_behind_link(folder)))
        self._compared = [(self._path(folder), self._identities[folder]) for folder in compared]
        self._links = {link for names in self._names.values() for name in names for link in self._found(name)}
        self._targets.replace(self._target_signatures())

    def _is_behind_link(self, folder: str) -> bool:
        return os.path.realpath(self._path(folder)) != f"{os.path.realpath(self._root)}/{folder}"

    def _watch_folder(self, folder: str) -> bool:
        """Watch a folder and all above it up to the root; return False when the kernel refuses one."""
        above = self._root
        try:
            for part in folder.split("/"):
                self._children[self._queue.add_watch(above, _ABOVE)].add(part)
                above = f"{above}/{part}"
            self._names[self._queue.add_watch(above, _FOLDER)].append(folder)
        except OSError as cause:
            return cause.errno in _MISSING
        return True

    def _found(self, folder: str) -> Iterator[Path]:
        """Yield the links in a folder."""
        with contextlib.suppress(OSError), os.scandir(self._path(folder)) as entries:
            for entry in entries:
                if entry.is_symlink() and is_reported(entry.name):
                    yield folder, entry.name

    def _note_links(self, paths: set[Path]) -> None:
        for folder, name in paths:
            is_link = os.path.islink(f"{self._path(folder)}/{name}")
            (self._links.add if is_link else self._links.discard)((folder, name))

    def _hears_too_little(self) -> bool:
        return bool(self._links or self._targets or self._unwatched)

    def _silent(self) -> ChangedPaths | Everything:
        """Look at what the kernel does not tell of: targets of links, and folders that it would not watch."""
        if not self._hears_too_little():
            return NOTHING
        targets = self._targets.replace(self._target_signatures())
        rest = self._by_stat.drain() if self._unwatched else NOTHING
        return rest if isinstance(rest, Everything) else ChangedPaths(rest.paths | targets)

    def _target_signatures(self) -> dict[Path, Signature]:
        return {link: _target_signature(f"{self._path(link[0])}/{link[1]}") for link in self._links}


def _target_signature(path: str) -> Signature:
    try:
        return signature_of(os.stat(path))
    except OSError:
        return ABSENT
