"""What a person or an agent does with one node. In this version: a person's approval. Knows no file."""

from metagit_mcp.application.current import Current, find_node
from metagit_mcp.application.records import node_record
from metagit_mcp.domain.approval import Approval, approval_digest, is_approved, needs_approval
from metagit_mcp.domain.decision import SchedulerEvent
from metagit_mcp.domain.policy import GatePolicy
from metagit_mcp.errors import RevisionConflict
from metagit_mcp.ports import ApprovalStore, Clock, DecisionLog, Ids, Offload, Warnings
from metagit_mcp.wire.responses import ApprovalAnswer, NodeRecord

# Ownership epochs start at 1 and an open node's approval is for its next one; no node has an epoch before leases.
_FIRST_EPOCH = 1
_APPROVED_ALREADY = "this node was approved already"


class Work:
    """The use cases of the `work` commands."""

    def __init__(
        self, current: Current, approvals: ApprovalStore, log: DecisionLog, clock: Clock, ids: Ids, offload: Offload
    ) -> None:
        """Keep the collaborators."""
        self._current = current
        self._approvals = approvals
        self._log = log
        self._clock = clock
        self._ids = ids
        self._offload = offload

    async def approvable(self, node_id: str, graph_id: str | None) -> tuple[NodeRecord, str]:
        """Return the node as a person is to judge it, and the digest of exactly that.

        Raises:
            NodeNotFound, NodeAmbiguous, GraphNotFound, GraphInvalid: no such node.
        """
        loaded, node = find_node((await self._current.image()).graphs, node_id, graph_id)
        return node_record(loaded.graph_id, node), approval_digest(node)

    async def approve(self, node_id: str, graph_id: str | None, approved_by: str, digest: str) -> ApprovalAnswer:
        """Record that a person approves the node as `approvable` showed it (interfaces.md §4).

        Raises:
            RevisionConflict: the node is no longer what was shown.
            NodeNotFound, NodeAmbiguous, GraphNotFound, GraphInvalid: no such node.
            ReadOnlyWorkspace, StoreUnavailable: it cannot be recorded.
        """
        image = await self._current.image()
        loaded, node = find_node(image.graphs, node_id, graph_id)
        if approval_digest(node) != digest:
            raise RevisionConflict(
                f"Node {node.node_id} changed while it was looked at.", hint="Look at it again.", node_id=node.node_id
            )
        approval = Approval(
            graph_id=loaded.graph_id,
            node_id=node.node_id,
            epoch=_FIRST_EPOCH,
            digest=digest,
            approved_by=approved_by,
            at=self._clock.now(),
        )
        gates = image.policy.gates if image.policy is not None else GatePolicy()
        warnings = []
        if not needs_approval(node, gates):
            warnings.append("this node needs no approval under the present policy; it is recorded all the same")
        mine = [each for each in image.approvals.get(loaded.graph_id, ()) if each.node_id == node.node_id]
        if is_approved(node, mine):
            warnings.append(_APPROVED_ALREADY)
        else:
            warnings += await self._offload(lambda: self._record(approval))
        return ApprovalAnswer(
            graph_id=loaded.graph_id,
            node_id=node.node_id,
            approved_by=approved_by,
            at=approval.at,
            warnings=tuple(warnings),
            next_step="The node may run now. A change of its title, dependencies, repository or risk asks again.",
        )

    def _record(self, approval: Approval) -> Warnings:
        # Two may approve at once: the store has the last word.
        if not self._approvals.add(approval):
            return (_APPROVED_ALREADY,)
        event = SchedulerEvent(
            event_id=self._ids.new(),
            type="ApprovalGranted",
            at=approval.at,
            payload={
                "graph_id": approval.graph_id,
                "node_id": approval.node_id,
                "epoch": approval.epoch,
                "approved_by": approval.approved_by,
            },
        )
        return self._log.append_audit([event])
