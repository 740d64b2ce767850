"""A ledger that is damaged, too new, foreign, cut off or gone is named as such, and never taken for an empty one."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from metagit_mcp.adapters.refusals import FileRefused
from metagit_mcp.errors import StoreCorrupt, StoreTooNew, StoreUnavailable
from metagit_mcp.ports.ledger import LedgerMark, StoredSnapshot
from tests.unit.adapters.ledger_files import (
    KNOWN,
    NAME,
    OWN_ID,
    altered,
    append,
    made,
    path_of,
    store_on,
    texts,
)

MEND = (
    "`metagit-mcp doctor` says more. To go on, stop all servers of this workspace and move the file away: the next "
    "claim makes a new ledger from the task graph files. Leases, attempts and checkpoints are then lost."
)


def foreign(path: Path) -> None:
    path.unlink()
    altered(path, "CREATE TABLE event (position INTEGER PRIMARY KEY)")


def flipped(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[4096:] = b"\xa5" * len(raw[4096:])
    path.write_bytes(raw)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "garbage": (lambda path: path.write_bytes(b"not a database " * 999), "SQLite cannot read it"),
    "emptied": (lambda path: path.write_bytes(b""), "it is no ledger of metagit-mcp"),
    "foreign": (foreign, "it is no ledger of metagit-mcp"),
    "cut": (lambda path: os.truncate(path, 20_000), "SQLite cannot read it"),
    "flipped": (flipped, "SQLite cannot read it"),
    "no table": (lambda path: altered(path, "DROP TABLE event"), "SQLite cannot read it"),
    "no name": (lambda path: altered(path, "DELETE FROM ledger"), "its beginning is missing"),
    "no beginning": (lambda path: altered(path, "DELETE FROM event WHERE position = 1"), "its beginning is missing"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_ledger_is_named_and_stays_as_it_is(root: Path, kind: str) -> None:
    path = made(root, *"abcdefghij", size=3_000)
    damage, why = DAMAGE[kind]
    damage(path)
    raw = path.read_bytes()
    with store_on(root) as store:
        for use in (store.mark, lambda: store.read(0), store.snapshot, lambda: append(store, "z")):
            with pytest.raises(StoreCorrupt) as caught:
                use()
            record = caught.value.as_record()
            assert (record["message"], record["hint"]) == (f"{NAME} is damaged: {why}.", MEND)
            assert caught.value.details["file"] == NAME
        store.keep(StoredSnapshot(workspace_id=OWN_ID, position=1, version=1, body=b""))
    assert path.read_bytes() == raw


def test_a_gap_is_found_when_it_is_read_over(root: Path) -> None:
    altered(made(root, *"abcde"), "DELETE FROM event WHERE position = 3")
    with store_on(root) as store:
        assert [each.position for each in store.read(3)] == [4, 5]
        for after in (0, 2):
            with pytest.raises(StoreCorrupt, match=f"an event after position {after} is missing"):
                store.read(after)
        with pytest.raises(StoreCorrupt, match="an event after position 0 is missing"):
            append(store, "z")
        assert store.mark() == LedgerMark(workspace_id=OWN_ID, position=5)


def test_an_examination_names_each_gap(root: Path) -> None:
    altered(made(root, *"abcdefgh"), "DELETE FROM event WHERE position IN (3, 5, 6)")
    with store_on(root) as store:
        assert store.examine() == [
            f"{NAME} is damaged: event 3 is missing.",
            f"{NAME} is damaged: the events 5 to 6 are missing.",
        ]


def test_an_examination_finds_a_hole_that_nobody_read(root: Path) -> None:
    path = made(root, *"abcdefghijklmnopqrst", size=3_000)
    raw = bytearray(path.read_bytes())
    raw[64_000:68_000] = bytes(4_000)
    path.write_bytes(raw)
    with store_on(root) as store:
        assert store.mark() == LedgerMark(workspace_id=OWN_ID, position=20)
        assert store.examine() == [f"{NAME} is damaged: a part of it is missing."]


def test_what_cannot_be_opened_cannot_be_examined(root: Path) -> None:
    altered(made(root, "a"), "PRAGMA user_version = 7")
    with store_on(root) as store, pytest.raises(StoreTooNew):
        store.examine()


def test_a_ledger_of_a_newer_version_is_left_alone(root: Path) -> None:
    path = made(root, "a")
    altered(path, "PRAGMA user_version = 7", "ALTER TABLE event RENAME TO happening")
    raw = path.read_bytes()
    with store_on(root) as store:
        for use in (store.mark, lambda: append(store, "z")):
            with pytest.raises(StoreTooNew) as caught:
                use()
            assert caught.value.as_record() == {
                "code": "STORE_TOO_NEW",
                "message": f"{NAME} has schema version 7; this metagit-mcp knows versions up to 2.",
                "hint": "Use the newer metagit-mcp that wrote it (pip install --upgrade metagit-mcp), also in other "
                "servers.",
                "details": {"file": NAME, "found": 7, "known": 2},
                "retryable": False,
            }
    assert path.read_bytes() == raw


# --- under an open connection ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 4_096, 20_000])
def test_a_ledger_that_is_cut_off_under_a_server_is_noticed(root: Path, size: int) -> None:
    made(root, *"abcdefghij", size=3_000)
    with store_on(root) as store:
        assert len(store.read(0)) == 10
        os.truncate(path_of(root), size)
        # Each time: the first refusal must not be the last.
        for _ in range(2):
            with pytest.raises(StoreCorrupt):
                store.mark()
            with pytest.raises(StoreCorrupt):
                append(store, "z")


def test_a_hole_in_the_middle_is_noticed_though_both_ends_can_be_read(root: Path) -> None:
    made(root, *"abcdefghijklmnopqrst", size=3_000)
    with store_on(root) as store, store_on(root) as other:
        assert len(other.read(0)) == 20
        append(store, "z")
        os.truncate(path_of(root), 64_000)
        for _ in range(2):
            with pytest.raises(StoreCorrupt) as caught:
                store.mark()
            assert caught.value.message == f"{NAME} is damaged: a part of it is missing."


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("DELETE FROM event WHERE position = 1", "its beginning is missing"),
        ("DROP TABLE event", "SQLite cannot read it"),
    ],
)
def test_a_ledger_that_is_damaged_under_a_server_is_noticed(root: Path, damage: str, why: str) -> None:
    path = made(root, "a", "b")
    with store_on(root) as store:
        assert texts(store) == ["a", "b"]
        altered(path, damage)
        for use in (lambda: append(store, "z"), store.mark):
            with pytest.raises(StoreCorrupt) as caught:
                use()
            assert caught.value.message == f"{NAME} is damaged: {why}."


def test_a_ledger_that_only_became_shorter_is_used_on(root: Path) -> None:
    path = made(root, "a", "b")
    altered(path, "CREATE TABLE filler (x)", "INSERT INTO filler VALUES (zeroblob(200000))")
    with store_on(root) as store:
        assert store.mark().position == 2
        altered(path, "DROP TABLE filler", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")
        assert store.mark() == LedgerMark(workspace_id=OWN_ID, position=2)
        append(store, "c")
        assert texts(store) == ["a", "b", "c"]


def test_a_ledger_that_is_replaced_under_two_servers_is_read_without_the_log_of_the_former(
    root: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / ".metagit").mkdir(parents=True)
    replacement = made(other, "x", "y", "z", workspace_id="1" * 32)
    with store_on(root) as first, store_on(root) as second:
        append(first, "a", size=100_000)
        append(second, "b")
        assert Path(f"{path_of(root)}-wal").stat().st_size > 100_000
        replacement.replace(path_of(root))
        for store in (second, first):
            assert store.mark() == LedgerMark(workspace_id="1" * 32, position=3)
            assert texts(store) == ["x", "y", "z"]
        append(first, "1")
        append(second, "2")
        assert texts(first) == texts(second) == ["x", "y", "z", "1", "2"]
    with store_on(root) as third:
        assert texts(third) == ["x", "y", "z", "1", "2"]


def test_what_a_deleted_ledger_left_behind_is_not_taken_for_that_of_the_next(root: Path) -> None:
    path = path_of(root)
    with store_on(root) as first:
        append(first, "a", size=100_000)
        shutil.copy(f"{path}-wal", root / "log")
        path.unlink()
    # As after a kill, only worse: the log of the former ledger lies beside none.
    shutil.copy(root / "log", f"{path}-wal")
    with store_on(root) as second:
        assert second.mark() == LedgerMark()
        append(second, "b", new_id=lambda: "2" * 32)
        assert (second.mark().workspace_id, texts(second)) == ("2" * 32, ["b"])


def test_a_ledger_that_vanishes_during_a_block_acknowledges_nothing(root: Path) -> None:
    with store_on(root) as store:
        append(store, "a")

        def claim() -> None:
            with store.writing(KNOWN, lambda: OWN_ID) as writer:
                path_of(root).unlink()
                assert store.mark().position == 1
                writer.append([("kind", 1, b"b")])

        with pytest.raises(StoreUnavailable) as caught:
            claim()
        assert caught.value.as_record() == {
            "code": "STORE_UNAVAILABLE",
            "message": f"{NAME} was deleted or replaced meanwhile.",
            "hint": "Nothing of this is in the ledger that lies there now. Try again.",
            "details": {"file": NAME},
            "retryable": True,
        }
        append(store, "c")
        assert texts(store) == ["c"]


def test_a_snapshot_of_a_replaced_ledger_is_not_kept_in_the_next(root: Path) -> None:
    with store_on(root) as former, store_on(root) as next_one:
        append(former, "a", "b")
        path_of(root).unlink()
        append(next_one, "c", "d", "e")
        former.keep(StoredSnapshot(workspace_id=OWN_ID, position=2, version=1, body=b"a and b"))
        assert (former.snapshot(), next_one.snapshot()) == (None, None)


def test_a_ledger_is_never_read_or_made_through_a_link_out_of_the_workspace(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / ".metagit").mkdir(parents=True)
    elsewhere = made(outside, "secret")
    path_of(root).symlink_to(elsewhere)
    with store_on(root) as store:
        for use in (store.mark, lambda: append(store, "z")):
            with pytest.raises(FileRefused, match="is a link that leads out of the workspace"):
                use()
        path_of(root).unlink()
        path_of(root).symlink_to(tmp_path / "nothing")
        with pytest.raises(FileRefused, match="is a link that leads nowhere"):
            append(store, "z")
        path_of(root).unlink()
        path_of(root).mkdir()
        with pytest.raises(FileRefused, match="is not a regular file but a folder"):
            store.mark()
    with closing(sqlite3.connect(elsewhere)) as ledger:
        assert ledger.execute("SELECT count(*) FROM event").fetchone() == (1,)
