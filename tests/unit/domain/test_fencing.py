"""A lease that ended moves nothing, whatever is reported under it; what its holder adds is kept as evidence, once."""

from collections.abc import Callable

import pytest

from metagit_mcp.domain.commands import RevokeOwnership
from metagit_mcp.domain.events import EvidenceKept
from metagit_mcp.domain.work import Evidence, Result
from metagit_mcp.errors import LeaseNotFound, MetagitError, WorkLeaseExpired, WorkStaleOwnership
from tests.unit.domain.played import NOON, Played, row

LEASE = "L-AAAAAAAAAAAB"


def expire(played: Played) -> None:
    played.wait(14_400)
    played.lapse()


def new_session(played: Played) -> None:
    played.enter(new_session=True)


def revoke(played: Played) -> None:
    played.do(RevokeOwnership(graph_id="g", node_id="n", by="eve"))


def finish_elsewhere(played: Played) -> None:
    played.lapse(row("cancelled", after=1))


def reported(state: str) -> Callable[[Played], None]:
    def end(played: Played) -> None:
        played.report(LEASE, state, "why")

    return end


ENDS: dict[str, tuple[Callable[[Played], None], str]] = {
    "expired": (expire, "WORK_LEASE_EXPIRED"),
    "session": (new_session, "AUTH_STALE_SESSION"),
    "revoked": (revoke, "WORK_STALE_OWNERSHIP"),
    "finished": (finish_elsewhere, "WORK_STALE_OWNERSHIP"),
    "completed": (reported("completed"), "WORK_STALE_OWNERSHIP"),
    "failed": (reported("failed"), "WORK_STALE_OWNERSHIP"),
    "released": (reported("released"), "WORK_STALE_OWNERSHIP"),
    "paused": (reported("paused"), "WORK_STALE_OWNERSHIP"),
    "blocked": (reported("blocked"), "WORK_STALE_OWNERSHIP"),
}


def ended(closure: str) -> tuple[Played, str]:
    end, code = ENDS[closure]
    played = Played()
    played.start()
    end(played)
    assert played.state.closed[LEASE].closure == closure
    return played, code


@pytest.mark.parametrize("closure", ENDS)
@pytest.mark.parametrize("state", ["running", "checkpointed", "paused", "blocked", "completed", "failed", "released"])
def test_a_lease_that_ended_is_refused_with_how_it_ended(closure: str, state: str) -> None:
    played, code = ended(closure)
    before = played.state.branch()
    with pytest.raises(MetagitError) as caught:
        played.report(LEASE, state)
    error = caught.value
    told = {name: error.details[name] for name in ("lease_id", "graph_id", "node_id", "closure", "state")}
    assert (error.code, told) == (
        code,
        {"lease_id": LEASE, "graph_id": "g", "node_id": "n", "closure": closure, "state": played.item().state},
    )
    assert played.state == before


@pytest.mark.parametrize("closure", [name for name in ENDS if name != "completed"])
def test_a_late_result_is_kept_once_and_completes_nothing(closure: str) -> None:
    played, code = ended(closure)
    before = played.item()
    result = Result(summary="late")
    decided = played.report(LEASE, "completed", "sorry", result=result, agent_id="ada")
    assert decided.refusal is not None
    assert (decided.refusal.code, decided.lease_id) == (code, None)
    at = played.now.wall
    assert decided.events == (EvidenceKept(at=at, lease_id=LEASE, state="completed", note="sorry", result=result),)
    item = played.item()
    evidence = Evidence(lease_id=LEASE, agent_id="ada", at=at, state="completed", note="sorry", result=result)
    assert (item.evidence, item.state, item.changed_at) == ((evidence,), before.state, before.changed_at)
    with pytest.raises(MetagitError):
        played.report(LEASE, "completed", "sorry", result=result)
    assert played.report(LEASE, "completed", "sorry again").events != ()
    assert len(played.item().evidence) == 2


def test_only_the_newest_evidence_is_kept() -> None:
    played, _ = ended("expired")
    for count in range(7):
        played.report(LEASE, "running", f"note {count}")
    assert [each.note for each in played.item().evidence] == [f"note {count}" for count in range(2, 7)]


def test_a_second_completion_is_no_evidence() -> None:
    played, _ = ended("completed")
    with pytest.raises(WorkStaleOwnership):
        played.report(LEASE, "completed", "again", result=Result(summary="again"))
    assert played.item().evidence == ()


def test_the_old_lease_does_not_touch_the_new_one_of_the_same_agent() -> None:
    played, _ = ended("expired")
    fresh = played.start()
    before = played.lease()
    with pytest.raises(WorkLeaseExpired):
        played.report(LEASE, "running")
    played.report(LEASE, "completed", result=Result(summary="late"))
    assert (played.lease(), played.item().state, played.item().lease_id) == (before, "active", fresh)


def test_a_lease_that_never_was_names_the_call_to_make() -> None:
    played = Played()
    with pytest.raises(LeaseNotFound) as caught:
        played.report("L-QQQQQQQQQQQQ", "running", "x", result=Result(), agent_id="ada")
    assert caught.value.as_record() == {
        "code": "LEASE_NOT_FOUND",
        "message": "There is no lease L-QQQQQQQQQQQQ.",
        "hint": "Claim the node first: metagit_schedule_next with claim=true, or metagit_work_start.",
        "details": {"lease_id": "L-QQQQQQQQQQQQ"},
        "retryable": False,
    }


def test_the_refusal_says_when_it_ended_and_who_has_the_node_now() -> None:
    played, _ = ended("expired")
    played.start("n", "bob")
    with pytest.raises(WorkLeaseExpired) as caught:
        played.report(LEASE, "running")
    assert caught.value.message == f"Lease {LEASE} ran out at 2026-03-01T16:00:00Z."
    assert caught.value.details == {
        "lease_id": LEASE,
        "graph_id": "g",
        "node_id": "n",
        "closure": "expired",
        "closed_at": "2026-03-01T16:00:00Z",
        "state": "active",
        "since": "2026-03-01T16:00:00Z",
        "ownership_epoch": 2,
        "owner": "bob",
        "attempts": ["expired 2026-03-01T16:00:00Z ada"],
    }
    assert played.now.wall > NOON
