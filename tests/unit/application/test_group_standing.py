"""How Groups stand in the status: what they are guaranteed and received, who waits, whose turn it is, what is kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import GraphNotFound
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

Json = dict[str, Any]
POLICY = "schedule/policy.json"


def groups(answer: Json) -> list[str]:
    return [each["graph_id"] for each in answer["groups"]]


def by_id(answer: Json, *fields: str) -> Json:
    """Some fields of each Group, by its id; a single one by itself."""
    rows = {each["graph_id"]: tuple(each.get(name) for name in fields) for each in answer["groups"]}
    return {name: row[0] for name, row in rows.items()} if len(fields) == 1 else rows


def shop(desk: Desk, **policy: object) -> None:
    """Three Groups of three classes with work, the second with a quota, and one without."""
    of_groups = {"alarm": {"class": "critical"}, "shop": {"class": "high", "weight": 3, "quota": 2}}
    desk.put(POLICY, {"slots": 4, "groups": of_groups, **policy})
    desk.graph("alarm", node("a"))
    for name in ("shop", "site"):
        desk.graph(name, *(node(f"{name}{place}", estimated_tokens=2000) for place in range(5)))
    desk.graph("over", node("x", status="completed"))


def test_a_group_has_its_class_its_weight_and_its_guaranteed_share(desk: Desk) -> None:
    shop(desk)
    answer = desk.status()
    assert by_id(answer, "class", "weight", "quota", "guaranteed") == {
        "alarm": ("critical", 1, None, 0.571429),
        "shop": ("high", 3, 2, 0.285714),
        "site": ("normal", 1, None, 0.142857),
        "over": ("normal", 1, None, 0.0),
    }
    assert (answer["charges"], by_id(answer, "received")) == (0, dict.fromkeys(("alarm", "shop", "site", "over"), 0.0))
    assert "held" not in answer


def test_what_was_received_is_told_of_the_newest_charges_and_the_most_behind_comes_first(desk: Desk) -> None:
    shop(desk)
    assert [desk.taken(f"w{place}") for place in range(4)] == [["a"], ["shop0"], ["site0"], ["shop1"]]
    answer = desk.status()
    assert answer["charges"] == 4
    # Costs in units: alarm 1, shop 2 and 2, site 2. alarm is 0.43 behind, shop 0.29 ahead, site 0.14.
    assert list(by_id(answer, "received").items()) == [
        ("alarm", 0.142857),
        ("site", 0.285714),
        ("shop", 0.571429),
        ("over", 0.0),
    ]
    assert by_id(answer, "running", "running_slots", "ready", "runnable") == {
        "alarm": (1, 1, 0, 0),
        "site": (1, 1, 4, 0),
        "shop": (2, 2, 3, 0),
        "over": (0, 0, 0, 0),
    }


def test_by_score_nothing_is_guaranteed_and_who_received_least_comes_first(desk: Desk) -> None:
    shop(desk)
    desk.taken()
    shop(desk, ordering="score")
    answer = desk.status()
    assert (groups(answer), set(by_id(answer, "guaranteed").values())) == (["shop", "site", "alarm", "over"], {None})
    # Those without a start so far tie by score: the shop's id is less.
    assert by_id(answer, "starts_before") == {"shop": 0, "site": 2, "alarm": None, "over": None}


def test_the_oldest_waits_since_a_start_passed_it_over(desk: Desk) -> None:
    desk.graph("g", *(node(name) for name in "abc"))
    assert by_id(desk.status(), "oldest") == {"g": None}
    for agent_id, seconds in (("w1", 60), ("w2", 30)):
        desk.taken(agent_id)
        desk.wait(seconds)
    assert by_id(desk.status(), "oldest") == {"g": {"node_id": "c", "passed_over": 2, "seconds": 90}}
    desk.set_clock(desk.now().replace(hour=1), 0)
    assert by_id(desk.status(), "oldest") == {"g": {"node_id": "c", "passed_over": 2, "seconds": 0}}


def test_the_next_start_is_told_though_no_slot_is_free_and_else_why_there_is_none(desk: Desk) -> None:
    shop(desk)
    assert by_id(desk.status(), "starts_before") == {"alarm": 0, "shop": 1, "site": 2, "over": None}
    for place in range(4):
        desk.taken(f"w{place}")
    assert by_id(desk.status(), "starts_before", "waits_for") == {
        "alarm": (None, [{"reason": "leased", "nodes": 1}]),
        "site": (0, [{"reason": "leased", "nodes": 1}, {"reason": "no_slot", "nodes": 4}]),
        "shop": (None, [{"reason": "group_quota", "nodes": 3}, {"reason": "leased", "nodes": 2}]),
        "over": (None, None),
    }
    # What is told of one Group alone depends on no other.
    alone = desk.status(graph_id="site")
    assert by_id(alone, "starts_before", "received", "guaranteed") == {"site": (None, None, None)}
    assert "charges" not in alone


def test_a_start_that_is_far_off_is_not_told(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"big": {"class": "critical", "weight": 16}, "small": {"class": "low"}}})
    desk.graph("big", *(node(f"n{place:02d}", estimated_tokens=0) for place in range(60)))
    desk.graph("small", node("a", estimated_tokens=0), node("b", estimated_tokens=50_000))
    assert by_id(desk.status(), "starts_before") == {"big": 0, "small": 1}
    # The small one's second node costs nothing yet: what was charged for the first counts.
    desk.start("b", "w1")
    assert by_id(desk.status(), "starts_before") == {"big": 0, "small": None}


def test_groups_are_paged_by_the_last_one_seen(desk: Desk) -> None:
    names = [f"g{number:02d}" for number in range(45)]
    for name in names:
        desk.graph(name, node("a"))
    first = desk.status()
    assert (groups(first), first["groups_total"]) == (names[:20], 45)
    second = desk.status(after_group=groups(first)[-1])
    third = desk.status(after_group=groups(second)[-1])
    assert (groups(second), groups(third)) == (names[20:40], names[40:])
    assert groups(desk.status(after_group=names[-1])) == []
    assert (first["counts"], third["groups_total"]) == (third["counts"], 45)
    # Whoever received something is ahead of all others, and comes last.
    assert desk.taken(graph_id="g00") == ["a"]
    assert groups(desk.status(after_group=names[-1])) == ["g00"]


def test_there_is_nothing_after_a_group_that_is_not_there(desk: Desk) -> None:
    desk.graph("g", node("a"))
    with pytest.raises(GraphNotFound) as caught:
        desk.status(after_group="h")
    assert caught.value.details == {"graph_id": "h"}


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_slots_that_are_kept_for_a_wide_node(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 2, "leases": {"start_by_seconds": 600}})
    desk.graph("g", node("a", priority=9), node("wide", title="Wide one", slots=2), node("c", priority=-9))
    desk.graph("h", node("done", status="completed"))
    first = desk.lease("w1")
    assert desk.taken("w2") == []
    held: Json = {"graph_id": "g", "node_id": "wide", "title": "Wide one", "purpose": "width", "slots": 2}
    since = "2026-12-01T12:00:00Z"
    answer = desk.status(node_id="c")
    assert answer["held"] == {**held, "free": 1, "since": since}
    assert [each["text"] for each in answer["explain"]["reasons"]] == ["reserved(for wide)"]
    reserved = "1 reserved: the free slots are kept for another node: held of metagit_schedule_status says which, "
    assert reserved in desk.claim("w2")["next_step"]
    desk.report(first, "completed")
    assert desk.status()["held"] == {**held, "free": 2, "since": since}
    # Who comes next finds them free: from then on they are kept for ten minutes.
    assert desk.taken("w2", graph_id="h") == []
    assert desk.status()["held"] == {**held, "free": 2, "since": since, "until": "2026-12-01T12:10:00Z"}
    assert desk.taken("w2", graph_id="g") == ["wide"]
    assert "held" not in desk.status()


def test_nothing_is_kept_for_a_node_that_cannot_start_any_more(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 2})
    path = desk.graph("g", node("a", priority=9), node("wide", slots=2))
    desk.lease("w1")
    desk.taken("w2")
    assert desk.status()["held"]["node_id"] == "wide"
    desk.update("wide", status="cancelled")
    assert "held" not in desk.status()
    desk.graph("h", node("b"))
    path.unlink()
    assert "held" not in desk.status()


def test_a_lease_whose_holder_is_asked_to_pause_and_the_slot_that_is_kept_then(desk: Desk) -> None:
    policy = {"slots": 1, "groups": {"alarm": {"class": "critical"}}, "preemption": {"min_quantum_seconds": 0}}
    desk.put(POLICY, policy)
    desk.graph("g", node("a", preemptible=True, estimated_tokens=50_000), node("b", estimated_tokens=50_000))
    # What was charged for it was used: to stop it now gives nothing of that back.
    desk.report(desk.lease("w1"), "running", usage={"tokens": 50_000})
    desk.graph("alarm", node("fire", title="Fire"))
    desk.wait(1)
    assert desk.taken("w2") == []
    answer = desk.status()
    assert answer["held"] == {
        "graph_id": "alarm",
        "node_id": "fire",
        "title": "Fire",
        "purpose": "preemption",
        "slots": 1,
        "free": 0,
        "since": "2026-12-01T12:00:01Z",
    }
    assert [each.get("preempt_requested") for each in answer["running"]] == [True]


def test_the_quota_that_is_kept_for_the_best_node_is_said(desk: Desk) -> None:
    desk.put(POLICY, {"drain_limit": 0, "groups": {"g": {"quota": 2}}})
    desk.graph("g", node("first", priority=9), node("wide", priority=5, slots=2), node("small"))
    desk.taken("w1")
    answer = desk.claim("w2")
    assert answer["decisions"] == []
    assert (
        "2 group_quota: their Group is at its quota, or keeps the rest of it for its best node" in answer["next_step"]
    )
    assert json.dumps(by_id(desk.status(), "waits_for")).count("group_quota") == 1
