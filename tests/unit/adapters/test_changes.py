"""Each kind of change is found, by inotify and by stat alike, and nothing else is reported."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metagit_mcp.adapters.changes import EVERYTHING, ChangedPaths, Changes
from tests.unit.adapters.watching import FOLDERS, GRAPHS, MERGES, SCHEDULE, WAYS, Way, changed, grow, replace, write


@pytest.fixture(params=sorted(WAYS))
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


@pytest.fixture
def changes(root: Path, way: Way) -> Iterator[Changes]:
    watcher = way(str(root), FOLDERS)
    assert watcher.drain() == EVERYTHING
    assert watcher.drain() == changed()
    yield watcher
    watcher.close()


def test_each_kind_of_change_is_reported_once(graphs: Path, changes: Changes) -> None:
    steps: list[tuple[Callable[[], object], ChangedPaths]] = [
        (lambda: write(graphs / "a.json"), changed("a.json")),
        (lambda: write(graphs / "a.json"), changed("a.json")),
        (lambda: grow(graphs / "a.json"), changed("a.json")),
        (lambda: replace(graphs / "a.json"), changed("a.json")),
        (lambda: (graphs / "a.json").chmod(0), changed("a.json")),
        (lambda: (graphs / "a.json").rename(graphs / "b.json"), changed("a.json", "b.json")),
        ((graphs / "b.json").unlink, changed("b.json")),
        ((graphs / "d.json").mkdir, changed("d.json")),
        (lambda: write(graphs / "d.json" / "inner.json"), changed()),
        (lambda: os.mkfifo(graphs / "e.json"), changed("e.json")),
        (lambda: (graphs / "f.json").symlink_to("nowhere"), changed("f.json")),
    ]
    reports = []
    for step, _ in steps:
        step()
        reports.append(changes.drain())
        assert changes.drain() == changed()
    assert reports == [report for _, report in steps]


def test_files_of_two_folders_are_told_apart(graphs: Path, schedule: Path, changes: Changes) -> None:
    write(graphs / "policy.json")
    write(schedule / "policy.json")
    assert changes.drain() == ChangedPaths(frozenset({(GRAPHS, "policy.json"), (SCHEDULE, "policy.json")}))


def test_locks_dot_files_and_temporary_files_are_not_reported(graphs: Path, changes: Changes) -> None:
    for name in ("a.json.lock", ".swp.json", ".metagit-1-ab.tmp", "other.tmp"):
        write(graphs / name)
    assert changes.drain() == changed()


def test_the_ledger_is_not_reported_and_a_graph_of_its_name_is(graphs: Path, schedule: Path, changes: Changes) -> None:
    for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db-journal", "ledger.db.lock"):
        write(schedule / name)
        write(schedule / name)
    assert changes.drain() == changed()
    write(graphs / "ledger.db.json")
    write(graphs / "ledger.db-wal.json")
    assert changes.drain() == changed("ledger.db.json", "ledger.db-wal.json")


def test_a_folder_that_comes_later_goes_or_is_replaced_is_noticed(root: Path, changes: Changes) -> None:
    merges = root / MERGES
    merges.mkdir()
    assert changes.drain() == EVERYTHING
    write(merges / "m.json")
    assert changes.drain() == changed("m.json", folder=MERGES)
    merges.rename(root / "aside")
    assert changes.drain() == EVERYTHING
    write(root / "aside" / "m.json")
    assert changes.drain() == changed()
    merges.symlink_to(root / "aside")
    assert changes.drain() == EVERYTHING
    write(root / "aside" / "m.json")
    assert changes.drain() == changed("m.json", folder=MERGES)
    merges.unlink()
    assert changes.drain() == EVERYTHING
    merges.touch()
    assert changes.drain() == changed()


def test_a_folder_above_may_come_and_go_too(root: Path, changes: Changes) -> None:
    shutil.rmtree(root / ".metagit")
    assert changes.drain() == EVERYTHING
    (root / ".metagit").mkdir()
    assert changes.drain() == changed()
    (root / ".metagit" / "tasks").mkdir()
    assert changes.drain() == changed()
    (root / GRAPHS).mkdir()
    assert changes.drain() == EVERYTHING
    write(root / GRAPHS / "a.json")
    assert changes.drain() == changed("a.json")
    (root / ".metagit" / "tasks").rename(root / "aside")
    assert changes.drain() == EVERYTHING
    (root / "aside").rename(root / ".metagit" / "tasks")
    assert changes.drain() == EVERYTHING


def test_a_folder_that_becomes_unreadable_is_noticed(graphs: Path, changes: Changes) -> None:
    graphs.chmod(0o700)
    assert changes.drain() == EVERYTHING
    write(graphs / "a.json")
    assert changes.drain() == changed("a.json")


def test_the_whole_workspace_may_be_moved_behind_its_link(root: Path, tmp_path: Path, way: Way) -> None:
    shutil.copytree(root, tmp_path / "second")
    (tmp_path / "link").symlink_to(root)
    changes = way(str(tmp_path / "link"), FOLDERS)
    assert changes.drain() == EVERYTHING
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("second")
    assert changes.drain() == EVERYTHING
    write(tmp_path / "second" / GRAPHS / "a.json")
    write(root / GRAPHS / "b.json")
    assert changes.drain() == changed("a.json")
    changes.close()


def test_what_happens_above_a_linked_folder_is_noticed(root: Path, tmp_path: Path, way: Way) -> None:
    (tmp_path / "far").mkdir()
    (root / ".metagit").rename(tmp_path / "far" / "metagit")
    (root / ".metagit").symlink_to(tmp_path / "far" / "metagit")
    changes = way(str(root), FOLDERS)
    assert changes.drain() == EVERYTHING
    write(tmp_path / "far" / "metagit" / "tasks" / "graphs" / "a.json")
    assert changes.drain() == changed("a.json")
    (tmp_path / "far").rename(tmp_path / "away")
    assert changes.drain() == EVERYTHING
    (tmp_path / "away").rename(tmp_path / "far")
    assert changes.drain() == EVERYTHING
    changes.close()


def test_the_file_behind_a_link_is_watched(root: Path, graphs: Path, changes: Changes) -> None:
    write(root / "kept.json")
    (graphs / "a.json").symlink_to("../../../kept.json")
    assert changes.drain() == changed("a.json")
    write(root / "kept.json")
    assert changes.drain() == changed("a.json")
    (root / "kept.json").unlink()
    assert changes.drain() == changed("a.json")
    write(root / "kept.json")
    assert changes.drain() == changed("a.json")
    (graphs / "a.json").unlink()
    assert changes.drain() == changed("a.json")
    write(root / "kept.json")
    assert changes.drain() == changed()


def test_a_link_that_was_there_at_the_start_is_watched(root: Path, graphs: Path, way: Way) -> None:
    write(root / "kept.json")
    (graphs / "a.json").symlink_to("../../../kept.json")
    changes = way(str(root), FOLDERS)
    assert changes.drain() == EVERYTHING
    write(root / "kept.json")
    assert changes.drain() == changed("a.json")
    changes.close()


def test_one_folder_may_lie_above_another(root: Path, graphs: Path, way: Way) -> None:
    changes = way(str(root), (".metagit/tasks", GRAPHS))
    changes.drain()
    write(root / ".metagit/tasks/index.json")
    write(graphs / "a.json")
    both = ChangedPaths(frozenset({(".metagit/tasks", "index.json"), (GRAPHS, "a.json")}))
    assert changes.drain() == both
    grow(root / ".metagit/tasks/index.json")
    grow(graphs / "a.json")
    assert changes.drain() == both
    changes.close()
