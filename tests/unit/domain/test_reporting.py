"""What the holder of a lease may report, and what follows: progress, ends, usage and budgets, resources, retries."""

from datetime import timedelta
from typing import Any

import pytest

from metagit_mcp.domain.commands import CheckpointGiven, RateLimited, ReportState
from metagit_mcp.domain.events import (
    LeaseRenewed,
    ResourceClosed,
    ResourceReopened,
    UsageReported,
    WorkBlocked,
    WorkCheckpointed,
    WorkCompleted,
    WorkFailed,
    WorkPaused,
    WorkReleased,
    WorkSubmitted,
)
from metagit_mcp.domain.instant import expiry_after
from metagit_mcp.domain.limits import RetryPolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.reporting import renewed
from metagit_mcp.domain.work import Attempt, Checkpoint, Holding, Result, Usage
from metagit_mcp.errors import AuthForbidden, InvalidInput
from tests.unit.domain.played import NOON, Played, kinds

LEASE = "L-AAAAAAAAAAAB"


def point(checkpoint_id: str = "C-AAAAAAAAAAAC", **more: Any) -> Checkpoint:  # noqa: ANN401 - fields of a checkpoint
    return Checkpoint(**{"checkpoint_id": checkpoint_id, "at": NOON, "lease_id": LEASE, **more})


def started(**more: Any) -> Played:  # noqa: ANN401 - the fields of a start
    played = Played(more.pop("policy", None))
    played.start(**more)
    return played


# --- progress ---


def test_a_heartbeat_extends_the_lease() -> None:
    played = started()
    assert played.report(LEASE, "running").events == ()
    played.wait(60)
    decided = played.report(LEASE, "running", "fine", agent_id="ada")
    expiry = expiry_after(played.now, 14_400)
    at = played.now.wall
    assert decided.events == (LeaseRenewed(at=at, lease_id=LEASE, expiry=expiry, term_seconds=14_400),)
    assert decided.lease_id == LEASE
    lease = played.lease()
    assert (lease.expiry, lease.renewal_count, lease.last_renewed_at) == (expiry, 1, at)


def test_a_lease_is_never_shortened() -> None:
    played = started(lease_seconds=86_400)
    before = played.lease().expiry
    # Another boot, whose clock is behind.
    played.now = type(played.now)(wall=NOON - timedelta(days=2), boot_id="other", ticks_ms=0)
    assert played.report(LEASE, "running").events == ()
    assert played.lease().expiry == before
    assert list(renewed(played.state, "L-unknown", played.now)) == []


def test_a_lease_that_ran_out_is_not_renewed() -> None:
    played = started(attended=True)
    played.wait(899)
    assert len(list(renewed(played.state, LEASE, played.now))) == 1
    played.wait(1)
    assert list(renewed(played.state, LEASE, played.now)) == []


def test_a_clock_set_back_shortens_no_lease_of_this_boot() -> None:
    played = started()
    played.wait(10)
    played.now = type(played.now)(wall=NOON - timedelta(days=1), boot_id="boot", ticks_ms=played.now.ticks_ms)
    assert kinds(played.report(LEASE, "running").events) == ["LeaseRenewed"]
    assert played.lease().expiry.ticks_ms == 10_000 + 14_400_000


def test_a_checkpoint_is_durable_and_its_content_stays_with_the_agent() -> None:
    played = started()
    played.wait(1)
    given = CheckpointGiven(checkpoint_id="mine", uri="file:///x", digest="sha256:1", note="half")
    events = played.report(LEASE, "checkpointed", "a note", checkpoint=given).events
    kept = point("mine", at=played.now.wall, uri="file:///x", digest="sha256:1", note="half")
    assert events[0] == WorkCheckpointed(at=played.now.wall, lease_id=LEASE, checkpoint=kept)
    assert kinds(events[1:]) == ["LeaseRenewed"]
    assert (played.item().checkpoint, played.item().state) == (kept, "active")


def test_a_checkpoint_is_made_from_the_note() -> None:
    played = started()
    played.report(LEASE, "checkpointed", "half")
    assert played.item().checkpoint == point(note="half")
    played.report(LEASE, "checkpointed", "more", checkpoint=CheckpointGiven(uri="u"))
    assert played.item().checkpoint == point("C-AAAAAAAAAAAD", uri="u", note="more")


@pytest.mark.parametrize("state", ["running", "completed", "failed", "released"])
def test_a_checkpoint_that_comes_with_another_report_is_kept(state: ReportState) -> None:
    played = started()
    played.report(LEASE, state, "why", checkpoint=CheckpointGiven(checkpoint_id="mine"))
    assert played.item().checkpoint == point("mine", note="why")


@pytest.mark.parametrize("state", ["checkpointed", "paused"])
def test_what_needs_a_checkpoint_says_so(state: ReportState) -> None:
    played = started()
    with pytest.raises(InvalidInput) as caught:
        played.report(LEASE, state)
    assert (caught.value.details, len(played.events)) == ({"field": "checkpoint"}, 2)


# --- ends ---


def test_paused_work_is_back_in_its_queue_with_its_owner() -> None:
    played = started()
    start_by = expiry_after(played.now, 3_600)
    events = played.report(LEASE, "paused", "half").events
    assert events == (WorkPaused(at=NOON, lease_id=LEASE, start_by=start_by, checkpoint=point(note="half")),)
    item = played.item()
    assert (item.state, item.owner, item.owner_session, item.until) == ("queued", "ada", 1, start_by)
    assert (item.checkpoint, played.state.leases) == (point(note="half"), {})


def test_a_checkpoint_of_this_lease_is_enough_to_pause() -> None:
    played = started()
    played.report(LEASE, "checkpointed", "half")
    played.report(LEASE, "paused")
    assert played.item().checkpoint == point(note="half")
    lease_id = played.start()
    with pytest.raises(InvalidInput):
        played.report(lease_id, "paused")


def test_blocked_work_keeps_its_owner_for_a_while() -> None:
    played = started()
    until = expiry_after(played.now, 86_400)
    events = played.report(LEASE, "blocked", "needs a key").events
    kept = point(note="needs a key")
    assert events == (WorkBlocked(at=NOON, lease_id=LEASE, note="needs a key", until=until, checkpoint=kept),)
    item = played.item()
    assert (item.state, item.owner, item.until, item.note, item.checkpoint) == (
        "blocked",
        "ada",
        until,
        "needs a key",
        kept,
    )


@pytest.mark.parametrize("state", ["blocked", "failed"])
@pytest.mark.parametrize("note", ["", " \n\t"])
def test_a_reason_is_required(state: ReportState, note: str) -> None:
    played = started()
    with pytest.raises(InvalidInput) as caught:
        played.report(LEASE, state, note)
    assert caught.value.details == {"field": "note"}
    assert played.item().state == "active"


def test_released_work_counts_no_attempt_and_is_remembered() -> None:
    played = started()
    events = played.report(LEASE, "released", "out of scope").events
    assert events == (WorkReleased(at=NOON, lease_id=LEASE, note="out of scope"),)
    item = played.item()
    assert (item.state, item.owner, item.failures, item.released_by) == ("open", None, 0, ("ada",))
    assert item.attempts == (Attempt(agent_id="ada", at=NOON, outcome="released", note="out of scope"),)
    played.start("n", "bob")
    assert played.item().released_by == ()


def test_completed_work_leaves_its_result() -> None:
    played = started()
    result = Result(summary="done", artifacts=("a",), evidence=("e",))
    assert played.report(LEASE, "completed", result=result).events == (
        WorkCompleted(at=NOON, lease_id=LEASE, result=result),
    )
    item = played.item()
    assert (item.state, item.owner, item.result, played.state.leases) == ("completed", "ada", result, {})


def test_a_group_that_reviews_gets_it_submitted() -> None:
    played = started(policy=SchedulePolicy(groups={"g": GroupPolicy(review=True)}))
    assert played.report(LEASE, "completed").events == (WorkSubmitted(at=NOON, lease_id=LEASE),)
    assert (played.item().state, played.item().owner, played.state.leases) == ("submitted", "ada", {})
    other = played.start("n", graph_id="other")
    assert kinds(played.report(other, "completed").events) == ["WorkCompleted"]


# --- failures ---


def test_failures_are_counted_on_the_node_with_growing_waits_until_it_is_parked() -> None:
    played = Played(SchedulePolicy(retries=RetryPolicy(max_attempts=4, backoff_seconds=60, max_backoff_seconds=100)))
    waits = []
    for count in range(4):
        played.report(played.start("n", f"agent{count}"), "failed", f"broke {count}")
        item = played.item()
        waits.append(None if item.retry_at is None else (item.retry_at - played.now.wall).total_seconds())
        played.wait(100)
    item = played.item()
    assert (waits, item.state, item.failures, item.note) == ([60, 100, 100, None], "parked", 4, "broke 3")
    assert [(each.agent_id, each.outcome, each.note) for each in item.attempts] == [
        (f"agent{count}", "failed", f"broke {count}") for count in range(4)
    ]
    # Other nodes keep flowing.
    assert played.start("m") in played.state.leases


def test_a_policy_made_stricter_parks_at_the_next_failure() -> None:
    played = started()
    played.policy = SchedulePolicy(retries=RetryPolicy(max_attempts=1))
    played.report(LEASE, "failed", "broke")
    assert (played.item().state, played.item().retry_at) == ("parked", None)


def test_who_was_turned_away_counts_no_attempt_and_waits_exactly_as_long() -> None:
    played = Played(SchedulePolicy(retries=RetryPolicy(max_attempts=5)))
    for _ in range(4):
        played.report(played.start(), "failed", "broke")
    lease_id = played.start()
    until = played.now.wall + timedelta(seconds=63)
    limited = RateLimited(resource="p", until=until)
    events = played.report(lease_id, "failed", rate_limited=limited).events
    assert events == (
        ResourceClosed(at=NOON, resource="p", until=until, by="ada"),
        WorkFailed(at=NOON, lease_id=lease_id, note="", retry_at=until, counted=False),
    )
    item = played.item()
    assert (item.state, item.failures, item.retry_at, len(item.attempts)) == ("open", 4, until, 4)


def test_a_resource_is_closed_for_a_week_at_most() -> None:
    played = started()
    limited = RateLimited(resource="p", until=NOON + timedelta(days=999))
    assert played.report(LEASE, "running", rate_limited=limited).events == (
        ResourceClosed(at=NOON, resource="p", until=NOON + timedelta(days=7), by="ada"),
    )
    assert played.state.closures["p"].until == NOON + timedelta(days=7)


def test_a_success_reopens_what_it_used() -> None:
    played = Played()
    leases = [played.start(name, holding=Holding(uses={"p": 1, "q": 1})) for name in "abc"]
    limited = RateLimited(resource="p", until=NOON + timedelta(seconds=300))
    played.report(leases[0], "failed", rate_limited=limited)
    played.wait(299)
    assert played.report(leases[1], "completed").events == (
        ResourceReopened(at=played.now.wall, resource="p"),
        WorkCompleted(at=played.now.wall, lease_id=leases[1]),
    )
    assert played.state.closures == {}
    assert kinds(played.report(leases[2], "completed").events) == ["WorkCompleted"]


def test_what_is_reopened_is_named_in_its_order() -> None:
    played = started(holding=Holding(uses={"q": 1, "p": 1}))
    for name in "qp":
        played.report(LEASE, "running", rate_limited=RateLimited(resource=name, until=NOON + timedelta(seconds=9)))
    assert played.report(LEASE, "completed").events[:2] == (
        ResourceReopened(at=NOON, resource="p"),
        ResourceReopened(at=NOON, resource="q"),
    )


def test_a_closure_that_is_over_needs_no_reopening() -> None:
    played = started(holding=Holding(uses={"p": 1}))
    played.report(LEASE, "running", rate_limited=RateLimited(resource="p", until=NOON + timedelta(seconds=1)))
    played.wait(1)
    assert kinds(played.report(LEASE, "completed").events) == ["WorkCompleted"]


@pytest.mark.parametrize("state", ["running", "failed"])
def test_a_resource_is_not_closed_until_an_instant_that_has_passed(state: str) -> None:
    """An agent that failed like this would be given the node again at once, for ever."""
    played = started()
    with pytest.raises(InvalidInput) as caught:
        played.report(LEASE, state, "turned away", rate_limited=RateLimited(resource="p", until=NOON))
    assert (caught.value.message, caught.value.details) == (
        "rate_limited/until: has passed",
        {"field": "rate_limited"},
    )


# --- usage and budgets ---


def test_usage_is_kept_once() -> None:
    played = started()
    used = Usage(tokens=5, seconds=1)
    assert played.report(LEASE, "running", usage=used).events == (UsageReported(at=NOON, lease_id=LEASE, usage=used),)
    assert played.report(LEASE, "running", usage=used).events == ()
    assert (played.lease().usage, played.item().spent) == (used, Usage())


def test_usage_may_not_fall() -> None:
    played = started()
    played.report(LEASE, "running", usage=Usage(tokens=5, tool_calls=2))
    with pytest.raises(InvalidInput, match="usage/tool_calls: was 2"):
        played.report(LEASE, "completed", usage=Usage(tokens=9, tool_calls=1))
    assert (played.lease().usage.tokens, played.item().state) == (5, "active")


def test_what_all_leases_used_is_added_up() -> None:
    played = started()
    played.report(LEASE, "released", usage=Usage(tokens=5))
    played.report(played.start(), "failed", "broke", usage=Usage(tokens=7, cost_micros=1))
    assert played.item().spent == Usage(tokens=12, cost_micros=1)


@pytest.mark.parametrize(("state", "note"), [("running", ""), ("running", "half"), ("checkpointed", "half")])
def test_over_budget_the_work_pauses_and_what_was_used_is_charged_whole(state: ReportState, note: str) -> None:
    played = started(budget={"tokens": 10, "seconds": 5, "other": 1})
    played.report(LEASE, "running", usage=Usage(tokens=10))
    assert played.item().state == "active"
    limited = RateLimited(resource="p", until=NOON + timedelta(seconds=9))
    decided = played.report(LEASE, state, note, usage=Usage(tokens=11), rate_limited=limited)
    assert kinds(decided.events) == ["UsageReported", "ResourceClosed", "WorkPaused"]
    assert decided.refusal is not None
    assert (decided.refusal.code, decided.refusal.details) == (
        "BUDGET_EXCEEDED",
        {"lease_id": LEASE, "node_id": "n", "budget": {"seconds": 5, "tokens": 10}},
    )
    item = played.item()
    assert (item.state, item.owner, item.spent) == ("queued", "ada", Usage(tokens=11))
    assert item.checkpoint == (point(note="half") if note else None)


def test_a_budget_is_the_nodes_not_the_leases() -> None:
    played = started(budget={"tokens": 10})
    played.report(LEASE, "released", usage=Usage(tokens=8))
    lease_id = played.start(budget={"tokens": 10})
    assert played.report(lease_id, "running", usage=Usage(tokens=2)).refusal is None
    assert played.report(lease_id, "running", usage=Usage(tokens=3)).refusal is not None


@pytest.mark.parametrize("state", ["completed", "failed", "released", "paused", "blocked"])
def test_what_ends_the_work_anyway_is_not_stopped_by_its_budget(state: ReportState) -> None:
    played = started(budget={"tokens": 10})
    assert played.report(LEASE, state, "why", usage=Usage(tokens=11)).refusal is None
    assert (played.item().spent, played.state.leases) == (Usage(tokens=11), {})


# --- whose lease ---


def test_whoever_names_a_live_lease_may_report_unless_it_says_that_it_is_another() -> None:
    played = started()
    with pytest.raises(AuthForbidden) as caught:
        played.report(LEASE, "completed", agent_id="bob")
    assert caught.value.details == {"lease_id": LEASE}
    assert played.item().state == "active"
    played.report(LEASE, "completed")
    with pytest.raises(AuthForbidden):
        played.report(LEASE, "completed", agent_id="bob")
