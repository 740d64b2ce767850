"""Offers, admission and ownership: the requirements D of docs/reference/conformance.md."""

from pathlib import Path
from typing import Any

import pytest

from metagit_mcp.domain.commands import Against, StartWork
from metagit_mcp.domain.events import WorkAccepted
from metagit_mcp.domain.instant import expiry_after
from metagit_mcp.domain.limits import RetryPolicy
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.errors import InvalidStateTransition, MetagitError, WorkAlreadyOwned
from tests.requirements.asked import desk_of
from tests.unit.domain.played import NOON, Played, row


def refused(played: Played, **more: Any) -> MetagitError:  # noqa: ANN401 - the fields of a command
    played.enter()
    with pytest.raises(MetagitError) as caught:
        played.do(StartWork(**{"graph_id": "g", "node_id": "n", "agent_id": "ada", **more}))
    return caught.value


def word_for(kind: str) -> tuple[str, object]:
    """The code and the one word with which a start is refused that has this reason against it."""
    error = refused(Played(), against=(Against(kind=kind, text=kind),))
    return error.code, error.details["reason"]


def test_admission_checks_what_could_stand_in_the_way() -> None:
    """Claims D1, D3."""
    found = {
        kind: word_for(kind)
        for kind in (
            "agent_slots",
            "no_slot",
            "group_quota",
            "resource_busy",
            "capability_missing",
            "awaiting_approval",
            "not_ready",
            "blocked",
            "budget_exhausted",
            "paused",
        )
    }
    assert found == {
        "agent_slots": ("CAPACITY_EXCEEDED", "capacity"),
        "no_slot": ("CAPACITY_EXCEEDED", "capacity"),
        "group_quota": ("CAPACITY_EXCEEDED", "capacity"),
        "resource_busy": ("CAPACITY_EXCEEDED", "capacity"),
        "capability_missing": ("NODE_NOT_ELIGIBLE", "capability"),
        "awaiting_approval": ("NODE_NOT_ELIGIBLE", "authorization"),
        "not_ready": ("NODE_NOT_ELIGIBLE", "dependency"),
        "blocked": ("NODE_NOT_ELIGIBLE", "dependency"),
        "budget_exhausted": ("NODE_NOT_ELIGIBLE", "budget"),
        "paused": ("NODE_NOT_ELIGIBLE", "other"),
    }


def test_what_cannot_be_kept_is_declined_at_once() -> None:
    """Claims D2, D3."""
    late = refused(Played(), queue_only=True, finish_by=NOON, runtime_seconds=60)
    wide = refused(Played(), queue_only=True, against=(Against(kind="never_fits", text="never_fits"),))
    assert (late.code, late.details["reason"], late.details["reasons"]) == (
        "NODE_NOT_ELIGIBLE",
        "deadline",
        ["deadline(cannot be kept)"],
    )
    assert (wide.code, wide.details["reason"]) == ("NODE_NOT_ELIGIBLE", "capacity")


def test_advice_reserves_nothing(tmp_path: Path) -> None:
    """Claims D4."""
    desk = desk_of(tmp_path, {"node_id": "n", "title": "N"})
    offered = [desk.next(agent_id=name)["decisions"][0]["node_id"] for name in ("ada", "bob", "cleo")]
    assert (offered, desk.path("schedule/ledger.db").exists()) == (["n", "n", "n"], False)
    assert desk.next(agent_id="cleo", claim=True)["decisions"][0]["lease"]["agent_id"] == "cleo"


def test_the_first_start_wins_and_the_others_are_told() -> None:
    """Claims D6."""
    played = Played()
    lease_id = played.start(agent_id="ada")
    played.enter("bob")
    with pytest.raises(WorkAlreadyOwned) as caught:
        played.ask(StartWork(graph_id="g", node_id="n", agent_id="bob"))
    assert caught.value.details["owner"] == "ada"
    assert (list(played.state.leases), played.item().ownership_epoch) == ([lease_id], 1)


def test_a_grant_has_an_epoch_of_its_own_and_a_start_by_deadline() -> None:
    """Claims D7."""
    played = Played()
    played.accept(agent_id="ada")
    first = played.events[-1]
    played.wait(3_600)
    played.lapse()
    played.accept(agent_id="bob")
    second = played.events[-1]
    assert isinstance(first, WorkAccepted)
    assert isinstance(second, WorkAccepted)
    assert (first.ownership_epoch, second.ownership_epoch) == (1, 2)
    assert second.start_by == expiry_after(played.now, 3_600)


def test_a_limit_refuses_more_and_drops_nothing_that_was_accepted() -> None:
    """Claims D8."""
    played = Played(SchedulePolicy(queue_capacity=2))
    played.accept("a")
    played.accept("b")
    error = refused(played, node_id="c", queue_only=True)
    assert (error.code, error.details["reasons"]) == ("CAPACITY_EXCEEDED", ["queue_capacity(limit 2)"])
    played.policy = SchedulePolicy(queue_capacity=0)
    assert played.lapse() == []
    assert [played.item(name).state for name in ("a", "b")] == ["queued", "queued"]
    assert played.start("a") in played.state.leases


def test_failed_work_is_offered_again_and_finished_work_is_not() -> None:
    """Claims D9."""
    played = Played(SchedulePolicy(retries=RetryPolicy(max_attempts=2)))
    played.report(played.start("a"), "failed", "broke")
    assert played.item("a").state == "open"
    again = played.start("a", "bob")
    assert played.state.leases[again].ownership_epoch == 2
    played.report(again, "completed")
    played.start("b")
    played.lapse(row("cancelled", after=1, node_id="b"))
    states = []
    for name in ("a", "b"):
        with pytest.raises(InvalidStateTransition) as caught:
            played.start(name, "cleo")
        states.append(caught.value.details["state"])
    assert states == ["completed", "cancelled"]


def test_a_claim_records_why_this_node(tmp_path: Path) -> None:
    """Claims D10."""
    desk = desk_of(tmp_path, {"node_id": "n", "title": "N", "priority": 2}, {"node_id": "m", "title": "M"})
    made = desk.next(agent_id="ada", claim=True)["decisions"][0]
    (logged,) = desk.lines("schedule/decisions.jsonl")
    names = ("decision_id", "node_id", "agent_id", "score", "reasons", "factors")
    assert {name: logged[name] for name in names} == {name: made[name] for name in names}
    assert made["reasons"][0] == "priority=2"
