"""Inboxes in the SQLite store: ledgers from before there were any, damage, and how entries are found.

What holds for every store is in tests/conformance.
"""

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.adapters.sqlite.image import APPLICATION_ID, empty_ledger
from metagit_mcp.adapters.sqlite.statements import statement
from metagit_mcp.errors import StoreTooNew, StoreUnavailable
from metagit_mcp.ports.ledger import InboxEntry, InboxSize, LedgerMark, StoredSnapshot
from tests.unit.adapters import children
from tests.unit.adapters.ledger_files import (
    KNOWN,
    NAME,
    OWN_ID,
    altered,
    append,
    connections,
    made,
    path_of,
    store_on,
    texts,
)

# As the first version of the ledger was made, word for word: such files lie on disks.
VERSION_1 = """
CREATE TABLE ledger (
    workspace_id TEXT NOT NULL
);

CREATE TABLE event (
    position INTEGER PRIMARY KEY CHECK (position > 0),
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL
);

CREATE TABLE snapshot (
    workspace_id TEXT NOT NULL,
    position INTEGER PRIMARY KEY CHECK (position > 0),
    version INTEGER NOT NULL,
    body BLOB NOT NULL
);
"""
HELD = InboxEntry(sequence=2, event_key=b"k" * 16, digest=b"d" * 16, body=b"{}")
ONE_HELD = InboxSize(held=1, bytes=2, first_held=2)


def made_by_the_first_version(root: Path) -> Path:
    """Make a ledger of schema version 1 with the events `a` and `b` and a snapshot."""
    path = path_of(root)
    with closing(sqlite3.connect(path)) as ledger:
        ledger.execute("PRAGMA journal_mode = WAL")
        ledger.executescript(VERSION_1)
        ledger.execute("INSERT INTO ledger VALUES (?)", (OWN_ID,))
        ledger.executemany("INSERT INTO event VALUES (?, 'kind', 1, ?)", [(1, b"a"), (2, b"b")])
        ledger.execute("INSERT INTO snapshot VALUES (?, 1, 1, x'00')", (OWN_ID,))
        ledger.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        ledger.execute("PRAGMA user_version = 1")
        ledger.commit()
    return path


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as ledger:
        return int(ledger.execute("PRAGMA user_version").fetchone()[0])


def shape(ledger: sqlite3.Connection) -> list[tuple[object, ...]]:
    return ledger.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()


def hold(store: SqliteEventStore, *entries: InboxEntry) -> None:
    with store.writing(KNOWN, lambda: OWN_ID) as writer:
        writer.inbox("g").put(entries or (HELD,))


# --- older and newer ledgers -------------------------------------------------------------------------------------


def test_a_ledger_of_the_first_version_is_read_as_it_is(root: Path) -> None:
    path = made_by_the_first_version(root)
    raw = path.read_bytes()
    with store_on(root) as store:
        assert (store.mark().position, texts(store), store.inbox_size("g")) == (2, ["a", "b"], InboxSize())
        assert store.snapshot() == StoredSnapshot(workspace_id=OWN_ID, position=1, version=1, body=b"\0")
        assert store.examine() == []
    assert path.read_bytes() == raw


def test_the_first_block_brings_a_ledger_of_the_first_version_up_to_date(root: Path) -> None:
    path = made_by_the_first_version(root)
    with store_on(root) as store, store_on(root) as other:
        assert other.inbox_size("g") == InboxSize()
        hold(store)
        assert store.inbox_size("g") == other.inbox_size("g") == ONE_HELD
        append(other, "c")
        assert texts(store) == ["a", "b", "c"]
    assert version_of(path) == 2
    with closing(sqlite3.connect(path)) as ledger, closing(sqlite3.connect(":memory:")) as fresh:
        fresh.deserialize(empty_ledger(OWN_ID)[:18] + b"\1\1" + empty_ledger(OWN_ID)[20:])
        assert shape(ledger) == shape(fresh)


def test_a_block_that_fails_leaves_the_first_version(root: Path) -> None:
    path = made_by_the_first_version(root)

    def fail(store: SqliteEventStore) -> None:
        with store.writing(KNOWN, lambda: OWN_ID) as writer:
            assert store.inbox_size("g") == InboxSize()
            writer.inbox("g").put([HELD])
            raise KeyError

    with store_on(root) as store:
        with pytest.raises(KeyError):
            fail(store)
        assert (version_of(path), store.inbox_size("g"), store.examine()) == (1, InboxSize(), [])
        hold(store)
        assert (version_of(path), store.inbox_size("g")) == (2, ONE_HELD)


def test_a_snapshot_too_brings_a_ledger_up_to_date(root: Path) -> None:
    path = made_by_the_first_version(root)
    with store_on(root) as store:
        assert store.mark().position == 2
        store.keep(StoredSnapshot(workspace_id=OWN_ID, position=2, version=1, body=b""))
        assert (store.snapshot() or HELD) != HELD
    assert version_of(path) == 2


def test_a_ledger_that_a_newer_program_changed_under_a_server_is_left_alone(root: Path) -> None:
    path = made(root, "a")
    with store_on(root) as store:
        hold(store)
        altered(path, "PRAGMA user_version = 3")
        for use in (store.mark, lambda: hold(store), lambda: store.inbox_size("g")):
            with pytest.raises(StoreTooNew):
                use()


# --- what may happen to a block ------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", ["ledger.begun", "ledger.appended", "ledger.committed"])
@pytest.mark.parametrize("is_old", [True, False])
def test_a_kill_leaves_the_inbox_and_the_events_of_whole_blocks(root: Path, point: str, *, is_old: bool) -> None:
    path = made_by_the_first_version(root) if is_old else made(root, "a", "b")
    assert children.run("die_holding", root, point, module="ledger_child") == (-signal.SIGKILL, "", f"{point}\n")
    kept = point == "ledger.committed"
    with store_on(root) as store:
        assert store.inbox_size("g") == (ONE_HELD if kept else InboxSize())
        assert texts(store) == (["a", "b", "c"] if kept else ["a", "b"])
        assert store.examine() == []
    assert version_of(path) == (2 if kept or not is_old else 1)


def test_an_inbox_of_a_ledger_that_vanishes_during_the_block_is_not_acknowledged(root: Path) -> None:
    made(root, "a")

    def take(store: SqliteEventStore) -> None:
        with store.writing(KNOWN, lambda: OWN_ID) as writer:
            path_of(root).unlink()
            writer.inbox("g").put([HELD])

    with store_on(root) as store:
        with pytest.raises(StoreUnavailable, match="was deleted or replaced meanwhile"):
            take(store)
        assert store.inbox_size("g") == InboxSize()


def test_after_a_full_disk_nothing_of_the_block_is_kept_though_its_caller_goes_on(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def go_on(store: SqliteEventStore) -> None:
        with store.writing(KNOWN, lambda: OWN_ID) as writer:
            inbox = writer.inbox("g")
            inbox.put([HELD])
            with pytest.raises(StoreUnavailable, match="cannot grow: the disk is full"):
                inbox.put([InboxEntry(sequence=3, event_key=b"l" * 16, digest=b"d" * 16, body=b"x" * 60_000)])
            with pytest.raises(RuntimeError, match="the writing block of this inbox is over"):
                inbox.put([HELD])
            writer.append([("kind", 1, b"b")])

    with store_on(root) as store, connections(monkeypatch) as used:
        append(store, "a")
        pages = used[-1].execute("PRAGMA page_count").fetchone()[0]
        used[-1].execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(RuntimeError, match="is over"):
            go_on(store)
        assert (texts(store), store.inbox_size("g")) == (["a"], InboxSize())
        hold(store)
        assert store.inbox_size("g") == ONE_HELD


def test_an_inbox_in_a_ledger_that_cannot_be_written_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with store_on(root) as store:
        hold(store)
    monkeypatch.setattr(os, "access", lambda *_: False)
    connect = sqlite3.connect

    def refused(path: str, **options: object) -> sqlite3.Connection:
        uri = "file:/nowhere/ledger.db?mode=rw" if "mode=rw" in path else path
        connection: sqlite3.Connection = connect(uri, **options)  # type: ignore[call-overload]  # passed on as they are
        return connection

    monkeypatch.setattr(sqlite3, "connect", refused)
    with store_on(root) as store:
        assert (store.inbox_size("g"), store.mark()) == (ONE_HELD, LedgerMark(workspace_id=OWN_ID, position=0))


# --- damage, and how entries are found -----------------------------------------------------------------------------


def test_an_examination_names_held_events_that_lost_their_entries(root: Path) -> None:
    with store_on(root) as store:
        hold(store)
        append(store, "a", "b", "c")
    altered(path_of(root), "DELETE FROM inbox_entry", "DELETE FROM event WHERE position = 2")
    with store_on(root) as store:
        assert store.examine() == [
            f"{NAME} is damaged: event 2 is missing.",
            f"{NAME} is damaged: the entries of 1 held Group Events are missing.",
        ]


def test_entries_are_found_by_both_keys_and_no_table_is_walked(root: Path) -> None:
    values = {"group_id": "g", "sequences": "[1]", "keys": b"", "count": 1, "width": 16}
    values |= {"after": 0, "limit": 1, "up_to": 1, "before": 1}
    names = ("inbox_places", "inbox_keys", "read_held", "held_size", "drop_held", "drop_entries")
    with closing(sqlite3.connect(made(root, "a"))) as ledger:
        plans = {
            name: [row[3] for row in ledger.execute(f"EXPLAIN QUERY PLAN {statement(name)}", values)] for name in names
        }
    assert "SEARCH inbox_entry USING PRIMARY KEY (group_number=? AND sequence=?)" in plans["inbox_places"]
    assert "SEARCH inbox_entry USING INDEX inbox_entry_by_key (group_number=? AND event_key=?)" in plans["inbox_keys"]
    walked = [plan for each in plans.values() for plan in each if plan.startswith("SCAN inbox_") or "TEMP" in plan]
    assert walked == []
