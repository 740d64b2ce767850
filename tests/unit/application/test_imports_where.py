"""Which graph a list goes to, where lists are found, and what is refused before anything is written."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import GraphExists, GraphInvalid, InvalidInput, StoreUnavailable
from tests.unit.adapters.reading import node
from tests.unit.application.importing import (
    beside,
    contents,
    counts,
    put_issues,
    put_pages,
    put_tasks,
    refused,
    run,
    told,
)
from tests.unit.wire.lists import issue, task

if TYPE_CHECKING:
    from tests.unit.application.desk import Desk


# --- where it goes -------------------------------------------------------------------------------------------------


def test_a_graph_that_was_not_imported_must_be_named(desk: Desk) -> None:
    desk.graph("shop", node("mine", status="running"), node("shop-1", title="Ours"))
    path = put_issues(desk, issue("shop-1"), issue("shop-2"))
    error = refused(desk, "beads", path)
    assert (type(error), error.message) == (GraphExists, "There is a graph shop already, and it was not imported.")
    answer = run(desk, "beads", path, graph_id="shop")
    assert (counts(answer), told(answer)["shop-1"]) == (
        {"created": 1, "kept_here": 1},
        ("kept_here", ("title", "priority")),
    )
    assert desk.statuses("shop") == {"mine": "running", "shop-1": "pending", "shop-2": "pending"}
    # From now on it is this list's.
    assert counts(run(desk, "beads", path)) == {"unchanged": 1, "kept_here": 1}


def test_a_list_of_another_place_must_be_named(desk: Desk) -> None:
    one = put_issues(desk, issue("bd-1"), name="one/.beads/issues.jsonl")
    two = put_issues(desk, issue("bd-1", title="Other"), name="two/.beads/issues.jsonl")
    run(desk, "beads", one)
    error = refused(desk, "beads", two)
    assert error.message == "There is a graph bd already, and it was imported from another place."
    assert counts(run(desk, "beads", two, graph_id="two")) == {"created": 1}
    assert counts(run(desk, "beads", one)) == counts(run(desk, "beads", two)) == {"unchanged": 1}
    # A list that moved goes on where it was.
    answer = run(desk, "beads", two, graph_id="bd")
    assert counts(answer) == {"updated": 1}
    assert answer["warnings"] == [f"graph bd: it was imported from {one} before, and follows {two} from now on"]


@pytest.mark.parametrize(
    ("status", "here"),
    [("in_progress", "running"), ("deferred", "blocked"), ("closed", "completed"), ("new_one", "blocked")],
)
def test_what_is_not_open_there_is_not_given_out_from_a_graph_that_is_named(desk: Desk, status: str, here: str) -> None:
    desk.graph("g", node("a-1"), node("a-2", status="completed"))
    path = put_issues(desk, issue("a-1", status=status), issue("a-2", status="in_progress"))
    answer = run(desk, "beads", path, graph_id="g")
    assert told(answer) == {
        "a-1": ("updated", ("status",)),
        "a-2": ("kept_here", ("status", "priority")),
    }
    assert (desk.statuses("g"), desk.taken()) == ({"a-1": here, "a-2": "completed"}, [])
    assert counts(run(desk, "beads", path)) == {"kept_here": 2}
    # What a person lets go after that stays so.
    desk.update("a-1", graph_id="g", status="ready")
    run(desk, "beads", path)
    assert desk.taken() == ["a-1"]


def test_the_graph_of_a_tag_that_is_gone_is_told(desk: Desk) -> None:
    path = put_tasks(desk, {"a": {"tasks": [task(1)]}, "b": {"tasks": [task(1)]}})
    run(desk, "taskmaster", path)
    put_tasks(desk, {"a": {"tasks": [task(1)]}, "c": {"tasks": [task(1)]}})
    told_of_b = (
        "graph b: the list has no tag b any more; what is open in it is still offered until "
        "metagit-mcp task update NODE --status cancelled"
    )
    assert run(desk, "taskmaster", path)["warnings"] == [told_of_b]
    assert run(desk, "taskmaster", path, tag="a")["warnings"] == []


def test_what_is_gone_is_named_only_so_often(desk: Desk) -> None:
    path = put_issues(desk, *(issue(f"a-{number}") for number in range(9)))
    run(desk, "beads", path)
    put_issues(desk, issue("a-0"))
    (warning,) = run(desk, "beads", path)["warnings"]
    assert warning.endswith("--status cancelled: a-1, a-2, a-3, a-4, a-5 and 3 more")


def test_a_list_in_the_workspace_is_known_by_its_place_in_it(desk: Desk) -> None:
    path = desk.root / ".beads" / "issues.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps(issue("bd-1")) + "\n")
    assert run(desk, "beads", str(path))["source"] == ".beads/issues.jsonl"
    assert desk.document("schedule/imports/bd.json")["source"] == ".beads/issues.jsonl"


def test_what_was_imported_is_found_again_when_its_prefix_changes(desk: Desk) -> None:
    path = put_issues(desk, issue("a-1"))
    run(desk, "beads", path)
    put_issues(desk, issue("a-1"), issue("b-1"))
    answer = run(desk, "beads", path)
    assert (answer["graphs"][0]["graph_id"], counts(answer)) == ("a", {"created": 1, "unchanged": 1})


def test_two_programs_never_share_a_graph(desk: Desk) -> None:
    run(desk, "beads", put_issues(desk, issue("master-1")))
    path = put_tasks(desk, {"master": {"tasks": [task(1)]}})
    for fields in ({}, {"graph_id": "master"}):
        error = refused(desk, "taskmaster", path, **fields)
        assert (type(error), error.message) == (
            GraphExists,
            "The graph master holds a list of another program.",
        )


@pytest.mark.parametrize(
    ("system", "fields", "field"),
    [
        ("beads", {"tag": "x"}, "tag"),
        ("backlog", {"tag": "x"}, "tag"),
        ("beads", {"strict": True}, "strict"),
        ("taskmaster", {"strict": True}, "strict"),
        ("taskmaster", {"tag": "x"}, "tag"),
        ("taskmaster", {"graph_id": "x"}, "graph_id"),
        ("beads", {"graph_id": ".x"}, "graph_id"),
    ],
)
def test_flags_that_say_nothing_of_a_list_are_refused(
    desk: Desk, system: str, fields: dict[str, object], field: str
) -> None:
    put_issues(desk, issue("a-1"))
    put_tasks(desk, {"a": {"tasks": [task(1)]}, "b": {"tasks": [task(1)]}})
    put_pages(desk, {})
    error = refused(desk, system, str(beside(desk, "shop")), **fields)
    assert (type(error), error.details["field"]) == (InvalidInput, field)


def test_two_tags_of_one_name_are_refused(desk: Desk) -> None:
    path = put_tasks(desk, {"A/b": {"tasks": [task(1)]}, "a-b": {"tasks": [task(1)]}})
    error = refused(desk, "taskmaster", path)
    assert error.message == "tag: two tags would become the graph a-b"


def test_a_graph_that_cannot_be_used_stops_all_of_it_before_anything_is_written(desk: Desk) -> None:
    desk.path("tasks/graphs/b.json").write_text("{")
    path = put_tasks(desk, {"a": {"tasks": [task(1)]}, "b": {"tasks": [task(1)]}})
    assert type(refused(desk, "taskmaster", path)) is GraphInvalid


def test_a_record_of_an_import_that_cannot_be_used_is_named(desk: Desk) -> None:
    path = put_issues(desk, issue("a-1"))
    run(desk, "beads", path)
    for wrong in ("{", "[]", "{}", '{"system": "beads", "source": "x", "tag": "", "records": {"a": 5}}'):
        desk.path("schedule/imports/a.json").write_text(wrong)
        error = refused(desk, "beads", path)
        assert isinstance(error, StoreUnavailable)
        assert error.message.startswith(".metagit/schedule/imports/a.json cannot be used: ")
    desk.path("schedule/imports/a.json").unlink()
    assert counts(run(desk, "beads", path, graph_id="a")) == {"unchanged": 1}


# --- what may be read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", ["beads", "taskmaster", "backlog"])
def test_what_is_not_there_is_refused(desk: Desk, system: str) -> None:
    for name in ("gone", "empty/x"):
        beside(desk, name)
        error = refused(desk, system, str(beside(desk, name.removesuffix("/x"))))
        assert (type(error), error.details["field"]) == (InvalidInput, "path")
    assert type(refused(desk, system, "a\0b")) is InvalidInput


@pytest.mark.parametrize("system", ["beads", "taskmaster"])
def test_a_pipe_is_refused_and_waits_for_nobody(desk: Desk, system: str) -> None:
    pipe = beside(desk, "pipe/issues.jsonl")
    os.mkfifo(pipe)
    assert "but a pipe" in refused(desk, system, str(pipe)).message


def test_a_pipe_among_the_pages_is_refused(desk: Desk) -> None:
    path = put_pages(desk, {})
    os.mkfifo(beside(desk, "shop/backlog/tasks/task-1.md"))
    assert "but a pipe" in refused(desk, "backlog", path).message


def test_links_are_followed_only_within_the_list(desk: Desk) -> None:
    secret = beside(desk, "secret.md")
    secret.write_text("---\nid: TASK-9\ntitle: secret\n---\n")
    path = put_pages(desk, {"tasks/task-1.md": "---\nid: TASK-1\n---\n"})
    link = beside(desk, "shop/backlog/tasks/task-9.md")
    link.symlink_to(secret)
    assert "is a link that leads out of the list" in refused(desk, "backlog", path).message
    link.unlink()
    other = beside(desk, "elsewhere")
    other.symlink_to(path)
    assert counts(run(desk, "backlog", str(other))) == {"created": 1}


def test_a_list_that_is_too_large_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagit_mcp.adapters.list_sources.READ_LIMIT", 40)
    path = put_pages(desk, {f"tasks/{name}.md": f"---\nid: TASK-{name}\n---\n" for name in (1, 2, 3)})
    assert "is larger than" in refused(desk, "backlog", path).message
    monkeypatch.setattr("metagit_mcp.adapters.list_sources._MOST_PAGES", 2)
    assert refused(desk, "backlog", path).message == "path: there are more than 2 pages"


def test_the_list_itself_is_never_written(desk: Desk) -> None:
    put_issues(desk, issue("a-1"))
    put_tasks(desk, {"b": {"tasks": [task(1)]}})
    put_pages(desk, {"tasks/task-1.md": "---\nid: TASK-1\n---\n"})
    project = beside(desk, "shop")
    before = contents(project)
    for system in ("beads", "taskmaster", "backlog"):
        run(desk, system, str(project))
    assert contents(project) == before
