"""An approval is a person's word on a node as it stood; it is kept once, and what changed since asks again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.adapters.approvals import ApprovalFileStore
from metagit_mcp.adapters.decision_log import DecisionLogFiles
from metagit_mcp.adapters.system import FixedClock, SeededIds
from metagit_mcp.application.work import Work
from metagit_mcp.errors import NodeNotFound, RevisionConflict
from tests.scenarios.at_once import at_once, finished
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW

if TYPE_CHECKING:
    from metagit_mcp.ports import WorkspaceImage
    from tests.unit.application.desk import Desk

AT = "2026-12-01T12:00:00Z"
NEXT_STEP = "The node may run now. A change of its title, dependencies, repository or risk asks again."


def test_an_approval_lets_the_node_run_and_is_recorded(desk: Desk) -> None:
    desk.graph("g", node("a", risk="destructive"))
    assert desk.next()["decisions"] == []
    assert desk.approve("a") == {
        "graph_id": "g",
        "node_id": "a",
        "approved_by": "ada",
        "at": AT,
        "warnings": [],
        "next_step": NEXT_STEP,
    }
    assert [each["node_id"] for each in desk.next()["decisions"]] == ["a"]
    (event,) = desk.lines("schedule/audit.jsonl")
    assert event == {
        "event_id": event["event_id"],
        "type": "ApprovalGranted",
        "at": "2026-12-01T12:00:00+00:00",
        "source": "scheduler",
        "payload": {"graph_id": "g", "node_id": "a", "epoch": 1, "approved_by": "ada"},
    }
    (kept,) = desk.document("schedule/approvals.json")["approvals"]
    assert (kept["graph_id"], kept["node_id"], kept["epoch"], kept["approved_by"]) == ("g", "a", 1, "ada")


def test_approving_twice_keeps_the_first(desk: Desk) -> None:
    desk.graph("g", node("a", approval="human_required"), node("b", approval="human_required"))
    desk.approve("b")
    assert desk.approve("a", person="ada")["warnings"] == []
    assert desk.approve("a", person="bob")["warnings"] == ["this node was approved already"]
    kept = desk.document("schedule/approvals.json")["approvals"]
    assert [(each["node_id"], each["approved_by"]) for each in kept] == [("b", "ada"), ("a", "ada")]
    assert len(desk.lines("schedule/audit.jsonl")) == 2
    desk.update("a", title="Another")
    assert desk.status(node_id="a")["explain"]["reasons"] == [
        {"reason": "awaiting_approval", "text": "awaiting_approval"}
    ]
    assert desk.approve("a", person="bob")["warnings"] == []


class LateReader:
    """Knows only what the workspace was."""

    def __init__(self, image: WorkspaceImage) -> None:
        self._image = image

    async def image(self) -> WorkspaceImage:
        return self._image


def test_two_who_approve_at_once_approve_once(desk: Desk) -> None:
    desk.graph("g", node("a", risk="destructive"))
    root = str(desk.root)
    reader: Any = LateReader(finished(desk.application.current.image()))
    late = Work(reader, ApprovalFileStore(root), DecisionLogFiles(root), FixedClock(NOW), SeededIds("late"), at_once)
    desk.approve("a", person="bob")
    _, digest = finished(late.approvable("a", None))
    assert finished(late.approve("a", None, "ada", digest)).warnings == ("this node was approved already",)
    assert [each["approved_by"] for each in desk.document("schedule/approvals.json")["approvals"]] == ["bob"]
    assert len(desk.lines("schedule/audit.jsonl")) == 1


def test_a_node_that_needs_none_can_be_approved_ahead(desk: Desk) -> None:
    desk.graph("g", node("a"))
    warning = "this node needs no approval under the present policy; it is recorded all the same"
    assert desk.approve("a")["warnings"] == [warning]
    assert desk.approve("a")["warnings"] == [warning, "this node was approved already"]
    # Without a policy the gates are those of the defaults, and reading the node needs none.
    desk.put("schedule/policy.json", {"slotz": 1})
    desk.graph("g", node("a", risk="destructive"))
    assert desk.approve("a")["warnings"] == []


def test_what_was_not_shown_is_not_approved(desk: Desk) -> None:
    desk.graph("g", node("a", risk="destructive"))
    shown, digest = finished(desk.application.work.approvable("a", "g"))
    assert (shown.node_id, shown.risk) == ("a", "destructive")
    desk.graph("g", node("a", risk="destructive", repository="p/other"))
    with pytest.raises(RevisionConflict, match="Node a changed while it was looked at"):
        finished(desk.application.work.approve("a", "g", "ada", digest))
    assert not desk.path("schedule/approvals.json").exists()
    with pytest.raises(NodeNotFound):
        desk.approve("b")
