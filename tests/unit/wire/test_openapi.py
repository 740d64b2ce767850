"""The OpenAPI document is one, says what the types say, and its examples are what it describes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from metagit_mcp.domain.access import ACTS
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.http.openapi import openapi_document, roles_of
from metagit_mcp.wire.http.openapi_operations import OPERATIONS, TAGS, Operation
from metagit_mcp.wire.requests import WorkReportRequest, WorkStartRequest
from metagit_mcp.wire.schemas import schema_files

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]


def operation(each: Operation) -> Json:
    """An operation as the document has it."""
    found: Json = openapi_document()["paths"][each.path][each.method]
    return found


def by_name(each: Operation) -> str:
    return each.name


def problems(schema: Json, example: object) -> list[str]:
    """What is wrong with an example of a schema of the document."""
    whole = {**schema, "components": openapi_document()["components"]}
    return [error.message for error in Draft202012Validator(whole).iter_errors(example)]


def examples() -> Iterator[tuple[str, Json, object]]:
    """Each example of the document with its schema, and where it stands."""
    for each in OPERATIONS:
        told = operation(each)
        places = {"body": told.get("requestBody", {}), **told["responses"]}
        for place, part in places.items():
            for content in part.get("content", {}).values():
                for name, example in content.get("examples", {}).items():
                    yield f"{each.name} {place} {name}", content["schema"], example["value"]


def test_it_is_an_openapi_document() -> None:
    document = openapi_document()
    assert document["openapi"] == "3.1.0"
    assert [str(error) for error in OpenAPIV31SpecValidator(document).iter_errors()] == []
    for name, schema in document["components"]["schemas"].items():
        Draft202012Validator.check_schema({**schema, "$id": f"test:{name}"})


def test_it_is_published_beside_the_schemas() -> None:
    assert json.loads(schema_files()["openapi.json"]) == openapi_document()


@pytest.mark.parametrize("place", list(examples()), ids=lambda place: str(place[0]))
def test_each_example_is_what_it_is_an_example_of(place: tuple[str, Json, object]) -> None:
    _, schema, example = place
    assert problems(schema, example) == []


def test_the_answers_that_orchestrators_branch_on_have_examples() -> None:
    assert [name for name, *_ in examples()] == [
        "next 200 work",
        "next 200 nothing_to_start",
        "claim body example",
        "claim 200 work",
        "claim 200 nothing_to_start",
        "claim 409 ACTION_ID_COLLISION",
        "start body example",
        "start 409 ACTION_ID_COLLISION",
        "report body example",
        "report 200 completed",
        "report 409 ACTION_ID_COLLISION",
    ]


def test_the_examples_of_requests_are_read() -> None:
    sent = {each.name: each.example for each in OPERATIONS if each.example is not None}
    assert parse_request(WorkStartRequest, sent["start"]).node_id == "build"
    assert parse_request(WorkReportRequest, sent["report"]).state == "completed"


@pytest.mark.parametrize("each", OPERATIONS, ids=by_name)
def test_each_operation_says_who_may_and_what_it_is_refused_with(each: Operation) -> None:
    told = operation(each)
    if each.act is None:
        assert (told["security"], told["description"].endswith("Needs no token.")) == ([], True)
    else:
        roles = [role for role in ("viewer", "agent", "coordinator", "operator") if role in ACTS[each.act][1]]
        assert ("security" in told, told["x-metagit-roles"]) == (False, roles)
        assert {"400", "401", "403"} <= told["responses"].keys()
    assert (each.tag in TAGS, len(set(each.refusals))) == (True, len(each.refusals))
    codes = " ".join(response["description"] for response in told["responses"].values())
    assert [error.code for error in each.refusals if error.code not in codes] == []


def test_roles_stand_in_order() -> None:
    assert roles_of("look_at_group") == ["viewer", "agent", "coordinator", "operator"]
    assert roles_of("administer") == []


def test_what_a_request_may_not_hold_is_refused_by_its_schema() -> None:
    document = openapi_document()
    bodies = {each.body.__name__ for each in OPERATIONS if each.body is not None}
    schemas = document["components"]["schemas"]
    assert {name for name in bodies if schemas[name].get("additionalProperties") is not False} == set()
    assert problems({"$ref": "#/components/schemas/ClaimRequest"}, {"claim": False}) != []
    assert problems({"$ref": "#/components/schemas/ClaimRequest"}, {"preview": True}) != []


def test_a_query_is_told_without_null() -> None:
    parameters = {each["name"]: each for each in openapi_document()["paths"]["/v1/next"]["get"]["parameters"]}
    assert parameters["capabilities"] == {
        "name": "capabilities",
        "in": "query",
        "description": "What the asker can do; nodes that need more are left out",
        "schema": {"type": "array", "items": {"type": "string"}},
        "style": "form",
        "explode": False,
    }
    assert parameters["limit"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 100, "default": 1}
    graph = openapi_document()["paths"]["/v1/graphs/{graph_id}"]["get"]["parameters"]
    assert [(each["name"], each["in"], each["required"]) for each in graph] == [("graph_id", "path", True)]


def test_it_names_nothing_of_a_machine() -> None:
    text = json.dumps(openapi_document())
    assert [word for word in ("127.0.0.1", "localhost", "/home", "/root", "/tmp") if word in text] == []  # noqa: S108 - no file
