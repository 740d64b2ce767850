"""What is damaged, out of step or left over among the files is told, and mended where that loses nothing."""

import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from metagit_mcp.adapters.housekeeping import WorkspaceHousekeeping
from metagit_mcp.adapters.refusals import FileRefused, FileUnreadable
from metagit_mcp.adapters.workspace import init_workspace
from metagit_mcp.ports.housekeeping import Fault
from tests.unit.adapters.reading import AT, Reader, kept_of, node, put, put_graph, without
from tests.unit.adapters.second import run_as_nobody

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture
def house(root: Path) -> WorkspaceHousekeeping:
    return WorkspaceHousekeeping(str(root))


def mendable(what: str) -> Fault:
    return Fault(what=what, is_mendable=True)


def mended(look: Callable[[], Sequence[Fault]], mend: Callable[[], None]) -> tuple[Sequence[Fault], Sequence[Fault]]:
    """What is found before and after a mend; a second mend changes nothing."""
    before = look()
    mend()
    after = look()
    mend()
    assert look() == after
    return before, after


def states(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_workspace_in_order_is_found_so_and_stays_as_it_is(tmp_path: Path) -> None:
    root = tmp_path / "new"
    init_workspace(str(root))
    house, before = WorkspaceHousekeeping(str(root)), states(root)
    looks = (house.kept, house.index, house.logs, lambda: house.beside_ledger(""), lambda: house.leftovers(NOW))
    assert [tuple(look()) for look in looks] == [()] * 5
    assert (house.hindrance(), states(root)) == (None, before)


@pytest.mark.parametrize("closed", [".metagit/schedule", ".metagit/tasks/graphs", ".metagit"])
def test_a_folder_that_this_user_cannot_write_into_makes_it_read_only(root: Path, closed: str) -> None:
    for folder in (root, *(each for each in root.rglob("*") if each.is_dir())):
        folder.chmod(0o777)
    assert run_as_nobody("hindrance", root) is None
    if closed == ".metagit":
        (root / ".metagit/schedule").rmdir()
        (root / ".metagit/tasks/graphs").rmdir()
    (root / closed).chmod(0o555)
    why = "this user cannot write into it, and has answers and previews only"
    assert run_as_nobody("hindrance", root) == [why, False]


def test_without_any_folder_the_root_decides(root: Path, house: WorkspaceHousekeeping, tmp_path: Path) -> None:
    (root / ".metagit").rename(tmp_path / "away")
    assert house.hindrance() is None


@pytest.mark.parametrize(("blocks", "left", "has_room"), [(100, 1, True), (100, 0, False), (0, 0, True)])
def test_a_disk_must_have_room_if_it_tells_its_size(
    house: WorkspaceHousekeeping, monkeypatch: pytest.MonkeyPatch, blocks: int, left: int, *, has_room: bool
) -> None:
    told = os.statvfs_result((1 << 20, 1 << 20, blocks, left, left, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: told)
    full = Fault(what="its disk is full, and nothing more can be recorded")
    assert house.hindrance() == (None if has_room else full)


# --- kept.json -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["{", "[]", '{"graphs": 1}'])
def test_a_kept_file_that_cannot_be_used_is_set_aside(root: Path, house: WorkspaceHousekeeping, text: str) -> None:
    path = root / ".metagit/schedule/kept.json"
    path.write_text(text)
    before, after = mended(house.kept, house.set_kept_aside)
    assert [each.is_mendable and each.is_harm for each in before] == [True]
    assert before[0].what.startswith(".metagit/schedule/kept.json: ")
    assert (tuple(after), path.exists(), path.with_name("kept.json.bad").read_text()) == ((), False, text)


def test_a_kept_file_that_is_good_is_not_set_aside(root: Path, house: WorkspaceHousekeeping) -> None:
    put(root / ".metagit/schedule/kept.json", {"policy": {}, "graphs": {}})
    assert mended(house.kept, house.set_kept_aside) == ((), ())
    assert kept_of(root) == {"policy": {}, "graphs": {}}


def test_a_kept_file_that_is_no_file_is_left_to_a_person(root: Path, house: WorkspaceHousekeeping) -> None:
    (root / ".metagit/schedule/kept.json").mkdir()
    for use in (house.kept, house.set_kept_aside):
        with pytest.raises(FileRefused, match="is not a regular file but a folder"):
            use()


def test_fields_that_another_program_dropped_are_named(root: Path, graphs: Path, house: WorkspaceHousekeeping) -> None:
    path = put_graph(graphs, "g", node("a", risk="external", slots=2), node("b", risk="reversible"))
    put_graph(graphs, "other", node("c", risk="external"))
    reader = Reader(root)
    reader.read()
    assert reader.files.remember() == ()
    assert house.kept() == ()
    put(path, without(json.loads(path.read_text()), "risk"))
    (graphs / "other.json").write_text("{")
    assert house.kept() == (
        Fault(what="in force though another program dropped them: g/a risk, g/b risk", is_harm=False),
    )


# --- tasks/index.json ----------------------------------------------------------------------------------------------


def index_of(root: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads((root / ".metagit/tasks/index.json").read_text())["graphs"]
    return rows


def row(graph_id: str, **fields: object) -> dict[str, object]:
    known = {"title": graph_id, "status": "active", "objective_id": None, "updated_at": AT}
    return {"graph_id": graph_id, **known, **fields}


def test_the_list_of_graphs_is_brought_in_step(root: Path, graphs: Path, house: WorkspaceHousekeeping) -> None:
    for name in ("a", "b", "c", "d"):
        put_graph(graphs, name)
    (graphs / "broken.json").write_text("{")
    rows = [row("a", ours=1), row("b", title="Former", theirs=2), row("broken", title="B"), row("gone"), row("c")]
    put(root / ".metagit/tasks/index.json", {"graphs": rows, "version": 3})
    before, after = mended(house.index, house.mend_index)
    assert before == (mendable(".metagit/tasks/index.json is not in step with these graphs: b, d, gone"),)
    assert (after, index_of(root)) == (
        (),
        [row("a", ours=1), row("b", theirs=2), row("broken", title="B"), row("c"), row("d")],
    )
    assert json.loads((root / ".metagit/tasks/index.json").read_text())["version"] == 3


def test_a_graph_that_is_about_to_be_listed_is_no_fault(root: Path, graphs: Path) -> None:
    put_graph(graphs, "forgotten")
    put_graph(graphs, "written")
    pauses = []

    def go_on(seconds: float) -> None:
        """The writer goes on: with the list, and with its next graph."""
        pauses.append(seconds)
        put(root / ".metagit/tasks/index.json", {"graphs": [row("written")]})
        put_graph(graphs, "next")

    found = (mendable(".metagit/tasks/index.json is not in step with these graphs: forgotten"),)
    assert (WorkspaceHousekeeping(str(root), go_on).index(), pauses) == (found, [0.2])


@pytest.mark.parametrize("text", ["{", '{"graphs": [1]}', ""])
def test_a_damaged_list_is_made_anew(root: Path, graphs: Path, house: WorkspaceHousekeeping, text: str) -> None:
    put_graph(graphs, "a")
    (root / ".metagit/tasks/index.json").write_text(text)
    before, after = mended(house.index, house.mend_index)
    assert before == (mendable(".metagit/tasks/index.json cannot be used: metagit's own commands stop at it"),)
    assert (after, index_of(root)) == ((), [row("a")])


def test_a_missing_list_lacks_every_graph(graphs: Path, house: WorkspaceHousekeeping) -> None:
    for number in range(7):
        put_graph(graphs, f"g{number}")
    assert house.index() == (
        mendable(".metagit/tasks/index.json is not in step with these graphs: g0, g1, g2, g3, g4 and 2 more"),
    )


# --- logs ----------------------------------------------------------------------------------------------------------


def test_each_log_is_mended_on_its_own(root: Path, schedule: Path, house: WorkspaceHousekeeping) -> None:
    events = root / ".metagit/events"
    events.mkdir()
    (schedule / "decisions.jsonl").write_text('{"a": 1}\nx\n{"b": 2}\ny\n')
    (schedule / "audit.jsonl").mkdir()
    (events / "scheduler.jsonl").write_text('{"a": 1}\n{"b": ')
    (events / "taskgraph.jsonl").write_text('{"a": 1}')
    refused = Fault(what=".metagit/schedule/audit.jsonl is not a regular file but a folder.")
    before, after = mended(house.logs, house.mend_logs)
    assert before == (
        mendable(".metagit/schedule/decisions.jsonl: no JSON: lines 2, 4"),
        refused,
        mendable(".metagit/events/scheduler.jsonl: the last line is cut off"),
        mendable(".metagit/events/taskgraph.jsonl: the last line has no newline, so that it does not count"),
    )
    assert after == (refused,)
    assert (events / "taskgraph.jsonl").read_text() == '{"a": 1}\n'
    assert (events / "scheduler.jsonl.bad").read_text() == '{"b": \n'


@pytest.mark.parametrize("half", ['{"a": ', '{"a": 1}'])
def test_a_line_that_is_being_written_is_no_fault(root: Path, schedule: Path, half: str) -> None:
    log = schedule / "decisions.jsonl"
    log.write_text(half)

    def go_on(_: float) -> None:
        log.write_text('{"a": 1}\n')

    assert WorkspaceHousekeeping(str(root), go_on).logs() == ()


def test_a_line_that_is_too_long_is_only_told(schedule: Path, house: WorkspaceHousekeeping) -> None:
    (schedule / "decisions.jsonl").write_text("x" * 1_048_577 + "\n")
    found = Fault(what=".metagit/schedule/decisions.jsonl: too long and passed over: line 1", is_harm=False)
    assert mended(house.logs, house.mend_logs) == ((found,), (found,))


# --- beside the ledger ---------------------------------------------------------------------------------------------

WHOLE = "ledger.db\nledger.db-wal\nledger.db-shm\nledger.db.lock\n"
NAMED = '{"workspace_id": "w1"}\n'
IDENTITY = mendable(".metagit/schedule/workspace.json is not in step with the ledger")
IGNORED = mendable(".metagit/schedule/.gitignore is not in step with the ledger")


@pytest.mark.parametrize(
    ("identity", "ignored", "found", "ignored_then"),
    [
        (None, None, (IDENTITY, IGNORED), WHOLE),
        ('{"workspace_id": "w2"}\n', WHOLE, (IDENTITY,), WHOLE),
        ("{", WHOLE, (IDENTITY,), WHOLE),
        (NAMED, None, (IGNORED,), WHOLE),
        (
            NAMED,
            "mine\nledger.db\nledger.db.lock",
            (IGNORED,),
            "mine\nledger.db\nledger.db.lock\nledger.db-wal\nledger.db-shm\n",
        ),
        (NAMED, WHOLE, (), WHOLE),
    ],
)
def test_the_files_beside_the_ledger_follow_it(
    schedule: Path,
    house: WorkspaceHousekeeping,
    identity: str | None,
    ignored: str | None,
    found: tuple[Fault, ...],
    ignored_then: str,
) -> None:
    for name, text in (("workspace.json", identity), (".gitignore", ignored)):
        if text is not None:
            (schedule / name).write_text(text)
    assert mended(lambda: house.beside_ledger("w1"), lambda: house.mend_beside_ledger("w1")) == (found, ())
    assert (schedule / "workspace.json").read_text() == NAMED
    assert (schedule / ".gitignore").read_text() == ignored_then


@pytest.mark.parametrize(("text", "named"), [(NAMED, "w1"), ("{", "?"), ("[]", "?"), ('{"id": 1}', "?")])
def test_the_name_of_a_lost_ledger_is_told(schedule: Path, house: WorkspaceHousekeeping, text: str, named: str) -> None:
    (schedule / "workspace.json").write_text(text)
    what = f".metagit/schedule/workspace.json names the ledger of workspace {named}, which is not there"
    found = (Fault(what=what, is_harm=False),)
    assert mended(lambda: house.beside_ledger(""), lambda: house.mend_beside_ledger("")) == (found, found)
    assert (schedule / "workspace.json").read_text() == text


def test_a_name_that_cannot_be_read_is_refused(schedule: Path, house: WorkspaceHousekeeping) -> None:
    (schedule / "workspace.json").mkdir()
    with pytest.raises(FileRefused):
        house.beside_ledger("w1")
    with pytest.raises(FileRefused):
        house.mend_beside_ledger("w1")


# --- leftovers -----------------------------------------------------------------------------------------------------


def left(path: Path, at: datetime) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("half")
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def test_temporary_files_are_removed_once_they_are_old(root: Path, house: WorkspaceHousekeeping) -> None:
    old, new = NOW.replace(hour=10), NOW.replace(hour=13)
    names = [
        "",
        ".metagit/",
        ".metagit/tasks/",
        ".metagit/tasks/graphs/",
        ".metagit/schedule/",
        ".metagit/events/",
    ]
    for name in names:
        left(root / f"{name}.metagit-1-ab.tmp", old)
    others = [
        left(root / ".metagit/schedule/.metagit-2-cd.tmp", new),
        left(root / ".metagit/schedule/other.tmp", old),
        left(root / ".metagit/schedule/.metagit-x", old),
        left(root / "sub/.metagit-1-ab.tmp", old),
    ]
    (root / ".metagit/schedule/.metagit-3-ef.tmp").symlink_to(others[1])
    (root / ".metagit/schedule/.metagit-4-ab.tmp").mkdir()
    before, after = mended(lambda: house.leftovers(NOW), lambda: house.remove_leftovers(NOW))
    told = ", ".join(f"{name}.metagit-1-ab.tmp" for name in names[:5])
    assert before == (mendable(f"left behind by writers that were killed: {told} and 1 more"),)
    assert (after, [path.exists() for path in others]) == ((), [True] * 4)
    assert (root / ".metagit/schedule/.metagit-3-ef.tmp").is_symlink()


def test_nothing_is_removed_through_a_link_out_of_the_workspace(
    root: Path, house: WorkspaceHousekeeping, tmp_path: Path
) -> None:
    outside = left(tmp_path / ".metagit-1-ab.tmp", NOW.replace(hour=10))
    (root / ".metagit/events").symlink_to(tmp_path)
    assert mended(lambda: house.leftovers(NOW), lambda: house.remove_leftovers(NOW)) == ((), ())
    assert outside.exists()


def test_files_that_this_user_cannot_read_are_told_as_such(root: Path, schedule: Path) -> None:
    (schedule / "kept.json").write_text("{}")
    (schedule / "kept.json").chmod(0)
    code, message = run_as_nobody("kept_faults", root)
    assert (code, FileUnreadable.code) == ("STORE_UNAVAILABLE",) * 2
    assert message.startswith(".metagit/schedule/kept.json cannot be read")
