"""A command under an action id is carried out once: what is answered again, and what is another command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import ActionIdCollision, MetagitError, WorkStaleOwnership
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.application.desk import Desk, Json

POLICY = "schedule/policy.json"


def test_a_command_under_an_action_id_is_carried_out_once(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 9})
    desk.graph("g", node("a"), node("b"), node("c"))
    first = desk.claim(action_id="one")
    desk.wait(5)
    before = desk.events()
    assert desk.claim(action_id="one") == first
    assert desk.beside().claim(action_id="one") == first
    started = desk.start("b", action_id="two")
    assert desk.beside("cli").start("b", action_id="two") == started
    lease_id = first["decisions"][0]["lease"]["lease_id"]
    ended = desk.report(lease_id, "completed", action_id="three")
    assert desk.beside().report(lease_id, "completed", action_id="three") == ended
    with pytest.raises(WorkStaleOwnership):
        desk.report(lease_id, "completed", action_id="four")
    assert desk.events() == [*before, "work_started", "command_answered", "work_completed", "command_answered"]
    assert len(desk.lines("schedule/decisions.jsonl")) == 1


def test_a_first_reply_says_that_its_lease_has_ended_since(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 9})
    desk.graph("g", node("a"), node("b"))
    first = desk.claim(action_id="one")
    (lease_id,) = [each["lease"]["lease_id"] for each in first["decisions"]]
    started = desk.start("b", action_id="two", lease_seconds=60)
    running = desk.report(lease_id, "running", action_id="three")
    desk.report(lease_id, "released")
    desk.wait(61)
    told = "This is the first reply under action id {}: lease {} has ended since ({}), at {}. Ask again under a new {}."
    ended = told.format("{}", lease_id, "released", "2026-12-01T12:00:00Z", "action id")
    assert desk.claim(action_id="one") == {**first, "warnings": [ended.format("one")]}
    assert desk.report(lease_id, "running", action_id="three") == {**running, "warnings": [ended.format("three")]}
    expired = told.format("two", started["lease"]["lease_id"], "expired", "2026-12-01T12:01:01Z", "action id")
    assert desk.start("b", action_id="two", lease_seconds=60) == {**started, "warnings": [expired]}


def test_an_action_id_is_for_one_command_only(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    lease_id = desk.lease(action_id="one")
    before = desk.events()
    others: list[Callable[[], Json]] = [
        lambda: desk.claim(action_id="one", limit=2),
        lambda: desk.claim("w2", action_id="one"),
        lambda: desk.start("a", action_id="one"),
        lambda: desk.beside().report(lease_id, "running", action_id="one"),
    ]
    for other in others:
        with pytest.raises(ActionIdCollision) as caught:
            other()
        assert caught.value.details == {"action_id": "one"}
    assert desk.events() == before


def test_an_action_id_of_another_agent_is_another_command(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    first, second = desk.beside(), desk.beside()
    assert first.claim(None, action_id="1")["decisions"][0]["node_id"] == "a"
    with pytest.raises(ActionIdCollision):
        second.claim(None, action_id="1")
    first.start("a", agent_id=None, action_id="2")
    with pytest.raises(ActionIdCollision):
        second.start("a", agent_id=None, action_id="2")


def test_that_there_was_no_work_is_asked_anew_under_an_action_id(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    first = desk.lease("w1")
    assert desk.claim("w2", action_id="one")["decisions"] == []
    assert desk.claim("w1", action_id="two")["held"][0]["lease_id"] == first
    desk.report(first, "completed")
    assert desk.taken("w2", action_id="one") == ["b"]
    assert desk.claim("w1", action_id="two")["held"] == []


def test_a_refused_command_leaves_its_action_id_free(desk: Desk) -> None:
    desk.graph("g", node("a", risk="destructive"))
    for error in (MetagitError, MetagitError):
        with pytest.raises(error):
            desk.start("a", action_id="one")
    desk.approve("a")
    assert desk.start("a", action_id="one")["lease"]["node_id"] == "a"
