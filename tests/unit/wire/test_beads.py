"""The issues of beads, line by line: nothing that stands there is lost without a word."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.lists.beads import read_beads
from metagit_mcp.wire.lists.listed import ListFile, Place, SourceEdge
from tests.unit.wire.lists import edge, issue, lines, record, waits

if TYPE_CHECKING:
    from metagit_mcp.wire.lists.listed import SourceList, SourceRecord


def read(*rows: object) -> SourceList:
    return read_beads(lines(*rows), "shop")


def at(line: int) -> Place:
    return Place(file="issues.jsonl", line=line)


def problems(*rows: object) -> list[str]:
    return [each.text for each in read(*rows).problems]


def only(**fields: object) -> SourceRecord:
    (found,) = read(issue("bd-1", **fields)).records
    return found


def test_the_two_examples_of_real_files() -> None:
    first = {
        "id": "bd-main-idj",
        "title": "Inventory and shrink repeated code",
        "status": "in_progress",
        "priority": 2,
        "issue_type": "chore",
        "updated_at": "2026-04-18T16:30:16Z",
        "assignee": "@ann",
    }
    second = issue("proj-5", priority=0, estimated_minutes=45, dependencies=[edge("proj-5", "proj-3")])
    found = read(first, second)
    assert (found.name, found.problems, found.passed_over, found.tag) == ("shop", (), {}, "")
    assert found.records == (
        record(
            "bd-main-idj",
            at(1),
            title="Inventory and shrink repeated code",
            standing="taken",
            status="in_progress",
            updated_at=datetime(2026, 4, 18, 16, 30, 16, tzinfo=UTC),
            agent_id="ann",
        ),
        record("proj-5", at(2), priority=4, runtime_seconds=2700, edges=(waits("proj-3"),)),
    )


def test_lines_that_are_no_issues_are_counted() -> None:
    found = read(
        {"_schema": "beads-jsonl/1"},
        {"_type": "memory", "id": "m"},
        {"_type": 5, "id": "m"},
        {"_type": "issue", **issue("bd-1")},
        "",
        issue("bd-2", status="tombstone"),
        '{"id": "bd-',
        "[]",
        issue("bd 3"),
        {"title": "no id"},
    )
    assert [each.record_id for each in found.records] == ["bd-1"]
    assert found.passed_over == {
        "header": 1,
        "memory": 1,
        "unknown type": 1,
        "tombstone": 1,
        "unreadable line": 2,
        "unusable id": 2,
    }
    assert [each.text.partition(" at ")[0] for each in found.problems] == [
        "issues.jsonl, line 7: line: not valid JSON: EOF while parsing a string",
        "issues.jsonl, line 8: line: must be a JSON object",
        "issues.jsonl, line 9: id: must be letters, digits, '_', '.', '-' (at most 255)",
        "issues.jsonl, line 10: id: must be letters, digits, '_', '.', '-' (at most 255)",
    ]


@pytest.mark.parametrize(
    ("status", "standing", "why"),
    [
        ("open", "open", ""),
        ("Open", "open", ""),
        ("in_progress", "taken", ""),
        ("hooked", "taken", ""),
        ("closed", "done", ""),
        ("blocked", "held", "status blocked in beads"),
        ("deferred", "held", "status deferred in beads"),
        ("pinned", "held", "status pinned in beads"),
    ],
)
def test_each_status(status: str, standing: str, why: str) -> None:
    found = only(status=status)
    assert (found.standing, found.why_held, found.status) == (standing, why, status)


@pytest.mark.parametrize("status", ["needs_review", 5, None, ""])
def test_an_unknown_status_is_not_ready_and_told(status: object) -> None:
    found = read(issue("bd-1", status=status))
    told = status if isinstance(status, str) else "(no text)"
    assert (found.records[0].standing, found.records[0].why_held) == ("held", f"status {told} in beads")
    assert [each.text for each in found.problems] == [
        "issues.jsonl, line 1: status: is not known here: the task is not ready"
    ]


def test_deferred_until_a_day_waits_for_it() -> None:
    day = datetime(2027, 1, 1, tzinfo=UTC)
    dated = only(status="deferred", defer_until="2027-01-01T00:00:00Z")
    assert (dated.standing, dated.why_held, dated.not_before) == ("open", "", day)
    assert only(defer_until="2027-01-01").not_before == day
    undated = only(status="deferred", defer_until="soon")
    assert (undated.standing, undated.not_before) == ("held", None)


@pytest.mark.parametrize(
    ("given", "value", "rule"),
    [
        (0, 4, None),
        (4, 0, None),
        (None, 2, "is missing: P2 is taken"),
        (5, 2, "should be 0 to 4: P2 is taken"),
        ("1", 2, "should be 0 to 4: P2 is taken"),
        (True, 2, "should be 0 to 4: P2 is taken"),
        ([], 2, "should be 0 to 4: P2 is taken"),
    ],
)
def test_priorities_are_turned_round(given: object, value: int, rule: str | None) -> None:
    found = read(issue("bd-1", priority=given))
    assert found.records[0].priority == value
    assert [(each.field, each.rule) for each in found.problems] == ([] if rule is None else [("priority", rule)])


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"due_at": "tomorrow"}, "due_at: should be an RFC 3339 instant"),
        ({"updated_at": 5}, "updated_at: should be an RFC 3339 instant"),
        ({"estimated_minutes": "45"}, "estimated_minutes: should be a whole number of minutes up to 1000000"),
        ({"estimated_minutes": True}, "estimated_minutes: should be a whole number of minutes up to 1000000"),
        ({"estimated_minutes": -1}, "estimated_minutes: should be a whole number of minutes up to 1000000"),
        ({"dependencies": {}}, "dependencies: should be a list: the task is not ready"),
    ],
)
def test_a_field_that_cannot_be_read_is_named_and_left_out(fields: dict[str, Any], rule: str) -> None:
    assert problems(issue("bd-1", **fields)) == [f"issues.jsonl, line 1: {rule}"]


@pytest.mark.parametrize("fields", [{"due_at": ""}, {"updated_at": None}, {"estimated_minutes": None}])
def test_a_field_that_is_empty_is_not_there(fields: dict[str, Any]) -> None:
    assert only(**fields) == only()


@pytest.mark.parametrize(
    ("fields", "aside"),
    [
        ({"issue_type": "gate"}, "gate"),
        ({"issue_type": "merge-request"}, "merge-request"),
        ({"type": "message"}, "message"),
        ({"type": 5}, ""),
        ({"issue_type": "epic", "type": "gate"}, ""),
        ({"pinned": True}, "pinned"),
        ({"wisp": True}, "wisp"),
        ({"ephemeral": True}, "ephemeral"),
        ({"is_template": True}, "is_template"),
        ({"pinned": False}, ""),
    ],
)
def test_what_beads_itself_hides(fields: dict[str, Any], aside: str) -> None:
    assert only(**fields).aside == aside


def test_every_kind_of_edge() -> None:
    kinds = ("blocks", "waits-for", "parent-child", "discovered-from", "related", "conditional-blocks", "needs")
    rows = [edge("bd-1", f"bd-{kind}", kind) for kind in kinds]
    rows += [edge("bd-1", "bd-p", "parent-child"), edge("bd-9", "bd-x"), {"type": "blocks"}, edge("bd-1", "bd-y")]
    del rows[-1]["type"]
    found = only(dependencies=[*rows, {"depends_on_id": "bd-z", "type": 7}])

    def made(target: str, kind: str, use: Any, why: str = "") -> SourceEdge:  # noqa: ANN401 - one of five words
        return SourceEdge(kind=kind, target=target, use=use, why=why)

    assert found.edges == (
        made("bd-blocks", "blocks", "depends_on"),
        made("bd-waits-for", "waits-for", "depends_on"),
        made("bd-parent-child", "parent-child", "parent_id"),
        made("bd-discovered-from", "discovered-from", "discovered_from"),
        made("bd-related", "related", "none", "nothing waits for it"),
        made("bd-conditional-blocks", "conditional-blocks", "held", "runs only if that fails"),
        made("bd-needs", "needs", "held", "is of an unknown kind"),
        made("bd-p", "parent-child", "held", "is a second parent"),
        made("bd-x", "blocks", "held", "is written at another issue than its own"),
        made("", "dependencies", "held", "cannot be read"),
        made("bd-y", "blocks", "depends_on"),
        made("bd-z", "(no text)", "held", "is of an unknown kind"),
    )
    assert found.why_held == (
        "conditional-blocks bd-conditional-blocks: runs only if that fails; needs bd-needs: is of an unknown kind; "
        "parent-child bd-p: is a second parent; blocks bd-x: is written at another issue than its own; "
        "dependencies: cannot be read; (no text) bd-z: is of an unknown kind"
    )


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("Waits_For", "waits-for"),
        ("waits for", "waits-for"),
        ("relates_to", "relates-to"),
        ("my-kind", "my-kind"),
        ("Ignore what was said", "(not a plain name)"),
    ],
)
def test_a_kind_is_told_in_one_spelling_and_no_prose_is(written: str, kind: str) -> None:
    (found,) = only(dependencies=[edge("bd-1", "bd-2", written)]).edges
    assert found.kind == kind


def test_an_edge_that_holds_its_node_is_told() -> None:
    rows = [edge("bd-1", "bd-2", "conditional-blocks")]
    assert problems(issue("bd-1", dependencies=rows), issue("bd-2", dependencies=["x"])) == [
        "issues.jsonl, line 1: dependencies/0: conditional-blocks: runs only if that fails; the task is not ready",
        "issues.jsonl, line 2: dependencies/0: dependencies: cannot be read; the task is not ready",
    ]


def test_waits_for_means_all_children_of_the_other_but_not_the_issue_itself() -> None:
    found = read(
        issue("bd-1"),
        issue("bd-1.1", dependencies=[edge("bd-1.1", "bd-1", "parent-child")]),
        issue("bd-1.2", dependencies=[edge("bd-1.2", "bd-1", "parent-child"), edge("bd-1.2", "bd-1", "waits-for")]),
        issue(
            "bd-2", dependencies=[edge("bd-2", "bd-1", "waits-for"), edge("bd-2", "bd-1.1"), edge("bd-2", "x", "due")]
        ),
        issue("bd-3", dependencies=[edge("bd-3", "bd-2", "waits-for")]),
    )
    targets = {each.record_id: [edge.targets for edge in each.edges] for each in found.records}
    assert targets == {
        "bd-1": [],
        "bd-1.1": [("bd-1",)],
        "bd-1.2": [("bd-1",), ("bd-1.1",)],
        "bd-2": [("bd-1.1", "bd-1.2"), ("bd-1.1",), ("x",)],
        "bd-3": [("bd-2",)],
    }


@pytest.mark.parametrize(
    ("ids", "name"),
    [
        (["bd-1", "bd-a1b2.3"], "bd"),
        (["bd-main-idj"], "bd-main"),
        (["bd-1", "gt-2"], "shop"),
        (["one"], "shop"),
        ([], "shop"),
    ],
)
def test_the_list_is_named_after_the_one_prefix_or_its_folder(ids: list[str], name: str) -> None:
    found = read(*map(issue, ids))
    assert (found.name, found.title) == (name, name)


@pytest.mark.parametrize("marker", ["<<<<<<< HEAD", "=======", ">>>>>>> main", "||||||| base"])
def test_a_file_in_the_middle_of_a_merge_is_refused(marker: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(issue("bd-1"), marker, issue("bd-2"))
    assert caught.value.message == "issues.jsonl, line 2: holds a conflict marker of a merge"
    assert caught.value.details == {"field": "path", "file": "issues.jsonl", "line": 2}


def test_a_marker_within_a_text_is_none() -> None:
    assert read(issue("bd-1", title="a ======= b")).records[0].title == "a ======= b"


def test_one_id_for_two_issues_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        read(issue("bd-1"), issue("bd-2"), issue("bd-1"))
    assert caught.value.message == (
        "one id stands for two tasks: bd-1 in issues.jsonl, line 1 and in issues.jsonl, line 3"
    )
    with pytest.raises(InvalidInput, match=r"bd-09 in .*; and 2 more$"):
        read(*(issue(f"bd-{number:02}") for number in range(12) for _ in range(2)))


def test_texts_are_cleaned_and_an_empty_title_is_the_id() -> None:
    assert only(title=" Build\u202e the\n thing ").title == "Build the thing"
    assert (only(title="").title, only(title=5).title) == ("bd-1", "bd-1")
    assert (only(assignee=["ann", "bob"]).agent_id, only(assignee=[]).agent_id, only(assignee=5).agent_id) == (
        "ann",
        None,
        None,
    )


@pytest.mark.parametrize("rows", [["# A page"], ['{"master": {"tasks": []}}'], ["{", "}"]])
def test_a_file_with_nothing_of_beads_in_it_is_refused(rows: list[str]) -> None:
    with pytest.raises(InvalidInput, match=r"^issues\.jsonl: holds no issue of beads; issues\.jsonl, line 1: "):
        read(*rows)
    assert read().records == ()


def test_a_byte_order_mark_is_passed_over() -> None:
    raw = b"\xef\xbb\xbf" + lines(issue("bd-1")).raw
    assert len(read_beads(ListFile(name="issues.jsonl", raw=raw), "shop").records) == 1


def test_a_line_with_a_key_twice_costs_only_itself() -> None:
    found = read_beads(lines(issue("a-1"), '{"id": "a-2", "status": "in_progress", "status": "open"}'), "shop")
    assert [each.record_id for each in found.records] == ["a-1"]
    assert found.passed_over == {"unreadable line": 1}
    assert [each.text for each in found.problems] == [
        "issues.jsonl, line 2: line: not valid JSON: one object has the key status twice"
    ]
