"""What only a person can end is listed with its command, and that command ends it: pauses, limits, no leases at all."""

from __future__ import annotations

import json
import shlex
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

Json = dict[str, Any]
POLICY = "schedule/policy.json"
HOSTILE = "one\ntwo\x1b[31m\u202e"
SAFE = "one two [31m"


def needed(desk: Desk, **fields: object) -> list[Json]:
    answer = desk.status(**fields)
    assert answer["needs_person_total"] == len(answer["needs_person"])
    rows: list[Json] = answer["needs_person"]
    return rows


def patch(row: Json) -> Json:
    """The change of the policy that a row's command makes."""
    words = shlex.split(row["command"])
    assert words[:-1] == ["metagit-mcp", "schedule", "policy", "set", "--patch"]
    change: Json = json.loads(words[-1])
    return change


def mended(desk: Desk, row: Json) -> list[Json]:
    """What is left to a person after the row's command."""
    desk.beside(operator="ada").policy("set", patch=json.dumps(patch(row)))
    return needed(desk)


# --- pauses ----------------------------------------------------------------------------------------------------------


def test_a_pause_without_an_end_is_a_persons(desk: Desk) -> None:
    desk.graph("g", node("a", uses={"api": 1}, exclusive=["lock"]))
    desk.pause("workspace", reason=HOSTILE)
    desk.pause("resource", "lock")
    desk.pause("resource", "api")
    desk.pause("group", "g")
    desk.pause("agent", "w1")
    by, resume = "by ada)", "metagit-mcp resume"
    assert needed(desk) == [
        {"reason": f"paused(agent w1, {by}", "command": f"{resume} --agent w1"},
        {"graph_id": "g", "reason": f"paused(group g, {by}", "command": f"{resume} --group g"},
        {"reason": f"paused(resource api, {by}", "command": f"{resume} --resource api"},
        {"reason": f"paused(resource lock, {by}", "command": f"{resume} --resource lock"},
        {"reason": f"paused(workspace, {by}", "command": resume, "note": SAFE},
    ]
    desk.resume("workspace")
    assert len(needed(desk)) == 4


def test_a_pause_that_ends_or_keeps_nothing_is_not(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.graph("over", node("x", status="completed"))
    desk.pause("workspace", until=NOW + timedelta(seconds=60))
    desk.pause("group", "over")
    desk.pause("group", "nowhere")
    desk.pause("resource", "api")
    assert needed(desk) == []
    desk.pause("group", "g")
    assert needed(desk, graph_id="over") == []
    assert [each["graph_id"] for each in needed(desk, graph_id="g")] == ["g"]


def test_a_command_for_a_name_with_a_dash(desk: Desk) -> None:
    desk.graph("-g", node("a"))
    desk.pause("group", "-g")
    assert [shlex.split(each["command"]) for each in needed(desk)] == [["metagit-mcp", "resume", "--group=-g"]]


# --- leases ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "change"),
    [
        ({"agent_slots": 0}, {"agent_slots": 1}),
        ({"agent_slots": 0, "agents": {"w*": {"slots": 0}}}, {"agent_slots": 1}),
        ({"agents": {"*": {"slots": 0}}}, {"agents": {"*": {"slots": 1}}}),
        ({"agent_slots": 0, "agents": {"*": {"slots": 0}}}, {"agents": {"*": {"slots": 1}}}),
    ],
)
def test_that_no_agent_may_hold_a_lease_is_a_persons(desk: Desk, policy: Json, change: Json) -> None:
    desk.put(POLICY, policy)
    desk.graph("g", node("a"))
    (row,) = needed(desk)
    assert (row["reason"], patch(row)) == ("agent_slots(0/0)", change)
    assert mended(desk, row) == []
    assert desk.taken("w1" if "w*" not in policy.get("agents", {}) else "v1") == ["a"]


@pytest.mark.parametrize(
    "policy", [{"agent_slots": 0, "agents": {"w*": {"slots": 2}}}, {"agents": {"w*": {"slots": 0}}}]
)
def test_that_some_agents_may_hold_none_is_not(desk: Desk, policy: Json) -> None:
    desk.put(POLICY, policy)
    desk.graph("g", node("a"))
    assert needed(desk) == []


def test_where_nothing_is_ready_nobody_is_called(desk: Desk) -> None:
    desk.put(POLICY, {"agent_slots": 0})
    desk.graph("g", node("a", status="completed"))
    assert needed(desk) == []


# --- limits ----------------------------------------------------------------------------------------------------------


def test_a_quota_of_nothing(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"g": {"quota": 0}}})
    desk.graph("g", node("a"), node("b"), node("done", status="completed"), node("wide", slots=3, title=HOSTILE))
    (row,) = needed(desk)
    assert {name: each for name, each in row.items() if name != "command"} == {
        "graph_id": "g",
        "node_id": "wide",
        "nodes": 3,
        "title": SAFE,
        "reason": "never_fits(3 slots, limit 0)",
    }
    assert patch(row) == {"groups": {"g": {"quota": 3}}}
    assert mended(desk, row) == []
    assert len(desk.taken("w1", limit=9)) == 1


def test_nodes_that_are_wider_than_the_workspace(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 2})
    desk.graph("g", node("a"), node("four", slots=4), node("three", slots=3), node("also-four", slots=4))
    desk.graph("h", node("three", slots=3))
    first, second = needed(desk)
    assert [(each["node_id"], each["nodes"], each["reason"]) for each in (first, second)] == [
        ("also-four", 3, "never_fits(4 slots, limit 2)"),
        ("three", 1, "never_fits(3 slots, limit 2)"),
    ]
    assert mended(desk, first) == []


def test_a_resource_that_is_too_small(desk: Desk) -> None:
    desk.put(POLICY, {"resources": {"api": {"capacity": 1}, "disk": {"capacity": 2}}})
    uses = {"api": 1, "disk": 1, "nowhere": 9}
    desk.graph("g", node("fits", uses=uses), node("one", uses={"api": 2}), node("two", uses={"api": 3, "disk": 3}))
    assert desk.taken() == ["fits"]
    api, disk = needed(desk)
    assert [(each["node_id"], each["nodes"], each["reason"], patch(each)) for each in (api, disk)] == [
        ("two", 2, "resource_busy(api, 1/1)", {"resources": {"api": {"capacity": 3}}}),
        ("two", 1, "resource_busy(disk, 1/2)", {"resources": {"disk": {"capacity": 3}}}),
    ]
    assert [each["reason"] for each in mended(desk, api)] == ["resource_busy(disk, 1/2)"]


def test_a_resource_that_is_too_small_for_what_every_lease_of_the_asker_takes(desk: Desk) -> None:
    desk.put(POLICY, {"resources": {"api": {"capacity": 1}}, "agents": {"w*": {"uses": {"api": 2}}}})
    desk.graph("g", node("a"))
    assert needed(desk.beside(agent_id="v1")) == []
    assert [patch(row) for row in needed(desk.beside(agent_id="w1"))] == [{"resources": {"api": {"capacity": 2}}}]


def test_what_another_program_holds_comes_back_by_itself(desk: Desk) -> None:
    desk.put(POLICY, {"slots": 2})
    desk.graph("g", node("wide", slots=2), node("run", status="running", updated_at="2026-12-01T11:00:00Z"))
    told = desk.status(node_id="wide")
    assert told["explain"]["reasons"][0]["text"] == "never_fits(2 slots, limit 1)"
    assert told["needs_person"] == []


def test_what_holds_many_back_is_never_cut(desk: Desk) -> None:
    desk.put(POLICY, {"groups": {"g": {"quota": 0}}})
    desk.graph("a", *(node(f"b{number:02d}", status="blocked") for number in range(30)))
    desk.graph("g", node("a"))
    answer = desk.status()
    assert (answer["needs_person_total"], len(answer["needs_person"])) == (31, 20)
    assert [each["node_id"] for each in answer["needs_person"][:2]] == ["a", "b00"]


# --- nodes that wait in vain ---------------------------------------------------------------------------------------

# What the graph holds; x is the node that waits in vain, NODE stands for one that the person chooses.
IN_VAIN: dict[str, list[Json]] = {
    "an unknown status": [node("x", status="odd", depends_on=["free"])],
    "an unknown status of its parent": [node("x", parent_id="p"), node("p", status="odd")],
    "a missing dependency": [node("x", depends_on=["gone"])],
    "a cancelled dependency": [node("x", depends_on=["c"]), node("c", status="cancelled")],
    "a circle of two": [node("x", depends_on=["y"]), node("y", depends_on=["x"])],
    "itself": [node("x", depends_on=["x"])],
    "a circle of parents": [node("x", parent_id="y"), node("y", parent_id="x")],
    "itself as parent": [node("x", parent_id="x")],
    "its parent": [node("x", parent_id="p", depends_on=["p"]), node("p")],
    "what its parent waits for": [node("x", parent_id="p"), node("p", depends_on=["q"]), node("q", depends_on=["x"])],
    "a missing parent": [node("x", parent_id="gone")],
    "a missing grandparent": [node("x", parent_id="p"), node("p", parent_id="gone")],
    "a cancelled parent": [node("x", parent_id="p"), node("p", status="cancelled")],
    "a missing parent and a missing dependency": [node("x", parent_id="gone", depends_on=["gone2"])],
    "itself as parent, and a missing dependency": [node("x", parent_id="x", depends_on=["gone"])],
    "itself as parent and dependency": [node("x", parent_id="x", depends_on=["x"])],
    "itself as parent, and a cancelled dependency": [
        node("x", parent_id="x", depends_on=["c"]),
        node("c", status="cancelled"),
    ],
    "a missing parent and itself": [node("x", parent_id="gone", depends_on=["x"])],
    "a missing parent in an unknown status": [node("x", status="odd", parent_id="gone")],
    "a cancelled dependency in an unknown status": [
        node("x", status="odd", depends_on=["c"]),
        node("c", status="cancelled"),
    ],
    "a cancelled grandparent": [node("x", parent_id="p"), node("p", parent_id="c"), node("c", status="cancelled")],
}


@pytest.mark.parametrize("nodes", IN_VAIN.values(), ids=IN_VAIN)
def test_any_command_for_a_node_that_waits_in_vain_ends_that(nodes: list[Json], desk: Desk) -> None:
    free = node("free")
    desk.graph("g", *nodes, free)
    commands = [row["command"] for row in needed(desk)]
    assert commands
    for command in commands:
        desk.graph("g", *nodes, free)
        words = shlex.split(command)
        assert words[:3] == ["metagit-mcp", "task", "update"]
        node_id, *flags = words[3:]
        given = dict(zip(flags[::2], flags[1::2], strict=True))
        asked = {name[2:].replace("-", "_"): value for name, value in given.items()}
        lists = {
            name: [value.replace("NODE", "free")] for name, value in asked.items() if name in {"depends_on", "clear"}
        }
        desk.update(node_id, **{**asked, **lists})
        assert needed(desk) == []


# --- rows that are no nodes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [node("two words"), node(""), {"title": "no id"}, "text", None])
def test_a_row_that_is_no_node_is_work_that_is_not_finished(row: object, desk: Desk) -> None:
    done = node("done", status="completed")
    mend = {"graph_id": "g", "reason": "graph_invalid", "file": ".metagit/tasks/graphs/g.json"}
    desk.put("tasks/graphs/g.json", {"title": "g", "nodes": [done, row]})
    assert needed(desk) == [mend]
    assert needed(desk, graph_id="g") == [mend]
    assert [card["act"]["file"] for card in desk.board()["needs_person"]] == [mend["file"]]
    told = desk.next()
    assert told["all_finished"] is False
    assert told["next_step"] == "Nothing can be started now. A person must mend .metagit/tasks/graphs/g.json."
    desk.put("tasks/graphs/g.json", {"title": "g", "nodes": [done]})
    assert (needed(desk), desk.next()["all_finished"]) == ([], True)
    # Nothing in a graph that is over is ever due; one of which nobody knows may go on.
    for status, mends in (("cancelled", []), ("completed", []), ("paused", [mend])):
        desk.put("tasks/graphs/g.json", {"title": "g", "status": status, "nodes": [done, row]})
        assert (needed(desk), desk.next()["all_finished"]) == (mends, not mends)
        assert [card["act"]["file"] for card in desk.board()["needs_person"]] == [each["file"] for each in mends]
