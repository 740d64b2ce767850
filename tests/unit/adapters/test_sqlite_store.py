"""The SQLite store keeps its promises about the file: durable, private, waited for, and only where SQLite is safe."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from metagit_mcp.adapters import file_systems
from metagit_mcp.adapters.sqlite import statements
from metagit_mcp.adapters.sqlite.store import BUSY_SECONDS, SqliteEventStore
from metagit_mcp.errors import MetagitError, ReadOnlyWorkspace, StoreUnavailable
from metagit_mcp.ports.ledger import LedgerMark, StoredSnapshot
from tests.unit.adapters import children
from tests.unit.adapters.ledger_files import (
    NAME,
    OWN_ID,
    append,
    connections,
    made,
    path_of,
    store_on,
    texts,
    use_inbox,
)

REPOSITORY = Path(__file__).resolve().parents[3]


# --- the file ----------------------------------------------------------------------------------------------------


def test_a_ledger_is_private_durable_and_says_what_it_is(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with store_on(root) as store, connections(monkeypatch) as used:
        append(store, "a")
        settings = [
            used[-1].execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "busy_timeout", "application_id", "user_version")
        ]
        modes = [stat.S_IMODE(Path(f"{path_of(root)}{end}").stat().st_mode) for end in ("", "-wal", "-shm")]
    assert settings == ["wal", 2, 0, int.from_bytes(b"mgLg"), 2]
    assert modes == [0o600] * 3
    left = {path.name for path in path_of(root).parent.iterdir()}
    assert left == {".gitignore", "ledger.db", "ledger.db.lock", "workspace.json"}
    assert BUSY_SECONDS == 5


def test_reading_touches_nothing_where_there_is_no_ledger(root: Path) -> None:
    path_of(root).parent.rmdir()
    before = sorted(root.rglob("*"))
    with store_on(root) as store:
        assert (store.mark(), store.read(0), store.snapshot()) == (LedgerMark(), (), None)
        store.keep(StoredSnapshot(workspace_id=OWN_ID, position=0, version=1, body=b""))
    assert sorted(root.rglob("*")) == before


def test_sqlite_is_loaded_when_there_is_a_ledger_and_not_before(root: Path) -> None:
    probe = (
        "import sys\nfrom metagit_mcp.adapters.sqlite import SqliteEventStore\n"
        "store = SqliteEventStore(sys.argv[1])\nprint(store.mark().position, 'sqlite3' in sys.modules)\nstore.close()"
    )

    def said() -> str:
        command = [sys.executable, "-c", probe, str(root)]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout

    assert said() == "0 False\n"
    made(root, "a")
    assert said() == "1 True\n"


def test_a_workspace_may_have_any_name(tmp_path: Path) -> None:
    root = tmp_path / "a?b#c%20 é'\"&mode=memory"
    (root / ".metagit").mkdir(parents=True)
    made(root, "a")
    with store_on(root) as store:
        assert texts(store) == ["a"]
    assert path_of(root).is_file()


def test_a_path_that_is_too_long_for_sqlite_is_named_as_the_reason(tmp_path: Path) -> None:
    root = tmp_path
    while len(str(root)) < 480:
        root = root / ("x" * 60)
    (root / ".metagit").mkdir(parents=True)
    with store_on(root) as store, pytest.raises(StoreUnavailable, match="lies deeper than the 503 bytes of path"):
        append(store, "a")
    assert not path_of(root).exists()


def test_the_files_beside_the_ledger_follow_it(root: Path) -> None:
    identity, ignored = path_of(root).parent / "workspace.json", path_of(root).parent / ".gitignore"
    ignored.write_text("# mine\nledger.db-shm\n*.bak")
    made(root, "a")
    lines = ["# mine", "ledger.db-shm", "*.bak", "ledger.db", "ledger.db-wal", "ledger.db.lock"]
    assert ignored.read_text().splitlines() == lines
    assert json.loads(identity.read_text()) == {"workspace_id": OWN_ID}
    before = ignored.stat()
    for broken in (b"", b'{"workspace_id": "another"}\n'):
        identity.write_bytes(broken)
        with store_on(root) as store:
            append(store, "b")
        assert json.loads(identity.read_text()) == {"workspace_id": OWN_ID}
    assert (ignored.stat().st_ino, ignored.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_files_beside_the_ledger_that_cannot_be_written_stop_no_claim(root: Path) -> None:
    for name in ("workspace.json", ".gitignore"):
        (path_of(root).parent / name).mkdir()
    made(root, "a", "b")
    with store_on(root) as store:
        assert texts(store) == ["a", "b"]


def test_every_statement_is_a_file_and_every_file_a_statement_in_use(root: Path) -> None:
    with store_on(root) as store:
        statements.statement.cache_clear()
        append(store, "a")
        store.keep(StoredSnapshot(workspace_id=OWN_ID, position=1, version=1, body=b""))
        store.snapshot()
        store.read(0)
        store.examine()
        use_inbox(store)
    files = list(Path(statements.__file__).parent.joinpath("sql").iterdir())
    assert statements.statement.cache_info().currsize == len(files) == 21


def test_reading_on_from_a_position_uses_the_primary_key(root: Path) -> None:
    with closing(sqlite3.connect(made(root, "a"))) as ledger:
        plans = [
            row[3]
            for name, values in (("read_events", (1, -1)), ("mark", ()), ("newest_snapshot", ()))
            for row in ledger.execute(f"EXPLAIN QUERY PLAN {statements.statement(name)}", values)
        ]
    assert "SEARCH event USING INTEGER PRIMARY KEY (rowid>?)" in plans
    assert [plan for plan in plans if "TEMP B-TREE" in plan] == []


# --- waiting and room --------------------------------------------------------------------------------------------


def test_a_foreign_writer_that_does_not_end_is_named_and_then_it_goes_on(root: Path) -> None:
    path = made(root, "a")
    with store_on(root, busy_seconds=0.05) as store, closing(sqlite3.connect(path, isolation_level=None)) as foreign:
        foreign.execute("BEGIN IMMEDIATE")
        assert (store.mark().position, texts(store)) == (1, ["a"])
        store.keep(StoredSnapshot(workspace_id=OWN_ID, position=1, version=1, body=b""))
        with pytest.raises(StoreUnavailable) as caught:
            append(store, "b")
        foreign.execute("ROLLBACK")
        assert store.snapshot() is None
        append(store, "c")
        assert texts(store) == ["a", "c"]
    assert caught.value.as_record() == {
        "code": "STORE_UNAVAILABLE",
        "message": f"{NAME} is locked by another process.",
        "hint": "Another command or server is writing. Try again.",
        "details": {"file": NAME, "sqlite": "SQLITE_BUSY"},
        "retryable": True,
    }


def test_a_writer_waits_for_one_that_ends(root: Path) -> None:
    made(root, "a")
    holder = children.start("hold", root, module="ledger_child")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with store_on(root, busy_seconds=60) as store:
        waiting = threading.Thread(target=append, args=(store, "b"))
        waiting.start()
        assert children.finish(holder) == (0, "", "")
        waiting.join(timeout=60)
        assert texts(store) == ["a", "b"]


def test_a_full_database_appends_nothing_and_goes_on_once_there_is_room(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store_on(root) as store, connections(monkeypatch) as used:
        append(store, "a")
        pages = used[-1].execute("PRAGMA page_count").fetchone()[0]
        used[-1].execute(f"PRAGMA max_page_count = {pages + 2}")
        for _ in range(2):
            with pytest.raises(StoreUnavailable) as caught:
                append(store, "b", "c", size=8_000)
            assert (store.mark().position, texts(store)) == (1, ["a"])
            assert caught.value.as_record() == {
                "code": "STORE_UNAVAILABLE",
                "message": f"{NAME} cannot grow: the disk is full.",
                "hint": "Nothing of this was written. Make room on the disk, then try again.",
                "details": {"file": NAME, "sqlite": "SQLITE_FULL"},
                "retryable": True,
            }
        store.keep(StoredSnapshot(workspace_id=OWN_ID, position=1, version=1, body=b"x" * 90_000))
        assert store.snapshot() is None
        used[-1].execute("PRAGMA max_page_count = 100000")
        append(store, "d", size=8_000)
        assert texts(store) == ["a", "d"]


# --- where it lies, and who asks ---------------------------------------------------------------------------------


def mounts(tmp_path: Path, *rows: str) -> str:
    table = tmp_path / "mountinfo"
    table.write_text("".join(f"{row}\n" for row in rows))
    return str(table)


@pytest.mark.parametrize(
    ("kind", "is_refused"),
    [("nfs4", True), ("cifs", True), ("9p", True), ("virtiofs", True), ("fuse.sshfs", True), ("ext4", False)],
)
def test_a_ledger_on_a_shared_folder_is_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, *, is_refused: bool
) -> None:
    table = mounts(
        tmp_path,
        "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw",
        f"41 22 0:40 / {root} rw master:1 shared:2 - {kind} host:/share rw",
        f"42 22 0:41 / {root}-beside rw - nfs host:/other rw",
    )
    monkeypatch.setattr(file_systems, "_MOUNTS", table)
    with store_on(root) as store:
        if not is_refused:
            append(store, "a")
            return
        assert store.mark() == LedgerMark()
        with pytest.raises(StoreUnavailable) as caught:
            append(store, "a")
    assert not path_of(root).exists()
    assert caught.value.as_record() == {
        "code": "STORE_UNAVAILABLE",
        "message": f"{NAME} lies on a network or shared file system ({kind}).",
        "hint": "Keep the workspace on a local disk of the machine on which its servers run: on a network file system "
        "or a folder shared with a virtual machine, two writers could damage the ledger. Reading the plan works there.",
        "details": {"file": NAME, "why": f"lies on a network or shared file system ({kind})"},
        "retryable": False,
    }


def test_the_last_of_the_longest_mounts_counts_and_names_are_unescaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = mounts(
        tmp_path,
        r"1 0 0:1 / / rw - nfs a:/ rw",
        r"2 1 0:2 / /my\040disk rw - ext4 /dev/a rw",
        r"3 1 0:3 / /my\040disk/in rw - ext4 /dev/a rw",
        r"4 1 0:3 / /my\040disk/in rw - fuse.sshfs b: rw",
    )
    monkeypatch.setattr(file_systems, "_MOUNTS", table)
    paths = ("/other", "/my disk", "/my disk/x/y", "/my disk/in/x", "/my disk/inside")
    assert [file_systems.shared_file_system(path) for path in paths] == ["nfs", None, None, "fuse.sshfs", None]
    monkeypatch.setattr(file_systems, "_MOUNTS", str(tmp_path / "nowhere"))
    assert file_systems.shared_file_system("/other") is None


def shown_to_all(root: Path, *, folder_mode: int = 0o555) -> None:
    schedule = path_of(root).parent
    for path in schedule.iterdir():
        path.chmod(0o644)
    schedule.chmod(folder_mode)


def test_a_ledger_in_a_read_only_folder_can_be_read_and_not_written(root: Path) -> None:
    made(root, "a", "b")
    shown_to_all(root)
    refused = f"READ_ONLY {NAME} cannot be written by this user."
    code, out, err = children.run("look_and_put", root, module="ledger_child")
    assert (code, out.splitlines(), err) == (0, ["2 2 None", refused], "")
    assert sorted(path.name for path in path_of(root).parent.iterdir()) == [
        ".gitignore",
        "ledger.db",
        "ledger.db.lock",
        "workspace.json",
    ]


def test_a_ledger_with_an_open_log_in_a_read_only_folder_is_read_with_it_or_refused(root: Path) -> None:
    with store_on(root) as store:
        append(store, "a")
        shown_to_all(root)
        assert children.run("look", root, module="ledger_child") == (0, "1 1 None", "")
        Path(f"{path_of(root)}-shm").chmod(0o600)
        refused = f"STORE_UNAVAILABLE {NAME} cannot be opened, since SQLite cannot use the files beside it."
        assert children.run("look", root, module="ledger_child") == (0, refused, "")


def test_a_ledger_of_another_user_is_named(root: Path) -> None:
    made(root, "a")
    refused = f"STORE_UNAVAILABLE {NAME} cannot be read by this user."
    assert children.run("look", root, module="ledger_child") == (0, refused, "")


def test_a_ledger_that_is_read_as_it_lies_is_looked_at_again_when_it_changes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(root, "a")
    monkeypatch.setattr(os, "access", lambda *_: False)
    connect, refusing = sqlite3.connect, [True]

    def refused(path: str, **options: object) -> sqlite3.Connection:
        is_refused = refusing[0] and "mode=rw" in path
        uri = "file:/nowhere/ledger.db?mode=rw" if is_refused else path
        connection: sqlite3.Connection = connect(uri, **options)  # type: ignore[call-overload]  # passed on as they are
        return connection

    with store_on(root) as store, store_on(root) as writer:
        monkeypatch.setattr(sqlite3, "connect", refused)
        assert store.mark() == store.mark() == LedgerMark(workspace_id=OWN_ID, position=1)
        with pytest.raises(ReadOnlyWorkspace):
            append(store, "z")
        refusing[0] = False
        append(writer, "b")
        assert store.mark().position == 2


def test_a_workspace_that_is_gone_gets_no_ledger(tmp_path: Path) -> None:
    store = SqliteEventStore(str(tmp_path / "gone"))
    assert store.mark() == LedgerMark()
    with pytest.raises(MetagitError, match="is gone"):
        append(store, "a")
    assert list(tmp_path.iterdir()) == []


# --- one writer --------------------------------------------------------------------------------------------------


def test_other_writers_are_kept_out_until_the_log_is_moved(root: Path) -> None:
    made(root, "a")
    lock = Path(f"{path_of(root)}.lock")
    with store_on(root, busy_seconds=0.05) as store:
        holder = children.start("hold", root, lock)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreUnavailable) as caught:
            append(store, "b")
        store.keep(StoredSnapshot(workspace_id=OWN_ID, position=1, version=1, body=b""))
        assert children.finish(holder) == (0, "done", "")
        assert (texts(store), store.snapshot()) == (["a"], None)
        with store.writing(LedgerMark(), lambda: OWN_ID):
            assert children.run("peek", root, lock) == (0, "busy", "")
        assert children.run("peek", root, lock) == (0, "done", "")
    assert caught.value.as_record() == {
        "code": "STORE_UNAVAILABLE",
        "message": f"{NAME} is locked by another process.",
        "hint": "Another command or server is writing. Try again.",
        "details": {"file": NAME},
        "retryable": True,
    }


def test_a_lock_file_that_is_deleted_or_replaced_is_made_anew(root: Path) -> None:
    lock = Path(f"{path_of(root)}.lock")
    with store_on(root) as store:
        for change in (lock.unlink, lambda: lock.with_suffix(".new").replace(lock)):
            append(store, "a")
            lock.with_suffix(".new").touch()
            change()
        append(store, "b")
        with store.writing(LedgerMark(), lambda: OWN_ID):
            assert children.run("peek", root, lock) == (0, "busy", "")


def test_a_lock_file_that_cannot_be_one_is_named(root: Path) -> None:
    made(root, "a")
    lock = Path(f"{path_of(root)}.lock")
    lock.unlink()
    lock.mkdir()
    with store_on(root) as store, pytest.raises(StoreUnavailable, match=r"ledger\.db\.lock is not a regular file"):
        append(store, "b")


def test_a_store_is_waited_for_by_the_threads_that_share_it(root: Path) -> None:
    with store_on(root, busy_seconds=0.05) as store:
        refused: list[str] = []

        def look() -> None:
            with pytest.raises(StoreUnavailable) as caught:
                store.mark()
            refused.append(caught.value.message)

        with store.writing(LedgerMark(), lambda: OWN_ID):
            other = threading.Thread(target=look)
            other.start()
            other.join(timeout=60)
    assert refused == ["Another call of this process has the ledger and does not end."]
