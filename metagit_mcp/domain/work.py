"""The nouns of work under way: ownership, leases, checkpoints, results, budgets. Knows no rule of who may have them.

These dataclasses are the wire types of the ledger too (work.md).
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Annotated, Final, Literal

from metagit_mcp.domain.bounds import Interval
from metagit_mcp.domain.feeds import FedItem
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.policy import PriorityClass
from metagit_mcp.domain.value import value

WorkState = Literal["open", "queued", "active", "blocked", "submitted", "parked", "completed", "cancelled"]
FINISHED_STATES: Final = ("completed", "cancelled")
# Graph id and node id.
NodeKey = tuple[str, str]
Amount = Annotated[int, Interval(ge=0, le=1_000_000_000)]


@value
class Usage:
    """What work has used so far under one lease, or all of a node's leases: whole numbers that never fall."""

    tokens: Amount = 0
    tool_calls: Amount = 0
    seconds: Amount = 0
    cost_micros: Amount = 0


USAGE_NAMES: Final = ("tokens", "tool_calls", "seconds", "cost_micros")


@value
class Checkpoint:
    """A point from which work can go on; its content stays with the agent."""

    checkpoint_id: str
    at: datetime
    lease_id: str
    uri: str | None = None
    digest: str | None = None
    note: str | None = None


@value
class Result:
    """What finished work left behind, for those who build on it."""

    summary: str = ""
    artifacts: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


@value
class Attempt:
    """Who tried before, how it ended, and why."""

    agent_id: str
    at: datetime
    outcome: Literal["failed", "rejected", "expired", "released", "revoked"]
    note: str = ""


@value
class Evidence:
    """What a fenced owner reported too late: kept, and without effect."""

    lease_id: str
    agent_id: str
    at: datetime
    state: str
    note: str = ""
    result: Result | None = None


@value
class Holding:
    """What a lease holds as long as it lasts, besides its node.

    `cost` is the charge in units (scheduling.md §1); `repository` is its canonical key, in which `touches` are globs.
    """

    slots: int = 1
    cost: int = 1
    repository: str = ""
    uses: Mapping[str, int] = field(default_factory=dict)
    exclusive: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()


@value
class Share:
    """To which class a start was charged, and the weights of class and Group then (scheduling.md §3 rule 6)."""

    priority_class: PriorityClass
    class_weight: int
    group_weight: int


@value
class ExecutionLease:
    """The right to work on one node: bound to agent, session, node, ownership and time (work.md §1, Fencing).

    `attended` leases are renewed by the server through whose connection they were granted; `review`: a person accepts
    the result, whatever becomes of the policy meanwhile. `share` is None where nothing was charged.
    """

    lease_id: str
    graph_id: str
    node_id: str
    agent_id: str
    session_epoch: int
    ownership_epoch: int
    granted_at: datetime
    expiry: Expiry
    term_seconds: int
    renewal_count: int = 0
    last_renewed_at: datetime | None = None
    attended: bool = False
    review: bool = False
    holding: Holding = field(default_factory=Holding)
    budget: Mapping[str, int] | None = None
    usage: Usage = field(default_factory=Usage)
    resumed_from: str | None = None
    share: Share | None = None
    preemptible: bool = True

    @property
    def key(self) -> NodeKey:
        """The node that the lease is for."""
        return self.graph_id, self.node_id


Closure = Literal[
    "completed", "submitted", "failed", "released", "paused", "blocked", "expired", "session", "revoked", "finished"
]


@value
class ClosedLease:
    """A lease that ended: who held it, when and how it ended."""

    lease_id: str
    graph_id: str
    node_id: str
    agent_id: str
    ownership_epoch: int
    closed_at: datetime
    closure: Closure


@value
class WorkItem:
    """One node as the ledger knows it; a node that it does not know is as its file says.

    `changed_at` is later at every change, and later than the row of the file that the change saw: it is the
    `updated_at` of what is written back. `until` ends the ownership of queued and of blocked work. `spent` is what all
    leases of this incarnation used; `preemptions` is how often it paused because it was asked to. `fed` is what the
    log of its Group says, where that is the authority.
    """

    graph_id: str
    node_id: str
    state: WorkState
    changed_at: datetime
    ownership_epoch: int = 0
    owner: str | None = None
    owner_session: int = 0
    until: Expiry | None = None
    lease_id: str | None = None
    note: str = ""
    failures: int = 0
    retry_at: datetime | None = None
    attempts: tuple[Attempt, ...] = ()
    released_by: tuple[str, ...] = ()
    checkpoint: Checkpoint | None = None
    result: Result | None = None
    spent: Usage = field(default_factory=Usage)
    evidence: tuple[Evidence, ...] = ()
    preemptions: int = 0
    fed: FedItem | None = None

    @property
    def key(self) -> NodeKey:
        """The node."""
        return self.graph_id, self.node_id


@value
class Session:
    """One life of an agent id. `holder` is the server that alone may claim under this id until `held_until`."""

    agent_id: str
    epoch: int
    opened_at: datetime
    capabilities: tuple[str, ...] | None = None
    holder: str | None = None
    held_until: Expiry | None = None


PauseScope = Literal["workspace", "group", "agent", "resource"]


@value
class Pause:
    """Nothing new starts in this scope until somebody resumes it or the time has come; running work goes on."""

    scope: PauseScope
    name: str
    by: str
    at: datetime
    reason: str = ""
    until: datetime | None = None


@value
class ResourceClosure:
    """A resource that turned an agent away: closed for all until then."""

    resource: str
    until: datetime
    by: str
    at: datetime


@value
class Answered:
    """A command that was carried out, by its action id: what it was, and the reply it got."""

    action_id: str
    digest: str
    at: datetime
    reply: str


def owner_of(item: WorkItem) -> str | None:
    """Return who owns queued work, as is known here or as the log of its Group says."""
    if item.state == "open" and item.fed is not None and item.fed.state == "queued":
        return item.fed.owner
    return item.owner if item.state == "queued" else None


def added(one: Usage, other: Usage) -> Usage:
    """Return two usages together; nothing grows past what a number in a file may be."""
    most = 1_000_000_000
    return Usage(**{name: min(most, getattr(one, name) + getattr(other, name)) for name in USAGE_NAMES})


def falls(before: Usage, after: Usage) -> str | None:
    """Return the first figure that is lower than before, or None: usage is cumulative under a lease."""
    return next((name for name in USAGE_NAMES if getattr(after, name) < getattr(before, name)), None)


def budget_left(budget: Mapping[str, int] | None, spent: Usage) -> dict[str, int]:
    """Return what is left of each budgeted figure, at least 0, by name; nothing is budgeted without a number."""
    limits = budget or {}
    return {name: max(0, limits[name] - getattr(spent, name)) for name in USAGE_NAMES if name in limits}


def over_budget(budget: Mapping[str, int] | None, spent: Usage) -> str | None:
    """Return the first budgeted figure that is exceeded, or None."""
    limits = budget or {}
    return next((name for name in USAGE_NAMES if name in limits and getattr(spent, name) > limits[name]), None)


def is_exhausted(budget: Mapping[str, int] | None, spent: Usage) -> bool:
    """Say whether nothing is left of some budgeted figure, so that the work may not go on."""
    # A plain loop: it is asked of each node, and a generator takes twice as long.
    for name, most in budget.items() if budget else ():
        if name in USAGE_NAMES and getattr(spent, name) >= most:
            return True
    return False
