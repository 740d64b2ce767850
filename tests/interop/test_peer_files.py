"""metagit-cli and this project work on one workspace: each reads what the other wrote and waits for its locks.

Must not know: how this project is built. It is driven through its command line; only locks are taken in the test.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from inotify_simple import INotify, flags  # type: ignore[import-untyped]  # it ships no types

from metagit_mcp.adapters.locks import locked, locked_in_place
from tests.interop.peer import CALL_SECONDS, Metagit
from tests.interop.peer_workspace import PRESSED, Ours, build, started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

METAGIT_NODE_KEYS = {
    *("node_id", "graph_id", "title", "depends_on", "status", "intent_id", "blocker_reason", "project"),
    *("repository", "agent_id", "acl", "context_budget", "compiled_context_path", "priority"),
    *("estimated_tokens", "created_at", "updated_at"),
}
OUTLINE = "Sketch the page\nBuild the page\n  Style the page\n"
# Long enough for a command to end that does not wait; a waiting one is let go afterwards.
PATIENCE = 0.5


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("metagit")).root


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    """A copy of the workspace, since metagit takes seconds to make one; its worktree is the copy's own."""
    root = shutil.copytree(template, tmp_path / "workspace", symlinks=True)
    rows = root / ".metagit/worktrees/worktrees.json"
    rows.write_text(rows.read_text(encoding="utf-8").replace(str(template), str(root)), encoding="utf-8")
    return root


@pytest.fixture
def metagit(root: Path) -> Metagit:
    return Metagit(root)


@pytest.fixture
def ours(root: Path) -> Ours:
    return Ours(root)


def graph_path(root: Path, graph: str) -> Path:
    return root / ".metagit/tasks/graphs" / f"{graph}.json"


def policy_path(root: Path) -> Path:
    return root / ".metagit/schedule/policy.json"


def nodes(root: Path, graph: str) -> dict[str, dict[str, Any]]:
    document = json.loads(graph_path(root, graph).read_text(encoding="utf-8"))
    return {node["node_id"]: node for node in document["nodes"]}


def offered(ours: Ours, *, codes: tuple[int, ...] = (0,)) -> dict[str, list[str]]:
    """What our scheduler would give out now: node id to reasons, in order."""
    answer = ours.json("schedule", "next", "--preview", "--limit", "20", codes=codes)
    return {decision["node_id"]: decision["reasons"] for decision in answer["decisions"]}


def held_back(ours: Ours) -> dict[str, int]:
    answer = ours.json("schedule", "next", "--preview", "--limit", "20")
    return {row["reason"]: row["nodes"] for row in answer["not_eligible"]}


# --- We read what metagit wrote -------------------------------------------------------------------


def test_our_status_is_metagits(metagit: Metagit, ours: Ours) -> None:
    theirs, mine = metagit.json("schedule", "status"), ours.json("schedule", "status")

    assert mine["ready_count"] == theirs["ready_count"] == 5
    assert {row["repository"]: row["depth"] for row in mine["merge_pressure"]} == theirs["merge_pressure"]
    assert [row["decision_id"] for row in mine["recent_decisions"]] == [
        row["decision_id"] for row in theirs["recent_decisions"]
    ]
    for name, weight in theirs["policy"]["weights"].items():
        assert mine["policy"]["weights"][name] == weight
    assert mine["policy"]["graph_overrides"]["g1"]["affinity"] == 0.6


def test_our_next_gives_metagits_order_scores_and_reasons(metagit: Metagit, ours: Ours, root: Path) -> None:
    policy = json.loads(policy_path(root).read_text(encoding="utf-8"))
    weights = {**policy["weights"], "dependency": 0}
    policy_path(root).write_text(json.dumps({**policy, "weights": weights, "ordering": "score"}), encoding="utf-8")
    answer = ours.json("schedule", "next", "--preview", "--limit", "20")

    keys = ("graph_id", "node_id", "score", "reasons")
    mine = [{key: decision[key] for key in keys} for decision in answer["decisions"]]
    assert mine == metagit.ranking()
    assert [row["node_id"] for row in mine] == ["api", "docs", "logo", "report", "web"]


def test_we_see_what_metagit_changes_next(metagit: Metagit, ours: Ours) -> None:
    assert "api" in offered(ours)

    metagit.run("task", "start", "--graph-id", "g1", "--node-id", "api")
    assert "api" not in offered(ours)

    for node in ("web", "docs", "api"):
        metagit.run("task", "complete", "--graph-id", "g1", "--node-id", node)
    assert set(offered(ours)) == {"ship", "logo", "report"}


# --- Metagit reads what we wrote ------------------------------------------------------------------


def test_metagit_schedules_our_plan(metagit: Metagit, ours: Ours, root: Path) -> None:
    ours.json("task", "plan", "--title", "Page", "--graph-id", "g3", "--outline", OUTLINE)
    first = next(iter(nodes(root, "g3")))
    ours.json("task", "update", "--graph-id", "g3", "--node-id", first, "--priority", "5", "--estimated-tokens", "0")

    assert [graph["graph_id"] for graph in metagit.json("task", "list")["graphs"]] == ["g1", "g2", "g3"]
    index = json.loads((root / ".metagit/tasks/index.json").read_text(encoding="utf-8"))
    assert [row["graph_id"] for row in index["graphs"]] == ["g1", "g2", "g3"]
    best = metagit.ranking()[0]
    assert best == {
        "graph_id": "g3",
        "node_id": first,
        "score": 10.75,
        "reasons": ["priority=5", "affinity=0", "cost=1.0000(tokens=0)"],
    }


def test_metagit_starts_and_finishes_our_nodes(metagit: Metagit, ours: Ours, root: Path) -> None:
    ours.json("task", "plan", "--title", "Page", "--goal", "A page", "--graph-id", "g3", "--outline", OUTLINE)
    planned = {name: node["title"] for name, node in nodes(root, "g3").items()}

    for name in planned:
        metagit.run("task", "start", "--graph-id", "g3", "--node-id", name)
        metagit.run("task", "complete", "--graph-id", "g3", "--node-id", name)

    assert {name: node["title"] for name, node in nodes(root, "g3").items()} == planned
    assert {node["status"] for node in nodes(root, "g3").values()} == {"completed"}


def test_metagit_reads_our_policy(metagit: Metagit, ours: Ours) -> None:
    ours.json("schedule", "policy", "set", "--cost", "0.3", "--merge-queue-threshold", "4")
    ours.json("schedule", "policy", "set", "--graph-id", "g2", "--priority", "0.125")

    policy = metagit.json("schedule", "policy", "show")
    assert policy["weights"] == {"priority": 2.0, "affinity": 0.5, "cost": 0.3, "fairness": 0.0}
    assert policy["merge_queue_threshold"] == 4
    assert policy["graph_overrides"]["g1"]["affinity"] == 0.6
    assert policy["graph_overrides"]["g2"]["priority"] == 0.125


def test_metagit_reads_our_decisions_and_events(metagit: Metagit, ours: Ours) -> None:
    decided = ours.json("schedule", "next")["decisions"][0]
    ours.json("schedule", "policy", "set", "--skip-on-merge-pressure", "true")
    skipped = ours.json("schedule", "next", "--limit", "20")["skipped"]

    recent = metagit.json("schedule", "status", "--recent", "50")["recent_decisions"]
    logged = {row["decision_id"]: (row["node_id"], row["score"], row["reasons"]) for row in recent}
    assert logged[decided["decision_id"]] == (decided["node_id"], decided["score"], decided["reasons"])
    # One event of a type metagit does not know would hide all of them from it.
    events = metagit.json("context", "events", "--since", "2000-01-01")["events"]
    seen = {event["data"].get("decision_id"): event["kind"] for event in events if event["source"] == "scheduler"}
    assert seen[decided["decision_id"]] == "ScheduleDecision"
    assert [row["repository"] for row in skipped] == [PRESSED]
    assert "ScheduleSkipped" in seen.values()


# --- Locks ----------------------------------------------------------------------------------------


@contextmanager
def metagit_holds(metagit: Metagit, graph: str) -> Iterator[None]:
    """Metagit's own lock on a graph, or on the policy where `graph` is empty."""
    holder = subprocess.Popen(metagit.holder(graph), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
        holder.communicate(timeout=CALL_SECONDS)


def assert_waits(process: subprocess.Popen[str], opened: INotify, protected: Path, before: str) -> None:
    """The process opened what is locked, and then neither ended nor wrote."""
    assert opened.read(timeout=CALL_SECONDS * 1000)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=PATIENCE)
    assert protected.read_text(encoding="utf-8") == before


def assert_goes_on(process: subprocess.Popen[str]) -> None:
    output = process.communicate(timeout=CALL_SECONDS)
    assert process.returncode == 0, output


@contextmanager
def opening(path: Path) -> Iterator[INotify]:
    with INotify() as opened:
        opened.add_watch(str(path), flags.OPEN)
        yield opened


OUR_SET = ("schedule", "policy", "set", "--cost", "0.125")
OUR_UPDATE = ("task", "update", "--graph-id", "g1", "--node-id", "docs", "--priority", "7")


@pytest.mark.parametrize(("graph", "command"), [("g1", OUR_UPDATE), ("", OUR_SET)])
def test_we_wait_for_metagits_lock(
    metagit: Metagit, ours: Ours, root: Path, graph: str, command: tuple[str, ...]
) -> None:
    protected = graph_path(root, graph) if graph else policy_path(root)
    lock = protected.with_suffix(".json.lock") if graph else protected
    before = protected.read_text(encoding="utf-8")

    with metagit_holds(metagit, graph), opening(lock) as opened:
        process = ours.started(*command)
        assert_waits(process, opened, protected, before)
    assert_goes_on(process)

    assert protected.read_text(encoding="utf-8") != before


def test_metagit_waits_for_our_graph_lock(metagit: Metagit, root: Path) -> None:
    path = graph_path(root, "g1")
    before = path.read_text(encoding="utf-8")

    with locked(path, root=root, kind="graph"), opening(path.with_suffix(".json.lock")) as opened:
        process = started(metagit.command("task", "start", "--graph-id", "g1", "--node-id", "docs"), root)
        assert_waits(process, opened, path, before)
    assert_goes_on(process)

    assert nodes(root, "g1")["docs"]["status"] == "running"


def test_metagit_waits_for_our_policy_lock(metagit: Metagit, root: Path) -> None:
    path = policy_path(root)
    before = path.read_text(encoding="utf-8")

    with locked_in_place(path, root=root, kind="policy"), opening(path) as opened:
        process = started(metagit.command("schedule", "policy", "set", "--cost", "0.125"), root)
        assert_waits(process, opened, path, before)
    assert_goes_on(process)

    assert json.loads(path.read_text(encoding="utf-8"))["weights"]["cost"] == 0.125


# --- Metagit drops what it does not know, and it stays in force -----------------------------------


def test_a_gate_and_a_deadline_outlast_metagits_rewrite(metagit: Metagit, ours: Ours, root: Path) -> None:
    where = ("task", "update", "--graph-id", "g1", "--node-id")
    ours.json(*where, "docs", "--approval", "human_required")
    ours.json(*where, "logo", "--deadline", "2020-01-01T00:00:00Z")
    metagit.run("task", "start", "--graph-id", "g1", "--node-id", "api")

    assert {frozenset(node) for node in nodes(root, "g1").values()} == {frozenset(METAGIT_NODE_KEYS)}
    found = offered(ours)
    assert set(found) == {"logo", "report", "web"}
    assert "deadline=1" in found["logo"]
    assert held_back(ours)["awaiting_approval"] == 1
    warned = json.dumps(ours.json("schedule", "next", "--preview")["warnings"])
    assert "approval" in warned
    assert "deadline" in warned


def test_an_approval_outlasts_metagits_rewrite(metagit: Metagit, ours: Ours) -> None:
    ours.json("task", "update", "--graph-id", "g1", "--node-id", "docs", "--approval", "human_required")
    ours.json("work", "approve", "docs", "--graph-id", "g1", "--operator", "owner")
    metagit.run("task", "start", "--graph-id", "g1", "--node-id", "api")

    assert "docs" in offered(ours)


def test_a_quota_outlasts_metagits_policy_set(metagit: Metagit, ours: Ours, root: Path) -> None:
    patch = json.dumps({"groups": {"g2": {"quota": 1}}})
    ours.json("schedule", "policy", "set", "--patch", patch, "--operator", "owner")
    metagit.run("schedule", "policy", "set", "--cost", "0.5")

    assert "groups" not in json.loads(policy_path(root).read_text(encoding="utf-8"))
    assert "report" not in offered(ours)
    assert held_back(ours)["group_quota"] == 1
    policy = ours.json("schedule", "policy", "show")["policy"]
    assert policy["groups"]["g2"]["quota"] == 1
    assert policy["weights"]["cost"] == 0.5
