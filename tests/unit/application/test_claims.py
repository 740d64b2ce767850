"""An agent takes what is next: each node goes to one agent alone, and to no agent more than it may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import AuthStaleSession, GraphNotFound, InvalidInput
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk, Json

FULL = ("at", "factors", "reasons", "score", "title", "dispatch_hints", "acl_commands")
POLICY = "schedule/policy.json"


def named(answer: Json) -> list[str]:
    return [each["node_id"] for each in answer["decisions"]]


def test_a_claim_gives_the_node_with_its_lease(desk: Desk) -> None:
    desk.graph("g", node("a", priority=3), node("b", depends_on=["a"]), node("c"))
    answer = desk.claim()
    (decision,) = answer.pop("decisions")
    lease = decision["lease"]
    assert {name: each for name, each in decision.items() if name not in FULL} == {
        "decision_id": decision["decision_id"],
        "graph_id": "g",
        "node_id": "a",
        "agent_id": "w1",
        "lease": {
            "lease_id": lease["lease_id"],
            "graph_id": "g",
            "node_id": "a",
            "agent_id": "w1",
            "ownership_epoch": 1,
            "session_epoch": 1,
            "expires_at": "2026-12-01T12:15:00Z",
            "mission_id": f"urn:metagit:{desk.document('schedule/workspace.json')['workspace_id']}:g",
        },
    }
    assert answer == {
        "skipped": [],
        "held": [],
        "ready_count": 1,
        "runnable_count": 0,
        "not_eligible": [
            {"reason": "agent_slots", "nodes": 1},
            {"reason": "leased", "nodes": 1},
            {"reason": "not_ready", "nodes": 1},
        ],
        "all_finished": False,
        "truncated": False,
        "omitted": [],
        "state_version": answer["state_version"],
        "warnings": [],
        "next_step": f"Work on node a of graph g. Report with metagit_work_report and lease_id {lease['lease_id']}: "
        "running now and then, completed with a result, blocked or failed with a note, released to give it back.",
    }
    assert desk.events() == ["session_opened", "work_started"]


def test_a_lease_id_is_short_and_new_each_time(desk: Desk) -> None:
    desk.graph("g", node("a"))
    seen = set()
    for _ in range(20):
        lease_id = desk.lease()
        assert (lease_id[:2], len(lease_id)) == ("L-", 14)
        assert set(lease_id[2:]) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        seen.add(lease_id)
        desk.report(lease_id, "released")
    assert len(seen) == 20


def test_a_claim_is_logged_as_a_decision_without_its_lease(desk: Desk) -> None:
    desk.graph("g", node("a"))
    (decision,) = desk.claim()["decisions"]
    (row,) = desk.lines("schedule/decisions.jsonl")
    assert (row["decision_id"], row["agent_id"], row["node_id"]) == (decision["decision_id"], "w1", "a")
    assert row.get("lease") is None
    assert [each["type"] for each in desk.lines("events/scheduler.jsonl")] == ["ScheduleDecision"]


def test_a_claim_stands_where_its_decision_cannot_be_logged(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.path("schedule/decisions.jsonl").mkdir(parents=True)
    answer = desk.claim()
    assert named(answer) == ["a"]
    (warning,) = answer["warnings"]
    assert warning.startswith("what was taken stands in no log: .metagit/schedule/decisions.jsonl")
    assert desk.claim()["held"][0]["node_id"] == "a"


def test_a_claim_remembers_our_fields_against_other_writers(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.graph("h", node("gpu", capabilities=["gpu"]))
    desk.claim()
    desk.graph("h", node("gpu"))
    assert desk.claim("w2")["not_eligible"] == [
        {"reason": "capability_missing", "nodes": 1},
        {"reason": "leased", "nodes": 1},
    ]


def test_of_many_processes_one_gets_the_node(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desks = [desk.beside() for _ in range(4)]
    given = [named(each.claim(f"w{number}")) for number, each in enumerate(desks)]
    assert given == [["a"], ["b"], [], []]
    assert desks[3].claim("w3")["next_step"] == "Nothing can be started now. 2 leased: agents work on them."


def test_who_holds_all_it_may_is_told_what_it_holds(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    first = desk.claim()["decisions"][0]["lease"]
    again = desk.beside().claim()
    assert (named(again), again["held"], again["runnable_count"]) == ([], [first], 0)
    assert again["next_step"] == (
        f"You have no slot free: go on with node a of graph g and report under lease {first['lease_id']}, "
        "or give it back with state=released."
    )
    assert desk.events() == ["session_opened", "work_started"]


def test_a_claim_takes_as_many_as_the_agent_has_slots(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 2, "agents": {"big*": {"slots": 4}, "none": {"slots": 0}}})
    desk.graph("g", *(node(f"n{number}") for number in range(9)))
    assert desk.taken("w1", limit=5) == ["n0", "n1"]
    desk.wait(1)
    first, second = desk.claim("big-1")["decisions"], desk.claim("big-1", limit=9)
    assert ([each["node_id"] for each in first], named(second)) == (["n2"], ["n3", "n4", "n5"])
    assert second["held"] == [first[0]["lease"]]
    assert len({each["lease"]["lease_id"] for each in second["decisions"]}) == 3
    # More than three are told in brief, unless asked otherwise, and each has its lease.
    assert {"factors" in each for each in second["decisions"]} == {False}
    none = desk.claim("none")
    assert (named(none), none["held"], none["runnable_count"]) == ([], [], 0)
    assert none["not_eligible"][0] == {"reason": "agent_slots", "nodes": 3}


def test_one_claim_of_several_nodes_respects_what_each_takes(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 9, "slots": 3, "resources": {"db": {"capacity": 1}}})
    wide, db = node("wide", priority=9, slots=2), {"uses": {"db": 1}}
    desk.graph("g", wide, node("b", priority=8, **db), node("c", priority=7, **db), node("d"), node("e"))
    assert desk.taken(limit=9) == ["wide", "b"]
    assert desk.status(node_id="c")["explain"]["reasons"] == [
        {"reason": "resource_busy", "text": "resource_busy(db, 1/1)"},
        {"reason": "no_slot", "text": "no_slot(3/3)"},
    ]


def test_a_claim_can_be_of_one_graph(desk: Desk) -> None:
    desk.graph("g", node("a", priority=9))
    desk.graph("h", node("b"))
    assert desk.taken("w1", graph_id="h") == ["b"]
    assert desk.taken("w2", graph_id="h") == []
    with pytest.raises(GraphNotFound):
        desk.claim("w3", graph_id="i")
    assert desk.taken("w3") == ["a"]


def test_a_claim_cannot_be_only_a_preview(desk: Desk) -> None:
    desk.graph("g", node("a"))
    with pytest.raises(InvalidInput) as caught:
        desk.claim(preview=True)
    assert (caught.value.message, caught.value.details) == (
        "claim and preview cannot both be true",
        {"field": "preview"},
    )
    assert desk.events() == []


def test_a_lease_lasts_as_long_as_it_was_asked_for_within_the_policy(desk: Desk) -> None:
    desk.put(POLICY, {"leases": {"seconds": 100, "unattended_seconds": 200, "max_seconds": 500}, "agent_slots": 9})
    desk.graph("g", *(node(name) for name in "abcdef"))
    terms = [desk.claim(), desk.beside("cli").claim(), desk.claim(lease_seconds=60), desk.claim(lease_seconds=500)]
    assert [each["decisions"][0]["lease"]["expires_at"] for each in terms] == [
        "2026-12-01T12:01:40Z",
        "2026-12-01T12:03:20Z",
        "2026-12-01T12:01:00Z",
        "2026-12-01T12:08:20Z",
    ]
    before = desk.events()
    with pytest.raises(InvalidInput, match="lease_seconds: must be 60 to 500"):
        desk.claim(lease_seconds=501)
    with pytest.raises(InvalidInput, match="lease_seconds: should be greater than or equal to 60"):
        desk.claim(lease_seconds=59)
    assert desk.events() == before


# --- who claims ----------------------------------------------------------------------------------------------------


def test_without_a_name_each_server_claims_as_somebody_else(desk: Desk) -> None:
    desk.graph("g", *(node(name) for name in "abcd"))
    first, second = desk.beside(), desk.beside()
    agents = [each.claim(None)["decisions"][0]["lease"]["agent_id"] for each in (first, second)]
    assert len(set(agents)) == 2
    assert all(each.startswith("agent-") and len(each) == 14 for each in agents)
    assert first.claim(None)["held"][0]["agent_id"] == agents[0]
    session = desk.beside(session_id="0f9a-session")
    assert session.claim(None)["decisions"][0]["lease"]["agent_id"] == "0f9a-session"
    cli = desk.beside("cli").claim(None)["decisions"][0]["lease"]["agent_id"]
    assert "@" in cli


def test_what_an_agent_can_do_is_remembered_for_its_session(desk: Desk) -> None:
    desk.graph("g", node("gpu", capabilities=["gpu"]), node("db", capabilities=["db"]))
    assert desk.taken("w1", capabilities=["gpu"]) == ["gpu"]
    other = desk.beside()
    assert [each["node_id"] for each in other.next(agent_id="w2", preview=True)["decisions"]] == []
    desk.report(desk.claim("w1")["held"][0]["lease_id"], "released")
    # It stays with the agent whichever process asks, for advice too, and a start by name uses it.
    assert named(other.next(agent_id="w1", preview=True)) == ["gpu"]
    assert other.start("gpu", agent_id="w1")["lease"]["node_id"] == "gpu"
    assert other.taken("w2", capabilities=["db"]) == ["db"]
    assert desk.events() == [
        "session_opened",
        "work_started",
        "work_released",
        "work_started",
        "session_opened",
        "work_started",
    ]


def test_the_policy_can_only_be_narrowed_by_what_an_agent_says(desk: Desk) -> None:
    desk.put(POLICY, {"agents": {"w1": {"capabilities": ["gpu"], "slots": 9}}})
    desk.graph("g", node("gpu", capabilities=["gpu"]), node("db", capabilities=["db"]), node("none"))
    assert desk.taken("w1", limit=9, capabilities=["db"]) == ["none"]
    assert desk.taken("w1", limit=9, capabilities=["gpu", "db"]) == ["gpu"]
    assert desk.taken("w1", limit=9) == []


# --- sessions ------------------------------------------------------------------------------------------------------


def test_a_new_session_takes_back_what_the_former_one_had(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 3})
    desk.graph("g", node("a"), node("b"), node("c"))
    lease_id = desk.lease("w1")
    desk.start("b", agent_id="w1", queue_only=True)
    desk.lease("w2")
    restarted = desk.beside()
    (decision,) = restarted.claim("w1", new_session=True)["decisions"]
    lease = decision["lease"]
    assert (decision["node_id"], lease["session_epoch"], lease["ownership_epoch"]) == ("a", 2, 1)
    assert lease["lease_id"] != lease_id
    with pytest.raises(AuthStaleSession) as caught:
        desk.report(lease_id, "completed", result={"summary": "too late"})
    assert caught.value.details == {
        "lease_id": lease_id,
        "graph_id": "g",
        "node_id": "a",
        "closure": "session",
        "closed_at": "2026-12-01T12:00:00Z",
        "state": "active",
        "since": "2026-12-01T12:00:00Z",
        "ownership_epoch": 1,
        "owner": "w1",
    }
    assert restarted.taken("w1", limit=9) == ["b"]
    assert desk.events().count("work_returned") == 2


def test_the_work_of_a_former_session_is_for_nobody_else(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.lease("w1")
    desk.put(POLICY, {"agents": {"w1": {"slots": 0}}})
    desk.claim("w1", new_session=True)
    assert desk.claim("w2")["not_eligible"] == [{"reason": "owned", "nodes": 1}]
    desk.wait(3600)
    assert desk.taken("w2") == ["a"]


def test_a_second_server_of_one_agent_reads_and_does_not_claim(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"), node("c"))
    first, second = desk.beside(agent_id="ada"), desk.beside(agent_id="ada")
    lease_id = first.lease(None)
    assert named(second.next()) == ["b"]
    for ask in (second.claim, lambda agent: second.start("b", agent_id=agent)):
        with pytest.raises(AuthStaleSession) as caught:
            ask(None)
        assert caught.value.details == {"agent_id": "ada", "session_epoch": 1}
        assert (
            caught.value.hint
            == "Start without --agent-id and METAGIT_AGENT_ID, or pass new_session=true if the other one is dead."
        )
    # It may speak for others, and report on what it is told of.
    assert second.report(lease_id, "running")["node_status"] == "active"
    assert second.taken("ada/helper") == ["b"]
    # Once the other one is gone for long enough, or said to be dead, it claims.
    assert second.taken(None, new_session=True) == ["a"]
    with pytest.raises(AuthStaleSession):
        first.claim(None)
    desk.wait(900)
    assert first.taken(None) == ["a"]


def test_whoever_is_given_several_nodes_hears_of_all_of_them(desk: Desk) -> None:
    desk.put("schedule/policy.json", {"agents": {"w1": {"slots": 3}}})
    desk.graph("g", *(node(name) for name in "abcd"))
    step = desk.claim("w1", limit=3)["next_step"]
    assert step.startswith(
        "Work on all 3 nodes that you were given. Report with metagit_work_report and lease_id of each: "
    )
    assert desk.claim("w2")["next_step"].startswith("Work on node d of graph g. ")
