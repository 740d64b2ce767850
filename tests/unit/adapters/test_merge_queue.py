"""Pending merges press on their repository; a bad document costs only itself, one that ended is read once."""

import os
from pathlib import Path

import pytest

from metagit_mcp.adapters.files import FileImage, read_regular
from metagit_mcp.adapters.refusals import StrPath
from tests.unit.adapters.reading import Json, Reader, put


@pytest.fixture
def merges(root: Path) -> Path:
    return root / ".metagit" / "merges"


@pytest.fixture
def reader(root: Path) -> Reader:
    return Reader(root)


def merge(repository: object = "default/api", status: object = "queued") -> Json:
    return {"merge_id": "m", "repository": repository, "status": status, "source_branch": "a", "target_branch": "b"}


def depths(reader: Reader) -> Json:
    return dict(reader.read().surroundings.merge_depth)


def test_queued_and_running_merges_count_per_repository(reader: Reader, merges: Path) -> None:
    statuses = ("queued", "running", "succeeded", "failed", "conflict", "validation_failed", "anything")
    for number, status in enumerate(statuses):
        put(merges / f"a{number}.json", merge(status=status))
    for number, name in enumerate(("Web", "web.git", " web/ ")):
        put(merges / f"b{number}.json", merge(name))
    assert depths(reader) == {"default/api": 2, "web": 3}
    assert reader.warnings() == ()


def test_their_list_and_hidden_files_do_not_count(reader: Reader, merges: Path) -> None:
    for name in ("queue.json", ".swp.json", "a.json.lock", "notes.txt"):
        put(merges / name, merge())
    assert (depths(reader), reader.warnings()) == ({}, ())


def test_a_merge_that_moves_on_is_followed(reader: Reader, merges: Path) -> None:
    path = put(merges / "a.json", merge())
    first = reader.read()
    put(path, merge(status="succeeded"))
    assert depths(reader) == {}
    put(path, merge(status="running"))
    assert depths(reader) == {"default/api": 1}
    assert reader.read().state_version == first.state_version
    path.unlink()
    assert depths(reader) == {}


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "not valid JSON: EOF while parsing a value at line 1 column 0"),
        (b"[]", "it must hold one JSON object"),
        (b'{"repository": "x"}', "status must be a text"),
        (b'{"status": "queued"}', "repository must be a text that is not empty"),
        (b'{"status": "queued", "repository": " "}', "repository must be a text that is not empty"),
    ],
)
def test_a_bad_document_costs_only_itself(raw: bytes, why: str, reader: Reader, merges: Path) -> None:
    put(merges / "good.json", merge())
    (merges / "bad.json").write_bytes(raw)
    assert depths(reader) == {"default/api": 1}
    assert reader.warnings() == (f".metagit/merges/bad.json: {why}; it is not counted",)


def test_what_is_no_file_costs_only_itself(reader: Reader, merges: Path) -> None:
    put(merges / "good.json", merge())
    os.mkfifo(merges / "bad.json")
    assert depths(reader) == {"default/api": 1}
    assert reader.warnings() == (".metagit/merges/bad.json is not a regular file but a pipe.",)


def test_a_file_in_place_of_the_folder_is_a_warning(reader: Reader, root: Path) -> None:
    (root / ".metagit" / "merges").touch()
    assert depths(reader) == {}
    assert reader.warnings() == (".metagit/merges cannot be listed: Not a directory",)


def test_while_it_is_written_the_last_document_stands(reader: Reader, merges: Path) -> None:
    path = put(merges / "a.json", merge())
    first = reader.read()
    path.write_text("{")
    reader.time.just_after(path)
    assert reader.read() is first
    assert reader.files.changed() is True
    reader.time.now_ns += 200_000_000
    assert depths(reader) == {}
    assert reader.files.changed() is False


def test_a_merge_that_ended_is_not_read_again(reader: Reader, merges: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, status in enumerate(("queued", "succeeded", "failed")):
        put(merges / f"a{number}.json", merge(status=status))
    (merges / "bad.json").write_text("{")
    (merges / "link.json").symlink_to("nowhere")
    reader.read()

    opened: list[str] = []

    def listening(path: StrPath, *, root: StrPath) -> FileImage | None:
        opened.append(os.path.basename(path))  # noqa: PTH119 - as the module under test spells paths
        return read_regular(path, root=root)

    monkeypatch.setattr("metagit_mcp.adapters.merge_queue.read_regular", listening)
    # Another folder in its place: everything may have changed.
    merges.rename(merges.with_name("former"))
    merges.mkdir()
    for path in (merges.with_name("former")).iterdir():
        path.rename(merges / path.name)
    put(merges / "a2.json", merge(status="running"))
    assert depths(reader) == {"default/api": 2}
    assert opened == ["a0.json", "a2.json", "link.json"]
