"""A person's approval of one node, bound to what was approved. Knows neither who may approve nor where it is kept."""

import hashlib
from collections.abc import Iterable
from datetime import datetime

from metagit_mcp.domain.limits import GatePolicy
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import WorkItem


@value
class Approval:
    """One approval: it holds for this node as long as `digest` is what `approval_digest` says of it."""

    graph_id: str
    node_id: str
    epoch: int
    digest: str
    approved_by: str
    at: datetime


def approval_digest(node: TaskNode) -> str:
    """Return what an approval is bound to, as SHA-256 hex: title, repository, risk, dependencies (interfaces.md §4).

    The repository counts, not its spelling: the same bare name beside another project is another one.
    """
    parts = (node.title, repository_key(node.repository, node.project), node.risk or "", *node.depends_on)
    # Each part with its length, so that no text can move from one part into the next unnoticed.
    text = "".join(f"{len(part)}:{part}," for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def needs_approval(node: TaskNode, gates: GatePolicy) -> bool:
    """Say whether the node may run only after a person approved it (scheduling.md §5)."""
    return node.approval == "human_required" or is_gated(node, gates)


def is_gated(node: TaskNode, gates: GatePolicy) -> bool:
    """Say whether policy asks for an approval of work with the node's risk."""
    return node.risk is not None and node.risk in gates.approval_required_for


def needed_epoch(item: WorkItem | None) -> int:
    """Return the ownership epoch for which the node needs an approval: the one there is, else the next one.

    A node that is nobody's gets its next epoch when somebody takes it (interfaces.md §4, "given while open"); one that
    is done keeps the name of its last owner.
    """
    if item is None:
        return 1
    if item.fed is not None and item.owner is None:
        # The log counts them, whatever was taken and given back here since.
        return item.fed.ownership_epoch + (item.fed.owner is None)
    return item.ownership_epoch + (item.owner is None or item.state == "completed")


def is_approved(node: TaskNode, approvals: Iterable[Approval], epoch: int) -> bool:
    """Say whether one of the node's approvals is for this ownership and still fits what the node is now."""
    digest: str | None = None
    for approval in approvals:
        if approval.epoch == epoch:
            digest = digest or approval_digest(node)
            if approval.digest == digest:
                return True
    return False


def by_node(approvals: Iterable[Approval]) -> dict[str, tuple[Approval, ...]]:
    """Return approvals by their node, in their order."""
    found: dict[str, tuple[Approval, ...]] = {}
    for approval in approvals:
        found[approval.node_id] = (*found.get(approval.node_id, ()), approval)
    return found
