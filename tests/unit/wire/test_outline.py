"""An outline, one task a line, as people and agents type it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.outline import OutlineItem, parse_outline

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import Risk

HINT = (
    "One task a line, two spaces = child of the line above, '(after: id)' = depends on, "
    "'(risk: destructive)' = what can go wrong."
)
NO_AFTER = "says what it comes after, but not in one '(after: id, id)' at its end"
NO_RISK = "says what can go wrong, but not in one '(risk: VALUE)' at its end"
WRONG_RISK = "has a risk that is not one of none, reversible, external, high_risk, destructive"


def item(title: str, parent: int | None = None, *after: str, risk: Risk | None = None) -> OutlineItem:
    return OutlineItem(title=title, parent=parent, after=after, risk=risk)


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
        ("task - part 2. half", item("task - part 2. half")),
        ("task (after: a)", item("task", None, "a")),
        ("task (AFTER: a, b ,, c )  ", item("task", None, "a", "b", "c")),
        ("task(after:a)", item("task", None, "a")),
        ("task (after: )", item("task")),
        ("task (afternoon)", item("task (afternoon)")),
        ("call (after lunch) again", item("call (after lunch) again")),
        ("task  with   spaces", item("task  with   spaces")),
        ("Drop table (risk: destructive)", item("Drop table", risk="destructive")),
        ("task (risk:HIGH_RISK) (after: a)", item("task", None, "a", risk="high_risk")),
        ("task (after: a)(risk: none) ", item("task", None, "a", risk="none")),
        ("task (risk of a crash)", item("task (risk of a crash)")),
        ("task (see: page 3)", item("task (see: page 3)")),
        ("task (see: page 3) (after: a)", item("task (see: page 3)", None, "a")),
        ("task (x=1)", item("task (x=1)")),
        ("task (priority) now", item("task (priority) now")),
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
        ("task (after=a)", 1, NO_AFTER),
        ("one\ntask (risk=destructive)", 2, NO_RISK),
        ("task (risk: destructive) now", 1, NO_RISK),
        ("task (risk: none) (risk: destructive)", 1, NO_RISK),
        ("task (risk: destructive) (see: page 3)", 1, NO_RISK),
        ("task (risk: high)", 1, WRONG_RISK),
        ("task (risk: )", 1, WRONG_RISK),
        ("(risk: destructive)", 1, "has no title"),
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
    ("remark", "name", "how"),
    [
        ("(priority: 5)", "priority", "metagit-mcp task update NODE --priority VALUE, or "),
        ("(Model-Tier = large)", "model_tier", "metagit-mcp task update NODE --model-tier VALUE, or "),
        ("(depends on: a) (after: b)", "depends_on", "metagit-mcp task update NODE --depends-on VALUE, or "),
        ("(node_id: b)", "node_id", ""),
    ],
)
def test_a_field_that_an_outline_cannot_set_is_no_part_of_the_title(remark: str, name: str, how: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_outline(f"one\ntwo {remark}")
    assert refused.value.as_record() == {
        "code": "INVALID_INPUT",
        "message": f"outline: line 2 says its {name} in parentheses, which an outline does not know",
        "hint": f"To set {name}: {how}give the tasks as nodes instead of an outline. At the end of a line an outline "
        "knows '(after: id, id)' and '(risk: VALUE)'.",
        "details": {"field": "outline", "line": 2},
        "retryable": False,
    }


@pytest.mark.parametrize(
    ("line", "is_task"),
    [
        ("a" + " " * 200_000 + "b", True),
        ("a (after" + " " * 200_000 + "b", True),
        ("(after " * 50_000, True),
        ("(a" + " " * 200_000 + "b", True),
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
