"""Subscriptions over HTTP, in both protocol eras: told soon, to whoever may know it, while its token is good."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.interfaces.http.serving import Server, issued, revoke
from tests.interfaces.mcp.hearing import MODES, STATUS, WAIT_S, Ears, heard_over_a_stream, subscribe
from tests.soon import soon
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from mcp.client.subscriptions import Subscription

SHOP, OTHER = "metagit://graphs/shop", "metagit://graphs/other"
URIS = (STATUS, SHOP, OTHER)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    root = tmp_path_factory.mktemp("heard") / "workspace"
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(root)
    desk.graph("shop", node("one"))
    desk.graph("other", node("two"))
    return desk


@pytest.fixture(scope="module")
def server(desk: Desk) -> Iterator[Server]:
    with Server(desk.root, clock=desk.clock) as server:
        yield server


@asynccontextmanager
async def called(server: Server, secret: str, mode: str) -> AsyncIterator[tuple[Client, Ears]]:
    """Somebody who calls with this secret."""
    ears = Ears()
    url = f"http://127.0.0.1:{server.port}/mcp"
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=WAIT_S) as line:
        transport = streamable_http_client(url, http_client=line)
        async with Client(transport, mode=mode, message_handler=ears.hear if mode == "legacy" else None) as client:
            yield client, ears


@asynccontextmanager
async def hearing(server: Server, secret: str, mode: str) -> AsyncIterator[Ears]:
    """Somebody who wants to hear of everything."""
    async with called(server, secret, mode) as (client, ears):
        if mode == "legacy":
            for uri in URIS:
                await subscribe(client, uri)
            yield ears
        else:
            async with heard_over_a_stream(client, ears, *URIS):
                yield ears


async def test_what_changes_is_told_soon(desk: Desk, server: Server, mode: str) -> None:
    secret, _ = issued(desk, "viewer")
    async with hearing(server, secret, mode) as ears:
        for attempt in soon():
            with attempt:
                desk.graph("shop", node("one", title=f"heard by {mode}, {attempt.number}"))
                assert await ears.until(STATUS, SHOP) == {STATUS, SHOP}
        desk.pause("agent", mode)
        assert await ears.next() == STATUS


async def test_a_coordinator_hears_of_its_group_alone(desk: Desk, server: Server, mode: str) -> None:
    secret, _ = issued(desk, "coordinator", "boss", group_id="shop")
    everything, _ = issued(desk, "operator")
    async with hearing(server, secret, mode) as ears, hearing(server, everything, mode) as all_ears:
        desk.graph("other", node("two", title=f"not for the coordinator of {mode}"))
        await all_ears.until(STATUS, OTHER)
        desk.graph("shop", node("one", title=f"for the coordinator of {mode}"))
        await all_ears.until(SHOP)
        assert await ears.next() == SHOP
        assert ears.rest() == []


async def test_a_revoked_token_hears_nothing_more(desk: Desk, server: Server) -> None:
    secret, token_id = issued(desk, "viewer", "leaver")
    async with called(server, secret, "auto") as (client, _), client.listen(resource_subscriptions=URIS) as stream:
        revoke(desk, token_id)
        desk.graph("shop", node("one", title="after that"))
        assert await asyncio.wait_for(_all_of(stream), WAIT_S) == []


async def test_who_listens_is_told_of_the_end_and_does_not_keep_the_server(desk: Desk) -> None:
    secret, _ = issued(desk, "viewer", "stayer")
    for attempt in soon(3.0):
        with Server(desk.root, clock=desk.clock) as server:
            async with (
                called(server, secret, "auto") as (client, _),
                client.listen(resource_subscriptions=URIS) as stream,
            ):
                with attempt:
                    ended = asyncio.create_task(asyncio.to_thread(server.end))
                    assert await asyncio.wait_for(_all_of(stream), WAIT_S) == []
                    assert await ended == 0


async def _all_of(stream: Subscription) -> list[object]:
    return [event async for event in stream]
