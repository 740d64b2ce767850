"""What RFC-0012 accepts a scheduler by, through the program's own processes: servers on their wire and commands.

That it needs no git is test_no_git.py; that each tool and its command answer the same, interfaces/test_parity.py.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from tests.scenarios.surfaces import NOW, STILL, Json, against, chosen, command, lines_of, serving
from tests.scenarios.written import put_merges, put_policy, put_rows, workspace
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from pathlib import Path

QUEUED = ("queued", "running", "queued")
# The same score for all nodes without a priority, so that one factor at a time decides.
ALONE = {"priority": 0, "dependency": 0, "affinity": 0, "cost": 0, "fairness": 0, "urgency": 0, "deadline": 0}


def schedule(root: Path) -> Path:
    return root / ".metagit" / "schedule"


def without_ids(answer: Json) -> list[Json]:
    return [{name: each for name, each in row.items() if name != "decision_id"} for row in answer["decisions"]]


# --- two ready nodes ---------------------------------------------------------------------------------------------


def test_of_two_ready_nodes_the_priority_decides(tmp_path: Path) -> None:
    """Whatever the order in the file, each time the same, and on both surfaces."""
    nodes = [node("low", priority=2), node("high", priority=9), node("later", priority=99, depends_on=["low"])]
    seen = []
    workspace(tmp_path)
    with serving(tmp_path, env=STILL) as server:
        for order in itertools.permutations(nodes):
            workspace(tmp_path, *order)
            answers = [server.call("schedule_next", limit=10, preview=True) for _ in range(2)]
            answers.append(command(tmp_path, "schedule", "next", "--limit", "10", "--preview", env=STILL))
            seen += [without_ids(answer) for answer in answers]
            assert chosen(server.call("schedule_next", preview=True)) == ["high"]
    assert [[row["node_id"] for row in rows] for rows in seen] == [["high", "low"]] * 18
    assert seen == [seen[0]] * 18


# --- warm repositories -------------------------------------------------------------------------------------------

OLD = "2026-12-01T10:00:00+00:00"
# policy, who asks, and whether the repository with the worktree goes first
PREFERENCES: list[tuple[str, Json, Json, bool]] = [
    ("as it comes", {}, {}, True),
    ("turned off by its weight", {"weights": {"affinity": 0}}, {}, False),
    ("turned off for one graph", {"graph_overrides": {"g": {"affinity": 0}}}, {}, False),
    ("only its own agent's", {"affinity": {"scope": "agent"}}, {}, False),
    ("only its own agent's, another asks", {"affinity": {"scope": "agent"}}, {"agent_id": "bob"}, False),
    ("only its own agent's, that one asks", {"affinity": {"scope": "agent"}}, {"agent_id": "ada"}, True),
    ("too old", {"affinity": {"max_age_seconds": 7_200}}, {}, False),
    ("not too old", {"affinity": {"max_age_seconds": 7_201}}, {}, True),
]


def test_a_warm_repository_is_preferred_and_that_can_be_turned_off(tmp_path: Path) -> None:
    workspace(tmp_path, node("a", repository="p/cold"), node("b", repository="p/warm"))
    put_rows(tmp_path, {"repository": "p/warm", "path": str(tmp_path), "agent_id": "ada", "updated_at": OLD})
    found = []
    with serving(tmp_path, env=STILL) as server:
        for name, policy, asker, _ in PREFERENCES:
            put_policy(tmp_path, **policy)
            answer = server.call("schedule_next", limit=2, preview=True, **asker)
            found.append((name, chosen(answer) == ["b", "a"]))
            if name == "as it comes":
                other = command(tmp_path, "schedule", "next", "--limit", "2", "--preview", env=STILL)
                assert without_ids(other) == without_ids(answer)
                assert [row["reasons"][2] for row in answer["decisions"]] == ["affinity=1", "affinity=0"]
                factor = next(each for each in answer["decisions"][0]["factors"] if each["name"] == "affinity")
                assert factor == {"name": "affinity", "value": 1.0, "weight": 0.5, "contribution": 0.5}
    assert found == [(name, is_first) for name, _, _, is_first in PREFERENCES]


def test_a_worktree_that_is_gone_warms_nothing_unless_the_policy_says_so(tmp_path: Path) -> None:
    workspace(tmp_path, node("a", repository="p/cold"), node("b", repository="p/warm"))
    tree = tmp_path / "tree"
    put_rows(tmp_path, {"repository": "p/warm", "path": str(tree)})
    with serving(tmp_path) as server:
        assert chosen(server.call("schedule_next", preview=True)) == ["a"]
        tree.mkdir()
        assert chosen(server.call("schedule_next", preview=True)) == ["b"]
        tree.rmdir()
        assert chosen(server.call("schedule_next", preview=True)) == ["a"]
        put_policy(tmp_path, affinity={"require_path": False})
        assert chosen(server.call("schedule_next", preview=True)) == ["b"]


# --- what a decision says ----------------------------------------------------------------------------------------


def factor(name: str, value: float, weight: float, contribution: float) -> Json:
    return {"name": name, "value": value, "weight": weight, "contribution": contribution}


REASONS = ["priority=3", "dependency=1.0000", "affinity=1", "cost=0.2500(tokens=3000)"]
FACTORS = [
    factor("priority", 3.0, 1.0, 3.0),
    factor("dependency", 1.0, 0.2, 0.2),
    factor("affinity", 1.0, 0.5, 0.5),
    factor("cost", 0.25, 0.25, 0.0625),
    factor("fairness", 0.0, 0.0, 0.0),
    factor("urgency", 0.0, 1.0, 0.0),
    factor("deadline", 0.0, 1.0, 0.0),
    factor("merge_pressure", 0.0, 2.0, 0.0),
]


PAGE: Json = {
    "title": "Make the page",
    "priority": 3,
    "estimated_tokens": 3000,
    "project": "shop",
    "repository": "shop/web",
    "agent_id": "ada",
    "intent_id": "i1",
    "acl": {"acl_commands": ["metagit agent lock shop/web", "rm -rf /"]},
    "acceptance": ["it is seen"],
}
HINTS: Json = {
    "title": "Make the page",
    "project": "shop",
    "repository": "shop/web",
    "agent_id": "ada",
    "priority": 3,
    "graph_id": "g",
    "estimated_tokens": 3000,
    "depends_on": [],
    "handoff": {"prompt": "Work on node page of graph g."},
    "intent": "i1",
    "acceptance": ["it is seen"],
}
DECISION: Json = {
    "graph_id": "g",
    "node_id": "page",
    "title": "Make the page",
    "score": 3.7625,
    "reasons": REASONS,
    "repository": "shop/web",
    "factors": FACTORS,
    "acl_commands": ["metagit agent lock shop/web"],
    "compile_command": "metagit context compile --project shop --repo web --task-id page",
    "agent_id": "bob",
}
LOGGED_AT = "2026-12-01T12:00:00+00:00"


def test_a_decision_is_answered_logged_and_told_as_an_event(tmp_path: Path) -> None:
    """Each as a whole: the answer, the line of the log with every key that metagit knows, and the event."""
    workspace(tmp_path, node("page", **PAGE))
    put_rows(tmp_path, {"repository": "shop/web", "path": str(tmp_path)})
    with serving(tmp_path, env=STILL) as server:
        answer = server.call("schedule_next", agent_id="bob")
        again = server.call("schedule_next", agent_id="bob")
    (decision,) = answer["decisions"]
    (logged,) = lines_of(schedule(tmp_path) / "decisions.jsonl")
    (event,) = lines_of(tmp_path / ".metagit" / "events" / "scheduler.jsonl")

    name = decision["decision_id"]
    whole = {**DECISION, "decision_id": name, "dispatch_hints": {**HINTS, "worktree": str(tmp_path)}}
    assert len(name) == 32
    assert decision == {**whole, "at": NOW}
    assert logged == {**whole, "at": LOGGED_AT, "skipped": False, "state_version": answer["state_version"]}
    told = {each: DECISION[each] for each in ("graph_id", "node_id", "score", "reasons")}
    payload = {**told, "decision_id": name, "skipped": False}
    kind = {"type": "ScheduleDecision", "at": LOGGED_AT, "source": "scheduler"}
    assert event == {**kind, "event_id": event["event_id"], "payload": payload}
    # The same advice at the same state is one decision, logged once.
    assert again == answer


# --- merge pressure ----------------------------------------------------------------------------------------------


def pressured(root: Path, **policy: object) -> None:
    """The urgent node's repository is under pressure, the other's is not."""
    workspace(root, node("urgent", priority=10, repository="p/web"), node("calm", priority=1, repository="p/api"))
    put_merges(root, "p/web", *QUEUED)
    put_policy(root, weights={**ALONE, "priority": 1}, **policy)


def test_merge_pressure_costs_its_penalty(tmp_path: Path) -> None:
    pressured(tmp_path, merge_pressure_penalty=9.5)
    with serving(tmp_path) as server:
        for answer in (
            server.call("schedule_next", limit=2, preview=True),
            command(tmp_path, "schedule", "next", "--limit", "2", "--preview"),
        ):
            assert [(row["node_id"], row["score"]) for row in answer["decisions"]] == [("calm", 1.0), ("urgent", 0.5)]
            assert answer["decisions"][1]["reasons"][-1] == "merge_pressure depth=3 threshold=3 penalty=9.5"
            assert answer["skipped"] == []
        put_policy(tmp_path, weights=ALONE, merge_pressure_penalty=9.5, merge_queue_threshold=4)
        relieved = server.call("schedule_next", limit=2, preview=True)
    assert [(row["node_id"], row["score"]) for row in relieved["decisions"]] == [("calm", 0.0), ("urgent", 0.0)]


def test_skip_on_merge_pressure_skips_and_never_uses_up_the_limit(tmp_path: Path) -> None:
    pressured(tmp_path, skip_on_merge_pressure=True)
    with serving(tmp_path, env=STILL) as server:
        answer = server.call("schedule_next")
    again = command(tmp_path, "schedule", "next", env=STILL)
    for each in (answer, again):
        assert (chosen(each), [row["node_id"] for row in each["skipped"]]) == (["calm"], ["urgent"])
        assert (each["runnable_count"], against(each)) == (1, {"merge_pressure": 1})
        assert each["skipped"][0]["reasons"][-2:] == [
            "merge_pressure depth=3 threshold=3 penalty=2.0",
            "skipped_due_to_merge_pressure",
        ]
    # One line and one event each, though both were asked.
    logged = lines_of(schedule(tmp_path) / "decisions.jsonl")
    assert [(row["node_id"], row["skipped"]) for row in logged] == [("calm", False), ("urgent", True)]
    events = lines_of(tmp_path / ".metagit" / "events" / "scheduler.jsonl")
    assert [(row["type"], row["payload"]["node_id"], row["payload"]["skipped"]) for row in events] == [
        ("ScheduleDecision", "calm", False),
        ("ScheduleSkipped", "urgent", True),
    ]


# --- fairness ----------------------------------------------------------------------------------------------------


def decided(node_id: str, repository: str, **more: object) -> str:
    """A line of the decision log as metagit writes it."""
    row: dict[str, Any] = {"decision_id": "0" * 32, "at": OLD, "graph_id": "g", "node_id": node_id, "score": 1.0}
    hints = {"title": "", "project": None, "repository": repository, "agent_id": None, "priority": 0}
    row |= {"reasons": [], "dispatch_hints": hints, "acl_commands": [], "compile_command": None, "skipped": False}
    return json.dumps({**row, **more}) + "\n"


def test_fairness_counts_services_and_nothing_else(tmp_path: Path) -> None:
    """A service is a decision whose node then ran; a skipped one, or one that never ran, is none."""
    workspace(
        tmp_path,
        *(node(name, repository="p/x") for name in ("x1", "x2")),
        *(node(name, repository="p/y") for name in ("y1", "y2")),
        node("x0", repository="p/x", status="completed"),
        node("y0", repository="p/y", status="completed"),
    )
    put_policy(tmp_path, weights={**ALONE, "fairness": 1}, fairness_window=1)
    log = schedule(tmp_path) / "decisions.jsonl"
    seen = []
    with serving(tmp_path) as server:

        def look(line: str = "") -> None:
            with log.open("a") as file:
                file.write(line)
            rows = server.call("schedule_next", limit=100, preview=True, detail="full")["decisions"]
            seen.append([row["node_id"] for row in rows if row["reasons"][-1] == "fairness=1"])

        look()
        look(decided("x1", "p/x"))  # it never ran
        look(decided("x0", "p/x", skipped=True))
        look(decided("x0", "p/x"))
        look(decided("y0", "p/y"))  # the window has room for one
        look(decided("gone", "p/x"))
        server.call("task_update", node_id="x1", status="running", agent_id="ada")
        look()
        look(decided("x1", "p/x"))
    everyone, of_x, of_y = ["x1", "x2", "y1", "y2"], ["x1", "x2"], ["y1", "y2"]
    assert seen == [everyone, everyone, everyone, of_y, of_x, of_x, ["x2"], of_y]


def test_fairness_takes_turns_between_repositories(tmp_path: Path) -> None:
    names = [f"{letter}{number}" for letter in "xy" for number in range(3)]
    workspace(tmp_path, *(node(name, repository=f"p/{name[0]}") for name in names))
    put_policy(tmp_path, weights={**ALONE, "fairness": 1})
    turns = []
    with serving(tmp_path, "--agent-id", "ada") as server:
        for _ in names:
            (node_id,) = chosen(server.call("schedule_next"))
            server.call("task_update", node_id=node_id, status="completed")
            turns.append(node_id)
    assert turns == ["x0", "y0", "x1", "y1", "x2", "y2"]
