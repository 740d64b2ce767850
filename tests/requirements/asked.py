"""A workspace with one graph, asked as agents ask. It must not know what is answered."""

from pathlib import Path
from typing import Any

from tests.unit.application.desk import Desk


def desk_of(root: Path, *nodes: dict[str, Any], **settings: Any) -> Desk:  # noqa: ANN401 - any field of the settings
    """A desk on a new workspace with these nodes in graph `g`."""
    for name in ("tasks/graphs", "schedule"):
        (root / ".metagit" / name).mkdir(parents=True)
    desk = Desk(root, **settings)
    desk.graph("g", *nodes)
    return desk
