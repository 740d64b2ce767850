"""Approvals that a former version wrote are read, and a damaged file grants nothing."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.adapters.logged import approval
from tests.unit.adapters.reading import Reader, put

NAME = ".metagit/schedule/approvals.json"
ROW = {
    "graph_id": "g",
    "node_id": "build",
    "epoch": 1,
    "digest": "d" * 64,
    "approved_by": "ada",
    "at": "2026-11-29T12:00:00.000005Z",
}


@pytest.fixture
def reader(root: Path) -> Reader:
    return Reader(root)


def given(root: Path, *rows: Any, **fields: object) -> None:  # noqa: ANN401 - any JSON
    put(root / NAME, {"approvals": list(rows), **fields})


def test_approvals_come_back_by_graph(reader: Reader, root: Path) -> None:
    first = reader.read()
    assert dict(first.approvals) == {}
    given(root, {**ROW, "node_id": "a"}, {**ROW, "graph_id": "h", "node_id": "b"}, {**ROW, "node_id": "c"})
    image = reader.read()
    assert dict(image.approvals) == {"g": (approval("a"), approval("c")), "h": (approval("b", graph_id="h"),)}
    assert image.state_version != first.state_version
    assert Reader(root).read().state_version == image.state_version


def test_a_row_that_cannot_be_used_grants_nothing(reader: Reader, root: Path) -> None:
    given(root, {"anything": [1]}, ROW, version=2)
    assert dict(reader.read().approvals) == {"g": (approval(),)}
    assert reader.warnings() == (f"{NAME}: approvals/0 cannot be used and grants nothing",)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"{}", b'{"approvals": {}}', b"\xff"])
def test_a_damaged_file_grants_nothing_and_stays(raw: bytes, reader: Reader, root: Path) -> None:
    given(root, ROW)
    assert dict(reader.read().approvals) == {"g": (approval(),)}
    (root / NAME).write_bytes(raw)
    assert dict(reader.read().approvals) == {}
    (warning,) = reader.warnings()
    assert warning.startswith(f"{NAME} cannot be used: ")
    assert (root / NAME).read_bytes() == raw


def test_a_folder_in_its_place_grants_nothing(reader: Reader, root: Path) -> None:
    (root / NAME).mkdir()
    assert dict(reader.read().approvals) == {}
    assert reader.warnings() == (f"{NAME} cannot be used: {NAME} is not a regular file but a folder.",)
