"""How one node's item and lease move from state to state, as the events need it. Knows no event by name.

Every change is later than the one before it and than what the file said of itself when the change was decided.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from metagit_mcp.domain.charging import corrected
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.value import changed
from metagit_mcp.domain.work import Attempt, ClosedLease, Closure, NodeKey, WorkItem, WorkState, added

ATTEMPTS_KEPT: Final = 5
# Replies and ended leases are remembered for 7 days, and always the newest 10,000 of them (work.md §1, Fencing).
_REMEMBERED: Final = 10_000
_REMEMBERED_FOR: Final = timedelta(days=7)
STEP: Final = timedelta(microseconds=1)
_LATEST: Final = datetime.max.replace(tzinfo=UTC) - STEP


def put(state: LedgerState, item: WorkItem) -> NodeKey:
    """Keep an item as what is known of its node."""
    state.items.setdefault(item.graph_id, {})[item.node_id] = item
    if item.until is not None:
        state.terms[item.key] = item.until
    else:
        state.terms.pop(item.key, None)
    return item.key


def known(state: LedgerState, graph_id: str, node_id: str, at: datetime) -> WorkItem:
    """Return what is known of a node; one that was never heard of is open."""
    found = state.item((graph_id, node_id))
    return found or WorkItem(graph_id=graph_id, node_id=node_id, state="open", changed_at=at)


def _changed_at(item: WorkItem, at: datetime, seen_at: datetime | None = None) -> datetime:
    """Return the instant of a change: never at or before the one before it, nor what the file said of itself."""
    floor = item.changed_at if seen_at is None else max(item.changed_at, seen_at)
    return max(at, floor + STEP) if floor < _LATEST else floor


def moved(item: WorkItem, event: Any, to: WorkState, **fields: Any) -> WorkItem:  # noqa: ANN401 - any event
    """Return the item in another state; who owns it, until when and under which lease is said anew each time."""
    seen_at: datetime | None = getattr(event, "seen_at", None)
    fresh = {"owner": None, "owner_session": 0, "until": None, "lease_id": None, "note": "", **fields}
    if to == "open" and item.fed is not None and item.fed.state == "blocked":
        # Whoever lets go of the work of a Group does not unblock it: that is the Group's to say.
        to, fresh["note"] = "blocked", item.fed.note
    return changed(item, state=to, changed_at=_changed_at(item, event.at, seen_at), **fresh)


def owned(item: WorkItem) -> dict[str, Any]:
    """Return the fields with which `moved` leaves the item to its owner."""
    return {"owner": item.owner, "owner_session": item.owner_session}


def closed(state: LedgerState, lease_id: str, closure: Closure, at: datetime) -> WorkItem:
    """End a live lease and return its item, with what the lease used added to what the node used."""
    lease = state.leases.pop(lease_id)
    state.closed[lease_id] = ClosedLease(
        lease_id=lease_id,
        graph_id=lease.graph_id,
        node_id=lease.node_id,
        agent_id=lease.agent_id,
        ownership_epoch=lease.ownership_epoch,
        closed_at=at,
        closure=closure,
    )
    forget(state.closed, lambda each: each.closed_at, at)
    corrected(state.shares, lease)
    item = known(state, lease.graph_id, lease.node_id, at)
    return changed(item, spent=added(item.spent, lease.usage))


def closed_with(state: LedgerState, item: WorkItem, closure: Closure, at: datetime) -> WorkItem:
    """End the item's live lease, if it has one, as `closed` does."""
    return item if item.lease_id is None else closed(state, item.lease_id, closure, at)


def forget(remembered: dict[str, Any], instant_of: Callable[[Any], datetime], now: datetime) -> None:
    """Forget the oldest of what happened too long ago, as long as enough is left."""
    while len(remembered) > _REMEMBERED:
        oldest = next(iter(remembered))
        if now - instant_of(remembered[oldest]) <= _REMEMBERED_FOR:
            return
        del remembered[oldest]


def tried(item: WorkItem, agent_id: str | None, event: Any, outcome: Any, note: str = "") -> tuple[Attempt, ...]:  # noqa: ANN401 - any event, and the word for how it ended
    """Return the newest attempts, this one added."""
    attempt = Attempt(agent_id=agent_id or "", at=event.at, outcome=outcome, note=note)
    return (*item.attempts, attempt)[-ATTEMPTS_KEPT:]
