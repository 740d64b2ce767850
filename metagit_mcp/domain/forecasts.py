"""What a Group was told of its work, and whether that came true: kept for each node that goes on, else as two counts.

The newest outcomes count most: whenever there are many, all are halved.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from metagit_mcp.domain.events import Event, WorkParked, WorkStarted, WorkSubmitted
from metagit_mcp.domain.feed_events import EstimatePublished
from metagit_mcp.domain.feeds import Feed, Told
from metagit_mcp.domain.state import LedgerState

MOST_COUNTED: Final = 64


def judge(state: LedgerState, event: Event, group_id: str) -> None:
    """Let an event of the Group tell whether what it was told came true."""
    judged = _JUDGED.get(type(event))
    if judged is not None:
        state.feeds[group_id] = judged(state, state.feeds[group_id], event)


def _told(_: LedgerState, feed: Feed, event: EstimatePublished) -> Feed:
    """Keep what is told now; what was told before and is past without having happened has not come true."""
    before = feed.told.get(event.node_id)
    started = None if before is None else before.started
    if before is not None and event.at > (before.start_to if started is None else before.completion):
        feed = _counted(feed, came_true=False)
    told = Told(
        at=event.at,
        start_from=event.start_from,
        start_to=event.start_to,
        completion=event.completion,
        capacity_status=event.capacity_status,
        started=started,
    )
    return replace(feed, told={**feed.told, event.node_id: told})


def _started(_: LedgerState, feed: Feed, event: WorkStarted) -> Feed:
    node_id, told = event.lease.node_id, feed.told.get(event.lease.node_id)
    if told is None or told.started is not None:
        return feed
    feed = _counted(feed, came_true=told.start_from <= event.at <= told.start_to)
    return replace(feed, told={**feed.told, node_id: replace(told, started=event.at)})


def _submitted(state: LedgerState, feed: Feed, event: WorkSubmitted) -> Feed:
    return _ended(feed, state.closed[event.lease_id].node_id, event.at)


def _parked(state: LedgerState, feed: Feed, event: WorkParked) -> Feed:
    """Count nothing: nobody was told that it would fail."""
    return _ended(feed, state.closed[event.lease_id].node_id, None)


def _ended(feed: Feed, node_id: str, at: datetime | None) -> Feed:
    told = feed.told.get(node_id)
    if told is None:
        return feed
    feed = feed if at is None else _counted(feed, came_true=at <= told.completion)
    return replace(feed, told={name: each for name, each in feed.told.items() if name != node_id})


def _counted(feed: Feed, *, came_true: bool) -> Feed:
    kept, missed = feed.came_true + came_true, feed.failed_to + (not came_true)
    if kept + missed > MOST_COUNTED:
        kept, missed = kept // 2, missed // 2
    return replace(feed, came_true=kept, failed_to=missed)


_JUDGED: Final[Mapping[type[Event], Callable[[LedgerState, Feed, Any], Feed]]] = {
    EstimatePublished: _told,
    WorkStarted: _started,
    WorkSubmitted: _submitted,
    WorkParked: _parked,
}
