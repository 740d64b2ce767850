"""What hosts can read, in both eras: by its URI, as whoever asks, and never which Groups there are."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from mcp import Client, MCPError, types

from metagit_mcp.errors import GroupNotFound, StoreUnavailable
from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.wire.answer_size import LIMIT
from metagit_mcp.wire.codec import plain
from tests.interfaces.cli.fake_application import FED, OUTBOX, SAMPLES
from tests.interfaces.mcp.fake_application import SETTINGS, FakeKeeping

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from metagit_mcp.bootstrap import Application

SHOWN = SAMPLES["groups.shown"]
UNKNOWN = "Unknown resource. resources/list and resources/templates/list name what there is; ids are percent-encoded."
# The code of what is not there, by era.
NOT_FOUND = {"auto": types.INVALID_PARAMS, "legacy": -32002}


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def connected(mode: str, groups: object = None, toolsets: frozenset[str] | None = None) -> AsyncIterator[Client]:
    settings = SETTINGS if toolsets is None else replace(SETTINGS, toolsets=toolsets)
    application = SimpleNamespace(groups=groups, keeping=FakeKeeping())
    async with Client(build_server(lambda: cast("Application", application), settings), mode=mode) as client:
        yield client


def groups_with(**answers: object) -> tuple[list[tuple[str, str]], SimpleNamespace]:
    """The use cases, and what they were asked."""
    asked: list[tuple[str, str]] = []

    def use_case(name: str) -> Any:  # noqa: ANN401 - a coroutine function
        async def answer(group_id: str) -> object:
            asked.append((name, group_id))
            found = answers[name]
            if isinstance(found, Exception):
                raise found
            return found

        return answer

    return asked, SimpleNamespace(**{name: use_case(name) for name in answers})


def content(result: types.ReadResourceResult) -> types.TextResourceContents:
    (found,) = result.contents
    assert isinstance(found, types.TextResourceContents)
    return found


@pytest.mark.parametrize(
    ("uri", "question"),
    [
        ("metagit://groups/group%3Aauth", ("shown", "group:auth")),
        ("metagit://groups/group:auth", ("shown", "group:auth")),
        ("metagit://groups/agent%3A%2F%2Facme%2Fa%401", ("shown", "agent://acme/a@1")),
        ("metagit://groups/group%3aauth/outbox", ("outbox", "group:auth")),
        ("metagit://groups/outbox", ("shown", "outbox")),
        ("metagit://groups/outbox/outbox", ("outbox", "outbox")),
    ],
)
async def test_a_group_is_read_under_its_encoded_id(mode: str, uri: str, question: tuple[str, str]) -> None:
    asked, groups = groups_with(shown=SHOWN, outbox=OUTBOX)
    async with connected(mode, groups) as client:
        found = content(await client.read_resource(uri))
    assert asked == [question]
    assert (found.uri, found.mime_type) == (uri, "application/json")
    assert json.loads(found.text) == plain(SHOWN if question[0] == "shown" else OUTBOX)


async def test_a_large_outbox_is_cut_between_its_commands(mode: str) -> None:
    many = replace(OUTBOX, proposals=OUTBOX.proposals * 500, proposals_total=500)
    async with connected(mode, groups_with(outbox=many)[1]) as client:
        text = content(await client.read_resource("metagit://groups/group%3Aauth/outbox")).text
    record = json.loads(text)
    assert len(text) <= LIMIT
    assert 100 < len(record["proposals"]) < 500
    assert record["proposals"][-1] == plain(OUTBOX)["proposals"][0]
    assert record["omitted"] == [
        {
            "what": "proposals",
            "count": 500 - len(record["proposals"]),
            "how": "answer the first ones, or metagit-mcp group outbox GROUP --json",
        }
    ]


@pytest.mark.parametrize(
    "uri",
    [
        "metagit://groups/",
        "metagit://groups/group%3Aauth/inbox",
        "metagit://groups/group%3Aauth/",
        "metagit://groups/a/b/outbox",
        "metagit://groups/..",
        "metagit://groups/%2E%2E%2Fx",
        "metagit://groups/%ff",
        "metagit://groups/a%00",
        "metagit://groups/%252e%252e",
        "metagit://graphs",
        "metagit://graphs/",
        "metagit://graphs/..",
        "metagit://graphs/a/../b",
        "metagit://graphs/%2e%2e%2f%2e%2e%2fpolicy.json",
        "metagit://graphs/a/outbox",
        "metagit://schemas/..%2fpolicy",
        "metagit://schemas/nothing",
        "metagit://policy/",
        "metagit://policy/..",
        "metagit://%70olicy",
        "METAGIT://policy",
        "file:///etc/passwd",
    ],
)
async def test_what_is_no_resource_is_refused_before_anything_is_asked(mode: str, uri: str) -> None:
    async with connected(mode) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
    assert (refused.value.code, refused.value.data) == (NOT_FOUND[mode], {"uri": uri})
    assert refused.value.message == UNKNOWN


async def test_an_unknown_group_is_not_found(mode: str) -> None:
    error = GroupNotFound("No Group group:x.", hint="Begin it.", group_id="group:x")
    async with connected(mode, groups_with(shown=error)[1]) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource("metagit://groups/group%3Ax")
    assert (refused.value.code, refused.value.message) == (NOT_FOUND[mode], "No Group group:x.")
    assert refused.value.data == {"uri": "metagit://groups/group%3Ax", **error.as_record()}


@pytest.mark.parametrize("error", [StoreUnavailable("It is busy."), ValueError("the secret")])
async def test_what_cannot_be_read_is_said_without_its_insides(mode: str, error: Exception) -> None:
    async with connected(mode, groups_with(shown=error)[1]) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource("metagit://groups/group%3Ax")
    assert refused.value.code == types.INTERNAL_ERROR
    code = "STORE_UNAVAILABLE" if isinstance(error, StoreUnavailable) else "INTERNAL_ERROR"
    assert (refused.value.data["code"], "secret" in str(refused.value.data)) == (code, False)


async def test_kinds_are_listed_and_groups_are_not(mode: str) -> None:
    async with connected(mode, groups_with()[1]) as client:
        listed = (await client.list_resources()).resources
        kinds = (await client.list_resource_templates()).resource_templates
        for listing in (client.list_resources, client.list_resource_templates):
            with pytest.raises(MCPError) as refused:
                await listing(cursor="2")
            assert refused.value.code == types.INVALID_PARAMS
    assert [(each.uri, each.mime_type) for each in listed] == [
        ("metagit://decisions", "application/json"),
        ("metagit://policy", "application/json"),
        ("metagit://status", "application/json"),
    ]
    assert [(each.uri_template, each.mime_type) for each in kinds] == [
        ("metagit://graphs/{graph_id}", "application/json"),
        ("metagit://groups/{group_id}", "application/json"),
        ("metagit://groups/{group_id}/outbox", "application/json"),
        ("metagit://schemas/{name}", "application/schema+json"),
    ]
    assert all(each.title and each.description for each in listed)
    assert all(each.title and each.description for each in kinds)


@pytest.mark.parametrize(
    ("toolsets", "listed"),
    [({"schedule", "work"}, ["graphs/{graph_id}", "schemas/{name}"]), ({"groups"}, ["groups/{group_id}"])],
)
async def test_a_toolset_has_its_resources_alone(mode: str, toolsets: set[str], listed: list[str]) -> None:
    async with connected(mode, toolsets=frozenset(toolsets)) as client:
        kinds = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
        whole = (await client.list_resources()).resources
        foreign = "metagit://policy" if toolsets == {"groups"} else "metagit://groups/group%3Ax"
        with pytest.raises(MCPError) as refused:
            await client.read_resource(foreign)
    assert [each.removeprefix("metagit://") for each in kinds if not each.endswith("/outbox")] == listed
    assert bool(whole) == ("schedule" in toolsets)
    assert refused.value.message == UNKNOWN


async def test_without_either_toolset_there_are_no_resources(mode: str) -> None:
    async with connected(mode, toolsets=frozenset({"work"})) as client:
        assert client.server_capabilities.resources is None
        with pytest.raises(MCPError) as refused:
            await client.read_resource("metagit://groups/group%3Ax")
    assert refused.value.code == types.METHOD_NOT_FOUND
    assert FED.group_id not in str(refused.value)
