"""The ids that hosts complete in prompts and resources, in both protocol eras."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from mcp import Client, types

from metagit_mcp.application.caller import Caller
from metagit_mcp.errors import WorkspaceNotFound
from metagit_mcp.interfaces.mcp.server import build_server
from tests.interfaces.mcp.fake_application import SETTINGS, FakeApplication
from tests.interfaces.mcp.hearing import MODES, server_on
from tests.interfaces.mcp.live import node, write_graph

if TYPE_CHECKING:
    from pathlib import Path

    from metagit_mcp.bootstrap import Application

Ref = types.PromptReference | types.ResourceTemplateReference
LOOP, UNBLOCK = types.PromptReference(name="work_loop"), types.PromptReference(name="unblock")
GRAPH = types.ResourceTemplateReference(uri="metagit://graphs/{graph_id}")
GROUP = types.ResourceTemplateReference(uri="metagit://groups/{group_id}/outbox")
SCHEMA = types.ResourceTemplateReference(uri="metagit://schemas/{name}")
NOTHING = types.Completion(values=[], total=0, has_more=False)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_graph(tmp_path, node("one"), node("once"), *(node(f"n{number:03}") for number in range(100)))
    (tmp_path / ".metagit" / "tasks" / "graphs" / "ship.json").write_text('{"graph_id": "ship", "nodes": []}')
    return tmp_path


async def completed(client: Client, ref: Ref, name: str, typed: str, **given: str) -> types.Completion:
    argument = {"name": name, "value": typed}
    return (await client.complete(ref, argument, context_arguments=given or None)).completion


def all_of(*ids: str) -> types.Completion:
    return types.Completion(values=list(ids), total=len(ids), has_more=False)


async def test_ids_are_completed_where_they_are_taken(root: Path, mode: str) -> None:
    async with Client(server_on(root), mode=mode) as client:
        await client.call_tool("metagit_work_start", {"node_id": "once", "agent_id": "worker"})
        assert client.server_capabilities.completions == types.CompletionsCapability()
        assert await completed(client, LOOP, "graph_id", "s") == all_of("ship", "shop")
        assert await completed(client, GRAPH, "graph_id", "sho") == all_of("shop")
        assert await completed(client, UNBLOCK, "node_id", "on") == all_of("once", "one")
        assert await completed(client, UNBLOCK, "node_id", "on", graph_id="ship") == NOTHING
        assert await completed(client, LOOP, "agent_id", "") == all_of("worker")
        assert await completed(client, GROUP, "group_id", "") == NOTHING
        assert await completed(client, SCHEMA, "name", "group") == all_of("group", "group_outbox")
        many = await completed(client, UNBLOCK, "node_id", "", graph_id="shop")
        assert (len(many.values), many.total, many.has_more) == (100, 102, True)


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        (LOOP, "node_id"),
        (LOOP, "colour"),
        (types.PromptReference(name="unknown"), "graph_id"),
        (types.ResourceTemplateReference(uri="metagit://policy"), "name"),
        (types.ResourceTemplateReference(uri="test://{id}"), "id"),
    ],
)
async def test_what_is_not_taken_is_completed_with_nothing(mode: str, ref: Ref, name: str) -> None:
    async with Client(build_server(FakeApplication().opened, SETTINGS), mode=mode) as client:
        assert await completed(client, ref, name, "") == NOTHING


async def test_without_a_workspace_nothing_is_known(mode: str) -> None:
    def missing() -> Application:
        raise WorkspaceNotFound

    async with Client(build_server(missing, SETTINGS), mode=mode) as client:
        assert await completed(client, LOOP, "graph_id", "") == NOTHING


async def test_to_a_coordinator_its_group_is_all_there_is(root: Path, mode: str) -> None:
    coordinator = Caller(role="coordinator", group_id="ship")
    async with Client(server_on(root, lambda: coordinator), mode=mode) as client:
        assert await completed(client, LOOP, "graph_id", "") == all_of("ship")
        assert await completed(client, UNBLOCK, "node_id", "", graph_id="shop") == NOTHING
        assert await completed(client, LOOP, "agent_id", "") == NOTHING


async def test_without_prompts_and_resources_nothing_is_completed(mode: str) -> None:
    settings = replace(SETTINGS, toolsets=frozenset({"work"}))
    async with Client(build_server(FakeApplication().opened, settings), mode=mode) as client:
        assert client.server_capabilities.completions is None
