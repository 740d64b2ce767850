"""Remembers how files looked and finds those that look different now; it knows neither folders nor events."""

import os
import stat
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

# mtime_ns, ctime_ns, size, inode, mode. ctime shows an mtime that was set back, mode what may be read now.
Signature = tuple[int, int, int, int, int]
# Nanoseconds.
Clock = Callable[[], int]
ABSENT: Signature = (0, 0, 0, 0, 0)

# Two writes within one tick of the file system's clock leave one mtime (interfaces.md §1).
YOUNG_NS = 20_000_000


class Signatures(Generic[Key]):
    """One signature per file; a file is told by any key."""

    def __init__(self, now: Clock = time.time_ns, ticks: Clock = time.monotonic_ns) -> None:
        """Start empty; `now` is the wall clock that mtimes are compared with, `ticks` never goes back."""
        self._now = now
        self._ticks = ticks
        self._known: Mapping[Key, Signature] = {}
        self._young: dict[Key, int] = {}

    def __len__(self) -> int:
        return len(self._known)

    @property
    def are_settled(self) -> bool:
        """Whether no file is young, so that files that look the same are the same."""
        return not self._young

    def replace(self, fresh: Mapping[Key, Signature]) -> set[Key]:
        """Remember how all files look now; return those that look different or were last seen too young."""
        changed = self._settled()
        if fresh != self._known:
            different = {key for key, _ in fresh.items() ^ self._known.items()}
            self._known = fresh
            self._mark_young(different)
            changed |= different
        return changed

    def _mark_young(self, keys: set[Key]) -> None:
        oldest = self._now() - YOUNG_NS
        until = self._ticks() + YOUNG_NS
        for key in keys:
            if self._known.get(key, ABSENT)[0] > oldest:
                self._young[key] = until

    def _settled(self) -> set[Key]:
        """Return the young files; those whose time is over are reported for the last time.

        It is counted from when they were first seen, so a file server whose clock is ahead costs no more.
        """
        if not self._young:
            return set()
        young = set(self._young)
        ticks = self._ticks()
        self._young = {key: until for key, until in self._young.items() if until > ticks}
        return young


def signature_of(found: os.stat_result) -> Signature:
    """Return how a file looks; of a folder only which one it is."""
    return lasting((found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode))


def lasting(look: Signature) -> Signature:
    """Return what lasts of a look: of a folder only which one it is, since its times follow its content."""
    return (0, 0, 0, look[3], look[4]) if stat.S_ISDIR(look[4]) else look


def identity_of(path: str) -> tuple[int, int, int] | None:
    """Return which folder stands at `path` and with which permissions, or None when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_mode) if stat.S_ISDIR(found.st_mode) else None
