"""One open ledger file, spoken to in SQL; it does not know whether the file is still the one of the workspace.

Every error of SQLite ends here and leaves as one of the project's own.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from metagit_mcp.adapters.layout import LEDGER
from metagit_mcp.adapters.ledger_damage import missing_of
from metagit_mcp.adapters.sqlite.failures import corrupt, is_busy, ledger_error, too_new, unopened
from metagit_mcp.adapters.sqlite.image import APPLICATION_ID, SCHEMA, SCHEMA_VERSION, WITH_INBOX
from metagit_mcp.adapters.sqlite.inbox import SqliteInbox
from metagit_mcp.adapters.sqlite.one_writer import PAUSE
from metagit_mcp.adapters.sqlite.refused import replaced
from metagit_mcp.adapters.sqlite.statements import statement
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.ledger import InboxSize, LedgerMark, StoredEvent, StoredSnapshot

_ALL: Final = -1
_GAPS_NAMED: Final = 10
# A delivery changes nearly every page of the index of a long Group, since the ids of Events have no order (ADR 0028).
# With SQLite's own 2 MB and 1,000 pages they are read again, and moved into the file, after each one.
_CACHE_KIB: Final = 16 * 1024
_PAGES_IN_LOG: Final = 4_000
_CANNOT_SHARE: Final = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})


def open_ledger(path: str, *, busy_seconds: float) -> "OpenedLedger":
    """Open the ledger at the resolved `path`, which is there.

    Raises:
        StoreCorrupt, StoreTooNew, StoreUnavailable: it cannot be used.
    """
    try:
        return _opened(path, "mode=rw", busy_seconds)
    except FileNotFoundError as cause:
        raise replaced() from cause
    except sqlite3.Error as cause:
        if not _is_still(path, cause):
            raise unopened(cause, path, LEDGER) from cause
    try:
        # In a folder that cannot be written no one writes, as long as there is no log: SQLite need not share.
        return _opened(path, "mode=ro&immutable=1", busy_seconds)
    except sqlite3.Error as cause:
        raise unopened(cause, path, LEDGER) from cause


def _is_still(path: str, cause: sqlite3.Error) -> bool:
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    return code in _CANNOT_SHARE and not os.access(os.path.dirname(path), os.W_OK) and not _has_log(path)


def _has_log(path: str) -> bool:
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except OSError:
        return False


def _opened(path: str, mode: str, busy_seconds: float) -> "OpenedLedger":
    found = os.stat(path)
    uri = f"file:{quote(os.fsencode(path))}?{mode}"
    # No isolation level: transactions begin and end where this module says so.
    # No time-out either: `_rows` waits in shorter pauses.
    connection = sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        return OpenedLedger(connection, path, found, busy_seconds=busy_seconds, is_still="immutable" in mode)
    except BaseException:
        connection.close()
        raise


class OpenedLedger:
    """A connection, what is known of its file, and the mark as of the last look."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: str,
        found: os.stat_result,
        *,
        busy_seconds: float,
        is_still: bool,
    ) -> None:
        """Read what there is to know; sqlite3.Error means that it cannot be opened in this way.

        Args:
            connection: to the file at `path`.
            path: resolved.
            found: what lay there before the connection was opened.
            busy_seconds: how long to wait for others.
            is_still: SQLite was told that nobody writes.
        """
        self.path = path
        self._busy_seconds = busy_seconds
        self.is_still = is_still
        self.is_writing = False
        self._connection = connection
        self._rows("PRAGMA synchronous = FULL")
        self._rows(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._rows(f"PRAGMA wal_autocheckpoint = {_PAGES_IN_LOG}")
        self._refuse_foreign()
        self._block = self._changes = 0
        self._version = self._data_version()
        self._mark = self._read_mark()
        self.identity = (found.st_dev, found.st_ino)
        self._size, self._mtime = found.st_size, found.st_mtime_ns
        if _identity_of(path) != self.identity:
            raise replaced()
        # Taken after the first read: from then on the files beside the ledger are those of this connection.
        self._beside = {path + end: _identity_of(path + end) for end in ("-wal", "-shm")}

    def _refuse_foreign(self) -> None:
        ((application,),) = self._rows("PRAGMA application_id")
        if application != APPLICATION_ID:
            raise corrupt(LEDGER, "it is no ledger of metagit-mcp")
        self._schema = self._read_schema()

    def _read_schema(self) -> int:
        version: int = self._rows("PRAGMA user_version")[0][0]
        if version > SCHEMA_VERSION:
            raise too_new(LEDGER, version, SCHEMA_VERSION)
        return version

    def _data_version(self) -> int:
        # A number that changes when another connection commits; one's own commits leave it alone.
        version: int = self._rows("PRAGMA data_version")[0][0]
        return version

    def _read_mark(self) -> LedgerMark:
        ((workspace_id, last, first),) = self._rows(statement("mark"))
        if not workspace_id or (first or 1) != 1:
            raise corrupt(LEDGER, "its beginning is missing")
        return LedgerMark(workspace_id=workspace_id, position=last or 0)

    # --- the file ------------------------------------------------------------------------------------------------

    def is_at(self, found: os.stat_result) -> bool:
        """Say whether what lies at the path now is the file that is open."""
        if (found.st_dev, found.st_ino) != self.identity:
            return False
        if self.is_still:
            return found.st_mtime_ns == self._mtime and not _has_log(self.path)
        return True

    def shrank(self, found: os.stat_result) -> bool:
        """Say whether the file is shorter than before, which no writer of ours makes it."""
        former, self._size = self._size, found.st_size
        return found.st_size < former

    def examine(self) -> None:
        """Look at every page.

        Raises:
            StoreCorrupt: one of them is damaged.
        """
        if self._run("PRAGMA quick_check(1)") != [("ok",)]:
            raise corrupt(LEDGER, "a part of it is missing")

    def disown(self) -> None:
        """Remove what this ledger left beside its path: the ledger that lies there now must not take it for its own."""
        for path, identity in self._beside.items():
            with contextlib.suppress(OSError):
                if identity is not None and _identity_of(path) == identity:
                    os.unlink(path)

    def close(self) -> None:
        """Close the connection; the last one of a ledger moves its log into it."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    # --- reading -------------------------------------------------------------------------------------------------

    def mark(self) -> LedgerMark:
        """Return how far the ledger goes, asking for it only if another connection wrote."""
        try:
            version = self._data_version()
            if version != self._version:
                # The other connection may be one of a newer program.
                self._schema = self._read_schema()
                self._mark, self._version = self._read_mark(), version
        except sqlite3.Error as cause:
            raise ledger_error(cause, LEDGER) from cause
        return self._mark

    def read(self, after: int, limit: int | None = None) -> Sequence[StoredEvent]:
        """Return the events after a position, at most `limit`.

        Raises:
            StoreCorrupt: one is missing among them.
        """
        rows = self._run(statement("read_events"), (after, _ALL if limit is None else limit))
        if rows and (rows[0][0] != after + 1 or rows[-1][0] != after + len(rows)):
            raise corrupt(LEDGER, f"an event after position {after} is missing")
        return tuple(
            StoredEvent(position=position, kind=kind, version=version, body=body)
            for position, kind, version, body in rows
        )

    def snapshot(self) -> StoredSnapshot | None:
        """Return the newest snapshot, or None."""
        for workspace_id, position, version, body in self._run(statement("newest_snapshot")):
            return StoredSnapshot(workspace_id=workspace_id, position=position, version=version, body=body)
        return None

    def inbox_size(self, group_id: str) -> InboxSize:
        """Say how much the inbox of a Group holds."""
        if not self._has_inboxes():
            return InboxSize()
        ((held, size, first),) = self._run(statement("held_size"), {"group_id": group_id})
        return InboxSize(held=held, bytes=size, first_held=first)

    def _has_inboxes(self) -> bool:
        self.mark()
        return self.is_writing or self._schema >= WITH_INBOX

    def faults(self) -> list[str]:
        """Return a sentence for each thing that is wrong: damaged pages, and events that are missing."""
        try:
            self.examine()
            gaps = self._run(statement("find_gaps"), (_GAPS_NAMED,))
            ((lost,),) = self._run(statement("count_lost_entries")) if self._has_inboxes() else [(0,)]
        except MetagitError as error:
            return [error.message]
        return [f"{LEDGER} is damaged: {each}." for each in missing_of(gaps, lost)]

    # --- writing -------------------------------------------------------------------------------------------------

    def begin(self) -> LedgerMark:
        """Become the one writer, and return where the ledger stands then."""
        self._run("BEGIN IMMEDIATE")
        self.is_writing = True
        self._block += 1
        try:
            mark = self.mark()
            self._upgrade()
        except MetagitError:
            self.rollback()
            raise
        self._changes = self._connection.total_changes
        return mark

    def _upgrade(self) -> None:
        """Bring the tables of an older ledger up to date; `executescript` would end the transaction."""
        older = SCHEMA[self._schema :]
        if not older:
            return
        for part in "".join(map(statement, older)).split(";"):
            self._run(part)
        self._run(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def inbox(self, group_id: str) -> SqliteInbox:
        """Return the inbox of a Group for the rest of the transaction."""
        return SqliteInbox(group_id, partial(self._within, self._block))

    def _within(self, block: int) -> sqlite3.Connection:
        if block != self._block or not (self.is_writing and self._connection.in_transaction):
            raise RuntimeError("the writing block of this inbox is over")
        return self._connection

    @property
    def has_written(self) -> bool:
        """Whether the transaction changed anything so far."""
        return self._connection.total_changes > self._changes

    def append(self, events: Sequence[StoredEvent]) -> None:
        """Append events within the transaction; where a failure ended it, there is none to append to."""
        self._within(self._block)
        rows = [(event.position, event.kind, event.version, event.body) for event in events]
        try:
            self._connection.executemany(statement("append_event"), rows)
        except sqlite3.Error as cause:
            raise ledger_error(cause, LEDGER) from cause

    def keep(self, snapshot: StoredSnapshot) -> None:
        """Keep a snapshot within the transaction, in place of older ones."""
        fields = {name: getattr(snapshot, name) for name in ("workspace_id", "position", "version", "body")}
        self._run(statement("keep_snapshot"), fields)
        self._run(statement("drop_snapshots"))

    def commit(self, mark: LedgerMark) -> None:
        """Make the transaction durable; the ledger stands at `mark` then."""
        self._run("COMMIT")
        self.is_writing = False
        self._mark, self._schema = mark, SCHEMA_VERSION

    def rollback(self) -> None:
        """Undo the transaction, if it is still open: SQLite ends it by itself when the disk is full."""
        self.is_writing = False
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _run(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401 - what SQLite takes and gives
        try:
            return self._rows(sql, values)
        except sqlite3.Error as cause:
            raise ledger_error(cause, LEDGER) from cause

    def _rows(self, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401 - as above
        """Run a statement; wait while others are in the way, as long as this store may.

        SQLite's own pauses grow to 100 ms; among many that is as good as never.
        """
        deadline = 0.0
        while True:
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.OperationalError as cause:
                now = time.monotonic()
                deadline = deadline or now + self._busy_seconds
                if not is_busy(cause) or now >= deadline:
                    raise
            time.sleep(PAUSE)


def _identity_of(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
