"""The folder of Backlog.md: its configuration, its pages, and what their ids mean."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.lists.backlog import read_backlog
from metagit_mcp.wire.lists.listed import ListFile, Place, SourceEdge
from tests.unit.wire.lists import page, record

if TYPE_CHECKING:
    from metagit_mcp.wire.lists.listed import SourceList, SourceRecord


def file(name: str, text: str) -> ListFile:
    return ListFile(name=name, raw=text.encode())


def tasks(*pages: tuple[str, ...], config: str | None = None, strict: bool = False) -> SourceList:
    """The list of pages below tasks, each given by the lines of its front matter, the id first."""
    files = [page(f"tasks/{number}.md", *fields) for number, fields in enumerate(pages, start=1)]
    files += [] if config is None else [file("config.yml", config)]
    return read_backlog(files, "shop", strict=strict)


def only(*fields: str, config: str | None = None) -> SourceRecord:
    (found,) = tasks(("id: TASK-1", *fields), config=config).records
    return found


def needs(found: SourceList) -> dict[str, list[str]]:
    return {each.record_id: [edge.target for edge in each.edges if edge.use == "depends_on"] for each in found.records}


def parents(found: SourceList) -> dict[str, list[tuple[str, str]]]:
    return {
        each.record_id: [(edge.kind, edge.target) for edge in each.edges if edge.use == "parent_id"]
        for each in found.records
    }


def problems(found: SourceList) -> list[str]:
    return [each.text for each in found.problems]


def test_a_whole_page() -> None:
    text = (
        "---\r\nid: task-0012\r\ntitle: 'Build: the login'\r\nstatus: To Do\r\nassignee:\r\n  - '@ann'\r\n"
        "created_date: '2026-01-01 10:00'\r\nupdated_date: 2026-02-01\r\ndue_date: 2026-03-01\r\nlabels: [api]\r\n"
        "dependencies: []\r\npriority: high\r\nordinal: 271000\r\nmilestone: ~\r\n---\r\n\r\n## Description\r\n"
        "- [ ] #9 not one\r\n<!-- AC:BEGIN -->\r\n- [ ] #1 A user gets in\r\n- [x] #2 Errors are shown\r\n\r\n"
        "<!-- AC:END -->\r\n- [ ] #3 not one either\r\n"
    )
    found = read_backlog([file("tasks/task-12 - Build.md", text)], "shop")
    assert (found.name, found.title, found.tag, found.problems, found.passed_over) == ("shop", "shop", "", (), {})
    assert found.records == (
        record(
            "TASK-12",
            Place(file="tasks/task-12 - Build.md"),
            title="Build: the login",
            status="To Do",
            priority=3,
            updated_at=datetime(2026, 2, 1, tzinfo=UTC),
            deadline=datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC),
            agent_id="ann",
            acceptance=("A user gets in", "Errors are shown"),
        ),
    )


def test_every_value_is_the_text_that_was_written() -> None:
    """YAML would make a boolean, a date, a number in base 60, an octal number of them."""
    for written in ("no", "2026-12-01", "12:30:45", "0o17", "1_000", "null and void", "yes", "1e3"):
        assert only(f"title: {written}").title == written


@pytest.mark.parametrize("nothing", ["", "~", "null", '""', "[]"])
def test_a_field_without_a_value_is_not_there(nothing: str) -> None:
    assert only(f"priority: {nothing}", f"due_date: {nothing}", f"title: {nothing}") == only()


def test_a_quoted_null_is_a_text() -> None:
    assert only('title: "null"').title == "null"


@pytest.mark.parametrize(
    ("status", "standing"),
    [
        ("To Do", "open"),
        ("To do", "open"),
        ("In Progress", "taken"),
        ("in-progress", "taken"),
        ("Done", "done"),
        ('"Done"', "done"),
        ("'\"Done\"'", "done"),
    ],
)
def test_statuses_of_the_default_configuration(status: str, standing: str) -> None:
    found = tasks(("id: TASK-1", f"status: {status}"))
    assert [(each.standing, each.why_held) for each in found.records] == [(standing, "")]
    assert problems(found) == []


def test_a_status_that_is_not_configured_is_not_ready_and_told() -> None:
    found = tasks(("id: TASK-1", "status: Won't Do"))
    assert (found.records[0].standing, found.records[0].why_held) == ("held", "status Won't Do in Backlog.md")
    assert problems(found) == [
        "tasks/1.md, line 3: status: is not one of the configuration: the task is not ready",
    ]


def test_the_first_status_may_be_started_the_last_one_is_done() -> None:
    config = "project_name: Web shop\nstatuses: [Idea, Ready, Doing, Review, Shipped]\n"
    rows = [
        (f"id: TASK-{n}", f"status: {each}") for n, each in enumerate(["idea", "ready", "doing", "review", "SHIPPED"])
    ]
    found = tasks(*rows, ("id: TASK-9",), config=config)
    assert found.name == "Web shop"
    assert [each.standing for each in found.records] == ["open", "open", "taken", "held", "done", "open"]
    assert problems(found) == []


def test_what_lies_in_completed_is_done_and_what_is_archived_or_a_draft_is_aside() -> None:
    found = read_backlog(
        [
            page("completed/1.md", "id: TASK-1", "status: To Do"),
            page("archive/tasks/2.md", "id: TASK-2", "status: To Do"),
            page("archive/tasks/3.md", "id: TASK-3", "status: Done"),
            page("drafts/4.md", "id: DRAFT-4", "status: Draft"),
            page("archive/drafts/5.md", "id: DRAFT-5"),
            page("docs/6.md", "id: DOC-6"),
            file("readme.md", "# no task"),
            file("tasks/7.md", "# no task"),
        ],
        "shop",
    )
    assert [(each.record_id, each.standing, each.aside) for each in found.records] == [
        ("TASK-1", "done", ""),
        ("TASK-2", "cancelled", "archived"),
        ("TASK-3", "done", "archived"),
        ("DRAFT-4", "held", "draft"),
        ("DRAFT-5", "open", "archived draft"),
    ]
    assert found.passed_over == {"page without front matter": 1}


@pytest.mark.parametrize(
    ("config", "written", "value"),
    [
        (None, "high", 3),
        (None, "Low", 1),
        (None, None, 2),
        ("priorities: [p0, p1, p2, p3]", "p0", 4),
        ("priorities: [p0, p1, p2, p3]", None, 2),
        ("priorities: [urgent, high, medium, low]", None, 2),
        ("priorities: now", "now", 1),
    ],
)
def test_priorities_stand_in_the_order_of_the_configuration(
    config: str | None, written: str | None, value: int
) -> None:
    fields = () if written is None else (f"priority: {written}",)
    assert only(*fields, config=config).priority == value


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ("priority: urgent", "priority: is not one of the configuration: 2 is taken"),
        ("priority: [high]", "priority: is not one of the configuration: 2 is taken"),
        ("due_date: soon", "due_date: should be a day or an instant"),
        ("due_date: {a: b}", "due_date: should be a day or an instant"),
        ("ordinal: first", "ordinal: should be a number"),
        ("ordinal: .inf", "ordinal: should be a number"),
        ("ordinal: inf", "ordinal: should be a number"),
        ("ordinal: [1]", "ordinal: should be a number"),
        ("dependencies: {a: b}", "dependencies: cannot be read: the task is not ready"),
        ("dependencies: [[a]]", "dependencies: cannot be read: the task is not ready"),
        ("parent_task_id: {a: b}", "parent_task_id: cannot be read: the task is not ready"),
    ],
)
def test_a_field_that_cannot_be_read_is_named_with_its_line(field: str, rule: str) -> None:
    found = tasks(("id: TASK-1", field))
    assert problems(found) == [f"tasks/1.md, line 3: {rule}"]
    held = field.startswith(("dependencies", "parent"))
    assert found.records[0].why_held == (f"{field.partition(':')[0]}: cannot be read" if held else "")


def test_tasks_stand_in_their_manual_order() -> None:
    ordinals = ("3000", "-1", "2500.5", None, "9e12", "x", "2500.5")
    found = tasks(*((f"id: T-{n}", f"ordinal: {each}" if each else "") for n, each in enumerate(ordinals)))
    assert [each.record_id for each in found.records] == ["T-1", "T-2", "T-6", "T-0", "T-4", "T-3", "T-5"]


def test_a_due_date_may_be_an_instant() -> None:
    assert only("due_date: 2026-03-01T10:00:00+02:00").deadline == datetime(2026, 3, 1, 8, tzinfo=UTC)


def test_ids_are_compared_without_case_and_zeros() -> None:
    found = tasks(("id: task-007",), ("id: TASK-8", "dependencies: [Task-7, TASK-0007]"), ("id: 12",))
    assert needs(found) == {"TASK-7": [], "TASK-8": ["TASK-7", "TASK-7"], "12": []}


@pytest.mark.parametrize("written", ["", "id:", "id: login", "id: TASK-", "id: TASK-1.x", "id: [TASK-1]", "id: TÄSK-1"])
def test_a_page_without_an_id_is_told(written: str) -> None:
    found = tasks((written, "title: x"))
    assert (found.records, found.passed_over) == ((), {"unusable id": 1})
    assert problems(found)[0].endswith("id: must be a prefix and a number, as TASK-12")


def test_a_dependency_with_another_prefix_is_found_by_its_number_unless_strict() -> None:
    pages = (("id: BACK-216", "dependencies:", "  - task-213"), ("id: BACK-213", "status: Done"))
    found = tasks(*pages)
    assert needs(found) == {"BACK-216": ["BACK-213"], "BACK-213": []}
    assert problems(found) == [
        "tasks/1.md, line 3: dependencies: prefix_mismatch: TASK-213 is taken for BACK-213",
    ]
    strict = tasks(*pages, strict=True)
    assert (needs(strict)["BACK-216"], problems(strict)) == (["TASK-213"], [])


def test_a_list_may_be_one_text_with_commas() -> None:
    found = tasks(("id: A-1",), ("id: A-2",), ("id: A-3", "dependencies: A-1, a-02"), config="project_name: Web, shop")
    assert (needs(found)["A-3"], found.name) == (["A-1", "A-2"], "Web, shop")


def test_a_number_that_several_have_means_none_of_them() -> None:
    found = tasks(("id: A-1",), ("id: B-1",), ("id: A-2", "dependencies: [C-1, '1', something]"))
    assert needs(found)["A-2"] == ["C-1", "1", "something"]
    assert problems(found) == []


def test_where_a_parent_stands() -> None:
    found = tasks(
        ("id: TASK-1", "subtasks: [TASK-2, TASK-3, OLD-1.1, other]"),
        ("id: TASK-1.1",),
        ("id: TASK-2",),
        ("id: TASK-3", "parent_task_id: TASK-9"),
        ("id: TASK-4.1",),
        ("id: TASK-5", "parent_task_id: [TASK-1]"),
    )
    assert parents(found) == {
        "TASK-1": [],
        "TASK-1.1": [("dotted id", "TASK-1")],
        "TASK-2": [("listed as sub-task", "TASK-1")],
        "TASK-3": [("parent_task_id", "TASK-9")],
        "TASK-4.1": [],
        "TASK-5": [("parent_task_id", "TASK-1")],
    }
    told = [each for each in found.records[0].edges if each.kind == "subtasks"]
    whys = dict.fromkeys(("TASK-2", "TASK-3", "TASK-1.1"), "the sub-task says it itself")
    whys["other"] = "there is no such task"
    assert told == [SourceEdge(kind="subtasks", target=name, use="none", why=why) for name, why in whys.items()]


def test_a_task_has_one_parent_and_is_held_for_a_second_one() -> None:
    found = tasks(
        ("id: TASK-1", "subtasks: [TASK-3, TASK-3]"),
        ("id: TASK-2", "subtasks: [TASK-3]"),
        ("id: TASK-3",),
        ("id: TASK-4", "parent_task_id: [TASK-1, task-01, TASK-2]"),
    )
    for record_id, kind in (("TASK-3", "listed as sub-task"), ("TASK-4", "parent_task_id")):
        one = next(each for each in found.records if each.record_id == record_id)
        assert one.edges == (
            SourceEdge(kind=kind, target="TASK-1", use="parent_id"),
            SourceEdge(kind=kind, target="TASK-2", use="held", why="is a second parent"),
        )
        assert one.why_held == f"{kind}: is a second parent"


@pytest.mark.parametrize("status", ["[Done]", "{a: b}", "[[Done]]"])
def test_a_status_that_cannot_be_read_is_not_ready(status: str) -> None:
    found = tasks(("id: TASK-1", f"status: {status}"))
    assert [(each.standing, each.status) for each in found.records] == [("held", "(no text)")]
    assert problems(found) == ["tasks/1.md, line 3: status: is not one of the configuration: the task is not ready"]


@pytest.mark.parametrize("written", ["TASK-2, TASK-3,", '",TASK-2,, TASK-3"', "[TASK-2, ' ', TASK-3, '']"])
def test_empty_parts_of_a_list_are_nothing(written: str) -> None:
    found = tasks(("id: TASK-1", f"dependencies: {written}"), ("id: TASK-2",), ("id: TASK-3",))
    assert needs(found)["TASK-1"] == ["TASK-2", "TASK-3"]


def test_a_configuration_that_is_no_list_is_told() -> None:
    found = tasks(("id: TASK-1",), config="project_name: x\nstatuses: {a: b}\npriorities: [[a]]\n")
    assert problems(found) == [
        "config.yml, line 2: statuses: should be a list: To Do, In Progress, Done are taken",
        "config.yml, line 3: priorities: should be a list: high, medium, low are taken",
    ]


def test_a_time_that_is_none_is_told_and_the_other_one_counts() -> None:
    found = tasks(("id: TASK-1", "created_date: 2026-01-01", "updated_date: 2026-01-32"))
    assert problems(found) == ["tasks/1.md, line 4: updated_date: should be a day or an instant"]
    assert found.records[0].updated_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_one_id_in_two_folders_is_refused_with_both_files() -> None:
    pages = [page("tasks/a.md", "id: TASK-1"), page("archive/tasks/b.md", "id: task-01")]
    with pytest.raises(InvalidInput) as caught:
        read_backlog(pages, "shop")
    assert caught.value.message == "one id stands for two tasks: TASK-1 in tasks/a.md and in archive/tasks/b.md"
    assert caught.value.details["files"] == ["tasks/a.md", "archive/tasks/b.md"]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("---\nid: TASK-1\n", 1, "its front matter has no end"),
        ("---\nid: TASK-1\nid: TASK-2\n---\n", 3, "a field stands twice"),
        ("---\nid: [\n---\n", 3, "no YAML that can be read"),
        ("---\n- id\n---\n", 2, "must be a mapping of fields"),
        ("---\n" + "[" * 50_000 + "\n---\n", 2, "no YAML that can be read"),
        ("---\nid: " + "x" * 300_000 + "\n---\n", 2, "is longer than 262144 characters"),
        ("---\na: \x07\n---\n", 2, "no YAML that can be read"),
        ("---\n? [a]\n: b\n? [c]\n: d\n---\n", 4, "a field stands twice"),
        (
            "---\na: &a {status: Done}\n<<: *a\nid: TASK-1\n---\n",
            3,
            "fields are merged in (<<), which is not read",
        ),
    ],
)
def test_a_page_that_cannot_be_read_costs_only_itself(text: str, line: int, why: str) -> None:
    found = read_backlog([file("tasks/1.md", text), page("tasks/2.md", "id: TASK-2")], "shop")
    assert [each.record_id for each in found.records] == ["TASK-2"]
    assert found.passed_over == {"unreadable page": 1}
    assert problems(found) == [f"tasks/1.md, line {line}: front matter: cannot be read ({why}): the task is left out"]


def test_a_page_that_is_no_text_costs_only_itself() -> None:
    found = read_backlog([ListFile(name="tasks/1.md", raw=b"---\n\xff\n---\n")], "shop")
    told = "tasks/1.md: front matter: cannot be read (not UTF-8 at byte 4): the task is left out"
    assert problems(found) == [told]


def test_an_empty_front_matter_has_no_id() -> None:
    found = read_backlog([file("tasks/1.md", "---\n---\n")], "shop")
    assert found.passed_over == {"unusable id": 1}


@pytest.mark.parametrize("text", ["<<<<<<< ours\n---\nid: TASK-1\n---\n", "---\nid: TASK-1\n>>>>>>> theirs\n---\n"])
def test_a_page_in_the_middle_of_a_merge_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="holds a conflict marker"):
        read_backlog([file("tasks/1.md", text)], "shop")


def test_an_underlined_heading_is_no_conflict() -> None:
    body = "Heading\n=======\n"
    assert len(read_backlog([page("tasks/1.md", "id: TASK-1", body=body)], "shop").records) == 1


def test_a_configuration_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^config\.yml, line 2: no YAML that can be read$"):
        tasks(("id: TASK-1",), config="statuses: [")
    with pytest.raises(InvalidInput, match=r"^config\.yml: not UTF-8 at byte 0$"):
        read_backlog([ListFile(name="config.yml", raw=b"\xff")], "shop")


def test_a_configuration_that_says_nothing_is_the_default() -> None:
    assert only(config="").standing == only(config="statuses: []\nstatus: {}\n").standing == "open"
