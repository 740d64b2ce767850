"""What each tool and command answers. Absent means none; maps are lists of records. Knows no use case."""

from datetime import datetime
from typing import Any

from metagit_mcp.domain.decision import (
    BudgetFigure,
    DispatchHints,
    Factor,
    LeaseRecord,
    LoggedDecision,
    ScheduleDecision,
)
from metagit_mcp.domain.value import value


@value
class ReasonCount:
    """How many nodes are not eligible with this first reason."""

    reason: str
    nodes: int


@value
class Omitted:
    """What was cut because the answer grew too large, and how to get it."""

    what: str
    count: int
    how: str


@value
class NextAnswer:
    """The answer to metagit_schedule_next."""

    decisions: tuple[ScheduleDecision, ...]
    skipped: tuple[ScheduleDecision, ...]
    ready_count: int
    runnable_count: int
    not_eligible: tuple[ReasonCount, ...]
    all_finished: bool
    truncated: bool
    omitted: tuple[Omitted, ...]
    state_version: str
    warnings: tuple[str, ...]
    next_step: str
    held: tuple[LeaseRecord, ...] = ()


@value
class OwnershipRecord:
    """Work that an agent owns and has not started."""

    graph_id: str
    node_id: str
    agent_id: str
    ownership_epoch: int
    start_by: datetime


@value
class WorkStartAnswer:
    """The answer to metagit_work_start: a lease, or the ownership with queue_only."""

    warnings: tuple[str, ...]
    next_step: str
    lease: LeaseRecord | None = None
    ownership: OwnershipRecord | None = None
    dispatch_hints: DispatchHints | None = None


@value
class WorkReportAnswer:
    """The answer to metagit_work_report: the lease if it goes on, and what the node is now."""

    graph_id: str
    node_id: str
    node_status: str
    released_slot: bool
    warnings: tuple[str, ...]
    next_step: str
    lease: LeaseRecord | None = None
    budget_left: tuple[BudgetFigure, ...] | None = None
    retry_at: datetime | None = None


@value
class WorkStandingAnswer:
    """The answer to what a person does with one node: review, force-release, retry."""

    graph_id: str
    node_id: str
    node_status: str
    by: str
    warnings: tuple[str, ...]
    next_step: str


@value
class PauseRecord:
    """A scope in which nothing new starts."""

    scope: str
    name: str
    by: str
    at: datetime
    note: str | None = None
    until: datetime | None = None


@value
class PauseAnswer:
    """The answer to `pause` and `resume`: what is paused now."""

    pauses: tuple[PauseRecord, ...]
    changed: bool
    warnings: tuple[str, ...]
    next_step: str


@value
class WorkspacePlace:
    """Which workspace this is, and why it was chosen."""

    path: str
    chosen_by: str


@value
class StatusCounts:
    """Nodes by what they are now; the parts add up to `nodes`."""

    graphs: int
    nodes: int
    eligible: int
    waiting: int
    blocked: int
    deferred: int
    awaiting_approval: int
    running: int
    awaiting_review: int
    finished: int
    inactive: int
    invalid: int


@value
class GroupStatus:
    """One Group: its nodes in numbers."""

    graph_id: str
    title: str
    state: str
    nodes: int
    ready: int
    runnable: int
    running: int
    finished: int
    quota: int | None = None


@value
class RunningNode:
    """A node that runs: under a lease (until then), or as the files say, since its last change."""

    graph_id: str
    node_id: str
    title: str
    repository: str | None = None
    agent_id: str | None = None
    since: str | None = None
    leased_until: datetime | None = None


@value
class PersonNeeded:
    """What only a person can set going: a node, or a graph file that cannot be used; the command or file for it."""

    graph_id: str
    reason: str
    node_id: str | None = None
    title: str | None = None
    command: str | None = None
    file: str | None = None
    note: str | None = None


@value
class WaitingNode:
    """A node that starts without a person once its first reason ends."""

    graph_id: str
    node_id: str
    title: str
    reason: str


@value
class MergePressure:
    """Queued and running merges of one repository."""

    repository: str
    depth: int
    threshold: int
    pressured: bool


@value
class ReasonAgainst:
    """One reason why a node may not be started now."""

    reason: str
    text: str
    note: str | None = None


@value
class NodeExplanation:
    """Why this node may, or may not, be started now."""

    graph_id: str
    node_id: str
    title: str
    status: str
    runnable: bool
    reasons: tuple[ReasonAgainst, ...]
    score: float
    score_reasons: tuple[str, ...]
    place: int | None = None
    factors: tuple[Factor, ...] | None = None


@value
class StatusAnswer:
    """The answer to metagit_schedule_status."""

    workspace: WorkspacePlace
    policy: dict[str, Any]
    revision: str
    ready_count: int
    runnable_count: int
    counts: StatusCounts
    not_eligible: tuple[ReasonCount, ...]
    groups: tuple[GroupStatus, ...]
    groups_total: int
    running: tuple[RunningNode, ...]
    needs_person: tuple[PersonNeeded, ...]
    needs_person_total: int
    waiting: tuple[WaitingNode, ...]
    waiting_total: int
    recent_decisions: tuple[LoggedDecision, ...]
    merge_pressure: tuple[MergePressure, ...]
    state_version: str
    truncated: bool
    omitted: tuple[Omitted, ...]
    warnings: tuple[str, ...]
    next_step: str
    pauses: tuple[PauseRecord, ...] = ()
    explain: NodeExplanation | None = None


@value
class Placed:
    """One node in an order, with its score."""

    graph_id: str
    node_id: str
    score: float


@value
class PolicyEffect:
    """The first places of the order before and after a change."""

    before: tuple[Placed, ...]
    after: tuple[Placed, ...]


@value
class PolicyAnswer:
    """The answer to metagit_schedule_policy."""

    policy: dict[str, Any]
    revision: str
    changed: bool
    warnings: tuple[str, ...]
    next_step: str
    effect: PolicyEffect | None = None
    truncated: bool = False
    omitted: tuple[Omitted, ...] = ()


@value
class NodeRecord:
    """One node as its file has it, for people and agents who edit it."""

    graph_id: str
    node_id: str
    title: str
    status: str
    depends_on: tuple[str, ...] = ()
    priority: int = 0
    note: str | None = None
    project: str | None = None
    repository: str | None = None
    agent_id: str | None = None
    estimated_tokens: int | None = None
    estimated_runtime_seconds: int | None = None
    requested_urgency: str | None = None
    deadline: datetime | None = None
    not_before: datetime | None = None
    risk: str | None = None
    approval: str | None = None
    capabilities: tuple[str, ...] | None = None
    slots: int | None = None
    acceptance: tuple[str, ...] | None = None
    model_tier: str | None = None
    parent_id: str | None = None
    discovered_from: str | None = None
    updated_at: str | None = None


@value
class GraphRecord:
    """One graph with the nodes that an answer is about."""

    graph_id: str
    title: str
    goal: str
    status: str
    nodes_total: int
    nodes: tuple[NodeRecord, ...]


@value
class TaskListAnswer:
    """The answer to `task list`: the graphs that can be read, and what is wrong with the others."""

    graphs: tuple[GraphRecord, ...]
    warnings: tuple[str, ...]


@value
class TaskPlanAnswer:
    """The answer to metagit_task_plan: the graph with the nodes that were added."""

    graph: GraphRecord
    created: bool
    added: int
    truncated: bool
    omitted: tuple[Omitted, ...]
    warnings: tuple[str, ...]
    next_step: str


@value
class TaskUpdateAnswer:
    """The answer to metagit_task_update: the node after the change."""

    node: NodeRecord
    changed: bool
    warnings: tuple[str, ...]
    next_step: str
    truncated: bool = False
    omitted: tuple[Omitted, ...] = ()


@value
class ApprovalAnswer:
    """The answer to `work approve`."""

    graph_id: str
    node_id: str
    approved_by: str
    at: datetime
    warnings: tuple[str, ...]
    next_step: str
