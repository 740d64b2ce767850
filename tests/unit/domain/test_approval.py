"""What a person's approval is bound to: nothing it vouched for can change unnoticed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.domain.approval import approval_digest, is_approved, needs_approval
from metagit_mcp.domain.limits import GatePolicy
from tests.snapshots import approval_of, task

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import TaskNode

NODE = task("a", "b", "c", title="Drop the table", repository="p/a", risk="destructive")


def test_the_digest_is_the_same_in_every_process() -> None:
    text = b"14:Drop the table,3:p/a,11:destructive,1:b,1:c,"
    assert approval_digest(NODE) == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        task("a", "b", "c", title="Drop the tables", repository="p/a", risk="destructive"),
        task("a", "b", title="Drop the table", repository="p/a", risk="destructive"),
        task("a", "c", "b", title="Drop the table", repository="p/a", risk="destructive"),
        task("a", "b", "c", title="Drop the table", repository="p/b", risk="destructive"),
        task("a", "b", "c", title="Drop the table", repository="a", project="q", risk="destructive"),
        task("a", "b", "c", title="Drop the table", repository="p/a", risk="high_risk"),
        task("a", "b", "c", title="Drop the table", repository="p/a"),
        task("a", "b", "c", title="Drop the table", risk="destructive"),
    ],
)
def test_a_change_of_what_was_approved_asks_again(other: TaskNode) -> None:
    assert approval_digest(other) != approval_digest(NODE)
    assert not is_approved(other, [approval_of(NODE)], 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (task("a", "b", title="t"), task("a", title="t\x00b")),
        (task("a", "b,1:c", title="t"), task("a", "b", "c", title="t")),
        (task("a", "b", "", title="t"), task("a", "b", title="t", repository="")),
        (task("a", title="t", repository="r\x00high_risk"), task("a", title="t", repository="r", risk="high_risk")),
        (task("a", "4:high_risk", title="t"), task("a", title="t", risk="high_risk")),
    ],
)
def test_no_text_moves_from_one_part_into_the_next(one: TaskNode, other: TaskNode) -> None:
    assert approval_digest(one) != approval_digest(other)


def test_another_spelling_of_the_repository_does_not_ask_again() -> None:
    later = task("a", "b", "c", title="Drop the table", repository="A.git", project="P", risk="destructive")
    assert approval_digest(later) == approval_digest(NODE)


def test_what_was_not_approved_may_change() -> None:
    later = task(
        "a", "b", "c", title="Drop the table", repository="p/a", risk="destructive", priority=9, status="ready", slots=2
    )
    assert is_approved(later, [approval_of(task("a")), approval_of(NODE)], 1)


def test_half_a_character_in_a_title_has_a_digest() -> None:
    assert len(approval_digest(task("a", title="\ud800"))) == 64


@pytest.mark.parametrize(
    ("fields", "needed"),
    [
        ({}, False),
        ({"approval": "not_required"}, False),
        ({"approval": "policy_required"}, False),
        ({"approval": "policy_required", "risk": "high_risk"}, True),
        ({"approval": "human_required"}, True),
        ({"approval": "not_required", "risk": "destructive"}, True),
        ({"risk": "high_risk"}, True),
        ({"risk": "external"}, False),
        ({"risk": "none"}, False),
    ],
)
def test_who_must_be_asked(fields: dict[str, str], *, needed: bool) -> None:
    assert needs_approval(task("a", **fields), GatePolicy()) is needed


def test_the_owner_decides_which_risks_ask() -> None:
    gates = GatePolicy(approval_required_for=("external",))
    assert [needs_approval(task("a", risk=risk), gates) for risk in ("external", "destructive")] == [True, False]


def test_nothing_is_approved_by_nobody() -> None:
    assert not is_approved(NODE, [], 1)
