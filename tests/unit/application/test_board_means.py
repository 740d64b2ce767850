"""What the board tells of slots, resources, agents, budgets, shares and decisions, and of one Group alone."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.application.caller import Caller
from metagit_mcp.errors import AuthForbidden, GraphNotFound
from metagit_mcp.wire.board_answers import BoardRequest, PictureRequest
from metagit_mcp.wire.codec import plain
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

Json = dict[str, Any]
POLICY = "schedule/policy.json"
PLANTED = "zebra"


def at(seconds: float = 0) -> str:
    return (NOW + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def seen_by(desk: Desk, caller: Caller, **fields: Any) -> Json:  # noqa: ANN401 - any field
    board = desk.application.speaking_for(caller).board
    return plain(finished(board.board(BoardRequest(**fields))))


# --- 8. means ---------------------------------------------------------------------------------------------------------


def test_requirement_8_slots_resources_keys_and_who_closed_what(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 3, "resources": {"api": {"capacity": 4}, "db": {"capacity": 1}}})
    desk.graph("g", node("a", uses={"api": 2}, exclusive=["lock"]), node("b", uses={"web": 1}), node("c", slots=4))
    desk.start("a", "w1")
    lease = desk.start("b", "w2")["lease"]["lease_id"]
    desk.report(lease, "failed", note="429", rate_limited={"resource": "web", "until": at(600)})
    board = desk.board()
    assert board["slots"] == {"limit": 3, "in_use": 1}
    assert board["resources"] == [
        {"name": "api", "capacity": 4, "in_use": 2},
        {"name": "db", "capacity": 1, "in_use": 0},
        {"name": "web", "in_use": 0, "closed": True, "closed_until": at(600), "closed_by": "w2"},
    ]
    assert board["keys"] == [{"name": "lock", "graph_id": "g", "node_id": "a", "agent_id": "w1"}]
    desk.wait(600)
    assert [each["name"] for each in desk.board()["resources"]] == ["api", "db"]


def test_slots_that_are_kept_for_a_node_are_told(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 2, "drain_limit": 0})
    desk.graph("g", node("a"), node("wide", slots=2))
    desk.start("a", "w1")
    desk.claim("w2")
    assert desk.board()["slots"]["held"] == desk.status()["held"]


def test_requirement_8_agents_with_their_slots_and_their_last_proof_of_life(desk: Desk) -> None:
    desk.put(POLICY, {"agents": {"w1": {"slots": 2, "capabilities": []}}})
    desk.graph("g", node("a"), node("b"))
    desk.report(desk.lease("w0", capabilities=["gpu"]), "completed")
    desk.wait(5)
    desk.taken("w1")
    desk.pause("agent", "w1")
    assert desk.board()["agents"] == [
        {"agent_id": "w1", "held": 1, "slots": 2, "paused": True, "proof_at": at(5)},
        {"agent_id": "w0", "held": 0, "slots": 1, "proof_at": at(0), "capabilities": ["gpu"]},
    ]


def test_requirement_8_budgets_name_their_period_and_the_scarcest_comes_first(desk: Desk) -> None:
    limits = {"tokens": 100, "seconds": 50}
    desk.put(POLICY, {"slots": 9, "groups": {"g": {"budget": {"tokens": 1000}}}})
    desk.graph("g", node("a", budget=limits), node("b"), node("c"), node("d", budget={}))
    for node_id, tokens in (("a", 20), ("b", 900), ("d", 5)):
        lease = desk.start(node_id, f"for {node_id}".replace(" ", "-"))["lease"]["lease_id"]
        desk.report(lease, "running", usage={"tokens": tokens})
    desk.start("c", "w1")
    rows = desk.board()["budgets"]
    assert [(row["node_id"], row["exhausted"], row["period"]) for row in rows] == [
        ("b", False, "life_of_node"),
        ("a", False, "life_of_node"),
    ]
    assert rows[1]["figures"] == [
        {"name": "tokens", "limit": 100, "left": 80},
        {"name": "seconds", "limit": 50, "left": 50},
    ]


def test_what_is_spent_of_a_budget_stays_spent_after_the_lease(desk: Desk) -> None:
    desk.graph("g", node("a", budget={"tokens": 100}), node("b", budget={"tokens": 5}))
    desk.report(desk.lease("w1"), "released", usage={"tokens": 100})
    desk.report(desk.lease("w1"), "completed", usage={"tokens": 5})
    (row,) = desk.board()["budgets"]
    assert (row["node_id"], row["exhausted"], row["figures"][0]["left"]) == ("a", True, 0)


# --- shares and decisions ---------------------------------------------------------------------------------------------


def test_shares_are_told_as_they_grew(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 9})
    desk.graph("g", *(node(f"g{place}") for place in range(3)))
    desk.graph("h", node("h", estimated_tokens=3000))
    desk.graph("over", node("x", status="completed"))
    assert desk.board()["shares"] == {
        "charges": [],
        "lines": [{"graph_id": "g", "received": []}, {"graph_id": "h", "received": []}],
    }
    for place in range(4):
        desk.taken(f"w{place}")
    shares = desk.board()["shares"]
    assert shares == {
        "charges": [1, 2, 3, 4],
        "lines": [
            {"graph_id": "g", "received": [1.0, 1.0, 1.0, 0.5]},
            {"graph_id": "h", "received": [0.0, 0.0, 0.0, 0.5]},
        ],
    }
    groups = {each["graph_id"]: each["received"] for each in desk.board()["groups"]}
    assert {line["graph_id"]: line["received"][-1] for line in shares["lines"]} == {"g": groups["g"], "h": groups["h"]}


def test_a_long_history_is_told_in_fifty_points(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 99})
    desk.graph("g", *(node(f"n{place}") for place in range(70)))
    desk.put(POLICY, {"agent_slots": 99})
    desk.taken("w1", limit=70)
    charges = desk.board()["shares"]["charges"]
    assert charges == list(range(2, 71, 2))


def test_by_score_alone_nothing_is_guaranteed_and_the_board_says_so(desk: Desk) -> None:
    desk.put(POLICY, {"ordering": "score"})
    desk.graph("g", node("a"))
    board = desk.board()
    assert (board["ordering"], board["shares"]) == ("score", {"charges": [], "lines": []})


def test_decisions_say_what_became_of_them(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 9})
    desk.graph("g", *(node(name, priority=9 - place) for place, name in enumerate("abcd")))
    done, given = desk.lease("w1"), desk.lease("w2")
    desk.taken("w3")
    desk.wait(10)
    desk.report(done, "completed")
    desk.report(given, "released")
    desk.next(agent_id="w4")
    rows = [
        (row["node_id"], row.get("agent_id"), row.get("became"), row.get("became_at"))
        for row in desk.board()["decisions"]
    ]
    assert rows == [
        ("b", "w4", "not_taken", None),
        ("c", "w3", "running", None),
        ("b", "w2", "released", at(10)),
        ("a", "w1", "completed", at(10)),
    ]
    assert [row["decision_id"] for row in desk.board(recent=2)["decisions"]] == [
        row["decision_id"] for row in desk.status(recent=2)["recent_decisions"]
    ]
    desk.wait(8 * 86_400)
    assert "became" not in desk.board()["decisions"][0]


def test_what_another_program_wrote_into_the_log_is_shown_as_far_as_it_can_be(desk: Desk) -> None:
    desk.graph("g", node("a"))
    row = {"decision_id": "d", "graph_id": "g", "node_id": "a", "score": 1.0, "reasons": []}
    rows = [{**row, "at": "yesterday"}, {**row, "at": at(), "skipped": True}]
    desk.path("schedule").mkdir()
    desk.path("schedule/decisions.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    assert [each.get("became") for each in desk.board()["decisions"]] == ["skipped", None]


# --- one Group alone, and who looks -----------------------------------------------------------------------------------


def planted(desk: Desk) -> None:
    """Work of one Group in the way of which another one is, with the same word in all that is said of that."""
    desk.put(
        POLICY,
        {
            "slots": 4,
            "resources": {"api": {"capacity": 1}, f"{PLANTED}-pool": {"capacity": 1}},
            "leases": {"seconds": 100, "observed_seconds": 10},
            "groups": {PLANTED: {"class": "critical", "review": True}},
        },
    )
    hostile = {"title": f"{PLANTED} title", "repository": f"p/{PLANTED}"}
    desk.graph(
        PLANTED,
        node(f"{PLANTED}-a", uses={"api": 1}, exclusive=["lock"], touches=["src/*"], priority=99, **hostile),
        node(f"{PLANTED}-b", budget={"tokens": 10}, **hostile),
        node(f"{PLANTED}-c", approval="human_required", **hostile),
        node(f"{PLANTED}-d", status="running", updated_at=(NOW - timedelta(days=3)).isoformat(), **hostile),
        node(f"{PLANTED}-e", **hostile),
        title=f"{PLANTED} graph",
    )
    desk.start(f"{PLANTED}-a", f"{PLANTED}-1", graph_id=PLANTED)
    lost = desk.start(f"{PLANTED}-b", f"{PLANTED}-2", graph_id=PLANTED)["lease"]["lease_id"]
    desk.report(lost, "running", usage={"tokens": 3})
    closed = desk.start(f"{PLANTED}-e", f"{PLANTED}-3", graph_id=PLANTED)["lease"]["lease_id"]
    desk.report(closed, "failed", note=PLANTED, rate_limited={"resource": "api", "until": at(9000)})
    desk.pause("group", PLANTED, reason=PLANTED)
    desk.pause("agent", f"{PLANTED}-1", reason=PLANTED)
    desk.next(agent_id=f"{PLANTED}-4", graph_id=PLANTED)
    desk.graph("own", node("a", uses={"api": 1}, exclusive=["lock"]), node("b"), node("c"))
    desk.taken("w1", graph_id="own")


def test_of_one_group_nothing_of_another_is_told(desk: Desk) -> None:
    planted(desk)
    whole, own = desk.board(), desk.board(graph_id="own")
    # What is planted is seen where all may be seen.
    assert json.dumps(whole).count(PLANTED) > 40
    assert PLANTED not in json.dumps(own)
    assert [card["node_id"] for card in own["running"]] == ["b"]
    assert (own["graph_id"], own["slots"], "shares" in own) == ("own", {"limit": 4}, False)
    assert own["resources"] == [{"name": "api", "capacity": 1, "closed": True}]
    assert own["agents"] == [{"agent_id": "w1", "held": 1, "slots": 1, "proof_at": at(0)}]
    (blocked,) = own["not_runnable"]
    assert [each["text"] for each in blocked["reasons"]] == [
        "exclusive(lock)",
        "resource_busy(api, capacity 1)",
        "resource_closed(api)",
    ]
    assert PLANTED not in json.dumps(desk.picture("own"))


def test_a_coordinator_sees_its_own_group_and_no_other(desk: Desk) -> None:
    planted(desk)
    caller = Caller(surface="http", role="coordinator", group_id="own", claims_as="boss")
    board = seen_by(desk, caller)
    assert (board["graph_id"], board["viewer"]) == ("own", {"may": [], "role": "coordinator", "graph_id": "own"})
    assert PLANTED not in json.dumps(board)
    application = desk.application.speaking_for(caller)
    for question in (
        application.board.board(BoardRequest(graph_id=PLANTED)),
        application.board.picture(PictureRequest(graph_id=PLANTED)),
    ):
        with pytest.raises(GraphNotFound, match=f"No task graph is called {PLANTED}"):
            finished(question)


def test_a_board_says_what_its_reader_may_do(desk: Desk) -> None:
    desk.graph("g", node("a"))
    assert desk.board()["viewer"] == {"may": ["judge", "pause"]}
    operator = Caller(surface="http", role="operator", operator="ada", agent_id="ada")
    assert seen_by(desk, operator)["viewer"] == {"may": ["judge", "pause"], "name": "ada", "role": "operator"}
    for role in ("viewer", "agent"):
        viewer = seen_by(desk, Caller(surface="http", role=role, agent_id="w1"))["viewer"]
        assert viewer == {"may": [], "name": "w1", "role": role}


def test_requirement_9_looking_writes_nothing(desk: Desk) -> None:
    planted(desk)
    desk.flush()
    desk.wait(200)
    before = {path: path.stat().st_mtime_ns for path in desk.root.rglob("*") if "ledger.db" not in path.name}
    events = desk.events()
    desk.board()
    desk.board(graph_id="own")
    desk.picture("own")
    assert desk.events() == events
    assert {path: path.stat().st_mtime_ns for path in desk.root.rglob("*") if "ledger.db" not in path.name} == before


def test_requirement_10_it_says_what_it_leaves_out_of_a_hundred_agents(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 999})
    desk.graph("g", *(node(f"n{place:03}") for place in range(130)), node("z", depends_on=["n000"]))
    for place in range(100):
        desk.taken(f"w{place}")
    board = desk.board(limit=20)
    assert (len(board["running"]), len(board["queue"]), len(board["agents"])) == (100, 20, 100)
    totals = {name: board["totals"][name] for name in ("running", "queue", "not_runnable", "agents")}
    assert (totals, board["truncated"]) == ({"running": 100, "queue": 30, "not_runnable": 1, "agents": 100}, True)


def test_a_log_that_cannot_be_read_is_a_warning(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.path("schedule").mkdir(exist_ok=True)
    desk.path("schedule/decisions.jsonl").write_text("{\n")
    assert len(desk.board()["warnings"]) == len(desk.status()["warnings"]) > 0


def test_whoever_may_not_look_at_all_is_refused(desk: Desk) -> None:
    desk.graph("g", node("a"))
    nobody = Caller(surface="http", role="nobody")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(AuthForbidden):
        seen_by(desk, nobody)
