"""A workspace that another user can reach too, which the folders of pytest are not."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def root() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="workspace-"))
    folder.chmod(0o755)
    (folder / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    (folder / ".metagit" / "schedule").mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def graphs(root: Path) -> Path:
    return root / ".metagit" / "tasks" / "graphs"


@pytest.fixture
def schedule(root: Path) -> Path:
    return root / ".metagit" / "schedule"
