"""Blocking, retries and progress: the requirements G of docs/reference/conformance.md."""

from datetime import timedelta

import pytest

from metagit_mcp.domain.commands import CheckpointGiven
from metagit_mcp.domain.events import WorkBlocked, WorkCheckpointed, WorkParked
from metagit_mcp.domain.instant import expiry_after
from metagit_mcp.domain.limits import RetryPolicy
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.side_effects import side_effect_key
from metagit_mcp.domain.work import Attempt, Usage
from metagit_mcp.errors import InvalidInput
from tests.unit.domain.played import NOON, Played, row

RETRIES = SchedulePolicy(retries=RetryPolicy(max_attempts=3, backoff_seconds=60, max_backoff_seconds=100))


def blocked() -> tuple[Played, WorkBlocked]:
    """A node whose holder just said that it waits for a decision."""
    played = Played()
    (event,) = played.report(played.start(), "blocked", "which customers do we keep?").events
    assert isinstance(event, WorkBlocked)
    return played, event


def test_blocking_keeps_a_checkpoint() -> None:
    """Claims G1."""
    played, event = blocked()
    assert event.checkpoint is not None
    assert played.item().checkpoint == event.checkpoint
    assert event.checkpoint.lease_id == event.lease_id


def test_blocking_says_what_is_needed() -> None:
    """Claims G2."""
    played, event = blocked()
    assert (event.note, played.item().note) == ("which customers do we keep?", "which customers do we keep?")
    lease_id = played.start("m")
    with pytest.raises(InvalidInput) as caught:
        played.report(lease_id, "blocked", checkpoint=CheckpointGiven(checkpoint_id="c"))
    assert (caught.value.details["field"], played.item("m").state) == ("note", "active")


def test_blocking_frees_the_slot() -> None:
    """Claims G3."""
    played, event = blocked()
    assert (played.state.leases, played.state.closed[event.lease_id].closure) == ({}, "blocked")


def test_blocked_work_keeps_its_owner_for_a_bounded_time() -> None:
    """Claims G4."""
    played, event = blocked()
    assert (played.item().owner, event.until) == ("ada", expiry_after(played.now, 86_400))
    played.wait(86_400)
    played.lapse()
    assert (played.item().state, played.item().owner, played.item().note) == ("blocked", None, event.note)


def test_unblocked_work_returns_to_its_queue() -> None:
    """Claims G5."""
    played, _ = blocked()
    played.lapse(row("ready", after=1))
    assert (played.item().state, played.item().owner) == ("queued", "ada")
    played, _ = blocked()
    played.wait(86_400)
    played.lapse()
    played.lapse(row("ready", after=86_401))
    assert (played.item().state, played.item().owner) == ("open", None)


def failed(played: Played, times: int) -> list[int | None]:
    """After how many seconds each failure may be tried again."""
    waits: list[int | None] = []
    for _ in range(times):
        played.report(played.start(), "failed", "broke")
        retry_at = played.item().retry_at
        waits.append(None if retry_at is None else round((retry_at - played.now.wall) / timedelta(seconds=1)))
    return waits


def test_retries_are_bounded_by_number_and_spaced_by_a_growing_wait() -> None:
    """Claims G6."""
    played = Played(RETRIES)
    assert failed(played, 3) == [60, 100, None]
    assert (played.item().state, played.item().failures) == ("parked", 3)


def test_a_budget_ends_the_attempts_at_it() -> None:
    """Claims G6."""
    played = Played()
    lease_id = played.start(budget={"cost_micros": 10})
    decided = played.report(lease_id, "running", usage=Usage(cost_micros=11))
    assert decided.refusal is not None
    assert (decided.refusal.code, played.item().state, played.item().spent) == (
        "BUDGET_EXCEEDED",
        "queued",
        Usage(cost_micros=11),
    )


def key_of(played: Played, lease_id: str) -> str:
    lease = played.state.leases[lease_id]
    return side_effect_key("urn:m", lease.node_id, lease.ownership_epoch, "deploy")


def test_every_try_of_one_ownership_has_the_same_key_outside() -> None:
    """Claims G7."""
    played = Played()
    first = played.start()
    key = key_of(played, first)
    played.report(first, "paused", "half done")
    again = played.start()
    assert key_of(played, again) == key
    played.report(again, "released")
    assert key_of(played, played.start(agent_id="bob")) != key


def test_the_last_failure_parks_the_node_with_what_was_tried() -> None:
    """Claims G8."""
    played = Played(RETRIES)
    failed(played, 2)
    (event,) = played.report(played.start(agent_id="bob"), "failed", "broke for good").events
    assert isinstance(event, WorkParked)
    assert (played.item().state, played.item().note) == ("parked", "broke for good")
    assert played.item().attempts == (
        Attempt(agent_id="ada", at=NOON, outcome="failed", note="broke"),
        Attempt(agent_id="ada", at=NOON, outcome="failed", note="broke"),
        Attempt(agent_id="bob", at=NOON, outcome="failed", note="broke for good"),
    )


def test_progress_is_told_in_fields() -> None:
    """Claims G9."""
    played = Played()
    lease_id = played.start()
    given = CheckpointGiven(checkpoint_id="c-1", uri="file:notes", digest="sha256:0", note="the tests are next")
    usage = Usage(tokens=10, seconds=5)
    events = played.report(lease_id, "checkpointed", checkpoint=given, usage=usage).events
    (point,) = [event.checkpoint for event in events if isinstance(event, WorkCheckpointed)]
    assert (point.checkpoint_id, point.uri, point.digest, point.note) == (
        "c-1",
        "file:notes",
        "sha256:0",
        "the tests are next",
    )
    assert played.lease().usage == usage


def test_a_cancelled_node_leaves_nobody_a_lease() -> None:
    """Claims G10."""
    played = Played()
    lease_id = played.start()
    played.lapse(row("cancelled", after=1))
    assert (played.item().state, played.state.leases) == ("cancelled", {})
    refusal = played.report(lease_id, "completed", "late").refusal
    assert refusal is not None
    assert refusal.code == "WORK_STALE_OWNERSHIP"
