"""What the use cases need of the workspace: one image of its files, and a writer for each kind of them.

Knows no implementation.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from metagit_mcp.domain.approval import Approval
from metagit_mcp.domain.decision import LoggedDecision, ScheduleDecision, SchedulerEvent
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.domain.value import value
from metagit_mcp.errors import MetagitError
from metagit_mcp.scheduling.snapshot import Surroundings

Json = dict[str, Any]


@value
class WorkspaceImage:
    """The whole workspace as read at one state. The same state gives the same object.

    `policy` is None when policy.json cannot be used, and `policy_error` says why; `state_version` depends on
    content only, so every process that reads the same files names the same version.
    """

    policy: SchedulePolicy | None
    policy_error: MetagitError | None
    revision: str
    graphs: Mapping[str, LoadedGraph]
    surroundings: Surroundings
    approvals: Mapping[str, tuple[Approval, ...]]
    state_version: str
    warnings: tuple[str, ...]


class WorkspaceSource(Protocol):
    """Reads the workspace: graphs, policy, worktrees, merges, approvals."""

    def changed(self) -> bool:
        """Say whether anything may have changed since the last `read`; cheap, called before every answer."""
        ...

    def read(self) -> WorkspaceImage:
        """Read what changed and return the image; parts that did not change are the same objects as before."""
        ...


# What a writer returns. The change itself stands; each warning names something that could not follow it.
Warnings = tuple[str, ...]


class GraphStore(Protocol):
    """Writes task graph files, one atomic read-modify-write at a time."""

    def revise(self, graph_id: str, change: Callable[[Json | None], Json | None]) -> Warnings:
        """Under the graph's lock give `change` the file's JSON object (None: no such file) and write what it returns.

        None from `change` writes nothing. Keeps unknown fields; `index.json` and `kept.json` follow.

        Raises:
            GraphInvalid: the file that is there cannot be used.
            ReadOnlyWorkspace, StoreUnavailable: it cannot be written.
        """
        ...


class PolicyStore(Protocol):
    """Writes policy.json, one atomic read-modify-write at a time."""

    def revise(self, change: Callable[[Json], Json | None]) -> Warnings:
        """Under the policy's lock give `change` the record in force (kept keys included); write what it returns.

        None writes nothing; keys that `change` removed also end in `kept.json`.

        Raises:
            PolicyInvalid: the file that is there cannot be used.
            ReadOnlyWorkspace, StoreUnavailable: it cannot be written.
        """
        ...


class DecisionLog(Protocol):
    """The append-only decision log and the event logs beside it."""

    def recent(self, count: int, graph_id: str | None = None) -> tuple[Sequence[LoggedDecision], Sequence[str]]:
        """Return up to `count` newest decisions, newest first, and warnings about lines that cannot be read."""
        ...

    def at_state(self, state_version: str, reach: int) -> Sequence[LoggedDecision]:
        """Return the decisions logged at one state of the workspace, among the newest `reach` of all."""
        ...

    def unlogged(self, decisions: Sequence[ScheduleDecision]) -> Sequence[ScheduleDecision]:
        """Return those that were not logged when they were made; of long ago there are none."""
        ...

    def append(self, decisions: Sequence[ScheduleDecision], events: Sequence[SchedulerEvent]) -> Warnings:
        """Append decisions; their events follow.

        Raises:
            ReadOnlyWorkspace, StoreUnavailable: the decisions cannot be written.
        """
        ...

    def append_audit(self, events: Sequence[SchedulerEvent]) -> Warnings:
        """Append what people and agents changed about the rules: policy and approvals, in a log of its own."""
        ...

    def append_task_events(self, events: Sequence[SchedulerEvent]) -> Warnings:
        """Append task graph events, in the shape that the task graph tools write."""
        ...


class Keeper(Protocol):
    """Remembers our fields against writers that drop what they do not know."""

    def remember(self) -> Warnings:
        """Bring `kept.json` up to date with the image read last; does nothing when nothing of ours is new."""
        ...
