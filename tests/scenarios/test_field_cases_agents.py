"""What people who run several agents at once reported, in our terms.

Each test has the number of its row in the field cases' last section, and tries other inputs of the same kind.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.scenarios.claiming import POLICY, counts, given, held, reasons, refusal, refused
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW, Desk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    return Desk(tmp_path)


def limited(resource: str, seconds: int) -> dict[str, str]:
    """A resource that turned the agent away, until so many seconds after the beginning."""
    return {"resource": resource, "until": (NOW + timedelta(seconds=seconds)).isoformat()}


def started(desk: Desk) -> int:
    return desk.events().count("work_started")


# --- N1: to whom a node may go -----------------------------------------------------------------------------------


@pytest.mark.parametrize("given_by", ["call", "flag", "policy"])
@pytest.mark.parametrize("needed", [["write"], ["read", "write"], ["write", "deploy"]])
def test_n01_no_agent_gets_what_it_cannot_do(desk: Desk, given_by: str, needed: list[str]) -> None:
    """Row N1: a write task goes to a read-only agent, the same one eight times after refusal."""
    desk.graph("g", node("a", capabilities=needed, priority=9))
    said: dict[str, Any] = {"capabilities": ["read"]} if given_by == "call" else {}
    if given_by == "policy":
        desk.put(POLICY, {"agents": {"r": {"capabilities": ["read"]}}})
    reader = desk.beside(capabilities=frozenset({"read"}) if given_by == "flag" else None)
    for _ in range(8):
        answer = reader.claim("r", **said)
        assert (given(answer), counts(answer)) == ([], {"capability_missing": 1})
    assert refused(lambda: reader.start("a", "r")) == "NODE_NOT_ELIGIBLE"
    assert desk.events() == ["session_opened"]


@pytest.mark.parametrize("note", ["out of scope", "", "again"])
def test_n01_what_an_agent_gave_back_goes_to_it_last(desk: Desk, note: str) -> None:
    """Row N1: R gives b back; the next call of R gets another node while there is one, and another agent gets b."""
    desk.graph("g", node("b", priority=9), node("c", priority=5), node("d"))
    desk.report(desk.lease("r"), "released", note=note or None)
    assert given(desk.next(agent_id="r")) == ["c"]
    second = desk.claim("r")["decisions"][0]
    assert second["node_id"] == "c"
    desk.report(second["lease"]["lease_id"], "released")
    assert desk.taken("r") == ["d"]
    assert desk.taken("w") == ["b"]
    desk.report(held(desk, "r")[0][1], "completed")
    # Nothing else is left for R: what it gave back is better than nothing.
    assert desk.taken("r") == ["c"]


def test_n01_a_leased_node_is_in_nobodys_answer(desk: Desk) -> None:
    """Row N1: a task that has an owner is assigned."""
    desk.graph("g", node("a", priority=9), node("b"))
    desk.lease("w1")
    for agent_id in ("w1", "w2", None):
        answer = desk.next(agent_id=agent_id, limit=9)
        assert "a" not in given(answer)
        assert counts(answer)["leased"] == 1


# --- N2, N7, N11: who holds a node goes on with it -----------------------------------------------------------------


@pytest.mark.parametrize("action_ids", [(None, None), (None, "x"), ("x", "x"), ("x", "y")])
@pytest.mark.parametrize("way", ["start", "claim"])
def test_n02_who_is_on_a_node_gets_the_same_lease(desk: Desk, action_ids: tuple[Any, Any], way: str) -> None:
    """Row N2: an agent assigns to itself what it is on already: a second blind run."""
    desk.put(POLICY, {"slots": 2})
    desk.graph("g", node("a", priority=9), node("b"))
    first, second = action_ids
    if way == "start":
        lease = desk.start("a", "w1", action_id=first)["lease"]
    else:
        lease = desk.claim("w1", action_id=first)["decisions"][0]["lease"]
        second = None if second == first else second
    again = desk.beside().start("a", "w1", action_id=second)["lease"]
    assert (again, started(desk)) == (lease, 1)
    assert reasons(desk, "b") == []
    assert desk.status()["counts"]["running"] == 1


@pytest.mark.parametrize("how", ["claim", "start", "queue"])
def test_n07_a_claim_for_another_agent_is_that_agents(desk: Desk, how: str) -> None:
    """Row N7: the captain claims for a member, and the attempt changes under both."""
    desk.graph("g", node("a"), node("b"))
    captain, member = desk.beside(agent_id="c"), desk.beside(agent_id="m")
    if how == "queue":
        captain.start("a", "m", queue_only=True)
        (decision,) = member.claim("m")["decisions"]
        lease = decision["lease"]
    elif how == "start":
        lease = captain.start("a", "m")["lease"]
    else:
        lease = captain.claim("m")["decisions"][0]["lease"]
    assert (lease["node_id"], lease["agent_id"]) == ("a", "m")
    if how != "queue":
        assert member.claim(None)["held"] == [lease]
    for _ in range(3):
        desk.wait(400)
        for server in (captain, member):
            server.application.keeping.note_call()
            server.look_after()
        assert [each["lease_id"] for each in member.claim(None)["held"]] == [lease["lease_id"]]
    assert started(desk) == 1
    assert member.report(lease["lease_id"], "completed", agent_id="m")["node_status"] == "completed"


@pytest.mark.parametrize("priority", [-9, 0, 9])
def test_n11_who_has_work_gets_no_other(desk: Desk, priority: int) -> None:
    """Row N11: an idle hook looks for new work while its own is in progress."""
    desk.graph("g", node("a"))
    lease_id = desk.lease("w1")
    desk.graph("h", node("b", priority=priority))
    answer = desk.claim("w1")
    assert ([each["node_id"] for each in answer["held"]], given(answer)) == (["a"], [])
    desk.report(lease_id, "released")
    assert desk.taken("w1") == ["b"]


# --- N4, N5: a provider turns agents away --------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [1, 63, 300, 7_200])
@pytest.mark.parametrize("failures", [0, 4])
def test_n04_a_limit_ends_when_it_says_and_costs_no_attempt(desk: Desk, seconds: int, failures: int) -> None:
    """Row N4: the limit resets in 63 s, and exponential back-off sleeps two hours."""
    desk.put(POLICY, {"retries": {"max_attempts": 5, "backoff_seconds": 0}})
    desk.graph("g", node("a"))
    for _ in range(failures):
        desk.report(desk.lease(), "failed", note="its own fault")
    answer = desk.report(desk.lease(), "failed", rate_limited=limited("anthropic", seconds))
    assert answer["node_status"] == "open"
    desk.wait(seconds - 0.001)
    assert given(desk.next()) == []
    desk.wait(0.001)
    assert given(desk.next()) == ["a"]
    # As many attempts are left as before.
    for number in range(5 - failures):
        assert desk.report(desk.lease(), "failed", note="no")["node_status"] == (
            "parked" if number == 4 - failures else "open"
        )


def account_policy() -> dict[str, Any]:
    agents = {f"w{number}": {"uses": {"p": 1}} for number in range(1, 5)}
    return {"resources": {"p": {"capacity": 4}, "q": {"capacity": 4}}, "agents": {**agents, "w5": {"uses": {"q": 1}}}}


def test_n05_one_agent_at_the_wall_spares_the_others_and_success_reopens(desk: Desk) -> None:
    """Row N5: four agents on one account each run into the wall."""
    desk.put(POLICY, account_policy())
    desk.graph("g", *(node(f"n{number}") for number in range(8)))
    slow, first = desk.lease("w2"), desk.lease("w1")
    desk.report(first, "failed", rate_limited=limited("p", 300))
    for agent_id in ("w1", "w3", "w4"):
        answer = desk.beside().claim(agent_id)
        assert (given(answer), counts(answer)["resource_closed"]) == ([], 7)
    assert given(desk.beside().claim("w5")) != []
    # Who was served meanwhile shows that it is open.
    desk.wait(10)
    desk.report(slow, "completed")
    assert len(given(desk.claim("w3"))) == 1


@pytest.mark.parametrize("state", ["released", "blocked", "paused"])
def test_n05_what_is_no_success_does_not_reopen(desk: Desk, state: str) -> None:
    desk.put(POLICY, account_policy())
    desk.graph("g", *(node(f"n{number}") for number in range(8)))
    slow, first = desk.lease("w2"), desk.lease("w1")
    desk.report(first, "failed", rate_limited=limited("p", 300))
    desk.report(slow, state, note="later")
    assert given(desk.claim("w3")) == []
    desk.wait(299)
    assert given(desk.claim("w3")) == []
    desk.wait(1)
    assert len(given(desk.claim("w3"))) == 1


# --- N8, N10, N14: what is told ------------------------------------------------------------------------------------


@pytest.mark.parametrize("note", [None, "", "   ", "\n\t"])
@pytest.mark.parametrize("state", ["blocked", "failed"])
def test_n08_blocked_needs_a_reason(desk: Desk, note: str | None, state: str) -> None:
    """Row N8: blocked, and nobody knows why."""
    desk.graph("g", node("a"))
    lease_id = desk.lease()
    error = refusal(lambda: desk.report(lease_id, state, note=note))
    assert (error.code, error.details["field"]) == ("INVALID_INPUT", "note")
    assert held(desk, "w1") == [("a", lease_id)]


@pytest.mark.parametrize("note", [None, "", " "])
def test_n08_a_block_of_another_program_without_a_reason_needs_a_person(desk: Desk, note: str | None) -> None:
    desk.graph("g", node("a", status="blocked", blocker_reason=note), node("b"))
    assert reasons(desk, "a") == ["blocked(unknown, set by another tool)"]
    (waiting,) = desk.status()["needs_person"]
    assert (waiting["node_id"], waiting["reason"]) == ("a", "blocked(unknown, set by another tool)")


def test_n10_what_one_plans_nobody_plans_twice(desk: Desk) -> None:
    """Row N10: an epic is planned by two agents, and has every child twice."""
    desk.graph("e", node("epic"), node("other"))
    lease_id = desk.start("epic", "w1")["lease"]["lease_id"]
    assert refused(lambda: desk.beside().start("epic", "w2")) == "WORK_ALREADY_OWNED"
    assert given(desk.beside().claim("w2")) == ["other"]
    one, two = {"node_id": "one", "title": "One"}, {"node_id": "two", "title": "Two", "depends_on": ["one"]}
    desk.plan(graph_id="e", title="e", nodes=[one, two])
    before = {path: path.read_bytes() for path in desk.path("tasks").rglob("*") if path.is_file()}
    for nodes in ([one, two], [{"node_id": "three", "title": "Three"}, one], [two], [{**one, "title": "Another"}]):
        error = refusal(partial(desk.beside().plan, graph_id="e", title="e", nodes=nodes))
        assert (error.code, error.message.partition(": ")[2]) == (
            "INVALID_INPUT",
            f"{'two' if nodes == [two] else 'one'} is already in the graph",
        )
    assert {path: path.read_bytes() for path in desk.path("tasks").rglob("*") if path.is_file()} == before
    assert held(desk, "w1") == [("epic", lease_id)]


def test_n14_a_failure_of_before_does_not_stop_who_works_now(desk: Desk) -> None:
    """Row N14: a red card over a running agent."""
    desk.put(POLICY, {"groups": {"g": {"review": True}}})
    desk.graph("g", node("a"))
    old = desk.lease("w1")
    desk.report(old, "completed", result={"summary": "first"})
    desk.review("a", accept=False, note="the test is missing")
    live = desk.lease("w2")
    desk.look_after()
    error = refusal(lambda: desk.review("a", accept=False, note="and this too"))
    assert (error.code, error.details["state"]) == ("INVALID_STATE_TRANSITION", "active")
    assert error.details["attempts"] == ["rejected 2026-12-01T12:00:00Z w1"]
    assert refused(lambda: desk.report(old, "failed", note="late")) == "WORK_STALE_OWNERSHIP"
    (running,) = desk.status()["running"]
    assert (running["node_id"], running["agent_id"], desk.statuses()) == ("a", "w2", {"a": "running"})
    hints = desk.start("a", "w2")["dispatch_hints"]
    assert [(each["outcome"], each["note"]) for each in hints["attempts"]] == [("rejected", "the test is missing")]
    assert desk.report(live, "completed")["node_status"] == "submitted"
