"""What is remembered of an imported list is read back as it was written, or not at all."""

from __future__ import annotations

import pytest

from metagit_mcp.wire.lists.imported import Imported, imported_record, read_imported

RECORD = {"system": "beads", "source": "x", "tag": "", "records": {"a": {"at": None, "said": {"title": "A"}}}}


def test_it_is_read_back() -> None:
    imported = read_imported(RECORD)
    assert imported == Imported(system="beads", source="x", tag="", records={"a": {"at": None, "said": {"title": "A"}}})
    assert imported_record(imported) == RECORD


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"system": 5}, "it must say system, source, tag and records"),
        ({"records": []}, "it must say system, source, tag and records"),
        ({"records": {"a": 5}}, "each record must say what it said"),
        ({"records": {"a": {}}}, "each record must say what it said"),
    ],
)
def test_anything_else_is_refused(change: dict[str, object], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        read_imported({**RECORD, **change})
