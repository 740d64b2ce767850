"""The frozen inputs of one scheduling cycle. Knows no rule."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from metagit_mcp.domain.approval import Approval
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.domain.value import value


@value
class Worktree:
    """An active worktree: the canonical repository it holds, whose it is, since when, and whether it is on disk."""

    repository: str
    agent_id: str
    path: str
    on_disk: bool
    updated_at: datetime | None = None


@value
class Surroundings:
    """What lies around the task graphs, per canonical repository key.

    `merge_depth`: queued or running merges. `services`: how often the newest decisions of a node that then ran
    were for the repository (scheduling.md §2, under_represented).
    """

    worktrees: tuple[Worktree, ...] = ()
    merge_depth: Mapping[str, int] = field(default_factory=dict)
    services: Mapping[str, int] = field(default_factory=dict)


@value
class Asker:
    """Who asks now: an agent id for affinity (may be empty) and the capabilities it brings."""

    agent_id: str = ""
    capabilities: frozenset[str] = frozenset()


@value
class Snapshot:
    """Everything one cycle looks at. Equal snapshots give equal plans.

    `approvals` are those of the file; the ledger knows of more. `work` is changed in place by whoever folds events:
    a queue over it is told so (`WorkspaceQueue.follow`).
    """

    policy: SchedulePolicy
    graphs: Mapping[str, LoadedGraph]
    surroundings: Surroundings
    approvals: Mapping[str, tuple[Approval, ...]]
    now: datetime
    work: LedgerState = field(default_factory=LedgerState)
