"""The way through the example: each step is something that an agent or a person does, and what is seen then.

After each step its facts are checked; the first that differs ends the demo. Knows files only to count what was logged.
"""

import asyncio
import json
import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import anyio

from metagit_mcp.domain.value import value
from metagit_mcp.errors import InternalError
from metagit_mcp.interfaces.demo import views
from metagit_mcp.interfaces.demo.example import PLANS, surround
from metagit_mcp.interfaces.demo.facts import FACTS, Fact, difference
from metagit_mcp.interfaces.demo.programs import Agent, StepFailed, command, connected
from metagit_mcp.interfaces.demo.transcript import Transcript

Json = dict[str, Any]
_WHOLE_SECONDS: Final = 120
_DECISIONS: Final = "schedule/decisions.jsonl"


class Stage:
    """Who and what takes part: the workspace, two agents, and the decisions given so far."""

    def __init__(self, root: Path, first: Agent, second: Agent) -> None:
        """Begin with an empty log."""
        self.root = root
        self.first = first
        self.second = second
        self.given: list[str] = []

    def remember(self, answer: Json) -> Json:
        """Keep the ids of an answer's decisions, to find them in the log at the end."""
        self.given += [made["decision_id"] for made in answer["decisions"]]
        return answer

    def lines(self, log: str) -> list[Json]:
        """Return what stands in a log of the workspace, line by line."""
        path = self.root / ".metagit" / log
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


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
    answer = await stage.first.call("metagit_schedule_next", preview=True, limit=4)
    return {**answer, "logged": len(stage.lines(_DECISIONS))}


async def ask(stage: Stage) -> Json:
    """Ask for work, and once more as after a lost answer: one decision, one line in the log."""
    answer = stage.remember(await stage.first.call("metagit_schedule_next"))
    again = await stage.first.call("metagit_schedule_next")
    same = again["decisions"][0]["decision_id"] == answer["decisions"][0]["decision_id"]
    return {**answer, "same_decision_again": same, "logged": len(stage.lines(_DECISIONS))}


async def start(stage: Stage) -> Json:
    """Start what was offered."""
    return await stage.first.call("metagit_task_update", node_id="index", status="running", agent_id="agent-1")


async def second(stage: Stage) -> Json:
    """Ask and start as the other agent, through a server of its own."""
    answer = stage.remember(await stage.second.call("metagit_schedule_next"))
    started = await stage.second.call("metagit_task_update", node_id="schema", status="running", agent_id="agent-2")
    return {**answer, "started": started["node"]}


async def wonder(stage: Stage) -> Json:
    """Ask why a node is not offered, and see who runs."""
    return await stage.second.call("metagit_schedule_status", node_id="ranking")


async def complete(stage: Stage) -> Json:
    """Finish; what waited for it is offered."""
    done = await stage.first.call("metagit_task_update", node_id="index", status="completed")
    answer = stage.remember(await stage.first.call("metagit_schedule_next"))
    return {**answer, "completed": done["node"]}


async def overreach(stage: Stage) -> Json:
    """Try to start what only a person may release."""
    return await stage.first.refusal("metagit_task_update", node_id="keys", status="running")


async def approve(stage: Stage) -> Json:
    """Approve as a person, on the command line."""
    return await command(stage.root, "work", "approve", "keys", "--graph-id", "upkeep", "--operator", "ada")


async def ask_again(stage: Stage) -> Json:
    """Ask after the approval, and start."""
    answer = stage.remember(await stage.first.call("metagit_schedule_next"))
    started = await stage.first.call("metagit_task_update", node_id="keys", status="running", agent_id="agent-1")
    return {**answer, "started": started["node"]}


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
    """Read what was logged."""
    decisions, events = stage.lines(_DECISIONS), stage.lines("events/scheduler.jsonl")
    announced = [event["payload"].get("decision_id") for event in events]
    return {
        "decisions": [[made["node_id"], made.get("agent_id", "")] for made in decisions],
        "logged_as_answered": [made["decision_id"] for made in decisions] == stage.given,
        "announced_as_answered": announced == stage.given,
        "scheduler": [_told(event) for event in events],
        "audit": [_told(event) for event in stage.lines("schedule/audit.jsonl")],
        "taskgraph": [_told(event) for event in stage.lines("events/taskgraph.jsonl")],
    }


def _told(event: Json) -> list[str]:
    """Return what kind of event it is, and of what: a node, else a graph, else the policy."""
    payload = event["payload"]
    return [event["type"], payload.get("node_id") or payload.get("graph_id") or "policy.json"]


@value
class Step:
    """One step: the name under which its facts stand, what is done, how, and what of it is told."""

    name: str
    title: str
    act: Callable[[Stage], Awaitable[Json]]
    view: Callable[[Json], Iterable[str]]


_UPDATE: Final = "metagit_task_update"
_NEXT: Final = "metagit_schedule_next"
_POLICY: Final = "metagit_schedule_policy"
STEPS: Final = (
    Step(name="tools", title="agent-1 connects to its server and lists the tools", act=tools, view=views.tools),
    Step(
        name="plan",
        title="agent-1 writes the work down: metagit_task_plan, one call a graph",
        act=plan,
        view=views.plans,
    ),
    Step(name="status", title="agent-1 looks around: metagit_schedule_status", act=status, view=views.standing),
    Step(name="preview", title=f"agent-1 looks ahead: {_NEXT} preview=true limit=4", act=preview, view=views.order),
    Step(name="ask", title=f"agent-1 asks for work, twice: {_NEXT}", act=ask, view=views.dispatch),
    Step(name="start", title=f"agent-1 starts: {_UPDATE} node_id=index status=running", act=start, view=views.updated),
    Step(name="second", title="agent-2 asks and starts, on a server of its own", act=second, view=views.offer),
    Step(
        name="wonder",
        title="agent-2 wonders: metagit_schedule_status node_id=ranking",
        act=wonder,
        view=views.explained,
    ),
    Step(name="complete", title="agent-1 sets index to completed and asks for more", act=complete, view=views.offer),
    Step(
        name="overreach",
        title=f"agent-1 would rather rotate the keys: {_UPDATE} node_id=keys status=running",
        act=overreach,
        view=views.refused,
    ),
    Step(
        name="approve",
        title="ada approves: metagit-mcp work approve keys --graph-id upkeep --operator ada",
        act=approve,
        view=views.approved,
    ),
    Step(name="ask_again", title="agent-1 asks again, and starts what it gets", act=ask_again, view=views.offer),
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


# --- the walk ------------------------------------------------------------------------------------------------------


class FactDiffers(Exception):
    """What was seen is not what the table of facts says."""

    def __init__(self, fact: Fact, seen: object) -> None:
        """Keep both."""
        super().__init__(fact.says)
        self.fact = fact
        self.seen = seen


def demonstrate(transcript: Transcript) -> int:
    """Walk through the example in a temporary folder and print it; return 0, or 1 if a fact differs or a step fails.

    Raises:
        InternalError: the transcript cannot be written.
    """
    try:
        with _ended_by_signal(), tempfile.TemporaryDirectory(prefix="metagit-demo-") as folder:
            checked = asyncio.run(_walk(Path(folder).resolve(), transcript))
    except Exception as error:  # noqa: BLE001 - whatever goes wrong, the demo says what and ends with 1
        first = _first(error)
        if isinstance(first, InternalError):
            # The transcript is lost, and with it the place to say so.
            raise first from None
        transcript.failed(_failure(first))
        return 1
    transcript.passed(f"{checked} facts checked, all hold.")
    return 0


async def _walk(root: Path, transcript: Transcript) -> int:
    """Take every step; return how many facts were checked."""
    checked = 0
    with anyio.fail_after(_WHOLE_SECONDS):
        await command(root, "init", str(root))
        surround(root)
        transcript.heading(_HEADING)
        # One agent opens with the present protocol, the other with the handshake that older hosts use.
        async with connected(root, "agent-1", mode="auto") as first, connected(root, "agent-2", mode="legacy") as other:
            stage = Stage(root, first, other)
            for number, step in enumerate(STEPS, start=1):
                transcript.step(number, step.title)
                seen = await step.act(stage)
                checked += _check(step, seen)
                transcript.seen(step.view(seen))
    return checked


def _check(step: Step, seen: Json) -> int:
    facts = [fact for fact in FACTS if fact.step == step.name]
    for fact in facts:
        found = difference(fact, seen)
        if found is not None:
            raise FactDiffers(fact, found.seen)
    return len(facts)


def _first(error: BaseException) -> BaseException:
    """Return what went wrong first: the SDK's task groups wrap whatever passes through them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _failure(error: BaseException) -> Iterable[str]:
    if isinstance(error, FactDiffers):
        return (
            f"The fact differs: {error.fact.says}",
            f"  at:       {error.fact.step}: {error.fact.path}",
            f"  expected: {json.dumps(error.fact.expected)}",
            f"  seen:     {json.dumps(error.seen)}",
        )
    if isinstance(error, StepFailed):
        return (f"The step failed: {error}",)
    if isinstance(error, TimeoutError):
        return (f"The demo did not end within {_WHOLE_SECONDS} seconds.",)
    return (f"The step failed: {type(error).__name__}: {error}",)


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """Let SIGTERM unwind like an interrupt, so that the folder and the servers do not stay behind."""

    def unwind(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
