"""The use cases over one workspace as tests ask them: arguments in, the JSON record of the answer out.

Files are real, time passes when a test says so, and work is done where it is asked for. Several desks on one
workspace are several processes. It must not know what a test expects.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

from metagit_mcp.bootstrap import open_application
from metagit_mcp.domain.commands import PauseScheduling, ResumeScheduling
from metagit_mcp.settings import Settings
from metagit_mcp.wire.answer_size import fitted
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.board_answers import BoardRequest, PictureRequest
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.requests import (
    NextRequest,
    PolicyRequest,
    StatusRequest,
    TaskPlanRequest,
    TaskUpdateRequest,
    WorkReportRequest,
    WorkStartRequest,
)
from tests.scenarios.at_once import AT_ONCE, finished
from tests.unit.adapters.reading import node, put, put_graph

if TYPE_CHECKING:
    from pathlib import Path

    from metagit_mcp.domain.work import PauseScope
    from metagit_mcp.ports.machine import Waits

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
Json = dict[str, Any]


# Two processes never draw the same ids.
_SEEDS: Final = itertools.count()


class Desk:
    """One process on a workspace; keywords are fields of its settings. All desks of a workspace share one clock."""

    def __init__(
        self,
        root: Path,
        surface: Literal["mcp", "cli"] = "mcp",
        waits: Waits = AT_ONCE,
        **settings: Any,  # noqa: ANN401 - any field
    ) -> None:
        self.root = root
        # Beside the workspace: its clock is not its content.
        self.clock = root.with_name(f"{root.name}.clock")
        if not self.clock.exists():
            self.set_clock(NOW, 0)
        fixed: Json = {"workspace": str(root), "watch": "stat", "clock_file": str(self.clock)}
        known: Json = {**fixed, "ids": f"desk {next(_SEEDS)}", **settings}
        self.application = open_application(Settings(**known), surface=surface, waits=waits)

    def __del__(self) -> None:
        """Let go of the ledger, as the end of a process does: from Python 3.13 on one that stays open is a warning."""
        if hasattr(self, "application"):
            self.application.close()

    def beside(
        self,
        surface: Literal["mcp", "cli"] = "mcp",
        waits: Waits = AT_ONCE,
        **settings: Any,  # noqa: ANN401 - any field
    ) -> Desk:
        """Another process on the same workspace."""
        return Desk(self.root, surface, waits, **settings)

    # --- time ------------------------------------------------------------------------------------------------------

    def set_clock(self, wall: datetime, ticks_ms: int, boot_id: str = "boot") -> None:
        """Say what all processes take for the present instant."""
        self.clock.write_text(f"{wall.isoformat()} {ticks_ms} {boot_id}\n")

    def now(self) -> datetime:
        """The present instant, as all processes see it."""
        return datetime.fromisoformat(self.clock.read_text().split()[0])

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        wall, ticks_ms, boot_id = self.clock.read_text().split()
        later = datetime.fromisoformat(wall) + timedelta(seconds=seconds)
        self.set_clock(later, int(ticks_ms) + round(seconds * 1000), boot_id)

    # --- the use cases ---------------------------------------------------------------------------------------------

    def next(self, **fields: object) -> Json:
        return fitted(finished(self.application.schedule.next(parse_request(NextRequest, fields))))

    def claim(self, agent_id: str | None = "w1", **fields: object) -> Json:
        return self.next(claim=True, agent_id=agent_id, **fields)

    def taken(self, agent_id: str | None = "w1", **fields: object) -> list[str]:
        """The nodes that a claim gave."""
        return [each["node_id"] for each in self.claim(agent_id, **fields)["decisions"]]

    def lease(self, agent_id: str | None = "w1", **fields: object) -> str:
        """The id of the lease on the one node that a claim gave."""
        (decision,) = self.claim(agent_id, **fields)["decisions"]
        lease_id: str = decision["lease"]["lease_id"]
        return lease_id

    def start(self, node_id: str, agent_id: str | None = "w1", **fields: object) -> Json:
        request = parse_request(WorkStartRequest, {"node_id": node_id, "agent_id": agent_id, **fields})
        return fitted(finished(self.application.work.start(request)))

    def report(self, lease_id: str, state: str, **fields: object) -> Json:
        request = parse_request(WorkReportRequest, {"lease_id": lease_id, "state": state, **fields})
        return fitted(finished(self.application.work.report(request)))

    def review(self, node_id: str, *, accept: bool, note: str = "", graph_id: str | None = None) -> Json:
        review = self.application.work.review(node_id, graph_id, "ada", accept=accept, note=note)
        return fitted(finished(review))

    def release(self, node_id: str, note: str = "", graph_id: str | None = None) -> Json:
        return fitted(finished(self.application.work.release(node_id, graph_id, "ada", note)))

    def retry(self, node_id: str, graph_id: str | None = None) -> Json:
        return fitted(finished(self.application.work.retry(node_id, graph_id, "ada")))

    def pause(self, scope: PauseScope, name: str = "", reason: str = "", until: datetime | None = None) -> Json:
        command = PauseScheduling(scope=scope, name=name, by="ada", reason=reason, until=until)
        return fitted(finished(self.application.rules.pause(command)))

    def resume(self, scope: PauseScope, name: str = "") -> Json:
        command = ResumeScheduling(scope=scope, name=name, by="ada")
        return fitted(finished(self.application.rules.resume(command)))

    def flush(self) -> None:
        """Bring the files in step, as a server does within a second."""
        finished(self.application.current.flush())

    def look_after(self) -> None:
        """Do what a server does twice a second."""
        finished(self.application.keeping.look_after())

    def end(self) -> None:
        """End the connection in good order."""
        finished(self.application.keeping.end())

    def status(self, **fields: object) -> Json:
        return fitted(finished(self.application.schedule.status(parse_request(StatusRequest, fields))))

    def board(self, **fields: object) -> Json:
        return plain(finished(self.application.board.board(parse_request(BoardRequest, fields))))

    def picture(self, graph_id: str = "g") -> Json:
        return plain(finished(self.application.board.picture(PictureRequest(graph_id=graph_id))))

    def policy(self, action: str = "show", **fields: object) -> Json:
        request = parse_request(PolicyRequest, {"action": action, **fields})
        return fitted(finished(self.application.policies.run(request)))

    def plan(self, title: str = "Ship", **fields: object) -> Json:
        return fitted(finished(self.application.tasks.plan(parse_request(TaskPlanRequest, {"title": title, **fields}))))

    def update(self, node_id: str, **fields: object) -> Json:
        request = parse_request(TaskUpdateRequest, {"node_id": node_id, **fields})
        return fitted(finished(self.application.tasks.update(request)))

    def approve(self, node_id: str, graph_id: str | None = None, person: str = "ada") -> Json:
        _, digest = finished(self.application.rules.approvable(node_id, graph_id))
        return fitted(finished(self.application.rules.approve(node_id, graph_id, person, digest)))

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

    def row(self, node_id: str, graph_id: str = "g") -> Json:
        """A node as its file says it."""
        rows: list[Json] = self.document(f"tasks/graphs/{graph_id}.json")["nodes"]
        return next(row for row in rows if row["node_id"] == node_id)

    def set_row(self, node_id: str, graph_id: str = "g", **fields: object) -> None:
        """Change a node in its file, as another program does that knows nothing of us."""
        document = self.document(f"tasks/graphs/{graph_id}.json")
        rows = [{**row, **fields} if row["node_id"] == node_id else row for row in document["nodes"]]
        self.put(f"tasks/graphs/{graph_id}.json", {**document, "nodes": rows})

    def statuses(self, graph_id: str = "g") -> dict[str, str]:
        """What the file says of its nodes."""
        rows: list[Json] = self.document(f"tasks/graphs/{graph_id}.json")["nodes"]
        return {row["node_id"]: row.get("status", "pending") for row in rows}

    def events(self) -> list[str]:
        """The kinds of all events of the ledger, in order; none without a ledger."""
        path = self.path("schedule/ledger.db")
        if not path.exists():
            return []
        with closing(sqlite3.connect(path)) as ledger:
            return [kind for (kind,) in ledger.execute("SELECT kind FROM event ORDER BY position")]

    def brought_to(self, state: str) -> str:
        """Bring node a of graph g into a state, with its file in step; return the id of its last lease."""
        self.graph("g", node("a"), node("b", depends_on=["a"]))
        if state == "queued":
            self.start("a", queue_only=True)
            return ""
        lease_id: str = self.start("a")["lease"]["lease_id"]
        if state != "active":
            reported = {"submitted": "completed", "parked": "failed", "open": "released"}.get(state, state)
            self.report(lease_id, reported, note="why")
        self.flush()
        return lease_id

    def settled(self, node_id: str = "a", graph_id: str = "g") -> str:
        """What the ledger says of a node once a command let everything happen."""
        self.pause("agent", "nobody")
        self.resume("agent", "nobody")
        return str(self.application.current.state.items[graph_id][node_id].state)
