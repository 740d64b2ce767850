"""The tasks.json of Task Master: tags, ids of both types, sub-tasks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.lists.listed import ListFile, Place, SourceEdge
from metagit_mcp.wire.lists.taskmaster import read_taskmaster
from tests.unit.wire.lists import record, tags, task, tasks_json, waits

if TYPE_CHECKING:
    from metagit_mcp.wire.lists.listed import SourceList, SourceRecord


def read(*tasks: Any) -> SourceList:  # noqa: ANN401 - any JSON may stand there
    (found,) = read_taskmaster(tags(master=list(tasks)))
    return found


def by_id(found: SourceList) -> dict[str, SourceRecord]:
    return {each.record_id: each for each in found.records}


def needs(found: SourceList) -> dict[str, list[str]]:
    return {each.record_id: [edge.target for edge in each.edges if edge.use == "depends_on"] for each in found.records}


def problems(*tasks: Any) -> list[str]:  # noqa: ANN401 - as above
    return [each.text for each in read(*tasks).problems]


def below(target: str) -> SourceEdge:
    return SourceEdge(kind="subtasks", target=target, use="parent_id")


def test_the_two_examples_of_real_files() -> None:
    first = task(
        104,
        title="Scope commands",
        status="done",
        priority="high",
        dependencies=[3, "11"],
        subtasks=[{"id": 1, "title": "CLI", "status": "done"}, {"id": 2, "status": "done", "dependencies": ["104.1"]}],
    )
    second = task("18", priority="low", complexity=2, dependencies=["13"], subtasks=[task(1, parentId="undefined")])
    document = {
        "master": {"tasks": [first], "metadata": {"created": "2025-06-13T23:52:56Z"}},
        "loop": {"tasks": [second], "metadata": {"version": "1.0.0", "lastModified": "2026-01-01T00:00:00Z"}},
        "notes": "not a tag",
        "bare": {"metadata": {}},
    }
    master, loop = read_taskmaster(tasks_json(document))

    def at(path: str) -> Place:
        return Place(file="tasks.json", path=path)

    done: dict[str, Any] = {"standing": "done", "status": "done", "priority": 3}
    needed = (waits("3", "dependencies"), waits("11", "dependencies"))
    assert (master.name, master.title, master.tag, master.as_of) == ("master", "master", "master", None)
    assert master.records == (
        record("104", at("master/tasks/0"), title="Scope commands", edges=needed, **done),
        record("104.1", at("master/tasks/0/subtasks/0"), title="CLI", edges=(below("104"),), **done),
        record(
            "104.2",
            at("master/tasks/0/subtasks/1"),
            edges=(below("104"), waits("104.1", "dependencies")),
            **done,
        ),
    )
    assert (loop.name, loop.as_of, loop.problems) == ("loop", datetime(2026, 1, 1, tzinfo=UTC), ())
    assert [(each.record_id, each.priority) for each in loop.records] == [("18", 1), ("18.1", 1)]


def test_the_older_form_is_the_tag_master() -> None:
    (found,) = read_taskmaster(tasks_json({"tasks": [task(1)], "metadata": {"updated": "2026-01-02T00:00:00Z"}}))
    assert (found.tag, len(found.records), found.as_of) == ("master", 1, datetime(2026, 1, 2, tzinfo=UTC))
    both = read_taskmaster(tasks_json({"tasks": [task(1)], "next": {"tasks": [task(2)]}}))
    assert [each.tag for each in both] == ["master", "next"]


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ({}, "tasks.json: holds no list of tasks"),
        ({"master": 5}, "tasks.json: holds no list of tasks"),
        ({"master": {"tasks": {}}}, "tasks.json, master: tasks: must be a list"),
        ({"tasks": [], "master": {"tasks": []}}, "tasks.json: holds tasks of the tag master in two places"),
        ([], "tasks.json: must hold one JSON object"),
    ],
)
def test_what_is_no_list_is_refused(document: object, rule: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_taskmaster(tasks_json(document))
    assert caught.value.message == rule


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"^tasks\.json: not valid JSON: "):
        read_taskmaster(ListFile(name="tasks.json", raw=raw))


def test_a_file_in_the_middle_of_a_merge_is_refused_as_such() -> None:
    with pytest.raises(InvalidInput, match="line 2: holds a conflict marker"):
        read_taskmaster(ListFile(name="tasks.json", raw=b'{"master":\n<<<<<<< HEAD\n{}}'))


@pytest.mark.parametrize(
    ("status", "standing"),
    [
        ("pending", "open"),
        ("in-progress", "taken"),
        ("In-Progress", "taken"),
        ("in_progress", "taken"),
        ("done", "done"),
        ("completed", "done"),
        ("cancelled", "cancelled"),
    ],
)
def test_each_status(status: str, standing: str) -> None:
    (found,) = read(task(1, status=status)).records
    assert (found.standing, found.why_held) == (standing, "")


@pytest.mark.parametrize("status", ["review", "deferred", "blocked"])
def test_what_nobody_may_start_keeps_its_status(status: str) -> None:
    found = read(task(1, status=status))
    assert (found.records[0].standing, found.records[0].why_held) == ("held", f"status {status} in Task Master")
    assert found.problems == ()


@pytest.mark.parametrize("status", ["parked", 5])
def test_an_unknown_status_is_not_ready_and_told(status: object) -> None:
    found = read(task(1, status=status))
    assert found.records[0].standing == "held"
    assert problems(task(1, status=status)) == [
        "tasks.json, master/tasks/0: status: is not known here: the task is not ready"
    ]


def test_priorities_and_what_sub_tasks_inherit() -> None:
    found = read(
        task(1, priority="critical", subtasks=[task(1), task(2, priority="low")]),
        task(2),
        task(3, priority="urgent", subtasks=[task(1)]),
        task(4, priority=7),
    )
    assert {name: each.priority for name, each in by_id(found).items()} == {
        "1": 4,
        "1.1": 4,
        "1.2": 1,
        "2": 2,
        "3": 2,
        "3.1": 2,
        "4": 2,
    }
    rule = "priority: should be one of critical, high, medium, low: what stands above it counts"
    assert [each.text for each in found.problems] == [f"tasks.json, master/tasks/{n}: {rule}" for n in (2, 3)]


def test_an_id_is_the_same_as_number_and_as_text() -> None:
    found = read(task(11), task("12", dependencies=[11, "11", 11.0]), task(13, dependencies=[12, 5.2, "12.1"]))
    assert needs(found) == {"11": [], "12": ["11", "11", "11"], "13": ["12", "5.2", "12.1"]}


def test_a_short_id_in_a_sub_task_is_a_sibling_or_else_a_task_at_the_top() -> None:
    found = read(
        task(1),
        task(2, subtasks=[task(1), task(2, dependencies=[1, "11", "1.5", 99])]),
        task(11),
    )
    assert needs(found)["2.2"] == ["2.1", "11", "1.5", "99"]


def test_sub_tasks_below_sub_tasks_are_tasks_too() -> None:
    found = read(task(1, subtasks=[task(2, subtasks=[task(3, dependencies=[2])])]))
    assert needs(found) == {"1": [], "1.2": [], "1.2.3": ["2"]}


@pytest.mark.parametrize("task_id", [None, True, "", "a b", [], 1e30, 10**16])
def test_an_id_that_is_none_is_told_and_its_task_is_left_out(task_id: Any) -> None:  # noqa: ANN401 - any JSON
    found = read(task(task_id, subtasks=[task(1)]), task(2), "no task")
    assert [each.record_id for each in found.records] == ["2"]
    assert found.passed_over == {"unusable id": 2}
    rule = "id: must be letters, digits, '_', '.', '-' (at most 255); what stands below it is left out too"
    assert [each.text for each in found.problems] == [f"tasks.json, master/tasks/{n}: {rule}" for n in (0, 2)]


def test_an_edge_that_cannot_be_read_holds_its_node() -> None:
    found = read(task(1, dependencies=[None, 2]), task(2, dependencies=5), task(3, dependencies=None))
    broken = SourceEdge(kind="dependencies", target="", use="held", why="cannot be read")
    assert [each.edges for each in found.records] == [(broken, waits("2", "dependencies")), (broken,), ()]
    assert [each.why_held for each in found.records] == ["dependencies: cannot be read"] * 2 + [""]
    assert len(found.problems) == 2


def test_other_fields_that_cannot_be_read_are_told() -> None:
    found = read(task(1, updatedAt="now", subtasks={"id": 1}), task(2, updatedAt="2026-01-01T00:00:00Z"))
    assert [each.text for each in found.problems] == [
        "tasks.json, master/tasks/0: subtasks: should be a list: the task is not ready",
        "tasks.json, master/tasks/0: updatedAt: should be an RFC 3339 instant",
    ]
    assert found.records[1].updated_at == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("below", [{"id": 1}, "1", [{"id": 1}, {"title": "no id"}], [None], [{"id": "a/b"}]])
def test_a_task_with_a_sub_task_that_cannot_be_read_is_held(below: object) -> None:
    top = read(task(1, subtasks=below)).records[0]
    assert top.edges == (SourceEdge(kind="subtasks", target="", use="held", why="cannot be read"),)
    assert top.why_held == "subtasks: cannot be read"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"m": {"tasks": [{"id": 1}]}, "m": {"tasks": [{"id": 2}]}}', "m"),
        ('{"m": {"tasks": [{"id": 1}], "tasks": []}}', "tasks"),
        ('{"m": {"tasks": [{"id": 1, "status": "in-progress", "status": "pending"}]}}', "status"),
        ('{"m": {"tasks": []}, "a b": 1, "a b": 2}', "(not a plain name)"),
    ],
)
def test_a_key_that_stands_twice_is_refused(text: str, key: str) -> None:
    for raw in (text.encode(), b"\xef\xbb\xbf" + text.encode()):
        with pytest.raises(InvalidInput) as caught:
            read_taskmaster(ListFile(name="tasks.json", raw=raw))
        assert caught.value.message == f"tasks.json: not valid JSON: one object has the key {key} twice"


def test_one_id_for_two_tasks_of_a_tag_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        read(task(5), task("5"))
    assert caught.value.message == (
        "one id stands for two tasks: 5 in tasks.json, master/tasks/0 and in tasks.json, master/tasks/1"
    )
    one, two = read_taskmaster(tags(a=[task(1)], b=[task(1)]))
    assert [len(each.records) for each in (one, two)] == [1, 1]
