"""A host that subscribes to resources of a real workspace, in either era. It must not know what it should hear."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp import Client, types

from metagit_mcp.bootstrap import open_application
from metagit_mcp.interfaces.mcp.offload import OneThread
from metagit_mcp.interfaces.mcp.opening import the_process
from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.ports.machine import Waits
from metagit_mcp.settings import TOOLSETS, Settings
from tests.interfaces.mcp.live import asleep

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from metagit_mcp.interfaces.mcp.opening import Identify
    from metagit_mcp.interfaces.mcp.subscriptions import TellingServer

MODES = ("auto", "legacy")
WAIT_S = 20.0
POLICY, STATUS, DECISIONS = "metagit://policy", "metagit://status", "metagit://decisions"


class Ears:
    """What one subscriber was told, in order."""

    def __init__(self) -> None:
        self._heard: asyncio.Queue[str] = asyncio.Queue()
        self.granted: list[str] = []

    def take(self, uri: str) -> None:
        self._heard.put_nowait(uri)

    async def hear(self, message: Any) -> None:  # noqa: ANN401 - whatever a server sends
        if isinstance(message, types.ResourceUpdatedNotification):
            self.take(message.params.uri)

    async def next(self) -> str:
        """Wait for the next, a bounded time."""
        return await asyncio.wait_for(self._heard.get(), WAIT_S)

    def rest(self) -> list[str]:
        """What was told and not asked for yet."""
        return [self._heard.get_nowait() for _ in range(self._heard.qsize())]

    async def until(self, *uris: str) -> set[str]:
        """Wait until each of these was told, and return all that was told by then."""
        told: set[str] = set()
        while not told.issuperset(uris):
            told.add(await self.next())
        return told


def server_on(root: Path, identify: Identify = the_process, **settings: Any) -> TellingServer:  # noqa: ANN401 - any field
    """A server on the workspace, as a process of its own would be."""
    known = Settings(workspace=str(root), toolsets=frozenset(TOOLSETS), watch="stat", **settings)
    waits = Waits(offload=OneThread(), sleep=asleep)
    return build_server(partial(open_application, known, surface="mcp", waits=waits), known, identify=identify)


async def subscribe(client: Client, uri: str) -> None:
    request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
    await client.session.send_request(request, types.EmptyResult)


async def unsubscribe(client: Client, uri: str) -> None:
    request = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
    await client.session.send_request(request, types.EmptyResult)


@asynccontextmanager
async def listening(server: TellingServer, mode: str, *uris: str) -> AsyncIterator[tuple[Client, Ears]]:
    """A client that hears of these resources, by the way of its era."""
    ears = Ears()
    # Since 2026-07-28 each stream has its own.
    handler = ears.hear if mode == "legacy" else None
    async with Client(server, mode=mode, message_handler=handler) as client:
        if mode == "legacy":
            for uri in uris:
                await subscribe(client, uri)
            yield client, ears
        else:
            async with heard_over_a_stream(client, ears, *uris):
                yield client, ears


@asynccontextmanager
async def heard_over_a_stream(client: Client, ears: Ears, *uris: str) -> AsyncIterator[None]:
    async with client.listen(resource_subscriptions=uris) as stream:
        ears.granted = list(stream.honored.resource_subscriptions or ())

        async def pass_on() -> None:
            async for event in stream:
                ears.take(event.uri)  # type: ignore[union-attr]  # no list ever changes

        passing = asyncio.create_task(pass_on())
        yield
        passing.cancel()
