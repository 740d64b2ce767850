"""Three agents empty a workspace together; one is killed twice on the way, and every node is done once all the same."""

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import anyio

from metagit_mcp.interfaces.demo import fleet_views as views
from metagit_mcp.interfaces.demo.account import account_of, ledger_events
from metagit_mcp.interfaces.demo.fleet_facts import FLEET_FACTS
from metagit_mcp.interfaces.demo.programs import (
    Agent,
    Connections,
    command,
    connected,
    connections,
    logged,
    seen_once,
    statuses,
)
from metagit_mcp.interfaces.demo.walk import Chapter, Step

Json = dict[str, Any]
_NEXT: Final = "metagit_schedule_next"
_REPORT: Final = "metagit_work_report"
_NODES: Final[tuple[Json, ...]] = (
    {"node_id": "theme", "title": "Choose the theme", "priority": 5},
    {"node_id": "search", "title": "Build the search", "priority": 4},
    {"node_id": "login", "title": "Build the login", "priority": 3},
    {"node_id": "help", "title": "Write the help", "priority": 2},
    {"node_id": "legal", "title": "Write the imprint", "priority": 1},
    {"node_id": "page", "title": "Build the page", "depends_on": ["theme", "search"]},
    {"node_id": "news", "title": "Announce it", "depends_on": ["help", "legal"]},
    {"node_id": "launch", "title": "Launch", "depends_on": ["page", "login"]},
)
# One opens its connection as older hosts do, the others as today's protocol does.
_MODES: Final = {1: "auto", 2: "legacy", 3: "auto"}
_LEASE_SECONDS: Final = 900
_MOMENT_S: Final = 0.5


class Fleet:
    """The workspace, its clock, and who is connected; the third agent comes and goes."""

    def __init__(self, root: Path, opened: Connections, agents: Sequence[Agent]) -> None:
        """Begin at a time that stands still."""
        self.root = root
        self.first, self.second, self.third = agents
        self.clock = root / "clock"
        self.leases: list[str] = []
        self._opened = opened

    async def restarted(self) -> Agent:
        """Start a server for the third agent anew, the one before it being dead."""
        (self.third,) = await self._opened.open(_worker(self.root, 3))
        return self.third

    def told(self) -> list[str]:
        """Return the nodes that a graph file was said to be completed of, once for each time."""
        events = logged(self.root, "events/taskgraph.jsonl")
        return sorted(event["payload"]["node_id"] for event in events if event["type"] == "TaskCompleted")


def set_clock(path: Path, seconds: int) -> None:
    """Let it be so many seconds after noon for all programs, at one stroke."""
    at = datetime(2026, 12, 1, 12, tzinfo=UTC) + timedelta(seconds=seconds)
    written = path.with_suffix(".new")
    written.write_text(f"{at.isoformat()} {1_000_000 + seconds * 1000} demo\n")
    os.replace(written, path)  # noqa: PTH105 - as the system call is called: readers see one time or the other


@asynccontextmanager
async def _stage(root: Path) -> AsyncIterator[Fleet]:
    clock = root / "clock"
    set_clock(clock, 0)
    await command(root, "init", str(root))
    plan = ("--title", "Web site", "--graph-id", "site", "--nodes", json.dumps(_NODES))
    async with connections() as opened:
        agents = await opened.open(*(_worker(root, number) for number in _MODES))
        await command(root, "task", "plan", *plan, clock=clock)
        yield Fleet(root, opened, agents)


def _worker(root: Path, number: int) -> AbstractAsyncContextManager[Agent]:
    return connected(root, f"worker-{number}", mode=_MODES[number], clock=root / "clock")


async def _claim(agent: Agent, **arguments: object) -> Json:
    return await agent.call(_NEXT, claim=True, **arguments)


# --- the steps -----------------------------------------------------------------------------------------------------


async def claim(fleet: Fleet) -> Json:
    """Let each take a node; the third one gets some way, and its server is killed."""
    third = fleet.third
    taken = [(await _claim(agent))["decisions"][0]["lease"] for agent in (fleet.first, fleet.second, third)]
    fleet.leases = [lease["lease_id"] for lease in taken]
    point = {"checkpoint_id": "form", "note": "the form stands, its tests do not"}
    await third.call(_REPORT, lease_id=fleet.leases[2], state="checkpointed", checkpoint=point)
    third.kill()
    return {"taken": taken}


async def restart(fleet: Fleet) -> Json:
    """Start the third agent again: as if nothing had happened, and as what it is, a new session; and kill it again."""
    third = await fleet.restarted()
    refused = await third.refusal(_NEXT, claim=True)
    answer = await _claim(third, new_session=True)
    late = await third.refusal(_REPORT, lease_id=fleet.leases[2], state="completed")
    fleet.leases[2] = answer["decisions"][0]["lease"]["lease_id"]
    third.kill()
    return {**answer, "refused": refused, "late": late}


async def drain(fleet: Fleet) -> Json:
    """Let the other two work at the same time, each until it gets nothing more; then let both ask once more."""
    await _report_completed(fleet.first, fleet.leases[0])
    await _report_completed(fleet.second, fleet.leases[1])
    await _work(fleet)
    asked = [await _claim(agent) for agent in (fleet.first, fleet.second)]
    in_the_way = [[[row["reason"], row["nodes"]] for row in answer["not_eligible"]] for answer in asked]
    return {
        "done": sorted(node_id for node_id, each in account_of(ledger_events(fleet.root)).items() if each["done"]),
        "given": [answer["decisions"] for answer in asked],
        "in_the_way": in_the_way[0],
        "both_are_told": in_the_way[0] == in_the_way[1],
    }


async def _work(fleet: Fleet) -> None:
    async with anyio.create_task_group() as group:
        for agent in (fleet.first, fleet.second):
            group.start_soon(_work_off, agent)


async def _work_off(agent: Agent) -> None:
    """The loop of an agent: claim, work, report, and again."""
    while made := (await _claim(agent))["decisions"]:
        await _report_completed(agent, made[0]["lease"]["lease_id"])


async def _report_completed(agent: Agent, lease_id: str) -> None:
    await agent.call(_REPORT, lease_id=lease_id, state="completed", result={"summary": "done"})


async def wait(fleet: Fleet) -> Json:
    """Let an agent wait for work while the time passes at which the dead one's lease runs out."""
    answers: list[Json] = []

    async def waiting() -> None:
        answers.append(await _claim(fleet.first, wait_seconds=30))

    async with anyio.create_task_group() as group:
        group.start_soon(waiting)
        # Time enough to be answered, if there were anything to get.
        await anyio.sleep(_MOMENT_S)
        early = len(answers)
        set_clock(fleet.clock, _LEASE_SECONDS)
    fleet.leases[0] = answers[0]["decisions"][0]["lease"]["lease_id"]
    return {**answers[0], "early": early}


async def late(fleet: Fleet) -> Json:
    """Let the dead one's result arrive after all."""
    words = ("work", "report", fleet.leases[2], "--state", "completed", "--note", "it was done")
    return await command(fleet.root, *words, clock=fleet.clock, ends_with=4)


async def finish(fleet: Fleet) -> Json:
    """Work until nothing is left."""
    await _report_completed(fleet.first, fleet.leases[0])
    await _work(fleet)
    return await _claim(fleet.second)


async def account(fleet: Fleet) -> Json:
    """Count, from the ledger and from the files, who did what and how often."""
    told = await seen_once(fleet.told, sorted(str(node["node_id"]) for node in _NODES))
    counted = account_of(ledger_events(fleet.root))
    return {
        "nodes": [{"node_id": node_id, **each} for node_id, each in sorted(counted.items())],
        "done": [[node_id, each["done"]] for node_id, each in sorted(counted.items())],
        "at_once": max(each["at_once"] for each in counted.values()),
        "login": counted["login"]["starts"],
        "workers": sorted({name for each in counted.values() for name in each["done_by"]}),
        "statuses": sorted(statuses(fleet.root).items()),
        "told": told,
    }


_STEPS: Final = (
    Step(
        name="claim",
        title=f"each takes a node: {_NEXT} claim=true; worker-3 is killed at work",
        act=claim,
        view=views.claimed,
    ),
    Step(
        name="restart",
        title="worker-3 is started again and claims, with new_session=true; and is killed again",
        act=restart,
        view=views.restarted,
    ),
    Step(
        name="drain",
        title="the others work on, at the same time, until they get nothing",
        act=drain,
        view=views.drained,
    ),
    Step(
        name="wait",
        title="worker-1 waits: claim=true wait_seconds=30; 15 minutes pass",
        act=wait,
        view=views.waited,
    ),
    Step(name="late", title="what worker-3 did arrives late: metagit-mcp work report", act=late, view=views.refused),
    Step(name="finish", title="the two go on to the end", act=finish, view=views.finished),
    Step(name="account", title="the account, from the ledger and the files", act=account, view=views.accounted),
)
_HEADING: Final = (
    "8 nodes, and 3 agents that work at the same time, each with a server process of its own. A test",
    "clock tells all of them the time.",
)
FLEET: Final = Chapter(heading=_HEADING, stage=_stage, steps=_STEPS, facts=FLEET_FACTS)
