"""What next: as much as was asked for, logged once, as the asker sees it, with a sentence on what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import GraphNotFound
from tests.scenarios.at_once import finished
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from tests.unit.application.desk import Json

FULL = {"factors", "dispatch_hints", "acl_commands"}


def chosen(answer: Json) -> list[str]:
    return [each["node_id"] for each in answer["decisions"]]


def test_up_to_three_decisions_are_full_unless_asked_otherwise(desk: Desk) -> None:
    desk.graph("g", *(node(f"n{number}", repository="p/a") for number in range(6)))
    found = [
        {bool(FULL & each.keys()) for each in desk.next(preview=True, **fields)["decisions"]}
        for fields in ({"limit": 3}, {"limit": 4}, {"limit": 4, "detail": "full"}, {"limit": 1, "detail": "brief"})
    ]
    assert found == [{True}, {False}, {True}, {False}]
    desk.next(limit=6)
    assert {row.keys() >= FULL for row in desk.lines("schedule/decisions.jsonl")} == {True}


def test_brief_skipped_decisions_are_brief_too(desk: Desk) -> None:
    desk.graph("g", node("a", repository="p/a"))
    for number in range(3):
        desk.put(f"merges/m{number}.json", {"repository": "p/a", "status": "queued"})
    desk.put("schedule/policy.json", {"skip_on_merge_pressure": True})
    (skipped,) = desk.next(detail="brief")["skipped"]
    assert (FULL & skipped.keys(), skipped["skipped"]) == (set(), True)


def test_a_preview_logs_nothing_and_the_same_advice_is_logged_once(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    preview = desk.next(preview=True)
    assert desk.lines("schedule/decisions.jsonl") == desk.lines("events/scheduler.jsonl") == []
    first, again, more = desk.next(), desk.next(), desk.next(limit=2)
    ids = [each["decision_id"] for each in more["decisions"]]
    assert [each["decisions"][0]["decision_id"] for each in (first, again)] == [ids[0]] * 2
    assert preview["decisions"][0]["decision_id"] != ids[0]
    other = desk.next(agent_id="ada")["decisions"][0]["decision_id"]
    assert [row["decision_id"] for row in desk.lines("schedule/decisions.jsonl")] == [*ids, other]
    desk.update("b", priority=1)
    assert chosen(desk.next()) == ["b"]
    assert len(desk.lines("events/scheduler.jsonl")) == 4


def test_the_asker_brings_its_own_capabilities_or_those_of_the_call(desk: Desk) -> None:
    desk.graph("g", node("gpu", capabilities=["gpu"]), node("plain"))
    equipped = Desk(desk.root, agent_id="ada", capabilities=frozenset({"gpu"}))
    assert chosen(desk.next(limit=2, preview=True)) == ["plain"]
    assert chosen(desk.next(limit=2, preview=True, capabilities=["gpu"])) == ["gpu", "plain"]
    assert chosen(equipped.next(limit=2, preview=True)) == ["gpu", "plain"]
    assert chosen(equipped.next(limit=2, preview=True, capabilities=["db"])) == ["plain"]
    # Policy has the last word on an agent that it names.
    desk.put("schedule/policy.json", {"agents": {"ada": {"capabilities": []}}})
    assert chosen(equipped.next(limit=2, preview=True)) == ["plain"]
    assert chosen(equipped.next(limit=2, preview=True, agent_id="bob")) == ["gpu", "plain"]


def test_runnable_nodes_are_counted_in_all_graphs_or_in_one(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.graph("h", node("a"), node("b", depends_on=["a"]))
    counts = [finished(desk.application.schedule.count_runnable(name)) for name in (None, "g", "h")]
    assert counts == [3, 2, 1]
    with pytest.raises(GraphNotFound):
        finished(desk.application.schedule.count_runnable("i"))


def test_runnable_nodes_are_counted_for_an_agent_and_what_it_can_do(desk: Desk) -> None:
    desk.graph("g", node("a"), node("gpu", capabilities=["gpu"]), node("b"))
    desk.lease("w1")
    count = desk.application.schedule.count_runnable
    assert [finished(each) for each in (count(None), count(None, "w2", ["gpu"]), count(None, "w1"))] == [1, 2, 0]


@pytest.mark.parametrize("status", ["completed", "cancelled", "archived"])
def test_finished_nodes_are_finished_also_in_a_graph_that_is_not_active(desk: Desk, status: str) -> None:
    done, dropped = node("a", status="completed"), node("b", status="cancelled")
    desk.graph("g", node("c", status="completed"))
    desk.graph("old", done, dropped, status=status)
    assert (desk.next()["all_finished"], desk.next(graph_id="old")["all_finished"]) == (True, True)
    desk.graph("old", done, dropped, node("d"), status=status)
    assert (desk.next()["all_finished"], desk.next(graph_id="g")["all_finished"]) == (False, True)
    assert desk.next()["next_step"] == "Nothing can be started now. 3 graph_inactive: their graph is not active."


def test_the_next_step_names_the_node_or_why_there_is_none(desk: Desk) -> None:
    empty = "There is no task graph here: none was planned yet, or .metagit was removed. metagit_task_plan makes one."
    assert (desk.next()["next_step"], desk.next()["all_finished"]) == (empty, False)
    desk.graph("g", node("a", status="completed"))
    done = "Everything is finished. Plan more with metagit_task_plan, if there is more to do."
    assert (desk.next()["next_step"], desk.next()["all_finished"]) == (done, True)
    desk.path("tasks/graphs/torn.json").write_text("{")
    broken = "Nothing can be started now. A person must mend .metagit/tasks/graphs/torn.json."
    assert (desk.next()["next_step"], desk.next()["all_finished"]) == (broken, False)
    assert desk.next(graph_id="g")["next_step"] == done
    desk.path("tasks/graphs/torn.json").unlink()
    desk.graph("g", node("a", status="completed"), node("b", status="running"), node("c", depends_on=["b"]))
    assert desk.next()["next_step"] == (
        "Nothing can be started now. 1 not_ready: they wait for other nodes; 1 observed: they are running."
    )
    desk.graph("g", node("a"))
    assert desk.next()["next_step"] == (
        "This is advice. Take node a of graph g with metagit_schedule_next claim=true, or with metagit_work_start."
    )
