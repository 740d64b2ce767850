"""The one look for all streams: only while somebody listens, within limits, and whatever goes wrong."""

from __future__ import annotations

import asyncio
import gc
import logging
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.news.topics import Topic
from metagit_mcp.errors import CapacityExceeded, StoreUnavailable
from metagit_mcp.interfaces.mcp import telling as module
from metagit_mcp.interfaces.mcp.telling import Stream, Telling

if TYPE_CHECKING:
    from metagit_mcp.interfaces.mcp.opening import LateApplication

WAIT_S = 20.0
STATUS = Topic(kind="status")
URI = "metagit://status"


@dataclass
class FakeNoticing:
    """Says what a test puts into it; `looks` are how often it was asked."""

    news_next: list[frozenset[Topic] | Exception] = field(default_factory=list)
    good: bool = True
    ends: bool = False
    looks: int = 0
    begun: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def begin(self) -> None:
        self.begun += 1

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 100)
        if self.ends:
            raise StoreUnavailable

    async def news(self) -> frozenset[Topic]:
        self.looks += 1
        self._news.set()
        found = self.news_next.pop(0) if self.news_next else frozenset[Topic]()
        if isinstance(found, Exception):
            raise found
        return found

    def is_good(self, _: Caller | None) -> bool:
        return self.good

    async def until(self, looks: int) -> None:
        while self.looks < looks:
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), WAIT_S)


@pytest.fixture
def noticing(monkeypatch: pytest.MonkeyPatch) -> FakeNoticing:
    monkeypatch.setattr(module, "_LOOK_EVERY_S", 0.001)
    return FakeNoticing()


@pytest.fixture
def telling(noticing: FakeNoticing) -> Telling:
    async def application() -> Any:  # noqa: ANN401 - an application
        return SimpleNamespace(noticing=noticing)

    return Telling(cast("LateApplication", application))


def stream(caller: Caller | None = None) -> Stream:
    made = Stream(caller)
    made.topics[URI] = STATUS
    return made


async def heard(listener: Stream) -> list[str]:
    """All that a stream gives until it ends."""
    return await asyncio.wait_for(_all_of(listener), WAIT_S)


async def _all_of(listener: Stream) -> list[str]:
    return [uri async for uri in listener]


async def test_it_looks_only_while_somebody_listens(telling: Telling, noticing: FakeNoticing) -> None:
    first, second = stream(), stream()
    for listener in (first, second, first):
        await telling.join(listener)
    await noticing.until(2)
    telling.leave(first)
    looks = noticing.looks
    await noticing.until(looks + 2)
    telling.leave(second)
    assert (telling.listeners, noticing.begun) == (0, 1)
    looks = noticing.looks
    for _ in range(50):
        await asyncio.sleep(0)
    assert noticing.looks == looks
    # Whoever comes later begins anew, with how things are by then.
    await telling.join(first)
    await noticing.until(looks + 1)
    assert noticing.begun == 2
    telling.leave(first)


async def test_what_happens_twice_is_told_once(telling: Telling, noticing: FakeNoticing) -> None:
    listener = stream()
    await telling.join(listener)
    noticing.news_next += [frozenset({STATUS}), frozenset({STATUS, Topic(kind="policy")}), frozenset({STATUS})]
    await noticing.until(noticing.looks + 4)
    telling.end()
    assert await heard(listener) == [URI]
    telling.leave(listener)


async def test_a_look_that_fails_is_said_once_and_ends_nothing(
    telling: Telling, noticing: FakeNoticing, caplog: pytest.LogCaptureFixture
) -> None:
    listener = stream()
    noticing.news_next += [ValueError("a"), ValueError("a"), frozenset({STATUS})]
    await telling.join(listener)
    with caplog.at_level(logging.ERROR):
        await noticing.until(4)
    telling.end()
    assert await heard(listener) == [URI]
    assert [each.message for each in caplog.records] == ["looking for changes failed"]
    telling.leave(listener)


async def test_a_token_that_is_no_longer_good_ends_its_stream(telling: Telling, noticing: FakeNoticing) -> None:
    listener = stream(Caller(role="viewer"))
    await telling.join(listener)
    noticing.good = False
    noticing.news_next.append(frozenset({STATUS}))
    assert await heard(listener) == []
    telling.leave(listener)


async def test_the_end_of_the_server_is_no_error_of_the_look(telling: Telling, noticing: FakeNoticing) -> None:
    said: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    listener = stream()
    await telling.join(listener)
    await noticing.until(1)
    looks = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
    noticing.ends = True
    await asyncio.wait_for(asyncio.wait(looks), WAIT_S)
    looks.clear()
    telling.leave(listener)
    gc.collect()
    assert said == []


async def test_there_is_an_end_to_the_streams_of_one_caller_and_of_all(
    telling: Telling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_OF_ONE_CALLER", 2)
    monkeypatch.setattr(module, "_MOST_STREAMS", 3)
    ada, bob = Caller(role="agent", claims_as="ada"), Caller(role="agent", claims_as="bob")
    several = [stream(ada), stream(ada), stream(bob)]
    for each in several[:2]:
        await telling.join(each)
    with pytest.raises(CapacityExceeded):
        await telling.join(stream(ada))
    await telling.join(several[2])
    with pytest.raises(CapacityExceeded):
        await telling.join(stream(bob))
    telling.leave(several[0])
    await telling.join(stream(bob))
    assert telling.listeners == 3


async def test_whoever_goes_while_it_begins_leaves_nothing(noticing: FakeNoticing) -> None:
    never = asyncio.Event()

    async def application() -> Any:  # noqa: ANN401 - it never comes
        await never.wait()

    telling = Telling(cast("LateApplication", application))
    joining = asyncio.create_task(telling.join(stream()))
    await asyncio.sleep(0)
    joining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await joining
    assert (telling.listeners, noticing.begun) == (0, 0)
