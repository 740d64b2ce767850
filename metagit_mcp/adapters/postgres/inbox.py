"""The inbox of one Group, spoken to in SQL within one transaction; it begins and ends none.

A write that failed ends the transaction too: half of it must not be kept.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from metagit_mcp.adapters.postgres.link import Link, Rows, Taken
from metagit_mcp.ports.ledger import InboxEntry


class Within(Protocol):
    """Gives the connection of a block, and refuses once that is over."""

    def __call__(self, *, writes: bool) -> Link:
        """Return the connection; `writes` says that the block changes something."""
        ...


class PostgresInbox:
    """The `GroupInbox` of a writing block."""

    def __init__(self, group_id: str, stream: int, within: Within) -> None:
        """Touch nothing yet."""
        self._names = {"stream": stream, "group_id": group_id}
        self._within = within

    def known(self, asked: Sequence[InboxEntry]) -> Sequence[InboxEntry]:
        """Return what stands at any of these sequences or under any of these event keys."""
        sequences, keys = [each.sequence for each in asked], [each.event_key for each in asked]
        rows = self._run("known_entries", sequences=sequences, keys=keys)
        return tuple(
            InboxEntry(sequence=sequence, event_key=event_key, digest=digest) for sequence, event_key, digest in rows
        )

    def put(self, entries: Sequence[InboxEntry]) -> None:
        """Add entries."""
        held = [each for each in entries if each.body]
        columns = {
            "sequences": [each.sequence for each in entries],
            "keys": [each.event_key for each in entries],
            "digests": [each.digest for each in entries],
        }
        bodies = {"sequences": [each.sequence for each in held], "bodies": [each.body for each in held]}
        try:
            self._within(writes=bool(entries)).together(
                ("add_inbox_group", self._names),
                ("put_entries", {**self._names, **columns}),
                ("put_held", {**self._names, **bodies}),
            )
        except Taken as cause:
            raise ValueError("something stands at the sequence or under the event key of an entry") from cause

    def held(self, after: int, limit: int, *, over_gaps: bool = False) -> Sequence[InboxEntry]:
        """Return the held entries that follow; what lies beyond a gap is not read, unless it is asked for."""
        rows = self._run("read_held", after=after, limit=limit, over_gaps=over_gaps)
        return tuple(
            InboxEntry(sequence=sequence, event_key=event_key, digest=digest, body=body)
            for sequence, event_key, digest, body in rows
        )

    def held_size(self) -> tuple[int, int]:
        """Return how many are held, and their bytes."""
        ((held, size, _),) = self._run("held_size")
        return held, size

    def applied(self, up_to: int) -> None:
        """Hold nothing any more up to this sequence."""
        self._within(writes=True).run("drop_held", **self._names, up_to=up_to)

    def forget(self, before: int) -> None:
        """Drop the entries below this sequence."""
        self._within(writes=True).together(
            ("drop_held", {**self._names, "up_to": before - 1}), ("drop_entries", {**self._names, "before": before})
        )

    def _run(self, name: str, **values: Any) -> Rows:  # noqa: ANN401 - what PostgreSQL takes
        return self._within(writes=False).run(name, **self._names, **values)
