"""What the use cases need from the outside, one Protocol each: read this file as the tour of the boundary.

Knows no implementation. The file ports are plain functions; a use case runs them through `Offload`, so that a
server can keep them off its event loop.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol, TypeVar

from metagit_mcp.domain.approval import Approval
from metagit_mcp.domain.decision import LoggedDecision, ScheduleDecision, SchedulerEvent
from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.domain.value import value
from metagit_mcp.errors import MetagitError
from metagit_mcp.scheduling.snapshot import Surroundings

R = TypeVar("R")
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


@value
class LedgerMark:
    """Which ledger is there and how far it goes: no workspace id and position 0 where there is none yet."""

    workspace_id: str = ""
    position: int = 0


@value
class StoredEvent:
    """One event as it is kept: its place in the one order (1, 2, 3, …), its kind and version, its JSON."""

    position: int
    kind: str
    version: int
    body: bytes


@value
class StoredSnapshot:
    """The whole state of one ledger after the event at `position`, in a form of its own version."""

    workspace_id: str
    position: int
    version: int
    body: bytes


# An event that is to be kept: its kind, its version and its JSON.
NewEvent = tuple[str, int, bytes]


@value
class InboxEntry:
    """One Group Event as its inbox keeps it: its place, keys of its id and of its content, its JSON while it is held.

    Each key is 16 bytes. `body` is empty for an Event that was applied: of those only the keys are kept (ADR 0028).
    """

    sequence: int
    event_key: bytes
    digest: bytes
    body: bytes = b""


@value
class InboxSize:
    """How many Events an inbox holds, with how many bytes of JSON, and the first of them; 0 where it holds none."""

    held: int = 0
    bytes: int = 0
    first_held: int = 0


class GroupInbox(Protocol):
    """The Events of one Group as they came in; of use within the writing block that gave it, and part of that block.

    It sees what the block did so far, and knows no rule. Whatever it raises (StoreUnavailable, StoreCorrupt;
    RuntimeError once the block is over) must end the block, of which nothing is kept then.
    """

    def known(self, asked: Sequence[InboxEntry]) -> Sequence[InboxEntry]:
        """Return what stands at any of these sequences or under any of these event keys: in order, without bodies."""
        ...

    def put(self, entries: Sequence[InboxEntry]) -> None:
        """Add entries, of which those with a body are held. ValueError: a sequence or an event key is taken."""
        ...

    def held(self, after: int, limit: int, *, over_gaps: bool = False) -> Sequence[InboxEntry]:
        """Return the held entries that follow `after` (after + 1, after + 2, …), at most `limit`, up to the first gap.

        `over_gaps`: those behind gaps too.
        """
        ...

    def held_size(self) -> tuple[int, int]:
        """Return how many entries are held, and with how many bytes of bodies."""
        ...

    def applied(self, up_to: int) -> None:
        """Hold nothing any more up to this sequence: the bodies go, the keys stay."""
        ...

    def forget(self, before: int) -> None:
        """Drop the entries below this sequence, keys and bodies."""
        ...


class LedgerWriter(Protocol):
    """The one writer of the ledger, for as long as its `with` block lasts."""

    # The ledger as the writer found it; `append` leaves it as it is.
    mark: LedgerMark
    # Whether what the caller has folded is of no use: it knew no ledger, another one, or one that went further.
    is_other: bool
    # Where `is_other`, the newest snapshot to start anew from; None there: start from nothing.
    restart: StoredSnapshot | None
    # What was appended since, in order: after what the caller knew or, where `is_other`, after `restart`.
    news: Sequence[StoredEvent]

    def append(self, events: Sequence[NewEvent]) -> None:
        """Append events; they are durable, all of those of the block or none, when the block ends."""
        ...

    def inbox(self, group_id: str) -> GroupInbox:
        """Return the inbox of a Group: what is done to it is durable with the events of the block, or not at all."""
        ...


class EventStore(Protocol):
    """Keeps the ledger of a workspace: one append-only stream with one order, one writer at a time (work.md §8).

    It knows no rule. Durable means that the `with` block of the writer ended without an exception. `shared_at` is where
    the ledger is, without user and password, if other hosts write to it too; empty: it is the workspace's own.
    """

    shared_at: str

    def mark(self) -> LedgerMark:
        """Say how far the ledger goes, cheaply: asked before every answer. Creates nothing.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: it cannot be read.
        """
        ...

    def read(self, after: int, limit: int | None = None) -> Sequence[StoredEvent]:
        """Return the events after a position, in order, at most `limit`. Creates nothing."""
        ...

    def snapshot(self) -> StoredSnapshot | None:
        """Return the newest snapshot, or None."""
        ...

    def inbox_size(self, group_id: str) -> InboxSize:
        """Say how much the inbox of a Group holds. Creates nothing. In a writing block: as the block left it so far."""
        ...

    def writing(self, known: LedgerMark, new_id: Callable[[], str]) -> AbstractContextManager[LedgerWriter]:
        """Become the one writer; others wait, for some seconds at most. An exception in the block appends nothing.

        A ledger that is not there is made, with the workspace id that `new_id` draws. `known` is what the caller has
        folded already: fold most of a long ledger before, since others wait while its news are read. The store may be
        read in the block, by the same thread, as it was when the block began.

        Raises:
            StoreUnavailable: another writer does not come to its end, or the disk is full; retryable.
            ReadOnlyWorkspace, StoreCorrupt, StoreTooNew: it cannot be written.
        """
        ...

    def keep(self, snapshot: StoredSnapshot) -> None:
        """Keep a snapshot of this very ledger, in no writing block; older ones go. Failing to raises nothing."""
        ...

    def examine(self) -> Sequence[str]:
        """Look at every event and every page; return a sentence for each thing that is wrong. Takes long.

        Raises:
            StoreCorrupt, StoreTooNew, StoreUnavailable: it cannot even be opened.
        """
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...


@value
class Fault:
    """Something of the workspace that is not as it should be, in ids, names and numbers.

    `is_harm`: somebody is to mend it. `is_mendable`: whoever found it can; else `command` may do so.
    """

    what: str
    is_harm: bool = True
    is_mendable: bool = False
    command: str | None = None


class Housekeeping(Protocol):
    """Looks after the files of the workspace as files; every method stands on its own, and looking changes nothing.

    Each may raise StoreUnavailable (FileRefused is one) for a file that cannot be read; those that write also
    ReadOnlyWorkspace.
    """

    def is_writable(self) -> bool:
        """Say whether this user can write into the folders of the workspace."""
        ...

    def kept(self) -> Sequence[Fault]:
        """Return what is wrong with kept.json, and which values in it stand in for what others dropped."""
        ...

    def set_kept_aside(self) -> None:
        """Move a kept.json that says nothing out of the way: to kept.json.bad."""
        ...

    def index(self) -> Sequence[Fault]:
        """Return where tasks/index.json says something else than the graph files."""
        ...

    def mend_index(self) -> None:
        """Bring tasks/index.json in step with the graph files."""
        ...

    def logs(self) -> Sequence[Fault]:
        """Return the logs with lines that are no JSON."""
        ...

    def mend_logs(self) -> None:
        """Take these lines out of the logs; what they said is kept beside each, in `<log>.bad`."""
        ...

    def beside_ledger(self, workspace_id: str) -> Sequence[Fault]:
        """Return what is wrong with the files beside the ledger of this id; an empty one: there is no ledger."""
        ...

    def mend_beside_ledger(self, workspace_id: str) -> None:
        """Bring the files beside the ledger in step with it."""
        ...

    def leftovers(self, before: datetime) -> Sequence[Fault]:
        """Return the temporary files that a writer left behind before that time."""
        ...

    def remove_leftovers(self, before: datetime) -> None:
        """Remove them."""
        ...


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the present instant in UTC."""
        ...

    def instant(self) -> Instant:
        """Return the present instant with the ticks of this boot, which decide about terms."""
        ...


class Ids(Protocol):
    """Draws identifiers."""

    def new(self) -> str:
        """Return an id never returned before: 32 hexadecimal digits."""
        ...


class Offload(Protocol):
    """Runs blocking functions for async use cases, one after another in the order in which they come."""

    async def __call__(self, blocking: Callable[[], R]) -> R:
        """Return what `blocking` returns."""
        ...


class Sleep(Protocol):
    """Lets time pass in an async use case; whoever waits can be cancelled."""

    async def __call__(self, seconds: float) -> float | None:
        """Return after so many seconds; or before, with those that passed, when something may have changed."""
        ...


@value
class Waits:
    """How a process waits: for blocking work, and for time to pass."""

    offload: Offload
    sleep: Sleep
