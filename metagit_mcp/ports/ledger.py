"""What the use cases need of the ledger: its events in one order, one writer at a time, inboxes, snapshots.

Knows no implementation, and no kind of event.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from metagit_mcp.domain.value import value


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
