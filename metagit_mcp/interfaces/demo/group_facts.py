"""What must be seen at each step with a Group that has a log of its own. Knows no step's work."""

from typing import Final

from metagit_mcp.interfaces.demo.facts import Rows, facts_of

_DONE: Final = ("prices", "release:build", "release:notes", "release:publish", "stock")
_TABLE: Final[dict[str, Rows]] = {
    "group_deliver": (
        ("half.applied,held,cursor", [0, 5, 0], "what lies beyond a gap is held, and the Cursor stays before it"),
        ("dead.point", "ledger.committed", "a process is killed right after its delivery was durable"),
        ("dead.said", "", "before it said so"),
        (
            "again.applied,duplicates,held,cursor",
            [0, 18, 0, 9],
            "so the next one, with each Event twice, has nothing to do",
        ),
        ("group.items.*.state,items", [["open", 3]], "three WorkItems are in the queue"),
    ),
    "group_claim": (
        (
            "taken.*.graph_id,node_id,agent",
            [["release:7", "release:build", 1], ["shop", "stock", 2]],
            "the Group and the task graph take turns",
        ),
    ),
    "group_answer": (
        (
            "asked.*.command,work_item_id,agent_id,ownership_epoch",
            [
                ["work.accept_offer", "release:build", "worker-1", 1],
                ["work.start", "release:build", "worker-1", 1],
                ["schedule.estimate", "release:build", "worker-1", 1],
            ],
            "the Group is asked for what its agent did, told when that ends, and nothing of other work",
        ),
        ("told.applied,duplicates,cursor", [2, 9, 11], "and its log answers"),
    ),
    "group_finish": (
        (
            "taken.*.node_id,agent",
            [["release:notes", 1], ["prices", 2], ["release:publish", 1]],
            "who is offered work gets it, and what waits comes after what it waits for",
        ),
        ("proposals", [], "the log has answered everything"),
    ),
    "group_account": (
        ("done", [[node_id, 1, 1] for node_id in _DONE], "every node was done once, and never with two"),
        ("statuses", [["prices", "completed"], ["stock", "completed"]], "the file of the task graph says so"),
        ("group.items.*.state,items", [["completed", 3]], "and the log of the Group"),
        ("events", 22, "which has 22 Events"),
        ("group.cursor,held,outbox", [22, 0, 0], "all of them taken in, none held, nothing left to ask for"),
        ("verified.same", True, "the ledger, replayed, leads to the live state"),
    ),
}
GROUP_FACTS: Final = facts_of(_TABLE)
