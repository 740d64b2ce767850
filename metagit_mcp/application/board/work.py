"""Who works on what, what was lost, and what was paused on purpose. Decides nothing.

What the work is and what proves that somebody is on it are told apart: presence is not progress.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from metagit_mcp.application.board.people import act_for
from metagit_mcp.application.board.reasons import Look
from metagit_mcp.application.needs_person import node_need
from metagit_mcp.application.standing import running_nodes
from metagit_mcp.domain.projection import row_instant
from metagit_mcp.domain.tasks import FINISHED_STATUSES, TaskNode, effective_slots
from metagit_mcp.domain.text import shown, shown_or_none
from metagit_mcp.domain.work import USAGE_NAMES, ClosedLease, ExecutionLease, NodeKey, Usage, WorkItem
from metagit_mcp.scheduling.cycle import Held
from metagit_mcp.scheduling.eligibility import Reason, observed_until, reason_for_person
from metagit_mcp.scheduling.explain import resume_point
from metagit_mcp.scheduling.holdings import live_lease
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.wire.board_cards import LostCard, PausedCard, RunningCard, UsedFigure
from metagit_mcp.wire.status_answers import RunningNode

# The leases of each node that ended, the last one last.
Ended = Mapping[NodeKey, Sequence[ClosedLease]]
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


def ended_leases(look: Look) -> Ended:
    """Return the leases that ended, as far as they are remembered, by node."""
    found: dict[NodeKey, list[ClosedLease]] = {}
    for each in look.view.work.closed.values():
        if look.alone in {None, each.graph_id}:
            found.setdefault((each.graph_id, each.node_id), []).append(each)
    return found


# --- running ----------------------------------------------------------------------------------------------------------


def running_cards(look: Look, limit: int) -> tuple[tuple[RunningCard, ...], int]:
    """Return what runs, the first `limit` by Group and id, and how much there is in all."""
    rows = list(running_nodes(look.view, look.alone))
    return tuple(_running(look, row) for row in rows[:limit]), len(rows)


def _running(look: Look, row: RunningNode) -> RunningCard:
    work, key = look.view.work, (row.graph_id, row.node_id)
    item = work.item(key)
    lease = live_lease(item, work)
    if lease is None:
        return _seen(look, row, look.view.queue.groups[row.graph_id])
    proof_at = lease.last_renewed_at or lease.granted_at
    is_late = 2 * (look.view.now - proof_at).total_seconds() > lease.term_seconds
    return RunningCard(
        graph_id=row.graph_id,
        node_id=row.node_id,
        state="asked_to_pause" if row.preempt_requested else "working",
        proof="late" if is_late else "live",
        title=row.title,
        repository=row.repository,
        agent_id=row.agent_id,
        since=lease.granted_at,
        leased_until=row.leased_until,
        preempt_requested=row.preempt_requested,
        proof_at=proof_at,
        proof_by="server" if lease.attended else "agent",
        progress_at=_progress_at(lease, item),
        renewals=lease.renewal_count,
        attempts=None if item is None else len(item.attempts) or None,
        slots=lease.holding.slots,
        used=_used(lease.usage),
    )


def _progress_at(lease: ExecutionLease, item: WorkItem | None) -> datetime | None:
    """Return when the agent last left a checkpoint under this lease."""
    point = None if item is None else item.checkpoint
    return point.at if point is not None and point.lease_id == lease.lease_id else None


def _used(usage: Usage) -> tuple[UsedFigure, ...]:
    figures = ((name, getattr(usage, name)) for name in USAGE_NAMES)
    return tuple(UsedFigure(name=name, used=used) for name, used in figures if used)


def _seen(look: Look, row: RunningNode, group: GroupQueue) -> RunningCard:
    node = group.rules.shape.by_id[row.node_id]
    since = row_instant(node.updated_at)
    return RunningCard(
        graph_id=row.graph_id,
        node_id=row.node_id,
        state="seen",
        proof="file" if _overdue_since(look, group, node) is None else "overdue",
        title=row.title,
        repository=row.repository,
        agent_id=row.agent_id,
        since=since,
        proof_at=since,
        proof_by="file",
        slots=effective_slots(node),
    )


def _overdue_since(look: Look, group: GroupQueue, node: TaskNode) -> datetime | None:
    until = observed_until(group.rules, node)
    return None if until is None or until > look.view.now else until


# --- lost and paused --------------------------------------------------------------------------------------------------


def lost_cards(look: Look, ended: Ended, limit: int) -> tuple[tuple[LostCard, ...], int]:
    """Return what was lost, the newest first, and how much there is in all."""
    found = [*_expired(look, ended), *_overdue(look)]
    found.sort(key=lambda card: (card.graph_id, card.node_id))
    found.sort(key=lambda card: card.lost_at or _NEVER, reverse=True)
    return tuple(found[:limit]), len(found)


def _last_ended(look: Look, ended: Ended, closure: str, state: str) -> Iterator[tuple[ClosedLease, WorkItem, TaskNode]]:
    """Yield the unfinished nodes that nobody took since their last lease ended in this way."""
    for (graph_id, node_id), leases in ended.items():
        group = look.view.queue.groups.get(graph_id)
        item = None if group is None else group.rules.items.get(node_id)
        if group is None or item is None or leases[-1].closure != closure or item.state != state:
            continue
        node = group.rules.shape.by_id.get(node_id)
        if node is not None and node.status not in {*FINISHED_STATUSES, "running"}:
            yield leases[-1], item, node


def _expired(look: Look, ended: Ended) -> Iterator[LostCard]:
    for lease, item, node in _last_ended(look, ended, "expired", "open"):
        yield LostCard(
            graph_id=lease.graph_id,
            node_id=node.node_id,
            kind="lease_expired",
            title=shown(node.title),
            may_start=not look.against(lease.graph_id, node),
            attempts=len(item.attempts),
            agent_id=shown_or_none(lease.agent_id),
            lost_at=lease.closed_at,
            checkpoint=resume_point(item),
        )


def _overdue(look: Look) -> Iterator[LostCard]:
    for group in look.groups:
        for node in group.seen.values():
            until = _overdue_since(look, group, node)
            if until is not None:
                yield _lost_run(look, group, node, until)


def _lost_run(look: Look, group: GroupQueue, node: TaskNode, until: datetime) -> LostCard:
    reason = reason_for_person(group.rules, node) or Reason(kind="observed")
    held = Held(node=node, reason=reason)
    item = group.rules.items.get(node.node_id)
    others = [each for each in look.against(group.graph_id, node) if each.text != reason.text]
    return LostCard(
        graph_id=group.graph_id,
        node_id=node.node_id,
        kind="run_overdue",
        title=shown(node.title),
        may_start=False,
        attempts=0 if item is None else len(item.attempts),
        agent_id=shown_or_none(node.agent_id),
        lost_at=until,
        act=act_for(node_need(group, held), held, item, others),
    )


def paused_cards(look: Look, ended: Ended, limit: int) -> tuple[tuple[PausedCard, ...], int]:
    """Return what its agent paused, by Group and id, and how much there is in all."""
    found = [
        PausedCard(
            graph_id=lease.graph_id,
            node_id=node.node_id,
            title=shown(node.title),
            agent_id=shown(lease.agent_id),
            since=lease.closed_at,
            until=None if item.until is None else item.until.at,
            checkpoint=resume_point(item),
        )
        for lease, item, node in _last_ended(look, ended, "paused", "queued")
    ]
    found.sort(key=lambda card: (card.graph_id, card.node_id))
    return tuple(found[:limit]), len(found)
