"""The way through the example: each step is something that an agent or a person does, and what is seen then.

Knows files only to count what was logged.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from metagit_mcp.interfaces.demo import views
from metagit_mcp.interfaces.demo.example import PLANS, surround
from metagit_mcp.interfaces.demo.programs import Agent, command, connected, connections, logged, seen_once, statuses
from metagit_mcp.interfaces.demo.tour_facts import TOUR_FACTS
from metagit_mcp.interfaces.demo.walk import Chapter, Step

Json = dict[str, Any]
_DECISIONS: Final = "schedule/decisions.jsonl"
_TOOLSETS: Final = "schedule,work,tasks"


class Stage:
    """Who and what takes part: the workspace, two agents, and the decisions given so far."""

    def __init__(self, root: Path, first: Agent, second: Agent) -> None:
        """Begin with an empty log."""
        self.root = root
        self.first = first
        self.second = second
        self.given: list[str] = []
        self.lease_id = ""

    def remember(self, answer: Json) -> Json:
        """Keep the ids of an answer's decisions, to find them in the log at the end."""
        self.given += [made["decision_id"] for made in answer["decisions"]]
        return answer

    def lines(self, log: str) -> list[Json]:
        """Return what stands in a log of the workspace."""
        return logged(self.root, log)

    def newest(self) -> dict[str, str]:
        """Return the newest event of each node whose status was written into its file."""
        events = map(_told, self.lines("events/taskgraph.jsonl"))
        return {subject: kind for kind, subject in events if not kind.endswith("Created")}


@asynccontextmanager
async def _stage(root: Path) -> AsyncIterator[Stage]:
    """Make the workspace and connect both agents: one opens as today's protocol does, one as older hosts do."""
    await command(root, "init", str(root))
    surround(root)
    async with connections() as opened:
        first, second = await opened.open(
            connected(root, "agent-1", mode="auto", toolsets=_TOOLSETS),
            connected(root, "agent-2", mode="legacy", toolsets=_TOOLSETS),
        )
        yield Stage(root, first, second)


# --- the steps -----------------------------------------------------------------------------------------------------


async def tools(stage: Stage) -> Json:
    """List what the server offers."""
    return {"tools": await stage.first.tools()}


async def plan(stage: Stage) -> Json:
    """Write the example's work down."""
    return {"plans": [await stage.first.call("metagit_task_plan", **each) for each in PLANS]}


async def status(stage: Stage) -> Json:
    """Look around."""
    return await stage.first.call("metagit_schedule_status")


async def preview(stage: Stage) -> Json:
    """Look at the whole order; nothing may be logged."""
    answer = await stage.first.call(_NEXT, preview=True, limit=4)
    return {**answer, "logged": len(stage.lines(_DECISIONS))}


async def ask(stage: Stage) -> Json:
    """Ask for work, and once more as after a lost answer: one decision, one line in the log."""
    answer = stage.remember(await stage.first.call(_NEXT))
    again = await stage.first.call(_NEXT)
    same = again["decisions"][0]["decision_id"] == answer["decisions"][0]["decision_id"]
    return {**answer, "same_decision_again": same, "logged": len(stage.lines(_DECISIONS))}


async def take(stage: Stage) -> Json:
    """Take what was offered, and once more as after a lost answer: there is one lease."""
    answer = stage.remember(await stage.first.call(_NEXT, claim=True))
    again = await stage.first.call(_NEXT, claim=True)
    lease = answer["decisions"][0]["lease"]
    stage.lease_id = lease["lease_id"]
    return {
        **answer,
        "again": {
            "decisions": again["decisions"],
            "same_lease": [each["lease_id"] for each in again["held"]] == [stage.lease_id],
        },
    }


async def second(stage: Stage) -> Json:
    """Take work as the other agent, through a server of its own."""
    return stage.remember(await stage.second.call(_NEXT, claim=True))


async def wonder(stage: Stage) -> Json:
    """Ask why a node is not offered, and see who runs."""
    return await stage.second.call("metagit_schedule_status", node_id="ranking")


async def complete(stage: Stage) -> Json:
    """Finish; what waited for it is offered, with what was left for it."""
    result = {"summary": "Found by name in 20 ms.", "artifacts": ["search/index.py"]}
    done = await stage.first.call(_REPORT, lease_id=stage.lease_id, state="completed", result=result)
    answer = stage.remember(await stage.first.call(_NEXT))
    return {**answer, "done": done}


async def overreach(stage: Stage) -> Json:
    """Try to start what only a person may release."""
    return await stage.first.refusal("metagit_work_start", node_id="keys")


async def approve(stage: Stage) -> Json:
    """Approve as a person, on the command line."""
    return await command(stage.root, "work", "approve", "keys", "--graph-id", "upkeep", "--operator", "ada")


async def ask_again(stage: Stage) -> Json:
    """Ask after the approval, and take it."""
    return stage.remember(await stage.first.call(_NEXT, claim=True))


async def try_policy(stage: Stage) -> Json:
    """See what another policy would change; nothing may be written."""
    answer = await stage.first.call("metagit_schedule_policy", action="preview", merge_queue_threshold=4)
    shown = await stage.first.call("metagit_schedule_policy")
    return {**answer, "in_force": shown["policy"]["merge_queue_threshold"]}


async def set_policy(stage: Stage) -> Json:
    """Change the policy, unless somebody else changed it meanwhile."""
    revision = (await stage.first.call("metagit_schedule_policy"))["revision"]
    answer = await stage.first.call(
        "metagit_schedule_policy", action="set", merge_queue_threshold=4, expected_revision=revision
    )
    return {**answer, "in_force": answer["policy"]["merge_queue_threshold"]}


async def orchestrate(stage: Stage) -> Json:
    """Plan for three agents at once on the command line."""
    return stage.remember(await command(stage.root, "schedule", "next", "--limit", "3"))


async def logs(stage: Stage) -> Json:
    """Read what was logged, once the files say what the ledger says."""
    newest = await seen_once(stage.newest, {"index": "TaskCompleted", "schema": "TaskStarted", "keys": "TaskStarted"})
    decisions, events = stage.lines(_DECISIONS), stage.lines("events/scheduler.jsonl")
    announced = [event["payload"].get("decision_id") for event in events]
    tasks = [_told(event) for event in stage.lines("events/taskgraph.jsonl")]
    return {
        "decisions": [[made["node_id"], made.get("agent_id", "")] for made in decisions],
        "logged_as_answered": [made["decision_id"] for made in decisions] == stage.given,
        "announced_as_answered": announced == stage.given,
        "scheduler": [_told(event) for event in events],
        "audit": [_told(event) for event in stage.lines("schedule/audit.jsonl")],
        "planned": [each for each in tasks if each[0].endswith("Created")],
        "newest": sorted(newest.items()),
        "statuses": sorted((name, each) for name, each in statuses(stage.root).items() if name in newest),
    }


def _told(event: Json) -> list[str]:
    """Return what kind of event it is, and of what: a node, else a graph, else the policy."""
    payload = event["payload"]
    return [event["type"], payload.get("node_id") or payload.get("graph_id") or "policy.json"]


_NEXT: Final = "metagit_schedule_next"
_REPORT: Final = "metagit_work_report"
_POLICY: Final = "metagit_schedule_policy"
_STEPS: Final = (
    Step(name="tools", title="agent-1 connects to its server and lists the tools", act=tools, view=views.tools),
    Step(
        name="plan",
        title="agent-1 writes the work down: metagit_task_plan, one call a graph",
        act=plan,
        view=views.plans,
    ),
    Step(name="status", title="agent-1 looks around: metagit_schedule_status", act=status, view=views.standing),
    Step(name="preview", title=f"agent-1 looks ahead: {_NEXT} preview=true limit=4", act=preview, view=views.order),
    Step(name="ask", title=f"agent-1 asks for advice, twice: {_NEXT}", act=ask, view=views.dispatch),
    Step(name="take", title=f"agent-1 takes it, twice: {_NEXT} claim=true", act=take, view=views.taken),
    Step(name="second", title="agent-2 takes the next, on a server of its own", act=second, view=views.taken),
    Step(
        name="wonder",
        title="agent-2 wonders: metagit_schedule_status node_id=ranking",
        act=wonder,
        view=views.explained,
    ),
    Step(
        name="complete",
        title=f"agent-1 is done: {_REPORT} state=completed, and asks for more",
        act=complete,
        view=views.finished,
    ),
    Step(
        name="overreach",
        title="agent-1 would rather rotate the keys: metagit_work_start node_id=keys",
        act=overreach,
        view=views.refused,
    ),
    Step(
        name="approve",
        title="ada approves: metagit-mcp work approve keys --graph-id upkeep --operator ada",
        act=approve,
        view=views.approved,
    ),
    Step(name="ask_again", title="agent-1 takes the next", act=ask_again, view=views.taken),
    Step(
        name="try_policy",
        title=f"agent-1 tries a policy: {_POLICY} action=preview merge_queue_threshold=4",
        act=try_policy,
        view=views.policy,
    ),
    Step(
        name="set_policy",
        title="agent-1 sets it: the same with action=set, guarded by expected_revision",
        act=set_policy,
        view=views.policy,
    ),
    Step(
        name="orchestrate",
        title="an orchestrator plans for three: metagit-mcp schedule next --limit 3",
        act=orchestrate,
        view=views.order,
    ),
    Step(name="logs", title="what was logged in .metagit, line by line", act=logs, view=views.logged),
)
_HEADING: Final = (
    "3 task graphs with 8 nodes in 4 repositories. The worktree of shop/search is warm; 3 merges of",
    "shop/web are queued or running. Each agent speaks MCP over stdio to a server of its own.",
)
TOUR: Final = Chapter(heading=_HEADING, stage=_stage, steps=_STEPS, facts=TOUR_FACTS)
