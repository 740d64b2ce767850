"""A replay reaches the live state, a story names what happened to one node, and a difference is found where it is."""

from dataclasses import replace

import pytest

from metagit_mcp.domain.approval import Approval
from metagit_mcp.domain.commands import RetryWork, RevokeOwnership
from metagit_mcp.domain.events import ApprovalGranted, LeaseExpired
from metagit_mcp.domain.limits import RetryPolicy
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.replay import first_difference, fold, story
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import Usage
from metagit_mcp.errors import StoreCorrupt
from tests.unit.domain.played import NOON, Played, row


def played_through() -> Played:
    played = Played(SchedulePolicy(retries=RetryPolicy(max_attempts=1)))
    approval = Approval(graph_id="g", node_id="n", epoch=1, digest="d", approved_by="eve", at=NOON)
    played.happen(ApprovalGranted(at=NOON, approval=approval))
    played.accept()
    lease_id = played.start()
    played.start("m", "bob")
    played.wait(60)
    played.report(lease_id, "running", usage=Usage(tokens=1))
    played.report(lease_id, "failed", "a secret")
    played.do(RetryWork(graph_id="g", node_id="n", by="eve"))
    played.start("n", "bob")
    played.do(RevokeOwnership(graph_id="g", node_id="n", by="eve"))
    played.start("n", "bob")
    played.lapse(row("cancelled", after=90))
    return played


def test_a_replay_reaches_the_live_state() -> None:
    played = played_through()
    state = fold(played.events)
    assert (state, first_difference(state, played.state)) == (played.state, None)
    half = fold(played.events[:7])
    assert fold(played.events[7:], half) is half
    assert half == played.state


def test_the_story_of_a_node_is_its_events_with_ids_and_numbers_only() -> None:
    played = played_through()
    taken = "work_started agent_id={} session_epoch=1 ownership_epoch={} lease_id=L-AAAAAAAAAAA{} → active"
    assert list(story(played.events, ("g", "n"))) == [
        "2026-03-01T12:00:00Z approval_granted",
        "2026-03-01T12:00:00Z work_accepted agent_id=ada session_epoch=1 ownership_epoch=1 → queued",
        f"2026-03-01T12:00:00Z {taken.format('ada', 1, 'B')}",
        "2026-03-01T12:01:00Z usage_reported lease_id=L-AAAAAAAAAAAB → active",
        "2026-03-01T12:01:00Z lease_renewed lease_id=L-AAAAAAAAAAAB → active",
        "2026-03-01T12:01:00Z work_parked lease_id=L-AAAAAAAAAAAB → parked",
        "2026-03-01T12:01:00Z work_retried by=eve → open",
        f"2026-03-01T12:01:00Z {taken.format('bob', 2, 'D')}",
        "2026-03-01T12:01:00Z ownership_revoked by=eve → open",
        f"2026-03-01T12:01:00Z {taken.format('bob', 3, 'E')}",
        "2026-03-01T12:01:00Z seen_finished status=cancelled → cancelled",
    ]
    assert len(list(story(played.events[8:], ("g", "n"), fold(played.events[:8])))) == 6


def test_an_event_of_what_never_happened_is_named() -> None:
    with pytest.raises(StoreCorrupt, match="An event lease_expired of the ledger speaks of L-GONE, which is not there"):
        fold([LeaseExpired(at=NOON, lease_id="L-GONE")])


def test_the_first_difference_is_named_by_its_path() -> None:
    played = played_through()
    one = played.state

    def other() -> LedgerState:
        return one.branch()

    changed = other()
    changed.items["g"]["m"] = replace(changed.items["g"]["m"], note="x")
    assert first_difference(one, changed) == "/items/g/m/note: '' and 'x'"
    shorter = other()
    del shorter.sessions["bob"]
    assert first_difference(one, shorter) == "/sessions/: bob and nothing"
    assert first_difference(shorter, one) == "/sessions/: nothing and bob"
    renamed = other()
    renamed.sessions["carl"] = renamed.sessions.pop("bob")
    assert first_difference(one, renamed) == "/sessions/: bob and carl"
    turned = other()
    ended = dict(reversed(list(turned.closed.items())))
    turned.closed.clear()
    turned.closed.update(ended)
    assert first_difference(one, turned) == "/closed/: L-AAAAAAAAAAAB and L-AAAAAAAAAAAE"
    moved = other()
    known = dict(reversed(list(moved.sessions.items())))
    moved.sessions.clear()
    moved.sessions.update(known)
    assert first_difference(one, moved) is None
    played.accept("q")
    before = played.state.branch()
    played.wait(1)
    played.state.terms["g", "q"] = replace(played.state.terms["g", "q"], ticks_ms=1)
    assert first_difference(before, played.state) == "/terms/g.q/ticks_ms: 3660000 and 1"
