"""Who steers a soak: an operator who judges and changes the policy, a planner, coordinators, and those who look on.

Must not import any part of the package, and judges nothing.
"""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import aclosing
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from tests.groups.streams import Order, SeededLots, batches, log_of, ordered
from tests.soak.account import Acted, Failure
from tests.soak.calls import Client, Said, Web
from tests.soak.fleet import EXPECTED
from tests.soak.line import LineCut
from tests.soak.place import CLASSES, STEADY, patched, planned

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from tests.soak.account import Account
    from tests.soak.fleet import Road
    from tests.soak.servers import Server

Json = dict[str, Any]
# A steady Group with fewer ready nodes than this gets so many more.
FEW: Final = 60
MORE: Final = 40
_ACT_OF: Final = {"approve": "/v1/approve", "review": "/v1/review", "retry": "/v1/retry"}
_UNEXPLAINED: Final = 500


class Desk:
    """What people ask over the JSON routes of whichever server answers."""

    def __init__(self, servers: Sequence[Server], secret: str, rng: random.Random, account: Account) -> None:
        self._servers = servers
        self._secret = secret
        self._rng = rng
        self._account = account

    async def get(self, path: str) -> Said | None:
        return await self._asked("GET", path, None)

    async def post(self, path: str, document: Json) -> Said | None:
        return await self._asked("POST", path, document)

    async def _asked(self, method: str, path: str, document: Json | None) -> Said | None:
        server = self._rng.choice(self._servers)
        web, begun, what = Web(server.port, self._secret), monotonic(), f"{method} {path.partition('?')[0]}"
        async with web.line:
            try:
                said = await (web.get(path) if document is None else web.post(path, document))
            except LineCut as cut:
                self._account.cuts[str(cut)] += 1
                self._account.cut_at.append((monotonic(), server.name))
                return None
        self._account.seconds[what].append(monotonic() - begun)
        self._account.codes[f"{what} {said.code}"] += 1
        if said.code not in EXPECTED:
            self._account.failures.append(Failure(monotonic(), server.name, said.status, said.code, what))
        return said


class Operator:
    """A person who looks at the board, does what waits for one, and changes the policy now and then."""

    def __init__(self, desk: Desk, road: Road, rng: random.Random, account: Account, policy: Json) -> None:
        self._desk = desk
        self._road = road
        self._rng = rng
        self._account = account
        self._policy = policy

    async def judge(self, every_s: float) -> None:
        """Do what the board says waits for a person."""
        while True:
            await asyncio.sleep(self._rng.uniform(0.5, 1.5) * every_s)
            board = await self._desk.get("/v1/board?limit=20&recent=5")
            if board is None or not board.is_ok:
                continue
            for card in self._rng.sample(board.record["needs_person"], min(6, len(board.record["needs_person"]))):
                await self._judged(card)
            if board.record["running"] and self._rng.random() < 0.3:
                card = self._rng.choice(board.record["running"])
                await self._acted("/v1/release", {"graph_id": card["graph_id"], "node_id": card["node_id"]})

    async def _judged(self, card: Json) -> None:
        act = card["act"]
        named: Json = {name: card[name] for name in ("graph_id", "node_id") if name in card}
        if act["act"] == "approve":
            named["digest"] = act["digest"]
        elif act["act"] == "review":
            named["accept"] = self._rng.random() < 0.8
        if act["act"] in _ACT_OF:
            await self._acted(_ACT_OF[act["act"]], named)
        elif card["reason"].startswith("blocked") and len(named) == 2:
            asked = {**named, "status": "ready"}
            said, sent, told = await self._road.ask("task_update", asked)
            self._note("unblock", "/".join(named.values()), said, sent, told)

    async def _acted(self, path: str, document: Json) -> None:
        sent = monotonic()
        node = (document["graph_id"], document["node_id"])
        taking = self._account.may_end(node, sent) if path == "/v1/release" else None
        said = await self._desk.post(path, document)
        if taking is not None and said is not None:
            taking.told = monotonic()
        self._note(path, f"{document['graph_id']}/{document['node_id']}", said, sent, monotonic())

    def _note(self, kind: str, key: str, said: Said | None, sent: float, told: float) -> None:
        if said is not None and said.is_ok:
            self._account.acts.append(Acted(kind, key, sent, told, said.record))

    async def decide(self, every_s: float) -> None:
        """Change the policy; who was cut off looks what became of it."""
        while True:
            await asyncio.sleep(self._rng.uniform(0.5, 1.5) * every_s)
            patch = self._patch()
            said, sent, told = await self._road.ask("schedule_policy", {"action": "set", "patch": json.dumps(patch)})
            self._note("policy", json.dumps(patch), said, sent, told)
            is_told = said is not None and said.is_ok
            record = said.record if said is not None and is_told else (await self._shown()).record
            wanted = patched(self._policy, patch)
            if is_told and not says(record["policy"], wanted):
                self._account.unexpected.append(f"the policy does not say {patch}")
            if says(record["policy"], wanted):
                self._policy = wanted
            self._account.policies[record["revision"]] = record["policy"]

    async def remember(self) -> None:
        """Note the policy as it is."""
        record = (await self._shown()).record
        self._account.policies[record["revision"]] = record["policy"]

    async def _shown(self) -> Said:
        while True:
            said, _, _ = await self._road.ask("schedule_policy", {"action": "show"}, again=True)
            if said is not None and said.is_ok:
                return said

    def _patch(self) -> Json:
        rng, kind = self._rng, self._rng.randrange(6)
        if kind == 0:
            return {"classes": {name: weight + rng.randrange(3) for name, weight in CLASSES.items()}}
        if kind == 1:
            return {"deadline_window": rng.choice((0, 4, 8)), "class_window": rng.choice((0, 0, 2))}
        if kind == 2:
            return {"groups": {"high-quota": {"quota": rng.randrange(1, 4)}}}
        if kind == 3:
            return {"weights": {"cost": rng.choice((0.25, 0.5, 1.0))}, "pass_over_limit": rng.choice((5, 20))}
        if kind == 4:
            return {"resources": {"api": {"capacity": rng.randrange(2, 6)}}}
        name = rng.choice(sorted(STEADY))
        return {"groups": {graph_id: {"weight": rng.randrange(1, 5)} for graph_id in STEADY[name]}}

    async def pause(self, every_s: float) -> None:
        """Pause something for a moment: an agent, the resource, or everything."""
        while True:
            await asyncio.sleep(self._rng.uniform(0.5, 1.5) * every_s)
            scope, name = self._rng.choice((("agent", "agent-01"), ("resource", "api"), ("workspace", "")))
            document: Json = {"scope": scope, "name": name, "reason": "a drill"}
            for path, wait_s in (("/v1/pause", self._rng.uniform(0.5, 2.0)), ("/v1/resume", 0.0)):
                said, sent = None, monotonic()
                # What was paused is to go on, whoever does not answer.
                while said is None or said.status >= _UNEXPLAINED:
                    asked = document if path == "/v1/pause" else {"scope": scope, "name": name}
                    said = await self._desk.post(path, asked)
                self._note(path, f"{scope} {name}", said, sent, monotonic())
                await asyncio.sleep(wait_s)


def says(policy: Json, wanted: Json) -> bool:
    """Whether all that is wanted stands in a policy."""
    return all(
        says(policy.get(name, {}), value) if isinstance(value, dict) else policy.get(name) == value
        for name, value in wanted.items()
    )


async def plan(desk: Desk, road: Road, rng: random.Random, account: Account, every_s: float) -> None:
    """Give each steady Group more work before it has none."""
    steady = {graph_id for names in STEADY.values() for graph_id in names}
    while True:
        await asyncio.sleep(every_s)
        board = await desk.get("/v1/board?limit=1&recent=0")
        if board is None or not board.is_ok:
            continue
        poor = [each["graph_id"] for each in board.record["groups"] if each["ready"] < FEW]
        for graph_id in sorted(steady.intersection(poor)):
            asked = {"title": graph_id, "graph_id": graph_id, "nodes": planned(rng, MORE)}
            said, _, _ = await road.ask("task_plan", asked)
            if said is not None and said.is_ok:
                account.planned += [(graph_id, each["node_id"]) for each in said.record["graph"]["nodes"]]


async def deliver(road: Road, group_id: str, seed: int, account: Account, every_s: float) -> None:
    """Deliver the log of a Group, in any order and more than once; then it has none to tell any more."""
    rng = random.Random(seed)  # noqa: S311 - a seeded draw, nothing secret
    log = log_of(SeededLots(seed), group_id, least=60)
    order: Order = rng.choice(("in order", "shuffled", "duplicated"))
    for batch in batches(ordered(log.events, order, rng), [rng.randrange(1, 12) for _ in range(40)]):
        said, sent = None, 0.0
        while said is None or not said.is_ok:
            said, sent, _ = await road.ask("group_deliver", {"group_id": group_id, "events": batch}, again=True)
            if said is not None and not said.is_ok:
                account.unexpected.append(f"{group_id}: {said.code} {said.record}"[:300])
                return
        account.acts.append(Acted("deliver", group_id, sent, monotonic(), said.record))
        account.cursors[group_id] = max(account.cursors.get(group_id, 0), said.record["cursor"])
        await asyncio.sleep(rng.uniform(0.5, 1.5) * every_s)
    if account.cursors[group_id] != len(log.events):
        account.unexpected.append(f"{group_id}: Cursor {account.cursors[group_id]} of {len(log.events)}")


class Watcher:
    """Who looks on by a stream, and connects again when it is cut."""

    def __init__(self, name: str, kind: str, servers: Sequence[Server], secret: str, rng: random.Random) -> None:
        self.name = name
        self._kind = kind
        self._servers = servers
        self._secret = secret
        self._rng = rng

    async def look(self, account: Account) -> None:
        """Hear all there is, and note how long nothing was heard."""
        while True:
            server, last = self._rng.choice(self._servers), None
            try:
                async with aclosing(self._stream(server)) as stream:
                    async for _ in stream:
                        now = monotonic()
                        account.heard[self._kind] += 1
                        if last is not None:
                            account.silences[self._kind].append(now - last)
                        last = now
            except LineCut:
                account.cuts[f"stream of {self._kind}"] += 1
            await asyncio.sleep(self._rng.uniform(0.1, 0.5))

    async def _stream(self, server: Server) -> AsyncGenerator[str, None]:
        if self._kind == "board":
            web = Web(server.port, self._secret)
            async with web.line, aclosing(web.changes()) as changes:
                async for version in changes:
                    yield version
        else:
            client = Client(server.port, self._secret)
            async with client.line, aclosing(client.listen("metagit://status", "metagit://decisions")) as told:
                async for uri in told:
                    yield uri
