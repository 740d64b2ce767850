"""metagit-cli works on what was imported: it reads the graph, and what it drops is not imported anew.

Must not know: how a list is read or merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.interop.peer import Metagit
from tests.unit.application.desk import Desk
from tests.unit.application.importing import EARLY, LATE, counts, put_issues, put_tasks, run
from tests.unit.wire.lists import edge, issue, task

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

ISSUES = [
    issue("s-1", priority=1, due_at=LATE, updated_at=EARLY),
    issue("s-2", status="deferred", dependencies=[edge("s-2", "s-1", "parent-child")]),
    issue("s-3", status="in_progress", assignee="ann", estimated_minutes=3),
    issue("s-4", dependencies=[edge("s-4", "s-3"), edge("s-4", "s-9")]),
    issue("s-5", status="odd", defer_until=LATE),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    (root / ".metagit.yml").write_text("name: shop\n", encoding="utf-8")
    return root


def test_metagit_hands_out_what_may_be_started_and_nothing_else(root: Path) -> None:
    desk, metagit = Desk(root, "cli"), Metagit(root)
    run(desk, "beads", put_issues(desk, *ISSUES))
    run(desk, "taskmaster", put_tasks(desk, {"m": {"tasks": [task(1, status="review"), task(2, dependencies=["1"])]}}))
    assert [each["node_id"] for each in metagit.ranking()] == ["s-1"]


def test_what_metagit_dropped_is_not_imported_anew(root: Path) -> None:
    desk, metagit = Desk(root, "cli"), Metagit(root)
    path = put_issues(desk, *ISSUES)
    run(desk, "beads", path)
    metagit.run("task", "start", "--graph-id", "s", "--node-id", "s-1")
    assert "deadline" not in desk.row("s-1", "s")
    assert counts(run(desk, "beads", path)) == {"unchanged": 4, "kept_here": 1}
    metagit.run("task", "complete", "--graph-id", "s", "--node-id", "s-1")
    assert counts(run(desk, "beads", path)) == {"unchanged": 4, "kept_here": 1}
    assert desk.statuses("s")["s-1"] == "completed"
