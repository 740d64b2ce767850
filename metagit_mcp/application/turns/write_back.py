"""Writes into the task graph files what the ledger says of their nodes: the outbox of the log. Decides nothing.

What is written follows from the state alone, so that a process that was killed on the way leaves nothing to be
remembered: whoever comes next finds the same rows due, and writes the same.
"""

from collections.abc import Iterator
from typing import Any, Final

from metagit_mcp.application.rows import instant_of, row_id
from metagit_mcp.application.turns.ledger import Ledger
from metagit_mcp.domain.decision import SchedulerEvent
from metagit_mcp.domain.projection import is_due, projection
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.errors import MetagitError
from metagit_mcp.ports.machine import Clock, Ids
from metagit_mcp.ports.workspace import DecisionLog, GraphStore, Warnings

Json = dict[str, Any]

# The types that the task graph tools know.
TASK_EVENTS: Final = {
    "ready": "TaskReady",
    "running": "TaskStarted",
    "blocked": "TaskBlocked",
    "completed": "TaskCompleted",
    "cancelled": "TaskCancelled",
}


class WriteBack:
    """Brings the rows of graph files in step with the ledger."""

    def __init__(self, store: GraphStore, log: DecisionLog, ledger: Ledger, clock: Clock, ids: Ids) -> None:
        """Keep the collaborators."""
        self._store = store
        self._log = log
        self._ledger = ledger
        self._clock = clock
        self._ids = ids

    def flush(self, graph_ids: set[str]) -> Warnings:
        """Write the rows of these graphs that are due; one that cannot be written harms no other.

        Returns a warning for each file that could not be written: the ledger stands, and it is tried again.
        """
        warnings: Warnings = ()
        for graph_id in sorted(graph_ids):
            try:
                warnings += self._flush(graph_id)
            except MetagitError as error:
                warnings += (f"graph {graph_id}: its statuses are not written back yet: {error.message}",)
        return warnings

    def _flush(self, graph_id: str) -> Warnings:
        written: list[tuple[str, str]] = []

        def change(record: Json | None) -> Json | None:
            # Under the file's lock: whatever stands in the file was committed before, and is known after this.
            self._ledger.follow()
            written.clear()
            revised = projected(record, self._ledger.state, graph_id)
            if revised is None:
                return None
            written.extend(revised[1])
            return revised[0]

        warnings = self._store.revise(graph_id, change)
        return warnings + self._log.append_task_events([*self._events(graph_id, written)]) if written else warnings

    def _events(self, graph_id: str, written: list[tuple[str, str]]) -> Iterator[SchedulerEvent]:
        for node_id, status in written:
            payload = {"graph_id": graph_id, "node_id": node_id}
            yield SchedulerEvent(
                event_id=self._ids.new(), type=TASK_EVENTS[status], at=self._clock.now(), payload=payload
            )


def projected(record: Json | None, state: LedgerState, graph_id: str) -> tuple[Json, list[tuple[str, str]]] | None:
    """Return a graph's record with what the ledger says of its nodes, and the statuses set; None if none is due."""
    items = state.items.get(graph_id, {})
    rows = (record or {}).get("nodes")
    if record is None or not items or not isinstance(rows, list):
        return None
    rows, written = list(rows), []
    latest = ""
    for place, row in enumerate(rows):
        item = items.get(row_id(row) or "")
        if item is None:
            continue
        node = _as_node(row)
        if is_due(item, node):
            shown = projection(item, node)
            latest = max(latest, instant_of(shown.updated_at))
            rows[place] = {
                **row,
                "status": shown.status,
                "blocker_reason": shown.blocker_reason,
                "updated_at": instant_of(shown.updated_at),
            }
            written.append((item.node_id, shown.status))
    if not written:
        return None
    return {**record, "nodes": rows, "updated_at": latest}, written


def _as_node(row: Json) -> TaskNode:
    """Return what a row says of its status, as far as that is text."""

    def text(name: str) -> str:
        each = row.get(name)
        return each if isinstance(each, str) else ""

    return TaskNode(
        node_id=row_id(row) or "",
        status=text("status").strip() or "pending",
        blocker_reason=text("blocker_reason") or None,
        updated_at=text("updated_at"),
    )
