"""An outline, one task a line, as people and agents type it."""

from __future__ import annotations

import pytest

from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.outline import OutlineItem, parse_outline

HINT = "One task a line, two spaces = child of the line above, '(after: id)' = depends on."

NO_AFTER = "says what it comes after, but not in one '(after: id, id)' at its end"


def item(title: str, parent: int | None = None, *after: str) -> OutlineItem:
    return OutlineItem(title=title, parent=parent, after=after)


def test_children_are_two_spaces_deeper() -> None:
    text = "one\n  two\n    three\n\n  four\nfive\n  six"
    assert parse_outline(text) == (
        item("one"),
        item("two", 0),
        item("three", 1),
        item("four", 0),
        item("five"),
        item("six", 4),
    )


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("task", item("task")),
        ("- task", item("task")),
        ("* task", item("task")),
        ("+ task", item("task")),
        ("12. task", item("task")),
        ("3) task", item("task")),
        ("-task", item("-task")),
        ("- - task", item("- task")),
        ("task (after: a)", item("task", None, "a")),
        ("task (AFTER: a, b ,, c )  ", item("task", None, "a", "b", "c")),
        ("task(after:a)", item("task", None, "a")),
        ("task (after: )", item("task")),
        ("task (afternoon)", item("task (afternoon)")),
        ("call (after lunch) again", item("call (after lunch) again")),
        ("task  with   spaces", item("task  with   spaces")),
    ],
)
def test_a_line(line: str, found: OutlineItem) -> None:
    assert parse_outline(line) == (found,)


def test_nothing_is_no_task() -> None:
    assert parse_outline("") == parse_outline(" \n\n\t\n") == ()


@pytest.mark.parametrize(
    ("text", "number", "rule"),
    [
        ("  one", 1, "is indented deeper than a child of the line above"),
        ("one\n    two", 2, "is indented deeper than a child of the line above"),
        ("one\n\ttwo", 2, "must be indented with spaces"),
        ("one\n \u00a0two", 2, "must be indented with spaces"),
        ("one\n two", 2, "must be indented by two spaces a level"),
        ("one\n\n(after: a)", 3, "has no title"),
        ("- (after: a)", 1, "has no title"),
        ("one\ntwo (after one)", 2, NO_AFTER),
        ("task (after: a) more", 1, NO_AFTER),
        ("task (after: (a))", 1, NO_AFTER),
        ("task (after: a) (after: b)", 1, NO_AFTER),
        ("task (after a) (after: b)", 1, NO_AFTER),
        ("task (after: a", 1, NO_AFTER),
    ],
)
def test_a_wrong_line_is_named(text: str, number: int, rule: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_outline(text)
    assert refused.value.as_record() == {
        "code": "INVALID_INPUT",
        "message": f"outline: line {number} {rule}",
        "hint": HINT,
        "details": {"field": "outline", "line": number},
        "retryable": False,
    }


@pytest.mark.parametrize(
    ("line", "is_task"),
    [
        ("a" + " " * 200_000 + "b", True),
        ("a (after" + " " * 200_000 + "b", True),
        ("(after " * 50_000, True),
        ("a (after:" + " " * 200_000 + "b", False),
        ("(after:" * 50_000, False),
    ],
)
@pytest.mark.timeout(20)
def test_a_long_line_costs_its_length_once(line: str, *, is_task: bool) -> None:
    """A pattern whose parts can share the spaces takes minutes for these."""
    if is_task:
        assert parse_outline(line) == (item(line.strip()),)
    else:
        with pytest.raises(InvalidInput, match="says what it comes after"):
            parse_outline(line)
