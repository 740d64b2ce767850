"""Puts together the status answer from one view. Reads nothing and decides nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from metagit_mcp.application.finding import find_node
from metagit_mcp.application.next_steps import (
    after_next,
    approve_command,
    graph_file,
    retry_command,
    review_command,
    update_command,
)
from metagit_mcp.application.records import pause_records
from metagit_mcp.application.shared import View
from metagit_mcp.domain.decision import LoggedDecision
from metagit_mcp.domain.policy import MICRO
from metagit_mcp.domain.tasks import GRAPH_STATUSES, STATUSES, TaskNode
from metagit_mcp.domain.text import known_word, shown, shown_or_none
from metagit_mcp.scheduling.cycle import Held, census, plan
from metagit_mcp.scheduling.eligibility import ReasonKind, instant_or_none, instant_text
from metagit_mcp.scheduling.explain import explain
from metagit_mcp.scheduling.moment import Census
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.wire.policy_codec import rfc_part
from metagit_mcp.wire.policy_problems import POLICY_FILE
from metagit_mcp.wire.requests import StatusRequest
from metagit_mcp.wire.responses import (
    GroupStatus,
    MergePressure,
    NodeExplanation,
    PauseRecord,
    PersonNeeded,
    ReasonAgainst,
    ReasonCount,
    RunningNode,
    StatusAnswer,
    StatusCounts,
    WaitingNode,
    WorkspacePlace,
)

_GROUPS_SHOWN = 20
_PERSONS_SHOWN = 20
_WAITING_SHOWN = 20
_RUNNING_SHOWN = 50
_PLACES_SHOWN = 100


def status_answer(
    view: View,
    asker: Asker,
    request: StatusRequest,
    recent: Sequence[LoggedDecision],
    warnings: Sequence[str],
    place: WorkspacePlace,
) -> StatusAnswer:
    """Return how things stand for one Group or for all, as the asker sees them."""
    graph_ids = sorted(view.queue.groups) if request.graph_id is None else [request.graph_id]
    counted = census(view.queue, asker, request.graph_id)
    shown_groups = [name for name in graph_ids if request.after_group is None or name > request.after_group]
    persons = [person for name in graph_ids for person in _persons(view, name)]
    waiting = [(name, held) for name in graph_ids for held in view.queue.holds(name).for_others]
    return StatusAnswer(
        workspace=place,
        policy=rfc_part(view.policy),
        revision=view.image.revision,
        ready_count=counted.ready,
        runnable_count=counted.runnable,
        counts=_counts([view.queue.groups[name] for name in graph_ids]),
        not_eligible=tuple(_reason_counts(counted)),
        groups=tuple(_group(view, asker, name) for name in shown_groups[:_GROUPS_SHOWN]),
        groups_total=len(graph_ids),
        running=tuple(_running(view, graph_ids))[:_RUNNING_SHOWN],
        needs_person=tuple(persons[:_PERSONS_SHOWN]),
        needs_person_total=len(persons),
        waiting=tuple(_waiting(name, held) for name, held in waiting[:_WAITING_SHOWN]),
        waiting_total=len(waiting),
        recent_decisions=tuple(recent if request.detail == "full" else map(_without_factors, recent)),
        merge_pressure=tuple(_pressure(view)),
        state_version=view.state_version,
        truncated=False,
        omitted=(),
        warnings=tuple(sorted({*view.warnings, *warnings})),
        next_step=_next_step(view, counted, graph_ids, needs_person=bool(persons)),
        pauses=_pauses(view),
        explain=None if request.node_id is None else _explain(view, asker, request),
    )


def _reason_counts(counted: Census) -> Iterator[ReasonCount]:
    for kind, nodes in sorted(counted.not_eligible.items()):
        if nodes:
            yield ReasonCount(reason=kind, nodes=nodes)


def _pauses(view: View) -> tuple[PauseRecord, ...]:
    """The pauses that are in force."""
    return pause_records(view.work.pauses_at(view.now))


def _without_factors(row: LoggedDecision) -> LoggedDecision:
    return row if row.factors is None else replace(row, factors=None)


def _counts(groups: Sequence[GroupQueue]) -> StatusCounts:
    reasons: Counter[ReasonKind] = Counter()
    runnable = 0
    for group in groups:
        for kind, nodes in group.first_reasons.items():
            reasons[kind] += nodes
        runnable += sum(map(len, group.lanes))
    return StatusCounts(
        graphs=len(groups),
        nodes=runnable + reasons.total(),
        eligible=runnable,
        waiting=reasons["not_ready"],
        blocked=reasons["blocked"],
        deferred=reasons["deferred"] + reasons["retry_at"],
        awaiting_approval=reasons["awaiting_approval"],
        running=reasons["leased"] + reasons["observed"],
        awaiting_review=reasons["awaiting_review"],
        finished=reasons["finished"],
        inactive=reasons["graph_inactive"],
        invalid=reasons["graph_invalid"],
    )


def _group(view: View, asker: Asker, graph_id: str) -> GroupStatus:
    group = view.queue.groups[graph_id]
    graph = group.loaded.graph
    return GroupStatus(
        graph_id=graph_id,
        title="" if graph is None else shown(graph.title),
        state="invalid" if graph is None else known_word(graph.status, GRAPH_STATUSES),
        nodes=len(group.rules.shape.by_id),
        ready=group.ready_count,
        runnable=census(view.queue, asker, graph_id).runnable,
        running=len(group.running),
        finished=group.first_reasons.get("finished", 0),
        quota=group.quota,
    )


def _running(view: View, graph_ids: Sequence[str]) -> Iterator[RunningNode]:
    """What runs: under a lease by its agent, else as the file says."""
    for graph_id in graph_ids:
        group = view.queue.groups[graph_id]
        for node in group.running:
            lease = group.rules.leases.get(node.node_id)
            yield RunningNode(
                graph_id=graph_id,
                node_id=node.node_id,
                title=shown(node.title),
                repository=shown_or_none(node.repository),
                agent_id=shown_or_none(node.agent_id if lease is None else lease.agent_id),
                since=instant_or_none(node.updated_at) if lease is None else instant_text(lease.granted_at),
                leased_until=None if lease is None else lease.expiry.at,
            )


def _persons(view: View, graph_id: str) -> Iterator[PersonNeeded]:
    """What only a person can set going in a graph: its file, if that cannot be used, else single nodes."""
    group = view.queue.groups[graph_id]
    if group.loaded.graph is None:
        yield PersonNeeded(graph_id=graph_id, reason="graph_invalid", file=graph_file(graph_id))
    for held in view.queue.holds(graph_id).for_person:
        node, reason = held.node, held.reason
        item = group.rules.items.get(node.node_id)
        yield PersonNeeded(
            graph_id=graph_id,
            node_id=node.node_id,
            title=shown(node.title),
            reason=reason.text,
            command=_mending(graph_id, node, reason.kind, is_parked=item is not None and item.state == "parked"),
            file=_file_to_mend(graph_id, node, reason.kind),
            note=reason.note or None,
        )


def _mending(graph_id: str, node: TaskNode, kind: ReasonKind, *, is_parked: bool) -> str | None:
    """The command that ends the reason; None where only the file can be mended."""
    if kind == "awaiting_approval":
        return approve_command(graph_id, node.node_id)
    if kind == "awaiting_review":
        return review_command(graph_id, node.node_id)
    if kind == "blocked" and is_parked:
        return retry_command(graph_id, node.node_id)
    if kind in {"blocked", "observed"}:
        return update_command(graph_id, node.node_id, "--status", "ready")
    if kind == "not_ready":
        return update_command(graph_id, node.node_id, "--depends-on", "NODE")
    return None


def _file_to_mend(graph_id: str, node: TaskNode, kind: ReasonKind) -> str | None:
    """The file that has to change, where no command does it; a budget that is not the node's is its Group's."""
    if kind == "graph_invalid" or (kind == "budget_exhausted" and node.budget):
        return graph_file(graph_id)
    return POLICY_FILE if kind == "budget_exhausted" else None


def _waiting(graph_id: str, held: Held) -> WaitingNode:
    return WaitingNode(
        graph_id=graph_id, node_id=held.node.node_id, title=shown(held.node.title), reason=held.reason.text
    )


def _pressure(view: View) -> Iterator[MergePressure]:
    threshold = view.policy.merge_queue_threshold
    for repository, depth in sorted(view.image.surroundings.merge_depth.items()):
        yield MergePressure(
            repository=shown(repository), depth=depth, threshold=threshold, pressured=depth >= threshold
        )


def _explain(view: View, asker: Asker, request: StatusRequest) -> NodeExplanation:
    loaded, node = find_node(view.image.graphs, request.node_id or "", request.graph_id)
    told = explain(view.queue, asker, loaded.graph_id, node.node_id)
    # What counts may be newer than what the file says.
    node = told.node
    return NodeExplanation(
        graph_id=loaded.graph_id,
        node_id=node.node_id,
        title=shown(node.title),
        status=known_word(node.status, STATUSES),
        runnable=not told.against,
        reasons=tuple(
            ReasonAgainst(reason=reason.kind, text=reason.text, note=reason.note or None) for reason in told.against
        ),
        score=told.score / MICRO,
        score_reasons=told.reasons,
        place=_place(view, asker, loaded.graph_id, node.node_id),
        factors=told.factors if request.detail != "brief" else None,
    )


def _place(view: View, asker: Asker, graph_id: str, node_id: str) -> int | None:
    """The node's place in the order of all graphs, 1 for the very next; None when it is not among the first 100."""
    picks = plan(view.queue, asker, _PLACES_SHOWN).picks
    order = [(pick.graph_id, pick.node.node_id) for pick in picks]
    return order.index((graph_id, node_id)) + 1 if (graph_id, node_id) in order else None


def _next_step(view: View, counted: Census, graph_ids: Sequence[str], *, needs_person: bool) -> str:
    if counted.runnable:
        return "metagit_schedule_next gives the next node."
    if needs_person:
        return "Nothing can be started now; needs_person lists what only a person can set going."
    return after_next((), (), counted, [view.image.graphs[name] for name in graph_ids])
