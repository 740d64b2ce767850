"""What people say of work before it runs: approvals and pauses. Knows no file.

Both are events of the ledger; an approval given before there was one stands in approvals.json (interfaces.md §4).
"""

from collections.abc import Iterator
from dataclasses import replace

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.finding import find_node, first_names
from metagit_mcp.application.records import node_record, pause_records
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.turn import Turn
from metagit_mcp.domain.approval import Approval, approval_digest, is_gated, needed_epoch, needs_approval
from metagit_mcp.domain.commands import PauseScheduling, ResumeScheduling
from metagit_mcp.domain.decision import SchedulerEvent
from metagit_mcp.domain.events import ApprovalGranted
from metagit_mcp.domain.instant import instant_text
from metagit_mcp.domain.text import shown, shown_name
from metagit_mcp.errors import AuthForbidden, RevisionConflict
from metagit_mcp.ports.machine import Ids, Offload
from metagit_mcp.ports.workspace import DecisionLog
from metagit_mcp.scheduling.eligibility import intrinsic
from metagit_mcp.wire.responses import ApprovalAnswer, NodeRecord, PauseAnswer


class Rules:
    """The use cases of `work approve`, `pause` and `resume`."""

    def __init__(self, current: Current, log: DecisionLog, ids: Ids, offload: Offload, caller: Caller) -> None:
        """Keep the collaborators."""
        self._caller = caller
        self._current = current
        self._log = log
        self._ids = ids
        self._offload = offload

    async def approvable(self, node_id: str, graph_id: str | None) -> tuple[NodeRecord, str]:
        """Return the node as a person is to judge it, and the digest of exactly that.

        Raises:
            NodeNotFound, NodeAmbiguous, GraphNotFound, GraphInvalid: no such node.
            AuthForbidden: the caller's role may not approve.
        """
        self._caller.allow("judge")
        loaded, node = find_node((await self._current.image()).graphs, node_id, graph_id)
        return node_record(loaded.graph_id, node), approval_digest(node)

    async def approve(self, node_id: str, graph_id: str | None, approved_by: str, digest: str) -> ApprovalAnswer:
        """Record that a person approves the node as `approvable` showed it, for its next ownership.

        Raises:
            RevisionConflict: the node is no longer what was shown.
            NodeNotFound, NodeAmbiguous, GraphNotFound, GraphInvalid: no such node.
            ReadOnlyWorkspace, StoreUnavailable, StoreCorrupt: it cannot be recorded.
            AuthForbidden: the caller's role may not approve.
        """
        self._caller.allow("judge")
        (answer, is_new), warnings = await self._current.command(
            lambda turn: _approved(turn, (node_id, graph_id), approved_by, digest)
        )
        if is_new:
            event = self._event(answer)
            warnings += await self._offload(lambda: self._log.append_audit([event]))
        return replace(answer, warnings=answer.warnings + warnings)

    def _event(self, answer: ApprovalAnswer) -> SchedulerEvent:
        names = {"graph_id": answer.graph_id, "node_id": answer.node_id, "approved_by": answer.approved_by}
        return SchedulerEvent(event_id=self._ids.new(), type="ApprovalGranted", at=answer.at, payload=names)

    async def pause(self, command: PauseScheduling) -> PauseAnswer:
        """Let nothing new start in a scope; running work goes on."""
        return await self._set(command)

    async def resume(self, command: ResumeScheduling) -> PauseAnswer:
        """End a pause; there may be none."""
        return await self._set(command)

    async def _set(self, command: PauseScheduling | ResumeScheduling) -> PauseAnswer:
        self._caller.allow("pause")

        def act(turn: Turn) -> PauseAnswer:
            before = dict(turn.state.pauses)
            turn.decide(command)
            return PauseAnswer(
                pauses=pause_records(turn.state.pauses_at(turn.instant.wall)),
                changed=before != turn.state.pauses,
                warnings=tuple(_holding_nothing(turn, command)),
                next_step="metagit-mcp schedule status shows what runs and what waits.",
            )

        answer, warnings = await self._current.command(act)
        return replace(answer, warnings=answer.warnings + warnings)


def _holding_nothing(turn: Turn, command: PauseScheduling | ResumeScheduling) -> Iterator[str]:
    """Yield that a pause holds nothing so far: its name may be misspelt, or what it is for comes later."""
    graphs, name = turn.image.graphs, shown_name(command.name)
    if isinstance(command, ResumeScheduling):
        return
    if command.scope == "group" and command.name not in graphs:
        yield f"no graph is called {name} so far, so this holds nothing; known: {first_names(graphs)}"
    if command.scope == "resource":
        nodes = (node for loaded in graphs.values() if loaded.graph is not None for node in loaded.graph.nodes)
        used = {each for node in nodes for each in (*(node.uses or ()), *(node.exclusive or ()))}
        used.update(each for agent in turn.policy.agents.values() for each in agent.uses or ())
        if command.name not in used:
            yield f"nothing uses {name} so far, so this holds nothing; used: {first_names(used)}"


def _approved(turn: Turn, named: tuple[str, str | None], approved_by: str, digest: str) -> tuple[ApprovalAnswer, bool]:
    loaded, node = find_node(turn.image.graphs, *named)
    graph_id, node_id = loaded.graph_id, node.node_id
    if loaded.is_fed and not is_gated(node, turn.policy.gates):
        raise AuthForbidden(
            f"Group {graph_id} decides itself who approves node {node_id}.",
            hint="Its log tells of an approval; here only the gates of this workspace's policy are opened.",
            node_id=node_id,
        )
    if approval_digest(node) != digest:
        raise RevisionConflict(
            f"Node {node_id} changed while it was looked at.", hint="Look at it again.", node_id=node_id
        )
    epoch = needed_epoch(turn.state.item((graph_id, node_id)))
    given = Approval(
        graph_id=graph_id, node_id=node_id, epoch=epoch, digest=digest, approved_by=approved_by, at=turn.instant.wall
    )
    known = (*turn.image.approvals.get(graph_id, ()), *turn.state.approvals.get(graph_id, ()))
    standing = next((each for each in known if _is_same(each, given)), None)
    if standing is None:
        turn.happen([ApprovalGranted(at=given.at, approval=given)])
    recorded = standing or given
    warnings = []
    if not needs_approval(node, turn.policy.gates):
        warnings.append("this node needs no approval under the present policy; it is recorded all the same")
    if standing is not None:
        warnings.append(f"this node was approved already, at {instant_text(standing.at)}")
    answer = ApprovalAnswer(
        graph_id=graph_id,
        node_id=node_id,
        approved_by=shown(recorded.approved_by),
        at=recorded.at,
        warnings=tuple(warnings),
        next_step=_after(turn, graph_id, node_id),
    )
    return answer, standing is None


def _is_same(one: Approval, other: Approval) -> bool:
    return (one.node_id, one.epoch, one.digest) == (other.node_id, other.epoch, other.digest)


def _after(turn: Turn, graph_id: str, node_id: str) -> str:
    """Say what still stands against the node, as far as the policy can be used."""
    again = "A change of its title, dependencies, repository or risk asks again."
    if turn.image.policy is None:
        return again
    rules = turn.view().queue.groups[graph_id].rules
    left = [reason.text for reason in intrinsic(rules, rules.shape.by_id[node_id])]
    return f"Still against it: {'; '.join(left[:5])}. {again}" if left else f"The node may run now. {again}"
