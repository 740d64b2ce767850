"""A Group with a log of its own beside a task graph: two agents do the work of both, and the log has the last word.

Its Events come twice, out of order, and through a process that is killed. Knows the ledger's file only to count.
"""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from metagit_mcp.interfaces.demo import group_views as views
from metagit_mcp.interfaces.demo.account import account_of, ledger_events
from metagit_mcp.interfaces.demo.fleet import set_clock
from metagit_mcp.interfaces.demo.group_facts import GROUP_FACTS
from metagit_mcp.interfaces.demo.group_log import GROUP, GroupLog
from metagit_mcp.interfaces.demo.programs import Agent, command, connected, connections, killed, seen_once, statuses
from metagit_mcp.interfaces.demo.walk import Chapter, Step

Json = dict[str, Any]
_NEXT: Final = "metagit_schedule_next"
_REPORT: Final = "metagit_work_report"
_NODES: Final[tuple[Json, ...]] = (
    {"node_id": "stock", "title": "Count the stock"},
    {"node_id": "prices", "title": "Check the prices", "depends_on": ["stock"]},
)
_DONE_BEFORE_THE_KILL: Final = "ledger.committed"


class Stage:
    """The workspace, the Group's log, and who is connected."""

    def __init__(self, root: Path, agents: Sequence[Agent]) -> None:
        """Begin with a log of which nothing was delivered."""
        self.root = root
        self.agents = agents
        self.clock = root / "clock"
        self.log = GroupLog()
        self.leases: dict[int, str] = {}

    def written(self, events: Sequence[Json]) -> str:
        """Write Events into a file, one on a line, and return its path."""
        path = self.root / "events.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in events))
        return str(path)

    async def deliver(self, events: Sequence[Json]) -> Json:
        """Deliver Events, and return what became of them."""
        return await self.group("deliver", self.written(events), "--group", GROUP)

    async def group(self, *words: str) -> Json:
        """Run one of the commands `group …`."""
        return await command(self.root, "group", *words, clock=self.clock)


@asynccontextmanager
async def _stage(root: Path) -> AsyncIterator[Stage]:
    clock = root / "clock"
    set_clock(clock, 0)
    await command(root, "init", str(root))
    plan = ("--title", "Shop", "--graph-id", "shop", "--nodes", json.dumps(_NODES))
    await command(root, "task", "plan", *plan, clock=clock)
    async with connections() as opened:
        several = (connected(root, f"worker-{number}", mode="auto", clock=clock) for number in (1, 2))
        yield Stage(root, await opened.open(*several))


# --- the steps -------------------------------------------------------------------------------------------------------


async def deliver(stage: Stage) -> Json:
    """Deliver the second half backwards, then all of it by a process that is killed, then all of it again."""
    events = stage.log.events
    half = await stage.deliver(events[:3:-1])
    words = ("group", "deliver", stage.written(events), "--group", GROUP)
    dead = await killed(stage.root, *words, fault=_DONE_BEFORE_THE_KILL, clock=stage.clock)
    again = await stage.deliver([*events, *events[::-1]])
    return {"half": half, "dead": dead, "again": again, **await stage.group("show", GROUP)}


async def claim(stage: Stage) -> Json:
    """Let both agents take what is next for them."""
    return {"taken": [await _claimed(stage, place) for place in range(len(stage.agents))]}


async def _claimed(stage: Stage, place: int) -> Json:
    answer = await stage.agents[place].call(_NEXT, claim=True)
    if not answer["decisions"]:
        return {"graph_id": "", "node_id": "", "agent": place + 1}
    made = answer["decisions"][0]
    stage.leases[place] = made["lease"]["lease_id"]
    return {"graph_id": made["graph_id"], "node_id": made["node_id"], "agent": place + 1}


async def answer(stage: Stage) -> Json:
    """Ask the Group for what the agents did, and deliver its whole log with what it answered."""
    asked = (await stage.group("outbox", GROUP))["proposals"]
    stage.log.answer(asked)
    for each in asked:
        if each["command"] == "schedule.estimate":
            # No Event of the log answers that.
            await stage.group("answer", GROUP, each["action_id"], "delivered")
    return {"asked": asked, "told": await stage.deliver(stage.log.events)}


async def finish(stage: Stage) -> Json:
    """Let both report what they have done and take the next, and the Group answer, until nobody gets anything."""
    taken: list[Json] = []
    while stage.leases:
        for place, lease_id in sorted(stage.leases.items()):
            await stage.agents[place].call(_REPORT, lease_id=lease_id, state="completed", result={"summary": "done"})
        stage.leases.clear()
        await answer(stage)
        taken += [await _claimed(stage, place) for place in range(len(stage.agents))]
    return {"taken": [each for each in taken if each["node_id"]], **await stage.group("outbox", GROUP)}


async def account(stage: Stage) -> Json:
    """Count, from the ledger, the Group and the files, who did what, and compare the ledger with the live state."""
    counted = account_of(ledger_events(stage.root))
    files = await seen_once(lambda: statuses(stage.root), {"stock": "completed", "prices": "completed"})
    return {
        "nodes": [{"node_id": node_id, **each} for node_id, each in sorted(counted.items())],
        "done": [[node_id, each["done"], each["at_once"]] for node_id, each in sorted(counted.items())],
        "statuses": sorted(files.items()),
        "events": len(stage.log.events),
        "verified": await stage.group("verify"),
        **await stage.group("show", GROUP),
    }


_STEPS: Final = (
    Step(
        name="group_deliver",
        title="the log is delivered in halves, backwards, twice, and through a killed process",
        act=deliver,
        view=views.delivered,
    ),
    Step(name="group_claim", title=f"two agents ask: {_NEXT} claim=true", act=claim, view=views.claimed),
    Step(name="group_answer", title="the Group is asked: metagit-mcp group outbox", act=answer, view=views.answered),
    Step(name="group_finish", title="they work on, and the Group judges, to the end", act=finish, view=views.finished),
    Step(name="group_account", title="the account of all of it", act=account, view=views.accounted),
)
_HEADING: Final = (
    "A Group whose Coordinator writes a log of Events, and a task graph: 5 nodes, and 2 agents that ask",
    "for work as always.",
)
GROUP_CHAPTER: Final = Chapter(heading=_HEADING, stage=_stage, steps=_STEPS, facts=GROUP_FACTS)
