"""A lease follows its connection: kept while the host calls now and then, given back at the end, else it runs out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.errors import AuthStaleSession, StoreUnavailable, WorkLeaseExpired, WorkStaleOwnership
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

POLICY = "schedule/policy.json"


def live_for(desk: Desk, seconds: int, step: int = 100) -> None:
    """Let a server live on, looking after things now and then."""
    for _ in range(0, seconds, step):
        desk.wait(step)
        desk.look_after()


def until(desk: Desk, agent_id: str = "w1") -> list[str]:
    """Until when the leases of an agent last."""
    return [each["leased_until"] for each in desk.status()["running"] if each.get("agent_id") == agent_id]


def test_a_lease_is_renewed_while_its_connection_lives(desk: Desk) -> None:
    desk.graph("g", node("a"))
    lease_id = desk.lease()
    live_for(desk, 3000)
    assert until(desk) == ["2026-12-01T13:01:40Z"]
    assert desk.report(lease_id, "completed")["node_status"] == "completed"
    # Not at each look: only when a third of the term is over.
    assert desk.events().count("lease_renewed") == 7
    live_for(desk, 1000)
    assert desk.events().count("lease_renewed") == 7


def test_each_lease_has_its_own_term(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 9})
    desk.graph("g", node("a"), node("b"))
    desk.lease(lease_seconds=60)
    desk.lease(lease_seconds=6000)
    live_for(desk, 300, 15)
    assert until(desk) == ["2026-12-01T12:06:00Z", "2026-12-01T13:40:00Z"]


def test_only_what_was_granted_through_the_connection_is_kept(desk: Desk) -> None:
    desk.put(POLICY, {"leases": {"unattended_seconds": 900}})
    desk.graph("g", node("a"), node("b"), node("c"))
    desk.lease("w1")
    desk.beside().lease("w2")
    desk.beside("cli").lease("w3")
    live_for(desk, 1000)
    assert (until(desk, "w1"), until(desk, "w2"), until(desk, "w3")) == (["2026-12-01T12:28:20Z"], [], [])
    assert desk.events().count("lease_expired") == 2
    assert desk.statuses() == {"a": "running", "b": "ready", "c": "ready"}


def test_a_lease_follows_the_connection_that_got_it_and_no_other(desk: Desk) -> None:
    desk.graph("g", node("a"))
    lease_id = desk.lease("w1")
    other = desk.beside()
    assert other.start("a", agent_id="w1")["lease"]["lease_id"] == lease_id
    other.end()
    assert desk.report(lease_id, "running")["node_status"] == "active"
    live_for(other, 900)
    assert until(desk) == []


def test_whose_host_calls_no_more_is_left_to_run_out(desk: Desk) -> None:
    desk.put(POLICY, {"leases": {"idle_seconds": 1000}})
    desk.graph("g", node("a"))
    lease_id = desk.lease()
    live_for(desk, 900)
    desk.application.keeping.note_call()
    live_for(desk, 1000)
    assert len(until(desk)) == 1
    live_for(desk, 1000)
    assert until(desk) == []
    with pytest.raises(WorkLeaseExpired):
        desk.report(lease_id, "running")


def test_terms_end_in_a_server_that_nobody_asks(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.beside("cli").lease("w1")
    desk.start("b", agent_id="w2", queue_only=True)
    live_for(desk, 14_400, 3600)
    assert desk.events()[-2:] == ["start_by_passed", "lease_expired"]
    assert desk.statuses() == {"a": "ready", "b": "pending"}


def test_a_look_at_nothing_due_writes_nothing(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.lease()
    desk.look_after()
    before, row = desk.events(), desk.row("a")
    for _ in range(3):
        desk.wait(1)
        desk.look_after()
    assert (desk.events(), desk.row("a")) == (before, row)


def test_what_others_did_becomes_an_event_unasked(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.lease()
    desk.look_after()
    desk.wait(5)
    desk.set_row("a", status="completed", updated_at="2026-12-01T12:00:05Z")
    desk.look_after()
    assert desk.events()[-1] == "seen_finished"


def test_a_clean_end_gives_back_what_the_connection_holds(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 9})
    desk.graph("g", node("a"), node("b"), node("c"))
    mine = [desk.lease("w1"), desk.lease("w2")]
    other = desk.beside()
    theirs = other.lease("w1")
    desk.end()
    assert desk.statuses() == {"a": "pending", "b": "pending", "c": "running"}
    for lease_id in mine:
        with pytest.raises(WorkStaleOwnership) as caught:
            other.report(lease_id, "completed")
        assert caught.value.details["closure"] == "released"
    assert other.report(theirs, "completed")["node_status"] == "completed"
    (decision,) = other.claim("w3")["decisions"]
    assert decision["dispatch_hints"]["attempts"] == [
        {"agent_id": "w1", "at": "2026-12-01T12:00:00Z", "outcome": "released", "note": "the connection ended"}
    ]
    # A second end, or one without any lease, is nothing.
    before = desk.events()
    desk.end()
    desk.beside().end()
    assert desk.events() == before


def test_a_restarted_session_is_not_kept_by_its_former_server(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.lease("w1")
    restarted = desk.beside()
    lease = restarted.claim("w1", new_session=True)["decisions"][0]["lease"]
    live_for(desk, 900)
    assert desk.events().count("lease_renewed") == 0
    assert (until(desk), lease["session_epoch"]) == ([], 2)
    desk.end()
    assert "work_released" not in desk.events()


def test_a_servers_hold_on_its_agent_lasts_as_long_as_the_server(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    server, second = desk.beside(agent_id="ada"), desk.beside(agent_id="ada")
    # Before the first claim there is nothing to hold.
    server.look_after()
    assert desk.events() == []
    lease_id = server.lease(None)
    live_for(server, 3000)
    with pytest.raises(AuthStaleSession):
        second.claim(None)
    second.look_after()
    # With nothing left to do it holds on, and a clean end lets go at once.
    assert server.report(lease_id, "completed")["node_status"] == "completed"
    live_for(server, 1000)
    with pytest.raises(AuthStaleSession):
        second.claim(None)
    second.end()
    with pytest.raises(AuthStaleSession):
        second.claim(None)
    server.end()
    assert second.taken(None) == ["b"]
    # It is the second's now: the first one's second end changes nothing.
    before = desk.events()
    server.end()
    server.look_after()
    assert desk.events() == before
    assert server.application.current.state.sessions["ada"].epoch == 1


def test_an_idle_servers_hold_runs_out(desk: Desk) -> None:
    desk.graph("g", node("a"))
    server, second = desk.beside(agent_id="ada"), desk.beside(agent_id="ada")
    server.lease(None)
    live_for(server, 7200 + 1000)
    assert second.taken(None) == ["a"]


def test_what_fails_is_tried_again_and_no_lease_is_lost(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.graph("g", node("a"))
    desk.lease()
    desk.look_after()
    unreadable = desk.path("schedule/ledger.db")

    def refuse(*_: object) -> object:
        raise StoreUnavailable("The ledger is busy.")

    with monkeypatch.context() as busy:
        busy.setattr(SqliteEventStore, "writing", refuse)
        busy.setattr(SqliteEventStore, "mark", refuse)
        live_for(desk, 500)
        desk.end()
    assert unreadable.exists()
    live_for(desk, 800)
    assert until(desk) == ["2026-12-01T12:31:40Z"]
