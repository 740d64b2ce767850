"""Reads which worktrees are active from worktrees/worktrees.json and looks whether they are on disk. Runs no git.

A row that cannot be used costs only itself. The file is never written.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from metagit_mcp.adapters.files import FileImage, read_regular
from metagit_mcp.adapters.layout import WORKTREES, WORKTREES_NAME
from metagit_mcp.adapters.patience import Draft, Patience
from metagit_mcp.adapters.refusals import FileRefused
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.errors import StoreUnavailable
from metagit_mcp.scheduling.snapshot import Worktree
from metagit_mcp.wire.codec import Json, parse_json

_FILE: Final = f"{WORKTREES}/{WORKTREES_NAME}"
_STATUSES: Final = ("active", "destroyed")


@dataclass(frozen=True, slots=True)
class _Row:
    repository: str
    agent_id: str
    path: str
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Rows:
    active: tuple[_Row, ...] = ()
    warnings: tuple[str, ...] = ()


class WorktreeFile:
    """The active worktrees of one workspace."""

    def __init__(self, root: str, patience: Patience) -> None:
        """Read nothing yet."""
        self.again = False
        self._root = root
        self._patience = patience
        self._rows: _Rows | None = None
        self._paths: tuple[str, ...] = ()
        self._on_disk: tuple[bool, ...] = ()

    def refresh(self) -> None:
        """Read the file; `again` then says that it was being written and is to be read again at the next call."""
        found = self._patience.settle(self._look, self._rows)
        self.again, self._rows = found.passing, found.what
        self._paths = tuple(os.path.join(self._root, row.path) for row in found.what.active)
        self.look()

    def look(self) -> bool:
        """Look which worktrees are on disk; return whether that changed since the last look."""
        on_disk = tuple(map(os.path.isdir, self._paths))
        changed, self._on_disk = on_disk != self._on_disk, on_disk
        return changed

    def trees(self) -> tuple[Worktree, ...]:
        """Return the active worktrees in the order of the file."""
        active = self._rows.active if self._rows is not None else ()
        return tuple(
            Worktree(
                repository=row.repository,
                agent_id=row.agent_id,
                path=row.path,
                on_disk=on_disk,
                updated_at=row.updated_at,
            )
            for row, on_disk in zip(active, self._on_disk, strict=True)
        )

    def warnings(self) -> tuple[str, ...]:
        """Return what is wrong with the file or single rows."""
        return self._rows.warnings if self._rows is not None else ()

    def _look(self) -> Draft[_Rows]:
        try:
            image = read_regular(f"{self._root}/{_FILE}", root=self._root)
        except StoreUnavailable as error:
            return Draft(_Rows(warnings=(error.message,)), passing=not isinstance(error, FileRefused))
        return Draft(_Rows()) if image is None else self._parsed(image)

    def _parsed(self, image: FileImage) -> Draft[_Rows]:
        try:
            return Draft(_rows(parse_json(image.raw)))
        except ValueError as error:
            broken = _Rows(warnings=(f"{_FILE} cannot be used, so no worktree counts: {error}",))
            return Draft(broken, passing=self._patience.is_young(image.signature[0]))


def _rows(document: object) -> _Rows:
    rows = document.get("worktrees", []) if isinstance(document, dict) else None
    if not isinstance(rows, list):
        return _Rows(warnings=(f"{_FILE} cannot be used, so no worktree counts: worktrees must be a list",))
    active: list[_Row] = []
    warnings: list[str] = []
    for place, row in enumerate(rows):
        problem = _problem(row)
        if problem:
            warnings.append(f"{_FILE}: worktrees/{place}: {problem}; the row is passed over")
        elif row["status"] == "active":
            active.append(_active(row))
    return _Rows(tuple(active), tuple(warnings))


def _problem(row: object) -> str:
    if not isinstance(row, dict):
        return "must be an object"
    if row.get("status") not in _STATUSES:
        return "status must be active or destroyed"
    texts = ("repository", "path")
    return next((f"{name} must be a text that is not empty" for name in texts if not _is_text(row.get(name))), "")


def _is_text(each: object) -> bool:
    return isinstance(each, str) and bool(each.strip())


def _active(row: Json) -> _Row:
    agent_id = row.get("agent_id")
    return _Row(
        repository=repository_key(row["repository"]),
        agent_id=agent_id if isinstance(agent_id, str) else "",
        path=row["path"],
        updated_at=_instant(row.get("updated_at")) or _instant(row.get("created_at")),
    )


def _instant(text: object) -> datetime | None:
    """Return a time in UTC, one without an offset taken as UTC; None when it is none, since nobody validates it."""
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
        return None if at is None else (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
