"""The inbox of one Group in an open ledger, spoken to in SQL within one transaction; it begins and ends none.

Every error of SQLite ends here. A write that failed ends the transaction too: half of it must not be kept.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

from metagit_mcp.adapters.layout import LEDGER
from metagit_mcp.adapters.sqlite.failures import ledger_error
from metagit_mcp.adapters.sqlite.statements import statement
from metagit_mcp.ports.ledger import InboxEntry

Rows = list[tuple[Any, ...]]
_KEY_BYTES: Final = 16


class SqliteInbox:
    """The `GroupInbox` of a writing block."""

    def __init__(self, group_id: str, connection: Callable[[], sqlite3.Connection]) -> None:
        """Touch nothing yet; `connection` refuses once the block is over."""
        self._group_id = group_id
        self._connection = connection

    def known(self, asked: Sequence[InboxEntry]) -> Sequence[InboxEntry]:
        """Return what stands at any of these sequences or under any of these event keys."""
        # In the order of the index, so that neighbours lie on one page.
        keys = sorted(each.event_key for each in asked)
        rows = self._rows("inbox_places", sequences=json.dumps([each.sequence for each in asked]))
        rows += self._rows("inbox_keys", keys=b"".join(keys), count=len(keys), width=_KEY_BYTES)
        found = {sequence: (event_key, digest) for sequence, event_key, digest in rows}
        return tuple(
            InboxEntry(sequence=sequence, event_key=event_key, digest=digest)
            for sequence, (event_key, digest) in sorted(found.items())
        )

    def put(self, entries: Sequence[InboxEntry]) -> None:
        """Add entries."""
        group = self._number()
        self._rows(
            "put_entries",
            group=group,
            sequences=json.dumps([each.sequence for each in entries]),
            keys=b"".join([each.event_key for each in entries]),
            digests=b"".join([each.digest for each in entries]),
            width=_KEY_BYTES,
        )
        held = [(group, each.sequence, each.body) for each in entries if each.body]
        with self._open() as connection:
            connection.executemany(statement("put_held"), held)

    def held(self, after: int, limit: int, *, over_gaps: bool = False) -> Sequence[InboxEntry]:
        """Return the held entries that follow; what lies beyond a gap is not read, unless it is asked for."""
        values = {"group_id": self._group_id, "after": after, "limit": limit}
        with self._open() as connection, closing(connection.execute(statement("read_held"), values)) as rows:
            return tuple(_entries(rows) if over_gaps else _run(after, _entries(rows)))

    def held_size(self) -> tuple[int, int]:
        """Return how many are held, and their bytes."""
        ((held, size, _),) = self._rows("held_size")
        return held, size

    def applied(self, up_to: int) -> None:
        """Hold nothing any more up to this sequence."""
        self._rows("drop_held", up_to=up_to)

    def forget(self, before: int) -> None:
        """Drop the entries below this sequence."""
        self._rows("drop_held", up_to=before - 1)
        self._rows("drop_entries", before=before)

    def _number(self) -> int:
        rows = self._rows("inbox_group") or self._rows("add_inbox_group")
        number: int = rows[0][0]
        return number

    def _rows(self, name: str, **values: object) -> Rows:
        with self._open() as connection:
            return connection.execute(statement(name), {"group_id": self._group_id, **values}).fetchall()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection()
        try:
            yield connection
        except sqlite3.Error as cause:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if getattr(cause, "sqlite_errorcode", 0) in _TAKEN:
                raise ValueError("something stands at the sequence or under the event key of an entry") from cause
            raise ledger_error(cause, LEDGER) from cause


_TAKEN: Final = frozenset({sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE})


def _entries(rows: Iterable[tuple[Any, ...]]) -> Iterator[InboxEntry]:
    for sequence, event_key, digest, body in rows:
        yield InboxEntry(sequence=sequence, event_key=event_key, digest=digest, body=body)


def _run(after: int, entries: Iterable[InboxEntry]) -> Iterator[InboxEntry]:
    """Give the entries up to the first gap."""
    for due, entry in enumerate(entries, start=after + 1):
        if entry.sequence != due:
            return
        yield entry
