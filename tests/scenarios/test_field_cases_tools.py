"""What users of comparable schedulers reported, in our terms: every view and tool has one answer.

Each test has the number of its row in the field cases (sections B, C and D) and looks at the tools over real files.
The rules themselves are tested in test_field_cases.py and test_field_cases_order.py; rows 56 and 68
through both surfaces are in test_rfc_0012.py.
"""

from __future__ import annotations

import itertools
import random
import shlex
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import InvalidInput, MetagitError, NodeNotEligible
from metagit_mcp.interfaces.cli.exits import EXIT_CODES
from tests.scenarios.at_once import finished
from tests.scenarios.companion import next_of, opened, set_policy, status_of, update
from tests.scenarios.surfaces import NOW, Json, against, chosen, command, serving
from tests.scenarios.written import explained, put_merges, put_policy, texts, workspace
from tests.unit.adapters.reading import node
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, NOW)


def set_clock(monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """What time it is for every application opened from now on."""
    monkeypatch.setenv("METAGIT_MCP_CLOCK", at)


# --- B: one answer in every view ---------------------------------------------------------------------------------


def random_nodes(seed: int) -> list[Json]:
    draw = random.Random(seed)  # noqa: S311 - it must repeat, not be secret
    names = [f"n{number}" for number in range(24)]
    fields: list[Json] = [
        {},
        {"risk": "destructive"},
        {"not_before": "2099-01-01T00:00:00Z"},
        {"capabilities": ["gpu"]},
        {"slots": 3},
        {"parent_id": draw.choice(names)},
        {"status": draw.choice(("running", "completed", "blocked", "cancelled", "review"))},
        {"depends_on": draw.sample([*names, "lost"], 2)},
    ]
    return [node(name, repository=draw.choice(("p/a", "p/b", None)), **draw.choice(fields)) for name in names]


@pytest.mark.parametrize("seed", range(4))
def test_032_next_explain_and_status_agree_on_every_node(tmp_path: Path, seed: int) -> None:
    workspace(tmp_path, *random_nodes(seed), graph_id="one")
    workspace(tmp_path, *random_nodes(seed + 100), graph_id="two", status=("active", "paused")[seed % 2])
    put_merges(tmp_path, "p/b", "queued", "running", "queued")
    put_policy(tmp_path, skip_on_merge_pressure=True)
    application = opened(tmp_path)
    found, status = next_of(application, preview=True), status_of(application)
    offered = {(row["graph_id"], row["node_id"]) for row in found["decisions"]}
    nodes = [(graph_id, f"n{number}") for graph_id in ("one", "two") for number in range(24)]
    told = {each: status_of(application, graph_id=each[0], node_id=each[1])["explain"] for each in nodes}

    assert {each for each in nodes if told[each]["runnable"]} == offered
    assert {each for each in nodes if not told[each]["reasons"]} == offered
    assert {each for each in nodes if "place" in told[each]} == offered
    counts = [status["runnable_count"], found["runnable_count"], finished(application.schedule.count_runnable(None))]
    assert counts == [len(offered)] * 3
    assert sum(group["runnable"] for group in status["groups"]) == len(offered)
    assert status["not_eligible"] == found["not_eligible"]
    first = [told[each]["reasons"][0]["reason"] for each in nodes if told[each]["reasons"]]
    assert {kind: first.count(kind) for kind in first} == against(status)


def test_043_readiness_is_known_before_anybody_asks_for_work(tmp_path: Path) -> None:
    busy = node("busy", status="running", updated_at=NOW)
    workspace(tmp_path, busy, node("a", status="running", updated_at=NOW), node("b", depends_on=["a"]))
    put_policy(tmp_path, slots=1)
    with serving(tmp_path) as server:
        before = server.call("schedule_status")
        command(tmp_path, "task", "update", "a", "--status", "completed")
        after = server.call("schedule_status")
    assert (before["ready_count"], after["ready_count"], after["runnable_count"]) == (0, 1, 0)
    assert against(after) == {"finished": 1, "no_slot": 1, "observed": 1}


def test_044_the_first_question_after_a_completion_sees_it(tmp_path: Path) -> None:
    workspace(tmp_path, node("a"), node("b", depends_on=["a"]))
    agent, other = opened(tmp_path), opened(tmp_path)
    assert (chosen(next_of(agent)), chosen(next_of(other))) == (["a"], ["a"])
    update(agent, node_id="a", status="completed")
    assert (chosen(next_of(agent)), chosen(next_of(other))) == (["b"], ["b"])


def test_046_server_command_and_start_pick_the_same_node(tmp_path: Path) -> None:
    write_workspace(tmp_path, nodes=60, graphs=3, shape="mixed", seed=4, worktrees=5, merges=9)
    with serving(tmp_path) as server:
        for _ in range(3):
            (by_server,) = server.call("schedule_next")["decisions"]
            (by_command,) = command(tmp_path, "schedule", "next", "--preview")["decisions"]
            named = {"graph_id": by_server["graph_id"], "node_id": by_server["node_id"]}
            assert {name: by_command[name] for name in named} == named
            assert server.call("schedule_status", **named)["explain"]["place"] == 1
            assert server.call("task_update", **named, status="running", agent_id="ada")["changed"] is True


def test_050_every_node_that_is_named_can_be_addressed(tmp_path: Path) -> None:
    """Also one that another program padded, or whose id looks like a flag; commands for people can be run as told."""
    plain = ["a", " padded ", "été", "x.y-z", "0", "...", "_"]
    workspace(tmp_path, *map(node, plain), node("-gated", risk="destructive"), node("--stuck", depends_on=["lost"]))
    workspace(tmp_path, node("a", status="blocked"), graph_id="--graph")
    application = opened(tmp_path)
    rows = next_of(application)["decisions"]
    assert [row["node_id"] for row in rows] == sorted(name.strip() for name in plain)
    for row in rows:
        named = {"graph_id": row["graph_id"], "node_id": row["node_id"]}
        assert update(application, **named, status="running", agent_id="ada")["changed"] is True
        assert update(application, **named, status="completed")["node"]["status"] == "completed"

    commands = [each["command"] for each in status_of(application)["needs_person"]]
    assert commands == [
        "metagit-mcp task update a --graph-id=--graph --status ready",
        "metagit-mcp task update --node-id=--stuck --graph-id g --depends-on NODE",
        "metagit-mcp work approve --node-id=-gated --graph-id g",
    ]
    for line in (commands[0], commands[1].replace("NODE", "a"), f"{commands[2]} --operator ada"):
        command(tmp_path, *shlex.split(line)[1:])
    assert sorted(chosen(next_of(application))) == ["--stuck", "-gated", "a"]


CIRCULAR = [node("a"), node("b", depends_on=["a"]), node("c", depends_on=["b"])]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"depends_on": ["a"]}, "GRAPH_CYCLE"),
        ({"depends_on": ["c"]}, "GRAPH_CYCLE"),
        ({"title": "A", "priority": 3, "depends_on": ["b", "b"]}, "GRAPH_CYCLE"),
        ({"parent_id": "a"}, "GRAPH_CYCLE"),
        ({"depends_on": ["lost"]}, "UNKNOWN_DEPENDENCY"),
        ({"depends_on": [" a"]}, "UNKNOWN_DEPENDENCY"),
        ({"depends_on": ["../g"]}, "UNKNOWN_DEPENDENCY"),
        ({"parent_id": "lost"}, "UNKNOWN_DEPENDENCY"),
    ],
)
def test_055_an_update_is_checked_like_a_plan(tmp_path: Path, change: Json, code: str) -> None:
    file = workspace(tmp_path, *CIRCULAR)
    before = file.read_bytes()
    with pytest.raises(MetagitError) as caught:
        update(opened(tmp_path), node_id="a", **change)
    assert (caught.value.code, EXIT_CODES[code], file.read_bytes()) == (code, 2, before)
    assert [path.name for path in file.parent.iterdir() if path.suffix not in {".json", ".lock"}] == []


# --- C: the order --------------------------------------------------------------------------------------------------

POLICIES: dict[str, Json] = {
    "defaults": {},
    "warm only": {"weights": {"priority": 0, "dependency": 0, "cost": 0, "affinity": 1}},
    "skip": {"skip_on_merge_pressure": True},
    "fair": {"weights": {"fairness": 5}},
    "slots": {"slots": 40},
    "quota": {"groups": {"g0000": {"quota": 1}}},
    "per graph": {"graph_overrides": {"g0001": {"priority": 0, "cost": 9}}},
}


@pytest.mark.parametrize("name", POLICIES)
def test_065_limit_cuts_the_order_and_074_every_view_shows_that_order(tmp_path: Path, name: str) -> None:
    write_workspace(tmp_path, nodes=90, graphs=3, shape="mixed", seed=3, worktrees=9, merges=40, policy=POLICIES[name])
    application = opened(tmp_path)
    rows = next_of(application, preview=True)["decisions"]
    keys = [(row["graph_id"], row["node_id"]) for row in rows]
    assert len(keys) > 10
    for limit in (1, 2, 7):
        some = next_of(application, preview=True, limit=limit)["decisions"]
        assert [(row["graph_id"], row["node_id"]) for row in some] == keys[:limit]
    places = [status_of(application, graph_id=one, node_id=other)["explain"]["place"] for one, other in keys[:10]]
    # Asked about one Group, the place is that among its own.
    assert places == [sum(other[0] == key[0] for other in keys[: at + 1]) for at, key in enumerate(keys[:10])]
    (effect,) = [set_policy(application, patch='{"slots": 2}')["effect"]]
    assert [(row["graph_id"], row["node_id"]) for row in effect["before"]] == keys[:10]


def test_067_what_cannot_run_takes_no_place(tmp_path: Path) -> None:
    waiting = [node(f"w{number}", priority=9, depends_on=["lost"]) for number in range(10)]
    gated = [node(f"x{number}", priority=9, risk="destructive") for number in range(10)]
    workspace(tmp_path, *waiting, *gated, node("free", priority=-5))
    assert chosen(next_of(opened(tmp_path), limit=1)) == ["free"]


@pytest.mark.parametrize("status", ["deferred", "draft", "pinned", "review", "blocked", "hooked", "Ready", "done", ""])
def test_070_a_status_that_is_not_open_is_actionable_in_no_view(tmp_path: Path, status: str) -> None:
    workspace(tmp_path, node("a", status=status), node("b", depends_on=["a"]))
    application = opened(tmp_path)
    found, standing = next_of(application), status_of(application, node_id="a")
    assert (found["decisions"], found["ready_count"], found["runnable_count"]) == ([], 0, 0)
    assert (standing["ready_count"], standing["counts"]["eligible"], standing["groups"][0]["ready"]) == (0, 0, 0)
    assert (standing["explain"]["runnable"], standing["explain"].get("place")) == (False, None)
    assert [each["node_id"] for each in standing["needs_person"]] == ["a"]
    with pytest.raises(NodeNotEligible):
        update(application, node_id="a", status="running")


def test_071_no_answer_after_a_completion_names_the_node(tmp_path: Path) -> None:
    workspace(tmp_path, node("a", priority=9), node("b"))
    agent, other = opened(tmp_path), opened(tmp_path)
    before = [next_of(agent), next_of(other)]
    update(other, node_id="a", status="completed")
    after = [next_of(agent), next_of(other), status_of(agent)]
    assert [chosen(each) for each in [*before, *after[:2]]] == [["a", "b"], ["a", "b"], ["b"], ["b"]]
    versions = [each["state_version"] for each in [*before, *after]]
    assert versions == [versions[0]] * 2 + [versions[2]] * 3
    assert versions[0] != versions[2]


def test_073_the_successor_of_what_just_ended_is_considered(tmp_path: Path) -> None:
    def chain(name: str) -> list[Json]:
        steps = [node(f"{name}{number}", priority=number) for number in (1, 2, 3)]
        return [steps[0], *({**step, "depends_on": [last["node_id"]]} for last, step in itertools.pairwise(steps))]

    workspace(tmp_path, *chain("x"), graph_id="d1")
    workspace(tmp_path, *chain("y"), graph_id="d2")
    put_policy(tmp_path, slots=1)
    application = opened(tmp_path)
    seen = []
    for _ in range(6):
        (node_id,) = chosen(next_of(application, limit=1))
        update(application, node_id=node_id, status="running", agent_id="ada")
        assert next_of(application, limit=1)["decisions"] == []
        update(application, node_id=node_id, status="completed")
        seen.append(node_id)
    assert seen == ["x1", "x2", "x3", "y1", "y2", "y3"]


LIMITS: tuple[object, ...] = (0, -1, 101, "x", 1.5, True, [])
PRIORITIES: tuple[object, ...] = (-1, "x", 1e7, True)
WRONG: list[tuple[str, Json, str]] = [
    *(("schedule_next", {"limit": each}, "limit") for each in LIMITS),
    ("schedule_next", {"weight": 1}, "weight"),
    ("schedule_next", {"detail": "some"}, "detail"),
    ("schedule_status", {"recent": 101}, "recent"),
    *(("schedule_policy", {"action": "set", "priority": each}, "priority") for each in PRIORITIES),
    *(("schedule_policy", {"action": "set", "cost": float(each)}, "cost") for each in ("nan", "inf", "-inf")),
    ("schedule_policy", {"action": "set", "merge_queue_threshold": 0}, "merge_queue_threshold"),
    ("schedule_policy", {"action": "set", "patch": '{"weights": {"speed": 1}}'}, "weights/speed"),
    ("schedule_policy", {"action": "set", "patch": '{"weights": {"priority": NaN}}'}, "patch"),
    ("schedule_policy", {"action": "drop"}, "action"),
    ("task_update", {"node_id": "a", "priority": 2**53}, "priority"),
    ("task_update", {"node_id": "a", "slots": 0}, "slots"),
    ("task_update", {"node_id": "a", "estimated_tokens": -(2**53)}, "estimated_tokens"),
]


def test_077_a_value_out_of_range_is_refused_by_the_name_of_its_field(tmp_path: Path) -> None:
    files = [workspace(tmp_path, node("a")), put_policy(tmp_path, weights={"priority": 2.0})]
    before = [file.read_bytes() for file in files]
    with serving(tmp_path) as server:
        refusals = [(tool, given, server.refusal(tool, **given)) for tool, given, _ in WRONG]
    told = [(tool, given, each["code"], each["details"]["field"]) for tool, given, each in refusals]
    # A NaN is not equal to itself, so that both sides are compared as they are written.
    assert str(told) == str([(tool, given, "INVALID_INPUT", field) for tool, given, field in WRONG])
    assert [file.read_bytes() for file in files] == before


# --- D: time -------------------------------------------------------------------------------------------------------


def test_079_a_deferral_with_an_offset_ends_at_that_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = workspace(tmp_path, node("a"))
    set_clock(monkeypatch, "2026-12-01T12:00:00+02:00")
    update(opened(tmp_path), node_id="a", not_before="2026-12-01T13:00:00+02:00")
    assert texts(explained(tmp_path, "a")) == ["deferred(2026-12-01T11:00:00Z)"]
    set_clock(monkeypatch, "2026-12-01T10:59:59.999999Z")
    assert next_of(opened(tmp_path))["decisions"] == []
    set_clock(monkeypatch, "2026-12-01T11:00:00Z")
    assert chosen(next_of(opened(tmp_path))) == ["a"]
    before = file.read_bytes()
    with pytest.raises(InvalidInput, match="not_before: needs an offset"):
        update(opened(tmp_path), node_id="a", not_before="2026-12-01T13:00:00")
    assert file.read_bytes() == before


def test_082_opening_a_deferred_node_keeps_its_time_and_says_so(tmp_path: Path) -> None:
    past, future = "2026-12-01T11:00:00Z", "2026-12-01T13:00:00Z"
    workspace(tmp_path, node("late", not_before=past, status="blocked"), node("early", not_before=future))
    application = opened(tmp_path)
    assert update(application, node_id="late", status="ready")["warnings"] == []
    told = update(application, node_id="early", status="ready")
    assert told["node"]["not_before"] == future
    assert told["warnings"] == [f"not_before keeps it waiting until {future}; clear it to let the node start"]
    found = next_of(application)
    assert (chosen(found), against(found)) == (["late"], {"deferred": 1})
    assert update(application, node_id="early", clear=["not_before"])["warnings"] == []
    assert chosen(next_of(application)) == ["early", "late"]
