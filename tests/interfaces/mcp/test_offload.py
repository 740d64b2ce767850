"""Blocking work runs beside the event loop, one piece at a time, and nobody waits for what nobody wants."""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest

from metagit_mcp.interfaces.mcp.offload import OneThread

WAIT_S = 20.0


async def test_the_result_comes_from_one_other_thread() -> None:
    offload = OneThread()
    names = await asyncio.gather(*(offload(lambda: threading.current_thread().name) for _ in range(5)))
    assert names == ["file work"] * 5
    assert len({await offload(threading.get_ident) for _ in range(5)} - {threading.get_ident()}) == 1


async def test_pieces_run_in_order_and_never_at_once() -> None:
    offload, trace = OneThread(), list[str]()

    def piece(number: int) -> None:
        trace.append(f"begin {number}")
        trace.append(f"end {number}")

    await asyncio.gather(*(offload(lambda number=number: piece(number)) for number in range(50)))  # type: ignore[misc]  # a default binds the number
    assert trace == [f"{what} {number}" for number in range(50) for what in ("begin", "end")]


async def test_an_error_comes_back_and_the_thread_goes_on() -> None:
    offload = OneThread()

    def fail() -> None:
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        await offload(fail)
    assert await offload(lambda: 7) == 7


@pytest.mark.parametrize("error", [StopIteration, SystemExit, KeyboardInterrupt])
async def test_what_would_end_more_than_the_call_is_kept_in_bounds(error: type[BaseException]) -> None:
    offload = OneThread()

    def fail() -> None:
        raise error

    with pytest.raises(RuntimeError, match=f"^{error.__name__} in file work$"):
        await offload(fail)
    assert await offload(lambda: 7) == 7


async def test_a_cancelled_caller_does_not_wait() -> None:
    offload, begun, end, done = OneThread(), threading.Event(), threading.Event(), list[int]()

    def slow() -> None:
        begun.set()
        assert end.wait(WAIT_S)
        done.append(1)

    async with asyncio.timeout(WAIT_S):
        first = asyncio.create_task(offload(slow))
        second = asyncio.create_task(offload(lambda: done.append(2)))
        await asyncio.to_thread(begun.wait, WAIT_S)
        for task in (first, second):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        end.set()
        assert await offload(done.copy) == [1]


async def test_nothing_begins_for_a_caller_that_was_cancelled_before_it_asked() -> None:
    offload, done = OneThread(), list[int]()
    for _ in range(20):
        with anyio.CancelScope() as scope:
            scope.cancel()
            # Nothing tells a task that it is cancelled until it waits for something.
            await offload(lambda: done.append(1))
    async with asyncio.timeout(WAIT_S):
        assert await offload(done.copy) == []


def test_work_that_outlives_its_loop_ends_unseen() -> None:
    offload, end, done = OneThread(), threading.Event(), threading.Event()

    def slow() -> None:
        assert end.wait(WAIT_S)

    async def leave() -> None:
        asyncio.create_task(offload(slow))  # noqa: RUF006 - it is left alone on purpose
        await asyncio.sleep(0)

    asyncio.run(leave())
    end.set()
    asyncio.run(asyncio.wait_for(offload(done.set), WAIT_S))
    assert done.is_set()


def test_the_end_waits_for_a_change_but_not_for_long() -> None:
    offload, begun, end, done = OneThread(), threading.Event(), threading.Event(), list[str]()

    def change() -> None:
        begun.set()
        assert end.wait(WAIT_S)
        done.append("changed")

    async def leave() -> None:
        asyncio.create_task(offload(change))  # noqa: RUF006 - it is left alone on purpose
        assert await asyncio.to_thread(begun.wait, WAIT_S)

    offload.drain(WAIT_S)  # nothing was ever asked of it
    asyncio.run(leave())
    offload.drain(0.01)
    assert done == []
    end.set()
    offload.drain(WAIT_S)
    assert done == ["changed"]
