"""What a host that subscribed is told, in both protocol eras: soon, once, and nothing that is not for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, MCPError, types

from metagit_mcp.application.caller import Caller
from metagit_mcp.errors import WorkspaceNotFound
from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.interfaces.mcp.telling import MOST_URIS
from metagit_mcp.settings import Settings
from tests.interfaces.mcp.fake_application import SETTINGS, FakeApplication
from tests.interfaces.mcp.hearing import (
    DECISIONS,
    MODES,
    POLICY,
    STATUS,
    Ears,
    heard_over_a_stream,
    listening,
    server_on,
    subscribe,
    unsubscribe,
)
from tests.interfaces.mcp.live import NEXT, node, write_graph
from tests.soon import soon

if TYPE_CHECKING:
    from pathlib import Path

    from metagit_mcp.bootstrap import Application

SHOP = "metagit://graphs/shop"
COORDINATOR = Caller(role="coordinator", group_id="shop")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_graph(tmp_path, node("one"), node("two"))
    return tmp_path


def rename(root: Path, title: str) -> None:
    write_graph(root, node("one", title=title), node("two"))


async def ask_to_hear(client: Client, mode: str, *uris: str) -> None:
    """Subscribe and go again."""
    if mode == "legacy":
        for uri in uris:
            await subscribe(client, uri)
    else:
        async with client.listen(resource_subscriptions=uris):
            pass


# --- what is told ----------------------------------------------------------------------------------------------------


async def test_what_another_program_writes_is_told_soon(root: Path, mode: str) -> None:
    async with listening(server_on(root), mode, STATUS, SHOP, POLICY) as (_, ears):
        for attempt in soon():
            with attempt:
                rename(root, f"another {attempt.number}")
                assert await ears.until(SHOP, STATUS) == {SHOP, STATUS}


async def test_what_another_server_does_is_told_soon(root: Path, mode: str) -> None:
    write_graph(root, *(node(f"n{number}") for number in range(9)))
    hearing = listening(server_on(root), mode, STATUS, DECISIONS, POLICY)
    async with hearing as (_, ears), Client(server_on(root)) as other:
        for attempt in soon():
            await other.call_tool(NEXT, {"claim": True, "agent_id": f"team/{attempt.number}"})
            with attempt:
                assert await ears.until(STATUS, DECISIONS) == {STATUS, DECISIONS}
        await other.call_tool("metagit_schedule_policy", {"action": "set", "priority": 2})
        assert DECISIONS not in await ears.until(POLICY)


async def test_a_uri_is_told_as_it_was_given(root: Path, mode: str) -> None:
    async with listening(server_on(root), mode, "metagit://graphs/%73hop") as (_, ears):
        rename(root, "another")
        assert await ears.next() == "metagit://graphs/%73hop"


async def test_what_is_not_there_yet_is_told_when_it_comes(root: Path, mode: str) -> None:
    async with listening(server_on(root), mode, "metagit://graphs/later") as (_, ears):
        path = root / ".metagit" / "tasks" / "graphs" / "later.json"
        path.write_text('{"graph_id": "later", "title": "Later", "nodes": []}')
        assert await ears.next() == "metagit://graphs/later"


async def test_what_is_no_resource_is_taken_and_never_told(root: Path, mode: str) -> None:
    odd = ("metagit://graphs/..", "test://watched", "metagit://nothing")
    async with listening(server_on(root), mode, *odd, STATUS) as (_, ears):
        assert ears.granted == ([STATUS] if mode == "auto" else [])
        rename(root, "another")
        assert await ears.until(STATUS) == {STATUS}


async def test_who_subscribes_to_nothing_that_is_there_is_not_refused(mode: str) -> None:
    async with listening(build_server(FakeApplication().opened, SETTINGS), mode, "test://watched") as (client, ears):
        assert ears.granted == []
        if mode == "legacy":
            await unsubscribe(client, "test://watched")


async def test_what_was_unsubscribed_is_told_no_more(root: Path) -> None:
    server = server_on(root)
    async with listening(server, "legacy", STATUS, SHOP, SHOP) as (client, ears):
        await unsubscribe(client, STATUS)
        rename(root, "another")
        assert await ears.next() == SHOP
        await unsubscribe(client, SHOP)
        assert server.telling is not None
        assert server.telling.listeners == 0
        await subscribe(client, SHOP)
        rename(root, "a third")
        assert await ears.next() == SHOP


async def test_a_client_may_have_several_streams(root: Path) -> None:
    ears = Ears()
    async with (
        listening(server_on(root), "auto", STATUS) as (client, first),
        heard_over_a_stream(client, ears, SHOP, "metagit://schemas/policy"),
    ):
        assert ears.granted == [SHOP, "metagit://schemas/policy"]
        rename(root, "another")
        assert (await first.next(), await ears.next()) == (STATUS, SHOP)


# --- who is told -----------------------------------------------------------------------------------------------------


async def test_a_coordinator_hears_of_its_group_alone(root: Path, mode: str) -> None:
    other = root / ".metagit" / "tasks" / "graphs" / "other.json"
    uris = (STATUS, POLICY, DECISIONS, "metagit://graphs/other", "metagit://graphs/unknown", SHOP)
    async with listening(server_on(root, lambda: COORDINATOR), mode, *uris) as (client, ears):
        assert ears.granted == ([SHOP] if mode == "auto" else [])
        other.write_text('{"graph_id": "other", "title": "Other", "nodes": []}')
        async with listening(server_on(root), "auto", "metagit://graphs/other", SHOP) as (_, all_ears):
            other.write_text('{"graph_id": "other", "title": "Another", "nodes": []}')
            assert await all_ears.next() == "metagit://graphs/other"
            rename(root, "another")
            await all_ears.until(SHOP)
        assert await ears.next() == SHOP
        assert (await client.list_resources()).resources == []


@pytest.mark.parametrize("uri", [STATUS, POLICY, DECISIONS])
async def test_a_coordinator_reads_nothing_of_the_whole_workspace(root: Path, mode: str, uri: str) -> None:
    async with Client(server_on(root, lambda: COORDINATOR), mode=mode) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
        assert (refused.value.code, refused.value.data["code"]) == (types.INVALID_REQUEST, "AUTH_FORBIDDEN")
        own = (await client.read_resource(SHOP)).contents
    assert [each.uri for each in own] == [SHOP]


async def test_to_a_coordinator_what_is_foreign_is_what_is_not_there(root: Path, mode: str) -> None:
    (root / ".metagit" / "tasks" / "graphs" / "other.json").write_text('{"graph_id": "other", "nodes": []}')
    told = []
    async with Client(server_on(root, lambda: COORDINATOR), mode=mode) as client:
        for name in ("other", "ghost"):
            for uri in (f"metagit://graphs/{name}", f"metagit://groups/{name}", f"metagit://groups/{name}/outbox"):
                with pytest.raises(MCPError) as refused:
                    await client.read_resource(uri)
                told.append((refused.value.code, str(refused.value.data).replace(name, "X"), refused.value.message))
    assert [each[:2] for each in told[:3]] == [each[:2] for each in told[3:]]
    assert [each[2].replace("other", "ghost") for each in told[:3]] == [each[2] for each in told[3:]]


# --- how it ends -----------------------------------------------------------------------------------------------------


async def test_nothing_is_left_when_the_client_is_gone(root: Path, mode: str) -> None:
    server = server_on(root)
    assert server.telling is not None
    async with listening(server, mode, STATUS):
        assert server.telling.listeners == 1
    assert server.telling.listeners == 0


async def test_the_server_ends_its_streams_in_good_order(root: Path) -> None:
    server = server_on(root)
    async with Client(server) as client, client.listen(resource_subscriptions=[STATUS]) as stream:
        server.end_streams()
        assert [event async for event in stream] == []
    build_server(FakeApplication().opened, Settings(toolsets=frozenset({"work"}))).end_streams()


async def test_a_workspace_that_is_not_there_is_said(mode: str) -> None:
    def missing() -> Application:
        raise WorkspaceNotFound("There is none.", hint="Make one.")

    server = build_server(missing, SETTINGS)
    assert server.telling is not None
    async with Client(server, mode=mode) as client:
        with pytest.raises(MCPError) as refused:
            await ask_to_hear(client, mode, STATUS)
        assert (refused.value.code, refused.value.data["code"]) == (types.INTERNAL_ERROR, "WORKSPACE_NOT_FOUND")
        assert server.telling.listeners == 0


async def test_too_many_resources_are_refused(root: Path, mode: str) -> None:
    uris = [f"metagit://graphs/g{number}" for number in range(MOST_URIS)]
    async with listening(server_on(root), mode, *uris) as (client, _):
        with pytest.raises(MCPError, match=f"At most {MOST_URIS} resources") as refused:
            await ask_to_hear(client, mode, *([STATUS] if mode == "legacy" else [*uris, STATUS]))
        assert refused.value.code == types.INVALID_PARAMS


async def test_who_did_not_shake_hands_to_the_end_is_told_why() -> None:
    server = build_server(FakeApplication().opened, SETTINGS)
    entry = server.get_request_handler("resources/subscribe")
    assert entry is not None
    ctx: Any = SimpleNamespace(session=SimpleNamespace(client_params=None))
    with pytest.raises(MCPError, match="Nothing can be told over this connection"):
        await entry.handler(ctx, types.SubscribeRequestParams(uri=STATUS))
    greeting = server.get_notification_handler("notifications/initialized")
    assert greeting is not None
    await greeting.handler(ctx, types.NotificationParams())
