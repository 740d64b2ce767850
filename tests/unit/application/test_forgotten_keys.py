"""Far behind its Cursor a Group keeps no keys: what lies there is known by its place alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters.memory import MemoryEventStore, MemoryLedger
from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.application.groups import deliveries
from metagit_mcp.application.groups.deliveries import Delivered, LogSeen
from metagit_mcp.errors import EventConflict
from metagit_mcp.wire.group_events import read_group_event
from tests.groups.delivering import Process
from tests.groups.real_events import LINES

if TYPE_CHECKING:
    from pathlib import Path

REAL = [read_group_event(line) for line in LINES]
KEPT = 10


@pytest.fixture(params=["memory", "sqlite"])
def process(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Process:
    """A process that keeps the keys of ten places, and forgets at each fifth."""
    monkeypatch.setattr(deliveries, "PLACES_KEPT", KEPT)
    monkeypatch.setattr(deliveries, "_FORGET_EVERY", 5)
    if request.param == "memory":
        return Process(MemoryEventStore(MemoryLedger()))
    (tmp_path / ".metagit" / "schedule").mkdir(parents=True)
    return Process(SqliteEventStore(str(tmp_path)))


def known(process: Process) -> list[int]:
    """The places whose keys are kept."""
    with process.ledger.writing() as writer:
        asked = [deliveries._entry(event) for event in REAL]  # noqa: SLF001 - what the inbox is asked by
        return [entry.sequence for entry in writer.inbox("group:cli").known(asked)]


def test_keys_are_forgotten_now_and_then(process: Process) -> None:
    process.deliver(REAL[:10])
    assert known(process) == list(range(1, 11))
    process.deliver(REAL[10:14])
    assert known(process) == list(range(1, 15))
    process.deliver(REAL[14:16])
    assert known(process) == list(range(7, 17))
    process.deliver(REAL[16:])
    assert known(process) == list(range(27, 37))


def test_what_was_forgotten_counts_as_known(process: Process) -> None:
    for event in REAL:
        process.deliver([event])
    before = process.state
    assert process.deliver(REAL) == Delivered(cursor=36, applied=0, duplicates=36, held=0)
    assert process.state == before


def test_what_is_remembered_is_still_compared(process: Process) -> None:
    process.deliver(REAL)
    other = read_group_event(LINES[30].replace(b'"correlationId": "', b'"correlationId": "x'))
    assert type(process.refusal([other])) is EventConflict
    # The same far back cannot be noticed.
    forgotten = read_group_event(LINES[3].replace(b'"correlationId": "', b'"correlationId": "x'))
    assert process.deliver([forgotten]) == Delivered(cursor=36, applied=0, duplicates=1, held=0)


def test_a_remembered_id_at_a_forgotten_place_is_a_conflict(process: Process) -> None:
    process.deliver(REAL)
    again = LINES[30].replace(b'"sequence": 31', b'"sequence": 3')
    assert type(process.refusal([read_group_event(again)])) is EventConflict


def test_a_place_that_was_passed_shortly_before_is_not_taken_for_known(process: Process) -> None:
    process.deliver(REAL[10:36:2], log=LogSeen(first=11, filtered=True))
    assert type(process.refusal([REAL[31]])) is EventConflict
    assert process.deliver([REAL[21]]).duplicates == 1


def test_a_filter_that_is_declared_later_lets_happen_what_was_held(process: Process) -> None:
    process.deliver([*REAL[:3], *REAL[5:20:3], *REAL[25:27]])
    assert process.store.inbox_size("group:cli").held == 7
    answer = process.deliver(REAL[27:28], log=LogSeen(filtered=True))
    assert answer == Delivered(cursor=28, applied=8, duplicates=0, held=0)
    every = [*REAL[:3], *REAL[5:20:3], *REAL[25:28]]
    assert process.deliver(every) == Delivered(cursor=28, applied=0, duplicates=11, held=0)
    expected = Process(MemoryEventStore(MemoryLedger()))
    expected.deliver(every, log=LogSeen(filtered=True))
    assert process.state.items == expected.state.items
