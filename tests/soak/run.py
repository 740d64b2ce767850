"""Plays a soak: workspace, ledger, servers, everybody who calls them, what goes wrong on purpose, and the verdict.

Must not import any part of the package.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from tests.soak.account import Account
from tests.soak.bounds import Bounds
from tests.soak.calls import LEGACY, MODERN, Web
from tests.soak.fleet import Agent, Reaper, Road
from tests.soak.histories import History
from tests.soak.people import Desk, Operator, Watcher, deliver, plan
from tests.soak.place import policy, write_place
from tests.soak.rows import rows_of
from tests.soak.servers import Server
from tests.soak.verdict import Fact, facts, fault_fact, latency_rows, memory_rows, share_rows, unexplained

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

    from tests.postgres_server import PostgresServer

_ISSUE_S: Final = 120.0
# What is written back in the end stands in the files within a second.
_LAST_S: Final = 4.0
_GROUPS: Final = ("group:auth", "group:docs", "group:ship")
# How often a new server is asked before its memory is compared with that of one that ran all the time.
_WARMING_LOOKS: Final = 10
# A session of the older protocol is kept for half an hour after its client was killed.
_BYTES_A_SESSION: Final = 120 * 1024
# What is in flight, and what the allocator keeps for later.
_SLACK_BYTES: Final = 24 * 2**20


@dataclass(frozen=True)
class Plan:
    """How long, how many, over what."""

    seconds: int
    agents: int
    servers: int
    ledger: str
    seed: int
    pace_s: float = 2.0


@dataclass
class Scene:
    """All that a soak is played with."""

    plan: Plan
    root: Path
    postgres: PostgresServer | None
    secrets: dict[str, str] = field(default_factory=dict)
    servers: list[Server] = field(default_factory=list)
    account: Account = field(default_factory=Account)
    # When the connections of the database were cut.
    database_cuts: list[float] = field(default_factory=list)
    exits: list[int] = field(default_factory=list)
    # What the server that is never killed held in the end.
    held_bytes: int = 0

    @property
    def environ(self) -> dict[str, str]:
        return {} if self.postgres is None else {"METAGIT_LEDGER": self.postgres.url()}

    def lots(self, name: str) -> random.Random:
        return random.Random(f"{self.plan.seed} {name}")  # noqa: S311 - a seeded draw, nothing secret

    def road(self, name: str, era: str = MODERN) -> Road:
        return Road(self.servers, self.secrets[name], self.lots(f"road {name}"), self.account, era)

    def desk(self, name: str, who: str) -> Desk:
        return Desk(self.servers, self.secrets[who], self.lots(f"desk {name}"), self.account)


async def run(plan: Plan, root: Path) -> list[Fact]:
    """Play it, and return what is to be said of it."""
    with ExitStack() as stack:
        postgres = None
        if plan.ledger == "postgres":
            from tests.postgres_server import running  # noqa: PLC0415 - an extra, which SQLite does without

            postgres = stack.enter_context(running())
        scene = Scene(plan, root, postgres)
        slots = max(4, plan.agents * 4 // 5)
        write_place(root, scene.lots("workspace"), steady_nodes=120, slots=slots)
        scene.secrets = _issued(scene)
        scene.servers = [Server(root, name, scene.environ, "--max-wait=20") for name in "ab"[: plan.servers]]
        try:
            for server in scene.servers:
                await server.start()
            await _played(scene, slots)
            return [*await _judged(scene)]
        finally:
            for server in scene.servers:
                if server.is_up:
                    await server.kill()


def _issued(scene: Scene) -> dict[str, str]:
    wishes = [f"{name}=agent" for name in (*_agents(scene.plan), "planner")] + ["ada=operator", "screen=viewer"]
    wishes += [f"feeder-{number}=coordinator@{group}" for number, group in enumerate(_GROUPS)]
    command = [sys.executable, "-m", "tests.soak.tokens", str(scene.root), *wishes]
    environ = {**os.environ, **scene.environ}
    told = subprocess.run(command, env=environ, capture_output=True, timeout=_ISSUE_S, check=True, text=True).stdout
    secrets: dict[str, str] = json.loads(told)
    return secrets


def _agents(plan: Plan) -> list[str]:
    return [f"agent-{number:02}" for number in range(1, plan.agents + 1)]


# --- the play --------------------------------------------------------------------------------------------------------


async def _played(scene: Scene, slots: int) -> None:
    plan, account = scene.plan, scene.account
    agents = [
        Agent(
            name,
            scene.road(name, LEGACY if number % 3 == 2 else MODERN),
            scene.lots(name),
            account,
            plan.pace_s,
        )
        for number, name in enumerate(_agents(plan))
    ]
    reaper = Reaper(agents, scene.lots("reaper"), account)
    operator = Operator(
        scene.desk("operator", "ada"), scene.road("ada"), scene.lots("operator"), account, policy(slots)
    )
    await operator.remember()
    reaper.begin()
    tasks = [asyncio.create_task(each) for each in (*_others(scene, operator), reaper.reap(120 / plan.agents))]
    until = monotonic() + plan.seconds
    while monotonic() < until:
        await asyncio.sleep(1)
        for server in scene.servers:
            if server.is_up:
                account.memory[server.name].append((monotonic(), server.resident_bytes()))
        _look_after(tasks, account)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await reaper.end()
    for server in scene.servers:
        await (server.listens() if server.is_up else server.start())
        account.processor[server.name] = server.processor_seconds()
    await asyncio.sleep(_LAST_S)


def _others(scene: Scene, operator: Operator) -> Iterator[Coroutine[Any, Any, None]]:
    account, servers = scene.account, scene.servers
    yield operator.judge(2.0)
    yield operator.decide(max(4.0, scene.plan.seconds / 20))
    yield operator.pause(max(5.0, scene.plan.seconds / 15))
    yield plan(scene.desk("planner", "planner"), scene.road("planner"), scene.lots("planner"), account, 3.0)
    for number, group_id in enumerate(_GROUPS):
        yield deliver(
            scene.road(f"feeder-{number}"), group_id, scene.plan.seed + number, account, scene.plan.seconds / 60
        )
    kinds = ("board",) * 4 + ("listen",) * 4
    for number, kind in enumerate(kinds):
        name = f"{kind} {number}"
        yield Watcher(name, kind, servers, scene.secrets["screen"], scene.lots(name)).look(account)
    yield _kill(scene, servers[-1])
    if scene.postgres is not None:
        yield _cut(scene, scene.postgres)


async def _kill(scene: Scene, server: Server) -> None:
    """Kill a server now and then, and start it again at the same place."""
    rng = scene.lots("killer")
    while True:
        await asyncio.sleep(rng.uniform(0.5, 1.5) * max(8.0, scene.plan.seconds / 12))
        begun = monotonic()
        # Where it is until it listens again, nobody can say before.
        server.away.append((begun, float("inf")))
        await server.kill()
        await asyncio.sleep(rng.uniform(0.2, 3.0))
        await server.start()
        server.away[-1] = (begun, monotonic())
        scene.account.memory[server.name].clear()


async def _cut(scene: Scene, postgres: PostgresServer) -> None:
    """End every connection of the database now and then."""
    rng = scene.lots("cutter")
    while True:
        await asyncio.sleep(rng.uniform(0.5, 1.5) * max(10.0, scene.plan.seconds / 10))
        scene.database_cuts.append(monotonic())
        await asyncio.to_thread(postgres.cut)


def _look_after(tasks: list[asyncio.Task[None]], account: Account) -> None:
    """Note what ended although it should not have."""
    for task in [each for each in tasks if each.done()]:
        tasks.remove(task)
        if not task.cancelled() and task.exception() is not None:
            account.unexpected.append(f"{task.get_coro()}: {task.exception()!r}")


# --- the verdict -----------------------------------------------------------------------------------------------------


async def _judged(scene: Scene) -> list[Fact]:
    account, plan = scene.account, scene.plan
    scene.held_bytes = scene.servers[0].resident_bytes()
    scene.exits = [await server.stop() for server in scene.servers]
    rows = rows_of(scene.root, None if scene.postgres is None else scene.postgres.url())
    history = History().follow(rows)
    bounds = Bounds(account.policies).follow(rows)
    found = unexplained(account, scene.servers, scene.database_cuts)
    return [
        Fact("played", _played_words(plan)),
        Fact("calls", ", ".join(f"{code} {count:,}" for code, count in sorted(account.codes.items()))),
        Fact("went wrong on purpose", _harm(scene)),
        *facts(account, history, bounds, scene.root),
        fault_fact(
            "failures of a server that nothing explains",
            found,
            f"{len(account.failures)} and {len(account.cut_at)} cuts",
        ),
        fault_fact("what nobody expected", account.unexpected, "all"),
        Fact("servers that ended by a signal", f"exit codes {scene.exits}", not any(scene.exits)),
        *await _after_restart(scene, history),
        *memory_rows(account),
        *latency_rows(account),
        *_stream_rows(account),
        Fact(
            "processor of the servers", ", ".join(f"{name} {spent:.0f} s" for name, spent in account.processor.items())
        ),
        *share_rows(bounds),
    ]


def _played_words(plan: Plan) -> str:
    return (
        f"{plan.seconds} s, {plan.agents} agents (a third of 2025-11-25), {plan.servers} servers, {plan.ledger},"
        f" seed {plan.seed}, {os.cpu_count()} processors, load {os.getloadavg()[1]:.1f}"
    )


def _harm(scene: Scene) -> str:
    account = scene.account
    killed = sum(len(server.away) for server in scene.servers)
    return (
        f"{account.killed_agents} agents killed, {killed} times a server, {len(scene.database_cuts)} times all lines of"
        f" the database; {sum(account.cuts.values())} lines cut; {len(account.policies)} policies"
    )


def _stream_rows(account: Account) -> Iterator[Fact]:
    for kind, silences in sorted(account.silences.items()):
        ordered = sorted(silences)
        middle = ordered[len(ordered) // 2]
        figure = f"{account.heard[kind]:,} heard; between two p50 {middle:.2f} s, longest {ordered[-1]:.2f} s"
        yield Fact(f"streams of {kind}", figure)


async def _after_restart(scene: Scene, history: History) -> list[Fact]:
    """A server that begins anew knows all that is done, and holds no less than the one that knew it all the time."""
    server = scene.servers[0]
    await server.start()
    web = Web(server.port, scene.secrets["screen"])
    async with web.line:
        said = [await web.get("/v1/board?limit=1&recent=0") for _ in range(_WARMING_LOOKS)][-1]
    new_bytes = server.resident_bytes()
    scene.exits.append(await server.stop())
    done = Counter(graph_id for graph_id, _ in history.done)
    groups = {each["graph_id"]: each["finished"] for each in said.record.get("groups", ())}
    other = [
        f"{name}: {known} and {done[name]}"
        for name, known in groups.items()
        if known != done[name] and name not in _GROUPS
    ]
    of = f"{len(groups)} Groups, {sum(done.values()):,} nodes"
    return [
        fault_fact("Groups whose finished nodes are others after a restart", other if said.is_ok else [said.code], of),
        _memory_fact(scene, new_bytes),
    ]


def _memory_fact(scene: Scene, new_bytes: int) -> Fact:
    """Compare a server that ran all the time with a new one: both hold the same files and the same ledger."""
    sessions = sum(name == "a" for _, name in scene.account.sessions)
    allowed = new_bytes + _SLACK_BYTES + sessions * _BYTES_A_SESSION
    held, new, most = (size / 2**20 for size in (scene.held_bytes, new_bytes, allowed))
    figure = f"{held:.0f} MiB after {sessions} sessions of 2025-11-25; {new:.0f} MiB, so at most {most:.0f}"
    return Fact("memory of the server that was never killed, and of a new one in its place", figure, held <= most)
