"""What metagit_schedule_status and the command `schedule status` answer. Absent means none. Knows no use case."""

from dataclasses import field
from datetime import datetime
from typing import Any, Literal

from metagit_mcp.domain.decision import Factor, LoggedDecision
from metagit_mcp.domain.place import WorkspacePlace
from metagit_mcp.domain.policy import PriorityClass
from metagit_mcp.domain.value import value
from metagit_mcp.wire.responses import Omitted, PauseRecord, ReasonCount


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
    not_offered: int
    finished: int
    inactive: int
    invalid: int


@value
class OldestWaiting:
    """The ready node of a Group that waits the longest: since a start of its Group first passed it over."""

    node_id: str
    passed_over: int
    seconds: int


@value
class GroupStatus:
    """One Group: its share of the work and what it received, its nodes in numbers, and when it is next.

    `guaranteed` is a share of all work, 0 to 1, as long as every Group with work asks for more; absent where `ordering`
    is `score`. `received` is its share in the cost of the newest starts, of which `charges` says how many. `running`
    are nodes, `running_slots` what they take of `quota`. `starts_before` are the other starts that come before the
    Group's next one, if no slot were ever missing; absent when nothing of it can start, or from 50 on. `waits_for` are
    the first reasons of its unfinished nodes, where the caller can start none of them.
    """

    __pydantic_config__ = {"serialize_by_alias": True}  # noqa: RUF012 - read by pydantic under this name, not a default

    graph_id: str
    title: str
    state: str
    priority_class: PriorityClass = field(metadata={"alias": "class"})
    weight: int
    received: float | None = None
    nodes: int
    ready: int
    runnable: int
    running: int
    running_slots: int
    finished: int
    guaranteed: float | None = None
    quota: int | None = None
    oldest: OldestWaiting | None = None
    starts_before: int | None = None
    waits_for: tuple[ReasonCount, ...] | None = None


@value
class HeldSlots:
    """Slots that are kept for one node: a wide one, or one for which running work was asked to pause (preemption)."""

    graph_id: str
    node_id: str
    title: str
    purpose: Literal["width", "preemption"]
    slots: int
    since: datetime
    free: int | None = None
    until: datetime | None = None


@value
class RunningNode:
    """A node that runs: under a lease until then, whether a file tells of it or not; or as the files say, since then.

    `preempt_requested`: its agent is asked to pause at a safe point; absent otherwise.
    """

    graph_id: str
    node_id: str
    title: str
    repository: str | None = None
    agent_id: str | None = None
    since: str | None = None
    leased_until: datetime | None = None
    preempt_requested: bool | None = None


@value
class PersonNeeded:
    """What only a person can set going, and the command or the file for it.

    A node; or, without one, a graph file of which not all can be used, or what holds back all there is. `nodes` are how
    many the same limit holds back, of which `node_id` is one.
    """

    reason: str
    graph_id: str | None = None
    node_id: str | None = None
    nodes: int | None = None
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
    charges: int | None = None
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
    held: HeldSlots | None = None
    explain: NodeExplanation | None = None
