"""What a start does to shares, ages and quotas, worked out before it happens (scheduling.md §3). Changes nothing."""

from metagit_mcp.domain.approval import approval_digest
from metagit_mcp.domain.charging import units_of
from metagit_mcp.domain.policy import class_of, weight_of
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.shares import Dispatch
from metagit_mcp.domain.tasks import TaskNode, effective_slots, effective_tokens
from metagit_mcp.domain.work import Holding, Share
from metagit_mcp.scheduling.ages import ADMITTED_AT_ONCE
from metagit_mcp.scheduling.choice import Pick
from metagit_mcp.scheduling.demand import demand_of, with_own
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.workspace import WorkspaceQueue

_DIGITS = 12


def share_of(queue: WorkspaceQueue, graph_id: str) -> Share | None:
    """Return to whom work of the Group is charged now; None where nodes are ordered by score: nothing is charged."""
    policy = queue.snapshot.policy
    if policy.ordering != "fair":
        return None
    name = class_of(policy, graph_id)
    return Share(
        priority_class=name,
        class_weight=getattr(policy.classes, name),
        group_weight=weight_of(policy, graph_id),
    )


def dispatch_of(
    queue: WorkspaceQueue,
    asker: Asker,
    graph_id: str,
    node: TaskNode,
    pick: Pick | None = None,
    *,
    admits: bool = True,
) -> Dispatch:
    """Return what the asker's start of a node does; without a pick it is a start by id, which is nobody's turn.

    `admits`: nodes that no start passed over yet get their age.
    """
    group, policy = queue.groups[graph_id], queue.snapshot.policy
    lacking = queue.moment(asker).standing(graph_id).lacking
    change = None
    if pick is not None and pick.is_turn:
        cost = units_of(effective_slots(node), effective_tokens(node))
        change = queue.order(asker).change(graph_id, cost, queue.capability_sets)
    return Dispatch(
        share=share_of(queue, graph_id),
        class_window=policy.class_window,
        group_window=policy.deadline_window,
        pick=change,
        guard=pick is not None and pick.passed_over > 0,
        arrived=group.ages.arrived(group.lanes.entries, ADMITTED_AT_ONCE if admits else 0),
        left=group.ages.left(),
        lacking=lacking if lacking != node.node_id else None,
        node_digest=approval_digest(node)[:_DIGITS],
    )


def holding_of(queue: WorkspaceQueue, asker: Asker, graph_id: str, node: TaskNode) -> Holding:
    """Return what a lease of the asker on the node holds as long as it lasts (scheduling.md §1 and §5)."""
    known = queue.groups[graph_id].rules.shape.by_id[node.node_id]
    slots = effective_slots(known)
    return Holding(
        slots=slots,
        cost=units_of(slots, effective_tokens(known)),
        repository=repository_key(known.repository, known.project),
        uses=dict(with_own(demand_of(known).uses, queue.units_of(asker.agent_id))),
        exclusive=known.exclusive or (),
        touches=known.touches or (),
    )
