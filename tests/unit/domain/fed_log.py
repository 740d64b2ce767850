"""A Group that is fed by Events in which one agent acts, for tests: what it is asked for, and what its log says then.

It must not know what a test expects.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from metagit_mcp.domain import group_facts as facts
from metagit_mcp.domain.events import (
    SessionOpened,
    WorkAccepted,
    WorkStarted,
)
from metagit_mcp.domain.feed_events import GroupEventsApplied
from metagit_mcp.domain.feeds import Contract, Proposal
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.outbox import action_id
from metagit_mcp.domain.replay import fold
from metagit_mcp.domain.work import ExecutionLease

if TYPE_CHECKING:
    from metagit_mcp.domain.events import Event
    from metagit_mcp.domain.state import LedgerState
    from metagit_mcp.domain.work import WorkItem

G, N = "group:g", "work:n"
ME, OTHER = "agent://acme/me", "agent://acme/other"
AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
LATER = AT + timedelta(hours=1)
TERM = Expiry(at=LATER)
MICROS = int(AT.timestamp()) * 1_000_000
ACCEPTANCE = action_id("work.accept_offer", N, ME, "1", f"{MICROS}")
REFUSAL = action_id("work.decline_offer", N, ME, f"{MICROS}")
ESTIMATE = action_id("schedule.estimate", N, f"{MICROS}")


class Log:
    """A Group's log, and the ledger of a workspace that follows it: Events and acts in the order in which they come."""

    def __init__(self) -> None:
        self.sequence = 0
        self.events: list[Event] = [SessionOpened(at=AT, agent_id=ME, epoch=1)]

    def told(self, shape: Any, **names: Any) -> Log:  # noqa: ANN401 - any fact
        self.sequence += 1
        fact = shape(sequence=self.sequence, at=AT, **names)
        self.events.append(GroupEventsApplied(at=AT, group_id=G, cursor=self.sequence, facts=(fact,)))
        return self

    def did(self, *acts: Event) -> Log:
        self.events.extend(acts)
        return self

    @property
    def state(self) -> LedgerState:
        return fold(self.events)

    @property
    def item(self) -> WorkItem:
        return self.state.items[G][N]

    @property
    def outbox(self) -> list[Proposal]:
        return [*self.state.feeds[G].outbox.values()]

    @property
    def asked(self) -> list[str]:
        return [each.command for each in self.outbox]


def offered(*candidates: str) -> Log:
    log = Log().told(facts.MembershipChanged, agent_id=ME, status="provisional", epoch=4, roles=("worker",))
    log.told(facts.WorkAuthorized, node=Contract(node_id=N), mission_id="m")
    return log.told(facts.WorkOffered, node_id=N, candidates=candidates or (ME, OTHER), until=LATER)


def accepted_by(log: Log, agent_id: str, epoch: int = 1) -> Log:
    return log.told(facts.OfferAccepted, node_id=N, agent_id=agent_id, ownership_epoch=epoch, until=LATER)


def begun(log: Log, epoch: int = 1) -> Log:
    names = {"lease_id": "lease:x", "agent_id": ME, "session_epoch": 1, "ownership_epoch": epoch, "until": LATER}
    return log.told(facts.WorkBegun, node_id=N, **names)


def owned() -> Log:
    return accepted_by(offered(), ME)


def accept(epoch: int = 1) -> WorkAccepted:
    names: dict[str, Any] = {"agent_id": ME, "session_epoch": 1, "ownership_epoch": epoch, "start_by": TERM}
    return WorkAccepted(at=AT, graph_id=G, node_id=N, **names)


def start(lease_id: str = "L1", epoch: int = 1) -> WorkStarted:
    lease = ExecutionLease(
        lease_id=lease_id,
        graph_id=G,
        node_id=N,
        agent_id=ME,
        session_epoch=1,
        ownership_epoch=epoch,
        granted_at=AT,
        expiry=TERM,
        term_seconds=3600,
    )
    return WorkStarted(at=AT, lease=lease)


def running() -> Log:
    """Work that an agent does here under L1, as the Group knows."""
    return begun(owned().did(start()))


def proposal(command: Any, action_id: str, *, membership: int = 5, epoch: int = 1, **payload: Any) -> Proposal:  # noqa: ANN401 - any command, any JSON
    return Proposal(
        action_id=action_id,
        command=command,
        at=AT,
        node_id=N,
        agent_id=ME,
        ownership_epoch=epoch,
        session_epoch=1,
        membership_epoch=membership,
        payload=payload,
    )
