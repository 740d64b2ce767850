"""The fold starts from a snapshot only where it is one of this ledger, and leaves no event out where it is not."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from metagit_mcp.adapters.memory import MemoryEventStore, MemoryLedger
from metagit_mcp.adapters.system import SeededIds
from metagit_mcp.application.turns.ledger import Ledger
from metagit_mcp.domain.events import LeaseExpired, SchedulingPaused
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.errors import StoreCorrupt
from metagit_mcp.ports.ledger import LedgerMark, StoredSnapshot
from metagit_mcp.wire.ledger_codec import STATE_VERSION, event_record, state_record

AT = datetime(2026, 12, 1, 12, tzinfo=UTC)
NAMES = ["a1", "a2", "a3"]


def of(memory: MemoryLedger) -> Ledger:
    return Ledger(MemoryEventStore(memory), SeededIds("ledger"))


def paused(name: str) -> SchedulingPaused:
    return SchedulingPaused(at=AT, scope="agent", name=name, by="ada")


@pytest.fixture
def memory() -> MemoryLedger:
    """A ledger of three events, in each of which another agent is paused."""
    memory = MemoryLedger()
    with of(memory).writing() as turn:
        turn.happen(map(paused, NAMES))
    return memory


def names(state: LedgerState) -> list[str]:
    return sorted(pause.name for pause in state.pauses.values())


FOREIGN: list[tuple[str | None, int, int]] = [("another", 2, STATE_VERSION), (None, 4, STATE_VERSION), (None, 2, 99)]


@pytest.mark.parametrize(("workspace_id", "position", "version"), FOREIGN)
@pytest.mark.parametrize("is_writer", [False, True])
def test_a_snapshot_that_is_of_no_use_is_passed_over(
    memory: MemoryLedger, workspace_id: str | None, position: int, version: int, *, is_writer: bool
) -> None:
    other = LedgerState()
    named = memory.workspace_id if workspace_id is None else workspace_id
    memory.snapshot = StoredSnapshot(workspace_id=named, position=position, version=version, body=state_record(other))
    ledger = of(memory)
    if is_writer:
        with ledger.writing() as turn:
            turn.happen([paused("a4")])
    else:
        ledger.follow()
    expected = [*NAMES, "a4"] if is_writer else NAMES
    mark = LedgerMark(workspace_id=memory.workspace_id, position=len(expected))
    assert (names(ledger.state), ledger.mark, ledger.is_behind()) == (expected, mark, False)


@pytest.mark.parametrize("is_writer", [False, True])
def test_a_snapshot_of_this_ledger_stands_for_its_events(memory: MemoryLedger, *, is_writer: bool) -> None:
    first = of(memory)
    first.follow()
    pauses = first.state.pauses
    other = replace(first.state, pauses={"agent:a9": replace(pauses["agent:a1"], name="a9")})
    memory.snapshot = StoredSnapshot(
        workspace_id=memory.workspace_id, position=2, version=STATE_VERSION, body=state_record(other)
    )
    ledger = of(memory)
    if is_writer:
        with ledger.writing():
            pass
    else:
        ledger.follow()
    assert names(ledger.state) == ["a3", "a9"]


def test_a_snapshot_names_its_ledger(memory: MemoryLedger) -> None:
    ledger = of(memory)
    for number in itertools.count():
        with ledger.writing() as turn:
            turn.happen(paused(f"b{number % 5}") for _ in range(100))
        if memory.snapshot is not None:
            break
    assert memory.snapshot is not None
    assert (memory.snapshot.workspace_id, memory.snapshot.position) == (memory.workspace_id, ledger.mark.position)


def test_an_event_about_what_never_was_damages_the_ledger(memory: MemoryLedger) -> None:
    with MemoryEventStore(memory).writing(LedgerMark(), str) as writer:
        writer.append([event_record(LeaseExpired(at=AT, lease_id="L-none"))])
    ledger = of(memory)
    with pytest.raises(StoreCorrupt) as caught:
        ledger.follow()
    assert caught.value.message == "An event lease_expired of the ledger speaks of L-none, which is not there."
    assert (ledger.state, ledger.mark) == (LedgerState(), LedgerMark())
