"""What an agent cannot do by the way: pass a gate, end its own session unnoticed, or lose what it reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import ApprovalRequired, AuthForbidden, InvalidInput, NodeNotEligible
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk, Json

POLICY = "schedule/policy.json"


def test_what_a_person_must_approve_an_agent_does_not_call_done(desk: Desk) -> None:
    desk.graph("g", node("a", risk="destructive"), node("b", depends_on=["a"]))
    with pytest.raises(ApprovalRequired) as caught:
        desk.update("a", status="completed")
    assert caught.value.hint == "Ask for it: metagit-mcp work approve a --graph-id g."
    desk.approve("a")
    assert desk.update("a", status="completed")["node"]["status"] == "completed"


def test_where_work_is_reviewed_an_agent_does_not_call_it_done(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"g": {"review": True}}})
    desk.graph("g", node("a"))
    with pytest.raises(AuthForbidden, match="reviewed by a person"):
        desk.update("a", status="completed")
    # A person does, on the command line or through a server that speaks for one.
    assert desk.beside("cli").update("a", status="completed")["changed"] is True


def test_a_refused_start_says_that_the_session_is_a_new_one(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    desk.lease()
    with pytest.raises(NodeNotEligible) as caught:
        desk.start("b", new_session=True)
    assert caught.value.message.endswith("The new session of w1 is open all the same: what it worked on is queued.")
    assert caught.value.details["new_session"] is True


def test_an_agent_that_works_on_a_node_is_given_its_lease_whatever_it_asks(desk: Desk) -> None:
    desk.graph("g", node("a"))
    lease_id = desk.lease()
    answer = desk.start("a", queue_only=True)
    assert (answer["lease"]["lease_id"], "ownership" in answer) == (lease_id, False)


def test_usage_that_is_not_named_is_as_it_was(desk: Desk) -> None:
    desk.graph("g", node("a"))
    lease_id = desk.lease()
    desk.report(lease_id, "running", usage={"tokens": 10})
    assert desk.report(lease_id, "completed", usage={"tool_calls": 3})["node_status"] == "completed"


@pytest.mark.parametrize(
    ("state", "fields", "message"),
    [
        ("failed", {"note": "n", "result": {"summary": "s"}}, "result: comes with completed, not with failed"),
        ("running", {"result": {"summary": "s"}}, "result: comes with completed, not with running"),
        (
            "completed",
            {"rate_limited": {"resource": "r", "until": "2999-01-01T00:00:00Z"}},
            "rate_limited: does not come with completed",
        ),
        ("blocked", {"note": "\u200b\u2060"}, "note: is required for blocked"),
    ],
)
def test_nothing_is_taken_and_then_dropped(desk: Desk, state: str, fields: Json, message: str) -> None:
    desk.graph("g", node("a"))
    lease_id, before = desk.lease(), desk.events()
    with pytest.raises(InvalidInput) as caught:
        desk.report(lease_id, state, **fields)
    assert (caught.value.message, desk.events()) == (message, before)


def test_an_act_that_does_not_count_is_told_once_to_whoever_works_there(desk: Desk) -> None:
    desk.graph("g", node("a"))
    lease_id = desk.lease()
    desk.flush()
    desk.wait(1)
    desk.set_row("a", status="ready", updated_at="2026-12-01T12:00:01+00:00")
    desk.look_after()
    (warning,) = desk.report(lease_id, "running")["warnings"]
    assert warning == (
        "graph g: node a was set back by another program while it is leased or under review; that is ignored"
    )
    assert desk.report(lease_id, "running")["warnings"] == []
