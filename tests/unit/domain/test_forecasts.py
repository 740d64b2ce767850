"""What a Group was told of its work, and whether it came true."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from metagit_mcp.domain import group_facts as facts
from metagit_mcp.domain.events import WorkParked, WorkPaused, WorkStarted, WorkSubmitted
from metagit_mcp.domain.feed_events import EstimatePublished
from metagit_mcp.domain.feeds import Feed, Told
from metagit_mcp.domain.forecasts import MOST_COUNTED
from metagit_mcp.domain.replay import fold
from tests.unit.domain.fed_log import AT, LATER, ME, TERM, G, Log, N, accepted_by, offered, owned, start

MINUTE = timedelta(minutes=1)


def told(at: int = 0, *, start_to: int = 20, completion: int = 40) -> EstimatePublished:
    """An estimate of a minute: it starts in minutes 10 to `start_to`, and is done in minute `completion`."""
    ends = {"start_from": AT + 10 * MINUTE, "start_to": AT + start_to * MINUTE, "completion": AT + completion * MINUTE}
    names: dict[str, Any] = {"confidence_percent": 50, "capacity_status": "queued", "agent_id": ME, **ends}
    return EstimatePublished(at=AT + at * MINUTE, graph_id=G, node_id=N, **names)


def started(at: int, lease_id: str = "L1") -> WorkStarted:
    return replace(start(lease_id), at=AT + at * MINUTE)


def submitted(at: int, lease_id: str = "L1") -> WorkSubmitted:
    return WorkSubmitted(at=AT + at * MINUTE, lease_id=lease_id)


def feed_of(log: Log) -> Feed:
    return log.state.feeds[G]


def counts(*acts: Any) -> tuple[int, int, int]:  # noqa: ANN401 - any events
    """How much came true and did not, and of how much work it is still open."""
    feed = feed_of(owned().did(*acts))
    return feed.came_true, feed.failed_to, len(feed.told)


def test_what_is_told_is_kept_as_long_as_the_work_goes_on() -> None:
    feed = feed_of(owned().did(told(), told(5, start_to=25)))
    newest = Told(
        at=AT + 5 * MINUTE,
        start_from=AT + 10 * MINUTE,
        start_to=AT + 25 * MINUTE,
        completion=AT + 40 * MINUTE,
        capacity_status="queued",
    )
    assert feed.told == {N: newest}
    assert (feed.came_true, feed.failed_to) == (0, 0)


@pytest.mark.parametrize(
    ("acts", "expected"),
    [
        ((told(), started(10)), (1, 0, 1)),
        ((told(), started(20)), (1, 0, 1)),
        ((told(), started(9)), (0, 1, 1)),
        ((told(), started(21)), (0, 1, 1)),
        ((told(), started(10), submitted(40)), (2, 0, 0)),
        ((told(), started(10), submitted(41)), (1, 1, 0)),
        # Nobody was told that it would fail, and nothing was told of work that began before.
        ((told(), started(10), WorkParked(at=AT, lease_id="L1", note="no")), (1, 0, 0)),
        ((started(10), submitted(41)), (0, 0, 0)),
        # Only its first start counts.
        (
            (told(), started(10), WorkPaused(at=AT + 11 * MINUTE, lease_id="L1", start_by=TERM), started(30, "L2")),
            (1, 0, 1),
        ),
        # What was past when it was told anew has not come true; what was not, nobody can say.
        ((told(), told(20)), (0, 0, 1)),
        ((told(), told(21, start_to=30), started(22)), (1, 1, 1)),
        ((told(), started(10), told(39)), (1, 0, 1)),
        ((told(), started(10), told(41, completion=50), submitted(49)), (2, 1, 0)),
    ],
)
def test_what_came_true_is_counted(acts: tuple[Any, ...], expected: tuple[int, int, int]) -> None:
    assert counts(*acts) == expected


def test_work_that_the_log_takes_away_counts_neither_way() -> None:
    again = owned().did(told()).told(facts.WorkOffered, node_id=N, candidates=(ME,), until=LATER)
    assert (feed_of(again).told, feed_of(again).failed_to) == ({}, 0)
    off = owned().did(told()).told(facts.WorkCalledOff, node_id=N, reason="no")
    assert (feed_of(off).told, feed_of(off).failed_to) == ({}, 0)
    # What answers an act of ours takes nothing away.
    kept = accepted_by(offered().did(told()), ME)
    assert set(feed_of(kept).told) == {N}


def test_the_newest_outcomes_count_most() -> None:
    missed = [told(30 + each, start_to=30 + each - 1) for each in range(MOST_COUNTED)]
    feed = feed_of(owned().did(told(), *missed))
    assert (feed.came_true, feed.failed_to) == (0, MOST_COUNTED)
    feed = feed_of(owned().did(told(), *missed, told(98, start_to=98), started(98)))
    assert (feed.came_true, feed.failed_to) == (1, (MOST_COUNTED + 1) // 2)


def test_a_branch_counts_for_itself() -> None:
    state = owned().did(told()).state
    branch, before = state.branch(), state.branch().feeds[G]
    fold([started(10)], branch)
    assert (branch.feeds[G].came_true, branch.feeds[G].told[N].started) == (1, AT + 10 * MINUTE)
    assert state.feeds[G] == before
