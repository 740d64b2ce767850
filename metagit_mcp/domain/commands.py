"""What may be asked of the ledger. Knows no answer; `decide.py` says whether it is allowed and what then happens.

A start carries the verdict of scheduling/eligibility.py, worked out in the same transaction (architecture.md).
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Literal

from metagit_mcp.domain.shares import Dispatch
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import Holding, NodeKey, PauseScope, Result, Usage

ReportState = Literal["running", "checkpointed", "paused", "blocked", "completed", "failed", "released"]


@value
class Against:
    """One reason against a start: its kind, and the text that names the ids and numbers behind it."""

    kind: str
    text: str


@value
class Enter:
    """An agent calls: join its live session, or open the first one; `new_session` opens the next one.

    `holder` names the server that was started for this agent id alone.
    """

    agent_id: str
    new_session: bool = False
    capabilities: tuple[str, ...] | None = None
    holder: str | None = None


@value
class StartWork:
    """An agent wants a node: to work on it now, or (`queue_only`) to own it and start it later."""

    graph_id: str
    node_id: str
    agent_id: str
    against: tuple[Against, ...] = ()
    holding: Holding = field(default_factory=Holding)
    budget: Mapping[str, int] | None = None
    queue_only: bool = False
    lease_seconds: int | None = None
    attended: bool = False
    review: bool = False
    finish_by: datetime | None = None
    runtime_seconds: int = 0
    seen_at: datetime | None = None
    dispatch: Dispatch | None = None
    preemptible: bool = True

    @property
    def key(self) -> NodeKey:
        """The node."""
        return self.graph_id, self.node_id


@value
class CheckpointGiven:
    """A checkpoint as its agent names it."""

    checkpoint_id: str | None = None
    uri: str | None = None
    digest: str | None = None
    note: str | None = None


@value
class RateLimited:
    """A resource turned the agent away until then."""

    resource: str
    until: datetime


@value
class ReportWork:
    """What the holder of a lease says of its work; `connection_ended`: its server says so, the holder is gone."""

    lease_id: str
    state: ReportState
    note: str = ""
    agent_id: str | None = None
    result: Result | None = None
    checkpoint: CheckpointGiven | None = None
    usage: Usage | None = None
    rate_limited: RateLimited | None = None
    connection_ended: bool = False


@value
class ReviewResult:
    """A person judges a submitted result."""

    graph_id: str
    node_id: str
    by: str
    accept: bool
    note: str = ""


@value
class RevokeOwnership:
    """A person takes a node from its owner."""

    graph_id: str
    node_id: str
    by: str
    note: str = ""


@value
class RetryWork:
    """A person lets a parked node be tried again.

    `is_parked_elsewhere`: only its file says so (projection.py), in the row of `seen_at`.
    """

    graph_id: str
    node_id: str
    by: str
    is_parked_elsewhere: bool = False
    seen_at: datetime | None = None


@value
class PauseScheduling:
    """Somebody wants nothing new to start in a scope."""

    scope: PauseScope
    name: str
    by: str
    reason: str = ""
    until: datetime | None = None


@value
class ResumeScheduling:
    """Somebody ends a pause."""

    scope: PauseScope
    name: str
    by: str
