"""Asks the doctor of a workspace, and spoils a ledger for it. It must not know what a test expects."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from metagit_mcp.wire.codec import plain
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk, Json

FIX = "metagit-mcp doctor --fix"
CHECKS = ("workspace", "policy", "kept", "graphs", "logs", "ledger", "leases", "files", "leftovers")
FINE = [(name, "fine") for name in CHECKS]
LEDGER = "schedule/ledger.db"
UNREAD = [(check, "note", "not looked at, since the ledger cannot be read") for check in ("leases", "files")]


def doctor(desk: Desk, *, fix: bool = False) -> Json:
    """Ask a process that has just begun."""
    return plain(finished(desk.beside("cli").application.maintenance.doctor(fix=fix)))


def found(answer: Json) -> list[tuple[str, ...]]:
    """What is not fine: check, state, what and mend."""
    odd = [each for each in answer["checks"] if each["state"] != "fine"]
    return [tuple(each.values()) for each in odd]


def looked(desk: Desk, *, fix: bool = False) -> list[tuple[str, ...]]:
    return found(doctor(desk, fix=fix))


def mended(desk: Desk) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]], list[tuple[str, ...]]]:
    """What is found before a mend, by it, and by the next, which is to have nothing left to do."""
    before, during = looked(desk), looked(desk, fix=True)
    again = doctor(desk, fix=True)
    assert again["fixed"] == 0
    return before, during, found(again)


def claimed(desk: Desk) -> str:
    """A ledger with two nodes, one of them leased and in step with its file; return the lease."""
    desk.graph("g", node("a"), node("b"))
    lease_id: str = desk.start("a")["lease"]["lease_id"]
    desk.flush()
    desk.update("b", title="listed")
    return lease_id


def run(desk: Desk, *statements: tuple[str, tuple[Any, ...]]) -> list[Any]:
    """Run SQL on the ledger behind every store's back; return the rows of the last."""
    desk.application.close()
    rows: list[Any] = []
    with closing(sqlite3.connect(desk.path(LEDGER), isolation_level=None)) as ledger:
        for statement in statements:
            rows = ledger.execute(*statement).fetchall()
    return rows
