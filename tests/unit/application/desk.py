"""The use cases over one workspace as tests ask them: arguments in, the JSON record of the answer out.

Files are real, the clock stands still, and work is done where it is asked for. It must not know what a test expects.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from metagit_mcp.bootstrap import open_application
from metagit_mcp.settings import Settings
from metagit_mcp.wire.answer_size import fitted
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.requests import (
    NextRequest,
    PolicyRequest,
    StatusRequest,
    TaskPlanRequest,
    TaskUpdateRequest,
    parse_request,
)
from tests.scenarios.at_once import at_once, finished
from tests.unit.adapters.reading import put, put_graph

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
Json = dict[str, Any]


class Desk:
    """One process on a workspace; keywords are fields of its settings."""

    def __init__(self, root: Path, **settings: Any) -> None:  # noqa: ANN401 - any field
        known: Json = {"workspace": str(root), "watch": "stat", "clock": NOW, "ids": "desk", **settings}
        self.root = root
        self.application = open_application(Settings(**known), surface="mcp", offload=at_once)

    def next(self, **fields: object) -> Json:
        return fitted(finished(self.application.schedule.next(parse_request(NextRequest, fields))))

    def status(self, **fields: object) -> Json:
        return fitted(finished(self.application.schedule.status(parse_request(StatusRequest, fields))))

    def policy(self, action: str = "show", **fields: object) -> Json:
        request = parse_request(PolicyRequest, {"action": action, **fields})
        return fitted(finished(self.application.policies.run(request)))

    def plan(self, title: str = "Ship", **fields: object) -> Json:
        return fitted(finished(self.application.tasks.plan(parse_request(TaskPlanRequest, {"title": title, **fields}))))

    def update(self, node_id: str, **fields: object) -> Json:
        request = parse_request(TaskUpdateRequest, {"node_id": node_id, **fields})
        return fitted(finished(self.application.tasks.update(request)))

    def approve(self, node_id: str, graph_id: str | None = None, person: str = "ada") -> Json:
        _, digest = finished(self.application.work.approvable(node_id, graph_id))
        return fitted(finished(self.application.work.approve(node_id, graph_id, person, digest)))

    def listed(self, graph_id: str | None = None, status: str | None = None) -> list[Json]:
        return [plain(each) for each in finished(self.application.tasks.list(graph_id, status)).graphs]

    def shown(self, node_id: str, graph_id: str | None = None) -> Json:
        return plain(finished(self.application.tasks.show(node_id, graph_id)))

    def drawn(self, graph_id: str | None = None) -> list[str]:
        return finished(self.application.schedule.mermaid(graph_id)).splitlines()

    # --- the files -------------------------------------------------------------------------------------------------

    def path(self, name: str) -> Path:
        """A file below `.metagit`."""
        return self.root / ".metagit" / name

    def document(self, name: str) -> Any:  # noqa: ANN401 - any JSON
        return json.loads(self.path(name).read_text())

    def lines(self, name: str) -> list[Json]:
        path = self.path(name)
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def graph(self, graph_id: str, *nodes: Json, **fields: object) -> Path:
        """Write a graph as another program does."""
        return put_graph(self.path("tasks/graphs"), graph_id, *nodes, **fields)

    def put(self, name: str, document: object) -> Path:
        return put(self.path(name), document)
