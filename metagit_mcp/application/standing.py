"""Puts together the status answer from one view. Reads nothing and decides nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from metagit_mcp.application.finding import find_node
from metagit_mcp.application.groups.standing import group_statuses
from metagit_mcp.application.needs_person import node_need, pauses_about, persons_needed
from metagit_mcp.application.next_steps import after_next, by_person
from metagit_mcp.application.records import pause_records
from metagit_mcp.application.turns.shared import View
from metagit_mcp.domain.decision import LoggedDecision
from metagit_mcp.domain.instant import Instant, instant_text
from metagit_mcp.domain.place import WorkspacePlace
from metagit_mcp.domain.policy import MICRO
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.share_events import HoldEnded
from metagit_mcp.domain.tasks import STATUSES, TaskNode
from metagit_mcp.domain.text import known_word, shown, shown_or_none
from metagit_mcp.domain.work import NodeKey
from metagit_mcp.scheduling.cycle import Held, census, plan, unsettled
from metagit_mcp.scheduling.eligibility import ReasonKind, instant_or_none, within_group
from metagit_mcp.scheduling.explain import explain
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.tally import Census
from metagit_mcp.wire.policy_codec import rfc_part
from metagit_mcp.wire.requests import StatusRequest
from metagit_mcp.wire.responses import ReasonCount
from metagit_mcp.wire.status_answers import (
    HeldSlots,
    MergePressure,
    NodeExplanation,
    ReasonAgainst,
    RunningNode,
    StatusAnswer,
    StatusCounts,
    WaitingNode,
)

_PERSONS_SHOWN = 20
_WAITING_SHOWN = 20
_RUNNING_SHOWN = 50
_PLACES_SHOWN = 100
# Stands in place of the title of a node that has a lease.
_IN_NO_FILE = "(in no graph file: see metagit-mcp doctor)"


def status_answer(
    view: View,
    asker: Asker,
    request: StatusRequest,
    recent: Sequence[LoggedDecision],
    warnings: Sequence[str],
    place: WorkspacePlace,
) -> StatusAnswer:
    """Return how things stand for all Groups as the asker sees them, or for one, with nothing of the others in it.

    Raises:
        GraphNotFound: there is no such Group to go on after.
        GraphInvalid, NodeNotFound, NodeAmbiguous: there is no such node to explain.
    """
    overview = _overview(view, asker, request, place)
    explained = None if request.node_id is None else _explain(view, asker, request)
    return replace(
        overview,
        recent_decisions=tuple(recent if request.detail == "full" else map(_without_factors, recent)),
        warnings=tuple(sorted({*view.warnings_about(request.graph_id), *warnings})),
        explain=explained,
        next_step=(explained and _step_of(view, explained)) or overview.next_step,
    )


def _overview(view: View, asker: Asker, request: StatusRequest, place: WorkspacePlace) -> StatusAnswer:
    """Everything that the view itself tells."""
    graph_ids = sorted(view.queue.groups) if request.graph_id is None else [request.graph_id]
    counted = census(view.queue, asker, request.graph_id)
    alone = request.graph_id
    persons, persons_total = persons_needed(view, asker, graph_ids, _PERSONS_SHOWN, alone=alone is not None)
    waiting = [(name, held) for name in graph_ids for held in view.queue.holds(name).for_others]
    return StatusAnswer(
        workspace=place,
        policy=_policy(view, alone),
        revision=view.image.revision,
        ready_count=counted.ready,
        runnable_count=counted.runnable,
        counts=node_counts([view.queue.groups[name] for name in graph_ids]),
        not_eligible=tuple(reason_counts(counted)),
        groups=group_statuses(view, asker, graph_ids, request.after_group, alone=alone is not None),
        groups_total=len(graph_ids),
        charges=len(view.work.shares.recent) if alone is None else None,
        running=tuple(running_nodes(view, alone))[:_RUNNING_SHOWN],
        needs_person=persons,
        needs_person_total=persons_total,
        waiting=tuple(_waiting(name, held) for name, held in waiting[:_WAITING_SHOWN]),
        waiting_total=len(waiting),
        recent_decisions=(),
        merge_pressure=tuple(merge_pressures(view, alone)),
        state_version=view.state_version,
        truncated=False,
        omitted=(),
        warnings=(),
        next_step=_next_step(view, counted, graph_ids, needs_person=bool(persons)),
        pauses=pause_records(pauses_about(view, asker, alone)),
        held=held_slots(view, alone),
    )


def without_passing_time(answer: StatusAnswer) -> StatusAnswer:
    """Return the answer without what differs from second to second though nothing happens."""
    groups = (
        each if each.oldest is None else replace(each, oldest=replace(each.oldest, seconds=0)) for each in answer.groups
    )
    return replace(answer, groups=tuple(groups))


def reason_counts(counted: Census) -> Iterator[ReasonCount]:
    """Yield how many nodes are not eligible, by their first reasons."""
    for kind, nodes in sorted(counted.not_eligible.items()):
        if nodes:
            yield ReasonCount(reason=kind, nodes=nodes)


def _policy(view: View, alone: str | None) -> dict[str, Any]:
    """The policy's weights and thresholds, of one Group with its own in place of all Groups'."""
    part = rfc_part(view.policy)
    if alone is None:
        return part
    own = {name: each for name, each in part["graph_overrides"].items() if name == alone}
    return {**part, "graph_overrides": own}


def _without_factors(row: LoggedDecision) -> LoggedDecision:
    return row if row.factors is None else replace(row, factors=None)


def node_counts(groups: Sequence[GroupQueue]) -> StatusCounts:
    """Count the nodes of these Groups by what they are now."""
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
        not_offered=reasons["not_offered"],
        finished=reasons["finished"],
        inactive=reasons["graph_inactive"],
        invalid=reasons["graph_invalid"],
    )


def running_nodes(view: View, alone: str | None) -> Iterator[RunningNode]:
    """Yield what runs, by Group and id: under a lease by its agent, else as the file says.

    A lease holds slots and keys also where no file tells of its node any more.
    """
    asked = {} if _is_ending(view) else view.queue.snapshot.work.shares.preemptions
    leases = {lease.key: lease for lease in view.work.leases.values() if alone in {None, lease.graph_id}}
    groups = view.queue.groups if alone is None else {alone: view.queue.groups[alone]}
    nodes = {(name, node.node_id): node for name, group in groups.items() for node in group.running}
    for key in sorted({*leases, *nodes}):
        lease, node = leases.get(key), nodes.get(key, TaskNode(node_id=key[1], title=_IN_NO_FILE))
        yield RunningNode(
            graph_id=key[0],
            node_id=key[1],
            title=shown(node.title),
            repository=shown_or_none(node.repository),
            agent_id=shown_or_none(node.agent_id if lease is None else lease.agent_id),
            since=instant_or_none(node.updated_at) if lease is None else instant_text(lease.granted_at),
            leased_until=None if lease is None else lease.expiry.at,
            preempt_requested=(lease is not None and lease.lease_id in asked) or None,
        )


def held_slots(view: View, alone: str | None) -> HeldSlots | None:
    """Return for which node slots are kept, unless the next claim ends that; how many are free no Group is told."""
    hold, slots = view.work.shares.hold, view.policy.slots
    if hold is None or slots is None or alone not in {None, hold.graph_id} or _is_ending(view):
        return None
    node = view.queue.groups[hold.graph_id].rules.shape.by_id[hold.node_id]
    return HeldSlots(
        graph_id=hold.graph_id,
        node_id=hold.node_id,
        title=shown(node.title),
        purpose="preemption" if hold.preempts else "width",
        slots=hold.slots,
        free=max(0, slots - view.queue.running_slots) if alone is None else None,
        since=hold.at,
        until=None if hold.until is None else hold.until.at,
    )


def _is_ending(view: View) -> bool:
    return any(isinstance(each, HoldEnded) for each in unsettled(view.queue, Instant(wall=view.now)))


def _waiting(graph_id: str, held: Held) -> WaitingNode:
    return WaitingNode(
        graph_id=graph_id, node_id=held.node.node_id, title=shown(held.node.title), reason=held.reason.text
    )


def merge_pressures(view: View, alone: str | None) -> Iterator[MergePressure]:
    """Yield how many merges are queued and running by repository; of one Group those of its nodes' repositories."""
    threshold, depths = view.policy.merge_queue_threshold, view.image.surroundings.merge_depth
    if alone is not None:
        nodes = view.queue.groups[alone].rules.shape.by_id.values()
        own = {repository_key(node.repository, node.project) for node in nodes}
        depths = {name: depth for name, depth in depths.items() if name in own}
    for repository, depth in sorted(depths.items()):
        yield MergePressure(
            repository=shown(repository), depth=depth, threshold=threshold, pressured=depth >= threshold
        )


def _explain(view: View, asker: Asker, request: StatusRequest) -> NodeExplanation:
    loaded, node = find_node(view.image.graphs, request.node_id or "", request.graph_id)
    told = explain(view.queue, asker, loaded.graph_id, node.node_id)
    # What counts may be newer than what the file says.
    node = told.node
    against = told.against if request.graph_id is None else within_group(told.against)
    return NodeExplanation(
        graph_id=loaded.graph_id,
        node_id=node.node_id,
        title=shown(node.title),
        status=known_word(node.status, STATUSES),
        runnable=not told.against,
        reasons=tuple(
            ReasonAgainst(reason=reason.kind, text=reason.text, note=reason.note or None) for reason in against
        ),
        score=told.score / MICRO,
        score_reasons=told.reasons,
        place=_place(view, asker, (loaded.graph_id, node.node_id), request.graph_id),
        factors=told.factors if request.detail != "brief" else None,
    )


def _step_of(view: View, explained: NodeExplanation) -> str | None:
    """Return the command with which a person sets a node going, or the file to change, if it waits for that."""
    for held in view.queue.holds(explained.graph_id).for_person:
        if held.node.node_id == explained.node_id:
            need = node_need(view.queue.groups[explained.graph_id], held)
            way = need.command or (need.file and f"change {need.file}")
            return way and by_person(held.reason.kind, way)
    return None


def _place(view: View, asker: Asker, key: NodeKey, alone: str | None) -> int | None:
    """The node's place among all that start next, or in its Group; None when it is not one of the first 100."""
    picks = plan(view.queue, asker, _PLACES_SHOWN, alone).picks
    order = [(pick.graph_id, pick.node.node_id) for pick in picks]
    return order.index(key) + 1 if key in order else None


def _next_step(view: View, counted: Census, graph_ids: Sequence[str], *, needs_person: bool) -> str:
    if counted.runnable:
        return "metagit_schedule_next gives the next node."
    if needs_person:
        return "Nothing can be started now; needs_person lists what only a person can set going."
    return after_next((), (), counted, [view.image.graphs[name] for name in graph_ids])
