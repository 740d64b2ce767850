"""What happens without a command: each term ends once, and each row of work.md "Files and log" has its event."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from metagit_mcp.domain.events import (
    BlockedLeaseEnded,
    Event,
    LeaseExpired,
    SeenBlocked,
    SeenFinished,
    SeenOpen,
    SeenTouched,
    StartByPassed,
    WorkRetried,
    WorkUnblocked,
)
from metagit_mcp.domain.instant import Instant, expiry_after
from metagit_mcp.domain.lapses import lapses, unwritten
from metagit_mcp.domain.limits import RetryPolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.projection import as_known, is_due, is_overruled
from metagit_mcp.domain.work import Usage, WorkItem, WorkState
from metagit_mcp.errors import MetagitError
from tests.unit.domain.played import NOON, Played, kinds, row

DAY = timedelta(days=1)
LEASE = "L-AAAAAAAAAAAB"
AFTER = NOON + timedelta(seconds=5)


def in_state(state: WorkState) -> Played:
    """Play until the node is in a state, with a checkpoint and something used wherever there was a lease."""
    played = Played()
    if state == "queued":
        played.accept()
        return played
    lease_id = played.start()
    played.report(lease_id, "checkpointed", "half", usage=Usage(tokens=7))
    if state == "submitted":
        played.policy = SchedulePolicy(groups={"g": GroupPolicy(review=True)})
    if state == "parked":
        played.policy = SchedulePolicy(retries=RetryPolicy(max_attempts=1))
    ends = {"submitted": "completed", "parked": "failed", "completed": "completed", "blocked": "blocked"}
    if state in ends:
        played.report(lease_id, ends[state], "why")
    if state == "cancelled":
        played.lapse(row("cancelled", after=1))
    if state == "open":
        played.report(lease_id, "failed", "why")
    return played


# --- terms ---


def test_terms_end_at_their_instant_and_once() -> None:
    played = Played()
    played.start("lease", lease_seconds=60)
    played.accept("queued")
    played.report(played.start("blocked"), "blocked", "waits")
    played.report(played.start("fine"), "completed")
    played.wait(59)
    assert (played.lapse(), bool(lapses(played.state, played.now))) == ([], False)
    played.wait(1)
    assert bool(lapses(played.state, played.now))
    assert played.lapse() == [LeaseExpired(at=played.now.wall, lease_id=LEASE)]
    played.wait(3_540)
    assert played.lapse() == [StartByPassed(at=played.now.wall, graph_id="g", node_id="queued")]
    played.wait(82_800)
    assert bool(lapses(played.state, played.now))
    assert played.lapse() == [BlockedLeaseEnded(at=played.now.wall, graph_id="g", node_id="blocked")]
    assert (played.lapse(), bool(lapses(played.state, played.now))) == ([], False)
    assert [(each.node_id, each.state, each.owner) for each in played.state.items["g"].values()] == [
        ("lease", "open", None),
        ("queued", "open", None),
        ("blocked", "blocked", None),
        ("fine", "completed", "ada"),
    ]
    assert (played.item("lease").attempts[0].outcome, played.item("blocked").note) == ("expired", "waits")
    assert played.item("queued").attempts == ()


def test_terms_end_in_a_fixed_order() -> None:
    played = Played()
    for name in ("c", "a", "b"):
        played.accept(name)
        played.start(f"{name}{name}", lease_seconds=60)
    played.wait(3_600)
    told = [
        getattr(event, "lease_id", "") or getattr(event, "node_id", "") for event in lapses(played.state, played.now)
    ]
    assert told == ["L-AAAAAAAAAAAB", "L-AAAAAAAAAAAC", "L-AAAAAAAAAAAD", "a", "b", "c"]


@pytest.mark.parametrize("shift", [-DAY, DAY])
def test_a_changed_clock_ends_nothing_in_the_same_boot(shift: timedelta) -> None:
    played = Played()
    played.start(lease_seconds=60)
    played.now = Instant(wall=NOON + shift, boot_id="boot", ticks_ms=59_999)
    assert played.lapse() == []
    played.now = replace(played.now, ticks_ms=60_000)
    assert kinds(played.lapse()) == ["LeaseExpired"]


def test_after_another_boot_the_wall_counts_never_earlier_than_the_last_event() -> None:
    played = Played()
    played.start(lease_seconds=60)
    played.now = Instant(wall=NOON + timedelta(seconds=59), boot_id="other", ticks_ms=10**9)
    assert played.lapse() == []
    played.now = replace(played.now, wall=NOON + timedelta(seconds=60))
    played.start("m")
    played.now = replace(played.now, wall=NOON - DAY, boot_id="third")
    assert played.lapse() == [LeaseExpired(at=NOON - DAY, lease_id=LEASE)]
    assert played.item().changed_at > NOON


def test_an_expired_node_waits_at_its_checkpoint() -> None:
    played = in_state("active")
    point = played.item().checkpoint
    played.wait(14_400)
    played.lapse()
    assert (played.item().checkpoint, played.item().spent) == (point, Usage(tokens=7))
    played.start("n", "bob")
    assert point is not None
    assert (played.lease().resumed_from, played.lease().ownership_epoch) == (point.checkpoint_id, 2)


# --- what other programs wrote: one row of this table for each state and each status ---

NAMES: dict[str, Any] = {"at": AFTER, "graph_id": "g", "node_id": "n", "seen_at": NOON + timedelta(seconds=3)}
SEEN: dict[str, dict[str, Event | None]] = {
    "queued": {
        "pending": SeenTouched(**NAMES),
        "ready": SeenTouched(**NAMES),
        "running": SeenOpen(**NAMES),
        "blocked": SeenBlocked(note="x", **NAMES),
        "completed": SeenFinished(status="completed", **NAMES),
        "cancelled": SeenFinished(status="cancelled", **NAMES),
        "odd": SeenOpen(**NAMES),
    },
    "active": {
        "pending": SeenTouched(**NAMES),
        "ready": SeenTouched(**NAMES),
        "running": SeenTouched(**NAMES),
        "blocked": SeenBlocked(note="x", **NAMES),
        "completed": SeenFinished(status="completed", **NAMES),
        "cancelled": SeenFinished(status="cancelled", **NAMES),
        "odd": SeenTouched(**NAMES),
    },
    "blocked": {
        "pending": WorkUnblocked(
            start_by=expiry_after(Instant(wall=AFTER, boot_id="boot", ticks_ms=5_000), 3_600), **NAMES
        ),
        "ready": WorkUnblocked(
            start_by=expiry_after(Instant(wall=AFTER, boot_id="boot", ticks_ms=5_000), 3_600), **NAMES
        ),
        "running": SeenOpen(**NAMES),
        "blocked": SeenBlocked(note="x", **NAMES),
        "completed": SeenFinished(status="completed", **NAMES),
        "cancelled": SeenFinished(status="cancelled", **NAMES),
        "odd": SeenOpen(**NAMES),
    },
    "submitted": {
        "pending": SeenTouched(**NAMES),
        "ready": SeenTouched(**NAMES),
        "running": SeenTouched(**NAMES),
        "blocked": SeenBlocked(note="x", **NAMES),
        "completed": SeenFinished(status="completed", **NAMES),
        "cancelled": SeenFinished(status="cancelled", **NAMES),
        "odd": SeenTouched(**NAMES),
    },
    "parked": {
        "pending": WorkRetried(by="another program", **NAMES),
        "ready": WorkRetried(by="another program", **NAMES),
        "running": SeenOpen(**NAMES),
        "blocked": SeenBlocked(note="x", **NAMES),
        "completed": SeenFinished(status="completed", **NAMES),
        "cancelled": SeenFinished(status="cancelled", **NAMES),
        "odd": SeenOpen(**NAMES),
    },
    "completed": {
        "pending": SeenOpen(**NAMES),
        "ready": SeenOpen(**NAMES),
        "running": SeenOpen(**NAMES),
        "blocked": SeenOpen(**NAMES),
        "completed": None,
        "cancelled": SeenOpen(**NAMES),
        "odd": SeenOpen(**NAMES),
    },
    "cancelled": {
        "pending": SeenOpen(**NAMES),
        "ready": SeenOpen(**NAMES),
        "running": SeenOpen(**NAMES),
        "blocked": SeenOpen(**NAMES),
        "completed": SeenOpen(**NAMES),
        "cancelled": None,
        "odd": SeenOpen(**NAMES),
    },
    "open": dict.fromkeys(("pending", "ready", "running", "blocked", "completed", "cancelled", "odd")),
}
CASES = [(state, status, event) for state, told in SEEN.items() for status, event in told.items()]


@pytest.mark.parametrize(("state", "status", "event"), CASES)
def test_a_newer_row_is_an_act_or_the_node_is_ours(state: WorkState, status: str, event: Event | None) -> None:
    played = in_state(state)
    played.wait(5)
    newer = row(status, after=3, reason="x" if status == "blocked" else None)
    assert played.lapse(newer) == ([] if event is None else [event])
    # Told once; and whatever we write back from here on is no older than what was seen.
    assert played.lapse(newer) == []
    item = played.item()
    if item.state != "open" and state not in {"completed", "cancelled"}:
        assert item.changed_at >= NOON + timedelta(seconds=3)


@pytest.mark.parametrize(("state", "status", "event"), CASES)
@pytest.mark.parametrize("age", ["stale", "same instant", "no instant"])
def test_a_row_that_is_not_newer_is_a_stale_copy(state: WorkState, status: str, event: Event | None, age: str) -> None:
    del event
    played = in_state(state)
    played.wait(5)
    before = played.item()
    old = row(status, after=-3, reason="x")
    if age == "same instant":
        old = replace(old, updated_at=before.changed_at.isoformat())
    if age == "no instant":
        old = replace(old, updated_at="2027-01-01T00:00:00")
    assert (played.lapse(old), played.item()) == ([], before)
    assert not is_overruled(before, old)


def seen(state: WorkState, newer: Any) -> WorkItem:  # noqa: ANN401 - a row
    played = in_state(state)
    played.wait(5)
    played.lapse(newer)
    return played.item()


@pytest.mark.parametrize("state", ["queued", "active", "blocked", "submitted", "parked"])
@pytest.mark.parametrize("status", ["completed", "cancelled"])
def test_finished_elsewhere_ends_the_lease(state: WorkState, status: str) -> None:
    played = in_state(state)
    played.wait(5)
    played.lapse(row(status, after=3))
    item = played.item()
    assert (item.state, item.owner, item.until, item.changed_at) == (status, None, None, NOON + timedelta(seconds=3))
    assert played.state.leases == {}
    if state == "active":
        assert (played.state.closed[LEASE].closure, item.spent) == ("finished", Usage(tokens=7))
        with pytest.raises(MetagitError) as caught:
            played.report(LEASE, "running")
        assert caught.value.code == "WORK_STALE_OWNERSHIP"


def test_blocked_elsewhere_ends_the_lease_and_the_ownership() -> None:
    played = in_state("active")
    played.wait(5)
    played.lapse(row("blocked", after=3, reason="x"))
    assert (played.item().state, played.item().note, played.item().owner) == ("blocked", "x", None)
    assert (played.state.closed[LEASE].closure, played.state.terms) == ("revoked", {})


def test_another_reason_leaves_blocked_work_to_its_owner() -> None:
    played = in_state("blocked")
    until = played.item().until
    played.wait(5)
    played.lapse(row("blocked", after=3, reason="x"))
    item = played.item()
    assert (item.note, item.owner, item.owner_session, item.until) == ("x", "ada", 1, until)


@pytest.mark.parametrize("state", ["queued", "active", "blocked", "submitted", "parked"])
@pytest.mark.parametrize("reason", ["failed: it broke", "  failed:it broke"])
def test_failed_in_a_file_means_parked(state: WorkState, reason: str) -> None:
    item = seen(state, row("blocked", after=3, reason=reason))
    assert (item.state, item.note, item.owner, item.until) == ("parked", "it broke", None, None)
    assert as_known(row("blocked", after=3, reason=reason), item).blocker_reason == "failed: it broke"


def test_unblocked_elsewhere_it_is_back_with_its_owner() -> None:
    item = seen("blocked", row("ready", after=3))
    assert (item.state, item.owner, item.owner_session, item.ownership_epoch) == ("queued", "ada", 1, 1)


def test_unblocked_after_the_blocked_lease_it_is_open() -> None:
    played = in_state("blocked")
    played.wait(86_400)
    played.lapse()
    played.lapse(row("ready", after=86_401))
    assert (played.item().state, played.item().owner) == ("open", None)


def test_unblocked_and_out_of_time_at_once_it_is_open() -> None:
    played = in_state("blocked")
    played.wait(86_400)
    assert kinds(played.lapse(row("ready", after=3))) == ["WorkUnblocked"]
    assert (played.item().state, played.item().owner) == ("open", None)


@pytest.mark.parametrize("status", ["running", "odd"])
@pytest.mark.parametrize("state", ["queued", "blocked", "parked"])
def test_work_that_another_program_has_is_left_to_it_with_what_is_known(state: WorkState, status: str) -> None:
    before = in_state(state).item()
    newer = row(status, after=3)
    item = seen(state, newer)
    assert (item.state, item.owner, item.failures, item.ownership_epoch) == ("open", None, 0, 1)
    assert (item.checkpoint, item.attempts, item.spent) == (before.checkpoint, before.attempts, before.spent)
    assert (as_known(newer, item), is_due(item, newer)) == (newer, False)


@pytest.mark.parametrize("status", ["pending", "ready", "running", "blocked", "odd"])
@pytest.mark.parametrize("state", ["completed", "cancelled"])
def test_after_its_end_a_node_has_a_new_incarnation_at_the_next_epoch(state: WorkState, status: str) -> None:
    played = in_state(state)
    played.wait(5)
    newer = row(status, after=3)
    played.lapse(newer)
    item = played.item()
    fresh = WorkItem(
        graph_id="g", node_id="n", state="open", changed_at=NOON + timedelta(microseconds=2_999_999), ownership_epoch=1
    )
    assert (item, as_known(newer, item)) == (fresh, newer)
    played.start("n", "bob", seen_at=NOON + timedelta(seconds=3))
    assert (played.lease().ownership_epoch, played.lease().resumed_from) == (2, None)


def test_while_it_is_leased_a_node_set_back_stays_ours() -> None:
    played = in_state("active")
    newer = row("ready", after=3)
    assert is_overruled(played.item(), newer)
    assert (is_due(played.item(), newer), as_known(newer, played.item()).status) == (True, "running")
    played.lapse(newer)
    assert (is_overruled(played.item(), newer), is_due(played.item(), newer)) == (False, True)


@pytest.mark.parametrize("status", ["ready", "running"])
@pytest.mark.parametrize("end", ["released", "completed", "failed", "expired"])
def test_a_row_from_the_future_does_not_outlast_our_next_change(status: str, end: str) -> None:
    """Otherwise our own `running`, written back with the instant of that row, would look like another program's."""
    played = in_state("active")
    ahead = row(status, after=86_400)
    if end == "expired":
        played.wait(14_400)
        assert kinds(played.lapse(ahead)) == ["SeenTouched", "LeaseExpired"]
    else:
        played.lapse(ahead)
        played.report(LEASE, end, "why")
    item = played.item()
    assert item.changed_at == NOON + timedelta(seconds=86_400, microseconds=1)
    written = row("running", after=86_400)
    assert (is_due(item, written), played.lapse(written)) == (True, [])
    assert as_known(written, item).status == ("completed" if end == "completed" else "ready")


def test_an_act_goes_before_the_end_of_a_term() -> None:
    played = Played()
    played.start("a", lease_seconds=60)
    played.start("b", lease_seconds=60)
    played.accept("c")
    played.wait(3_600)
    rows = [row("cancelled", after=3, node_id=name) for name in "ac"]
    assert kinds(played.lapse(*rows)) == ["SeenFinished", "SeenFinished", "LeaseExpired"]
    assert [played.item(name).state for name in "abc"] == ["cancelled", "open", "cancelled"]


def test_without_a_policy_what_others_did_still_counts() -> None:
    played = in_state("blocked")
    played.wait(5)
    seen_rows = [(played.item(), row("ready", after=3))]
    assert kinds(unwritten(played.state, seen_rows, None, played.now)) == ["WorkUnblocked"]
