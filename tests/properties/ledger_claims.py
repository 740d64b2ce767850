"""What a claim in the ledger machine is made of: its policy, and the queue over the files and the ledger.

It must not know the model, nor carry anything out.
"""

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby

from metagit_mcp.domain.commands import StartWork
from metagit_mcp.domain.limits import LeasePolicy, PreemptionPolicy, RetryPolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.scheduling.cycle import Pick, WorkspaceQueue, dispatch_of, holding_of
from metagit_mcp.scheduling.snapshot import Asker, Snapshot, Surroundings
from tests.properties import ledger_model as plain

POLICY = SchedulePolicy(
    slots=plain.SLOTS,
    agent_slots=plain.AGENT_SLOTS,
    queue_capacity=plain.QUEUE,
    groups={"r": GroupPolicy(review=True, priority_class="critical"), "g": GroupPolicy(priority_class="low")},
    preemption=PreemptionPolicy(min_quantum_seconds=1),
    leases=LeasePolicy(unattended_seconds=plain.LEASE, start_by_seconds=plain.START_BY, blocked_seconds=plain.BLOCKED),
    retries=RetryPolicy(max_attempts=plain.ATTEMPTS),
)


def queue_over(nodes: Iterable[tuple[str, TaskNode]], state: LedgerState, now: datetime) -> WorkspaceQueue:
    """A queue over the nodes of some graphs, those of one graph next to one another."""
    graphs = {
        graph_id: LoadedGraph(
            graph_id=graph_id,
            graph=TaskGraph(title=graph_id, status="active", nodes=tuple(node for _, node in own)),
        )
        for graph_id, own in groupby(nodes, lambda each: each[0])
    }
    return WorkspaceQueue(
        Snapshot(policy=POLICY, graphs=graphs, surroundings=Surroundings(), approvals={}, work=state, now=now)
    )


def start_of(
    queue: WorkspaceQueue, graph_id: str, node_id: str, agent_id: str, seen_at: datetime, pick: Pick | None = None
) -> StartWork:
    """The start of a node with all that it does to shares."""
    asker, node = Asker(agent_id=agent_id), queue.groups[graph_id].rules.shape.by_id[node_id]
    return StartWork(
        graph_id=graph_id,
        node_id=node_id,
        agent_id=agent_id,
        holding=holding_of(queue, asker, graph_id, node),
        seen_at=seen_at,
        dispatch=dispatch_of(queue, asker, graph_id, node, pick),
    )
