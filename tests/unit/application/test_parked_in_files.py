"""What only a file tells as failed, because the ledger is new or another program wrote it, a person sets going too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import InvalidStateTransition
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk


def test_a_node_that_its_file_has_as_failed_is_retried(desk: Desk) -> None:
    row = node("a", status="blocked", blocker_reason="failed: it broke", updated_at="2026-12-24T00:00:00Z")
    desk.graph("g", row, node("b", status="blocked", blocker_reason="waits"))
    assert desk.retry("a")["node_status"] == "open"
    desk.flush()
    written = {name: desk.row("a")[name] for name in ("status", "blocker_reason", "updated_at")}
    assert written == {"status": "ready", "blocker_reason": None, "updated_at": "2026-12-24T00:00:00.000001+00:00"}
    assert desk.events() == ["work_retried"]
    with pytest.raises(InvalidStateTransition):
        desk.retry("b")
