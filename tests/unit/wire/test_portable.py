"""Every schema that a host sees stays in the subset that every host accepts (mcp_server_facts §5)."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import TaskGraph
from metagit_mcp.wire import estimate_answers, group_answers, group_requests, requests, responses, status_answers
from metagit_mcp.wire.portable import KEYWORDS, input_schema, output_schema, portable

REQUESTS = (
    requests.NextRequest,
    requests.StatusRequest,
    requests.PolicyRequest,
    requests.WorkStartRequest,
    requests.WorkReportRequest,
    requests.TaskPlanRequest,
    requests.TaskUpdateRequest,
    group_requests.DeliverRequest,
    estimate_answers.EstimateRequest,
)
ANSWERS = (
    responses.NextAnswer,
    status_answers.StatusAnswer,
    responses.PolicyAnswer,
    responses.WorkStartAnswer,
    responses.WorkReportAnswer,
    responses.TaskPlanAnswer,
    responses.TaskUpdateAnswer,
    group_answers.DeliverAnswer,
    estimate_answers.EstimateAnswer,
    group_answers.GroupsAnswer,
    group_answers.GroupAnswer,
    group_answers.OutboxAnswer,
    group_answers.ProposalAnswer,
    group_answers.VerifyAnswer,
    group_answers.SnapshotAnswer,
    responses.ApprovalAnswer,
    responses.WorkStandingAnswer,
    responses.PauseAnswer,
)
LEAVES = {"string", "integer", "number", "boolean"}
BOUNDS = {
    "string": {"enum", "minLength", "maxLength"},
    "integer": {"minimum", "maximum"},
    "number": {"minimum", "maximum"},
    "boolean": set(),
    "array": {"items", "minItems", "maxItems"},
}


def faults(schema: dict[str, Any], where: str, *, given: bool, level: int = 0) -> list[str]:
    """Everything in a schema that some host refuses; `given` for arguments, else for results."""
    kind = schema.get("type")
    if kind == "object":
        return object_faults(schema, where, given=given, level=level)
    allowed = BOUNDS.get(str(kind), set()) | {"type", "description"} | ({"default"} if given else set())
    found = [f"{where}: keyword {name}" for name in sorted(schema.keys() - allowed)]
    if kind not in {*LEAVES, "array"}:
        found.append(f"{where}: type {kind!r}")
    if kind == "array":
        found += faults(schema["items"], f"{where}[]", given=given, level=level) if "items" in schema else [where]
    found += [f"{where}: enum of {each!r}" for each in schema.get("enum", ()) if not isinstance(each, str)]
    if given and not schema.get("description") and "[]" not in where:
        found.append(f"{where}: no description")
    if schema.get("default", "") is None:
        found.append(f"{where}: null default")
    return found


def object_faults(schema: dict[str, Any], where: str, *, given: bool, level: int) -> list[str]:
    """The same of an object: closed, with properties, at most one level below the root for arguments."""
    # Of what others send on, an Event is any object: its fields are not ours to name.
    if schema == {"type": "object"} and (not given or where == "DeliverRequest.events[]"):
        return []
    allowed = {"type", "description", "properties", "required", "additionalProperties"}
    found = [f"{where}: keyword {name}" for name in sorted(schema.keys() - allowed)]
    if schema.get("additionalProperties") is not False:
        found.append(f"{where}: open")
    if given and level > 1:
        found.append(f"{where}: nested too deeply")
    for name, each in schema["properties"].items():
        if not (name.isidentifier() and name.islower()):
            found.append(f"{where}.{name}: name")
        found += faults(each, f"{where}.{name}", given=given, level=level + 1)
    missing = set(schema.get("required", ())) - schema["properties"].keys()
    return found + [f"{where}: requires {name}" for name in sorted(missing)]


@pytest.mark.parametrize("shape", REQUESTS, ids=lambda shape: shape.__name__)
def test_arguments_are_in_the_safe_subset(shape: type) -> None:
    schema = input_schema(shape)
    assert schema["type"] == "object"
    assert faults(schema, shape.__name__, given=True) == []
    Draft202012Validator.check_schema(schema)
    required = [each.name for each in dataclasses.fields(shape) if each.default is dataclasses.MISSING]
    assert schema.get("required", []) == required
    assert list(schema["properties"]) == [each.name for each in dataclasses.fields(shape)]


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", ANSWERS, ids=lambda shape: shape.__name__)
def test_results_are_in_the_safe_subset(shape: type, depth: int) -> None:
    schema = output_schema(shape, depth)
    assert schema["type"] == "object"
    assert faults(schema, shape.__name__, given=False) == []
    Draft202012Validator.check_schema(schema)


def test_sizes_of_all_schemas_together() -> None:
    given = sum(len(json.dumps(input_schema(shape), separators=(",", ":"))) for shape in REQUESTS)
    told = sum(len(json.dumps(output_schema(shape, 1), separators=(",", ":"))) for shape in ANSWERS[:9])
    default = sum(len(json.dumps(input_schema(shape), separators=(",", ":"))) for shape in REQUESTS[:5])
    assert (given <= 14_500, told <= 6_000, default <= 8_000) == (True, True, True), (given, told, default)


NEXT = {
    "type": "object",
    "properties": {
        "graph_id": {
            "type": "string",
            "description": "Only this graph. Task graph (Group) id; the file name under tasks/graphs without .json",
            "minLength": 1,
            "maxLength": 256,
        },
        "limit": {
            "type": "integer",
            "description": "How many nodes: with claim all for this agent, else each for another",
            "minimum": 1,
            "maximum": 100,
            "default": 1,
        },
        "agent_id": {
            "type": "string",
            "description": "Who asks; default: the agent of this connection",
            "minLength": 1,
            "maxLength": 256,
        },
        "claim": {
            "type": "boolean",
            "description": "true: take what is given, under a lease",
            "default": False,
        },
        "preview": {
            "type": "boolean",
            "description": "true: only look, nothing is logged",
            "default": False,
        },
        "capabilities": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What the asker can do; nodes that need more are left out",
        },
        "wait_seconds": {
            "type": "integer",
            "description": "Wait up to this long for work when there is none",
            "minimum": 0,
            "maximum": 300,
            "default": 0,
        },
        "lease_seconds": {
            "type": "integer",
            "description": "Term of the lease without a report",
            "minimum": 60,
            "maximum": 1_000_000_000,
        },
        "new_session": {
            "type": "boolean",
            "description": "true: this agent restarted; its former leases end",
            "default": False,
        },
        "detail": {
            "type": "string",
            "enum": ["brief", "full"],
            "description": "full adds factors, hints and commands; default: full up to limit 3",
        },
        "action_id": {
            "type": "string",
            "description": "Repeating a call under the same id gets its first reply",
            "minLength": 1,
            "maxLength": 128,
        },
    },
    "additionalProperties": False,
    "description": "Asks what should be worked on next.",
}


def test_the_schema_of_one_request_whole() -> None:
    assert input_schema(requests.NextRequest) == NEXT


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"type": "string", "format": "date-time", "title": "T", "pattern": "x"}, {"type": "string"}),
        ({"const": "a", "type": "string"}, {"type": "string", "enum": ["a"]}),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}], "default": None}, {"type": "integer"}),
        ({"type": "integer", "default": 0, "exclusiveMinimum": 0}, {"type": "integer", "default": 0}),
        (
            {"$ref": "#/$defs/A", "description": "outer", "$defs": {"A": {"type": "string", "description": "inner"}}},
            {"type": "string", "description": "outer"},
        ),
        (
            {"type": "array", "items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "object", "properties": {}}}},
            {"type": "array", "items": {"type": "object", "properties": {}, "additionalProperties": False}},
        ),
        ({"type": "object"}, {"type": "object", "properties": {}, "additionalProperties": False}),
    ],
)
def test_what_is_kept_of_a_schema(schema: dict[str, Any], kept: dict[str, Any]) -> None:
    assert portable(schema) == kept
    assert set(kept) <= KEYWORDS


def test_a_union_has_no_portable_schema() -> None:
    with pytest.raises(ValueError, match="no portable schema for a union of 2 types"):
        portable({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]})


def test_results_open_below_the_depth_and_where_any_key_may_stand() -> None:
    assert output_schema(responses.PolicyAnswer, 1)["properties"]["policy"] == {"type": "object"}
    whole = output_schema(responses.PolicyAnswer, 2)["properties"]["effect"]
    assert whole["properties"]["before"]["items"] == {"type": "object"}
    assert output_schema(responses.PolicyAnswer, 0) == {"type": "object"}


@pytest.mark.parametrize("shape", [TaskGraph, SchedulePolicy])
def test_the_walker_sees_what_breaks_a_host(shape: type) -> None:
    schema = {"type": "object", "properties": {"A b": {"type": "array"}, "c": {"anyOf": []}}, "required": ["d"]}
    assert faults(schema, "X", given=True) == [
        "X: open",
        "X.A b: name",
        "X.A b",
        "X.A b: no description",
        "X.c: keyword anyOf",
        "X.c: type None",
        "X.c: no description",
        "X: requires d",
    ]
    assert faults({"type": "string", "enum": [1], "default": None, "description": "d"}, "X", given=True) == [
        "X: enum of 1",
        "X: null default",
    ]
    assert dataclasses.is_dataclass(shape)
