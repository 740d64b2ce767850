"""Reads all events of a ledger, from the first, without a snapshot. It must not know what they are about."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from metagit_mcp.wire.ledger_codec import read_event

if TYPE_CHECKING:
    from pathlib import Path

    from metagit_mcp.domain.events import Event


def events_in(path: Path) -> list[Event]:
    """The events of the ledger at `path`, in order."""
    with closing(sqlite3.connect(path)) as ledger:
        found = ledger.execute("SELECT kind, version, body FROM event ORDER BY position").fetchall()
    return [read_event(kind, version, body) for kind, version, body in found]
