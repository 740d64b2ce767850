"""What must be seen at each step of the demo, as data: where to look, what must stand there, and what that shows.

Knows neither how an answer is got nor how it is told.
"""

import json
from typing import Any, Final, NamedTuple

from metagit_mcp.domain.value import value


class Fact(NamedTuple):
    """One row: the step, the path into what is seen there, the value to find, and the sentence it stands for."""

    step: str
    path: str
    expected: object
    says: str


# Stands for what a path does not find.
MISSING: Final = "(missing)"

_TABLE: Final[dict[str, tuple[tuple[str, object, str], ...]]] = {
    "tools": (
        (
            "tools.*.name",
            [
                "metagit_schedule_next",
                "metagit_schedule_status",
                "metagit_schedule_policy",
                "metagit_task_plan",
                "metagit_task_update",
            ],
            "the server offers five tools",
        ),
    ),
    "plan": (("plans.*.created,added", [[True, 3], [True, 2], [True, 3]], "three plans make three graphs"),),
    "status": (
        ("workspace.path", "WORKSPACE", "the server serves the workspace it was started for"),
        ("groups.*.graph_id,nodes", [["checkout", 3], ["search", 2], ["upkeep", 3]], "all graphs are seen"),
        ("counts.eligible,waiting,awaiting_approval", [4, 3, 1], "every node is counted once"),
        ("runnable_count", 4, "four nodes could be started"),
        (
            "merge_pressure.*.repository,depth,pressured",
            [["shop/web", 3, True]],
            "queued and running merges press, finished ones do not",
        ),
        (
            "needs_person.*.node_id,reason,command",
            [["keys", "awaiting_approval", "metagit-mcp work approve keys --graph-id upkeep"]],
            "what only a person can do is listed with the command for it",
        ),
    ),
    "preview": (
        (
            "decisions.*.node_id,score",
            [["index", 2.7625], ["schema", 2.325], ["docs", 1.191667], ["libraries", 0.2625]],
            "the order is by score, and the scores are exact",
        ),
        (
            "decisions.0.reasons",
            ["priority=2", "dependency=1.0000", "affinity=1", "cost=0.2500(tokens=3000)"],
            "a warm worktree puts index before its equals",
        ),
        (
            "decisions.1.reasons",
            ["priority=2", "dependency=1.0000", "affinity=0", "cost=0.5000(tokens=1000)"],
            "schema holds back the longest chain of its graph",
        ),
        (
            "decisions.3.reasons",
            [
                "priority=2",
                "dependency=1.0000",
                "affinity=0",
                "cost=0.2500(tokens=3000)",
                "merge_pressure depth=3 threshold=3 penalty=2.0",
            ],
            "merge pressure puts libraries behind a lower priority, and says so",
        ),
        ("logged", 0, "a preview logs nothing"),
    ),
    "ask": (
        ("decisions.*.node_id", ["index"], "asked for real, the answer is the first of the preview"),
        ("decisions.0.agent_id", "agent-1", "the decision names who asked"),
        (
            "decisions.0.dispatch_hints.worktree",
            "WORKSPACE/worktrees/agent-1/shop/search",
            "the launcher is told which worktree is warm",
        ),
        (
            "decisions.0.dispatch_hints.handoff.prompt",
            "Work on node index of graph search.",
            "the launcher is told how to begin",
        ),
        (
            "decisions.0.dispatch_hints.acceptance",
            ["Every product is found by its name."],
            "the launcher is told when it is done",
        ),
        (
            "decisions.0.compile_command",
            "metagit context compile --project shop --repo search --task-id index",
            "the launcher is told how to compile the context",
        ),
        ("same_decision_again", True, "the same advice at the same state is the same decision"),
        ("logged", 1, "the same advice is logged once"),
    ),
    "start": (("node.node_id,status,agent_id", ["index", "running", "agent-1"], "the node runs"),),
    "second": (
        ("decisions.*.node_id,agent_id", [["schema", "agent-2"]], "another agent gets another node"),
        ("started.status", "running", "the other node runs too"),
    ),
    "wonder": (
        ("running.*.node_id,agent_id", [["schema", "agent-2"], ["index", "agent-1"]], "both servers see both runs"),
        ("explain.runnable", False, "a node that waits may not be started"),
        ("explain.reasons.*.text", ["not_ready(unfinished index)"], "a node that waits says for what"),
    ),
    "complete": (
        ("completed.status", "completed", "the node is done"),
        ("decisions.*.node_id", ["ranking"], "what waited for it is offered"),
    ),
    "overreach": (
        ("code", "NODE_NOT_ELIGIBLE", "a node that needs approval cannot be started"),
        ("details.reasons", ["awaiting_approval"], "the refusal says why"),
    ),
    "approve": (("graph_id,node_id,approved_by", ["upkeep", "keys", "ada"], "the approval names node and person"),),
    "ask_again": (
        ("decisions.*.node_id", ["keys"], "once approved, the highest priority goes first"),
        (
            "decisions.0.reasons",
            ["priority=4", "dependency=0.3333", "affinity=0", "cost=0.5000(tokens=1000)"],
            "the reasons say it is the priority",
        ),
        ("started.status", "running", "once approved, it may be started"),
    ),
    "try_policy": (
        (
            "effect.before.*.node_id,score",
            [["ranking", 2.675], ["docs", 1.191667], ["libraries", 0.2625]],
            "the preview shows the order as it is",
        ),
        (
            "effect.after.*.node_id,score",
            [["ranking", 2.675], ["libraries", 2.2625], ["docs", 1.191667]],
            "the preview shows the order as it would be",
        ),
        ("in_force", 3, "a preview changes nothing"),
    ),
    "set_policy": (
        ("changed", True, "a set changes the policy"),
        ("in_force", 4, "the new policy is in force"),
    ),
    "orchestrate": (
        (
            "decisions.*.node_id",
            ["ranking", "libraries", "docs"],
            "the command line answers in the order of the new policy",
        ),
        (
            "decisions.1.reasons",
            ["priority=2", "dependency=1.0000", "affinity=0", "cost=0.2500(tokens=3000)"],
            "below the threshold merge pressure is no reason",
        ),
    ),
    "logs": (
        (
            "decisions",
            [
                ["index", "agent-1"],
                ["schema", "agent-2"],
                ["ranking", "agent-1"],
                ["keys", "agent-1"],
                ["ranking", ""],
                ["libraries", ""],
                ["docs", ""],
            ],
            "each decision that was given is one line of the log",
        ),
        ("logged_as_answered", True, "the log has the ids that were answered"),
        (
            "scheduler",
            [
                ["ScheduleDecision", "index"],
                ["ScheduleDecision", "schema"],
                ["ScheduleDecision", "ranking"],
                ["ScheduleDecision", "keys"],
                ["ScheduleDecision", "ranking"],
                ["ScheduleDecision", "libraries"],
                ["ScheduleDecision", "docs"],
            ],
            "each decision is an event",
        ),
        ("announced_as_answered", True, "the events have the ids that were answered"),
        (
            "audit",
            [["ApprovalGranted", "keys"], ["PolicyChanged", "policy.json"]],
            "what was approved and what policy was changed is in a log of its own",
        ),
        (
            "taskgraph",
            [
                ["TaskGraphCreated", "checkout"],
                ["TaskNodeCreated", "schema"],
                ["TaskNodeCreated", "api"],
                ["TaskNodeCreated", "page"],
                ["TaskGraphCreated", "search"],
                ["TaskNodeCreated", "index"],
                ["TaskNodeCreated", "ranking"],
                ["TaskGraphCreated", "upkeep"],
                ["TaskNodeCreated", "docs"],
                ["TaskNodeCreated", "keys"],
                ["TaskNodeCreated", "libraries"],
                ["TaskStarted", "index"],
                ["TaskStarted", "schema"],
                ["TaskCompleted", "index"],
                ["TaskStarted", "keys"],
            ],
            "every change of a graph is an event",
        ),
    ),
}
FACTS: Final = tuple(Fact(step, *row) for step, rows in _TABLE.items() for row in rows)


@value
class Difference:
    """A fact that does not hold, and what was seen in its place."""

    fact: Fact
    seen: object


def difference(fact: Fact, seen: object) -> Difference | None:
    """Return how the fact differs from what is seen at its step, or None when it holds."""
    found = at_path(seen, fact.path)
    return None if _exact(found) == _exact(fact.expected) else Difference(fact=fact, seen=found)


def at_path(seen: Any, path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return what stands at a dotted path.

    `*` goes on in each item of a list, a number in one of them, `a,b` takes several names of an object as a list;
    what is not there is `MISSING`.
    """
    head, _, rest = path.partition(".")
    if head == "*":
        return [at_path(item, rest) for item in seen] if isinstance(seen, list) else MISSING
    if "," in head:
        return [_item(seen, name) for name in head.split(",")]
    found = _item(seen, head)
    return at_path(found, rest) if rest else found


def _item(seen: object, name: str) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(seen, list) and name.isdigit() and int(name) < len(seen):
        return seen[int(name)]
    return seen.get(name, MISSING) if isinstance(seen, dict) else MISSING


def _exact(found: object) -> str:
    """The value as text: 1, 1.0 and true are three different things."""
    return json.dumps(found, sort_keys=True)
