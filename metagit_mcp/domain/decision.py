"""What the scheduler answers: a decision with its factors, its reasons and what a dispatcher needs. Knows no rule.

These dataclasses are the wire types too. `score`, `value`, `weight` and `contribution` are the only floats of the
core: renderings of exact micros, never compared.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from metagit_mcp.domain.value import value


@value
class Factor:
    """One term of the score: contribution = weight * value, rounded to six places."""

    name: str
    value: float
    weight: float
    contribution: float


@value
class Handoff:
    """What a launcher passes to the agent: where its compiled context lies and the sentence to start with."""

    prompt: str
    context_pack: str | None = None


@value
class DependencyInput:
    """What a finished dependency left behind for those who build on it."""

    node_id: str
    summary: str
    artifacts: tuple[str, ...]
    evidence: tuple[str, ...]


@value
class AttemptRecord:
    """Who tried the node before, how it ended, and why."""

    agent_id: str
    at: datetime
    outcome: str
    note: str


@value
class ResumePoint:
    """The checkpoint from which the work can go on; its content is with whoever made it."""

    checkpoint_id: str
    at: datetime
    uri: str | None = None
    digest: str | None = None
    note: str | None = None


@value
class DispatchHints:
    """What whoever launches the agent needs to know of the node (interfaces.md §3)."""

    title: str
    graph_id: str
    priority: int
    estimated_tokens: int
    depends_on: tuple[str, ...]
    handoff: Handoff
    project: str | None = None
    repository: str | None = None
    agent_id: str | None = None
    deadline: datetime | None = None
    worktree: str | None = None
    intent: str | None = None
    acceptance: tuple[str, ...] | None = None
    model_tier: str | None = None
    inputs: tuple[DependencyInput, ...] | None = None
    attempts: tuple[AttemptRecord, ...] | None = None
    resume_from: ResumePoint | None = None


@value
class BudgetFigure:
    """One figure of a budget: what the work may use, and what is left of it."""

    name: str
    limit: int
    left: int


@value
class LeaseRecord:
    """A lease as its holder sees it: the id that every report names, and what the slot holds of its Group.

    `preempt_requested`: somebody waits for its slot, and the holder is asked to pause; absent otherwise.
    """

    lease_id: str
    graph_id: str
    node_id: str
    agent_id: str
    ownership_epoch: int
    expires_at: datetime
    mission_id: str
    session_epoch: int
    budget: tuple[BudgetFigure, ...] | None = None
    context_refs: tuple[str, ...] | None = None
    credential_refs: tuple[str, ...] | None = None
    resume_from: str | None = None
    preempt_requested: bool | None = None


@value
class ScheduleDecision:
    """One answer to "what next?": the node, why it, and how to dispatch it. One of these is a line of the log."""

    decision_id: str
    at: datetime
    graph_id: str
    node_id: str
    title: str
    score: float
    reasons: tuple[str, ...]
    repository: str | None = None
    factors: tuple[Factor, ...] | None = None
    dispatch_hints: DispatchHints | None = None
    acl_commands: tuple[str, ...] | None = None
    compile_command: str | None = None
    skipped: bool | None = None
    agent_id: str | None = None
    state_version: str | None = None
    lease: LeaseRecord | None = None


@value
class LoggedDecision:
    """One line of the decision log, as far as another program may have written it."""

    decision_id: str
    at: str
    graph_id: str
    node_id: str
    score: float = field(metadata={"allow_inf_nan": False})
    reasons: tuple[str, ...] = ()
    skipped: bool = False
    title: str | None = None
    agent_id: str | None = None
    state_version: str | None = None
    repository: str | None = None
    factors: tuple[Factor, ...] | None = None


@value
class SchedulerEvent:
    """One line of an event log, in the shape that the task graph tools write."""

    event_id: str
    type: str
    at: datetime
    payload: Mapping[str, object]
    source: str = "scheduler"
