"""Sessions and leases: the requirements E of docs/reference/conformance.md."""

from dataclasses import fields
from datetime import timedelta

import pytest

from metagit_mcp.domain.commands import RevokeOwnership
from metagit_mcp.domain.events import EvidenceKept, LeaseExpired, StartByPassed, WorkAccepted
from metagit_mcp.domain.instant import expiry_after
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.work import ClosedLease, ExecutionLease, Result
from tests.unit.domain.played import NOON, Played, kinds, row


def fenced(played: Played, lease_id: str, state: str = "completed", note: str = "late") -> str:
    """The code with which a report under a lease that ended is refused."""
    refusal = played.report(lease_id, state, note).refusal
    return "" if refusal is None else refusal.code


def test_a_late_result_is_kept_and_completes_nothing() -> None:
    """Claims E1."""
    played = Played()
    old = played.start()
    played.wait(14_400)
    played.lapse()
    new = played.start(agent_id="bob")
    result = Result(summary="done after all")
    decided = played.report(old, "completed", "late", result=result)
    assert decided.events == (
        EvidenceKept(at=played.now.wall, lease_id=old, state="completed", note="late", result=result),
    )
    assert decided.refusal is not None
    assert (decided.refusal.code, played.item().state, played.item().lease_id) == ("WORK_LEASE_EXPIRED", "active", new)
    assert played.item().result is None


def test_a_new_session_fences_all_former_ones() -> None:
    """Claims E2."""
    played = Played()
    first = played.start("a")
    played.enter(new_session=True)
    second = played.start("b")
    played.enter(new_session=True)
    assert played.state.sessions["ada"].epoch == 3
    assert [fenced(played, each) for each in (first, second)] == ["AUTH_STALE_SESSION", "AUTH_STALE_SESSION"]


def test_a_start_grants_a_lease_bound_to_all_that_it_is_for() -> None:
    """Claims E3."""
    played = Played()
    lease_id = played.start(attended=True)
    played.wait(300)
    played.report(lease_id, "running")
    assert played.lease() == ExecutionLease(
        lease_id=lease_id,
        graph_id="g",
        node_id="n",
        agent_id="ada",
        session_epoch=1,
        ownership_epoch=1,
        granted_at=NOON,
        expiry=expiry_after(played.now, 900),
        term_seconds=900,
        renewal_count=1,
        last_renewed_at=played.now.wall,
        attended=True,
    )


@pytest.mark.parametrize("state", ["running", "checkpointed", "paused", "blocked", "completed", "failed", "released"])
def test_every_report_needs_the_present_lease_even_at_the_same_epoch(state: str) -> None:
    """Claims E4."""
    played = Played()
    old = played.start()
    played.report(old, "paused", "half done")
    new = played.start()
    assert (played.state.leases[new].ownership_epoch, new != old) == (1, True)
    assert (fenced(played, old, state), played.item().lease_id) == ("WORK_STALE_OWNERSHIP", new)


def closures() -> dict[str, str]:
    """How a lease ends, by what ended it."""
    reviewed = SchedulePolicy(groups={"g": GroupPolicy(review=True)})
    found: dict[str, str] = {}
    for state in ("paused", "blocked", "completed", "failed", "released"):
        played = Played()
        played.report(played.start(), state, "why")
        found[state] = next(iter(played.state.closed.values())).closure
    for name in ("submitted", "expired", "session", "revoked", "cancelled"):
        played = Played(reviewed)
        lease_id = played.start()
        if name == "submitted":
            played.report(lease_id, "completed")
        elif name == "expired":
            played.wait(14_400)
            played.lapse()
        elif name == "session":
            played.enter(new_session=True)
        elif name == "revoked":
            played.do(RevokeOwnership(graph_id="g", node_id="n", by="eve"))
        else:
            played.lapse(row("cancelled", after=1))
        found[name] = played.state.closed[lease_id].closure
    return found


def test_a_lease_ends_by_what_ends_it() -> None:
    """Claims E6."""
    assert closures() == {
        "paused": "paused",
        "blocked": "blocked",
        "completed": "completed",
        "failed": "failed",
        "released": "released",
        "submitted": "submitted",
        "expired": "expired",
        "session": "session",
        "revoked": "revoked",
        "cancelled": "finished",
    }


def test_a_new_session_takes_its_work_back_into_the_queue_first() -> None:
    """Claims E7."""
    played = Played()
    played.start("a")
    played.accept("b")
    events = played.enter(new_session=True).events
    assert kinds(events) == ["SessionOpened", "WorkReturned", "WorkReturned"]
    assert (played.state.leases, [played.item(name).state for name in "ab"]) == ({}, ["queued", "queued"])


def test_whoever_is_late_loses_the_work_to_a_higher_epoch_from_the_last_checkpoint() -> None:
    """Claims E8."""
    played = Played()
    lease_id = played.start()
    played.report(lease_id, "checkpointed", "half done")
    point = played.item().checkpoint
    played.accept("m")
    played.wait(14_400)
    assert played.lapse() == [
        LeaseExpired(at=played.now.wall, lease_id=lease_id),
        StartByPassed(at=played.now.wall, graph_id="g", node_id="m"),
    ]
    new = played.state.leases[played.start(agent_id="bob")]
    assert point is not None
    assert (new.ownership_epoch, new.resumed_from) == (2, point.checkpoint_id)
    assert (fenced(played, lease_id), played.item().state) == ("WORK_LEASE_EXPIRED", "active")


def test_a_lease_has_the_fields_of_its_kind() -> None:
    """Claims E9."""
    names = {each.name for each in fields(ExecutionLease)}
    assert names & {"start_by", "grace_expires_at", "coordinator_epoch"} == set()
    assert {each.name for each in fields(WorkAccepted)} >= {"start_by", "ownership_epoch"}
    played = Played()
    lease_id = played.start()
    assert (played.lease().renewal_count, played.lease().last_renewed_at) == (0, None)
    played.wait(60)
    played.report(lease_id, "running")
    assert (played.lease().renewal_count, played.lease().last_renewed_at) == (1, NOON + timedelta(seconds=60))
    played.report(lease_id, "completed")
    assert played.state.closed[lease_id] == ClosedLease(
        lease_id=lease_id,
        graph_id="g",
        node_id="n",
        agent_id="ada",
        ownership_epoch=1,
        closed_at=played.now.wall,
        closure="completed",
    )


def test_being_heard_of_renews_nothing() -> None:
    """Claims E10."""
    played = Played()
    lease_id = played.start("a")
    before = played.state.leases[lease_id].expiry
    played.wait(60)
    played.enter(capabilities=("python",), holder="server")
    played.report(played.start("b"), "running")
    assert played.state.leases[lease_id].expiry == before
