"""A workspace in a folder of its own, and the use cases over its real files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An agent without authority, over an empty workspace."""
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    return Desk(tmp_path)
