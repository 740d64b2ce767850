"""What users of comparable schedulers reported, in our terms: warm repositories, merges, gates, obstacles.

Each test has the number of its row in the field cases (section G, and N8, N13) and looks at the tools over real
files. The rules themselves are tested in test_field_cases.py.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, get_args

import pytest

from metagit_mcp.errors import InvalidInput, NodeNotEligible
from metagit_mcp.scheduling.eligibility import ReasonKind
from tests.groups.offered import deliver, offering
from tests.scenarios.claiming import told_by
from tests.scenarios.companion import approve, next_of, opened, status_of, update
from tests.scenarios.surfaces import NOW, Json, against, command, lines_of
from tests.scenarios.written import explained, put_merges, put_policy, put_trees, texts, workspace
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

SOON = "2026-12-01T13:00:00Z"


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METAGIT_MCP_CLOCK", NOW)


# --- G: warm repositories, merges, gates ---------------------------------------------------------------------------


def test_124_warmth_that_prefers_nothing_says_so(tmp_path: Path) -> None:
    workspace(tmp_path, node("a", repository="p/one"), node("b", repository="p/two"), node("c", status="completed"))
    put_trees(tmp_path, one=tmp_path, two=tmp_path)

    def affinities() -> list[list[str]]:
        rows = next_of(opened(tmp_path), preview=True)["decisions"]
        return [[text for text in row["reasons"] if text.startswith("affinity")] for row in rows]

    idle = ["affinity=1", "affinity=no_effect"]
    assert affinities() == [idle, idle]
    assert explained(tmp_path, "b")["score_reasons"][2:4] == idle
    put_trees(tmp_path, one=tmp_path, two=tmp_path / "gone")
    assert affinities() == [["affinity=1"], ["affinity=0"]]
    put_trees(tmp_path, one=tmp_path, two=tmp_path)
    workspace(tmp_path, node("a", repository="p/one"), node("b", repository="p/two"), node("c"))
    assert affinities() == [["affinity=1"], ["affinity=1"], ["affinity=0"]]
    workspace(tmp_path, node("a", repository="p/one"), node("b", repository="p/one"))
    assert affinities() == [["affinity=1"], ["affinity=1"]]
    workspace(tmp_path, node("a", repository="p/one"), node("b", repository="p/two"))
    put_policy(tmp_path, weights={"affinity": 0})
    assert affinities() == [["affinity=1"], ["affinity=1"]]


def test_128_merges_that_ended_are_no_pressure_and_130_those_that_wait_are_named(tmp_path: Path) -> None:
    workspace(tmp_path, node("a", repository="p/web"))
    ended = ("closed", "merged", "failed", "cancelled", "succeeded")
    put_merges(tmp_path, "p/web", *ended)
    put_policy(tmp_path, merge_queue_threshold=1)
    application = opened(tmp_path)
    status = status_of(application)
    assert (status["merge_pressure"], status["warnings"]) == ([], [])
    assert next_of(application, preview=True)["decisions"][0]["reasons"][-1] == "cost=0.5000(tokens=1000)"

    put_merges(tmp_path, "P/Web.git", *ended[:3], "queued", "running")
    assert status_of(application)["merge_pressure"] == [
        {"repository": "p/web", "depth": 2, "threshold": 1, "pressured": True}
    ]
    (row,) = next_of(application, preview=True, detail="full")["decisions"]
    assert row["reasons"][-1] == "merge_pressure depth=2 threshold=1 penalty=2.0"
    assert row["factors"][-1] == {"name": "merge_pressure", "value": -1.0, "weight": 2.0, "contribution": -2.0}
    put_policy(tmp_path, merge_queue_threshold=1, skip_on_merge_pressure=True)
    found = next_of(application, preview=True, detail="full")
    assert (found["decisions"], against(found)) == ([], {"merge_pressure": 1})
    assert found["skipped"][0]["reasons"] == [*row["reasons"], "skipped_due_to_merge_pressure"]
    assert texts(explained(tmp_path, "a")) == ["merge_pressure(skip)"]


def test_133_a_gate_opens_once_whoever_approves_at_the_same_time(tmp_path: Path) -> None:
    workspace(tmp_path, node("deploy", risk="destructive"))
    with pytest.raises(NodeNotEligible, match="awaiting_approval"):
        update(opened(tmp_path), node_id="deploy", status="running", agent_id="ada")
    with ThreadPoolExecutor() as pool:
        people = ("ada", "bob", "eve")
        answers = list(pool.map(lambda who: command(tmp_path, "work", "approve", "deploy", "--operator", who), people))
    approve(opened(tmp_path), "deploy")
    schedule = tmp_path / ".metagit" / "schedule"
    (kept,) = [each["approval"] for each in told_by(schedule / "ledger.db", "approval_granted")]
    (event,) = lines_of(schedule / "audit.jsonl")
    assert {each["approved_by"] for each in answers} == {kept["approved_by"]} == {event["payload"]["approved_by"]}
    told = f"this node was approved already, at {NOW}"
    assert sorted(each["warnings"] for each in answers) == [[], [told], [told]]
    assert update(opened(tmp_path), node_id="deploy", status="running", agent_id="ada")["changed"] is True


API: Final[Json] = {"repository": "p/api", "exclusive": ["x"]}
OF_EVERY_KIND: Final = (
    node("held", priority=9, slots=2, **API, touches=["src/**"], uses={"db": 1}),
    node("failed", priority=8),
    node("spent", priority=7, budget={"tokens": 5}),
    node("limited", priority=6, uses={"api": 1}),
    node("owned", priority=5),
    node("done", status="completed"),
    node("waits", depends_on=["lost"]),
    node("stuck", status="blocked", blocker_reason="waits for the key"),
    node("early", not_before="2026-12-02T12:00:00Z"),
    node("gated", approval="human_required"),
    node("busy", status="running", updated_at=NOW),
    node("able", capabilities=["gpu"]),
    node("twin", **API),
    node("near", repository="p/api", touches=["src/x.py"]),
    node("shared", uses={"db": 1}),
    node("closed", uses={"api": 1}),
    node("wide", slots=9),
    node("pressed", repository="p/web"),
    node("slotless", priority=1, slots=2),
    node("kept"),
    node("wrong", slots=0),
)


def of_every_kind(desk: Desk) -> None:
    """A workspace in which one node at least waits for each reason that there is."""
    desk.graph("g", *OF_EVERY_KIND)
    desk.graph("full", node("a", status="running", updated_at=NOW), node("b"))
    desk.graph("judged", node("a", priority=10))
    desk.graph("over", node("a"), status="completed")
    desk.graph("halted", node("a"))
    put_merges(desk.root, "p/web", "queued", "queued", "queued")
    groups = {"full": {"quota": 1}, "judged": {"review": True}}
    loose: Json = {"resources": {"db": {}, "api": {"capacity": 9}}, "groups": groups, "agent_slots": 9}
    desk.put("schedule/policy.json", loose)
    desk.report(desk.start("a", "w1", graph_id="judged")["lease"]["lease_id"], "completed")
    desk.start("held", "w1")
    desk.report(desk.start("failed", "w1")["lease"]["lease_id"], "failed", note="no")
    spent = desk.start("spent", "w1")["lease"]["lease_id"]
    desk.report(spent, "released", usage={"tokens": 5})
    limited: Json = {"resource": "api", "until": "2026-12-01T18:00:00Z"}
    desk.report(desk.start("limited", "w1")["lease"]["lease_id"], "failed", rate_limited=limited)
    desk.start("owned", "w1", queue_only=True)
    desk.pause("group", "halted")
    # Its offer is over.
    deliver(desk, offering().log)
    desk.put(
        "schedule/policy.json",
        {
            **loose,
            "slots": 5,
            "drain_limit": 0,
            "agents": {"none": {"slots": 0}},
            "skip_on_merge_pressure": True,
        },
    )


def test_134_an_answer_without_work_counts_every_reason(tmp_path: Path) -> None:
    """Row 134: a valid lease and an assignee, and "no work": keys that nobody knows of decide."""
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(tmp_path)
    of_every_kind(desk)
    seen: set[str] = set()
    slots = {"reserved", "no_slot", "agent_slots"}
    for agent_id, last in (("w9", {"reserved", "no_slot"}), ("none", {"agent_slots"})):
        found = desk.claim(agent_id)
        assert found["decisions"] == []
        # What was turned away and what uses the same wait for it; two runs were started by another program; whoever
        # may hold nothing is not told what is kept for whom.
        twice = {"resource_closed": 2, "observed": 2, "agent_slots": 2}
        kinds = [kind for kind in get_args(ReasonKind) if kind not in slots or kind in last]
        assert against(found) == {kind: twice.get(kind, 1) for kind in kinds}
        assert sum(against(found).values()) == desk.status()["counts"]["nodes"] == 27
        for kind in set(kinds) - {"finished"}:
            assert f" {kind}: " in found["next_step"]
        seen |= set(kinds)
    assert seen == set(get_args(ReasonKind))


# --- people and agents of 2026 -------------------------------------------------------------------------------------


def test_n8_a_block_without_a_reason_is_refused_and_one_in_a_file_is_named(tmp_path: Path) -> None:
    workspace(tmp_path, node("a"), node("b", status="blocked", blocker_reason=""), node("c", status="blocked"))
    application = opened(tmp_path)
    for reason in ({}, {"blocker_reason": ""}):
        with pytest.raises(InvalidInput) as caught:
            update(application, node_id="a", status="blocked", **reason)
        assert caught.value.details["field"] == "blocker_reason"
    status = status_of(application, node_id="b")
    assert texts(status["explain"]) == ["blocked(unknown, set by another tool)"]
    assert [(each["node_id"], each["reason"], each["command"]) for each in status["needs_person"]] == [
        (name, "blocked(unknown, set by another tool)", f"metagit-mcp task update {name} --graph-id g --status ready")
        for name in ("b", "c")
    ]


def test_n13_all_obstacles_are_shown_in_a_fixed_order_and_the_first_is_counted(tmp_path: Path) -> None:
    workspace(tmp_path, node("a", not_before=SOON, risk="destructive"), node("r", status="running", updated_at=NOW))
    put_policy(tmp_path, groups={"g": {"quota": 1}})
    told = explained(tmp_path, "a")
    assert texts(told) == [f"deferred({SOON})", "awaiting_approval", "group_quota(1/1)"]
    assert against(next_of(opened(tmp_path))) == {"deferred": 1, "observed": 1}
