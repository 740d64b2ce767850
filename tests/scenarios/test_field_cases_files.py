"""What users of comparable schedulers reported, in our terms: files that several programs write, and damaged ones.

Each test has the number of its row in the field cases (section H, and N10).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import InvalidInput, PolicyInvalid
from tests.scenarios.companion import next_of, opened, set_policy, status_of, update
from tests.scenarios.surfaces import Json, chosen, command, lines_of, serving
from tests.scenarios.written import put_policy, workspace
from tests.unit.adapters.reading import graph, node, put
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from metagit_mcp.bootstrap import Application


def logs(root: Path) -> tuple[Path, Path]:
    return root / ".metagit/schedule/decisions.jsonl", root / ".metagit/events/scheduler.jsonl"


def test_136_two_servers_log_every_decision_whole(tmp_path: Path) -> None:
    workspace(tmp_path, node("a", title="t" * 150, acceptance=["x" * 400] * 20))
    with serving(tmp_path) as one, serving(tmp_path) as other:
        servers = {"one": one, "other": other}
        asked = {
            name: [each.begin("schedule_next", agent_id=f"{name}-{number}") for number in range(100)]
            for name, each in servers.items()
        }
        answers = [
            (f"{name}-{number}", each.outcome(request_id)[1]["decisions"][0]["decision_id"])
            for name, each in servers.items()
            for number, request_id in enumerate(asked[name])
        ]
    decisions, events = map(lines_of, logs(tmp_path))
    assert len(answers) == len(dict(answers)) == 200
    assert sorted((row["agent_id"], row["decision_id"]) for row in decisions) == sorted(answers)
    assert sorted(row["payload"]["decision_id"] for row in events) == sorted(name for _, name in answers)


def test_137_what_is_written_through_one_graph_leaves_the_others_alone(tmp_path: Path) -> None:
    write_workspace(tmp_path, nodes=30, graphs=3, shape="mixed", seed=5, extra_fields=True)
    folder = tmp_path / ".metagit" / "tasks" / "graphs"
    # As an editor leaves it: another form, unknown fields, a broken node, nothing at the end.
    foreign = '{"nodes":[{"node_id":"x","mine":1},{"node_id":5},{"node_id":"y","priority":"high"}],"also":[1.50]}'
    (folder / "odd.json").write_text(foreign)
    (folder / "torn.json").write_text('{"nodes": [')
    before = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    application = opened(tmp_path)
    named = {"graph_id": "g0000", "node_id": "n000000"}
    next_of(application)
    update(application, **named, priority=5, risk="reversible")
    update(application, **named, status="blocked", blocker_reason="waits")
    set_policy(application, priority=3, graph_id="g0001")
    command(tmp_path, "task", "plan", "--title", "More", "--graph-id", "g0000", "--outline", "One\nTwo (after: one)")
    command(tmp_path, "task", "plan", "--title", "New", "--outline", "One\nTwo")
    after = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    assert {name for name in after if after[name] != before.get(name)} == {"g0000.json", "new.json"}
    index = json.loads((tmp_path / ".metagit" / "tasks" / "index.json").read_text())
    assert [row["graph_id"] for row in index["graphs"]] == ["g0000", "g0001", "g0002", "new"]


BROKEN: list[tuple[object, str]] = [
    (None, "nodes/50: must be an object"),
    ("n50", "nodes/50: must be an object"),
    ({}, "nodes/50/node_id: must be letters, digits, '_', '.', '-' (at most 255)"),
    ({"node_id": None}, "nodes/50/node_id: must be letters, digits, '_', '.', '-' (at most 255)"),
    ({"node_id": ["n50"]}, "nodes/50/node_id: must be letters, digits, '_', '.', '-' (at most 255)"),
    (node("n50", priority="high"), "n50/priority: should be a valid integer, unable to parse string as an integer"),
    (node("n50", depends_on="n49"), "n50/depends_on: should be a list"),
    (node("n50", depends_on=[None]), "n50/depends_on/0: should be a valid string"),
    (node("n50", slots=0), "n50/slots: should be greater than or equal to 1"),
    (node("n49"), "n49/node_id: used twice"),
]


@pytest.mark.parametrize(("row", "warning"), BROKEN, ids=[str(number) for number in range(len(BROKEN))])
def test_139_one_record_that_cannot_be_used_costs_only_itself(tmp_path: Path, row: object, warning: str) -> None:
    rows: list[object] = [node(f"n{number:02d}") for number in range(100)]
    rows[50] = row
    file = put(tmp_path / ".metagit/tasks/graphs/g.json", {**graph(), "nodes": rows})
    application = opened(tmp_path)
    found = next_of(application, preview=True)
    lost = {"n50", "n49"} if "twice" in warning else {"n50"}
    assert set(chosen(found)) == {f"n{number:02d}" for number in range(100)} - lost
    assert found["warnings"] == [f"graph g: {warning}"]
    # Others can still be changed, and what cannot be used stays as it was written.
    assert update(application, graph_id="g", node_id="n01", priority=1)["changed"] is True
    assert json.loads(file.read_text())["nodes"][50] == row


def test_139_a_field_that_is_null_is_a_field_that_is_not_there(tmp_path: Path) -> None:
    whole = node("a", **dict.fromkeys(("depends_on", "status", "priority", "slots", "capabilities", "risk", "acl")))
    workspace(tmp_path, {**whole, "title": None, "created_at": None}, status=None, intent=None)
    found = next_of(opened(tmp_path))
    assert (chosen(found), found["warnings"]) == (["a"], [])


# As metagit writes it.
SERVED: Json = {
    "decision_id": "0" * 32,
    "at": "2026-11-29T13:52:40.430641+00:00",
    "graph_id": "g",
    "node_id": "c",
    "score": 0.5,
    "reasons": ["affinity=0"],
    "dispatch_hints": {"title": "", "project": None, "repository": "p/a", "agent_id": None, "priority": 0},
    "skipped": False,
}


def test_142_a_log_cut_at_any_byte_of_its_last_record_stops_nobody(tmp_path: Path) -> None:
    """With fairness on, which reads the log before each decision; only the whole record is a service of p/a."""
    workspace(tmp_path, node("a", repository="p/a"), node("b", repository="p/b"), node("c", status="completed"))
    put_policy(tmp_path, weights={"fairness": 1.0})
    log = logs(tmp_path)[0]
    next_of(opened(tmp_path), limit=1)
    before, last = log.read_bytes(), json.dumps(SERVED).encode() + b"\n"
    application = opened(tmp_path)
    seen = []
    for cut in range(len(last) + 1):
        log.write_bytes(before + last[:cut])
        found, status = next_of(application, preview=True, limit=1), status_of(application)
        seen.append((chosen(found), status["warnings"], len(status["recent_decisions"])))
    torn = [".metagit/schedule/decisions.jsonl: the last line is cut off and is passed over"]
    assert seen == [(["a"], [], 1), *[(["a"], torn, 1)] * (len(last) - 1), (["b"], [], 2)]


@pytest.mark.parametrize("kept", [1, 40, -2, -1])
def test_142_nothing_is_appended_onto_a_torn_record(tmp_path: Path, kept: int) -> None:
    workspace(tmp_path, node("a"))
    log = logs(tmp_path)[0]
    next_of(opened(tmp_path), limit=1)
    whole = log.read_bytes()
    log.write_bytes(whole + whole[:kept])
    (decision,) = next_of(opened(tmp_path), limit=1, agent_id="ada")["decisions"]
    first, second, last = log.read_bytes().splitlines(keepends=True)
    assert (first, second) == (whole, whole[:kept].rstrip(b"\n") + b"\n")
    assert (last[-1:], json.loads(last)["decision_id"]) == (b"\n", decision["decision_id"])


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999", "-1", '"1"', "true", "1000001"])
def test_143_a_weight_that_is_no_weight_is_refused_and_never_replaced(tmp_path: Path, word: str) -> None:
    workspace(tmp_path, node("a"), node("b"))
    wrong = f'{{"weights": {{"priority": {word}}}}}'
    file = put_policy(tmp_path, weights={"priority": 2.0})
    before = file.read_bytes()
    with pytest.raises(InvalidInput):
        set_policy(opened(tmp_path), patch=wrong)
    assert file.read_bytes() == before
    file.write_text(wrong)
    application = opened(tmp_path)
    asks: list[Callable[[Application], Json]] = [
        next_of,
        status_of,
        lambda each: set_policy(each, cost=1.0),
        lambda each: update(each, node_id="a", status="running"),
    ]
    for ask in asks:
        with pytest.raises(PolicyInvalid):
            ask(application)
    assert file.read_text() == wrong
    # What needs no policy goes on.
    assert update(application, node_id="a", status="completed")["changed"] is True
    file.write_text('{"weights": {"priority": -1}}')
    assert set_policy(application, priority=2.0)["policy"]["weights"]["priority"] == 2.0
    assert chosen(next_of(application)) == ["b"]


def test_n10_of_two_planners_at_once_one_plans_and_nothing_is_half_written(tmp_path: Path) -> None:
    plan: Json = {"title": "Epic", "nodes": [{"node_id": "x", "title": "X"}, {"title": "Y", "depends_on": ["x"]}]}
    names = [f"e{number}" for number in range(10)]
    (tmp_path / ".metagit" / "tasks").mkdir(parents=True)
    with serving(tmp_path) as one, serving(tmp_path) as other:
        asked = [
            (server, server.begin("task_plan", graph_id=name, **plan)) for name in names for server in (one, other)
        ]
        by_id = [server.outcome(request_id) for server, request_id in asked]
        by_title = [server.outcome(server.begin("task_plan", **plan)) for server in (one, other)]
    for number, name in enumerate(names):
        (refused, told), (_, made) = sorted(by_id[2 * number : 2 * number + 2], key=lambda each: not each[0])
        assert refused is True
        assert (told["code"], told["details"]["field"]) == ("INVALID_INPUT", "nodes/0/node_id")
        assert (made["created"], made["added"]) == (True, 2)
        record = json.loads((tmp_path / ".metagit" / "tasks" / "graphs" / f"{name}.json").read_text())
        assert [row["node_id"] for row in record["nodes"]] == ["x", "y"]
    assert [(refused, told.get("code")) for refused, told in by_title] == [(False, None), (True, "GRAPH_EXISTS")]
