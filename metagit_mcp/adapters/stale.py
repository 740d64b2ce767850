"""Collects which files are to be read again, from reports of changes until a reading takes them. Opens no file."""

from metagit_mcp.adapters.changes import ChangedPaths, Everything
from metagit_mcp.adapters.layout import (
    APPROVALS_NAME,
    DECISIONS_NAME,
    GRAPHS,
    KEPT_NAME,
    MERGES,
    POLICY_NAME,
    QUEUE_NAME,
    SCHEDULE,
    WORKTREES,
    WORKTREES_NAME,
)

_SCHEDULE_NAMES = frozenset({APPROVALS_NAME, KEPT_NAME, POLICY_NAME})


class Stale:
    """Files by folder and name; `everything` means all of them, also those that no one has seen yet."""

    def __init__(self, *, everything: bool = False) -> None:
        self._everything = everything
        self._names: set[tuple[str, str]] = set()

    def __bool__(self) -> bool:
        return self._everything or bool(self._names)

    def add(self, folder: str, name: str) -> None:
        """Add one file."""
        self._names.add((folder, name))

    def add_everything(self) -> None:
        """Add every file there is."""
        self._everything = True

    def note(self, report: ChangedPaths | Everything, *, with_decisions: bool) -> None:
        """Add what a report names, as far as an answer can depend on it; on the decision log it seldom does."""
        if isinstance(report, Everything):
            self._everything = True
            return
        for folder, name in report.paths:
            if _matters(folder, name) or (with_decisions and (folder, name) == (SCHEDULE, DECISIONS_NAME)):
                self._names.add((folder, name))

    def has(self, folder: str, name: str) -> bool:
        """Say whether one file is to be read again."""
        return self._everything or (folder, name) in self._names

    def named(self, folder: str) -> set[str] | None:
        """Return the names in a folder, or None for whichever there are."""
        return None if self._everything else {name for each, name in self._names if each == folder}


def _matters(folder: str, name: str) -> bool:
    if folder == SCHEDULE:
        return name in _SCHEDULE_NAMES
    if folder == WORKTREES:
        return name == WORKTREES_NAME
    return name.endswith(".json") and (folder == GRAPHS or (folder == MERGES and name != QUEUE_NAME))
