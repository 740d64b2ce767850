"""A command is one turn: all of it happens or nothing, and a refusal leaves only what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters import fault_points
from metagit_mcp.application.work.claims import Claims
from metagit_mcp.errors import NodeNotEligible, StoreUnavailable
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from collections.abc import Callable

    from metagit_mcp.application.turns.turn import Turn
    from tests.unit.application.desk import Desk, Json

POLICY = "schedule/policy.json"


def test_a_turn_that_breaks_off_leaves_nothing(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.lease()
    before = desk.events()

    def broken(turn: Turn) -> None:
        desk.application.work._claims.enter(turn, "w2", None, new_session=False)  # noqa: SLF001 - some of a turn
        assert "w2" in turn.state.sessions
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        finished(desk.application.current.command(broken))
    assert desk.events() == before
    # The same process goes on from what is there.
    assert [each["node_id"] for each in desk.next(preview=True)["decisions"]] == ["b"]
    assert desk.application.current.state.sessions.keys() == {"w1"}
    assert desk.taken("w2") == ["b"]


@pytest.mark.parametrize("point", ["ledger.begun", "ledger.appended"])
def test_a_turn_that_cannot_be_kept_did_not_happen(desk: Desk, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.lease("w1")
    desk.flush()
    before, rows = desk.events(), desk.statuses()

    def fail() -> None:
        raise StoreUnavailable("The disk is full.")

    with monkeypatch.context() as full:
        full.setitem(fault_points._armed, point, fail)  # noqa: SLF001 - a fault without a process to kill
        asked: list[Callable[[], Json]] = [
            lambda: desk.claim("w2"),
            lambda: desk.pause("workspace"),
            lambda: desk.release("a"),
        ]
        for ask in asked:
            with pytest.raises(StoreUnavailable, match="The disk is full"):
                ask()
    desk.flush()
    assert (desk.events(), desk.statuses()) == (before, rows)
    assert [each["node_id"] for each in desk.next(preview=True)["decisions"]] == ["b"]
    assert [each["node_id"] for each in desk.status()["running"]] == ["a"]
    assert desk.taken("w2") == ["b"]


def test_of_several_nodes_none_is_taken_without_the_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.put(POLICY, {"agent_slots": 9})
    desk.graph("g", node("a"), node("b"))
    take, calls = Claims._take, []  # noqa: SLF001 - the second of two

    def second_fails(*given: object) -> object:
        calls.append(given)
        if len(calls) > 1:
            raise RuntimeError
        return take(*given)  # type: ignore[arg-type]  # what it was called with

    with monkeypatch.context() as broken:
        broken.setattr(Claims, "_take", second_fails)
        with pytest.raises(RuntimeError):
            desk.claim(limit=2)
    assert desk.events() == []
    assert desk.taken(limit=2) == ["a", "b"]


def test_a_refusal_leaves_what_happened_without_a_command(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b", risk="destructive"))
    desk.lease()
    desk.wait(900)
    with pytest.raises(NodeNotEligible):
        desk.start("b")
    assert desk.events() == ["session_opened", "work_started", "lease_expired"]


def test_a_long_ledger_is_read_from_its_snapshot(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagit_mcp.application.turns.ledger._SNAPSHOT_AFTER", 10)
    desk.graph("g", node("a"))
    for _ in range(6):
        desk.report(desk.lease(), "released")
    later = desk.beside()
    assert later.status(node_id="a")["explain"]["runnable"] is True
    (decision,) = later.claim("w2")["decisions"]
    assert decision["lease"]["ownership_epoch"] == 7
    assert len(decision["dispatch_hints"]["attempts"]) == 5
    assert desk.next(preview=True)["runnable_count"] == 0
    assert later.application.current.state == desk.application.current.state
