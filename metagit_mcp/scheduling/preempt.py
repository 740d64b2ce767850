"""Whether somebody is asked to pause for a node whose flow is further behind (scheduling.md §6). Interrupts nobody."""

from datetime import timedelta

from metagit_mcp.domain.charging import units_of
from metagit_mcp.domain.policy import class_of, weight_of
from metagit_mcp.domain.share_events import PreemptionRequested
from metagit_mcp.domain.shares import LCM
from metagit_mcp.domain.tasks import effective_slots, effective_tokens
from metagit_mcp.domain.work import ExecutionLease
from metagit_mcp.scheduling.fairness import FairOrder
from metagit_mcp.scheduling.standing import Offer
from metagit_mcp.scheduling.workspace import WorkspaceQueue


def preemption_for(queue: WorkspaceQueue, order: FairOrder, offer: Offer) -> PreemptionRequested | None:
    """Return the request that is made for a node while no slot is free, or None.

    The reverse swap is impossible: even after its charge the preemptor's flow is not ahead of the victim's, refunded.
    At most one request stands at a time. A node has one other asked each time that it comes, and one more for each slot
    that it needs besides, as long as slots are kept for it.
    """
    policy, shares = queue.snapshot.policy, queue.snapshot.work.shares
    hold, asked = shares.hold, shares.asked.get(offer.graph_id, {}).get(offer.node_id, 0)
    is_own = hold is not None and hold.key == (offer.graph_id, offer.node_id)
    is_enough = asked >= (offer.slots if is_own else 1)
    if not policy.preemption.enabled or shares.preemptions or is_enough or (hold is not None and not is_own):
        return None
    node = offer.node
    cost = units_of(effective_slots(node), effective_tokens(node))
    found = [
        (lead, lease.granted_at, lease.lease_id)
        for lease in queue.snapshot.work.leases.values()
        if _may_be_asked(queue, lease) and (lead := _lead(queue, order, lease, offer.graph_id, cost)) is not None
    ]
    if not found:
        return None
    return PreemptionRequested(
        at=queue.now,
        lease_id=max(found)[2],
        graph_id=offer.graph_id,
        node_id=offer.node_id,
        slots=offer.slots,
    )


def _may_be_asked(queue: WorkspaceQueue, lease: ExecutionLease) -> bool:
    rules = queue.snapshot.policy.preemption
    item = queue.snapshot.work.item(lease.key)
    has_run = queue.now - lease.granted_at >= timedelta(seconds=rules.min_quantum_seconds)
    return lease.preemptible and has_run and item is not None and item.preemptions < rules.max_preemptions


def _lead(queue: WorkspaceQueue, order: FairOrder, lease: ExecutionLease, graph_id: str, cost: int) -> int | None:
    """Return by how much the lease's flow, refunded, is ahead of the other one, charged; None if it is not.

    The flows are those at the level where the two differ: their classes, or their Groups of one class.
    """
    policy, other = queue.snapshot.policy, lease.graph_id
    if other == graph_id or lease.share is None:
        return None
    reported = lease.usage.tokens
    used = units_of(lease.holding.slots, reported) if reported else 0
    # What a Group of another class gets back is not its own; more than was charged is owed, not given back.
    is_at_home = lease.share.priority_class == class_of(policy, other)
    refund = max(0, lease.holding.cost - used) if is_at_home else 0
    mine, theirs = order.tags(graph_id), order.tags(other)
    own_class, their_class = class_of(policy, graph_id), class_of(policy, other)
    if own_class != their_class:
        level, weight = 0, order.class_weight(own_class)
        their_weight = max(lease.share.class_weight, order.class_weight(their_class))
    else:
        level, weight = 1, weight_of(policy, graph_id)
        their_weight = max(lease.share.group_weight, weight_of(policy, other))
    lead = theirs[level] - refund * LCM // their_weight - (mine[level] + cost * LCM // weight)
    return lead if lead >= 0 else None
