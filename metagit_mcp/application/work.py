"""What a person or an agent does with one node. In this version: a person's approval. Knows no file."""

from metagit_mcp.application.current import Current, find_node
from metagit_mcp.application.records import node_record
from metagit_mcp.domain.approval import Approval, approval_digest, needs_approval
from metagit_mcp.domain.decision import SchedulerEvent
from metagit_mcp.domain.policy import GatePolicy
from metagit_mcp.domain.text import shown
from metagit_mcp.errors import RevisionConflict
from metagit_mcp.ports import ApprovalStore, Clock, DecisionLog, Ids, Offload, Warnings, WorkspaceImage
from metagit_mcp.scheduling.eligibility import instant_text, intrinsic
from metagit_mcp.wire.responses import ApprovalAnswer, NodeRecord

# Ownership epochs start at 1 and an open node's approval is for its next one; no node has an epoch before leases.
_FIRST_EPOCH = 1


def _standing_approval(image: WorkspaceImage, wanted: Approval) -> Approval | None:
    """Return the approval of the same node as it is, if one is recorded."""
    of_graph = image.approvals.get(wanted.graph_id, ())
    return next((each for each in of_graph if (each.node_id, each.digest) == (wanted.node_id, wanted.digest)), None)


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
        names = {"graph_id": loaded.graph_id, "node_id": node.node_id, "approved_by": approved_by, "digest": digest}
        approval = Approval(**names, epoch=_FIRST_EPOCH, at=self._clock.now())
        gates = image.policy.gates if image.policy is not None else GatePolicy()
        warnings = []
        if not needs_approval(node, gates):
            warnings.append("this node needs no approval under the present policy; it is recorded all the same")
        if _standing_approval(image, approval) is None:
            warnings += await self._offload(lambda: self._record(approval))
            image = await self._current.image()
        # Two may approve at once: what is recorded is what counts.
        recorded = _standing_approval(image, approval) or approval
        if recorded != approval:
            warnings.append(f"this node was approved already, at {instant_text(recorded.at)}")
        return ApprovalAnswer(
            graph_id=loaded.graph_id,
            node_id=node.node_id,
            approved_by=shown(recorded.approved_by),
            at=recorded.at,
            warnings=tuple(warnings),
            next_step=await self._after(loaded.graph_id, node.node_id),
        )

    async def _after(self, graph_id: str, node_id: str) -> str:
        """Say what still stands against the node, as far as the policy can be used."""
        again = "A change of its title, dependencies, repository or risk asks again."
        if (await self._current.image()).policy is None:
            return again
        view = await self._current.view()
        rules = view.queue.groups[graph_id].rules
        left = [reason.text for reason in intrinsic(rules, rules.shape.by_id[node_id])]
        return f"Still against it: {'; '.join(left[:5])}. {again}" if left else f"The node may run now. {again}"

    def _record(self, approval: Approval) -> Warnings:
        if not self._approvals.add(approval):
            return ()
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
