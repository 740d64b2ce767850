"""A workload file is read strictly, with a field and what is valid there; an answer is the outcome in decimals."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.errors import InvalidInput
from metagit_mcp.scheduling.simulation.bounds import Bound
from metagit_mcp.scheduling.simulation.course import Course
from metagit_mcp.scheduling.simulation.outcome import Deadlines, GroupOutcome, Outcome, Quantiles, Turn
from metagit_mcp.scheduling.simulation.workload import Arrivals, SimulatedGroup, Workload
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.schemas import schema_of
from metagit_mcp.wire.simulation import read_workload, simulation_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = "metagit-mcp schemas export FOLDER writes workload.schema.json, which says what is valid."
ONE: dict[str, Any] = {"graph_id": "a", "arrivals": [{}]}


def refused(record: object) -> tuple[str, str, str]:
    """Field, message and hint of what is wrong with a record."""
    text = record if isinstance(record, str) else json.dumps(record)
    with pytest.raises(InvalidInput) as caught:
        read_workload(text)
    return str(caught.value.details["field"]), caught.value.message, caught.value.hint


# --- what comes in -------------------------------------------------------------------------------------------------


def test_the_smallest_workload() -> None:
    expected = Workload(groups=(SimulatedGroup(graph_id="a", arrivals=(Arrivals(),)),))
    assert read_workload(json.dumps({"$schema": "workload.schema.json", "groups": [ONE]})) == expected


def test_every_field_of_a_workload() -> None:
    arrivals = {
        "nodes": 2,
        "at_seconds": 3,
        "every_seconds": 4,
        "runtime_seconds": 5,
        "estimated_tokens": 6,
        "tokens": 7,
        "spread_percent": 8,
        "priority": -9,
        "slots": 10,
        "due_seconds": -11,
        "requested_urgency": "high",
    }
    group = {"graph_id": "b", "class": "critical", "weight": 3, "quota": 2, "arrivals": [arrivals]}
    policy = {"slots": 5, "groups": {"b": {"review": True}}, "weights": {"cost": 1.5}}
    record = {"title": "T", "agents": 2, "duration_seconds": 60, "policy": policy, "groups": [group]}
    made = read_workload(json.dumps(record))
    named: dict[str, Any] = arrivals
    assert made == Workload(
        title="T",
        agents=2,
        duration_seconds=60,
        policy=SchedulePolicy(
            slots=5, groups={"b": GroupPolicy(review=True)}, weights=replace(SchedulePolicy().weights, cost=1.5)
        ),
        groups=(
            SimulatedGroup(graph_id="b", priority_class="critical", weight=3, quota=2, arrivals=(Arrivals(**named),)),
        ),
    )


@pytest.mark.parametrize(
    ("record", "field", "rule"),
    [
        ([], "workload", "should be one JSON object"),
        ({}, "groups", "is required"),
        ({"groups": []}, "groups", "should have at least 1 item after validation, not 0"),
        ({"groups": {}}, "groups", "should be a list"),
        ({"groups": [3]}, "groups/0", "should be an object"),
        ({"groups": [{"graph_id": "a"}]}, "groups/0/arrivals", "is required"),
        (
            {"groups": [ONE | {"graph_id": "a b"}]},
            "groups/0/graph_id",
            "must be letters, digits and '_', '.', '-' only",
        ),
        ({"groups": [ONE | {"graph_id": ".."}]}, "groups/0/graph_id", "is no id that a file could have"),
        ({"groups": [ONE, ONE]}, "groups/1/graph_id", "a is there twice"),
        ({"groups": [ONE | {"class": "urgent"}]}, "groups/0/class", "should be 'critical', 'high', 'normal' or 'low'"),
        ({"groups": [ONE | {"weight": 17}]}, "groups/0/weight", "should be less than or equal to 16"),
        ({"groups": [ONE], "agents": 0}, "agents", "should be greater than or equal to 1"),
        ({"groups": [ONE], "agents": "2"}, "agents", "should be a valid integer"),
        (
            {"groups": [{"graph_id": "a", "arrivals": [{}, {"runtime_seconds": 0}]}]},
            "groups/0/arrivals/1/runtime_seconds",
            "should be greater than or equal to 1",
        ),
        (
            {"groups": [{"graph_id": "a", "arrivals": [{"nodes": 100_000, "every_seconds": 100_000}]}]},
            "groups/0/arrivals/0/every_seconds",
            "the last node comes after 1000000000 seconds",
        ),
        (
            {"groups": [{"graph_id": "a", "arrivals": [{"nodes": 100_000}, {}]}]},
            "groups",
            "should have at most 100000 nodes in all, has 100001",
        ),
        ({"groups": [ONE], "policy": {"slots": 0}}, "policy/slots", "should be greater than or equal to 1"),
    ],
)
def test_a_bad_workload_is_refused_by_its_field(record: object, field: str, rule: str) -> None:
    assert refused(record) == (field, f"{field}: {rule}", SCHEMA)


def test_text_that_is_no_json() -> None:
    assert refused("{") == (
        "workload",
        "workload is not valid JSON: EOF while parsing an object at line 1 column 1",
        SCHEMA,
    )


_ARRIVALS = (
    "nodes, at_seconds, every_seconds, runtime_seconds, estimated_tokens, tokens, spread_percent, priority, slots, "
    "due_seconds, requested_urgency"
)


@pytest.mark.parametrize(
    ("record", "field", "hint"),
    [
        ({"group": [ONE]}, "group", "Did you mean groups? Known: groups, title, agents, duration_seconds, policy."),
        (
            {"groups": [ONE | {"clas": "low"}]},
            "groups/0/clas",
            "Did you mean class? Known: graph_id, arrivals, class, weight, quota.",
        ),
        (
            {"groups": [{"graph_id": "a", "arrivals": [{"runtime": 3}]}]},
            "groups/0/arrivals/0/runtime",
            f"Did you mean runtime_seconds? Known: {_ARRIVALS}.",
        ),
        (
            {"groups": [ONE], "policy": {"groups": {"a": {"prio": 1}}}},
            "policy/groups/a/prio",
            "Known: class, weight, quota, review, budget, context_refs, credential_refs.",
        ),
    ],
)
def test_an_unknown_field_is_refused_with_the_known_ones(record: object, field: str, hint: str) -> None:
    assert refused(record) == (field, f"{field}: unknown field", hint)


# --- what goes out -------------------------------------------------------------------------------------------------


def outcome_of(**group: Any) -> Outcome:  # noqa: ANN401 - any field of a Group's outcome
    named: Mapping[str, Any] = {
        "received": 2,
        "dispatched": 6,
        "expected": Fraction(3),
        "turn": Turn(dispatches=4, cost=5, seconds=6),
        "bound": Bound(cost=Fraction(20, 3), seconds=40),
        **group,
    }
    one = GroupOutcome(
        graph_id="a",
        priority_class="high",
        weight=2,
        nodes=7,
        started=5,
        finished=4,
        paused=1,
        never_fit=1,
        cost=9,
        backlogs=1,
        wait_seconds=Quantiles(p50=1, p95=2, most=3),
        wait_dispatches=Quantiles(p50=4, p95=5, most=6),
        deadlines=Deadlines(due=3, missed=1, missed_by_edf=0, missed_by_fifo=2),
        **named,
    )
    course = Course(policy=SchedulePolicy(slots=3, ordering="score"), agents=2, jobs=(), services=(), end=90)
    return Outcome(course=course, groups=(one,), jain=Fraction(2, 3), deadlines=one.deadlines, steps=())


def answer_of(outcome: Outcome) -> dict[str, Any]:
    workload = Workload(title="T", agents=2, groups=(SimulatedGroup(graph_id="a", arrivals=(Arrivals(),)),))
    return plain(simulation_answer(workload, 8, outcome))


DEADLINES = {"due": 3, "missed": 1, "missed_by_edf": 0, "missed_by_fifo": 2}
ANSWER: dict[str, Any] = {
    "title": "T",
    "seed": 8,
    "ordering": "score",
    "agents": 2,
    "slots": 3,
    "seconds": 90,
    "nodes": 7,
    "started": 5,
    "finished": 4,
    "cost": 9,
    "jain_index": 0.6667,
    "largest_cost_ratio": 0.75,
    "largest_seconds_ratio": 0.15,
    "deadlines": DEADLINES,
    "groups": [
        {
            "graph_id": "a",
            "class": "high",
            "weight": 2,
            "nodes": 7,
            "started": 5,
            "finished": 4,
            "paused": 1,
            "never_fit": 1,
            "cost": 9,
            "share": {"received": 0.3333, "by_weight": 0.5, "ratio": 0.6667},
            "wait_seconds": {"p50": 1, "p95": 2, "most": 3},
            "wait_dispatches": {"p50": 4, "p95": 5, "most": 6},
            "turn": {
                "dispatches": 4,
                "cost": 5,
                "cost_bound": 6.6667,
                "cost_ratio": 0.75,
                "seconds": 6,
                "seconds_bound": 40,
                "seconds_ratio": 0.15,
            },
            "deadlines": DEADLINES,
        }
    ],
}


def test_the_whole_answer() -> None:
    assert answer_of(outcome_of()) == ANSWER


def test_a_group_that_nothing_was_shared_with() -> None:
    nothing = outcome_of(received=0, dispatched=0, expected=Fraction(0), bound=Bound(cost=Fraction(0), seconds=0))
    made = answer_of(replace(nothing, jain=None))
    assert "jain_index" not in made
    assert "share" not in made["groups"][0]
    assert (made["largest_cost_ratio"], made["largest_seconds_ratio"]) == (0.0, 0.0)


def test_the_published_schemas() -> None:
    workload, answer = schema_of("workload"), schema_of("simulation")
    assert workload["properties"].keys() == {"$schema", "groups", "title", "agents", "duration_seconds", "policy"}
    assert workload["required"] == ["groups"]
    assert workload["$defs"]["SimulatedGroup"]["properties"].keys() == {
        "graph_id",
        "arrivals",
        "class",
        "weight",
        "quota",
    }
    assert answer["$defs"]["SimulatedGroupAnswer"]["properties"]["class"]["enum"] == [
        "critical",
        "high",
        "normal",
        "low",
    ]
