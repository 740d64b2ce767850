"""A workspace of one graph and every other file that can be in it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.adapters.reading import AT, node, put, put_graph


@pytest.fixture
def root() -> Iterator[Path]:
    """A workspace that another user can reach too, which the folders of pytest are not."""
    root = Path(tempfile.mkdtemp(prefix="workspace-"))
    root.chmod(0o755)
    metagit = root / ".metagit"
    put_graph(metagit / "tasks" / "graphs", "g", *(node(name, repository="p/api") for name in "abcd"))
    tree = {"path": str(root), "repository": "p/api", "agent_id": "x", "status": "active", "updated_at": AT}
    put(metagit / "worktrees" / "worktrees.json", {"worktrees": [tree]})
    put(metagit / "merges" / "m.json", {"repository": "p/api", "status": "queued"})
    put(metagit / "schedule" / "policy.json", {"weights": {"priority": 2.0}})
    yield root
    shutil.rmtree(root)
