"""What the one writer of a ledger is given and gathers, whichever store it writes to; it knows no store.

Events are gathered and stored in one go when the block ends: what a block appends can then not be stored by half.
"""

from collections.abc import Callable, Sequence

from metagit_mcp.ports.ledger import GroupInbox, LedgerMark, NewEvent, StoredEvent, StoredSnapshot


class GatheringWriter:
    """A `LedgerWriter` that keeps what is appended in `gathered`."""

    def __init__(
        self,
        mark: LedgerMark,
        news: Sequence[StoredEvent],
        restart: StoredSnapshot | None,
        inbox: Callable[[str], GroupInbox],
        *,
        is_other: bool,
    ) -> None:
        self.mark = mark
        self.news = news
        self.restart = restart
        self.is_other = is_other
        self._inbox = inbox
        self.gathered: list[NewEvent] = []

    def append(self, events: Sequence[NewEvent]) -> None:
        """Add events to those of the block."""
        self.gathered.extend(events)

    def inbox(self, group_id: str) -> GroupInbox:
        """Return the inbox of a Group."""
        return self._inbox(group_id)

    def numbered(self) -> tuple[StoredEvent, ...]:
        """Return what was gathered with the positions that it takes."""
        first = self.mark.position + 1
        return tuple(
            StoredEvent(position=position, kind=kind, version=version, body=body)
            for position, (kind, version, body) in enumerate(self.gathered, start=first)
        )


def writer_for(
    known: LedgerMark,
    mark: LedgerMark,
    read: Callable[[int], Sequence[StoredEvent]],
    snapshot: Callable[[], StoredSnapshot | None],
    inbox: Callable[[str], GroupInbox],
) -> GatheringWriter:
    """Return the writer of a ledger that stands at `mark`, for a caller that has folded `known` already."""
    if known.workspace_id == mark.workspace_id and known.position <= mark.position:
        # Most writers follow their own last block: then there is nothing to read.
        news = read(known.position) if known.position < mark.position else ()
        return GatheringWriter(mark, news, None, inbox, is_other=False)
    restart = snapshot()
    news = read(0 if restart is None else restart.position)
    return GatheringWriter(mark, news, restart, inbox, is_other=True)
