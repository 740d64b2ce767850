"""The HTTP interface as one OpenAPI 3.1 document, made of the types that read and write it. Must not know a handler.

The table of operations is compared with the routes that are served (tests/interfaces/http/test_openapi.py).
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, Final, get_args

from metagit_mcp.domain.access import ACTS, Act, Role
from metagit_mcp.domain.value import value
from metagit_mcp.wire.codec import Json, adapter
from metagit_mcp.wire.http import openapi_examples as examples
from metagit_mcp.wire.http.http_status import status_of
from metagit_mcp.wire.http.openapi_operations import OPERATIONS, TAGS, Operation

_REFERENCE: Final = "#/components/schemas/{model}"
_JSON: Final = "application/json"
_HTTP: Final = """What a program without MCP asks a metagit workspace: what is next, a claim, a report, how things
stand; and what the board shows and a person decides there. Each answer is the one that the tool of MCP and the command
line with `--json` give, field for field, and is never cut.

* **Idempotence.** A command with `action_id` is carried out once: the same body again gets the first reply, for seven
  days, also from another server and after a restart; another body is refused with ACTION_ID_COLLISION. A first reply
  does not change when its lease has ended since: then `warnings` says so.
* **Nothing to do is no error.** 200 with empty `decisions`, and `not_eligible` counts the reasons.
* **Refusals** are records of the schema Error. Branch on `code`; `retryable` says whether the same request may succeed
  later unchanged.
* **Readers** take fields that this document does not name. An empty string or null in a request is as if it were
  absent; a field that is not known is refused by name.
* A server answers under its own names alone: 421 for another Host, 403 for a page of another site.

MCP is at /mcp, the numbers for Prometheus at /metrics, the board at /."""


@value
class Error:
    """Why a request was refused. The codes are listed in docs/reference/errors.md.

    `hint` says what to do now; `details` are ids, numbers and names of fields.
    """

    code: str
    message: str
    hint: str
    details: Mapping[str, Any]
    retryable: bool


@cache
def openapi_document() -> Json:
    """Return the document; it is the same for everybody, and names nothing of a workspace."""
    schemas, referred = _schemas()
    shown = examples.examples_of_answers()
    paths: dict[str, Json] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method] = _operation(each, referred, shown.get(each.name, {}))
    return {
        "openapi": "3.1.0",
        "info": {"title": "metagit-mcp", "summary": "Schedules the work of a metagit workspace.", "description": _HTTP}
        | {"version": "1.0.0", "license": {"name": "MIT", "identifier": "MIT"}},
        "servers": [{"url": "/", "description": "The server that this document comes from."}],
        "security": [{"bearer": []}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The secret of a token: `metagit-mcp token issue NAME --role agent` gives one.",
                }
            },
            "schemas": schemas,
        },
    }


# --- schemas -------------------------------------------------------------------------------------------------------


def _schemas() -> tuple[Json, Mapping[type[Any], Json]]:
    """Return all schemas by name, and for each type of the table the reference to its own."""
    bodies = {each.body for each in OPERATIONS if each.body is not None}
    shapes = [(each, "validation") for each in bodies]
    shapes += [(each.answer, "serialization") for each in OPERATIONS if each.answer is not None]
    shapes.append((Error, "serialization"))
    inputs: list[Any] = [(shape, mode, adapter(shape)) for shape, mode in sorted(set(shapes), key=_by_name)]
    first: Any = inputs[0]
    found, defined = first[2].json_schemas(inputs, ref_template=_REFERENCE)
    schemas: Json = dict(sorted(defined["$defs"].items()))
    referred = {shape: dict(schema) for (shape, _), schema in found.items()}
    for shape in bodies:
        # The reader refuses what it does not know.
        schemas[shape.__name__]["additionalProperties"] = False
    return schemas, referred


def _by_name(shape: tuple[type[Any], str]) -> tuple[str, str]:
    return shape[0].__name__, shape[1]


# --- operations ----------------------------------------------------------------------------------------------------


def _operation(each: Operation, referred: Mapping[type[Any], Json], shown: Mapping[str, Json]) -> Json:
    told: Json = {
        "operationId": each.name,
        "tags": [each.tag],
        "summary": each.summary,
        "description": "\n\n".join(part for part in (each.detail, _roles_told(each.act)) if part),
        "responses": {str(each.status): _answer(each, referred, shown), **dict(_refusals(each))},
    }
    if each.act is None:
        told["security"] = []
    else:
        told["x-metagit-roles"] = roles_of(each.act)
    parameters = [*_in_path(each.path_shape), *_in_query(each.query)]
    if parameters:
        told["parameters"] = parameters
    if each.body is not None:
        content: Json = {"schema": referred[each.body]}
        if each.example:
            content["examples"] = {"example": {"value": each.example}}
        told["requestBody"] = {"required": True, "content": {_JSON: content}}
    return told


def roles_of(act: Act) -> list[Role]:
    """Return the roles that may do an act, the one that may do least first."""
    roles: tuple[Role, ...] = get_args(Role)
    return [role for role in roles if role in ACTS[act][1]]


def _roles_told(act: Act | None) -> str:
    if act is None:
        return "Needs no token."
    roles = roles_of(act)
    own = ", a coordinator for its own Group" if "coordinator" in roles else ""
    return f"Roles: {', '.join(roles)}{own}."


def _in_path(shape: type[Any] | None) -> Iterator[Json]:
    for each in _parameters(shape, "path"):
        yield {**each, "required": True}


def _in_query(shape: type[Any] | None) -> Iterator[Json]:
    for each in _parameters(shape, "query"):
        separated = {"style": "form", "explode": False} if each["schema"].get("type") == "array" else {}
        yield {**each, **separated}


def _parameters(shape: type[Any] | None, place: str) -> Iterator[Json]:
    if shape is None:
        return
    for name, each in adapter(shape).json_schema()["properties"].items():
        told = each.pop("description")
        del each["title"]
        yield {"name": name, "in": place, "description": told, "schema": _without_null(each)}


def _without_null(schema: Json) -> Json:
    """Return what a query may say: nothing in it is null, what is absent is not there."""
    arms = schema.pop("anyOf", None)
    if schema.get("default", 0) is None:
        del schema["default"]
    return schema if arms is None else {**next(arm for arm in arms if arm.get("type") != "null"), **schema}


def _answer(each: Operation, referred: Mapping[type[Any], Json], shown: Mapping[str, Json]) -> Json:
    told: Json = {"description": each.gives}
    if each.answer is not None:
        content: Json = {"schema": referred[each.answer]}
        if shown:
            content["examples"] = {
                name.replace(" ", "_"): {"summary": name, "value": one} for name, one in shown.items()
            }
        told["content"] = {_JSON: content}
    elif each.media is not None:
        told["content"] = {each.media: {"schema": {"type": "object"} if each.media == _JSON else {"type": "string"}}}
    return told


def _refusals(each: Operation) -> Iterator[tuple[str, Json]]:
    """Yield a response for each status with which the operation is refused, and one for all others."""
    by_status: dict[int, list[str]] = {}
    for error in each.refusals:
        by_status.setdefault(status_of(error.code), []).append(error.code)
    for status, codes in sorted(by_status.items()):
        yield str(status), _refusal(HTTPStatus(status).phrase, codes)
    if each.media != "text/plain":
        yield "default", _refusal("Any other refusal", ())


def _refusal(what: str, codes: Iterable[str]) -> Json:
    named = ", ".join(codes)
    content: Json = {"schema": {"$ref": _REFERENCE.format(model="Error")}}
    if "ACTION_ID_COLLISION" in named:
        content["examples"] = {"ACTION_ID_COLLISION": {"value": examples.COLLISION}}
    return {"description": f"{what}: {named}" if named else what, "content": {_JSON: content}}
