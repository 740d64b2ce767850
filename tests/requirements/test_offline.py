"""Agents that are cut off for a time: the requirements H of docs/reference/conformance.md."""

from pathlib import Path
from typing import Any

import pytest

from metagit_mcp.domain.commands import CheckpointGiven
from metagit_mcp.domain.events import EvidenceKept, UsageReported, WorkCheckpointed, WorkPaused
from metagit_mcp.domain.work import Result, Usage
from metagit_mcp.errors import InvalidInput, LeaseNotFound, MetagitError, WorkLeaseExpired
from tests.groups.offered import CAPABLE, CODER, at_the_beginning, deliver, offering
from tests.requirements.asked import desk_of
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk
from tests.unit.domain.played import Played, kinds

GROUP = "group:cli"


def code_of(played: Played, lease_id: str, state: str) -> str:
    """The code with which a report is refused."""
    try:
        refusal = played.report(lease_id, state, "what I did meanwhile").refusal
    except MetagitError as error:
        refusal = error
    return "" if refusal is None else refusal.code


def commands(desk: Desk) -> list[str]:
    """What the Group is to be asked for."""
    every = finished(desk.application.groups.outbox(GROUP)).proposals
    return [each.command for each in every if each.command != "schedule.estimate"]


def test_work_under_way_goes_on_unheard_of_until_its_lease_ends() -> None:
    """Claims H1."""
    played = Played()
    lease_id, late = played.start("a"), played.start("b", agent_id="bob")
    seconds = played.policy.leases.unattended_seconds
    played.wait(seconds - 1)
    assert played.lapse() == []
    point = CheckpointGiven(checkpoint_id="c", note="as far as I came")
    assert played.report(lease_id, "checkpointed", checkpoint=point, usage=Usage(tokens=9)).refusal is None
    assert (played.item("a").checkpoint, played.item("a").state) != (None, "open")
    played.wait(1)
    assert kinds(played.lapse()) == ["LeaseExpired"]
    assert (played.item("a").state, played.item("b").state) == ("active", "open")
    assert code_of(played, late, "checkpointed") == "WORK_LEASE_EXPIRED"


def test_nothing_starts_or_goes_on_without_a_live_lease(tmp_path: Path) -> None:
    """Claims H2."""
    desk = desk_of(tmp_path / "ws", node("a"), node("b"))
    owned = desk.start("a", queue_only=True)
    assert "lease" not in owned
    with pytest.raises(LeaseNotFound):
        desk.report("L-NEVERGRANTED", "running")
    lease_id = desk.start("b")["lease"]["lease_id"]
    desk.wait(desk.policy()["policy"]["leases"]["max_seconds"])
    for state in ("running", "checkpointed", "completed"):
        with pytest.raises(WorkLeaseExpired):
            desk.report(lease_id, state, note="still at it")
    # It is nobody's until it is started anew, under another lease.
    assert desk.settled("b") == "open"
    assert desk.start("b")["lease"]["lease_id"] != lease_id


def test_what_comes_too_late_is_kept_and_the_work_asked_for_again(tmp_path: Path) -> None:
    """Claims H3."""
    (tmp_path / "ws" / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = at_the_beginning(Desk(tmp_path / "ws"))
    deliver(desk, offering(GROUP).log, GROUP)
    lease_id = desk.lease(CODER, capabilities=CAPABLE, lease_seconds=60)
    desk.report(lease_id, "checkpointed", checkpoint={"checkpoint_id": "half", "note": "half"})
    asked = commands(desk)
    desk.wait(61)
    with pytest.raises(WorkLeaseExpired):
        desk.report(lease_id, "completed", result={"summary": "all of it"})
    (item,) = desk.application.current.state.items[GROUP].values()
    assert [(each.lease_id, each.result) for each in item.evidence] == [(lease_id, Result(summary="all of it"))]
    assert (item.state, item.result) != ("submitted", Result(summary="all of it"))
    # Nothing of it was submitted to the Group.
    assert "work.submit" not in commands(desk)
    assert set(commands(desk)) <= set(asked)
    again: dict[str, Any] = desk.claim(CODER, capabilities=CAPABLE)["decisions"][0]
    assert again["lease"]["resume_from"] == "half"
    assert again["lease"]["lease_id"] != lease_id


def test_usage_and_progress_are_charged_together_or_not_at_all() -> None:
    """Claims H5."""
    played = Played()
    lease_id = played.start(budget={"tokens": 10})
    used = Usage(tokens=4)
    with pytest.raises(InvalidInput):
        played.report(lease_id, "checkpointed", usage=used)
    assert (played.lease().usage, played.item().checkpoint) == (Usage(), None)
    done = played.report(lease_id, "checkpointed", "half", usage=used)
    assert [type(each) for each in done.events][:2] == [UsageReported, WorkCheckpointed]
    assert played.lease().usage == used
    over = played.report(lease_id, "checkpointed", "more", usage=Usage(tokens=11))
    assert [type(each) for each in over.events] == [UsageReported, WorkPaused]
    assert over.refusal is not None
    assert (over.refusal.code, played.item().spent) == ("BUDGET_EXCEEDED", Usage(tokens=11))
    assert EvidenceKept not in {type(each) for each in over.events}
