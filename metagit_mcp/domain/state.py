"""The state of all work: who owns and works on what, as of the last event of the ledger. Knows no event.

`evolve.py` is the only one to change it.
"""

from dataclasses import field, replace
from datetime import datetime

from metagit_mcp.domain.access import AccessToken
from metagit_mcp.domain.approval import Approval
from metagit_mcp.domain.feeds import Feed
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.shares import Shares
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import (
    Answered,
    ClosedLease,
    ExecutionLease,
    NodeKey,
    Pause,
    ResourceClosure,
    Session,
    WorkItem,
)


@value
class LedgerState:
    """Who owns and works on what, as of the last event. The dictionaries are changed by `evolve` alone.

    `leases` are the live ones; `closed` and `answered` are in the order in which they happened; `pauses` by scope and
    name, `closures` by resource. `terms` are the ends of ownership of work that is queued or blocked, `last_at` is the
    latest instant of any event; `feeds` are the Groups fed by Events, `tokens` the keys of callers over
    the network, the revoked ones among them.
    """

    items: dict[str, dict[str, WorkItem]] = field(default_factory=dict)
    leases: dict[str, ExecutionLease] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    closed: dict[str, ClosedLease] = field(default_factory=dict)
    answered: dict[str, Answered] = field(default_factory=dict)
    closures: dict[str, ResourceClosure] = field(default_factory=dict)
    pauses: dict[str, Pause] = field(default_factory=dict)
    approvals: dict[str, tuple[Approval, ...]] = field(default_factory=dict)
    terms: dict[NodeKey, Expiry] = field(default_factory=dict)
    last: list[datetime] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    shares: Shares = field(default_factory=Shares)
    feeds: dict[str, Feed] = field(default_factory=dict)
    tokens: dict[str, AccessToken] = field(default_factory=dict)

    @property
    def last_at(self) -> datetime | None:
        """The latest instant of any event."""
        return self.last[0] if self.last else None

    @property
    def version(self) -> int:
        """How many events changed what can be started: renewals, usage and replies do not."""
        return self.changes[0] if self.changes else 0

    def item(self, key: NodeKey) -> WorkItem | None:
        """Return what is known of a node, or None."""
        return self.items.get(key[0], {}).get(key[1])

    def lease_on(self, key: NodeKey, agent_id: str) -> ExecutionLease | None:
        """Return the live lease that the agent has on a node, or None."""
        item = self.item(key)
        lease = None if item is None or item.lease_id is None else self.leases[item.lease_id]
        return lease if lease is not None and lease.agent_id == agent_id else None

    def pauses_at(self, now: datetime) -> list[Pause]:
        """Return the pauses in force at an instant."""
        return [pause for pause in self.pauses.values() if pause.until is None or pause.until > now]

    def branch(self) -> "LedgerState":
        """Return a copy that may go its own way; the items themselves are shared and never change."""
        return LedgerState(
            items={graph_id: dict(items) for graph_id, items in self.items.items()},
            leases=dict(self.leases),
            sessions=dict(self.sessions),
            closed=dict(self.closed),
            answered=dict(self.answered),
            closures=dict(self.closures),
            pauses=dict(self.pauses),
            approvals=dict(self.approvals),
            terms=dict(self.terms),
            last=list(self.last),
            changes=list(self.changes),
            shares=self.shares.branch(),
            # Contracts and members change with Events alone, which happen on no branch.
            feeds={name: replace(feed, outbox=dict(feed.outbox)) for name, feed in self.feeds.items()},
            tokens=dict(self.tokens),
        )


def pause_key(scope: str, name: str) -> str:
    """Return the key of a pause in `LedgerState.pauses`."""
    return f"{scope}:{name}"
