"""The task graph as it stands on disk (RFC-0008 shape plus our optional fields). Knows no file and no policy.

These dataclasses are the wire types too: bounds are those of `bounds.py` or plain field metadata that pydantic reads.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Annotated, Final, Literal

from metagit_mcp.domain.bounds import Interval, MinLen
from metagit_mcp.domain.text import ID_PATTERN
from metagit_mcp.domain.value import value

Urgency = Literal["routine", "normal", "high", "critical"]
Risk = Literal["none", "reversible", "external", "high_risk", "destructive"]
Approval = Literal["not_required", "policy_required", "human_required"]
ModelTier = Literal["small", "standard", "large"]
Tokens = Annotated[int, Interval(le=1_000_000_000)]
Name = Annotated[str, MinLen(1)]

OPEN_STATUSES: Final = ("pending", "ready")
STATUSES: Final = (*OPEN_STATUSES, "blocked", "running", "completed", "cancelled")
GRAPH_STATUSES: Final = ("active", "completed", "cancelled")
FINISHED_STATUSES: Final = ("completed", "cancelled")
DEFAULT_TOKENS: Final = 1000

# Fields that only this project knows: another writer drops them, so `kept.json` remembers them (interfaces.md §1).
OWN_NODE_FIELDS: Final = (
    "estimated_runtime_seconds",
    "deadline",
    "not_before",
    "requested_urgency",
    "business_impact",
    "risk",
    "approval",
    "capabilities",
    "slots",
    "preemptible",
    "uses",
    "exclusive",
    "touches",
    "budget",
    "acceptance",
    "model_tier",
    "discovered_from",
    "parent_id",
)


@value
class Acl:
    """What the coordination tools bound to a node; only its commands are used."""

    acl_commands: tuple[str, ...] = ()


@value
class TaskNode:
    """One unit of work. Times are aware instants; tokens, seconds and slots are whole numbers."""

    node_id: str = field(metadata={"pattern": ID_PATTERN, "min_length": 1, "max_length": 255})
    title: str = ""
    depends_on: tuple[str, ...] = ()
    status: str = "pending"
    blocker_reason: str | None = None
    intent_id: str | None = None
    project: str | None = None
    repository: str | None = None
    agent_id: str | None = None
    acl: Acl | None = None
    context_budget: Tokens | None = None
    compiled_context_path: str | None = None
    priority: Annotated[int, Interval(ge=-1_000_000, le=1_000_000)] = 0
    estimated_tokens: Tokens | None = None
    updated_at: str = ""
    estimated_runtime_seconds: Annotated[int, Interval(ge=0, le=1_000_000_000)] | None = None
    deadline: datetime | None = None
    not_before: datetime | None = None
    requested_urgency: Urgency | None = None
    business_impact: str | None = None
    risk: Risk | None = None
    approval: Approval | None = None
    capabilities: tuple[Name, ...] | None = None
    slots: Annotated[int, Interval(ge=1, le=1_000_000)] | None = None
    preemptible: bool | None = None
    uses: Mapping[str, int] | None = None
    exclusive: tuple[str, ...] | None = None
    touches: tuple[str, ...] | None = None
    budget: Mapping[str, int] | None = None
    acceptance: tuple[str, ...] | None = None
    model_tier: ModelTier | None = None
    discovered_from: str | None = None
    parent_id: str | None = None


@value
class Intent:
    """What a graph is for."""

    goal: str = ""


@value
class TaskGraph:
    """One Group: a titled set of nodes with dependencies inside the graph. Its file name is its id, not `graph_id`."""

    graph_id: str | None = None
    title: str = ""
    status: str = "active"
    intent: Intent | None = None
    nodes: tuple[TaskNode, ...] = ()
    updated_at: str = ""


@value
class LoadedGraph:
    """A graph as read from its file. The file name decides `graph_id`.

    `graph` is None when the file as a whole cannot be used; `defects` names what is wrong with single nodes
    (node_id → field and rule), which are then never offered; `left_out` are those of the `warnings` that tell of rows
    which are no nodes at all, so that nobody is given them or counts them; `digest` changes when the content does.
    `is_fed`: no file has it, but the log of a Group (fed_graph.py). Not `has_own`: no node says anything in
    OWN_NODE_FIELDS.
    """

    graph_id: str
    graph: TaskGraph | None
    digest: str = ""
    defects: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    is_fed: bool = False
    has_own: bool = field(default=True, compare=False, repr=False)

    @property
    def is_whole(self) -> bool:
        """Whether all in the file that may yet be due is told of as nodes."""
        return self.graph is not None and (not self.left_out or self.graph.status in FINISHED_STATUSES)


def effective_tokens(node: TaskNode) -> int:
    """Return the estimate that counts, in tokens (scheduling.md §1): estimate, else context budget, else 1000."""
    if node.estimated_tokens is not None and node.estimated_tokens >= 0:
        return node.estimated_tokens
    if node.context_budget is not None and node.context_budget >= 0:
        return node.context_budget
    return DEFAULT_TOKENS


def effective_slots(node: TaskNode) -> int:
    """Return how many execution slots the node takes; 1 unless it says more."""
    return 1 if node.slots is None else node.slots


def is_parked(node: TaskNode) -> bool:
    """Say whether the node failed for good: blocked with a reason that starts with `failed:` (work.md §1)."""
    return node.status == "blocked" and failure_of(node.blocker_reason or "") is not None


def failure_of(reason: str) -> str | None:
    """Return what a blocker reason says of a failure, or None: it speaks of something else."""
    said = reason.lstrip()
    return said.removeprefix("failed:").lstrip() if said.startswith("failed:") else None
