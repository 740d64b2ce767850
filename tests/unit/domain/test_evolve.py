"""The fold: every event does what it says, changes follow one another, and memory is bounded."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from metagit_mcp.domain import evolve as fold
from metagit_mcp.domain.approval import Approval
from metagit_mcp.domain.charging import EVOLVE_SHARES
from metagit_mcp.domain.events import (
    EVENT_KINDS,
    KIND_OF,
    ApprovalGranted,
    CommandAnswered,
    Event,
    LeaseRenewed,
    ResourceClosed,
    SchedulingPaused,
    SeenTouched,
    SessionOpened,
    WorkAccepted,
    WorkRetried,
)
from metagit_mcp.domain.evolve import evolve, evolve_all
from metagit_mcp.domain.instant import Expiry, Instant
from metagit_mcp.domain.moves import closed, forget
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import Answered, ClosedLease
from tests.unit.domain.played import NOON, Played, row

STEP = timedelta(microseconds=1)
LATEST = datetime.max.replace(tzinfo=UTC)


def accepted(at: datetime, seen_at: datetime | None = None, epoch: int = 1) -> WorkAccepted:
    return WorkAccepted(
        at=at,
        graph_id="g",
        node_id="n",
        agent_id="ada",
        session_epoch=1,
        ownership_epoch=epoch,
        start_by=Expiry(at=at),
        seen_at=seen_at,
    )


def test_every_event_is_folded_and_has_a_name_of_its_own() -> None:
    folded = set(fold._EVOLVE) | set(EVOLVE_SHARES)  # noqa: SLF001 - nothing may be missing in it
    assert set(get_args(Event)) == set(KIND_OF) == folded
    assert {kind: KIND_OF[shape] for kind, shape in EVENT_KINDS.items()} == {kind: kind for kind in EVENT_KINDS}
    assert KIND_OF[WorkAccepted] == "work_accepted"


def test_what_an_event_is_about_is_returned() -> None:
    played = Played()
    lease_id = played.start()
    renewal = LeaseRenewed(at=NOON, lease_id=lease_id, expiry=Expiry(at=NOON), term_seconds=60)
    closure = ResourceClosed(at=NOON, resource="p", until=NOON, by="ada")
    assert evolve_all(played.state, [renewal, closure, accepted(NOON)]) == {("g", "n")}
    assert evolve(played.state, closure) is None


# --- instants ---


def test_the_last_instant_is_the_latest_of_all() -> None:
    state = LedgerState()
    assert state.last_at is None
    for at in (NOON, NOON - timedelta(days=1), NOON + STEP):
        evolve(state, SessionOpened(at=at, agent_id="ada", epoch=1))
    assert state.last_at == NOON + STEP


def test_changes_are_later_than_one_another_whatever_the_clock_does() -> None:
    played = Played()
    instants = []
    for shift in (0, -86_400, 0, 86_400, -86_400):
        played.now = Instant(wall=NOON + timedelta(seconds=shift), boot_id="boot", ticks_ms=0)
        played.report(played.start(), "released")
        instants.append(played.item().changed_at)
    assert instants == sorted(set(instants))
    assert instants[-1] == NOON + timedelta(days=1) + 3 * STEP


@pytest.mark.parametrize(
    ("seen_at", "changed_at"),
    [(None, NOON + STEP), (NOON - STEP, NOON + STEP), (NOON + STEP, NOON + 2 * STEP), (LATEST, LATEST)],
)
def test_a_change_is_later_than_the_row_that_it_saw(seen_at: datetime | None, changed_at: datetime) -> None:
    state = LedgerState()
    evolve(state, accepted(NOON, seen_at))
    assert state.items["g"]["n"].changed_at == changed_at


def test_what_is_no_change_of_status_keeps_the_instant() -> None:
    played = Played()
    lease_id = played.start()
    before = played.item().changed_at
    played.wait(5)
    played.report(lease_id, "checkpointed", "half")
    assert played.item().changed_at == before


def test_a_row_that_was_seen_is_the_floor_of_what_follows() -> None:
    played = Played()
    played.accept()
    played.happen(SeenTouched(at=NOON, graph_id="g", node_id="n", seen_at=NOON + timedelta(days=1)))
    assert (played.item().changed_at, played.item().state) == (NOON + timedelta(days=1), "queued")
    played.start()
    assert played.item().changed_at == NOON + timedelta(days=1) + STEP


# --- what is kept, and how long ---


@pytest.mark.parametrize(
    ("count", "days", "left"),
    [(10_000, 99, 10_000), (10_001, 7, 10_001), (10_001, 8, 10_000), (10_005, 8, 10_000), (10_005, 7, 10_005)],
)
def test_the_oldest_is_forgotten_after_a_week_but_never_the_newest_ten_thousand(
    count: int, days: int, left: int
) -> None:
    instants: dict[str, datetime] = {str(number): NOON for number in range(count)}
    forget(instants, lambda each: each, NOON + timedelta(days=days))
    assert list(instants) == [str(number) for number in range(count - left, count)]


def test_a_young_one_in_front_keeps_all() -> None:
    instants = {"0": NOON + timedelta(days=1)} | {str(number): NOON for number in range(1, 10_002)}
    forget(instants, lambda each: each, NOON + timedelta(days=8))
    assert len(instants) == 10_002


def test_replies_are_kept_for_a_week_and_ten_thousand_of_them_always() -> None:
    state = LedgerState()
    state.answered.update({str(n): Answered(action_id=str(n), digest="d", at=NOON, reply="r") for n in range(10_000)})
    evolve(state, CommandAnswered(at=NOON + timedelta(days=7), action_id="a", digest="d", reply="r"))
    assert len(state.answered) == 10_001
    evolve(state, CommandAnswered(at=NOON + timedelta(days=8), action_id="b", digest="d", reply="r"))
    assert (len(state.answered), next(iter(state.answered)), list(state.answered)[-1]) == (10_000, "2", "b")
    assert state.answered["b"] == Answered(action_id="b", digest="d", at=NOON + timedelta(days=8), reply="r")


def test_ended_leases_are_kept_as_long() -> None:
    played = Played()
    lease_id = played.start()
    gone = ClosedLease(
        lease_id="",
        graph_id="g",
        node_id="n",
        agent_id="ada",
        ownership_epoch=1,
        closed_at=NOON - timedelta(days=8),
        closure="released",
    )
    played.state.closed.update({f"{n}": replace(gone, lease_id=f"{n}") for n in range(10_000)})
    closed(played.state, lease_id, "released", NOON)
    assert (len(played.state.closed), list(played.state.closed)[-1]) == (10_000, lease_id)


def test_only_the_newest_attempts_are_kept() -> None:
    played = Played()
    for count in range(7):
        played.report(played.start(), "released", f"note {count}")
    assert [each.note for each in played.item().attempts] == [f"note {count}" for count in range(2, 7)]


# --- what is not about ownership ---


def test_approvals_are_added_up() -> None:
    played = Played()
    first = Approval(graph_id="g", node_id="n", epoch=1, digest="d", approved_by="eve", at=NOON)
    second = replace(first, node_id="m")
    assert evolve(played.state, ApprovalGranted(at=NOON, approval=first)) == ("g", "n")
    played.happen(ApprovalGranted(at=NOON, approval=second))
    assert played.state.approvals == {"g": (first, second)}


def test_a_branch_goes_its_own_way() -> None:
    played = Played()
    played.start()
    played.accept("m")
    played.report(played.start("b"), "completed")
    played.happen(CommandAnswered(at=NOON, action_id="a", digest="d", reply="r"))
    before = played.state.branch()
    assert before == played.state
    branch = played.state.branch()
    approval = Approval(graph_id="g", node_id="n", epoch=1, digest="d", approved_by="eve", at=NOON)
    others: list[Event] = [
        accepted(NOON + timedelta(days=1), epoch=9),
        WorkRetried(at=NOON, graph_id="h", node_id="n", by="e"),
        SessionOpened(at=NOON, agent_id="eve", epoch=1),
        ResourceClosed(at=NOON, resource="p", until=NOON, by="ada"),
        SchedulingPaused(at=NOON, scope="agent", name="ada", by="eve"),
        ApprovalGranted(at=NOON, approval=approval),
        CommandAnswered(at=NOON, action_id="b", digest="d", reply="r"),
    ]
    evolve_all(branch, others)
    assert played.state == before
    assert branch != before


def test_a_start_forgets_the_wait_and_not_the_failures() -> None:
    played = Played()
    played.report(played.start(), "failed", "broke")
    assert (played.item().failures, played.item().retry_at) == (1, NOON + timedelta(seconds=60))
    played.lapse(row("ready", after=9))
    assert played.item().failures == 1
    played.start()
    assert (played.item().failures, played.item().retry_at) == (1, None)
