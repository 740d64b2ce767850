"""Checkpoints and preemption: the requirements F of docs/reference/conformance.md."""

import pytest

from metagit_mcp.domain.commands import PauseScheduling
from metagit_mcp.domain.events import WorkPaused
from metagit_mcp.domain.instant import expiry_after
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.errors import InvalidInput
from tests.unit.domain.played import Played, row


def test_nothing_interrupts_work_under_way() -> None:
    """Claims F1."""
    played = Played()
    lease_id = played.start()
    played.do(PauseScheduling(scope="workspace", name="", by="eve"))
    played.policy = SchedulePolicy(slots=1, agent_slots=0, queue_capacity=0)
    played.lapse(row("ready", after=1))
    assert (played.lease().lease_id, played.item().state) == (lease_id, "active")
    assert played.report(lease_id, "completed").refusal is None


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
