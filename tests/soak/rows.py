"""The events of a ledger, as rows of plain SQL. Must not import any part of the package."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One event."""

    position: int
    kind: str
    body: dict[str, Any]


def rows_of(root: Path, postgres: str | None) -> list[Row]:
    """All events of the ledger of a workspace, in order."""
    if postgres is None:
        with closing(sqlite3.connect(root / ".metagit" / "schedule" / "ledger.db")) as ledger:
            return _read(ledger.execute("SELECT position, kind, body FROM event ORDER BY position").fetchall())
    import psycopg  # noqa: PLC0415 - an extra, which a soak over SQLite does without

    with closing(psycopg.connect(postgres)) as link:
        found = link.execute("SELECT position, kind, body FROM metagit_mcp.event ORDER BY position").fetchall()
    return _read(found)


def _read(found: Iterable[tuple[int, str, bytes]]) -> list[Row]:
    return [Row(position, kind, json.loads(bytes(body))) for position, kind, body in found]
