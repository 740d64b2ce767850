"""A long history of work, for the ledger that a busy workspace has after months. Measures nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING

from metagit_mcp.domain.events import Event, LeaseRenewed, SessionOpened, WorkReleased, WorkStarted
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.work import ExecutionLease

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
AGENT = "agent"
BATCH = 5_000
RENEWALS = 2


def batches(nodes: int, events: int) -> Iterator[list[Event]]:
    """Lists of events that follow each other: each node is started, renewed and given back, again and again."""
    written, batch = 0, [_opened()]
    for turn in count():
        batch += _turn(turn, nodes)
        if len(batch) >= BATCH or written + len(batch) >= events:
            yield batch
            written, batch = written + len(batch), []
        if written >= events:
            return


def _opened() -> Event:
    return SessionOpened(at=BEGUN, agent_id=AGENT, epoch=1)


def _turn(turn: int, nodes: int) -> list[Event]:
    at = BEGUN + timedelta(seconds=turn)
    lease = ExecutionLease(
        lease_id=f"L-{turn:012}",
        graph_id=f"g{turn % nodes % 100}",
        node_id=f"n{turn % nodes}",
        agent_id=AGENT,
        session_epoch=1,
        ownership_epoch=turn // nodes + 1,
        granted_at=at,
        expiry=_expiry(at),
        term_seconds=900,
    )
    renewed = [
        LeaseRenewed(at=at, lease_id=lease.lease_id, expiry=_expiry(at), term_seconds=900) for _ in range(RENEWALS)
    ]
    return [WorkStarted(at=at, lease=lease), *renewed, WorkReleased(at=at, lease_id=lease.lease_id)]


def _expiry(at: datetime) -> Expiry:
    return Expiry(at=at + timedelta(seconds=900), boot_id="bench", ticks_ms=900_000)
