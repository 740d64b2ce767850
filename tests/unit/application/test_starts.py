"""An agent takes one node by its name, now or for later, or is told every reason why it may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import (
    CapacityExceeded,
    GraphInvalid,
    InvalidInput,
    InvalidStateTransition,
    MetagitError,
    NodeAmbiguous,
    NodeNotEligible,
    NodeNotFound,
    WorkAlreadyOwned,
)
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk, Json

POLICY = "schedule/policy.json"
AT = "2026-12-01T12:00:00Z"
LATER = "Start it with metagit_work_start before start_by."
WORK = (
    "Do the work. Then metagit_work_report with this lease_id: completed with a result, or blocked or failed with a "
    "note; running now and then keeps the lease."
)


def test_a_start_gives_the_lease_and_what_to_know_of_the_node(desk: Desk) -> None:
    desk.graph("g", node("a", priority=9), node("b", acceptance=["tests pass"]))
    answer = desk.start("b")
    lease_id = answer["lease"]["lease_id"]
    assert answer == {
        "lease": {
            "lease_id": lease_id,
            "graph_id": "g",
            "node_id": "b",
            "agent_id": "w1",
            "ownership_epoch": 1,
            "session_epoch": 1,
            "expires_at": "2026-12-01T12:15:00Z",
            "mission_id": f"urn:metagit:{desk.document('schedule/workspace.json')['workspace_id']}:g",
        },
        "dispatch_hints": {
            "title": "b",
            "graph_id": "g",
            "priority": 0,
            "estimated_tokens": 1000,
            "depends_on": [],
            "acceptance": ["tests pass"],
            "handoff": {"prompt": "Work on node b of graph g."},
        },
        "warnings": [],
        "next_step": WORK,
    }
    # The holder asks again, perhaps after a lost reply, and gets the same; nothing more happens.
    before = desk.events()
    assert desk.beside().start("b") == answer
    assert desk.events() == before == ["session_opened", "work_started"]


def test_a_node_can_be_owned_now_and_started_later(desk: Desk) -> None:
    desk.graph("g", node("a"))
    answer = desk.start("a", queue_only=True)
    owned = {
        "graph_id": "g",
        "node_id": "a",
        "agent_id": "w1",
        "ownership_epoch": 1,
        "start_by": "2026-12-01T13:00:00Z",
    }
    assert (answer["ownership"], answer["next_step"], "lease" in answer) == (owned, LATER, False)
    desk.wait(1)
    assert desk.start("a", queue_only=True) == answer
    for queue_only in (False, True):
        with pytest.raises(WorkAlreadyOwned) as caught:
            desk.start("a", agent_id="w2", queue_only=queue_only)
        assert (caught.value.message, caught.value.details) == (
            "Node a is with w1.",
            {"graph_id": "g", "node_id": "a", "state": "queued", "since": AT, "ownership_epoch": 1, "owner": "w1"},
        )
    assert desk.claim("w2")["not_eligible"] == [{"reason": "owned", "nodes": 1}]
    lease = desk.beside().start("a")["lease"]
    assert (lease["ownership_epoch"], lease["agent_id"]) == (1, "w1")
    assert desk.events() == ["session_opened", "work_accepted", "session_opened", "work_started"]


def test_what_is_not_started_in_time_is_nobodys_again(desk: Desk) -> None:
    desk.put(POLICY, {"leases": {"start_by_seconds": 60}})
    desk.graph("g", node("a"))
    desk.start("a", queue_only=True)
    desk.wait(59)
    assert desk.claim("w2")["decisions"] == []
    desk.wait(1)
    lease = desk.claim("w2")["decisions"][0]["lease"]
    assert (lease["agent_id"], lease["ownership_epoch"]) == ("w2", 2)
    with pytest.raises(WorkAlreadyOwned):
        desk.start("a", agent_id="w1")


def test_its_owner_is_offered_the_node_first_of_all(desk: Desk) -> None:
    desk.graph("g", node("a", priority=3))
    score = desk.next(agent_id="w1", preview=True)["decisions"][0]["score"]
    desk.start("a", queue_only=True)
    # The start itself says nothing of scores; what is said of the node afterwards is right.
    assert desk.start("a", queue_only=True)["ownership"]["node_id"] == "a"
    (decision,) = desk.claim("w1")["decisions"]
    assert (decision["node_id"], decision["score"]) == ("a", score)


NEEDS_A_PERSON: Json = {"risk": "destructive"}
APPROVES = "A person approves it: metagit-mcp work approve a --graph-id g."
REFUSED: list[tuple[Json, Json, type[MetagitError], str, list[str]]] = [
    ({"depends_on": ["other"]}, {}, NodeNotEligible, "dependency", ["not_ready(unfinished other)"]),
    ({"status": "blocked", "blocker_reason": "a key"}, {}, NodeNotEligible, "dependency", ["blocked"]),
    ({"not_before": "2026-12-02T00:00:00Z"}, {}, NodeNotEligible, "other", ["deferred(2026-12-02T00:00:00Z)"]),
    (NEEDS_A_PERSON, {}, NodeNotEligible, "authorization", ["awaiting_approval"]),
    ({"capabilities": ["gpu"]}, {}, NodeNotEligible, "capability", ["capability_missing(gpu)"]),
    ({"status": "completed"}, {}, NodeNotEligible, "other", ["finished(completed)"]),
    ({"status": "running"}, {}, NodeNotEligible, "other", ["observed(since 2026-11-29T13:52:06Z, overdue)"]),
    ({"budget": {"tokens": 0}}, {}, NodeNotEligible, "budget", ["budget_exhausted"]),
    ({"slots": 3}, {"slots": 2}, NodeNotEligible, "capacity", ["never_fits(3 slots, limit 2)", "no_slot(limit 2)"]),
    (
        {},
        {"groups": {"g": {"quota": 0}}},
        NodeNotEligible,
        "capacity",
        ["never_fits(1 slots, limit 0)", "group_quota(0/0)"],
    ),
    ({}, {"agents": {"w1": {"slots": 0}}}, CapacityExceeded, "capacity", ["agent_slots(limit 0)"]),
    (
        {"depends_on": ["other"], "capabilities": ["gpu"], **NEEDS_A_PERSON},
        {},
        NodeNotEligible,
        "dependency",
        ["not_ready(unfinished other)", "awaiting_approval", "capability_missing(gpu)"],
    ),
]


@pytest.mark.parametrize(("fields", "policy", "error", "reason", "texts"), REFUSED)
def test_a_start_is_refused_with_one_word_and_every_reason(
    desk: Desk, fields: Json, policy: Json, error: type[MetagitError], reason: str, texts: list[str]
) -> None:
    desk.put(POLICY, policy)
    desk.graph("g", node("a", **fields), node("other"))
    with pytest.raises(MetagitError) as caught:
        desk.start("a")
    assert type(caught.value) is error
    assert caught.value.details == {"graph_id": "g", "node_id": "a", "reason": reason, "reasons": texts}
    assert caught.value.message == f"Node a may not be started: {'; '.join(texts)}."
    # What another program runs was seen all the same.
    assert [each for each in desk.events() if each != "run_seen"] == ["session_opened"]


@pytest.mark.parametrize(("fields", "first"), [({}, ""), (NEEDS_A_PERSON, f"{APPROVES} ")])
def test_a_refused_start_names_the_command_that_approves_the_node(desk: Desk, fields: Json, first: str) -> None:
    desk.graph("g", node("a", depends_on=["other"], **fields), node("other"))
    with pytest.raises(NodeNotEligible) as caught:
        desk.start("a")
    way_on = "metagit_schedule_status with node_id explains it; metagit_schedule_next gives a node that may."
    assert caught.value.hint == f"{first}{way_on}"


def test_a_start_is_refused_where_no_slot_is_free(desk: Desk) -> None:
    desk.put(
        POLICY, {"slots": 2, "groups": {"g": {"quota": 1}}, "resources": {"db": {"capacity": 1}}, "agent_slots": 9}
    )
    desk.graph("g", node("a", uses={"db": 1}), node("b"))
    desk.graph("h", node("c", uses={"db": 1}, exclusive=["deploy"]), node("d", exclusive=["deploy"]))
    desk.start("a")
    for node_id, texts in (("b", ["group_quota(1/1)"]), ("c", ["resource_busy(db, capacity 1)"])):
        with pytest.raises(CapacityExceeded) as caught:
            desk.start(node_id)
        assert (caught.value.details["reason"], caught.value.details["reasons"]) == ("capacity", texts)
    desk.start("d")
    with pytest.raises(NodeNotEligible) as several:
        desk.start("c")
    assert several.value.details["reasons"] == [
        "exclusive(deploy, held by d)",
        "resource_busy(db, capacity 1)",
        "no_slot(limit 2)",
    ]
    # What may pass before it has to start does not stand against owning it.
    assert desk.start("c", queue_only=True)["ownership"]["node_id"] == "c"


def test_the_queue_of_owned_work_has_an_end(desk: Desk) -> None:
    desk.put(POLICY, {"queue_capacity": 1})
    late = {"deadline": "2026-12-01T12:30:00Z", "estimated_runtime_seconds": 3600}
    desk.graph("g", node("a"), node("b"), node("late", **late))
    with pytest.raises(NodeNotEligible) as caught:
        desk.start("late", queue_only=True)
    assert (caught.value.details["reason"], caught.value.details["reasons"]) == (
        "deadline",
        ["deadline(cannot be kept)"],
    )
    desk.start("a", queue_only=True)
    with pytest.raises(CapacityExceeded) as full:
        desk.start("b", queue_only=True)
    assert (full.value.details["reason"], full.value.details["reasons"]) == ("capacity", ["queue_capacity(limit 1)"])


@pytest.mark.parametrize(
    ("state", "fields", "known", "way_on"),
    [
        ("blocked", {"note": "a key"}, {"owner": "w1"}, "metagit-mcp task update a --status ready."),
        ("completed", {}, {"owner": "w1"}, "metagit_schedule_status with node_id says what it waits for."),
        ("failed", {"note": "broke"}, {"failures": 1}, "metagit-mcp work retry a."),
    ],
)
def test_what_is_not_open_cannot_be_started(desk: Desk, state: str, fields: Json, known: Json, way_on: str) -> None:
    desk.put(POLICY, {"retries": {"max_attempts": 1}})
    desk.graph("g", node("a"))
    desk.report(desk.start("a")["lease"]["lease_id"], state, **fields)
    with pytest.raises(InvalidStateTransition) as caught:
        desk.start("a", agent_id="w2")
    assert caught.value.details["trigger"] == "start"
    assert {name: caught.value.details[name] for name in known} == known
    assert caught.value.hint.endswith(way_on)


def test_a_node_that_is_not_there_is_told_as_elsewhere(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.graph("h", node("a"))
    desk.path("tasks/graphs/torn.json").write_text("{")
    for error, fields in (
        (NodeAmbiguous, {"node_id": "a"}),
        (NodeNotFound, {"node_id": "b"}),
        (GraphInvalid, {"node_id": "a", "graph_id": "torn"}),
        (InvalidInput, {"node_id": "a", "graph_id": "g", "lease_seconds": 86_401}),
    ):
        with pytest.raises(error):
            desk.start(**fields)
    assert desk.start("a", graph_id="h")["lease"]["graph_id"] == "h"
