"""What happened without a command: terms that ended, and what other programs wrote into the files. Writes nothing.

Whoever commands next, in whichever process, lets it happen first (work.md §1, Files and log).
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from metagit_mcp.domain.events import (
    BlockedLeaseEnded,
    Event,
    LeaseExpired,
    SeenBlocked,
    SeenEvent,
    SeenFinished,
    SeenOpen,
    SeenTouched,
    StartByPassed,
    WorkRetried,
    WorkUnblocked,
)
from metagit_mcp.domain.instant import Instant, expiry_after, has_passed
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.projection import is_news, is_overruled, row_instant, says_the_same
from metagit_mcp.domain.share_events import HoldEnded
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import FINISHED_STATUSES, OPEN_STATUSES, TaskNode
from metagit_mcp.domain.work import FINISHED_STATES, NodeKey, WorkItem

# Who unblocks or retries by writing into the file; its name is not known.
ANOTHER_PROGRAM: Final = "another program"
Act = SeenEvent | WorkUnblocked | WorkRetried


def lapses(state: LedgerState, now: Instant) -> list[Event]:
    """Return the ends of all terms that have passed, in the order of lease ids and nodes; then that of the hold."""
    # Hardly ever has one passed, and this is asked at each command: only those are put in order.
    last = state.last_at
    expired = sorted(lease_id for lease_id, lease in state.leases.items() if has_passed(lease.expiry, now, last))
    over = sorted(key for key, until in state.terms.items() if has_passed(until, now, last))
    ended: list[Event] = [LeaseExpired(at=now.wall, lease_id=lease_id) for lease_id in expired]
    for graph_id, node_id in over:
        item = state.items[graph_id][node_id]
        kind = StartByPassed if item.state == "queued" else BlockedLeaseEnded
        ended.append(kind(at=now.wall, graph_id=graph_id, node_id=node_id))
    hold = state.shares.hold
    if hold is not None and hold.until is not None and has_passed(hold.until, now, last):
        ended.append(HoldEnded(at=now.wall, graph_id=hold.graph_id, node_id=hold.node_id, lapsed=True))
    return ended


def unwritten(
    state: LedgerState, seen: Iterable[tuple[WorkItem, TaskNode]], policy: SchedulePolicy | None, now: Instant
) -> list[Event]:
    """Return all that happened without a command: what others wrote, and the terms that ended of all other work.

    What another program wrote goes before the end of a term: its node has that term no more. A hold is no term.
    """
    told = list(acts(seen, policy, now, state.last_at))
    moved = {(event.graph_id, event.node_id) for event in told if not isinstance(event, SeenTouched)}
    ended = lapses(state, now)
    return [*told, *(each for each in ended if isinstance(each, HoldEnded) or _key(state, each) not in moved)]


def _key(state: LedgerState, event: Any) -> NodeKey:  # noqa: ANN401 - any end of a term
    if isinstance(event, LeaseExpired):
        return state.leases[event.lease_id].key
    return event.graph_id, event.node_id


def acts(
    items: Iterable[tuple[WorkItem, TaskNode]],
    policy: SchedulePolicy | None,
    now: Instant,
    last_at: datetime | None = None,
) -> Iterator[Act]:
    """Yield what the rows of these nodes lead to; `last_at` is the instant of the last event."""
    for item, node in items:
        if is_news(item, node):
            yield _act(item, node, policy or SchedulePolicy(), now, last_at)


def _act(item: WorkItem, node: TaskNode, policy: SchedulePolicy, now: Instant, last_at: datetime | None) -> Act:
    names: dict[str, Any] = {
        "at": now.wall,
        "graph_id": item.graph_id,
        "node_id": item.node_id,
        "seen_at": row_instant(node.updated_at),
    }
    if says_the_same(item, node) or is_overruled(item, node):
        return SeenTouched(**names)
    if item.state in FINISHED_STATES:
        return SeenOpen(**names)
    if node.status in FINISHED_STATUSES:
        return SeenFinished(status=node.status, **names)
    if node.status == "blocked":
        return SeenBlocked(note=node.blocker_reason or "", **names)
    if node.status in OPEN_STATUSES and item.state == "blocked":
        is_over = item.until is None or has_passed(item.until, now, last_at)
        start_by = None if is_over else expiry_after(now, policy.leases.start_by_seconds)
        return WorkUnblocked(start_by=start_by, **names)
    if node.status in OPEN_STATUSES and item.state == "parked":
        return WorkRetried(by=ANOTHER_PROGRAM, **names)
    return SeenOpen(**names)
