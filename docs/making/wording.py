"""Sentences of the reference pages that no docstring or schema holds, each under a name that the code has.

The pages refuse a name that the code lost and one that is not told here. It must not import the code.
"""

# What the top-level fields of answers mean, by name.
ANSWER_FIELDS = {
    "budget_left": "What is left of each budgeted figure, all leases of the node counted.",
    "dispatch_hints": "What there is to do, from where to go on, and what dependencies and attempts left.",
    "applied": "How many Events of this call, and of those held before, happened now.",
    "capacity_status": "`available`: it can start now; `queued`: it waits its turn; `constrained`: its own limits hold "
    "it; `blocked`: somebody has to act.",
    "confidence": "How often what the Group was told came true, 0 to 1; 0.5 as long as nothing did or failed to.",
    "cursor": "The sequence up to which the Group's log was applied without a gap.",
    "duplicates": "How many Events were delivered before.",
    "estimated_completion": "When it is done, if that can be told.",
    "estimated_start": "From when to when it is expected to start, if that can be told.",
    "graph_id": "The task graph.",
    "group_id": "The Group.",
    "held": "Of `next` with `claim`: leases that the asker has already; go on with them. Of a status: for which node "
    "slots are kept. Of a delivery: how many Events wait for others before them.",
    "last_calculated_at": "When this was calculated.",
    "lease": "The lease; after a report only while it goes on.",
    "node_id": "The node.",
    "node_status": "What the node is now: a [state](../explanation/work.md), finer than the status in the file.",
    "ownership": "With `queue_only`: the node is the asker's, to be started in time.",
    "pauses": "Where nothing new starts, and who said so.",
    "released_slot": "Whether the lease ended, so that the agent is free.",
    "retry_at": "When a failed node may be tried again.",
    "charges": "How many of the newest starts the received shares are of: the last two hundred, or all there were. "
    "Of one Group alone neither is told.",
    "added": "How many nodes were added.",
    "changed": "Whether anything is different now.",
    "counts": "All nodes by what they are now.",
    "created": "Whether the graph is new.",
    "decisions": "The nodes to work on, best first.",
    "effect": "Before and after a `preview`, or a `set` that changed something: the first ten places of the order, and "
    "the guaranteed share of the up to twenty Groups with work whose share changes most, `shares_total` in all.",
    "explain": "The node asked about: every reason against it, its score, its place. Only with `node_id`.",
    "all_finished": "Whether every node of every graph that was asked about is finished.",
    "graph": "The graph, with the nodes that were added.",
    "groups": "Up to twenty Groups, the most behind their share first; `after_group` gives the following ones.",
    "groups_total": "How many Groups there are.",
    "merge_pressure": "Repositories with queued or running merges.",
    "needs_person": "Up to twenty pauses, limits, nodes and graph files that need a person, each with its command or "
    "file.",
    "needs_person_total": "How many of these there are.",
    "next_step": "What to do now, in one sentence.",
    "node": "The node after the change.",
    "not_eligible": "How many nodes may not start, by their first reason. Each node counts once.",
    "omitted": "What was cut to keep the answer under 40,000 bytes, and how to get it.",
    "policy": "The policy in force; `preview` shows the one it would be. In a status only the keys of RFC-0012.",
    "preempt_requested": "Whether somebody waits for the slot: report a checkpoint and `paused` as soon as it is safe.",
    "ready_count": "Nodes that are ready by status and dependencies.",
    "recent_decisions": "The newest lines of the decision log, newest first.",
    "revision": "The policy's revision; a hand edit changes it too.",
    "runnable_count": "Nodes that this caller could start now.",
    "running": "Up to fifty nodes that run: under a lease, or as the files say.",
    "skipped": "Nodes that `skip_on_merge_pressure` left out, best first.",
    "state_version": "Names the state of files and work that the answer rests on; the same state has the same version.",
    "truncated": "Whether something was cut to keep the answer under 40,000 bytes.",
    "warnings": "What is wrong with files, and what was done about it.",
    "waiting": "Up to twenty nodes that wait for something else than a person, each with its first reason.",
    "waiting_total": "How many such nodes there are.",
    "workspace": "Which workspace this is, and why it was chosen.",
}

# Eligibility reasons: what is the matter, and who or what ends it.
REASONS = {
    "graph_invalid": (
        "A field of the node cannot be used, or its id stands twice in the file.",
        "a person, in the file",
    ),
    "graph_inactive": ("The graph's status is not `active`, or its file cannot be used.", "whoever owns the graph"),
    "finished": ("The node is completed or cancelled. No further reason is given.", "nobody needs to"),
    "not_ready": ("It waits for other nodes; the details are listed below.", "the nodes it waits for"),
    "blocked": ("Its status is `blocked`. The note is the reason that was given.", "a person"),
    "deferred": ("`not_before` lies in the future; the detail is that instant.", "time"),
    "retry_at": ("It failed, and is tried again at that instant.", "time"),
    "awaiting_approval": (
        "Its risk or its `approval` asks for a person, who has not approved it as it is now.",
        "a person",
    ),
    "leased": ("An agent works on it; the detail is who, and until when the lease lasts.", "a report, or time"),
    "observed": (
        "Its file says that it runs, and nobody has a lease on it; `overdue`: longer than `leases.observed_seconds`",
        "whoever runs it",
    ),
    "awaiting_review": (
        "It is done, and a person has to accept the result; `in its Group`: its Coordinator.",
        "a person",
    ),
    "not_offered": (
        "Its Group's log offers it to other agents, or to nobody now; the detail is to whom, or what ended.",
        "the Group's Coordinator",
    ),
    "owned": ("Another agent owns it and starts it later; the detail is who.", "its owner, or time"),
    "paused": ("A person said that nothing starts there; the detail is the scope, who, and until when.", "a person"),
    "budget_exhausted": ("Nothing is left of a figure of its budget.", "whoever owns the budget"),
    "capability_missing": ("It needs a capability that the asker did not name; one reason each.", "another asker"),
    "exclusive": (
        "Another node holds an exclusive key that it needs; the detail is which, and who.",
        "that node's end",
    ),
    "conflicts_with": (
        "Its write scopes overlap those of a node at work in the same repository; the detail is which, and where.",
        "that node's end",
    ),
    "resource_busy": (
        "Too few units of a resource are left; units held and capacity.",
        "work that finishes, or, where it needs more than all, whoever owns the policy",
    ),
    "resource_closed": ("A resource turned an agent away; the detail is until when it is closed.", "time"),
    "never_fits": ("It needs more slots than a limit can ever give.", "whoever owns the policy"),
    "merge_pressure": (
        "Its repository is under merge pressure, and the policy skips such nodes.",
        "merges that finish",
    ),
    "group_quota": (
        "Its Group has no room under its quota, or keeps it for its best node; the detail is slots in use and quota.",
        "work that finishes",
    ),
    "agent_slots": (
        "The asker holds as many leases as it may.",
        "the asker's own reports, or, where it may hold none, whoever owns the policy",
    ),
    "reserved": (
        "The free slots are kept for another node: a wide one, or one for which others were asked to pause.",
        "that node's start, or the end of the hold",
    ),
    "no_slot": ("The workspace has no free slot for it; the detail is slots in use and limit.", "work that finishes"),
}

# What follows `not_ready`, with an example node where the code needs one.
WAITING = {
    "cycle a -> b -> a": "It waits for itself.",
    "unknown status paused": "Its status is none of the six.",
    "missing dependency a": "It depends on a node that the graph does not have.",
    "unfinished a": "It depends on a node that is not completed yet.",
    "failed a": "It depends on a node that is blocked for good: its reason starts with `failed:`.",
    "cancelled a": "It depends on a node that was cancelled.",
    "parent a missing": "It is part of a node that the graph does not have.",
    "parent a cancelled": "It is part of a node that was cancelled.",
    "parent a blocked": "It is part of a node that is blocked.",
    "parent a: unfinished b": "What its parent waits for, it waits for too.",
    "parent a deferred until 2026-12-01T12:00:00Z": "Its parent's time has not come.",
    "parent a awaiting approval": "Its parent waits for a person's approval.",
    "open child a": "It has a part that is not finished: a parent ends after its children.",
}

# The strings among the reasons of a score, by what stands before `=` or a space.
SCORE_REASONS = {
    "priority": "The node's priority.",
    "dependency": "Criticality: how heavy a chain of work the node holds back, 1 for the heaviest of its graph.",
    "affinity": "1 if the repository has a warm worktree. `affinity=no_effect` follows when the ready nodes lie in "
    "several repositories and all are warm: then the preference decides nothing.",
    "cost": "`1000 / (1000 + tokens)`, and the tokens it came from.",
    "fairness": "1 if the repository was served least. Only while `weights.fairness` is above 0.",
    "urgency": "The requested urgency: -1 routine, 1 high, 2 critical. Only if it counts.",
    "deadline": "The node is due soon. Only if it counts.",
    "merge_pressure": "Queued and running merges of the repository, and the penalty that they cost.",
    "passed_over": "The node was passed over in so many starts of its Group, and is taken for that: the guard of "
    "`pass_over_limit`.",
    "skipped_due_to_merge_pressure": "The node was left out; it stands in `skipped`, never in `decisions`.",
}
