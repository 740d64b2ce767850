"""Inbox, Cursor and replay of Groups fed by Events: the requirements A and K of docs/reference/conformance.md."""

from pathlib import Path

import pytest

from metagit_mcp.adapters.memory import MemoryEventStore, MemoryLedger
from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.application.groups import deliveries
from metagit_mcp.application.groups.deliveries import Delivered, LogSeen
from metagit_mcp.errors import Backpressure, CursorTooOld, EventConflict, SchemaMismatch
from metagit_mcp.wire.group_events import read_group_event
from tests.groups.delivering import G, Process, outcome
from tests.groups.real_events import LINES

REAL = [read_group_event(line) for line in LINES]
# The same log as another Group's.
OTHER = [read_group_event(line.replace(b"group:cli", b"group:two")) for line in LINES]


def process() -> Process:
    return Process(MemoryEventStore(MemoryLedger()))


def whole() -> Process:
    made = process()
    made.deliver(REAL)
    return made


def test_a_lost_ledger_is_made_again_from_the_groups_log() -> None:
    """Claims A1, A4."""
    ledger = MemoryLedger()
    before = Process(MemoryEventStore(ledger))
    before.deliver(REAL)
    kept = outcome(before.state)
    ledger.lose()
    again = Process(MemoryEventStore(ledger))
    again.deliver(REAL)
    assert outcome(again.state) == kept


def test_what_was_taken_in_lies_in_the_sqlite_file_of_the_workspace(tmp_path: Path) -> None:
    """Claims A2."""
    (tmp_path / ".metagit" / "schedule").mkdir(parents=True)
    Process(SqliteEventStore(str(tmp_path))).deliver(REAL[:9])
    assert Process(SqliteEventStore(str(tmp_path))).state.feeds[G].cursor == 9
    assert (tmp_path / ".metagit/schedule/ledger.db").read_bytes().startswith(b"SQLite format 3")


def test_each_group_has_its_own_inbox_and_cursor_and_none_waits_for_another() -> None:
    """Claims A3, A6, A8."""
    made = process()
    # One Group stands at a gap, and the other goes on.
    assert made.deliver(REAL[5:]) == Delivered(cursor=0, applied=0, duplicates=0, held=31)
    assert made.deliver(OTHER, "group:two") == Delivered(cursor=36, applied=36, duplicates=0, held=0)
    assert {name: feed.cursor for name, feed in made.state.feeds.items()} == {G: 0, "group:two": 36}
    assert made.deliver(REAL[:5]).cursor == 36


def test_a_late_joiner_begins_where_it_may_see() -> None:
    """Claims A9."""
    made = process()
    made.deliver(REAL[9:], log=LogSeen(first=10))
    assert (made.state.feeds[G].first, made.state.feeds[G].cursor) == (10, 36)


def test_whose_event_it_is_comes_before_its_place() -> None:
    """Claims A10."""
    made = whole()
    # At a place that is passed, and one that is to come.
    for event in (OTHER[3], read_group_event(REAL[3].record | {"groupId": "group:two", "sequence": 40})):
        refused = made.refusal([event])
        assert isinstance(refused, EventConflict)
        assert "is of another Group" in refused.message


def test_each_event_happens_once() -> None:
    """Claims K1."""
    made = whole()
    mark = made.store.mark()
    assert made.deliver([*REAL, *REAL]) == Delivered(cursor=36, applied=0, duplicates=72, held=0)
    assert made.store.mark() == mark


def test_a_group_is_taken_in_by_sequence_however_it_comes_and_no_gap_is_passed() -> None:
    """Claims K2, K3, K4, K5."""
    made = process()
    seen = [made.deliver([REAL[at]]).cursor for at in (2, 0, 4, 3, 1, 6)]
    assert seen == [0, 1, 1, 1, 5, 5]
    made.deliver(REAL[5:])
    assert outcome(made.state) == outcome(whole().state)


def test_a_log_that_begins_after_the_cursor_is_not_gone_on_with() -> None:
    """Claims K7."""
    made = process()
    made.deliver(REAL[:4])
    assert isinstance(made.refusal(REAL[9:], log=LogSeen(first=10)), CursorTooOld)


def test_inbox_queue_and_cursor_change_together_or_not_at_all() -> None:
    """Claims K8."""
    made = process()
    made.deliver(REAL[:4])
    made.refusal([*REAL[4:9], read_group_event(REAL[2].record | {"correlationId": "x"})])
    assert made.deliver(REAL[4:9]) == Delivered(cursor=9, applied=5, duplicates=0, held=0)


def test_what_is_held_is_bounded_for_that_group_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims K11."""
    monkeypatch.setattr(deliveries, "MOST_HELD", 3)
    made = process()
    made.deliver(REAL[10:13])
    assert isinstance(made.refusal([REAL[20]]), Backpressure)
    assert made.deliver(OTHER[1:4], "group:two").held == 3


def test_an_event_that_needs_an_unknown_critical_extension_is_refused() -> None:
    """Claims K12."""
    with pytest.raises(SchemaMismatch, match="urn:other"):
        read_group_event(REAL[0].record | {"extensions": {"urn:other": {"critical": True, "data": {}}}})
    assert read_group_event(REAL[0].record | {"extensions": {"urn:other": {"critical": False}}}).sequence == 1
