"""One change of one node, worked out on the file's own record under its lock. Knows no file."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from metagit_mcp.application.finding import usable_graph, usable_policy
from metagit_mcp.application.rows import instant_of, row_id
from metagit_mcp.application.tasks.authoring import checked, refuse_lowering, rows_of
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import OWN_NODE_FIELDS, LoadedGraph, TaskNode
from metagit_mcp.domain.text import is_agent_id, shown_name
from metagit_mcp.errors import InvalidInput, NodeNotEligible, NodeNotFound, RevisionConflict
from metagit_mcp.ports.workspace import WorkspaceImage
from metagit_mcp.scheduling.demand import demand_of
from metagit_mcp.scheduling.eligibility import Reason, intrinsic
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.situation import Situation, lasting, passing
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.wire.graph_codec import load_record
from metagit_mcp.wire.requests import TaskUpdateRequest, node_fields

Json = dict[str, Any]
CLEARABLE = (
    *OWN_NODE_FIELDS,
    "blocker_reason",
    "project",
    "repository",
    "agent_id",
    "estimated_tokens",
)


def revised_node(
    graph_id: str,
    record: Json | None,
    request: TaskUpdateRequest,
    image: WorkspaceImage,
    now: datetime,
    work: LedgerState,
) -> tuple[Json, Json, Json | None]:
    """Return the node's row before and after, and the graph record to write (None when nothing changes).

    Raises:
        NodeNotFound, InvalidInput, NodeNotEligible, RevisionConflict and what `checked` raises: nothing to write.
        PolicyInvalid: the node is to be started, and the gates are not known.
    """
    rows = rows_of(graph_id, record or {})
    place = _place(rows, request.node_id)
    before: Json = rows[place]
    if request.expected_updated_at is not None and before.get("updated_at") != request.expected_updated_at:
        raise RevisionConflict(
            f"Node {request.node_id} changed since it was read.",
            hint="Read it again and decide anew.",
            node_id=request.node_id,
        )
    given = _given(request, before)
    refuse_lowering(before, given)
    after = {**before, **given}
    if given.get("status") == "running" and not _is_repeated(request, before):
        loaded = usable_graph({graph_id: load_record(graph_id, record or {})}, graph_id)
        _refuse_start(loaded, request.node_id, request.agent_id, image, now, work)
    if after == before:
        return before, before, None
    after["updated_at"] = instant_of(now)
    rows[place] = after
    revised = {**(record or {}), "nodes": rows, "updated_at": after["updated_at"]}
    checked(graph_id, revised, [request.node_id])
    return before, after, revised


def _place(rows: Sequence[object], node_id: str) -> int:
    found = [place for place, row in enumerate(rows) if row_id(row) == node_id]
    if not found:
        raise NodeNotFound(f"No node is called {node_id}.", node_id=node_id)
    if len(found) > 1:
        raise InvalidInput(f"node_id: {node_id} is used {len(found)} times in the file", field="node_id")
    return found[0]


def _given(request: TaskUpdateRequest, before: Json) -> Json:
    """Return the keys to set; a cleared field of ours becomes an explicit null, which also ends its kept value."""
    given = {name: each for name, each in node_fields(request).items() if name != "node_id"}
    for name in request.clear or ():
        if name not in CLEARABLE or name in given:
            raise InvalidInput(
                f"clear: {shown_name(name)!r} cannot be cleared", hint=f"Valid: {', '.join(CLEARABLE)}.", field="clear"
            )
        given[name] = None
    if not given:
        raise InvalidInput("There is nothing to change.", hint="Name at least one field.", field="node_id")
    if given.get("status") == "blocked" and not given.get("blocker_reason"):
        raise InvalidInput("blocker_reason: say what blocks it", field="blocker_reason")
    if given.get("status", "blocked") != "blocked" and before.get("blocker_reason") is not None:
        given["blocker_reason"] = None
    return given


def _is_repeated(request: TaskUpdateRequest, before: Json) -> bool:
    """Whether the agent that started the node says so again, for example after a lost reply."""
    agent_id = request.agent_id
    return before.get("status") == "running" and agent_id is not None and before.get("agent_id") == agent_id


def _of_the_moment(group: GroupQueue, node: TaskNode, agent_id: str | None, work: LedgerState) -> Iterator[Reason]:
    demand = demand_of(node, group.rules.items.get(node.node_id))
    pauses = [each for each in work.pauses.values() if each.until is None or each.until > group.rules.now]
    alone = Situation(slots=None, running=0, skipped_repositories=frozenset(), pauses=pauses)
    capable = Asker(agent_id=agent_id or "", capabilities=demand.capabilities)
    yield from lasting(demand, alone, capable, group.quota, group.graph_id)
    yield from passing(demand, alone, group, None, None, is_stopped=False)


def _refuse_start(
    loaded: LoadedGraph, node_id: str, agent_id: str | None, image: WorkspaceImage, now: datetime, work: LedgerState
) -> None:
    """Refuse to set a node running that has a reason against it, one that runs already included.

    Of what else runs only the Group's own runs count: they stand in the file that is locked. Nobody starts what is
    paused, nor what another agent owns.
    """
    group = GroupQueue(loaded, usable_policy(image), image.approvals.get(loaded.graph_id, ()), now, work)
    node = group.rules.shape.by_id[node_id]
    own = tuple(intrinsic(group.rules, node))
    against = [reason.text for reason in own or _of_the_moment(group, node, agent_id, work)]
    if node.status == "running":
        holder = node.agent_id if node.agent_id and is_agent_id(node.agent_id) else None
        raise NodeNotEligible(
            f"Node {node_id} is running already{f', started by {holder}' if holder else ''}.",
            hint="metagit_schedule_next gives another node.",
            node_id=node_id,
            reasons=against[:50],
            **({"agent_id": holder} if holder else {}),
        )
    if against:
        raise NodeNotEligible(
            f"Node {node_id} may not be started: {'; '.join(against[:10])}.",
            hint="metagit_schedule_next gives a node that may.",
            node_id=node_id,
            reasons=against[:50],
        )
