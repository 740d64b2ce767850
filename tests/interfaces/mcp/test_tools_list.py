"""What the hosts are told of the tools: portable schemas, honest annotations, few bytes, the same every time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client

from metagit_mcp import __version__
from metagit_mcp.interfaces.mcp.guidance import instructions
from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.interfaces.mcp.tools import TOOLS
from metagit_mcp.settings import Settings
from tests.interfaces.mcp.fake_application import SETTINGS, FakeApplication
from tests.interfaces.mcp.tools_list import GOLDEN, as_text, tools_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metagit_mcp.bootstrap import Application

MODES = ("auto", "legacy")
INSTRUCTIONS = instructions(SETTINGS.toolsets)
INSTRUCTIONS_BY_DEFAULT = instructions(Settings().toolsets)
ALLOWED: dict[str, frozenset[str]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "string": frozenset({"enum", "minLength", "maxLength", "default"}),
    "integer": frozenset({"minimum", "maximum", "default"}),
    "number": frozenset({"minimum", "maximum", "default"}),
    "boolean": frozenset({"default"}),
}
EVERYWHERE = frozenset({"type", "description"})


def faults(schema: Any, path: str, *, closed: bool) -> Iterator[str]:  # noqa: ANN401 - anything may stand in a schema
    """Everything in a schema that some agent host does not accept."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if not isinstance(kind, str) or kind not in ALLOWED:
        yield f"{path}: has no single type"
        return
    for name in sorted(schema.keys() - ALLOWED[kind] - EVERYWHERE):
        yield f"{path}: {name} on {kind}"
    if not all(isinstance(each, str) for each in schema.get("enum", ())):
        yield f"{path}: enum of something else than strings"
    if "default" in schema and schema["default"] is None:
        yield f"{path}: null as default"
    yield from _faults_of_parts(schema, kind, path, closed=closed)


def _faults_of_parts(schema: dict[str, Any], kind: str, path: str, *, closed: bool) -> Iterator[str]:
    if kind == "array":
        yield from faults(schema.get("items"), f"{path}[]", closed=closed)
    if kind != "object":
        return
    if closed and schema.get("additionalProperties") is not False and not _holds_anything(schema, path):
        yield f"{path}: is not closed"
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in properties:
            yield f"{path}: requires {name}, which it does not have"
    for name, each in properties.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            yield f"{path}.{name}: is no portable name"
        yield from faults(each, f"{path}.{name}", closed=closed)


def _holds_anything(schema: dict[str, Any], path: str) -> bool:
    """Whether it stands for any object; only an Event of a Group's log is one, whose fields are not ours to name."""
    return path.endswith(".events[]") and schema == {"type": "object"}


def object_depth(schema: dict[str, Any]) -> int:
    """How many objects with properties stand inside each other."""
    if schema["type"] == "array":
        return object_depth(schema["items"])
    parts = schema.get("properties", {}).values()
    return 1 + max(map(object_depth, parts), default=0) if parts else 0


@pytest.mark.parametrize("mode", MODES)
async def test_every_schema_is_portable(mode: str) -> None:
    for tool in await tools_list(mode):
        for which, closed in (("inputSchema", True), ("outputSchema", False)):
            schema = tool[which]
            assert list(faults(schema, f"{tool['name']}.{which}", closed=closed)) == []
            assert schema["type"] == "object"
            assert schema["properties"]
            assert object_depth(schema) <= 2


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"$ref": "#/$defs/X"}, "x: has no single type"),
        ({"type": ["string", "null"]}, "x: has no single type"),
        ({"anyOf": [{"type": "string"}]}, "x: has no single type"),
        (True, "x: has no single type"),
        ({"type": "string", "format": "uri"}, "x: format on string"),
        ({"type": "integer", "exclusiveMinimum": 0}, "x: exclusiveMinimum on integer"),
        ({"type": "string", "enum": [1]}, "x: enum of something else than strings"),
        ({"type": "string", "default": None}, "x: null as default"),
        ({"type": "array"}, "x[]: has no single type"),
        ({"type": "object", "properties": {}}, "x: is not closed"),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, "x: requires a, which it does not have"),
    ],
)
def test_the_walker_finds(schema: object, fault: str) -> None:
    assert list(faults(schema, "x", closed=True)) == [fault]


@pytest.mark.parametrize("mode", MODES)
async def test_the_list_is_the_golden_one(mode: str) -> None:
    # The SDK writes the keys of a schema in another order in each era, but in the same order each time.
    listed = await tools_list(mode)
    assert listed == json.loads(GOLDEN.read_text()), (
        "if this is meant, renew it: see tests/interfaces/mcp/tools_list.py"
    )
    assert as_text(await tools_list(mode)) == as_text(listed)


async def test_every_tool_says_all_a_host_needs() -> None:
    for tool in await tools_list():
        assert re.fullmatch(r"metagit_[a-z0-9_]{1,32}", tool["name"])
        assert 0 < len(tool["title"]) <= 40
        assert 80 <= len(tool["description"]) <= 400
        assert all(each.get("description") for each in tool["inputSchema"]["properties"].values()) or (
            tool["name"] == "metagit_task_update"
        )
        # What to call next is said with the name of another tool.
        assert set(re.findall(r"metagit_\w+", tool["description"])) - {tool["name"]} <= {each.name for each in TOOLS}
        assert re.search(r"metagit_\w+", tool["description"])


async def test_annotations_say_what_a_call_may_do() -> None:
    names = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    found = {tool["name"]: tuple(tool["annotations"][name] for name in names) for tool in await tools_list()}
    assert found == {
        "metagit_schedule_next": (False, False, False, False),
        "metagit_schedule_status": (True, False, True, False),
        "metagit_schedule_policy": (False, True, True, False),
        "metagit_work_start": (False, False, True, False),
        "metagit_work_report": (False, False, True, False),
        "metagit_task_plan": (False, False, False, False),
        "metagit_task_update": (False, True, True, False),
        "metagit_group_deliver": (False, False, True, False),
        "metagit_group_estimate": (True, False, True, False),
    }


async def test_what_an_agent_cannot_do_without_is_always_loaded() -> None:
    loaded = [tool["name"] for tool in await tools_list() if tool.get("_meta") == {"anthropic/alwaysLoad": True}]
    assert loaded == ["metagit_schedule_next", "metagit_work_report"]


@pytest.mark.parametrize(
    ("toolsets", "names"),
    [
        (
            {"schedule"},
            ["metagit_schedule_next", "metagit_schedule_status", "metagit_schedule_policy"],
        ),
        ({"tasks"}, ["metagit_task_plan", "metagit_task_update"]),
        ({"work"}, ["metagit_work_start", "metagit_work_report"]),
        ({"groups"}, ["metagit_group_deliver", "metagit_group_estimate"]),
        ({"schedule", "work", "tasks", "groups"}, [entry.name for entry in TOOLS]),
        (set(), []),
    ],
)
async def test_toolsets_choose_the_tools(toolsets: set[str], names: list[str]) -> None:
    settings = replace(SETTINGS, toolsets=frozenset(toolsets))
    assert [tool["name"] for tool in await tools_list(settings=settings)] == names


@pytest.mark.parametrize("told", [INSTRUCTIONS, INSTRUCTIONS_BY_DEFAULT])
def test_the_instructions_are_short_and_their_beginning_suffices(told: str) -> None:
    assert len(told.encode()) <= 2048
    opening = told[:512]
    assert set(re.findall(r"metagit_\w+", opening)) == {"metagit_schedule_next", "metagit_work_report"}
    words = ("claim=true", "lease_id", "completed", "blocked", "failed", "released", "wait_seconds", "next_step")
    assert [word for word in words if word not in opening] == []


@pytest.mark.parametrize(("told", "settings"), [(INSTRUCTIONS, SETTINGS), (INSTRUCTIONS_BY_DEFAULT, Settings())])
async def test_the_instructions_name_only_tools_that_are_there(told: str, settings: Settings) -> None:
    assert set(re.findall(r"metagit_\w+", told)) <= {tool["name"] for tool in await tools_list(settings=settings)}


@pytest.mark.parametrize("mode", MODES)
async def test_the_server_introduces_itself_without_opening_anything(mode: str) -> None:
    def refuse() -> Application:
        raise AssertionError("opened")

    async with Client(build_server(refuse, SETTINGS), mode=mode) as client:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.title, client.server_info.version) == (
            "metagit_mcp",
            "metagit scheduler",
            __version__,
        )
        assert client.instructions == INSTRUCTIONS
        assert len((await client.list_tools()).tools) == len(TOOLS)


async def test_a_cursor_that_nobody_gave_is_refused() -> None:
    async with Client(build_server(FakeApplication().opened, SETTINGS)) as client:
        with pytest.raises(Exception, match="Unknown cursor") as caught:
            await client.list_tools(cursor="2")
    assert getattr(caught.value, "code", None) == -32602
