"""Approvals are added durably, and a damaged file grants nothing."""

import json
from pathlib import Path

import pytest

from metagit_mcp.adapters.approvals import ApprovalFileStore
from metagit_mcp.errors import StoreCorrupt
from tests.unit.adapters.logged import approval
from tests.unit.adapters.reading import Reader, put
from tests.unit.adapters.second import run_as_nobody

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


@pytest.fixture
def store(root: Path) -> ApprovalFileStore:
    return ApprovalFileStore(str(root))


def test_approvals_come_back_by_graph(store: ApprovalFileStore, reader: Reader, root: Path) -> None:
    first = reader.read()
    assert dict(first.approvals) == {}
    added = [approval("a"), approval("b", graph_id="h"), approval("c")]
    for each in added:
        store.add(each)
    image = reader.read()
    assert dict(image.approvals) == {"g": (added[0], added[2]), "h": (added[1],)}
    assert image.state_version != first.state_version
    assert Reader(root).read().state_version == image.state_version
    assert (root / NAME).stat().st_mode & 0o777 == 0o600


def test_rows_of_others_stay(store: ApprovalFileStore, reader: Reader, root: Path) -> None:
    other = {"anything": [1]}
    put(root / NAME, {"approvals": [other], "version": 2})
    store.add(approval())
    assert json.loads((root / NAME).read_text()) == {"approvals": [other, ROW], "version": 2}
    assert dict(reader.read().approvals) == {"g": (approval(),)}
    assert reader.warnings() == (f"{NAME}: approvals/0 cannot be used and grants nothing",)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"{}", b'{"approvals": {}}', b"\xff"])
def test_a_damaged_file_grants_nothing_and_stays(
    raw: bytes, store: ApprovalFileStore, reader: Reader, root: Path
) -> None:
    store.add(approval())
    assert dict(reader.read().approvals) == {"g": (approval(),)}
    (root / NAME).write_bytes(raw)
    assert dict(reader.read().approvals) == {}
    (warning,) = reader.warnings()
    assert warning.startswith(f"{NAME} cannot be used: ")
    with pytest.raises(StoreCorrupt) as caught:
        store.add(approval())
    assert (caught.value.code, caught.value.message) == ("STORE_CORRUPT", warning)
    assert (root / NAME).read_bytes() == raw


def test_a_folder_in_its_place_grants_nothing(reader: Reader, root: Path) -> None:
    (root / NAME).mkdir()
    assert dict(reader.read().approvals) == {}
    assert reader.warnings() == (f"{NAME} cannot be used: {NAME} is not a regular file but a folder.",)


def test_where_nothing_may_be_written_it_says_so(root: Path) -> None:
    code, message = run_as_nobody("write", root, "approval")
    assert (code, message) == ("READ_ONLY", f"{NAME}.lock cannot be written: Permission denied.")
