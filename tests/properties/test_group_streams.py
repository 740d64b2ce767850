"""A Group's log, read and folded, beside an oracle that shares no code with either: after each Event the same.

The Events are drawn by an authority that follows the protocol's state machine (`tests/groups/`), in both envelope
forms and both dialects of contracts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from metagit_mcp.domain.evolve import evolve
from metagit_mcp.domain.feed_events import GroupEventsApplied
from metagit_mcp.domain.replay import first_difference, fold
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.wire.group_events import fact_of, read_group_event
from metagit_mcp.wire.ledger_codec import (
    EVENT_VERSION,
    STATE_VERSION,
    event_record,
    read_event,
    read_state,
    state_record,
)
from tests.groups.oracle import follow, new_group
from tests.groups.streams import SeededLots, Stream, log_of, streams
from tests.groups.test_oracle_on_real_events import REAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from metagit_mcp.domain.feeds import Feed
    from metagit_mcp.domain.work import WorkItem

Json = dict[str, Any]
GROUP = "group:cli"
NAMES = {"modelTokens": "tokens", "toolCalls": "tool_calls", "wallClockSeconds": "seconds"}


def applied(events: Sequence[Json]) -> GroupEventsApplied:
    """The Events as one line of the ledger."""
    read = [read_group_event(event) for event in events]
    told = tuple(fact for each in read if (fact := fact_of(each)) is not None)
    return GroupEventsApplied(at=read[-1].at, group_id=read[-1].group_id, cursor=read[-1].sequence, facts=told)


def in_batches(events: Sequence[Json], size: int) -> Iterator[GroupEventsApplied]:
    for first in range(0, len(events), size):
        yield applied(events[first : first + size])


def item_said(feed: Feed, item: WorkItem) -> Json:
    """An item in the words of the oracle."""
    fed = item.fed
    assert fed is not None
    return {
        "mission": fed.mission_id,
        "state": fed.state,
        "epoch": fed.ownership_epoch,
        "owner": fed.owner,
        "until": fed.until,
        "lease_id": fed.lease_id,
        "lease_until": fed.lease_until,
        "session": fed.session_epoch if fed.lease_id is not None else None,
        "dependencies": sorted(feed.nodes[item.node_id].depends_on),
        "offer": None if fed.offer is None else (sorted(fed.offer.candidates), fed.offer.until),
        "approved_until": fed.approved_until,
        "left": None if fed.left is None else dict(fed.left),
    }


def group_said(state: LedgerState, group_id: str) -> Json:
    """The Group in the words of the oracle."""
    feed = state.feeds[group_id]
    members = {
        name: {"epoch": each.epoch, "status": each.status, "roles": sorted(each.roles)}
        for name, each in feed.members.items()
    }
    items = {name: item_said(feed, item) for name, item in state.items.get(group_id, {}).items()}
    return {
        "cursor": feed.cursor,
        "items": items,
        "members": members,
        "ended": list(feed.ended),
        "archived": feed.archived,
    }


def in_our_words(group: Json) -> Json:
    """What the oracle says, with the figures of a budget by our names."""
    items = {
        name: item | {"left": None if item["left"] is None else _figures(item["left"])}
        for name, item in group["items"].items()
    }
    return group | {"items": items}


def _figures(left: Json) -> Json:
    return {NAMES[name]: figure for name, figure in left.items() if name in NAMES}


def first_unlike(events: Iterable[Json], group_id: str) -> tuple[Json, Json, Json] | None:
    """The first Event after which fold and oracle do not say the same, with what each says."""
    state, group = LedgerState(), new_group()
    for event in events:
        follow(group, event)
        evolve(state, applied([event]))
        said = group_said(state, group_id)
        if said != in_our_words(group):
            return event, said, in_our_words(group)
    return None


@given(streams())
def test_after_each_event_fold_and_oracle_say_the_same(stream: Stream) -> None:
    assert first_unlike(stream.events, stream.group_id) is None


@pytest.mark.parametrize("seed", range(20))
def test_long_logs_say_the_same(seed: int) -> None:
    log = log_of(SeededLots(seed), least=60)
    assert first_unlike(log.events, log.group_id) is None


def test_the_real_log_ends_with_all_work_verified() -> None:
    assert first_unlike(REAL, GROUP) is None
    items = fold(in_batches(REAL, 1)).items[GROUP]
    assert {name: item.state for name, item in items.items()} == dict.fromkeys(items, "completed")


@pytest.mark.parametrize("seed", range(5))
def test_a_log_leads_to_the_same_state_in_batches_of_any_size(seed: int) -> None:
    log = log_of(SeededLots(seed), least=60)
    one_by_one = fold(in_batches(log.events, 1))
    for size in (2, 7, len(log.events)):
        state = fold(in_batches(log.events, size))
        assert (state.feeds, state.items) == (one_by_one.feeds, one_by_one.items)


@pytest.mark.parametrize("seed", range(5))
def test_what_the_ledger_keeps_of_a_log_is_all_of_it(seed: int) -> None:
    log = log_of(SeededLots(seed), least=60)
    events = list(in_batches(log.events, 4))
    kept = [event_record(event) for event in events]
    assert [read_event(kind, version, body) for kind, version, body in kept] == events
    assert {version for _, version, _ in kept} == {EVENT_VERSION}
    state = fold(events)
    again = read_state(STATE_VERSION, state_record(state))
    assert again is not None
    assert first_difference(state, again) is None


def test_an_event_reads_the_same_from_text_and_from_an_object() -> None:
    for event in REAL:
        text = json.dumps(event, indent=1).encode()
        assert read_group_event(text) == read_group_event(event)
