"""Appends decisions and events to the logs in metagit's shape, and reads the newest decisions. Knows no rule.

Lines are ASCII: other readers split them at U+2028 too. Other programs write to the same logs, so a line that
cannot be understood is passed over with a warning.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from metagit_mcp.adapters.files import make_folder
from metagit_mcp.adapters.follow_up import follow_up
from metagit_mcp.adapters.json_lines import Tail, append_lines, tail_lines
from metagit_mcp.adapters.layout import AUDIT, DECISIONS, SCHEDULER_EVENTS, TASK_EVENTS
from metagit_mcp.domain.decision import LoggedDecision, ScheduleDecision, SchedulerEvent
from metagit_mcp.domain.text import is_any_id, shown
from metagit_mcp.errors import MetagitError, StoreUnavailable
from metagit_mcp.wire.codec import Json, adapter, ascii_line, parse_json, plain

# However rarely a graph is decided on, no more lines are looked at for it.
_FURTHEST: Final = 10_000
_FIRST_LOOK: Final = 200
# An id that is cut is another one: it must come back as it was logged.
_LONGEST_ID: Final = 256
_LONGEST_TEXT: Final = 200
_HINT_DEFAULTS: Final[Json] = {"title": "", "project": None, "repository": None, "agent_id": None, "priority": 0}


Recent = tuple[Sequence[LoggedDecision], Sequence[str]]


class DecisionLogFiles:
    """The logs of one workspace: decisions and audit in schedule/, scheduler and taskgraph in events/."""

    def __init__(self, root: str) -> None:
        """Touch nothing yet."""
        self._root = root
        self._answered: tuple[object, Recent] | None = None
        self._found: tuple[object, Sequence[LoggedDecision]] | None = None

    def recent(self, count: int, graph_id: str | None = None) -> Recent:
        """Return up to `count` newest decisions, newest first, and warnings about lines that cannot be read.

        The same question is answered without reading while the log looks the same: it only ever grows.
        """
        if count < 1:
            return (), ()
        question = (count, graph_id, _look(f"{self._root}/{DECISIONS}"))
        if self._answered is not None and self._answered[0] == question:
            return self._answered[1]
        try:
            recent = self._read_recent(count, graph_id)
        except StoreUnavailable as error:
            return (), (error.message,)
        self._answered = (question, recent)
        return recent

    def _read_recent(self, count: int, graph_id: str | None) -> Recent:
        reach = count if graph_id is None else max(count, _FIRST_LOOK)
        while True:
            tail = tail_lines(f"{self._root}/{DECISIONS}", root=self._root, limit_rows=reach)
            rows = tail.rows if graph_id is None else _naming(tail.rows, graph_id)
            found, bad = _understood(rows, count, graph_id)
            if len(found) >= count or tail.complete or reach >= _FURTHEST:
                return found, _warnings(tail, bad)
            reach = min(_FURTHEST, reach * 8)

    def at_state(self, state_version: str, reach: int) -> Sequence[LoggedDecision]:
        """Return the decisions at one state among the newest `reach` lines; see `ports.workspace.DecisionLog`.

        Who asks again and again what is next does not have them read again and again: as `recent`.
        """
        question = (state_version, reach, _look(f"{self._root}/{DECISIONS}"))
        if self._found is not None and self._found[0] == question:
            return self._found[1]
        try:
            tail = tail_lines(f"{self._root}/{DECISIONS}", root=self._root, limit_rows=reach)
        except StoreUnavailable:
            return ()
        found, _ = _understood(_naming(tail.rows, state_version), reach, None)
        stated = tuple(logged for logged in found if logged.state_version == state_version)
        self._found = (question, stated)
        return stated

    def unlogged(self, decisions: Sequence[ScheduleDecision]) -> Sequence[ScheduleDecision]:
        """Return those that stand in none of the newest lines; those from before these lines are taken for logged."""
        if not decisions:
            return ()
        try:
            tail = tail_lines(f"{self._root}/{DECISIONS}", root=self._root, limit_rows=_FURTHEST)
        except StoreUnavailable:
            return ()
        before, _ = _understood(reversed(() if tail.complete else tail.rows), 1, None)
        return [
            made
            for made in decisions
            if not any(_is_older(made.at, oldest.at) for oldest in before)
            and not _understood(_naming(tail.rows, made.decision_id), 1, None)[0]
        ]

    def append(self, decisions: Sequence[ScheduleDecision], events: Sequence[SchedulerEvent]) -> tuple[str, ...]:
        """Append decisions and then their events; one that is killed between the two leaves only the decisions."""
        self._append(DECISIONS, "decisions", [_decision_row(decision) for decision in decisions], mode=0o600)
        return follow_up(lambda: self._append_events(SCHEDULER_EVENTS, [_event_row(event) for event in events]))

    def append_audit(self, events: Sequence[SchedulerEvent]) -> tuple[str, ...]:
        """Append to schedule/audit.jsonl: one type that metagit does not know hides its whole event log from it."""
        return follow_up(lambda: self._append(AUDIT, "audit", [_event_row(event) for event in events], mode=0o600))

    def append_task_events(self, events: Sequence[SchedulerEvent]) -> tuple[str, ...]:
        """Append task graph events; as the task graph tools do, they name no source."""
        rows = [{name: each for name, each in _event_row(event).items() if name != "source"} for event in events]
        return follow_up(lambda: self._append_events(TASK_EVENTS, rows))

    def _append_events(self, path: str, rows: Sequence[Json]) -> None:
        self._append(path, "events", rows, mode=0o644)

    def _append(self, path: str, kind: str, rows: Sequence[Json], mode: int) -> None:
        if not rows:
            return
        full, lines = f"{self._root}/{path}", [ascii_line(row) for row in rows]
        try:
            append_lines(full, lines, root=self._root, kind=kind, mode=mode)
        except MetagitError:
            # Its folder is there but for the first time.
            if os.path.isdir(folder := os.path.dirname(full)):
                raise
            make_folder(folder, root=self._root)
            append_lines(full, lines, root=self._root, kind=kind, mode=mode)


def _look(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _decision_row(decision: ScheduleDecision) -> Json:
    """Return one decision with every key that metagit writes, and then ours."""
    row = plain(decision)
    first = {name: row.pop(name) for name in ("decision_id", "at", "graph_id", "node_id", "score", "reasons")}
    first["at"] = decision.at.isoformat()
    first["dispatch_hints"] = _HINT_DEFAULTS | row.pop("dispatch_hints", {})
    first["acl_commands"] = row.pop("acl_commands", [])
    first["compile_command"] = row.pop("compile_command", None)
    first["skipped"] = row.pop("skipped", False)
    return first | row


def _event_row(event: SchedulerEvent) -> Json:
    return {
        "event_id": event.event_id,
        "type": event.type,
        "at": event.at.isoformat(),
        "source": event.source,
        "payload": event.payload,
    }


def _naming(rows: Iterable[bytes], word: str) -> Iterator[bytes]:
    """Yield the rows that hold a word as a whole text, without parsing the others."""
    spellings = {json.dumps(word).encode(), f'"{word}"'.encode()}
    return (row for row in rows if any(each in row for each in spellings))


def _understood(rows: Iterable[bytes], count: int, graph_id: str | None) -> tuple[tuple[LoggedDecision, ...], int]:
    """Return up to `count` decisions, about one graph if it is named, and how many lines make no sense."""
    found: list[LoggedDecision] = []
    bad = 0
    for row in rows:
        try:
            logged = _logged(parse_json(row))
        except ValueError:
            bad += 1
            continue
        if graph_id is None or logged.graph_id == graph_id:
            found.append(logged)
        if len(found) == count:
            break
    return tuple(found), bad


def _logged(row: object) -> LoggedDecision:
    """Return what a line says, its texts made safe to show; another program may have written them.

    Raises:
        ValueError: it is no decision.
    """
    if not isinstance(row, dict):
        raise ValueError("no object")  # noqa: TRY004 - as any other content that is wrong
    hints = row.get("dispatch_hints")
    more = {name: hints.get(name) for name in ("title", "repository")} if isinstance(hints, dict) else {}
    given = {
        name: _safe(each, _LONGEST_ID if name.endswith("_id") else _LONGEST_TEXT)
        for name, each in {**more, **row}.items()
        if each is not None
    }
    logged = adapter(LoggedDecision).validate_python(given)
    if not (is_any_id(logged.graph_id) and is_any_id(logged.node_id)):
        raise ValueError("no ids")
    return replace(logged, at=_in_utc(logged.at))


def _in_utc(text: str) -> str:
    """Return a time in the form in which answers show it; one that is no time stays as it is."""
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC).isoformat().replace("+00:00", "Z") if at.tzinfo is not None else text
    except (ValueError, OverflowError):
        return text


def _is_older(at: datetime, text: str) -> bool:
    """Say whether an instant is before what a line says, which may be no time at all."""
    try:
        return at < datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return False


def _safe(each: Any, limit: int) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(each, str):
        return shown(each, limit)
    return [_safe(one, limit) for one in each] if isinstance(each, list) else each


def _warnings(tail: Tail, bad: int) -> tuple[str, ...]:
    texts = []
    if bad:
        texts.append(f"{DECISIONS}: {bad} of the newest lines make no sense and are passed over")
    if tail.dropped:
        texts.append(f"{DECISIONS}: {tail.dropped} of the newest lines are too long and are passed over")
    if tail.torn:
        texts.append(f"{DECISIONS}: the last line is cut off and is passed over")
    return tuple(texts)
