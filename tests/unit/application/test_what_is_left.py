"""What a report, a review and an end of the connection leave to whoever comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import InvalidInput
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

POLICY = "schedule/policy.json"


@pytest.mark.parametrize("state", ["blocked", "paused"])
def test_a_sentence_does_not_take_the_place_of_a_checkpoint(desk: Desk, state: str) -> None:
    desk.graph("g", node("a"))
    lease_id = desk.lease()
    desk.report(lease_id, "checkpointed", checkpoint={"checkpoint_id": "half", "uri": "s3://half"})
    desk.report(lease_id, state, note="needs a key")
    if state == "blocked":
        desk.wait(1)
        desk.flush()
        desk.wait(1)
        desk.update("a", status="ready")
    assert desk.claim("w1")["decisions"][0]["lease"]["resume_from"] == "half"


def test_a_review_holds_from_the_start_on_whatever_becomes_of_the_policy(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"g": {"review": True}}})
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    lease_id = desk.lease()
    desk.put(POLICY, {"slotz": 1})
    assert desk.beside("cli").report(lease_id, "completed")["node_status"] == "submitted"


def test_a_rejected_result_is_handed_to_nobody(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"g": {"review": True}}})
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    desk.report(desk.lease(), "completed", result={"summary": "wrong"})
    desk.review("a", accept=False, note="wrong")
    desk.flush()
    desk.wait(1)
    desk.set_row("a", status="completed")
    assert "inputs" not in desk.claim("w2")["decisions"][0]["dispatch_hints"]


def test_who_only_lost_the_connection_is_offered_its_node_first_again(desk: Desk) -> None:
    desk.graph("g", node("a", priority=2), node("b"))
    server = desk.beside()
    assert server.taken("w1") == ["a"]
    server.end()
    assert desk.taken("w1") == ["a"]


@pytest.mark.parametrize("ask", ["claim", "start"])
def test_a_call_that_cannot_be_granted_ends_no_session(desk: Desk, ask: str) -> None:
    desk.graph("g", node("a"), node("b"))
    lease_id, before = desk.lease(), desk.events()
    call, named = (desk.claim, "w1") if ask == "claim" else (desk.start, "b")
    with pytest.raises(InvalidInput, match="lease_seconds"):
        call(named, new_session=True, lease_seconds=999_999)
    assert desk.events() == before
    assert desk.report(lease_id, "running")["node_status"] == "active"


def test_work_does_not_stand_against_itself(desk: Desk) -> None:
    desk.graph("g", node("a", exclusive=["deploy"], touches=["src/**"], repository="p/r"))
    desk.lease()
    told = desk.status(node_id="a")["explain"]["reasons"]
    assert [each["reason"] for each in told] == ["leased"]
