"""What to do after an answer, in one sentence of ids, numbers and commands. Decides nothing."""

import shlex
from collections.abc import Collection, Sequence
from typing import Final

from metagit_mcp.domain.decision import ScheduleDecision
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.scheduling.eligibility import ReasonKind
from metagit_mcp.scheduling.moment import Census

_NAMED: Final = 5
_HELP: Final[dict[ReasonKind, str]] = {
    "graph_invalid": "mend their fields, the warnings name them",
    "graph_inactive": "their graph is not active",
    "not_ready": "they wait for other nodes",
    "blocked": "a person must unblock them",
    "deferred": "their time has not come",
    "awaiting_approval": "a person must approve them: metagit-mcp work approve NODE",
    "observed": "they are running",
    "capability_missing": "ask with the capabilities they need",
    "never_fits": "they need more slots than the limits allow",
    "merge_pressure": "their repository has too many merges queued",
    "group_quota": "their Group is at its quota",
    "no_slot": "no slot is free",
}


def after_next(decisions: Sequence[ScheduleDecision], counted: Census, graphs: Collection[LoadedGraph]) -> str:
    """Return what the asker of `next` does now; `graphs` are those that were asked about."""
    if not decisions:
        return _nothing(counted, graphs)
    first = decisions[0]
    return (
        f"Set node {first.node_id} of graph {first.graph_id} to running with metagit_task_update and your agent_id (a "
        "refusal means that another agent was faster: ask again), do the work, then set it to completed, or to blocked "
        "with blocker_reason. Then ask for the next."
    )


def _nothing(counted: Census, graphs: Collection[LoadedGraph]) -> str:
    if not graphs:
        return (
            "There is no task graph here: none was planned yet, or .metagit was removed. metagit_task_plan makes one."
        )
    if is_all_finished(counted, graphs):
        return "Everything is finished. Plan more with metagit_task_plan, if there is more to do."
    parts = [f"a person must mend {graph_file(each.graph_id)}" for each in graphs if each.graph is None][:_NAMED]
    left = {kind: nodes for kind, nodes in counted.not_eligible.items() if nodes and kind != "finished"}
    parts += [f"{nodes} {kind}: {_HELP[kind]}" for kind, nodes in sorted(left.items())]
    return "Nothing can be started now. " + "; ".join(parts) + "."


def is_all_finished(counted: Census, graphs: Collection[LoadedGraph]) -> bool:
    """Say whether there is work and all of it is finished, as far as every graph can be read."""
    left = any(nodes for kind, nodes in counted.not_eligible.items() if kind != "finished")
    return bool(graphs) and not (counted.runnable or left or any(each.graph is None for each in graphs))


def graph_file(graph_id: str) -> str:
    """Return where a graph's file lies in the workspace."""
    return f".metagit/tasks/graphs/{graph_id}.json"


def approve_command(graph_id: str, node_id: str) -> str:
    """Return the command with which a person approves a node."""
    return _about("work approve", graph_id, node_id)


def update_command(graph_id: str, node_id: str, *flags: str) -> str:
    """Return the command with which a person changes a node."""
    return _about("task update", graph_id, node_id, *flags)


def _about(command: str, graph_id: str, node_id: str, *flags: str) -> str:
    # An id may begin with a dash, which must not be read as a flag.
    node = [f"--node-id={node_id}"] if node_id.startswith("-") else [node_id]
    graph = [f"--graph-id={graph_id}"] if graph_id.startswith("-") else ["--graph-id", graph_id]
    return shlex.join(["metagit-mcp", *command.split(), *node, *graph, *flags])
