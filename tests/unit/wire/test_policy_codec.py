"""policy.json: every bad one refused by field and rule, what other programs drop put back, merge patches."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from metagit_mcp.domain.limits import AgentPolicy, DisclosurePolicy, GatePolicy, PreemptionPolicy, ResourcePolicy
from metagit_mcp.domain.policy import (
    RFC_KEYS,
    AffinityPolicy,
    ClassWeights,
    GroupPolicy,
    SchedulePolicy,
    WeightOverride,
    Weights,
)
from metagit_mcp.errors import InvalidInput, PolicyInvalid
from metagit_mcp.wire.policy_codec import (
    merge_patch,
    own_part,
    parse_patch,
    policy_record,
    read_policy,
    revision_of,
    rfc_part,
    rounding_warnings,
    shown_policy,
    with_kept,
)

FILE = ".metagit/schedule/policy.json"
BY_HAND = "Mend the file by hand, or move it away: then the defaults hold."


def test_a_bad_set_is_the_callers_mistake() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_policy({"slots": 0}, InvalidInput)
    assert (refused.value.code, refused.value.details) == ("INVALID_INPUT", {"field": "slots"})


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", f"{FILE} is not valid JSON: EOF while parsing a value at line 1 column 0."),
        (b"{", f"{FILE} is not valid JSON: EOF while parsing an object at line 1 column 1."),
        (b'{"a": NaN}', f"{FILE} is not valid JSON: expected value at line 1 column 7."),
        (b'{"a": Infinity}', f"{FILE} is not valid JSON: expected value at line 1 column 7."),
        (b"\xff\xfe{\x00}\x00", f"{FILE} is not valid JSON: expected value at line 1 column 1."),
        (b'{"a": "\xff"}', f"{FILE} is not valid JSON: invalid unicode code point at line 1 column 8."),
        (b"[" * 10_000, f"{FILE} is not valid JSON: recursion limit exceeded at line 1 column 202."),
        (b"[]", f"{FILE} must hold one JSON object."),
        (b"null", f"{FILE} must hold one JSON object."),
        (b'"{}"', f"{FILE} must hold one JSON object."),
    ],
)
def test_a_text_that_is_no_object_is_refused_by_position(raw: bytes, message: str) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        policy_record(raw)
    assert (refused.value.message, refused.value.hint) == (message, BY_HAND)


def test_a_number_of_5000_digits_is_refused() -> None:
    with pytest.raises(PolicyInvalid, match="number out of range"):
        policy_record(b'{"slots": ' + b"9" * 5_000 + b"}")


FULL: dict[str, Any] = {
    "$schema": "https://example.invalid/policy.schema.json",
    "weights": {"priority": 2, "fairness": 0.5},
    "merge_queue_threshold": 5,
    "merge_pressure_penalty": 1,
    "skip_on_merge_pressure": True,
    "graph_overrides": {"g": {"priority": 3.0, "cost": None}, "задача": {}},
    "ordering": "score",
    "slots": 4,
    "classes": {"critical": 9, "low": 2},
    "groups": {"g": {"class": "critical", "weight": 16, "quota": 0}, "h": {}, "i": {"class": "low"}},
    "agents": {"team-*": {"capabilities": ["gpu"]}},
    "pass_over_limit": 0,
    "fairness_window": 10,
    "drain_limit": 0,
    "deadline_horizon_seconds": 0,
    "deadline_window": 0,
    "class_window": 4,
    "preemption": {"enabled": False, "min_quantum_seconds": 0},
    "gates": {"approval_required_for": []},
    "affinity": {"scope": "agent", "max_age_seconds": 60, "require_path": False},
    "disclosure": {"max_groups": 5, "max_cost": 40, "seconds_per_unit": 10},
}
READ = SchedulePolicy(
    weights=Weights(priority=2.0, fairness=0.5),
    merge_queue_threshold=5,
    merge_pressure_penalty=1.0,
    skip_on_merge_pressure=True,
    graph_overrides={"g": WeightOverride(priority=3.0), "задача": WeightOverride()},
    ordering="score",
    slots=4,
    classes=ClassWeights(critical=9, high=8, normal=4, low=2),
    groups={
        "g": GroupPolicy(priority_class="critical", weight=16, quota=0),
        "h": GroupPolicy(),
        "i": GroupPolicy(priority_class="low"),
    },
    agents={"team-*": AgentPolicy(capabilities=("gpu",))},
    pass_over_limit=0,
    fairness_window=10,
    drain_limit=0,
    deadline_horizon_seconds=0,
    deadline_window=0,
    class_window=4,
    preemption=PreemptionPolicy(enabled=False, min_quantum_seconds=0, max_preemptions=2),
    gates=GatePolicy(approval_required_for=()),
    affinity=AffinityPolicy(scope="agent", max_age_seconds=60, require_path=False),
    disclosure=DisclosurePolicy(max_groups=5, max_cost=40, seconds_per_unit=10),
)


def test_every_key_is_read() -> None:
    assert read_policy(policy_record(b"\xef\xbb\xbf" + json.dumps(FULL).encode())) == READ
    assert read_policy(shown_policy(READ)) == READ


def test_what_is_missing_or_null_is_the_default() -> None:
    own = {each.name for each in fields(SchedulePolicy)} - {*RFC_KEYS}
    assert own >= {"ordering", "slots", "classes", "groups", "pass_over_limit", "class_window", "preemption"}
    assert read_policy({}) == read_policy(dict.fromkeys(own)) == SchedulePolicy()


def test_zero_is_not_absent() -> None:
    zeros = {"weights": dict.fromkeys(("priority", "affinity", "cost"), 0), "merge_pressure_penalty": 0}
    assert read_policy(zeros) == SchedulePolicy(
        weights=Weights(priority=0.0, affinity=0.0, cost=0.0), merge_pressure_penalty=0.0
    )


SHOWN = {
    "weights": {
        "priority": 1.0,
        "dependency": 0.2,
        "affinity": 0.5,
        "cost": 0.25,
        "fairness": 0.0,
        "urgency": 1.0,
        "deadline": 1.0,
    },
    "merge_queue_threshold": 3,
    "merge_pressure_penalty": 2.0,
    "skip_on_merge_pressure": False,
    "graph_overrides": {
        "g": {
            "priority": None,
            "dependency": None,
            "affinity": None,
            "cost": 1.0,
            "fairness": None,
            "urgency": None,
            "deadline": None,
        }
    },
    "ordering": "fair",
    "slots": None,
    "agent_slots": 1,
    "queue_capacity": 1000,
    "classes": {"critical": 16, "high": 8, "normal": 4, "low": 1},
    "groups": {
        "g": {
            "class": "normal",
            "weight": 1,
            "quota": None,
            "review": False,
            "budget": None,
            "context_refs": [],
            "credential_refs": [],
        }
    },
    "resources": {"r": {"capacity": 4}},
    "agents": {"a*": {"slots": 1, "capabilities": [], "uses": {"r": 1}}},
    "pass_over_limit": 20,
    "fairness_window": 100,
    "drain_limit": 3,
    "deadline_horizon_seconds": 86_400,
    "deadline_window": 8,
    "class_window": 0,
    "leases": {
        "seconds": 900,
        "unattended_seconds": 14_400,
        "max_seconds": 86_400,
        "start_by_seconds": 3600,
        "blocked_seconds": 86_400,
        "idle_seconds": 7200,
        "observed_seconds": 86_400,
    },
    "preemption": {"enabled": True, "min_quantum_seconds": 300, "max_preemptions": 2},
    "retries": {"max_attempts": 3, "backoff_seconds": 60, "max_backoff_seconds": 3600},
    "gates": {"approval_required_for": ["high_risk", "destructive"]},
    "affinity": {"scope": "pool", "max_age_seconds": None, "require_path": True},
    "disclosure": {"max_groups": 8, "max_cost": 16, "seconds_per_unit": 60},
}


def test_the_policy_as_it_is_shown() -> None:
    policy = SchedulePolicy(
        graph_overrides={"g": WeightOverride(cost=1.0)},
        groups={"g": GroupPolicy()},
        resources={"r": ResourcePolicy(capacity=4)},
        agents={"a*": AgentPolicy(slots=1, uses={"r": 1})},
    )
    # The text, not only the values: the keys stand in the order in which they are described.
    assert json.dumps(shown_policy(policy), indent=1) == json.dumps(SHOWN, indent=1)
    assert list(rfc_part(READ)) == [
        "weights",
        "merge_queue_threshold",
        "merge_pressure_penalty",
        "skip_on_merge_pressure",
        "graph_overrides",
    ]


def test_a_revision_is_of_the_meaning() -> None:
    assert revision_of(SchedulePolicy()) == revision_of(read_policy({"slots": None, "weights": {"priority": 1}}))
    assert revision_of(SchedulePolicy()) != revision_of(SchedulePolicy(slots=1))
    one = {"groups": {"a": {"quota": 1}, "b": {}}}
    other = {"groups": {"b": {"quota": None, "class": "normal", "weight": 1}, "a": {"quota": 1}}}
    assert revision_of(read_policy(one)) == revision_of(read_policy(other))
    assert len(revision_of(READ)) == 12
    int(revision_of(READ), 16)


def test_more_than_six_places_are_told() -> None:
    policy = SchedulePolicy(
        weights=Weights(cost=0.1234567, priority=0.123456),
        merge_pressure_penalty=1e-7,
        graph_overrides={"g": WeightOverride(urgency=0.0000001), "no id at all": WeightOverride(cost=1e-9)},
    )
    assert list(rounding_warnings(policy)) == [
        f"policy: {name} has more than six decimal places and is rounded half-even"
        for name in (
            "weights.cost",
            "merge_pressure_penalty",
            "graph_overrides.g.urgency",
            "graph_overrides.(not a valid id).cost",
        )
    ]
    assert list(rounding_warnings(SchedulePolicy())) == []


# --- merge patches ---------------------------------------------------------------------------------------------

# The table of RFC 7396, appendix A.
VECTORS = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "result"), VECTORS)
def test_merge_patch_vectors(target: Any, patch: Any, result: Any) -> None:  # noqa: ANN401 - any JSON
    before = json.dumps([target, patch])
    assert merge_patch(target, patch) == result
    assert json.dumps([target, patch]) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "patch is not valid JSON: EOF while parsing an object at line 1 column 1"),
        ("[]", "patch must be a JSON object (RFC 7396 merge patch)."),
        ("null", "patch must be a JSON object (RFC 7396 merge patch)."),
        ('{"slots": NaN}', "patch is not valid JSON: expected value at line 1 column 11"),
    ],
)
def test_a_patch_that_is_no_object_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_patch(text)
    assert (refused.value.message, refused.value.details) == (message, {"field": "patch"})


def test_a_patch_is_read() -> None:
    assert parse_patch('{"slots": null, "weights": {"cost": 1}}') == {"slots": None, "weights": {"cost": 1}}


# --- what other programs drop ----------------------------------------------------------------------------------


def test_our_own_part() -> None:
    record = {
        "$schema": "x",
        "weights": {"priority": 1, "urgency": 2, "deadline": None},
        "merge_queue_threshold": 3,
        "graph_overrides": {"g": {"cost": 1}, "h": {"dependency": 0}, "i": None},
        "slots": 3,
        "groups": {"g": {"class": "high"}},
        "ordering": "score",
        "preemption": None,
        "gates": None,
        "agents": {"*": {}},
    }
    assert own_part(record) == {
        "slots": 3,
        "groups": {"g": {"class": "high"}},
        "ordering": "score",
        "agents": {"*": {}},
        "weights": {"urgency": 2},
        "graph_overrides": {"h": {"dependency": 0}},
    }
    assert own_part({"weights": 3, "graph_overrides": []}) == {}


KEPT = {
    "slots": 3,
    "groups": {"g": {"class": "high", "weight": 2}},
    "classes": {"high": 9},
    "gates": {"approval_required_for": ["external"]},
    "weights": {"urgency": 2, "deadline": 0},
    "graph_overrides": {"g": {"urgency": 4, "dependency": 1}},
}


@pytest.mark.parametrize(
    ("record", "in_force", "restored"),
    [
        (
            {},
            KEPT,
            [
                "slots",
                "groups",
                "classes",
                "gates",
                "weights.urgency",
                "weights.deadline",
                "graph_overrides.g.urgency",
                "graph_overrides.g.dependency",
            ],
        ),
        (
            {
                "slots": None,
                "groups": {"h": {"class": "low"}},
                "classes": None,
                "gates": {},
                "weights": {"priority": 1, "urgency": None, "deadline": 9},
                "graph_overrides": {"g": {"priority": 3, "dependency": 2}, "h": {}},
            },
            {
                "slots": None,
                "groups": {"h": {"class": "low"}},
                "classes": None,
                "gates": {},
                "weights": {"priority": 1, "urgency": None, "deadline": 9},
                "graph_overrides": {"g": {"priority": 3, "dependency": 2, "urgency": 4}, "h": {}},
            },
            ["graph_overrides.g.urgency"],
        ),
        (
            {"slots": 1, "gates": None, "groups": {}, "classes": {}, "weights": None, "graph_overrides": {"g": None}},
            {"slots": 1, "gates": None, "groups": {}, "classes": {}, "weights": None, "graph_overrides": {"g": None}},
            [],
        ),
    ],
)
def test_kept_keys_stand_where_the_file_lacks_them(
    record: dict[str, Any], in_force: dict[str, Any], restored: list[str]
) -> None:
    before = json.dumps([record, KEPT])
    assert with_kept(record, KEPT) == (in_force, restored)
    assert json.dumps([record, KEPT]) == before


def test_a_name_that_is_none_is_not_repeated() -> None:
    _, restored = with_kept({}, {"graph_overrides": {"ignore all rules": {"urgency": 1}}, "no name": 1})
    assert restored == ["graph_overrides.(not a valid id).urgency", "(not a valid id)"]
