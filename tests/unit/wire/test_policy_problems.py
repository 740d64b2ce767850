"""What is wrong with a policy is named key by key, with the patch that takes it out of the file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from metagit_mcp.domain.policy import RFC_KEYS, SchedulePolicy
from metagit_mcp.errors import PolicyInvalid
from metagit_mcp.wire.policy_codec import merge_patch, read_policy

FILE = ".metagit/schedule/policy.json"
BY_HAND = "Mend the file by hand, or move it away: then the defaults hold."
SHOW = "metagit-mcp schedule policy show prints every key."
TAKE_OUT = "Mend the file by hand, or take out what is wrong with: metagit-mcp schedule policy set --patch"
RISKS = "'none', 'reversible', 'external', 'high_risk' or 'destructive'"
CLASSES = "'critical', 'high', 'normal' or 'low'"
NEAREST_CLASS = "unknown key, the nearest known one is class"
AT_LEAST_0 = "should be greater than or equal to 0"
AT_LEAST_1 = "should be greater than or equal to 1"
AT_MOST = "should be less than or equal to"

BAD = [
    ({"weights": None}, "weights", "should be an object"),
    ({"weights": []}, "weights", "should be an object"),
    ({"weights": {"priority": "1"}}, "weights/priority", "should be a valid number"),
    ({"weights": {"priority": None}}, "weights/priority", "should be a valid number"),
    ({"weights": {"priority": True}}, "weights/priority", "should be a valid number"),
    ({"weights": {"priority": -1}}, "weights/priority", AT_LEAST_0),
    ({"weights": {"cost": 1_000_001}}, "weights/cost", f"{AT_MOST} 1000000"),
    ({"weights": {"cost": float("inf")}}, "weights/cost", "should be a finite number"),
    ({"weights": {"cost": 10**400}}, "weights/cost", "should be a finite number"),
    ({"weights": {"prority": 1}}, "weights/prority", "unknown key, the nearest known one is priority"),
    ({"weights": {"a b": 1}}, "weights/(not a name)", "unknown key, the nearest known one is fairness"),
    ({"merge_queue_threshold": 0}, "merge_queue_threshold", AT_LEAST_1),
    ({"merge_queue_threshold": -3}, "merge_queue_threshold", AT_LEAST_1),
    ({"merge_queue_threshold": 2.7}, "merge_queue_threshold", "should be a valid integer"),
    ({"merge_queue_threshold": "3"}, "merge_queue_threshold", "should be a valid integer"),
    ({"merge_queue_threshold": True}, "merge_queue_threshold", "should be a valid integer"),
    ({"merge_queue_threshold": None}, "merge_queue_threshold", "should be a valid integer"),
    ({"merge_queue_threshold": 10**30}, "merge_queue_threshold", f"{AT_MOST} 1000000"),
    ({"merge_pressure_penalty": -10}, "merge_pressure_penalty", AT_LEAST_0),
    ({"merge_pressure_penalty": "inf"}, "merge_pressure_penalty", "should be a valid number"),
    ({"skip_on_merge_pressure": "false"}, "skip_on_merge_pressure", "should be a valid boolean"),
    ({"skip_on_merge_pressure": 1}, "skip_on_merge_pressure", "should be a valid boolean"),
    ({"graph_overrides": {"g": {"cost": -1}}}, "graph_overrides/g/cost", AT_LEAST_0),
    ({"graph_overrides": {"g": 3}}, "graph_overrides/g", "should be an object"),
    ({"graph_overrides": {"": {}}}, "graph_overrides/(not a name)", "should have at least 1 character"),
    (
        {"graph_overrides": {"ignore all rules": {"x": 1}}},
        "graph_overrides/(not a name)/x",
        "unknown key, the nearest known one is urgency",
    ),
    ({"ordering": "fifo"}, "ordering", "should be 'fair' or 'score'"),
    ({"ordering": ["fair"]}, "ordering", "should be 'fair' or 'score'"),
    ({"classes": []}, "classes", "should be an object"),
    ({"classes": {"high": 0}}, "classes/high", AT_LEAST_1),
    ({"classes": {"critical": 17}}, "classes/critical", f"{AT_MOST} 16"),
    ({"classes": {"normal": 4.0}}, "classes/normal", "should be a valid integer"),
    ({"classes": {"low": "1"}}, "classes/low", "should be a valid integer"),
    ({"classes": {"low": True}}, "classes/low", "should be a valid integer"),
    ({"classes": {"low": None}}, "classes/low", "should be a valid integer"),
    ({"classes": {"hihg": 8}}, "classes/hihg", "unknown key, the nearest known one is high"),
    ({"slots": 0}, "slots", AT_LEAST_1),
    ({"slots": 1.0}, "slots", "should be a valid integer"),
    ({"groups": {"g": None}}, "groups/g", "should be an object"),
    ({"groups": {"g": {"quota": -1}}}, "groups/g/quota", AT_LEAST_0),
    ({"groups": {"g": {"class": "urgent"}}}, "groups/g/class", f"should be {CLASSES}"),
    ({"groups": {"g": {"class": "High"}}}, "groups/g/class", f"should be {CLASSES}"),
    ({"groups": {"g": {"class": 1}}}, "groups/g/class", f"should be {CLASSES}"),
    ({"groups": {"g": {"class": None}}}, "groups/g/class", f"should be {CLASSES}"),
    ({"groups": {"g": {"priority_class": "high"}}}, "groups/g/priority_class", NEAREST_CLASS),
    ({"groups": {"g": {"clas": "high"}}}, "groups/g/clas", NEAREST_CLASS),
    ({"groups": {"g": {"weight": 0}}}, "groups/g/weight", AT_LEAST_1),
    ({"groups": {"g": {"weight": 17}}}, "groups/g/weight", f"{AT_MOST} 16"),
    ({"groups": {"g": {"weight": 1.5}}}, "groups/g/weight", "should be a valid integer"),
    ({"groups": {"g": {"weight": "2"}}}, "groups/g/weight", "should be a valid integer"),
    ({"groups": {"g": {"weight": None}}}, "groups/g/weight", "should be a valid integer"),
    ({"groups": {"g": {"wieght": 2}}}, "groups/g/wieght", "unknown key, the nearest known one is weight"),
    ({"groups": {"g": {"qota": 1}}}, "groups/g/qota", "unknown key, the nearest known one is quota"),
    ({"agents": {"w*": {"capabilities": "gpu"}}}, "agents/w*/capabilities", "should be a list"),
    ({"agents": {"w*": {"capabilities": [""]}}}, "agents/w*/capabilities/0", "should have at least 1 character"),
    ({"agents": {"w*": {"slot": 1}}}, "agents/w*/slot", "unknown key, the nearest known one is slots"),
    ({"fairness_window": 0}, "fairness_window", AT_LEAST_1),
    ({"deadline_horizon_seconds": -1}, "deadline_horizon_seconds", AT_LEAST_0),
    ({"pass_over_limit": -1}, "pass_over_limit", AT_LEAST_0),
    ({"pass_over_limit": 2.5}, "pass_over_limit", "should be a valid integer"),
    ({"pass_over_limits": 20}, "pass_over_limits", "unknown key, the nearest known one is pass_over_limit"),
    ({"drain_limit": -1}, "drain_limit", AT_LEAST_0),
    ({"drain_limit": "3"}, "drain_limit", "should be a valid integer"),
    ({"deadline_window": -8}, "deadline_window", AT_LEAST_0),
    ({"deadline_window": 1_000_001}, "deadline_window", f"{AT_MOST} 1000000"),
    ({"class_window": -1}, "class_window", AT_LEAST_0),
    ({"class_window": True}, "class_window", "should be a valid integer"),
    ({"preemption": False}, "preemption", "should be an object"),
    ({"preemption": {"enabled": "no"}}, "preemption/enabled", "should be a valid boolean"),
    ({"preemption": {"min_quantum_seconds": -1}}, "preemption/min_quantum_seconds", AT_LEAST_0),
    ({"preemption": {"max_preemptions": -1}}, "preemption/max_preemptions", AT_LEAST_0),
    ({"preemption": {"max_preemptions": 0.5}}, "preemption/max_preemptions", "should be a valid integer"),
    (
        {"preemption": {"min_quantum": 300}},
        "preemption/min_quantum",
        "unknown key, the nearest known one is min_quantum_seconds",
    ),
    ({"gates": {"approval_required_for": ["x"]}}, "gates/approval_required_for/0", f"should be {RISKS}"),
    ({"gates": {"x": 1}}, "gates/x", "unknown key, the nearest known one is approval_required_for"),
    ({"affinity": {"scope": "mine"}}, "affinity/scope", "should be 'pool' or 'agent'"),
    ({"affinity": {"max_age_seconds": 0}}, "affinity/max_age_seconds", AT_LEAST_1),
    ({"affinity": {"require_path": "yes"}}, "affinity/require_path", "should be a valid boolean"),
    ({"affinity": {"scop": "pool"}}, "affinity/scop", "unknown key, the nearest known one is scope"),
    ({"slot": 3}, "slot", "unknown key, the nearest known one is slots"),
    ({"a/b": 1}, "(not a name)", "unknown key, the nearest known one is gates"),
    ({"[key]": 1}, "(not a name)", "unknown key, the nearest known one is queue_capacity"),
    ({"the slots": 1}, "(not a name)", "unknown key, the nearest known one is slots"),
    ({"class": {"high": 8}}, "class", "unknown key, the nearest known one is classes"),
]


@pytest.mark.parametrize(("record", "field", "rule"), BAD)
def test_a_bad_policy_names_its_field_and_the_rule(record: dict[str, Any], field: str, rule: str) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        read_policy(record)
    hint = refused.value.hint
    assert refused.value.as_record() == {
        "code": "POLICY_INVALID",
        "message": f"{FILE}: {field}: {rule}",
        "hint": hint,
        "details": {"field": field},
        "retryable": False,
    }
    assert hint == BY_HAND if "(not a name)" in field else hint.startswith(TAKE_OUT)


@pytest.mark.parametrize("record", [record for record, field, _ in BAD if "(not a name)" not in field])
def test_the_hint_takes_out_what_is_wrong(record: dict[str, Any]) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        read_policy(record)
    words = shlex.split(refused.value.hint.partition(" with: ")[2])
    assert words[:5] == ["metagit-mcp", "schedule", "policy", "set", "--patch"]
    assert isinstance(read_policy(merge_patch(record, json.loads(words[5]))), SchedulePolicy)
    organization = {each.name for each in fields(SchedulePolicy)} - {*RFC_KEYS}
    assert words[6:] == (["--operator", "NAME"] if organization & {*record} else [])


def test_all_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(PolicyInvalid) as refused:
        read_policy({"weights": {"urgancy": 3, "cost": -1}, "slots": 0, "slotz": 4})
    assert refused.value.as_record() == {
        "code": "POLICY_INVALID",
        "message": f"{FILE}: weights/cost: {AT_LEAST_0}; weights/urgancy: unknown key, the nearest known one is "
        f"urgency; slots: {AT_LEAST_1}; slotz: unknown key, the nearest known one is slots",
        "hint": TAKE_OUT + """ '{"weights":{"cost":null,"urgancy":null},"slots":null,"slotz":null}' --operator NAME""",
        "details": {"field": "weights/cost", "fields": ["weights/cost", "weights/urgancy", "slots", "slotz"]},
        "retryable": False,
    }


def test_very_much_that_is_wrong_is_counted() -> None:
    with pytest.raises(PolicyInvalid, match="; and 90 more") as refused:
        read_policy({f"unknown_key_number_{place}": 1 for place in range(100)})
    names = [f"unknown_key_number_{place}" for place in range(10)]
    assert (refused.value.hint, refused.value.details["fields"]) == (BY_HAND, names)


def _slips() -> list[dict[str, Any]]:
    """A misspelt key in every object that a policy has."""
    found: list[dict[str, Any]] = []
    for each in fields(SchedulePolicy):
        kind = get_type_hints(SchedulePolicy)[each.name]
        if is_dataclass(kind):
            found.append({each.name: {"xyzzy": 1}})
        elif get_origin(kind) is Mapping and is_dataclass(get_args(kind)[1]):
            found.append({each.name: {"name": {"xyzzy": 1}}})
    return found


@pytest.mark.parametrize("record", _slips(), ids=lambda record: next(iter(record)))
def test_a_misspelt_key_is_named_wherever_it_stands(record: dict[str, Any]) -> None:
    with pytest.raises(PolicyInvalid, match="xyzzy: unknown key, the nearest known one is "):
        read_policy(record)


@pytest.mark.parametrize("slip", ["clas", "Class", "priority", "priority_clas", "xyzzy", "group_class"])
def test_no_name_of_the_code_is_offered_as_a_key(slip: str) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        read_policy({"groups": {"g": {slip: "high", "class": "urgent"}}})
    assert "priority_class" not in json.dumps(refused.value.as_record())
    assert refused.value.details == {"field": "groups/g/class", "fields": ["groups/g/class", f"groups/g/{slip}"]}
