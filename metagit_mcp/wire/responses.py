"""What each tool and command answers. Absent means none; maps are lists of records. Knows no use case."""

from datetime import datetime
from typing import Any

from metagit_mcp.domain.decision import BudgetFigure, DispatchHints, LeaseRecord, ScheduleDecision
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
    """The answer to metagit_work_report: the lease if it goes on, and what the node is now.

    `preempt_requested`: somebody waits for the slot; the holder checkpoints as soon as it is safe and reports paused.
    """

    graph_id: str
    node_id: str
    node_status: str
    preempt_requested: bool
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
class Placed:
    """One node in an order, with its score."""

    graph_id: str
    node_id: str
    score: float


@value
class ShareChange:
    """What a Group is guaranteed of the work before and after a change, 0 to 1; 0 for one without work."""

    graph_id: str
    before: float
    after: float


@value
class PolicyEffect:
    """The first places of the order before and after a change, and the shares that change most."""

    before: tuple[Placed, ...]
    after: tuple[Placed, ...]
    shares: tuple[ShareChange, ...] = ()
    shares_total: int = 0


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
