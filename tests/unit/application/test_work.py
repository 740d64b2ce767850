"""An approval is a person's word on a node as it stood; it is kept once, and what changed since asks again."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    from metagit_mcp.domain.approval import Approval
    from tests.unit.application.desk import Desk

AT = "2026-12-01T12:00:00Z"
AGAIN = "A change of its title, dependencies, repository or risk asks again."
NEXT_STEP = f"The node may run now. {AGAIN}"


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
    again = desk.approve("a", person="bob")
    assert (again["approved_by"], again["warnings"]) == ("ada", [f"this node was approved already, at {AT}"])
    kept = desk.document("schedule/approvals.json")["approvals"]
    assert [(each["node_id"], each["approved_by"]) for each in kept] == [("b", "ada"), ("a", "ada")]
    assert len(desk.lines("schedule/audit.jsonl")) == 2
    desk.update("a", title="Another")
    assert desk.status(node_id="a")["explain"]["reasons"] == [
        {"reason": "awaiting_approval", "text": "awaiting_approval"}
    ]
    assert desk.approve("a", person="bob")["warnings"] == []


class Overtaken(ApprovalFileStore):
    """Keeps approvals, each a moment after another process kept one of the same node."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(str(desk.root))
        self._desk = desk

    def add(self, approval: Approval) -> bool:
        self._desk.approve(approval.node_id, person="bob")
        return super().add(approval)


def test_two_who_approve_at_once_approve_once(desk: Desk) -> None:
    desk.graph("g", node("a", risk="destructive"))
    current, log = desk.application.current, DecisionLogFiles(str(desk.root))
    late = Work(current, Overtaken(desk), log, FixedClock(NOW), SeededIds("late"), at_once)
    _, digest = finished(late.approvable("a", None))
    answer = finished(late.approve("a", None, "ada", digest))
    assert (answer.approved_by, answer.warnings) == ("bob", (f"this node was approved already, at {AT}",))
    assert [each["approved_by"] for each in desk.document("schedule/approvals.json")["approvals"]] == ["bob"]
    assert len(desk.lines("schedule/audit.jsonl")) == 1


def test_a_node_that_needs_none_can_be_approved_ahead(desk: Desk) -> None:
    desk.graph("g", node("a"))
    warning = "this node needs no approval under the present policy; it is recorded all the same"
    assert desk.approve("a")["warnings"] == [warning]
    assert desk.approve("a", person="bob")["warnings"] == [warning, f"this node was approved already, at {AT}"]
    # Without a policy the gates are those of the defaults, and reading the node needs none.
    desk.put("schedule/policy.json", {"slotz": 1})
    desk.graph("g", node("a", risk="destructive"))
    answer = desk.approve("a")
    assert (answer["warnings"], answer["next_step"]) == ([], AGAIN)


def test_what_still_stands_against_the_node_is_told(desk: Desk) -> None:
    rows = [node(f"w{number}") for number in range(7)]
    desk.graph("g", *rows, node("a", risk="destructive", depends_on=[row["node_id"] for row in rows]))
    left = "; ".join(f"not_ready(unfinished w{number})" for number in range(5))
    assert desk.approve("a")["next_step"] == f"Still against it: {left}. {AGAIN}"


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
