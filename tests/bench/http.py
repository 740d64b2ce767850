"""What HTTP costs: a claim against a no-op behind the same guard and identity, idle memory, and who looks on.

The client is a bare connection of asyncio, so that what is measured is the server. Where several processes are spoken
of, another server on the same workspace claims, as another host's agent would.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Final

from tests.bench import NOOP
from tests.bench.claims import NODES, claimable, places
from tests.bench.series import Row, ratio_row, spread
from tests.interop.peer import environment
from tests.soak.calls import LEGACY, MODERN, Client, Era, Said, Web
from tests.soak.servers import Server
from tests.soak.tokens import issued

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
    from pathlib import Path

MANY: Final = 32
SUBSCRIBERS: Final = 200
_IDLE_S: Final = 10.0
_WITHIN_S: Final = 20.0
_URIS: Final = ("metagit://status", "metagit://decisions")
_MIB: Final = 2**20


class Failed(Exception):
    """The server refused what it should do."""


def agents(count: int) -> list[str]:
    return [f"bench-{number:02}" for number in range(count)]


@asynccontextmanager
async def serving(folder: Path, name: str = "a", module: str = "metagit_mcp") -> AsyncIterator[Server]:
    """A server process on a workspace."""
    server = Server(folder, name, environment(), module=module)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


# --- a claim against a no-op ---------------------------------------------------------------------------------------


def claims_over_http(root: Path, rounds: int) -> Iterator[Row]:
    """`next(claim)` over HTTP, of one client and of many at once, against a tool that only returns as much text."""
    with places(root) as several:
        for place, folder in several:
            for number, (clients, era) in enumerate(((1, MODERN), (1, LEGACY), (MANY, MODERN))):
                there = claimable(folder / f"http-{number}")
                series = asyncio.run(_against_noop(there, clients, era, rounds if clients == 1 else rounds // 10))
                who = f"{clients} client{'s at once' if clients > 1 else ''} of {era}"
                yield ratio_row(f"claim over HTTP, {NODES:,} nodes, {who}, {place}", None, *series)


async def _against_noop(folder: Path, clients: int, era: Era, rounds: int) -> tuple[list[float], list[float]]:
    secrets = await issued(str(folder), [f"{name}=agent" for name in agents(clients)])
    ours: list[float] = []
    other: list[float] = []
    async with serving(folder, module="tests.bench.noop_http") as server, AsyncExitStack() as stack:
        callers = [Client(server.port, secrets[name], era) for name in agents(clients)]
        for caller in callers:
            await stack.enter_async_context(caller.line)
        size = len(str((await _claimed(callers[0])).record))
        await _give_back(callers)

        async def claiming() -> None:
            ours.extend(await _at_once(callers, _claimed))
            await _give_back(callers)

        async def doing_nothing() -> None:
            other.extend(await _at_once(callers, lambda caller: _ok(caller, NOOP, size=size)))

        for number in range(rounds + 3):
            if number == 3:
                ours.clear()
                other.clear()
            for each in (claiming, doing_nothing) if number % 2 else (doing_nothing, claiming):
                await each()
    return ours, other


async def _at_once(callers: Sequence[Client], call: Callable[[Client], Coroutine[None, None, Said]]) -> list[float]:
    """The seconds of each of their calls, all made at the same time."""

    async def timed(caller: Client) -> float:
        begun = perf_counter()
        await call(caller)
        return perf_counter() - begun

    return await asyncio.gather(*map(timed, callers))


async def _claimed(caller: Client) -> Said:
    return await _ok(caller, "metagit_schedule_next", claim=True)


async def _give_back(callers: Sequence[Client]) -> None:
    """Complete what each holds; it is told what that is by a claim that gives nothing more."""
    for caller in callers:
        for lease in (await _claimed(caller)).record["held"]:
            await _ok(caller, "metagit_work_report", lease_id=lease["lease_id"], state="completed")


async def _ok(caller: Client, tool: str, **arguments: object) -> Said:
    said = await caller.call(tool, arguments)
    if not said.is_ok:
        raise Failed(f"{tool}: {said}")
    return said


# --- who looks on ---------------------------------------------------------------------------------------------------


def looking_on(root: Path, rounds: int) -> Iterator[Row]:
    """Idle memory; and what many who look on cost, and how soon they hear of what another process did."""
    yield from asyncio.run(_idle(claimable(root / "http-idle", 1_000)))
    yield from asyncio.run(_board_latency(claimable(root / "http-board", 1_000), rounds))
    for kind in ("the board's stream", "subscriptions/listen"):
        yield from asyncio.run(_many(claimable(root / f"http-{kind[:3]}", 1_000), kind, min(rounds, 20)))


async def _idle(folder: Path) -> list[Row]:
    secrets = await issued(str(folder), ["screen=viewer"])
    async with serving(folder) as server:
        at_first = server.resident_bytes()
        web = Web(server.port, secrets["screen"])
        async with web.line:
            for _ in range(3):
                await web.get("/v1/board")
        before = server.processor_seconds()
        await asyncio.sleep(_IDLE_S)
        busy = (server.processor_seconds() - before) / _IDLE_S
        memory = server.resident_bytes()
    title = "HTTP server, 1,000 nodes"
    return [
        Row(what=f"{title}: memory at first", target=None, measured=at_first / _MIB, unit="MiB", rounds=1),
        Row(
            what=f"{title}: idle memory after the board was looked at",
            target=None,
            measured=memory / _MIB,
            unit="MiB",
            rounds=1,
        ),
        Row(what=f"{title}: idle, processor a second", target=None, measured=busy * 1e3, unit="ms", rounds=1),
    ]


async def _board_latency(folder: Path, rounds: int) -> list[Row]:
    """From the answer to a claim at one server to the board fetched from another, whose stream said that it changed."""
    secrets = await issued(str(folder), ["screen=viewer", "bench-00=agent"])
    told, fetched = [], []
    async with serving(folder) as server, serving(folder, "b") as other, AsyncExitStack() as stack:
        web, stream = Web(server.port, secrets["screen"]), Web(server.port, secrets["screen"])
        caller = Client(other.port, secrets["bench-00"])
        for line in (web.line, stream.line, caller.line):
            await stack.enter_async_context(line)
        changes = await stack.enter_async_context(aclosing(stream.changes()))
        await anext(changes)
        for _ in range(min(rounds, 40)):
            lease = (await _claimed(caller)).record["decisions"][0]["lease"]
            begun = perf_counter()
            while True:
                await asyncio.wait_for(anext(changes), _WITHIN_S)
                heard = perf_counter() - begun
                running = (await web.get("/v1/board")).record["running"]
                if any(card["node_id"] == lease["node_id"] for card in running):
                    break
            told.append(heard)
            fetched.append(perf_counter() - begun)
            await _ok(caller, "metagit_work_report", lease_id=lease["lease_id"], state="completed")
            await asyncio.wait_for(anext(changes), _WITHIN_S)
    return _latency_rows(told, fetched)


def _latency_rows(told: list[float], fetched: list[float]) -> list[Row]:
    title = "board, 1,000 nodes: another process claims →"
    return [
        Row(
            what=f"{title} the stream says so (the longest)",
            target=1.0,
            measured=max(told),
            unit="s",
            ours=spread(told),
            rounds=len(told),
        ),
        Row(
            what=f"{title} the board is fetched (the longest)",
            target=None,
            measured=max(fetched),
            unit="s",
            ours=spread(fetched),
            rounds=len(fetched),
        ),
    ]


class Ear:
    """One who looks on, and when it heard last."""

    def __init__(self, kind: str, port: int, secret: str) -> None:
        self._kind = kind
        self._web = Web(port, secret)
        self._client = Client(port, secret)
        self.is_listening = asyncio.Event()
        self.heard = asyncio.Event()
        self.at = 0.0

    async def listen(self) -> None:
        board = self._kind == "the board's stream"
        line = self._web.line if board else self._client.line
        stream = self._web.changes() if board else self._client.listen(*_URIS)
        async with line, aclosing(stream) as told:
            async for _ in told:
                self.at = perf_counter()
                self.is_listening.set()
                self.heard.set()


async def _many(folder: Path, kind: str, rounds: int) -> list[Row]:
    secrets = await issued(str(folder), ["screen=viewer", "bench-00=agent"])
    async with serving(folder) as server, serving(folder, "b") as other, Client(other.port, secrets["bench-00"]).line:
        before = server.resident_bytes()
        ears = [Ear(kind, server.port, secrets["screen"]) for _ in range(SUBSCRIBERS)]
        listening = [asyncio.create_task(ear.listen()) for ear in ears]
        async with asyncio.timeout(_WITHIN_S * 3):
            for ear in ears:
                await ear.is_listening.wait()
        await asyncio.sleep(1)
        spent = server.processor_seconds()
        await asyncio.sleep(_IDLE_S)
        busy = (server.processor_seconds() - spent) / _IDLE_S
        memory = server.resident_bytes() - before
        series = [await _all_heard(ears, Client(other.port, secrets["bench-00"])) for _ in range(rounds)]
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
    last, first = [each[1] for each in series], [each[0] for each in series]
    title = f"{SUBSCRIBERS} subscribers of {kind}"
    return [
        Row(what=f"{title}: idle, processor a second", target=None, measured=busy * 1e3, unit="ms", rounds=1),
        Row(what=f"{title}: memory of each", target=None, measured=memory / SUBSCRIBERS / 1024, unit="KiB", rounds=1),
        Row(
            what=f"{title}: another process claims → all heard (the longest; other: the first)",
            target=1.0,
            measured=max(last),
            unit="s",
            ours=spread(last),
            other=spread(first),
            rounds=rounds,
        ),
        Row(what=f"{title}: all heard, median", target=None, measured=median(last), unit="s", rounds=rounds),
    ]


async def _all_heard(ears: Sequence[Ear], caller: Client) -> tuple[float, float]:
    """The seconds until the first and until the last heard of a claim."""
    for ear in ears:
        ear.heard.clear()
    async with caller.line, asyncio.timeout(_WITHIN_S):
        lease = (await _claimed(caller)).record["decisions"][0]["lease"]
        begun = perf_counter()
        for ear in ears:
            await ear.heard.wait()
        heard = sorted(ear.at - begun for ear in ears)
        await _ok(caller, "metagit_work_report", lease_id=lease["lease_id"], state="completed")
        # The end is told too, and is not to be taken for the next beginning.
        await asyncio.sleep(1.5)
    return max(0.0, heard[0]), heard[-1]
