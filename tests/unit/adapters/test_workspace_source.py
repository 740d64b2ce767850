"""One image of the workspace: the same object at the same state, the same version in every process."""

import gc
import os
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metagit_mcp.adapters.changes import open_changes
from metagit_mcp.adapters.layout import WATCHED
from metagit_mcp.adapters.workspace_source import WorkspaceFiles
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.ports.workspace import WorkspaceImage
from metagit_mcp.scheduling.snapshot import Surroundings
from tests.unit.adapters.reading import AT, Reader, node, put, put_graph, state_of
from tests.unit.adapters.second import run_as_nobody


@pytest.fixture
def reader(root: Path) -> Reader:
    return Reader(root)


def populate(root: Path) -> None:
    """Write one file of every kind."""
    metagit = root / ".metagit"
    for name in ("b", "a"):
        put_graph(metagit / "tasks" / "graphs", name, node("n", deadline="2026-12-01T12:00:00Z"))
    tree = {"path": str(root), "repository": "api", "agent_id": "x", "status": "active", "updated_at": AT}
    put(metagit / "worktrees" / "worktrees.json", {"worktrees": [tree]})
    put(metagit / "merges" / "m.json", {"repository": "api", "status": "queued"})
    approval = {"graph_id": "a", "node_id": "n", "epoch": 1, "digest": "d", "approved_by": "ada", "at": AT}
    put(metagit / "schedule" / "approvals.json", {"approvals": [approval]})
    put(metagit / "schedule" / "policy.json", {"slots": 3})


def test_an_empty_folder_is_an_image_of_nothing(tmp_path: Path) -> None:
    image = Reader(tmp_path).read()
    assert image == WorkspaceImage(
        policy=SchedulePolicy(),
        policy_error=None,
        revision=image.revision,
        graphs={},
        surroundings=Surroundings(),
        approvals={},
        state_version=image.state_version,
        warnings=(),
    )
    assert len(image.state_version) == 12
    assert set(image.state_version) <= set("0123456789abcdef")
    assert list(tmp_path.iterdir()) == []


def test_reading_makes_nothing_in_a_workspace(root: Path, reader: Reader) -> None:
    populate(root)
    before = {path: state_of(path) for path in root.rglob("*")}
    reader.read()
    reader.files.changed()
    assert {path: state_of(path) for path in root.rglob("*")} == before


def test_nothing_changed_is_the_same_object(root: Path, reader: Reader) -> None:
    populate(root)
    assert reader.files.changed() is True
    first = reader.read()
    assert (reader.files.changed(), reader.read() is first) == (False, True)


EDITS: dict[str, tuple[str, Any]] = {
    "graphs": (".metagit/tasks/graphs/c.json", {"title": "c"}),
    "worktrees": (".metagit/worktrees/worktrees.json", {}),
    "merges": (".metagit/merges/n.json", {"repository": "api", "status": "running"}),
    "approvals": (".metagit/schedule/approvals.json", {"approvals": []}),
    "policy": (".metagit/schedule/policy.json", {"slots": 4}),
}


@pytest.mark.parametrize("part", EDITS)
def test_a_change_of_one_part_leaves_the_others_the_same_objects(part: str, root: Path, reader: Reader) -> None:
    populate(root)
    first = reader.read()
    name, document = EDITS[part]
    put(root / name, document)
    second = reader.read()
    same = {
        "graphs": second.graphs is first.graphs,
        "surroundings": second.surroundings is first.surroundings,
        "approvals": second.approvals is first.approvals,
        "policy": second.policy is first.policy,
    }
    changed = "surroundings" if part in {"worktrees", "merges"} else part
    assert same == {each: each != changed for each in same}
    assert second.state_version != first.state_version
    assert Reader(root).read().state_version == second.state_version


def test_logs_and_files_beside_change_nothing(root: Path, reader: Reader) -> None:
    populate(root)
    first = reader.read()
    for name in ("schedule/decisions.jsonl", "events/scheduler.jsonl", "tasks/index.json", "merges/queue.json"):
        put(root / ".metagit" / name, {"any": "thing"})
    put(root / ".metagit/tasks/graphs/.a.json.swp", {})
    put(root / ".metagit/tasks/graphs/a.json.lock", {})
    assert reader.files.changed() is False
    assert reader.read() is first
    assert Reader(root).read().state_version == first.state_version


def test_what_is_kept_changes_nothing_while_the_files_say_it(root: Path, reader: Reader) -> None:
    populate(root)
    first = reader.read()
    reader.files.remember()
    assert reader.read() is first
    other = Reader(root)
    assert other.read().state_version == first.state_version
    (root / ".metagit/schedule/kept.json").unlink()
    assert reader.read() is first


def test_another_user_reads_the_same_version(root: Path, reader: Reader) -> None:
    populate(root)
    assert run_as_nobody("image", root)["version"] == reader.read().state_version


def test_a_workspace_behind_links_is_the_same(root: Path, tmp_path: Path, reader: Reader) -> None:
    populate(root)
    link = tmp_path / "link"
    link.symlink_to(root)
    assert Reader(link).read() == reader.read()
    hidden = root / "state"
    (root / ".metagit").rename(hidden)
    (root / ".metagit").symlink_to(hidden)
    assert Reader(root).read() == reader.read()


def test_state_out_of_the_workspace_is_refused(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    put_graph(outside, "g", node("n"))
    (root / ".metagit/tasks/graphs").rmdir()
    (root / ".metagit/tasks/graphs").symlink_to(outside)
    image = Reader(root).read()
    assert image.graphs["g"].graph is None
    assert image.warnings == ("graph g: .metagit/tasks/graphs/g.json leads out of the workspace",)


def test_warnings_come_sorted_and_once(root: Path, reader: Reader) -> None:
    for name in ("c", "a", "b"):
        (root / ".metagit/tasks/graphs" / f"{name}.json").write_text("[]")
    assert reader.warnings() == tuple(f"graph {name}: the file must hold one JSON object" for name in "abc")


def test_a_workspace_that_goes_away_is_empty(root: Path, reader: Reader) -> None:
    populate(root)
    reader.read()
    (root / ".metagit").rename(root / "away")
    image = reader.read()
    assert (dict(image.graphs), image.surroundings, image.policy) == ({}, Surroundings(), SchedulePolicy())
    (root / "away").rename(root / ".metagit")
    assert list(reader.read().graphs) == ["a", "b"]


def test_both_ways_of_finding_changes_read_alike(root: Path, reader: Reader) -> None:
    populate(root)
    with closing(open_changes(str(root), WATCHED, mode="inotify")) as changes:
        heard = WorkspaceFiles(str(root), changes)
        assert heard.read() == reader.read()
        for name, document in EDITS.values():
            put(root / name, document)
            assert heard.changed() is True
            assert heard.read() == reader.read()
        (root / ".metagit/tasks/graphs/c.json").unlink()
        assert heard.read() == reader.read()


def test_while_another_thread_reads_anything_may_have_changed(
    root: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    populate(root)
    first = reader.read()
    reading, go_on = threading.Event(), threading.Event()
    refresh = reader.files._refresh  # noqa: SLF001 - the moment inside a reading

    def slow(stale: Any) -> None:  # noqa: ANN401 - handed on
        reading.set()
        assert go_on.wait(30)
        refresh(stale)

    monkeypatch.setattr(reader.files, "_refresh", slow)
    put(root / ".metagit/schedule/policy.json", {"slots": 5})
    thread = threading.Thread(target=reader.read)
    thread.start()
    assert reading.wait(30)
    assert reader.files.changed() is True
    go_on.set()
    thread.join(30)
    assert reader.files.changed() is False
    assert reader.read() == replace(
        first, policy=reader.read().policy, revision=reader.read().revision, state_version=reader.read().state_version
    )


def test_a_reading_that_fails_is_made_up_for(root: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    populate(root)
    reader.read()
    put(root / ".metagit/schedule/policy.json", {"slots": 5})
    with monkeypatch.context() as patch:
        patch.setattr(reader.files, "_composed", None)
        with pytest.raises(TypeError):
            reader.read()
    assert reader.files.changed() is True
    assert reader.read() == Reader(root).read()


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_afterwards_as_before(enabled: bool, reader: Reader) -> None:  # noqa: FBT001 - a table
    was = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        reader.read()
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was else gc.disable)()
        gc.unfreeze()


def test_a_process_short_of_descriptors_keeps_what_it_knows(
    root: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    populate(root)
    first = reader.read()
    put(root / ".metagit/schedule/kept.json", {})
    for path in root.rglob("*.json"):
        os.utime(path, (1, 1))
    real = os.open

    def short(path: Any, flags: int, *rest: Any, **more: Any) -> int:  # noqa: ANN401 - handed on
        if str(path).endswith(".json"):
            raise OSError(24, "Too many open files")
        return real(path, flags, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", short)
        image = reader.read()
    assert (image.graphs, image.policy, image.surroundings) == (first.graphs, first.policy, first.surroundings)
    assert image.approvals is first.approvals
    assert image.warnings == (".metagit/schedule/approvals.json cannot be read: Too many open files.",)
    assert reader.files.changed() is True
    assert reader.read() == first


def test_a_process_short_of_descriptors_from_the_start_says_so(
    root: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    populate(root)
    put(root / ".metagit/schedule/kept.json", {})
    real = os.open

    def short(path: Any, flags: int, *rest: Any, **more: Any) -> int:  # noqa: ANN401 - handed on
        if str(path).endswith(".json"):
            raise OSError(24, "Too many open files")
        return real(path, flags, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", short)
        image = reader.read()
    assert image.policy is None
    assert image.policy_error is not None
    assert (image.policy_error.code, image.policy_error.retryable) == ("STORE_UNAVAILABLE", True)
    assert [loaded.graph for loaded in image.graphs.values()] == [None, None]
    assert len(image.warnings) == 6
    assert reader.time.pauses == 20
    assert reader.read() == Reader(root).read()
    assert reader.warnings() == ()
