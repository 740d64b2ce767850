"""Whoever waits is woken when any host changed the ledger; the waits themselves are too long to be what ends."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import closing
from threading import Semaphore
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters.postgres import PostgresEventStore, alarm
from metagit_mcp.interfaces.mcp.offload import OneThread
from metagit_mcp.ports.ledger import LedgerMark
from metagit_mcp.ports.machine import Waits
from metagit_mcp.wire.requests import NextRequest, StatusRequest
from tests.scenarios.at_once import AT_ONCE, finished, no_time
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.postgres_server import PostgresServer

_LONG_S = 100.0


async def _long(seconds: float) -> None:
    await asyncio.sleep(seconds + _LONG_S)


WAITS = Waits(offload=OneThread(), sleep=_long)


@pytest.fixture(autouse=True)
def _at_once_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarm, "_AGAIN_S", 0.01)


@pytest.fixture
def wakes(monkeypatch: pytest.MonkeyPatch) -> Semaphore:
    """What was taken for a reason to wake: one for each, and the first when listening began."""
    counted = Semaphore(0)
    wake = alarm.Alarm.wake

    def woken(self: alarm.Alarm) -> None:
        # Before anybody wakes who looks at the number.
        counted.release()
        wake(self)

    monkeypatch.setattr(alarm.Alarm, "wake", woken)
    return counted


@pytest.fixture
def stores(tmp_path: Path, postgres: PostgresServer) -> Iterator[tuple[PostgresEventStore, PostgresEventStore]]:
    """The stores of two hosts on one ledger, and the one that both see."""
    url = postgres.url()
    with (
        closing(PostgresEventStore(str(tmp_path), url, named="shop")) as one,
        closing(PostgresEventStore(str(tmp_path), url, named="shop")) as other,
    ):
        append(one, "shop")
        other.mark()
        yield one, other


def append(store: PostgresEventStore, name: str) -> None:
    with store.writing(LedgerMark(), lambda: f"id of {name}") as writer:
        writer.append([("kind", 1, name.encode())])


async def heard(store: PostgresEventStore, postgres: PostgresServer) -> None:
    """Wait until somebody listens: the first notice is that something may have happened before."""
    assert await store.woken(WAITS).sleep(1) is not None
    assert len(postgres.asked("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")) == 1


async def test_a_wait_ends_when_another_host_wrote(
    stores: tuple[PostgresEventStore, PostgresEventStore], postgres: PostgresServer
) -> None:
    one, other = stores
    await heard(one, postgres)
    waits = [asyncio.ensure_future(one.woken(WAITS).sleep(1)) for _ in range(3)]
    await asyncio.sleep(0)
    await asyncio.to_thread(append, other, "news")
    passed = await asyncio.wait_for(asyncio.gather(*waits), 30)
    assert all(each is not None and each < 30 for each in passed)


async def test_who_waits_first_is_woken_however_soon_the_listener_is_there(
    stores: tuple[PostgresEventStore, PostgresEventStore], wakes: Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = stores

    class Swift(threading.Thread):
        """It listens before whoever starts it goes on."""

        def start(self) -> None:
            super().start()
            assert wakes.acquire(timeout=30)

    monkeypatch.setattr(alarm, "Thread", Swift)
    assert await asyncio.wait_for(one.woken(WAITS).sleep(1), 30) is not None


async def test_what_happens_in_another_ledger_wakes_nobody(
    stores: tuple[PostgresEventStore, PostgresEventStore], postgres: PostgresServer, tmp_path: Path, wakes: Semaphore
) -> None:
    one, other = stores
    await heard(one, postgres)
    wait = asyncio.ensure_future(one.woken(WAITS).sleep(1))
    await asyncio.sleep(0)
    with closing(PostgresEventStore(str(tmp_path), postgres.url(), named="bakery")) as foreign:
        await asyncio.to_thread(append, foreign, "bakery")
    await asyncio.to_thread(append, other, "news")
    assert await asyncio.wait_for(wait, 30) is not None
    # Notices come in the order of the commits.
    assert [wakes.acquire(blocking=False) for _ in range(3)] == [True, True, False]


async def test_a_listener_that_was_cut_off_listens_again(
    stores: tuple[PostgresEventStore, PostgresEventStore], postgres: PostgresServer
) -> None:
    one, _ = stores
    await heard(one, postgres)
    wait = asyncio.ensure_future(one.woken(WAITS).sleep(1))
    await asyncio.sleep(0)
    await asyncio.to_thread(postgres.cut)
    # What was missed meanwhile is looked for.
    assert await asyncio.wait_for(wait, 30) is not None


async def test_a_wait_lasts_its_time_where_nothing_happens_and_without_an_event_loop(
    stores: tuple[PostgresEventStore, PostgresEventStore],
) -> None:
    one, _ = stores
    short = Waits(offload=AT_ONCE.offload, sleep=no_time)
    assert [await one.woken(short).sleep(1) for _ in range(2)] == [None, None]
    assert await asyncio.to_thread(lambda: finished(one.woken(AT_ONCE).sleep(1))) is None


async def test_without_the_driver_nobody_is_woken_and_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "metagit_mcp.adapters.postgres.link", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    failed: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    with closing(PostgresEventStore(str(tmp_path), "postgresql://nowhere.invalid/x", named="shop")) as store:
        await store.woken(Waits(offload=AT_ONCE.offload, sleep=no_time)).sleep(1)
    assert failed == []


async def test_a_ledger_that_takes_its_time_stops_no_event_loop(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_in: list[str] = []
    mark = PostgresEventStore.mark

    def noted(store: PostgresEventStore) -> LedgerMark:
        asked_in.append(threading.current_thread().name)
        return mark(store)

    monkeypatch.setattr(PostgresEventStore, "mark", noted)
    (tmp_path / "a" / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(tmp_path / "a", "mcp", WAITS, ledger=postgres.url(), workspace_id="shop")
    for _ in range(2):
        await desk.application.schedule.next(NextRequest(claim=True, agent_id="w1"))
        await desk.application.schedule.status(StatusRequest())
    desk.application.close()
    assert set(asked_in) == {"file work"}


async def test_an_agent_that_waits_for_work_gets_what_another_host_gives_back(
    tmp_path: Path, postgres: PostgresServer, wakes: Semaphore
) -> None:
    desks = []
    for letter, waits in (("a", AT_ONCE), ("b", WAITS)):
        (tmp_path / letter / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
        desks.append(Desk(tmp_path / letter, "mcp", waits, ledger=postgres.url(), workspace_id="shop"))
        desks[-1].graph("g", node("a"))
    one, other = desks
    lease_id = one.lease("w1")
    asked = NextRequest(claim=True, agent_id="w2", wait_seconds=50)
    wait = asyncio.ensure_future(other.application.schedule.next(asked))
    assert await asyncio.to_thread(wakes.acquire, timeout=30)
    await asyncio.to_thread(one.report, lease_id, "released")
    answer = await asyncio.wait_for(wait, 30)
    assert [each.node_id for each in answer.decisions] == ["a"]
    for desk in desks:
        desk.application.close()
