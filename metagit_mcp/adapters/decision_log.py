"""Appends decisions and events to the logs in metagit's shape, and reads the newest decisions. Knows no rule.

Lines are ASCII: other readers split them at U+2028 too. Other programs write to the same logs, so a line that
cannot be understood is passed over with a warning.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from metagit_mcp.adapters.files import make_folder
from metagit_mcp.adapters.json_lines import Tail, append_lines, tail_lines
from metagit_mcp.adapters.layout import DECISIONS, EVENTS, SCHEDULE, SCHEDULER_EVENTS, TASK_EVENTS
from metagit_mcp.domain.decision import ScheduleDecision, SchedulerEvent
from metagit_mcp.errors import StoreUnavailable
from metagit_mcp.wire.codec import Json, adapter, parse_json, plain
from metagit_mcp.wire.responses import LoggedDecision

# However rarely a graph is decided on, no more lines are looked at for it.
_FURTHEST: Final = 10_000
_FIRST_LOOK: Final = 200
_HINT_DEFAULTS: Final[Json] = {"title": "", "project": None, "repository": None, "agent_id": None, "priority": 0}


class DecisionLogFiles:
    """The logs of one workspace: schedule/decisions.jsonl, events/scheduler.jsonl, events/taskgraph.jsonl."""

    def __init__(self, root: str) -> None:
        """Touch nothing yet."""
        self._root = root

    def recent(self, count: int, graph_id: str | None = None) -> tuple[Sequence[LoggedDecision], Sequence[str]]:
        """Return up to `count` newest decisions, newest first, and warnings about lines that cannot be read."""
        if count < 1:
            return (), ()
        reach = count if graph_id is None else max(count, _FIRST_LOOK)
        try:
            while True:
                tail = tail_lines(f"{self._root}/{DECISIONS}", root=self._root, limit_rows=reach)
                found, bad = _understood(_about(tail.rows, graph_id), count)
                if len(found) >= count or tail.complete or reach >= _FURTHEST:
                    return found, _warnings(tail, bad)
                reach = min(_FURTHEST, reach * 8)
        except StoreUnavailable as error:
            return (), (error.message,)

    def append(self, decisions: Sequence[ScheduleDecision], events: Sequence[SchedulerEvent]) -> None:
        """Append decisions and then their events; one that is killed between the two leaves only the decisions."""
        if decisions:
            make_folder(f"{self._root}/{SCHEDULE}", root=self._root)
            self._append(DECISIONS, "decisions", map(_decision_row, decisions), mode=0o600)
        if events:
            self._append_events(SCHEDULER_EVENTS, [_event_row(event) for event in events])

    def append_task_events(self, events: Sequence[SchedulerEvent]) -> None:
        """Append task graph events; as the task graph tools do, they name no source."""
        rows = [_event_row(event) for event in events]
        self._append_events(TASK_EVENTS, [{name: row[name] for name in row if name != "source"} for row in rows])

    def _append_events(self, path: str, rows: Sequence[Json]) -> None:
        if rows:
            make_folder(f"{self._root}/{EVENTS}", root=self._root)
            self._append(path, "events", rows, mode=0o644)

    def _append(self, path: str, kind: str, rows: Iterable[Json], mode: int) -> None:
        lines = [json.dumps(row, allow_nan=False).encode() for row in rows]
        append_lines(f"{self._root}/{path}", lines, root=self._root, kind=kind, mode=mode)


def _decision_row(decision: ScheduleDecision) -> Json:
    """Return one decision with every key that metagit writes, and then ours."""
    row = plain(decision)
    first = {name: row[name] for name in ("decision_id", "at", "graph_id", "node_id", "score", "reasons")}
    return {
        **first,
        "at": decision.at.isoformat(),
        "dispatch_hints": _HINT_DEFAULTS | row.get("dispatch_hints", {}),
        "acl_commands": row.get("acl_commands", []),
        "compile_command": row.get("compile_command"),
        "skipped": decision.skipped,
        **{name: each for name, each in row.items() if name not in first and name not in _METAGIT_KEYS},
    }


_METAGIT_KEYS: Final = ("dispatch_hints", "acl_commands", "compile_command", "skipped")


def _event_row(event: SchedulerEvent) -> Json:
    return {
        "event_id": event.event_id,
        "type": event.type,
        "at": event.at.isoformat(),
        "source": event.source,
        "payload": event.payload,
    }


def _about(rows: Iterable[bytes], graph_id: str | None) -> Iterator[bytes]:
    """Yield the rows that may be about a graph, without parsing the others."""
    spellings = () if graph_id is None else {json.dumps(graph_id).encode(), f'"{graph_id}"'.encode()}
    return (row for row in rows if graph_id is None or any(each in row for each in spellings))


def _understood(rows: Iterable[bytes], count: int) -> tuple[tuple[LoggedDecision, ...], list[str]]:
    found: list[LoggedDecision] = []
    bad: list[str] = []
    for row in rows:
        try:
            found.append(logged_decision(row))
        except ValueError as error:
            bad.append(str(error).splitlines()[0])
        if len(found) == count:
            break
    return tuple(found), bad
