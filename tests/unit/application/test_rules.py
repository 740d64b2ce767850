"""An approval is a person's word on a node as it stood, for one ownership; a pause lets nothing new start."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import NodeNotEligible, NodeNotFound, RevisionConflict
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW

if TYPE_CHECKING:
    from metagit_mcp.domain.work import PauseScope
    from tests.unit.application.desk import Desk, Json

AT = "2026-12-01T12:00:00Z"
AGAIN = "A change of its title, dependencies, repository or risk asks again."
NEXT_STEP = f"The node may run now. {AGAIN}"
APPROVED_BEFORE = [f"this node was approved already, at {AT}"]


def reasons(desk: Desk, node_id: str) -> list[str]:
    """Everything against a node."""
    return [each["text"] for each in desk.status(node_id=node_id)["explain"]["reasons"]]


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
        "payload": {"graph_id": "g", "node_id": "a", "approved_by": "ada"},
    }
    assert desk.events() == ["approval_granted"]
    assert not desk.path("schedule/approvals.json").exists()


def test_approving_twice_keeps_the_first(desk: Desk) -> None:
    desk.graph("g", node("a", approval="human_required"), node("b", approval="human_required"))
    desk.approve("b")
    assert desk.approve("a", person="ada")["warnings"] == []
    again = desk.beside().approve("a", person="bob")
    assert (again["approved_by"], again["warnings"]) == ("ada", APPROVED_BEFORE)
    assert desk.events() == ["approval_granted"] * 2
    assert len(desk.lines("schedule/audit.jsonl")) == 2
    desk.update("a", title="Another")
    assert reasons(desk, "a") == ["awaiting_approval"]
    assert desk.approve("a", person="bob")["warnings"] == []
    assert desk.taken() == ["a"]


def test_an_approval_of_before_the_ledger_counts(desk: Desk) -> None:
    desk.graph("g", node("a", risk="destructive"), node("b"))
    _, digest = finished(desk.application.rules.approvable("a", "g"))
    row = {"graph_id": "g", "node_id": "a", "epoch": 1, "digest": digest, "approved_by": "eve", "at": NOW.isoformat()}
    desk.put("schedule/approvals.json", {"approvals": [row]})
    assert reasons(desk, "a") == []
    again = desk.approve("a")
    assert (again["approved_by"], again["warnings"]) == ("eve", APPROVED_BEFORE)
    assert (desk.events(), desk.lines("schedule/audit.jsonl")) == ([], [])
    # It holds beside the ledger too, for the first ownership alone.
    assert desk.start("b", agent_id="w2")["lease"]["node_id"] == "b"
    lease_id = desk.start("a")["lease"]["lease_id"]
    desk.report(lease_id, "released")
    assert reasons(desk, "a") == ["awaiting_approval"]


def test_each_ownership_asks_for_its_own_approval(desk: Desk) -> None:
    desk.graph("g", node("a", risk="destructive"))
    desk.approve("a")
    for epoch in (1, 2):
        lease = desk.start("a")["lease"]
        assert lease["ownership_epoch"] == epoch
        # What is owned is approved for this ownership; that is no word on the next one.
        assert desk.approve("a", person="bob")["warnings"] == APPROVED_BEFORE
        desk.report(lease["lease_id"], "released")
        with pytest.raises(NodeNotEligible) as caught:
            desk.start("a")
        assert caught.value.details == {
            "graph_id": "g",
            "node_id": "a",
            "reason": "authorization",
            "reasons": ["awaiting_approval"],
        }
        assert desk.approve("a")["warnings"] == []


def test_an_approval_given_while_owned_is_for_that_ownership(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.start("a", queue_only=True)
    desk.update("a", risk="destructive")
    with pytest.raises(NodeNotEligible, match="awaiting_approval"):
        desk.start("a")
    assert desk.approve("a")["next_step"] == NEXT_STEP
    assert desk.start("a")["lease"]["ownership_epoch"] == 1


def test_a_node_that_needs_none_can_be_approved_ahead(desk: Desk) -> None:
    desk.graph("g", node("a"))
    warning = "this node needs no approval under the present policy; it is recorded all the same"
    assert desk.approve("a")["warnings"] == [warning]
    assert desk.approve("a", person="bob")["warnings"] == [warning, *APPROVED_BEFORE]
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
    rules = desk.application.rules
    shown, digest = finished(rules.approvable("a", "g"))
    assert (shown.node_id, shown.risk) == ("a", "destructive")
    desk.graph("g", node("a", risk="destructive", repository="p/other"))
    with pytest.raises(RevisionConflict, match="Node a changed while it was looked at"):
        finished(rules.approve("a", "g", "ada", digest))
    with pytest.raises(NodeNotFound):
        finished(rules.approve("b", "g", "ada", digest))
    assert desk.events() == []


# --- pauses --------------------------------------------------------------------------------------------------------

PAUSED: Json = {"scope": "workspace", "name": "", "by": "ada", "at": AT}
SEE = "metagit-mcp schedule status shows what runs and what waits."


def test_a_pause_lets_nothing_new_start_until_it_is_resumed(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    lease_id = desk.lease()
    answer = {"pauses": [PAUSED], "changed": True, "warnings": [], "next_step": SEE}
    assert desk.pause("workspace") == answer
    assert desk.beside().pause("workspace") == {**answer, "changed": False}
    assert desk.taken("w2") == []
    with pytest.raises(NodeNotEligible, match=r"paused\(workspace, by ada\)"):
        desk.start("b", agent_id="w2")
    assert desk.status()["pauses"] == [PAUSED]
    # What runs goes on.
    assert desk.report(lease_id, "completed")["node_status"] == "completed"
    assert desk.resume("workspace") == {**answer, "pauses": []}
    assert desk.resume("workspace") == {**answer, "pauses": [], "changed": False}
    assert desk.beside().taken("w2") == ["b"]


def test_a_pause_can_be_of_a_part_and_end_by_itself(desk: Desk) -> None:
    desk.put("schedule/policy.json", {"resources": {"db": {"capacity": 2}}, "agent_slots": 9})
    desk.graph("g", node("a"))
    desk.graph("h", node("b"), node("c", uses={"db": 1}))
    until = NOW + timedelta(seconds=60)
    desk.pause("group", "g", reason="a freeze", until=until)
    desk.pause("resource", "db")
    desk.pause("agent", "w2")
    assert desk.pause("agent", "w2", reason="rests")["pauses"] == [
        {"scope": "agent", "name": "w2", "by": "ada", "at": AT, "note": "rests"},
        {"scope": "group", "name": "g", "by": "ada", "at": AT, "note": "a freeze", "until": "2026-12-01T12:01:00Z"},
        {"scope": "resource", "name": "db", "by": "ada", "at": AT},
    ]
    assert desk.taken("w2", limit=9) == []
    assert desk.taken("w1", limit=9) == ["b"]
    desk.wait(60)
    assert desk.taken("w1", limit=9) == ["a"]
    desk.resume("resource", "db")
    assert desk.taken("w1", limit=9) == ["c"]


def test_a_pause_of_what_is_not_there_says_that_it_holds_nothing(desk: Desk) -> None:
    desk.graph("shop", node("a", uses={"gpu": 1}, exclusive=["port:80"]))
    desk.put("schedule/policy.json", {"agents": {"w*": {"uses": {"account": 1}}}})
    used = "used: account, gpu, port:80"
    told: dict[tuple[PauseScope, str], list[str]] = {
        ("workspace", ""): [],
        ("agent", "w9"): [],
        ("group", "shop"): [],
        ("group", "shpo"): ["no graph is called shpo so far, so this holds nothing; known: shop"],
        ("resource", "gpu"): [],
        ("resource", "port:80"): [],
        ("resource", "account"): [],
        ("resource", "gpus"): [f"nothing uses gpus so far, so this holds nothing; {used}"],
        ("resource", "a b"): [f"nothing uses (not a plain name) so far, so this holds nothing; {used}"],
    }
    assert {scope: desk.pause(*scope)["warnings"] for scope in told} == told
    assert desk.resume("group", "shpo")["warnings"] == []
    for number in range(12):
        desk.graph(f"g{number:02d}", node("a"))
    assert desk.pause("group", "shpo")["warnings"][0].endswith(
        "; known: g00, g01, g02, g03, g04, g05, g06, g07, g08, g09 and 3 more"
    )
    desk.path("tasks/graphs").rename(desk.path("tasks/away"))
    assert desk.pause("group", "x")["warnings"][0].endswith("; known: none")
