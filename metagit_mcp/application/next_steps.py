"""What to do after an answer, in one sentence of ids, numbers and commands. Decides nothing."""

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from metagit_mcp.domain.decision import LeaseRecord, ScheduleDecision
from metagit_mcp.domain.tasks import FINISHED_STATUSES, LoadedGraph
from metagit_mcp.domain.work import PauseScope, WorkItem
from metagit_mcp.scheduling.eligibility import ReasonKind
from metagit_mcp.scheduling.tally import Census

_NAMED: Final = 5
_HELP: Final[dict[ReasonKind, str]] = {
    "graph_invalid": "mend their fields, the warnings name them",
    "graph_inactive": "their graph is not active",
    "not_ready": "they wait for other nodes",
    "blocked": "a person must unblock them",
    "deferred": "their time has not come",
    "retry_at": "they failed and are tried again later",
    "awaiting_approval": "a person must approve them: metagit-mcp work approve NODE",
    "leased": "agents work on them",
    "observed": "they are running",
    "awaiting_review": "a person must review them: metagit-mcp work review NODE --accept",
    "not_offered": "their Groups offer them to other agents, or to nobody now",
    "owned": "other agents own them",
    "paused": "they are paused, until then or until somebody resumes: metagit-mcp resume",
    "budget_exhausted": "their budget is used up, and a person may raise it",
    "capability_missing": "ask with the capabilities they need",
    "exclusive": "another node holds what only one may have",
    "conflicts_with": "another node works on the same files",
    "resource_busy": "what they use is taken",
    "resource_closed": "what they use turned an agent away",
    "never_fits": "they need more slots than the limits allow, which a person must raise",
    "merge_pressure": "their repository has too many merges queued",
    "group_quota": "their Group is at its quota, or keeps the rest of it for its best node, which needs more",
    "agent_slots": "you hold as many leases as you may",
    "reserved": "the free slots are kept for another node: held of metagit_schedule_status says which, and until when",
    "no_slot": "too few slots are free for them",
}


def after_next(
    decisions: Sequence[ScheduleDecision],
    held: Sequence[LeaseRecord],
    counted: Census,
    graphs: Collection[LoadedGraph],
) -> str:
    """Return what the asker of `next` does now; `graphs` are those that were asked about."""
    if not decisions and held:
        asked = next((each for each in held if each.preempt_requested), None)
        if asked is not None:
            return make_room(asked.lease_id)
        first = held[0]
        return (
            f"You have no slot free: go on with node {first.node_id} of graph {first.graph_id} and report under lease "
            f"{first.lease_id}, or give it back with state=released."
        )
    if not decisions:
        return _nothing(counted, graphs)
    made = decisions[0]
    if made.lease is not None and len(decisions) > 1:
        return f"Work on all {len(decisions)} nodes that you were given. {report_under('of each')}"
    if made.lease is not None:
        return f"Work on node {made.node_id} of graph {made.graph_id}. {report_under(made.lease.lease_id)}"
    return (
        f"This is advice. Take node {made.node_id} of graph {made.graph_id} with metagit_schedule_next claim=true, or "
        "with metagit_work_start."
    )


def report_under(lease_id: str) -> str:
    """Return what the holder of a lease does while it works and when it stops."""
    return (
        f"Report with metagit_work_report and lease_id {lease_id}: running now and then, completed with a result, "
        "blocked or failed with a note, released to give it back."
    )


def make_room(lease_id: str) -> str:
    """Return what the holder of a lease does who is asked to pause: never at once, only at a safe point."""
    return (
        "Somebody waits for this slot: checkpoint as soon as it is safe, then metagit_work_report with lease_id "
        f"{lease_id} and state=paused. You get the node again later."
    )


def after_report(item: WorkItem, lease: LeaseRecord | None) -> str:
    """Return what the agent does after a report, under the lease if that goes on."""
    if lease is not None:
        return make_room(lease.lease_id) if lease.preempt_requested else report_under(lease.lease_id)
    if item.fed is not None and item.state in {"submitted", "parked"}:
        return f"The Coordinator of its Group decides what becomes of it. {_ASK}"
    if item.state == "submitted":
        return f"{by_person('awaiting_review', review_command(item.graph_id, item.node_id))} {_ASK}"
    if item.state == "parked":
        return f"{by_person('blocked', retry_command(item.graph_id, item.node_id))} {_ASK}"
    return _ASK


def by_person(kind: ReasonKind, command: str) -> str:
    """Return what a person does about a node that waits for one, by the reason and the command that ends it."""
    return f"{_BY_PERSON.get(kind, 'It waits for a person')}: {command}."


_BY_PERSON: Final[Mapping[ReasonKind, str]] = {
    "awaiting_approval": "A person approves it",
    "awaiting_review": "A person reviews it",
}
_ASK: Final = "Ask for the next: metagit_schedule_next with claim=true."


def _nothing(counted: Census, graphs: Collection[LoadedGraph]) -> str:
    if not graphs:
        return (
            "There is no task graph here: none was planned yet, or .metagit was removed. metagit_task_plan makes one."
        )
    if is_all_finished(counted, graphs):
        return "Everything is finished. Plan more with metagit_task_plan, if there is more to do."
    parts = [f"a person must mend {graph_file(each.graph_id)}" for each in graphs if not each.is_whole][:_NAMED]
    left = {kind: nodes for kind, nodes in counted.not_eligible.items() if nodes and kind != "finished"}
    parts += [f"{nodes} {kind}: {_HELP[kind]}" for kind, nodes in sorted(left.items())]
    said = "; ".join(parts)
    return "Nothing can be started now. " + said[:1].upper() + said[1:] + "."


def is_all_finished(counted: Census, graphs: Collection[LoadedGraph]) -> bool:
    """Say whether there is work and all of it is finished, as far as every graph can be read."""
    left = any(nodes for kind, nodes in counted.not_eligible.items() if kind not in {"finished", "graph_inactive"})
    return bool(graphs) and not (counted.runnable or left) and all(map(_is_over, graphs))


def _is_over(loaded: LoadedGraph) -> bool:
    """Say whether nothing is left of a graph of which nothing is offered: of one that is not active nobody counts."""
    graph = loaded.graph
    if graph is None or not loaded.is_whole:
        return False
    return graph.status == "active" or all(node.status in FINISHED_STATUSES for node in graph.nodes)


def graph_file(graph_id: str) -> str:
    """Return where a graph's file lies in the workspace."""
    return f".metagit/tasks/graphs/{graph_id}.json"


def approve_command(graph_id: str, node_id: str) -> str:
    """Return the command with which a person approves a node."""
    return _about("work approve", graph_id, node_id)


def review_command(graph_id: str, node_id: str) -> str:
    """Return the command with which a person takes a submitted result."""
    return _about("work review", graph_id, node_id, "--accept")


def retry_command(graph_id: str, node_id: str) -> str:
    """Return the command with which a person lets a parked node be tried again."""
    return _about("work retry", graph_id, node_id)


def release_command(graph_id: str, node_id: str) -> str:
    """Return the command with which a person takes a node from whoever has it."""
    return _about("work release", graph_id, node_id, "--force")


def give_back_command(lease_id: str) -> str:
    """Return the command with which the holder of a lease gives its work back."""
    return f"metagit-mcp work report {lease_id} --state released"


def update_command(graph_id: str, node_id: str, *flags: str) -> str:
    """Return the command with which a person changes a node."""
    return _about("task update", graph_id, node_id, *flags)


def policy_command(patch: Mapping[str, Any]) -> str:
    """Return the command with which a person changes the policy."""
    return shlex.join(["metagit-mcp", "schedule", "policy", "set", "--patch", json.dumps(patch, ensure_ascii=False)])


def resume_command(scope: PauseScope, name: str) -> str:
    """Return the command with which a person ends a pause."""
    scoped = [] if scope == "workspace" else [f"--{scope}={name}"] if name.startswith("-") else [f"--{scope}", name]
    return shlex.join(["metagit-mcp", "resume", *scoped])


def _about(command: str, graph_id: str, node_id: str, *flags: str) -> str:
    # An id may begin with a dash, which must not be read as a flag.
    node = [f"--node-id={node_id}"] if node_id.startswith("-") else [node_id]
    graph = [f"--graph-id={graph_id}"] if graph_id.startswith("-") else ["--graph-id", graph_id]
    return shlex.join(["metagit-mcp", *command.split(), *node, *graph, *flags])
