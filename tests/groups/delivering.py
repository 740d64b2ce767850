"""A process that takes in the Events of a Group, over any store. It must not know what a delivery leads to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from metagit_mcp.adapters.system import SeededIds
from metagit_mcp.application.groups.deliveries import Delivered, LogSeen, deliver
from metagit_mcp.application.turns.ledger import Ledger
from metagit_mcp.domain.instant import Instant
from metagit_mcp.errors import MetagitError
from metagit_mcp.wire.group_events import read_group_event
from tests.groups.oracle import instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metagit_mcp.application.turns.ledger_turn import LedgerTurn
    from metagit_mcp.application.turns.turn import Turn
    from metagit_mcp.domain.state import LedgerState
    from metagit_mcp.ports.ledger import EventStore
    from metagit_mcp.wire.group_events import GroupEvent

Json = dict[str, Any]
G = "group:cli"
NOW = Instant(wall=instant("2026-11-30T12:00:00+00:00"))


class _Turn:
    """A turn as a delivery needs it, in a workspace with one task graph."""

    instant = NOW

    def __init__(self, ledger: Ledger, writer: LedgerTurn) -> None:
        self.image = SimpleNamespace(graphs={"a-graph": None})
        self.state, self.inbox, self.happen = ledger.state, writer.inbox, writer.happen


class Process:
    """One process on a workspace."""

    def __init__(self, store: EventStore) -> None:
        self.store = store
        self.ledger = Ledger(store, SeededIds("a"))

    def deliver(self, events: Sequence[GroupEvent], group_id: str = G, log: LogSeen | None = None) -> Delivered:
        with self.ledger.writing() as writer:
            return deliver(cast("Turn", _Turn(self.ledger, writer)), group_id, events, log)

    def refusal(self, events: Sequence[GroupEvent], group_id: str = G, log: LogSeen | None = None) -> MetagitError:
        """Deliver what is refused; nothing is other than before."""
        before, size = self.state, self.store.inbox_size(G)
        with pytest.raises(MetagitError) as refused:
            self.deliver(events, group_id, log)
        assert self.state == before
        assert self.store.inbox_size(G) == size
        return refused.value

    @property
    def state(self) -> LedgerState:
        """What a process that begins now finds."""
        ledger = Ledger(self.store, SeededIds("b"))
        ledger.follow()
        return ledger.state


def outcome(state: LedgerState) -> tuple[object, object]:
    """What deliveries lead to."""
    return state.feeds, state.items


def read(events: Sequence[Json]) -> list[GroupEvent]:
    return [read_group_event(event) for event in events]
