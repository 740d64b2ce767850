"""Agents over HTTP that claim, work and report, are killed in the middle of a call, and come back. They judge nothing.

What an agent does follows from its own seed; how calls of different agents fall together does not.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from tests.soak.account import Failure
from tests.soak.calls import LEGACY, MODERN, Client, Said
from tests.soak.line import LineCut
from tests.soak.place import BY_NAME, WILD

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tests.soak.account import Account, Taken
    from tests.soak.servers import Server

Json = dict[str, Any]
_TRIES: Final = 6
_AGAIN: Final = frozenset({"STORE_UNAVAILABLE", "503"})
# What may be answered to a caller whose token is good, and whose work others may have been given meanwhile.
EXPECTED: Final = frozenset(
    {
        "ok",
        "AUTH_STALE_SESSION",
        "CAPACITY_EXCEEDED",
        "INVALID_STATE_TRANSITION",
        "LEASE_NOT_FOUND",
        "NODE_NOT_ELIGIBLE",
        "WORK_ALREADY_OWNED",
        "WORK_LEASE_EXPIRED",
        "WORK_STALE_OWNERSHIP",
    }
)


class Road:
    """A caller's way to whichever server answers: of the newer protocol any, of the older one the same for long."""

    def __init__(
        self, servers: Sequence[Server], secret: str, rng: random.Random, account: Account, era: str = MODERN
    ) -> None:
        self._servers = servers
        self._rng = rng
        self._account = account
        self._at = rng.choice(servers)
        self.client = Client(self._at.port, secret, LEGACY if era == LEGACY else MODERN)

    def cut(self) -> None:
        self.client.line.cut()

    async def ask(self, tool: str, arguments: Json, *, again: bool = False) -> tuple[Said | None, float, float]:
        """Call a tool; return the answer, or None when nobody knows, and when it was sent first and told.

        `again`: it is asked until somebody says what became of it.
        """
        sent = monotonic()
        for _ in range(_TRIES if again else 1):
            said = await self._once(tool, arguments)
            if said is not None and said.code not in _AGAIN:
                return said, sent, monotonic()
            await asyncio.sleep(self._rng.uniform(0.05, 0.8))
        return None, sent, monotonic()

    async def _once(self, tool: str, arguments: Json) -> Said | None:
        if self.client.era == MODERN and self._rng.random() < 0.1:
            self._move()
        begun = monotonic()
        try:
            said = await self.client.tool(tool, **arguments)
        except LineCut as cut:
            self._account.cuts[str(cut)] += 1
            self._account.cut_at.append((monotonic(), self._at.name))
            self._move()
            return None
        self._account.seconds[tool].append(monotonic() - begun)
        self._account.sessions += [(begun, self._at.name)] * self.client.opened
        self.client.opened = 0
        self._account.codes[f"{tool} {said.code}"] += 1
        if said.code not in EXPECTED:
            what = f"{tool}: {said.record.get('message', '')}"
            self._account.failures.append(Failure(monotonic(), self._at.name, said.status, said.code, what))
        return said

    def _move(self) -> None:
        self._at = self._rng.choice(self._servers)
        self.client.move(self._at.port)


class Agent:
    """One agent: its lives, one after the other."""

    def __init__(self, agent_id: str, road: Road, rng: random.Random, account: Account, pace_s: float) -> None:
        self.agent_id = agent_id
        self._road = road
        self._rng = rng
        self._account = account
        self._pace_s = pace_s
        self._acts = 0
        self._is_new = False

    async def live(self) -> None:
        """Take work and report on it, until cancelled; what was held then is never reported."""
        self._is_new = self._rng.random() < 0.5
        try:
            while True:
                leases = await self._take()
                if not leases:
                    await asyncio.sleep(self._rng.uniform(0.2, 1.0) * self._pace_s)
                for lease in leases:
                    await self._work(lease)
        finally:
            self._road.cut()

    def _action(self) -> str:
        self._acts += 1
        return f"{self.agent_id}.{self._acts}"

    async def _take(self) -> list[Taken]:
        lot, again = self._rng.random(), self._rng.random() < 0.5
        arguments: Json = {"action_id": self._action()} if again else {}
        opening = None
        if self._is_new:
            arguments["new_session"] = True
            opening = self._account.may_end(self.agent_id, monotonic())
        if lot < 0.04:
            node_id = f"{WILD[0]}.{self._rng.randrange(BY_NAME):04}"
            arguments |= {"graph_id": WILD[0], "node_id": node_id}
            said, asked, told = await self._road.ask("work_start", arguments, again=again)
            leases = [said.record] if said is not None and said.is_ok else []
        else:
            arguments |= {"claim": True, "detail": "brief"}
            arguments |= {"graph_id": self._rng.choice(WILD)} if lot < 0.08 else {}
            arguments |= {"wait_seconds": 2} if lot > 0.9 else {}
            said, asked, told = await self._road.ask("schedule_next", arguments, again=again)
            leases = [*said.record["decisions"], *_held(said.record)] if said is not None and said.is_ok else []
        if opening is not None and said is not None:
            # Before it gave anything.
            opening.told = opening.sent
        self._is_new = self._is_new and said is None
        return [self._account.take(each["lease"], asked, told, each.get("decision_id", "")) for each in leases]

    async def _work(self, lease: Taken) -> None:
        """Work for a while, and say how it ended; some never say."""
        await asyncio.sleep(self._rng.uniform(0.1, 1.0) * self._pace_s)
        if self._rng.random() < 0.15:
            await self._report(lease, "running")
            await asyncio.sleep(self._rng.uniform(0.1, 1.0) * self._pace_s)
        graph_id, lot = lease.node[0], self._rng.random()
        if lot < 0.02:
            return
        if graph_id in WILD and lot < 0.15:
            await self._report(lease, self._rng.choice(("paused", "checkpointed", "blocked")))
        state = "failed" if lot > 0.96 else "released" if lot > 0.93 else "completed"
        await self._report(lease, state)

    async def _report(self, lease: Taken, state: str) -> None:
        again = self._rng.random() < 0.7
        arguments: Json = {"lease_id": lease.lease_id, "state": state}
        arguments |= {"action_id": self._action()} if again else {}
        arguments |= {"note": "it would not build"} if state in {"failed", "blocked"} else {}
        arguments |= {"checkpoint": {"note": "half of it"}} if state in {"paused", "checkpointed"} else {}
        if lease.node[0] == WILD[1] and state in {"completed", "failed", "released"}:
            arguments["usage"] = {"tokens": self._rng.randrange(6000)}
        if state not in {"running", "checkpointed"}:
            self._account.may_end(lease.lease_id, monotonic())
        said, sent, told = await self._road.ask("work_report", arguments, again=again)
        if said is not None and said.is_ok:
            self._account.report(lease, state, said.record, sent, told)


def _held(answer: Json) -> list[Json]:
    return [{"lease": each} for each in answer.get("held", ())]


class Reaper:
    """Kills agents, and lets them come back."""

    def __init__(self, agents: Sequence[Agent], rng: random.Random, account: Account) -> None:
        self._agents = agents
        self._rng = rng
        self._account = account
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._graves: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        for agent in self._agents:
            self._lives[agent.agent_id] = asyncio.create_task(agent.live())

    async def reap(self, every_s: float) -> None:
        """Kill one agent after another, wherever it is; each comes back after a while."""
        while True:
            await asyncio.sleep(self._rng.uniform(0.3, 1.7) * every_s)
            agent = self._rng.choice(self._agents)
            await self._end(agent.agent_id)
            self._account.killed_agents += 1
            grave = asyncio.create_task(self._return(agent, self._rng.uniform(0.0, 12.0)))
            self._graves.add(grave)
            grave.add_done_callback(self._graves.discard)

    async def _return(self, agent: Agent, after_s: float) -> None:
        await asyncio.sleep(after_s)
        if self._lives[agent.agent_id].done():
            self._lives[agent.agent_id] = asyncio.create_task(agent.live())

    async def _end(self, agent_id: str) -> None:
        life = self._lives[agent_id]
        if life.done() and not life.cancelled() and life.exception() is not None:
            self._account.unexpected.append(f"{agent_id}: {life.exception()!r}")
        life.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await life

    async def end(self) -> None:
        """Let all end."""
        for grave in self._graves:
            grave.cancel()
        for agent in self._agents:
            await self._end(agent.agent_id)
