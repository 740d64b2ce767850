"""What counts of a node's estimates, and when a block is a failure for good."""

from __future__ import annotations

import dataclasses

import pytest

from metagit_mcp.domain.decision import DispatchHints, Factor, Handoff, LoggedDecision, ScheduleDecision, SchedulerEvent
from metagit_mcp.domain.tasks import (
    OWN_NODE_FIELDS,
    STATUSES,
    Acl,
    Intent,
    LoadedGraph,
    TaskGraph,
    TaskNode,
    effective_slots,
    effective_tokens,
    is_parked,
)
from tests.snapshots import task


@pytest.mark.parametrize(
    ("estimate", "budget", "tokens"),
    [
        (None, None, 1000),
        (0, None, 0),
        (5, 7, 5),
        (None, 7, 7),
        (-1, 7, 7),
        (-1, 0, 0),
        (-1, -1, 1000),
        (None, -5, 1000),
    ],
)
def test_the_estimate_that_counts(estimate: int | None, budget: int | None, tokens: int) -> None:
    assert effective_tokens(task("a", estimated_tokens=estimate, context_budget=budget)) == tokens


def test_a_node_takes_one_slot_unless_it_says_more() -> None:
    assert [effective_slots(task("a", slots=slots)) for slots in (None, 1, 4)] == [1, 1, 4]


@pytest.mark.parametrize(
    ("status", "reason", "parked"),
    [
        ("blocked", "failed: twice", True),
        ("blocked", "  failed: twice", True),
        ("blocked", "failed twice", False),
        ("blocked", "it failed: twice", False),
        ("blocked", "", False),
        ("blocked", None, False),
        ("pending", "failed: twice", False),
    ],
)
def test_a_block_that_is_a_failure(status: str, reason: str | None, *, parked: bool) -> None:
    assert is_parked(task("a", status=status, blocker_reason=reason)) is parked


def test_the_words_are_those_of_the_file_format() -> None:
    assert STATUSES == ("pending", "ready", "blocked", "running", "completed", "cancelled")
    known = {each.name for each in dataclasses.fields(TaskNode)}
    assert set(OWN_NODE_FIELDS) < known
    assert {
        each.name for each in dataclasses.fields(TaskNode) if each.name in OWN_NODE_FIELDS and each.default
    } == set()


SHAPES = (
    Acl,
    TaskNode,
    Intent,
    TaskGraph,
    LoadedGraph,
    Factor,
    Handoff,
    DispatchHints,
    ScheduleDecision,
    LoggedDecision,
    SchedulerEvent,
)


@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_frozen_slotted_and_named(shape: type) -> None:
    assert not hasattr(shape(**dict.fromkeys(required(shape), "x")), "__dict__")
    made = shape(**dict.fromkeys(required(shape), "x"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, dataclasses.fields(made)[0].name, "y")
    with pytest.raises(TypeError):
        shape("x")
    assert made == dataclasses.replace(made)


def required(shape: type) -> list[str]:
    missing = dataclasses.MISSING
    every = dataclasses.fields(shape)
    return [each.name for each in every if each.default is missing and each.default_factory is missing]
