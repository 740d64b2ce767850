"""What a first import makes of a list, where it goes, and what is refused before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.adapters.reading import node
from tests.unit.application.importing import (
    EARLY,
    beside,
    contents,
    counts,
    put_issues,
    put_pages,
    put_tasks,
    run,
    told,
)
from tests.unit.wire.lists import edge, issue, task

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk

AT = "2026-12-01T12:00:00+00:00"


BUILD = issue(
    "shop-2",
    title="Build the login",
    status="in_progress",
    assignee="@ann",
    estimated_minutes=45,
    due_at="2026-12-24T12:00:00Z",
    defer_until="2026-12-02",
    dependencies=[edge("shop-2", "shop-3"), edge("shop-2", "shop-1", "parent-child")],
)
ROW = {
    "node_id": "shop-2",
    "graph_id": "shop",
    "title": "Build the login",
    "depends_on": ["shop-3"],
    "status": "running",
    "intent_id": "intent-shop",
    "blocker_reason": None,
    "project": None,
    "repository": None,
    "agent_id": "ann",
    "acl": None,
    "context_budget": None,
    "compiled_context_path": None,
    "priority": 2,
    "estimated_tokens": None,
    "created_at": AT,
    "updated_at": AT,
    "parent_id": "shop-1",
    "estimated_runtime_seconds": 2700,
    "not_before": "2026-12-02T00:00:00+00:00",
    "deadline": "2026-12-24T12:00:00+00:00",
}
GRAPH = {
    "graph_id": "shop",
    "title": "shop",
    "is_new": True,
    "records": 3,
    "created": 3,
    **dict.fromkeys(("updated", "unchanged", "stale_skipped", "kept_here", "vanished", "held", "nodes_omitted"), 0),
    "edges_used": [
        {"kind": "blocks", "use": "depends_on", "count": 1},
        {"kind": "discovered-from", "use": "discovered_from", "count": 1},
        {"kind": "parent-child", "use": "parent_id", "count": 1},
    ],
    "edges_ignored": [],
    "records_ignored": [],
    "nodes": [{"node_id": f"shop-{number}", "outcome": "created", "fields": []} for number in (1, 2, 3)],
}


def test_what_a_record_becomes(desk: Desk) -> None:
    first = issue("shop-1", priority=0, issue_type="epic")
    last = issue("shop-3", status="closed", dependencies=[edge("shop-3", "shop-2", "discovered-from")])
    path = put_issues(desk, first, BUILD, last)
    answer = run(desk, "beads", path)
    assert answer == {
        "system": "beads",
        "source": path,
        "dry_run": False,
        "graphs": [GRAPH],
        "warnings": [],
        "warnings_omitted": 0,
        "next_step": "metagit-mcp schedule next shows what can be started.",
    }
    assert desk.document("tasks/graphs/shop.json")["title"] == "shop"
    assert desk.row("shop-2", "shop") == ROW
    assert desk.statuses("shop") == {"shop-1": "pending", "shop-2": "running", "shop-3": "completed"}
    assert desk.row("shop-3", "shop")["discovered_from"] == "shop-2"
    # What somebody there works at is not handed out; nothing else can be started.
    assert desk.claim()["decisions"] == []


def test_the_events_of_an_import(desk: Desk) -> None:
    path = put_issues(desk, issue("a-1", updated_at=EARLY), issue("a-2"))
    run(desk, "beads", path)
    put_issues(desk, issue("a-1", status="closed"), issue("a-2", title="Other"), issue("a-3"))
    run(desk, "beads", path)
    rows = [(each["type"], each["payload"]) for each in desk.lines("events/taskgraph.jsonl")]
    assert rows == [
        ("TaskGraphCreated", {"graph_id": "a", "title": "a"}),
        ("TaskNodeCreated", {"graph_id": "a", "node_id": "a-1", "title": "a-1"}),
        ("TaskNodeCreated", {"graph_id": "a", "node_id": "a-2", "title": "a-2"}),
        ("TaskNodeCreated", {"graph_id": "a", "node_id": "a-3", "title": "a-3"}),
        ("TaskCompleted", {"graph_id": "a", "node_id": "a-1"}),
    ]


@pytest.mark.parametrize("at", ["shop/.beads/issues.jsonl", "shop/.beads", "shop"])
def test_a_list_of_beads_is_found_by_its_project_too(desk: Desk, at: str) -> None:
    put_issues(desk, issue("x-1"), issue("y-1"))
    (graph,) = run(desk, "beads", str(beside(desk, at)))["graphs"]
    assert graph["graph_id"] == "shop"
    # By whatever name, it is the same list.
    assert counts(run(desk, "beads", str(beside(desk, "shop")))) == {"unchanged": 2}


@pytest.mark.parametrize("at", ["shop/.taskmaster/tasks/tasks.json", "shop/.taskmaster", "shop"])
def test_each_tag_becomes_a_graph(desk: Desk, at: str) -> None:
    put_tasks(desk, {"master": {"tasks": [task(1)]}, "Loop/2": {"tasks": [task(1), task(2)]}, "empty": {"tasks": []}})
    answer = run(desk, "taskmaster", str(beside(desk, at)))
    assert [(each["graph_id"], each["title"], each["created"], each["is_new"]) for each in answer["graphs"]] == [
        ("master", "master", 1, True),
        ("loop-2", "Loop/2", 2, True),
        ("empty", "empty", 0, False),
    ]
    assert sorted(path.name for path in desk.path("tasks/graphs").glob("*.json")) == ["loop-2.json", "master.json"]
    again = run(desk, "taskmaster", str(beside(desk, at)), tag="Loop/2", graph_id="loop-2")
    assert counts(again) == {"unchanged": 2}


@pytest.mark.parametrize("at", ["shop/backlog", "shop"])
def test_a_folder_of_pages_is_found_by_its_project_too(desk: Desk, at: str) -> None:
    pages = {
        "tasks/task-1 - x.md": "---\nid: TASK-1\ntitle: One\n---\n<!-- AC:BEGIN -->\n- [ ] #1 Works\n<!-- AC:END -->\n",
        "completed/task-2.md": "---\nid: TASK-2\n---\n",
        "drafts/task-3.md": "---\nid: TASK-3\n---\n",
        "tasks/notes.txt": "no page",
        "tasks/.hidden.md": "no page",
    }
    put_pages(desk, pages)
    beside(desk, "shop/backlog.config.yml").write_text("project_name: Web\n")
    answer = run(desk, "backlog", str(beside(desk, at)))
    (graph,) = answer["graphs"]
    assert (graph["graph_id"], graph["title"], graph["created"]) == ("web", "Web", 2)
    assert graph["records_ignored"] == [{"kind": "draft", "why": "not offered there", "count": 1}]
    assert desk.row("TASK-1", "web")["acceptance"] == ["Works"]


def test_what_is_aside_there_is_a_node_where_another_one_needs_it(desk: Desk) -> None:
    path = put_issues(
        desk,
        issue("a-1", dependencies=[edge("a-1", "a-g")]),
        issue("a-g", issue_type="gate", dependencies=[edge("a-g", "a-h")]),
        issue("a-h", issue_type="gate", status="closed"),
        issue("a-m", issue_type="message", dependencies=[edge("a-m", "a-1")]),
    )
    answer = run(desk, "beads", path)
    (graph,) = answer["graphs"]
    assert (graph["records"], graph["held"]) == (3, 1)
    assert graph["edges_ignored"] == [{"kind": "blocks", "why": "its task is not imported", "count": 1}]
    assert graph["records_ignored"] == [{"kind": "message", "why": "not offered there", "count": 1}]
    assert desk.row("a-g", "a")["blocker_reason"] == "gate, not offered there"
    # Once it is there it is kept in step, also where nobody needs it any more.
    put_issues(desk, issue("a-1"), issue("a-g", issue_type="gate", status="closed"), issue("a-h", issue_type="gate"))
    assert counts(run(desk, "beads", path)) == {"updated": 3}


def test_a_dependency_that_is_not_in_the_list_keeps_its_node_waiting(desk: Desk) -> None:
    path = put_issues(
        desk,
        issue("a-1", dependencies=[edge("a-1", "external:shop:login")]),
        issue("a-2", dependencies=[edge("a-2", "a-9", "parent-child")]),
        issue("a-3", status="closed", dependencies=[edge("a-3", "a-9")]),
    )
    answer = run(desk, "beads", path)
    assert answer["graphs"][0]["edges_used"] == [
        {"kind": "blocks", "use": "missing", "count": 2},
        {"kind": "parent-child", "use": "missing", "count": 1},
    ]
    at = "issues.jsonl"
    assert answer["warnings"] == [
        f"{at}, line 1: blocks: missing_dependency: external:shop:login is not in the list, so a-1 is not ready",
        f"{at}, line 2: parent-child: missing_dependency: a-9 is not in the list, so a-2 is not ready",
    ]
    explained = [desk.status(node_id=name)["explain"]["reasons"] for name in ("a-1", "a-2")]
    assert [[each["text"] for each in reasons] for reasons in explained] == [
        ["not_ready(missing dependency external:shop:login)"],
        ["not_ready(parent a-9 missing)"],
    ]


def test_nodes_that_wait_in_a_circle_are_told(desk: Desk) -> None:
    path = put_issues(
        desk,
        issue("a-1", dependencies=[edge("a-1", "a-2")]),
        issue("a-2", dependencies=[edge("a-2", "a-1")]),
        issue("a-3"),
    )
    first, second = run(desk, "beads", path), run(desk, "beads", path)
    assert first["warnings"] == second["warnings"] == ["graph a: nodes wait in a circle: a-1 -> a-2 -> a-1"]
    assert desk.taken() == ["a-3"]


def test_a_graph_that_is_closed_says_so(desk: Desk) -> None:
    path = put_issues(desk, issue("a-1"))
    run(desk, "beads", path)
    desk.put("tasks/graphs/a.json", {**desk.document("tasks/graphs/a.json"), "status": "completed"})
    answer = run(desk, "beads", path)
    assert answer["warnings"] == ["graph a: its own status is completed: nothing in it is offered"]


def test_new_nodes_are_written_in_the_manual_order(desk: Desk) -> None:
    ordinals = {1: 3000, 2: 1000, 3: 2000}
    run(
        desk,
        "backlog",
        put_pages(desk, {f"tasks/{n}.md": f"---\nid: T-{n}\nordinal: {each}\n---\n" for n, each in ordinals.items()}),
    )
    assert list(desk.statuses("shop")) == ["T-2", "T-3", "T-1"]


def test_only_so_many_warnings_and_nodes_are_told(desk: Desk) -> None:
    path = put_issues(desk, *(issue(f"a-{number:03}", priority=None) for number in range(120)))
    answer = run(desk, "beads", path)
    assert (len(answer["warnings"]), answer["warnings_omitted"]) == (20, 100)
    assert (len(answer["graphs"][0]["nodes"]), answer["graphs"][0]["nodes_omitted"]) == (50, 70)


@pytest.mark.parametrize("has_ledger", [False, True])
def test_a_dry_run_writes_nothing_and_answers_the_same(desk: Desk, *, has_ledger: bool) -> None:
    if has_ledger:
        desk.graph("g", node("a"))
        desk.lease()
        desk.flush()
    path = put_issues(desk, issue("a-1"), issue("a-2", status="deferred"))
    # A ledger has files of its own that come and go.
    before = contents(desk.root)
    dry = run(desk, "beads", path, dry_run=True)
    assert contents(desk.root) == before
    assert dry["next_step"] == "Nothing was written. Run it again without --dry-run to import."
    wet = run(desk, "beads", path)
    assert wet["next_step"].endswith("metagit-mcp task list --status blocked what is held.")
    assert {**dry, "dry_run": False, "next_step": ""} == {**wet, "next_step": ""}
    put_issues(desk, issue("a-1", title="Other"))
    dry, wet = run(desk, "beads", path, dry_run=True), run(desk, "beads", path)
    assert (
        (counts(dry), told(dry))
        == (counts(wet), told(wet))
        == (
            {"updated": 1, "vanished": 1},
            {"a-2": ("vanished", ()), "a-1": ("updated", ("title",))},
        )
    )


def test_edges_that_lead_to_nothing_are_told_with_their_reason(desk: Desk) -> None:
    kinds = ("conditional-blocks", "related", "related", "odd")
    path = put_issues(desk, issue("a-1", dependencies=[edge("a-1", "a-2", kind) for kind in kinds]), issue("a-2"))
    (graph,) = run(desk, "beads", path)["graphs"]
    assert (graph["edges_used"], graph["held"]) == ([], 1)
    assert graph["edges_ignored"] == [
        {"kind": "conditional-blocks", "why": "runs only if that fails: its node is held", "count": 1},
        {"kind": "odd", "why": "is of an unknown kind: its node is held", "count": 1},
        {"kind": "related", "why": "nothing waits for it", "count": 2},
    ]
    assert desk.row("a-1", "a")["blocker_reason"] == (
        "conditional-blocks a-2: runs only if that fails; odd a-2: is of an unknown kind"
    )
