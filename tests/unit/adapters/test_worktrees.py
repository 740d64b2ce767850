"""Active worktrees make repositories warm; a bad row costs only itself, and git is never asked."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from metagit_mcp.scheduling.snapshot import Worktree
from tests.unit.adapters.reading import AT, Json, Reader, put

INSTANT = datetime.fromisoformat(AT)
NAME = ".metagit/worktrees/worktrees.json"


def row(path: Path | str, **fields: object) -> Json:
    return {
        "worktree_id": "0" * 32,
        "path": str(path),
        "repository": "default/api",
        "branch": "agent/x",
        "agent_id": "agent-1",
        "task_id": "n",
        "lease_id": "1" * 32,
        "status": "active",
        "created_at": AT,
        "updated_at": AT,
        **fields,
    }


def tree(path: Path | str, **fields: object) -> Worktree:
    told = {"repository": "default/api", "agent_id": "agent-1", "on_disk": True, "updated_at": INSTANT, **fields}
    return Worktree(path=str(path), **told)  # type: ignore[arg-type]  # the fields of the table above


@pytest.fixture
def reader(root: Path) -> Reader:
    return Reader(root)


def trees(reader: Reader) -> tuple[Worktree, ...]:
    return reader.read().surroundings.worktrees


def test_only_active_rows_count(reader: Reader, root: Path) -> None:
    put(root / NAME, {"worktrees": [row(root), row(root, status="destroyed"), row(root, repository="  Web.git ")]})
    assert trees(reader) == (tree(root), tree(root, repository="web"))
    assert reader.warnings() == ()


def test_a_path_is_looked_at_before_every_answer(reader: Reader, root: Path) -> None:
    put(root / NAME, {"worktrees": [row(root / "tree"), row("trees/two")]})
    first = reader.read()
    assert [each.on_disk for each in first.surroundings.worktrees] == [False, False]

    (root / "tree").mkdir()
    (root / "trees" / "two").mkdir(parents=True)
    assert reader.files.changed() is True
    second = reader.read()
    assert second.surroundings.worktrees == (tree(root / "tree"), tree("trees/two"))
    assert second.state_version != first.state_version

    (root / "tree").rmdir()
    (root / "tree").touch()
    assert [each.on_disk for each in trees(reader)] == [False, True]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"status": "parked"}, "status must be active or destroyed"),
        ({"status": ["active"]}, "status must be active or destroyed"),
        ({"repository": None}, "repository must be a text that is not empty"),
        ({"repository": " "}, "repository must be a text that is not empty"),
        ({"path": 5}, "path must be a text that is not empty"),
    ],
)
def test_a_bad_row_costs_only_itself(fields: Json, why: str, reader: Reader, root: Path) -> None:
    put(root / NAME, {"worktrees": [{**row(root), **fields}, row(root)]})
    assert trees(reader) == (tree(root),)
    assert reader.warnings() == (f"{NAME}: worktrees/0: {why}; the row is passed over",)


def test_a_row_that_is_no_object_costs_only_itself(reader: Reader, root: Path) -> None:
    put(root / NAME, {"worktrees": [5, row(root)]})
    assert trees(reader) == (tree(root),)


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"updated_at": "2026-11-29T14:52:06+02:00"}, datetime(2026, 11, 29, 12, 52, 6, tzinfo=UTC)),
        ({"updated_at": "2026-11-29T14:52:06Z"}, datetime(2026, 11, 29, 14, 52, 6, tzinfo=UTC)),
        ({"updated_at": "2026-11-29T14:52:06"}, datetime(2026, 11, 29, 14, 52, 6, tzinfo=UTC)),
        ({"updated_at": ""}, INSTANT),
        ({"updated_at": None}, INSTANT),
        ({"updated_at": 5, "created_at": "soon"}, None),
        ({"updated_at": "0001-01-01T00:00:00+14:00", "created_at": None}, None),
    ],
)
def test_a_time_that_is_none_costs_only_the_age(fields: Json, at: datetime | None, reader: Reader, root: Path) -> None:
    put(root / NAME, {"worktrees": [row(root, **fields)]})
    assert trees(reader) == (tree(root, updated_at=at),)
    assert reader.warnings() == ()


def test_a_worktree_may_be_nobodys_and_anywhere(reader: Reader, root: Path) -> None:
    put(root / NAME, {"worktrees": [row("/nowhere\0", agent_id=None)]})
    assert trees(reader) == (tree("/nowhere\0", agent_id="", on_disk=False),)


@pytest.mark.parametrize("raw", ["", "{", "[]", '{"worktrees": {}}'])
def test_a_file_that_cannot_be_used_is_a_warning(raw: str, reader: Reader, root: Path) -> None:
    put(root / NAME, {}).write_text(raw)
    assert trees(reader) == ()
    (warning,) = reader.warnings()
    assert warning.startswith(f"{NAME} cannot be used, so no worktree counts: ")


def test_a_file_of_another_kind_is_a_warning(reader: Reader, root: Path) -> None:
    (root / NAME).mkdir(parents=True)
    assert trees(reader) == ()
    assert reader.warnings() == (f"{NAME} is not a regular file but a folder.",)


def test_while_it_is_written_the_last_rows_stand(reader: Reader, root: Path) -> None:
    path = put(root / NAME, {"worktrees": [row(root)]})
    first = reader.read()
    path.write_text("{")
    reader.time.just_after(path)
    assert reader.read() is first
    assert reader.files.changed() is True
    reader.time.now_ns += 200_000_000
    assert trees(reader) == ()
    assert reader.files.changed() is False
