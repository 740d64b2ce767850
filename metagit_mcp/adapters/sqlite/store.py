"""The event store over the ledger of a workspace: which file is open, and who writes; it knows no SQL and no rule.

It looks at the path again before each use, since the file may be deleted or replaced while a server runs. sqlite3 is
loaded when there is a ledger to open, or one is to be made.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from metagit_mcp.adapters.fault_points import fault
from metagit_mcp.adapters.freed_memory import give_back_after
from metagit_mcp.adapters.layout import LEDGER
from metagit_mcp.adapters.ledger_writer import writer_for
from metagit_mcp.adapters.places import locate
from metagit_mcp.adapters.refusals import read_error
from metagit_mcp.adapters.sqlite.beside import tend
from metagit_mcp.adapters.sqlite.one_writer import OneWriter
from metagit_mcp.adapters.sqlite.refused import read_only, refuse_place, replaced
from metagit_mcp.adapters.turn import Turn
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.ledger import InboxSize, LedgerMark, LedgerWriter, StoredEvent, StoredSnapshot

if TYPE_CHECKING:
    from metagit_mcp.adapters.sqlite.opened import OpenedLedger

BUSY_SECONDS: Final = 5.0
_TRIES: Final = 3


class SqliteEventStore:
    """The `EventStore` in `.metagit/schedule/ledger.db`."""

    shared_at = ""

    def __init__(self, root: str, *, busy_seconds: float = BUSY_SECONDS) -> None:
        """Keep where the workspace is; no file is touched yet.

        Args:
            root: absolute path of the workspace.
            busy_seconds: how long to wait for another writer.
        """
        self._root = root
        self._path = f"{root}/{LEDGER}"
        self._busy_seconds = busy_seconds
        self._turn = Turn(busy_seconds)
        self._one_writer = OneWriter(root, busy_seconds)
        self._ledger: OpenedLedger | None = None
        self._is_tended = False
        # A file that became shorter under an open connection, until every page of it has been looked at.
        self._cut: tuple[int, int] | None = None

    def mark(self) -> LedgerMark:
        """Say how far the ledger goes."""
        with self._turn:
            ledger = self._current()
            return LedgerMark() if ledger is None else ledger.mark()

    def read(self, after: int, limit: int | None = None) -> Sequence[StoredEvent]:
        """Return the events after a position, at most `limit`."""
        with self._turn:
            ledger = self._current()
            return () if ledger is None else ledger.read(after, limit)

    def examine(self) -> Sequence[str]:
        """Return what is wrong with pages and events."""
        with self._turn:
            ledger = self._current()
            return () if ledger is None else ledger.faults()

    def snapshot(self) -> StoredSnapshot | None:
        """Return the newest snapshot, or None."""
        with self._turn:
            ledger = self._current()
            return None if ledger is None else ledger.snapshot()

    def inbox_size(self, group_id: str) -> InboxSize:
        """Say how much the inbox of a Group holds."""
        with self._turn:
            ledger = self._current()
            return InboxSize() if ledger is None else ledger.inbox_size(group_id)

    @contextmanager
    def writing(self, known: LedgerMark, new_id: Callable[[], str]) -> Iterator[LedgerWriter]:
        """Become the one writer, of a new ledger if there is none."""
        with self._turn:
            ledger, mark = self._begun(new_id)
            try:
                writer = writer_for(known, mark, ledger.read, ledger.snapshot, ledger.inbox)
                fault("ledger.begun")
                yield writer
                events = writer.numbered()
                ledger.append(events)
                is_changed = ledger.has_written
                fault("ledger.appended")
                ledger.commit(LedgerMark(workspace_id=mark.workspace_id, position=mark.position + len(events)))
                if is_changed and not self._is_in_place(ledger):
                    # It went to a file that is no longer there: nobody will ever read it.
                    raise replaced()
                fault("ledger.committed")
            finally:
                ledger.rollback()
                self._one_writer.leave()

    def keep(self, snapshot: StoredSnapshot) -> None:
        """Keep a snapshot of the ledger that is open; never in one that took its place."""
        with suppress(MetagitError), self._turn:
            if self._ledger is not None and not (self._ledger.is_still or self._ledger.is_writing):
                with self._one_writer.alone():
                    self._keep(self._ledger, snapshot)
        give_back_after(len(snapshot.body))

    def _keep(self, ledger: "OpenedLedger", snapshot: StoredSnapshot) -> None:
        if self._is_in_place(ledger):
            try:
                mark = ledger.begin()
                ledger.keep(snapshot)
                ledger.commit(mark)
            finally:
                ledger.rollback()

    def close(self) -> None:
        """Close the ledger; the next use opens it again."""
        with self._turn:
            self._drop()
            self._one_writer.close()

    # --- which file is open --------------------------------------------------------------------------------------

    def _current(self) -> "OpenedLedger | None":
        """Return the ledger that lies there now, opened; None when there is none."""
        if self._ledger is not None and self._ledger.is_writing:
            return self._ledger
        try:
            found = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            self._drop()
            return None
        except OSError as cause:
            raise read_error(cause, LEDGER) from cause
        if self._ledger is None or not self._ledger.is_at(found):
            self._leave()
            return self._open()
        if self._ledger.shrank(found):
            self._cut = self._ledger.identity
            self._drop()
            return self._open()
        return self._ledger

    def _open(self) -> "OpenedLedger":
        from metagit_mcp.adapters.sqlite.opened import open_ledger  # noqa: PLC0415 - it loads sqlite3

        real, _ = locate(self._path, root=self._root)
        refuse_place(real)
        self._ledger = open_ledger(real, busy_seconds=self._busy_seconds)
        if self._ledger.identity == self._cut:
            try:
                self._ledger.examine()
            except MetagitError:
                self._drop()
                raise
            self._cut = None
        return self._ledger

    def _leave(self) -> None:
        """Let go of a ledger that was replaced, with what it left beside its path."""
        if self._ledger is not None:
            with suppress(MetagitError), self._one_writer.alone():
                self._ledger.disown()
        self._drop()

    def _drop(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
        self._ledger, self._is_tended = None, False

    def _is_in_place(self, ledger: "OpenedLedger") -> bool:
        try:
            return ledger.is_at(os.stat(self._path))
        except OSError:
            return False

    # --- who writes ----------------------------------------------------------------------------------------------

    def _begun(self, new_id: Callable[[], str]) -> tuple["OpenedLedger", LedgerMark]:
        """Return a ledger whose one writer this is, until it lets others write, and where it stands."""
        if self._ledger is not None and self._ledger.is_writing:
            raise RuntimeError("a writing block of this store is open already")
        for _ in range(_TRIES):
            ledger = self._current() or self._made(new_id)
            if ledger.is_still:
                raise read_only()
            self._tend(ledger)
            self._one_writer.enter()
            try:
                # Another process may have deleted it while this one waited.
                mark = ledger.begin() if self._is_in_place(ledger) else None
            except BaseException:
                self._one_writer.leave()
                raise
            if mark is not None:
                return ledger, mark
            self._one_writer.leave()
        raise replaced()

    def _made(self, new_id: Callable[[], str]) -> "OpenedLedger":
        from metagit_mcp.adapters.sqlite.making import make_ledger, make_place  # noqa: PLC0415 - they load sqlite3

        refuse_place(self._path)
        make_place(self._root)
        with self._one_writer.alone():
            make_ledger(self._root, new_id)
        return self._open()

    def _tend(self, ledger: "OpenedLedger") -> None:
        if not self._is_tended:
            self._is_tended = tend(self._root, ledger.mark().workspace_id)
