"""Where lists of other programs are found, what is read of them, and what is said of what cannot be read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters.imported_lists import ImportedLists
from metagit_mcp.adapters.list_sources import read_list
from metagit_mcp.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    from pathlib import Path


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_file_the_folder_and_the_project_are_one_list(tmp_path: Path) -> None:
    file = put(tmp_path / "shop/.beads/issues.jsonl", "x")
    found = [read_list(str(tmp_path / "w"), "beads", str(path)) for path in (file, file.parent, file.parents[1])]
    assert {(each.at, each.folder, each.files[0].raw) for each in found} == {(str(file), "shop", b"x")}
    assert [each.files[0].name for each in found] == ["issues.jsonl", "issues.jsonl", ".beads/issues.jsonl"]


def test_a_place_is_told_from_the_workspace_that_it_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "w/lists/tasks.json")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "w")
    monkeypatch.chdir(link)
    assert read_list(str(link), "taskmaster", "lists/tasks.json").at == "lists/tasks.json"
    assert read_list(str(tmp_path / "wide"), "taskmaster", "lists").at == str(tmp_path / "w/lists/tasks.json")


def test_a_project_without_a_name_is_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "tasks.json")
    monkeypatch.setattr("os.path.basename", lambda _: "")
    assert read_list("/w", "taskmaster", str(tmp_path)).folder == "list"


def test_a_name_that_is_no_text_is_told_as_one(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)  # noqa: PTH102 - a name of bytes
    put(tmp_path / "tasks.json").rename(os.fsdecode(folder + b"/tasks.json"))
    found = read_list(str(tmp_path / "w"), "taskmaster", os.fsdecode(folder))
    assert found.at == f"{tmp_path}/\\xff/tasks.json"


@pytest.mark.parametrize("name", ["backlog", ".backlog", ""])
def test_pages_are_read_by_folder_in_the_order_of_their_names(tmp_path: Path, name: str) -> None:
    base = tmp_path / "shop" / name
    for page in ("tasks/b.md", "tasks/a.md", "tasks/.c.md", "tasks/d.txt", "completed/a.md", "config.yml"):
        put(base / page, page)
    put(base / "drafts", "a file")
    put(tmp_path / "backlog.config.yml")
    found = read_list("/w", "backlog", str(tmp_path / "shop"))
    assert [each.name for each in found.files] == ["config.yml", "tasks/a.md", "tasks/b.md", "completed/a.md"]
    assert (found.folder, found.at) == ("shop", str(base))


def test_what_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "tasks/a.md")

    def forbidden(_: str) -> list[str]:
        raise PermissionError(13, "no")

    monkeypatch.setattr(os, "listdir", forbidden)
    with pytest.raises(StoreUnavailable, match=r"^tasks cannot be read: Permission denied"):
        read_list("/w", "backlog", str(tmp_path))
    with pytest.raises(StoreUnavailable, match=r"^\.metagit/schedule/imports cannot be read: Permission denied"):
        ImportedLists(str(tmp_path)).all()


def test_a_file_that_goes_meanwhile_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # However deep it lies, its name is told.
    file = put(tmp_path / ("d" * 90) / "tasks.json")
    monkeypatch.setattr("metagit_mcp.adapters.list_sources.read_regular", lambda *_, **__: None)
    with pytest.raises(InvalidInput, match=rf"no such list at '{file}': it is gone$"):
        read_list("/w", "taskmaster", str(file))


def test_other_files_beside_the_records_are_passed_over(tmp_path: Path) -> None:
    for name in ("a b.json", "x.json.lock", ".metagit-1.tmp"):
        put(tmp_path / ".metagit/schedule/imports" / name, "{")
    assert ImportedLists(str(tmp_path)).all() == {}
