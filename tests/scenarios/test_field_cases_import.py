"""What users of comparable schedulers reported, in our terms: lists that other programs keep, imported by a command.

Each test has the number of its row in the field cases.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.surfaces import Json, chosen, command
from tests.scenarios.written import workspace
from tests.unit.adapters.reading import node
from tests.unit.wire.lists import edge, issue, task

if TYPE_CHECKING:
    from pathlib import Path


def beads(root: Path, *issues: Json, code: int = 0, **flags: str) -> Json:
    """What importing these issues answers."""
    path = root.with_name("issues.jsonl")
    path.write_text("".join(f"{json.dumps(each)}\n" for each in issues))
    words = [word for name, text in flags.items() for word in (f"--{name.replace('_', '-')}", text)]
    return command(root, "import", "beads", str(path), *words, code=code)


def taskmaster(root: Path, *tasks: Json, code: int = 0) -> Json:
    """What importing these tasks answers."""
    path = root.with_name("tasks.json")
    path.write_text(json.dumps({"master": {"tasks": tasks}}))
    return command(root, "import", "taskmaster", str(path), code=code)


def backlog(root: Path, *pages: tuple[str, str], code: int = 0, flags: tuple[str, ...] = ()) -> Json:
    """What importing these pages answers, each given by its name and the lines of its front matter."""
    folder = root.with_name("backlog")
    for name, front in (("tasks/.keep", ""), *pages):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{front}\n---\n")
    return command(root, "import", "backlog", str(folder), *flags, code=code)


def offered(root: Path) -> list[str]:
    """What may be started now, in order."""
    return chosen(command(root, "schedule", "next", "--preview", "--limit", "100", code=0 if _is_any(root) else 10))


def _is_any(root: Path) -> bool:
    return bool(command(root, "schedule", "status")["runnable_count"])


def rows(root: Path, graph_id: str) -> dict[str, Json]:
    """The nodes of a graph as its file has them."""
    document = json.loads((root / ".metagit" / "tasks" / "graphs" / f"{graph_id}.json").read_text())
    return {row["node_id"]: row for row in document["nodes"]}


def reasons(root: Path, node_id: str) -> list[str]:
    """Every reason against a node."""
    return [each["text"] for each in command(root, "schedule", "explain", node_id)["explain"]["reasons"]]


def made(answer: Json) -> tuple[int, ...]:
    """How many nodes were created, updated, stale, kept."""
    (graph,) = answer["graphs"]
    return tuple(graph[name] for name in ("created", "updated", "stale_skipped", "kept_here"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace(tmp_path / "w", node("mine", priority=-1), graph_id="mine")
    return tmp_path / "w"


@pytest.mark.parametrize("kind", ["conditional-blocks", "needs-approval-of"])
@pytest.mark.parametrize("target", ["closed", "open"])
def test_037_an_edge_that_has_no_meaning_here_holds_its_node(root: Path, kind: str, target: str) -> None:
    answer = beads(root, issue("a-1", dependencies=[edge("a-1", "a-2", kind)]), issue("a-2", status=target))
    (graph,) = answer["graphs"]
    why = "runs only if that fails" if kind == "conditional-blocks" else "is of an unknown kind"
    assert graph["edges_ignored"] == [{"kind": kind, "why": f"{why}: its node is held", "count": 1}]
    assert (graph["held"], graph["edges_used"]) == (1, [])
    assert answer["warnings"] == [f"issues.jsonl, line 1: dependencies/0: {kind}: {why}; the task is not ready"]
    assert rows(root, "a")["a-1"]["blocker_reason"] == f"{kind} a-2: {why}"
    assert "a-1" not in offered(root)
    assert reasons(root, "a-1") == ["blocked"]


def test_037_edges_without_a_meaning_that_form_a_circle_hold_all_of_it(root: Path) -> None:
    kinds = "conditional-blocks"
    beads(
        root,
        issue("a-1", dependencies=[edge("a-1", "a-2", kinds)]),
        issue("a-2", dependencies=[edge("a-2", "a-1", kinds)]),
    )
    assert offered(root) == ["mine"]


def test_038_every_kind_of_edge_is_accounted_for(root: Path) -> None:
    kinds = ("blocks", "parent-child", "relates-to", "discovered-from")
    answer = beads(
        root,
        issue("a-1", dependencies=[edge("a-1", f"a-{number}", kind) for number, kind in enumerate(kinds, start=2)]),
        *(issue(f"a-{number}") for number in range(2, 6)),
    )
    (graph,) = answer["graphs"]
    assert graph["edges_used"] == [
        {"kind": "blocks", "use": "depends_on", "count": 1},
        {"kind": "discovered-from", "use": "discovered_from", "count": 1},
        {"kind": "parent-child", "use": "parent_id", "count": 1},
    ]
    assert graph["edges_ignored"] == [{"kind": "relates-to", "why": "nothing waits for it", "count": 1}]
    row = rows(root, "a")["a-1"]
    assert (row["depends_on"], row["parent_id"], row["discovered_from"]) == (["a-2"], "a-3", "a-5")
    assert reasons(root, "a-1") == ["not_ready(unfinished a-2)"]


@pytest.mark.parametrize("written", [11, "11"])
def test_047_an_id_as_number_and_as_text_is_one_node(root: Path, written: int | str) -> None:
    taskmaster(root, task(2, subtasks=[task(2, dependencies=[written])]), task("11" if written == 11 else 11))
    assert sorted(rows(root, "master")) == ["11", "2", "2.2"]
    assert rows(root, "master")["2.2"]["depends_on"] == ["11"]
    assert reasons(root, "2.2") == ["not_ready(unfinished 11)"]


def test_049_a_short_id_in_a_sub_task_that_is_no_sibling_is_a_task_at_the_top(root: Path) -> None:
    taskmaster(root, task(2, subtasks=[task(1), task(2, dependencies=["11"])]), task(11, status="done"))
    assert offered(root) == ["2.1", "2.2", "mine"]
    # With a sibling of that number it is the sibling.
    tasks = task(2, subtasks=[task(2, dependencies=["11"]), task(11)])
    taskmaster(root, tasks, task(11, status="done"))
    assert rows(root, "master")["2.2"]["depends_on"] == ["2.11"]


PAGES = (
    ("tasks/back-216.md", "id: BACK-216\nstatus: To Do\ndependencies:\n  - task-213"),
    ("completed/back-213.md", "id: BACK-213\nstatus: Done"),
)


def test_052_a_dependency_under_the_former_prefix_is_found_by_its_number(root: Path) -> None:
    answer = backlog(root, *PAGES)
    assert answer["warnings"] == [
        "tasks/back-216.md, line 4: dependencies: prefix_mismatch: TASK-213 is taken for BACK-213"
    ]
    assert (offered(root)[0], rows(root, answer["graphs"][0]["graph_id"])["BACK-216"]["priority"]) == ("BACK-216", 2)


def test_052_where_the_caller_is_strict_it_is_missing(root: Path) -> None:
    answer = backlog(root, *PAGES, flags=("--strict",))
    assert answer["graphs"][0]["edges_used"] == [{"kind": "dependencies", "use": "missing", "count": 1}]
    assert reasons(root, "BACK-216") == ["not_ready(missing dependency TASK-213)"]


@pytest.mark.parametrize("other", ["archive/tasks", "completed", "tasks", "drafts"])
def test_053_one_id_for_two_records_names_both_files_and_writes_nothing(root: Path, other: str) -> None:
    pages = (("tasks/a.md", "id: TASK-7"), (f"{other}/b.md", "id: task-07\nstatus: Done"), ("tasks/c.md", "id: TASK-8"))
    error = backlog(root, *pages, code=2)
    both = ["tasks/a.md", f"{other}/b.md"]
    assert (error["code"], sorted(error["details"]["files"])) == ("INVALID_INPUT", sorted(both))
    assert all(name in error["message"] for name in both)
    assert sorted(path.stem for path in (root / ".metagit/tasks/graphs").glob("*.json")) == ["mine"]


def test_058_a_missing_priority_is_not_the_most_urgent_one(root: Path) -> None:
    first = issue("a-0")
    del first["priority"]
    answer = beads(root, first, issue("a-1", priority=1), issue("a-2", priority=0), issue("a-3", priority=3))
    assert [row["priority"] for row in rows(root, "a").values()] == [2, 3, 4, 1]
    assert offered(root) == ["a-2", "a-1", "a-0", "a-3", "mine"]
    assert answer["warnings"] == ["issues.jsonl, line 1: priority: is missing: P2 is taken"]


def test_080_what_is_deferred_without_a_day_is_never_ready_and_stays_deferred(root: Path) -> None:
    deferred = issue("a-1", status="deferred")
    beads(root, deferred, issue("a-2", dependencies=[edge("a-2", "a-1")]), issue("a-3"))
    assert offered(root) == ["a-3", "mine"]
    # What others do in the same graph writes its file back.
    command(root, "schedule", "next", "--claim", "--graph-id", "a", "--agent-id", "w1")
    row = rows(root, "a")["a-1"]
    assert (row["status"], row["blocker_reason"]) == ("blocked", "status deferred in beads")
    beads(root, {**deferred, "defer_until": "2026-11-30T00:00:00Z"}, issue("a-3"))
    assert (rows(root, "a")["a-1"]["status"], rows(root, "a")["a-1"]["not_before"]) == (
        "pending",
        "2026-11-30T00:00:00+00:00",
    )


def test_083_the_same_file_twice_creates_and_updates_nothing(root: Path) -> None:
    statuses = ("open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked", "custom")
    issues = [issue(f"a-{number}", status=status) for number, status in enumerate(statuses)]
    assert made(beads(root, *issues)) == (8, 0, 0, 0)
    assert made(beads(root, *issues)) == (0, 0, 0, 0)
    assert made(backlog(root, *PAGES)) == (2, 0, 0, 0)
    assert made(backlog(root, *PAGES)) == (0, 0, 0, 0)
    tasks = [task(number, status=status) for number, status in enumerate(("done", "deferred", "cancelled"), start=1)]
    assert made(taskmaster(root, *tasks)) == (3, 0, 0, 0)
    assert made(taskmaster(root, *tasks)) == (0, 0, 0, 0)


def test_085_statuses_are_those_of_the_configuration(root: Path) -> None:
    words = ("To Do", "To do", "In Progress", "Done", '"Done"', "Won't Do")
    pages = [(f"tasks/{n}.md", f"id: T-{n}\nstatus: {word}") for n, word in enumerate(words)]
    (root.with_name("backlog")).mkdir()
    (root.with_name("backlog") / "config.yml").write_text("statuses: [To Do, In Progress, Done]\nproject_name: web\n")
    answer = backlog(root, *pages)
    found = [row["status"] for row in rows(root, "web").values()]
    assert found == ["pending", "pending", "running", "completed", "completed", "blocked"]
    assert rows(root, "web")["T-5"]["blocker_reason"] == "status Won't Do in Backlog.md"
    assert answer["warnings"] == ["tasks/5.md, line 3: status: is not one of the configuration: the task is not ready"]
    assert offered(root) == ["T-0", "T-1", "mine"]


@pytest.mark.parametrize("status", ["done", "completed", "Done"])
def test_086_each_word_for_done_satisfies(root: Path, status: str) -> None:
    taskmaster(root, task(1, status=status), task(2, dependencies=[1]))
    assert offered(root) == ["2", "mine"]


def test_086_what_was_cancelled_never_satisfies_and_says_so(root: Path) -> None:
    taskmaster(root, task(1, status="cancelled"), task(2, dependencies=[1]))
    assert reasons(root, "2") == ["not_ready(cancelled 1)"]


@pytest.mark.parametrize("status", ["in-progress", "In-Progress", "IN_PROGRESS"])
def test_086_a_status_is_the_same_however_it_is_spelt(root: Path, status: str) -> None:
    answer = taskmaster(root, task(1, status=status, subtasks=[task(1)]))
    assert (rows(root, "master")["1"]["status"], answer["warnings"]) == ("running", [])
    assert offered(root) == ["1.1", "mine"]


def test_140_an_import_of_another_list_leaves_the_open_nodes_of_the_first(root: Path) -> None:
    beads(root, issue("a-1"), issue("a-2"), graph_id="first")
    before = {name: (root / f".metagit/tasks/graphs/{name}.json").read_bytes() for name in ("first", "mine")}
    taskmaster(root, task(1))
    backlog(root, *PAGES)
    assert {name: (root / f".metagit/tasks/graphs/{name}.json").read_bytes() for name in before} == before
    assert set(offered(root)) >= {"a-1", "a-2", "1", "mine"}


def test_145_an_older_copy_neither_overwrites_nor_reopens(root: Path) -> None:
    new = issue("a-1", title="New", status="closed", updated_at="2026-10-10T00:00:00Z")
    old = issue("a-1", title="Old", status="open", updated_at="2026-10-05T00:00:00Z")
    beads(root, new)
    before = rows(root, "a")
    answer = beads(root, old)
    assert made(answer) == (0, 0, 1, 0)
    assert answer["graphs"][0]["nodes"] == [{"node_id": "a-1", "outcome": "stale_skipped", "fields": []}]
    assert rows(root, "a") == before
