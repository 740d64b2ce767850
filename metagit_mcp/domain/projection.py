"""What the ledger and the file say together about one node, and what is to be written back. Knows no file.

A status in a file is another program's act only if its `updated_at` is newer than our last change; otherwise it is a
stale copy (work.md §1, Files and log).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from metagit_mcp.domain.fed_graph import status_as_told
from metagit_mcp.domain.tasks import FINISHED_STATUSES, OPEN_STATUSES, TaskNode, is_parked
from metagit_mcp.domain.value import changed, value
from metagit_mcp.domain.work import FINISHED_STATES, WorkItem, WorkState

_STATUS_OF: Final[Mapping[WorkState, str]] = {
    "open": "ready",
    "queued": "ready",
    "active": "running",
    "blocked": "blocked",
    "submitted": "running",
    "parked": "blocked",
    "completed": "completed",
    "cancelled": "cancelled",
}
# What counts even of work that is leased or waits for a review.
_STRONGEST: Final = (*FINISHED_STATUSES, "blocked")


@value
class Projection:
    """A node's row as it is to stand in its file."""

    status: str
    blocker_reason: str | None
    updated_at: datetime


# What other programs write there may be of any length; what is longer than an instant is not remembered.
_LONGEST_REMEMBERED: Final = 64


def row_instant(text: str) -> datetime | None:
    """Return the instant that a row's `updated_at` says, or None: one without an offset, or none at all."""
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _instant_in(text)


def _instant_in(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    try:
        return None if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        return None


# A claim asks for that of one row seven times.
_remembered: Final = lru_cache(maxsize=1_024)(_instant_in)


def projection(item: WorkItem, node: TaskNode) -> Projection:
    """Return what the file is to say of the node; never older than what it says now."""
    said = row_instant(node.updated_at)
    return Projection(
        status=_STATUS_OF[item.state],
        blocker_reason=_reason(item),
        updated_at=item.changed_at if said is None else max(item.changed_at, said),
    )


def _reason(item: WorkItem) -> str | None:
    if item.state == "parked":
        return f"failed: {item.note}"
    return item.note if item.state == "blocked" else None


def says_the_same(item: WorkItem, node: TaskNode) -> bool:
    """Say whether the row already says what the item is; pending and ready are one."""
    status = _STATUS_OF[item.state]
    if status == "ready":
        return node.status in OPEN_STATUSES
    return node.status == status and (status != "blocked" or (node.blocker_reason or None) == (_reason(item) or None))


def is_act(item: WorkItem, node: TaskNode) -> bool:
    """Say whether the row is what another program did since our last change."""
    said = row_instant(node.updated_at)
    return said is not None and said > item.changed_at and not says_the_same(item, node)


def is_overruled(item: WorkItem, node: TaskNode) -> bool:
    """Say whether another program's act does not count: the node is leased, or waits for a review.

    That such work is over or blocked counts.
    """
    return item.state in {"active", "submitted"} and node.status not in _STRONGEST and is_act(item, node)


def is_news(item: WorkItem, node: TaskNode) -> bool:
    """Say whether the row is to become an event: an act on work of ours, or an instant that we must not fall behind.

    Open work is told of by its row without an event, and its next event knows how new the row is.
    """
    if item.state == "open":
        return False
    said = row_instant(node.updated_at)
    if said is None or said <= item.changed_at:
        return False
    return item.state not in FINISHED_STATES or not says_the_same(item, node)


def is_due(item: WorkItem, node: TaskNode) -> bool:
    """Say whether the row is to be written: it says something else, and that is no act that counts."""
    if says_the_same(item, node):
        return False
    return not is_act(item, node) or is_overruled(item, node)


def is_parked_elsewhere(item: WorkItem | None, node: TaskNode) -> bool:
    """Say whether only the file tells that the node failed for good: the ledger has it as open, or does not know it."""
    return is_parked(node) and (item is None or (item.state == "open" and not is_due(item, node)))


def as_known(node: TaskNode, item: WorkItem | None) -> TaskNode:
    """Return the node with the status that counts: the ledger's, unless the file tells of a newer act."""
    if item is not None and item.fed is not None:
        status, reason = status_as_told(item, item.fed) or _STATUS_OF[item.state], _reason(item)
        if (node.status, node.blocker_reason) == (status, reason):
            return node
        return changed(node, status=status, blocker_reason=reason)
    if item is None or not is_due(item, node):
        return node
    shown = projection(item, node)
    return changed(node, status=shown.status, blocker_reason=shown.blocker_reason)
