"""What must be seen at each step of the tour, as data. Knows neither how an answer is got nor how it is told."""

from typing import Final

from metagit_mcp.interfaces.demo.facts import Rows, facts_of

_TABLE: Final[dict[str, Rows]] = {
    "tools": (
        (
            "tools.*.name",
            [
                "metagit_schedule_next",
                "metagit_schedule_status",
                "metagit_schedule_policy",
                "metagit_work_start",
                "metagit_work_report",
                "metagit_task_plan",
                "metagit_task_update",
            ],
            "the server offers seven tools",
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
    "take": (
        (
            "decisions.*.lease.node_id,agent_id,ownership_epoch,session_epoch",
            [["index", "agent-1", 1, 1]],
            "what was advised is taken, under a lease",
        ),
        ("again.decisions", [], "an agent that holds all it may gets no more"),
        ("again.same_lease", True, "but it is told what it holds"),
    ),
    "second": (
        (
            "decisions.*.lease.node_id,agent_id,ownership_epoch",
            [["schema", "agent-2", 1]],
            "another agent gets another node",
        ),
    ),
    "wonder": (
        ("running.*.node_id,agent_id", [["schema", "agent-2"], ["index", "agent-1"]], "both servers see both runs"),
        ("explain.runnable", False, "a node that waits may not be started"),
        (
            "explain.reasons.*.text",
            ["not_ready(unfinished index)", "agent_slots(1/1)"],
            "every reason against a node is told",
        ),
    ),
    "complete": (
        ("done.node_id,node_status,released_slot", ["index", "completed", True], "the node is done, the slot free"),
        ("decisions.*.node_id", ["ranking"], "what waited for it is offered"),
        (
            "decisions.0.dispatch_hints.inputs.*.node_id,summary,artifacts",
            [["index", "Found by name in 20 ms.", ["search/index.py"]]],
            "and is told what index left behind",
        ),
    ),
    "overreach": (
        ("code", "NODE_NOT_ELIGIBLE", "a node that needs approval cannot be started"),
        ("details.reason,reasons", ["authorization", ["awaiting_approval"]], "the refusal says why"),
    ),
    "approve": (("graph_id,node_id,approved_by", ["upkeep", "keys", "ada"], "the approval names node and person"),),
    "ask_again": (
        ("decisions.*.lease.node_id,agent_id", [["keys", "agent-1"]], "once approved, the highest priority goes first"),
        (
            "decisions.0.reasons",
            ["priority=4", "dependency=0.3333", "affinity=0", "cost=0.5000(tokens=1000)"],
            "the reasons say it is the priority",
        ),
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
                ["index", "agent-1"],
                ["schema", "agent-2"],
                ["ranking", "agent-1"],
                ["keys", "agent-1"],
                ["ranking", ""],
                ["libraries", ""],
                ["docs", ""],
            ],
            "each decision that was given is one line of the log, and a claim is one",
        ),
        ("logged_as_answered", True, "the log has the ids that were answered"),
        (
            "scheduler",
            [
                ["ScheduleDecision", "index"],
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
            "planned",
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
            ],
            "every plan is an event",
        ),
        (
            "newest",
            [["index", "TaskCompleted"], ["keys", "TaskStarted"], ["schema", "TaskStarted"]],
            "so is every status that is written into a graph file",
        ),
        (
            "statuses",
            [["index", "completed"], ["keys", "running"], ["schema", "running"]],
            "the files say what the ledger says",
        ),
    ),
}
TOUR_FACTS: Final = facts_of(_TABLE)
