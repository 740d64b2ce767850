"""What only one way to find changes can meet: a full queue, a refused watch, a young file; and the choice."""

import os
import shutil
from pathlib import Path

import pytest
from inotify_simple import INotify  # type: ignore[import-untyped]  # it ships no types

from metagit_mcp.adapters.changes import EVERYTHING, ChangedPaths, choice, open_changes
from metagit_mcp.adapters.changes.by_inotify import InotifyChanges
from metagit_mcp.adapters.changes.by_stat import StatChanges
from metagit_mcp.adapters.changes.signatures import YOUNG_NS, Signatures
from tests.unit.adapters.watching import FOLDERS, GRAPHS, LATE, SCHEDULE, changed, write


def test_an_overflowing_queue_means_everything(root: Path, graphs: Path) -> None:
    changes = InotifyChanges(str(root), FOLDERS)
    changes.drain()
    (graphs / "a.json").touch()
    (graphs / "b.json").touch()
    # Equal events in a row are one, so two files take turns.
    for _ in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text(encoding="utf-8"))):
        os.utime(graphs / "a.json")
        os.utime(graphs / "b.json")
    assert changes.drain() == EVERYTHING
    write(graphs / "a.json")
    assert changes.drain() == changed("a.json")
    changes.close()


def test_a_folder_made_anew_with_the_same_inode_is_noticed(root: Path, graphs: Path) -> None:
    changes = InotifyChanges(str(root), FOLDERS)
    changes.drain()
    graphs.rmdir()
    graphs.mkdir()
    assert changes.drain() == EVERYTHING
    write(graphs / "a.json")
    assert changes.drain() == changed("a.json")
    changes.close()


def test_a_folder_that_the_kernel_will_not_watch_is_looked_at(
    root: Path, graphs: Path, schedule: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_watch = INotify.add_watch

    def full(queue: INotify, path: str, mask: int) -> int:
        if path.endswith("graphs"):
            raise OSError(28, "")
        return int(add_watch(queue, path, mask))

    monkeypatch.setattr(INotify, "add_watch", full)
    changes = InotifyChanges(str(root), FOLDERS, now=lambda: LATE)
    assert changes.drain() == EVERYTHING
    write(graphs / "a.json")
    write(schedule / "policy.json")
    assert changes.drain() == ChangedPaths(frozenset({(GRAPHS, "a.json"), (SCHEDULE, "policy.json")}))
    shutil.rmtree(graphs)
    assert changes.drain() == EVERYTHING
    graphs.mkdir()
    assert changes.drain() == EVERYTHING
    write(graphs / "a.json")
    assert changes.drain() == changed("a.json")
    changes.close()


def test_a_young_file_is_reported_until_its_time_is_over() -> None:
    wall = ticks = 10**18
    files: Signatures[str] = Signatures(now=lambda: wall, ticks=lambda: ticks)
    old, young, ahead = wall - YOUNG_NS, wall - YOUNG_NS + 1, wall + 10**12
    fresh = {"old": (old, 0, 2, 1, 0), "young": (young, 0, 2, 2, 0), "ahead": (ahead, 0, 2, 3, 0)}
    assert files.replace(fresh) == {"old", "young", "ahead"}
    ticks += YOUNG_NS - 1
    assert files.replace(dict(fresh)) == {"young", "ahead"}
    ticks += 1
    assert files.replace(dict(fresh)) == {"young", "ahead"}
    assert files.replace(dict(fresh)) == set()


def test_a_file_that_is_written_again_within_one_tick_of_the_clock_is_read_again(root: Path, graphs: Path) -> None:
    changes = StatChanges(str(root), FOLDERS)
    changes.drain()
    (graphs / "a.json").write_bytes(b"1")
    assert changes.drain() == changed("a.json")
    (graphs / "a.json").write_bytes(b"2")
    assert changes.drain() == changed("a.json")


def test_a_folder_that_cannot_be_listed_is_an_empty_one(
    root: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(graphs / "a.json")

    def denied(*_: object) -> int:
        raise PermissionError

    changes = StatChanges(str(root), FOLDERS, now=lambda: LATE)
    changes.drain()
    monkeypatch.setattr(os, "open", denied)
    assert changes.drain() == changed("a.json")


def test_a_file_that_goes_away_while_its_folder_is_looked_at_is_one_that_is_gone(
    root: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(graphs / "a.json")
    changes = StatChanges(str(root), FOLDERS, now=lambda: LATE)
    changes.drain()
    real, ghosts = os.listdir, ChangedPaths(frozenset({(GRAPHS, "ghost.json"), (SCHEDULE, "ghost.json")}))
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(os, "listdir", lambda fd: [*real(fd), "ghost.json"])
        assert [changes.drain(), changes.drain()] == [ghosts, ChangedPaths()]
    assert changes.drain() == ghosts


def test_a_workspace_that_is_replaced_is_everything_though_no_folder_was_watched_in_it(tmp_path: Path) -> None:
    root = tmp_path / "bare"
    root.mkdir()
    changes = StatChanges(str(root), FOLDERS, now=lambda: LATE)
    assert [changes.drain(), changes.drain()] == [EVERYTHING, ChangedPaths()]
    root.rmdir()
    assert [changes.drain(), changes.drain()] == [EVERYTHING, ChangedPaths()]


@pytest.mark.parametrize(
    ("kind", "expected"), [("ext4", InotifyChanges), ("nfs4", StatChanges), ("fuse.sshfs", StatChanges)]
)
def test_a_disk_that_other_machines_write_to_is_looked_at(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, expected: type
) -> None:
    device = root.stat().st_dev
    rows = [
        f"1 2 {os.major(device)}:{os.minor(device)} / / rw shared:1 - {kind} server:/x rw",
        "3 4 999999:1 / /far rw - nfs server:/y rw",
    ]
    (tmp_path / "mounts").write_text("\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.setattr(choice, "MOUNTS", str(tmp_path / "mounts"))
    changes = open_changes(str(root), FOLDERS)
    changes.close()
    assert type(changes) is expected


def test_the_way_can_be_forced_and_falls_back_to_looking(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "MOUNTS", str(root / "missing"))
    kinds = []
    for mode in ("auto", "inotify", "stat"):
        changes = open_changes(str(root), FOLDERS, mode=mode)
        changes.close()
        kinds.append(type(changes))
    assert kinds == [InotifyChanges, InotifyChanges, StatChanges]

    def too_many(*_: object, **__: object) -> None:
        raise OSError(24, "")

    monkeypatch.setattr(INotify, "__init__", too_many)
    assert type(open_changes(str(root), FOLDERS, mode="inotify")) is StatChanges
