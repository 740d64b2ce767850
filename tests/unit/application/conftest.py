"""A workspace in a folder of its own, and the use cases over its real files."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An agent without authority, over an empty workspace."""
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    return Desk(tmp_path)


@pytest.fixture
def reachable() -> Iterator[Desk]:
    """The same where another user can reach it too, which the folders of pytest are not."""
    root = Path(tempfile.mkdtemp(prefix="workspace-"))
    root.chmod(0o755)
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(root)
    yield desk
    shutil.rmtree(root)
    desk.clock.unlink()
