"""Who could start the node for which slots are kept, whoever asks now. Keeps nothing."""

from metagit_mcp.domain.shares import Hold
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.standing import Offer
from metagit_mcp.scheduling.workspace import WorkspaceQueue


def offer_of_hold(queue: WorkspaceQueue, hold: Hold) -> tuple[Asker, Offer] | None:
    """Return who could start the held node if slots were free, with the node; None if nobody could."""
    group = queue.groups.get(hold.graph_id)
    node = None if group is None else group.rules.shape.by_id.get(hold.node_id)
    if group is None or node is None:
        return None
    item = group.rules.items.get(hold.node_id)
    owner = item.owner if item is not None and item.state == "queued" else None
    able = Asker(agent_id=owner or "", capabilities=frozenset(node.capabilities or ()))
    offer = queue.moment(able).held_offer(hold)
    return (able, offer) if offer is not None and offer.slots == hold.slots else None
