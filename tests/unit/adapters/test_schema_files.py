"""The published schemas as files: written whole, and every difference named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters.schema_files import check_schemas, export_schemas
from metagit_mcp.errors import SchemaMismatch, StoreUnavailable
from metagit_mcp.wire.schemas import schema_names

if TYPE_CHECKING:
    from pathlib import Path


def test_schemas_are_exported_and_checked(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "schemas"
    names = sorted([*(f"{name}.schema.json" for name in schema_names()), "openapi.json"])
    assert sorted(export_schemas(str(folder))) == check_schemas(str(folder)) == names
    assert sorted(path.name for path in folder.iterdir()) == names
    assert json.loads((folder / "policy.schema.json").read_text())["$id"] == "metagit://schemas/policy"


def test_a_schema_that_differs_is_missing_or_too_many_is_named(tmp_path: Path) -> None:
    export_schemas(str(tmp_path))
    (tmp_path / "policy.schema.json").write_text("{}")
    (tmp_path / "event.schema.json").unlink()
    (tmp_path / "old.schema.json").write_text("{}")
    (tmp_path / "openapi.json").write_text("{}")
    (tmp_path / "else.json").write_text("{}")
    with pytest.raises(SchemaMismatch) as refused:
        check_schemas(str(tmp_path))
    wrong = ["event.schema.json", "old.schema.json", "openapi.json", "policy.schema.json"]
    assert refused.value.as_record() == {
        "code": "SCHEMA_VALIDATION_FAILED",
        "message": f"These schemas differ from the code: {', '.join(wrong)}.",
        "hint": "Run: make schemas",
        "details": {"files": wrong},
        "retryable": False,
    }


def test_a_folder_that_cannot_be_one_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable):
        export_schemas(str(tmp_path / "file" / "schemas"))
