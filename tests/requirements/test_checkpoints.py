"""Checkpoints and preemption: the requirements F of docs/reference/conformance.md."""

from pathlib import Path

import pytest

from metagit_mcp.domain.commands import PauseScheduling
from metagit_mcp.domain.events import WorkPaused
from metagit_mcp.domain.instant import expiry_after
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.share_events import PreemptionRequested
from metagit_mcp.errors import InvalidInput
from tests.requirements.asked import desk_of
from tests.unit.adapters.reading import node
from tests.unit.domain.played import Played, row


def test_nothing_interrupts_work_under_way() -> None:
    """Claims F1."""
    played = Played()
    lease_id = played.start()
    played.do(PauseScheduling(scope="workspace", name="", by="eve"))
    played.policy = SchedulePolicy(slots=1, agent_slots=0, queue_capacity=0)
    played.lapse(row("ready", after=1))
    played.happen(asked(played, lease_id))
    assert (played.lease().lease_id, played.item().state) == (lease_id, "active")
    # Whoever is asked to pause may as well come to an end.
    assert played.report(lease_id, "completed").refusal is None


def asked(played: Played, lease_id: str) -> PreemptionRequested:
    return PreemptionRequested(at=played.now.wall, lease_id=lease_id, graph_id="hot", node_id="u", slots=1)


def test_preemption_asks_and_the_work_pauses_frees_its_slot_and_is_queued(tmp_path: Path) -> None:
    """Claims F2."""
    desk = desk_of(tmp_path, node("a", estimated_tokens=4000))
    groups = {"g": {"class": "low"}, "hot": {"class": "critical"}}
    desk.put("schedule/policy.json", {"slots": 1, "groups": groups, "preemption": {"min_quantum_seconds": 60}})
    lease_id = desk.lease("victim")
    desk.report(lease_id, "running", usage={"tokens": 4000})
    desk.wait(60)
    desk.graph("hot", node("u"))
    # 1. Asked, by whoever finds no slot free.
    assert desk.taken("other") == []
    assert desk.report(lease_id, "running")["preempt_requested"] is True
    # 2. and 3. A checkpoint, and the pause.
    with pytest.raises(InvalidInput):
        desk.report(lease_id, "paused")
    desk.report(lease_id, "checkpointed", note="half done")
    paused = desk.report(lease_id, "paused")
    # 4. and 5. The slot is free, and the work is queued; the slot is for the one for whom it was asked.
    assert (paused["released_slot"], paused["node_status"]) == (True, "queued")
    assert desk.taken("other") == ["u"]
    item = desk.application.current.state.items["g"]["a"]
    assert (item.owner, item.preemptions, item.checkpoint and item.checkpoint.note) == ("victim", 1, "half done")


def test_work_goes_on_later_from_its_latest_checkpoint() -> None:
    """Claims F3."""
    played = Played()
    lease_id = played.start()
    for note in ("a third", "two thirds"):
        played.report(lease_id, "checkpointed", note)
    latest = played.item().checkpoint
    played.report(lease_id, "released")
    resumed = played.state.leases[played.start(agent_id="bob")]
    assert latest is not None
    assert (latest.note, resumed.resumed_from) == ("two thirds", latest.checkpoint_id)


def test_a_pause_at_a_checkpoint_leaves_the_work_queued_with_its_owner_for_a_time() -> None:
    """Claims F4."""
    played = Played()
    lease_id = played.start()
    with pytest.raises(InvalidInput) as caught:
        played.report(lease_id, "paused")
    assert caught.value.details["field"] == "checkpoint"
    (paused,) = played.report(lease_id, "paused", "half done").events
    assert isinstance(paused, WorkPaused)
    assert paused.checkpoint is not None
    assert (paused.checkpoint.note, paused.start_by) == ("half done", expiry_after(played.now, 3_600))
    item = played.item()
    assert (item.state, item.owner, item.ownership_epoch, item.until) == ("queued", "ada", 1, paused.start_by)
    assert played.state.leases == {}
