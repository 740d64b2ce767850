"""Events of a Group come in any order, in any number of calls, more than once: the state is that of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.adapters.memory import MemoryEventStore, MemoryLedger
from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.application.groups import deliveries
from metagit_mcp.application.groups.deliveries import Delivered, LogSeen
from metagit_mcp.errors import (
    Backpressure,
    CursorTooOld,
    EventConflict,
    GraphExists,
    InvalidInput,
    SchemaMismatch,
)
from metagit_mcp.wire.group_events import read_group_event
from tests.groups.delivering import G, Process, outcome, read
from tests.groups.real_events import LINES
from tests.groups.streams import deliveries as drawn_deliveries
from tests.groups.streams import streams

if TYPE_CHECKING:
    from pathlib import Path

    from metagit_mcp.wire.group_events import GroupEvent

REAL = [read_group_event(line) for line in LINES]


@pytest.fixture(params=["memory", "sqlite"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Process:
    if request.param == "memory":
        return Process(MemoryEventStore(MemoryLedger()))
    (tmp_path / ".metagit" / "schedule").mkdir(parents=True)
    return Process(SqliteEventStore(str(tmp_path)))


# --- any order -------------------------------------------------------------------------------------------------------


def test_the_real_log_in_one_call(process: Process) -> None:
    assert process.deliver(REAL) == Delivered(cursor=36, applied=36, duplicates=0, held=0)
    assert {item.state for item in process.state.items[G].values()} == {"completed"}
    assert process.state.feeds[G].archived


@pytest.mark.parametrize("size", [1, 5, 36])
def test_the_real_log_backwards_in_batches_is_held_until_its_first_event(process: Process, size: int) -> None:
    expected = Process(MemoryEventStore(MemoryLedger()))
    expected.deliver(REAL)
    backwards = REAL[::-1]
    answers = [process.deliver(backwards[first : first + size]) for first in range(0, 36, size)]
    assert answers[-1] == Delivered(cursor=36, applied=36, duplicates=0, held=0)
    assert [each.cursor for each in answers[:-1]] == [0] * (len(answers) - 1)
    assert outcome(process.state) == outcome(expected.state)


def test_what_was_delivered_before_changes_nothing(process: Process) -> None:
    process.deliver(REAL[:20])
    before = process.state
    assert process.deliver(REAL[:20]) == Delivered(cursor=20, applied=0, duplicates=20, held=0)
    assert process.state == before
    assert process.deliver(REAL[30:]) == Delivered(cursor=20, applied=0, duplicates=0, held=6)
    assert process.deliver(REAL[25:]) == Delivered(cursor=20, applied=0, duplicates=6, held=11)
    assert process.deliver([*REAL[10:25], *REAL[10:25]]) == Delivered(cursor=36, applied=16, duplicates=25, held=0)


@given(st.data())
def test_any_log_in_any_order_leads_to_the_state_of_its_order(data: st.DataObject) -> None:
    stream = data.draw(streams())
    expected, process = (Process(MemoryEventStore(MemoryLedger())) for _ in range(2))
    expected.deliver(read(stream.events))
    for batch in data.draw(drawn_deliveries(stream.events)):
        process.deliver(read(batch))
    assert outcome(process.state) == outcome(expected.state)
    assert process.state.feeds[G].cursor == len(stream.events)


def test_two_processes_share_one_inbox(process: Process) -> None:
    other = Process(process.store)
    process.deliver(REAL[1::2])
    assert other.deliver(REAL[::2]).cursor == 36
    assert process.deliver(REAL) == Delivered(cursor=36, applied=0, duplicates=36, held=0)


def test_groups_know_nothing_of_each_other(process: Process) -> None:
    text = LINES[0].replace(b"group:cli", b"group:two")
    process.deliver([read_group_event(text)], "group:two")
    process.deliver(REAL[:3])
    assert {name: feed.cursor for name, feed in process.state.feeds.items()} == {G: 3, "group:two": 1}


def test_a_delivery_of_nothing_begins_the_group_and_no_more(process: Process) -> None:
    assert process.deliver([]) == Delivered(cursor=0, applied=0, duplicates=0, held=0)
    mark = process.store.mark()
    process.deliver([])
    assert process.store.mark() == mark


# --- what may be seen ------------------------------------------------------------------------------------------------


def test_a_log_that_is_seen_from_later_on_has_no_gap_before(process: Process) -> None:
    assert process.deliver(REAL[9:12], log=LogSeen(first=10)).cursor == 12
    assert process.deliver(REAL[12:14]).cursor == 14
    assert process.state.feeds[G].first == 10


def test_a_filtered_log_has_no_gaps(process: Process) -> None:
    log = LogSeen(filtered=True)
    assert process.deliver(REAL[3:30:3], log=log) == Delivered(cursor=28, applied=9, duplicates=0, held=0)
    assert process.deliver(REAL[3:30:3]) == Delivered(cursor=28, applied=0, duplicates=9, held=0)


def test_a_log_that_no_longer_goes_back_far_enough(process: Process) -> None:
    process.deliver(REAL[:5])
    refused = process.refusal(REAL[9:], log=LogSeen(first=10))
    assert isinstance(refused, CursorTooOld)
    assert refused.details == {"group_id": G, "cursor": 5, "first": 10}


# --- what is refused, with nothing applied ---------------------------------------------------------------------------


def altered(index: int, **fields: object) -> GroupEvent:
    """A real Event with other fields."""
    return read_group_event(REAL[index].record | fields)


def test_an_event_of_another_group(process: Process) -> None:
    process.deliver(REAL[:2])
    refused = process.refusal([REAL[2], altered(3, groupId="group:two")])
    assert isinstance(refused, EventConflict)
    assert refused.message == "The Event at 4 is of another Group; nothing was applied."


def test_an_event_that_says_something_else_than_before(process: Process) -> None:
    process.deliver([*REAL[:2], REAL[5]])
    for index in (1, 5):
        refused = process.refusal([REAL[2], altered(index, correlationId="other")])
        assert isinstance(refused, EventConflict)
        assert refused.message == f"The Event at {index + 1} says something else than before; nothing was applied."


def test_an_event_at_two_places(process: Process) -> None:
    process.deliver([*REAL[:2], REAL[5]])
    for index in (1, 5):
        refused = process.refusal([REAL[2], altered(index, sequence=9)])
        assert isinstance(refused, EventConflict)
        assert refused.message == "The Event at 9 was delivered at another place; nothing was applied."


def test_two_events_of_one_call_that_do_not_agree(process: Process) -> None:
    process.deliver(REAL[:2])
    for second, what in (
        (altered(2, correlationId="other"), "says something else than before"),
        (altered(2, eventId="urn:other"), "says something else than before"),
    ):
        refused = process.refusal([REAL[2], second])
        assert isinstance(refused, EventConflict)
        assert refused.message == f"The Event at 3 {what}; nothing was applied."
    assert isinstance(process.refusal([REAL[2], altered(2, sequence=8)]), EventConflict)


def test_an_event_where_nothing_could_be_seen(process: Process) -> None:
    process.deliver(REAL[9:12], log=LogSeen(first=10))
    refused = process.refusal([REAL[2]])
    assert isinstance(refused, EventConflict)
    assert refused.message == "The Event at 3 was not there when its place was passed; nothing was applied."


def test_an_event_whose_payload_cannot_be_read_is_refused_at_once_though_it_is_beyond_a_gap(process: Process) -> None:
    process.deliver(REAL[:2])
    assert isinstance(process.refusal([REAL[2], altered(6, payload={})]), SchemaMismatch)


def test_an_id_that_is_a_task_graphs(process: Process) -> None:
    process.deliver(REAL[:2])
    assert isinstance(process.refusal([], "a-graph"), GraphExists)


def test_too_many_in_one_call(process: Process) -> None:
    process.deliver(REAL[:2])
    assert isinstance(process.refusal(REAL[2:3] * 1_001), InvalidInput)


def test_a_group_holds_no_more_than_it_may(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries, "MOST_HELD", 5)
    process.deliver(REAL[20:25])
    refused = process.refusal([REAL[30]])
    assert isinstance(refused, Backpressure)
    # The same again is refused again, until the gap is filled.
    assert not refused.retryable
    # What fills the gap is taken, also with something new beyond the next one.
    assert process.deliver([*REAL[:20], *REAL[30:35]]) == Delivered(cursor=25, applied=25, duplicates=0, held=5)
    assert process.deliver(REAL[25:30]).cursor == 35


def test_a_refused_delivery_leaves_the_next_one_to_go_on(process: Process) -> None:
    process.deliver(REAL[:2])
    process.refusal([altered(1, correlationId="other")])
    assert process.deliver(REAL).cursor == 36
