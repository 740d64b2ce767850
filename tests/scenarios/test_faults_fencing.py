"""Agents that come too late, twice, or again: nothing they say under a lease that ended moves the work of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.scenarios.attack import Server
from tests.scenarios.claiming import POLICY, given, held, refusal, refused, told
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

STATES = ("running", "checkpointed", "paused", "blocked", "completed", "failed", "released")
RESULT = {"summary": "It runs", "artifacts": ["branch x"], "evidence": ["make test"]}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(tmp_path)
    desk.graph("g", node("a"), node("b"))
    return desk


@pytest.mark.parametrize("state", STATES)
def test_a_heartbeat_after_expiry_revives_nothing(desk: Desk, state: str) -> None:
    lease_id = desk.lease(lease_seconds=60)
    desk.wait(60)
    assert refused(lambda: desk.report(lease_id, state, note="x")) == "WORK_LEASE_EXPIRED"
    # Nobody else asked meanwhile; the node is open all the same, and the refusal says so again.
    error = refusal(lambda: desk.report(lease_id, state, note="x"))
    assert (error.details["state"], error.details["closed_at"]) == ("open", "2026-12-01T12:01:00Z")
    assert desk.taken("w2") == ["a"]


@pytest.mark.parametrize("state", STATES)
def test_a_report_of_the_former_session_is_refused(desk: Desk, state: str) -> None:
    lease_id = desk.lease()
    answer = desk.beside().claim("w1", new_session=True)
    # Its work went back into its queue: it is the next that the new session gets.
    (decision,) = answer["decisions"]
    assert (decision["node_id"], decision["lease"]["session_epoch"], answer["held"]) == ("a", 2, [])
    assert refused(lambda: desk.report(lease_id, state, note="x")) == "AUTH_STALE_SESSION"
    assert held(desk, "w1") == [("a", decision["lease"]["lease_id"])]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("way", ["expired", "released", "revoked", "session", "finished"])
def test_an_old_owner_does_not_touch_the_new_one(desk: Desk, state: str, way: str) -> None:
    old = desk.lease(lease_seconds=60)
    new_owner = "w2"
    if way == "expired":
        desk.wait(60)
    elif way == "released":
        desk.report(old, "released")
    elif way == "revoked":
        desk.release("a", "it hangs")
    elif way == "finished":
        desk.flush()
        desk.wait(1)
        desk.set_row("a", status="completed", updated_at="2026-12-01T12:00:01+00:00")
        desk.look_after()
        desk.wait(1)
        desk.set_row("a", status="pending", updated_at="2026-12-01T12:00:02+00:00")
    else:
        new_owner = "w1"
    live = desk.start("a", new_owner, new_session=way == "session")["lease"]
    code = {"expired": "WORK_LEASE_EXPIRED", "session": "AUTH_STALE_SESSION"}.get(way, "WORK_STALE_OWNERSHIP")
    for _ in range(2):
        assert refused(lambda: desk.report(old, state, note="late", result=RESULT)) == code
    assert held(desk, new_owner) == [("a", live["lease_id"])]
    assert desk.report(live["lease_id"], "completed")["node_status"] == "completed"


def test_a_late_result_is_kept_as_evidence_once_and_completes_nothing(desk: Desk) -> None:
    lease_id = desk.lease(lease_seconds=60)
    desk.wait(60)
    for _ in range(3):
        assert refused(lambda: desk.report(lease_id, "completed", result=RESULT)) == "WORK_LEASE_EXPIRED"
    (kept,) = told(desk, "evidence_kept")
    assert (kept["lease_id"], kept["state"], kept["result"]) == (lease_id, "completed", RESULT)
    assert (desk.status()["counts"]["finished"], desk.taken("w2")) == (0, ["a"])


def test_a_late_result_after_a_restart_is_still_known_by_its_lease(desk: Desk) -> None:
    lease_id = desk.lease(lease_seconds=60)
    desk.application.close()
    desk.wait(3_600)
    assert refused(lambda: desk.beside().report(lease_id, "completed", result=RESULT)) == "WORK_LEASE_EXPIRED"
    assert len(told(desk, "evidence_kept")) == 1


@pytest.mark.parametrize("ids", [("x", "x"), ("x", "y"), ("x", None), (None, None)])
@pytest.mark.parametrize("review", [False, True])
def test_completing_twice_completes_once(desk: Desk, ids: tuple[Any, Any], *, review: bool) -> None:
    desk.put(POLICY, {"groups": {"g": {"review": review}}})
    lease_id = desk.lease()
    first = desk.report(lease_id, "completed", result=RESULT, action_id=ids[0])
    events = desk.events()
    if ids == ("x", "x"):
        assert desk.beside().report(lease_id, "completed", result=RESULT, action_id="x") == first
    else:
        again = lambda: desk.beside().report(lease_id, "completed", result=RESULT, action_id=ids[1])  # noqa: E731 - said twice
        assert (refused(again), refused(again)) == ("WORK_STALE_OWNERSHIP",) * 2
    assert desk.events() == events
    assert events.count("work_submitted" if review else "work_completed") == 1


@pytest.mark.parametrize(
    "other", [{"state": "failed", "note": "no"}, {"note": "more"}, {"result": None}, {"agent_id": "w1"}]
)
def test_one_action_id_is_for_one_command(desk: Desk, other: dict[str, Any]) -> None:
    lease_id = desk.lease()
    said: dict[str, Any] = {"lease_id": lease_id, "state": "completed", "result": RESULT, "action_id": "x"}
    desk.report(**said)
    events = desk.events()
    assert refused(lambda: desk.beside().report(**{**said, **other})) == "ACTION_ID_COLLISION"
    assert refused(lambda: desk.claim("w1", action_id="x")) == "ACTION_ID_COLLISION"
    assert desk.events() == events


def test_a_claim_repeated_under_its_action_id_takes_no_second_node(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 2})
    first = desk.claim("w1", action_id="x")
    again = desk.beside().claim("w1", action_id="x")
    assert (given(first), again["decisions"]) == (["a"], first["decisions"])
    assert desk.taken("w1", action_id="y") == ["b"]


def test_a_refusal_is_no_reply_that_is_repeated(desk: Desk) -> None:
    """What was refused may be allowed the next time, under the same id."""
    lease_id = desk.lease("w1")
    assert refused(lambda: desk.start("a", "w2", action_id="x")) == "WORK_ALREADY_OWNED"
    desk.report(lease_id, "released")
    assert desk.start("a", "w2", action_id="x")["lease"]["agent_id"] == "w2"


# --- servers that are killed -----------------------------------------------------------------------------------------


def entered(desk: Desk, *flags: str) -> Server:
    """A server whose time is the desk's: what was granted there would have run out for one that looks at the date."""
    server = Server(desk.root, *flags, env={"METAGIT_MCP_CLOCK": f"@{desk.clock}"})
    server.enter("2026-07-28")
    return server


def test_a_killed_server_leaves_its_leases_to_the_next_session(desk: Desk) -> None:
    """Kill -9 with leases open; the same agent id starts again: refused, then in a new session it goes on."""
    with entered(desk, "--agent-id", "ada/1") as server:
        (decision,) = server.ask("schedule_next", claim=True)["decisions"]
        server.ask("work_report", lease_id=decision["lease"]["lease_id"], state="checkpointed", note="half way")
        server.process.kill()
        server.wait()
    with entered(desk, "--agent-id", "ada/1") as server:
        assert [each["graph_id"] for each in server.ask("schedule_status")["running"]] == ["g"]
        assert server.ask("schedule_next", claim=True)["code"] == "AUTH_STALE_SESSION"
        assert server.ask("work_start", node_id="b")["code"] == "AUTH_STALE_SESSION"
        # The lease is the authority: whoever names it may still report.
        old = decision["lease"]["lease_id"]
        assert server.ask("work_report", lease_id=old, state="running")["lease"]["lease_id"] == old
        (again,) = server.ask("schedule_next", claim=True, new_session=True)["decisions"]
        lease = again["lease"]
        assert (again["node_id"], lease["session_epoch"], lease["ownership_epoch"]) == (decision["node_id"], 2, 1)
        assert (lease["lease_id"] != old, "resume_from" in lease) == (True, True)
        assert server.ask("work_report", lease_id=old, state="completed")["code"] == "AUTH_STALE_SESSION"
        assert server.ask("work_report", lease_id=lease["lease_id"], state="completed")["node_status"] == "completed"
        server.end()
    assert desk.statuses()["a"] == "completed"


def test_a_server_that_ends_well_gives_back_only_what_it_was_given(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 2})
    other = desk.beside("cli").lease("w9")
    with entered(desk) as server:
        (decision,) = server.ask("schedule_next", claim=True, agent_id="sub/1")["decisions"]
        assert decision["node_id"] == "b"
        # It reported for another lease too, which is not its own for that.
        server.ask("work_report", lease_id=other, state="running")
        server.end()
    # Released before its start was written back, or after: both say that it is open.
    assert (desk.statuses()["a"], desk.statuses()["b"] in {"pending", "ready"}) == ("running", True)
    (released,) = told(desk, "work_released")
    assert (released["lease_id"], held(desk, "w9")) == (decision["lease"]["lease_id"], [("a", other)])
