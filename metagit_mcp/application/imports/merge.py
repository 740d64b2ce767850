"""Merges the nodes of another program's list into the record of a graph, under its lock. Knows no file and no format.

Three sides of every field are compared: what the list says now, what it said when it was imported last, and what the
graph says. What only the list changed is taken over. What was changed here stays, unless the list's record is newer
than the row; what is leased, under review or finished here stays in any case (ADR 0043).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from metagit_mcp.application.imports.nodes import ListedNode, ListedNodes
from metagit_mcp.application.rows import instant_of, row_id
from metagit_mcp.application.tasks.authoring import new_graph, new_node, rows_of
from metagit_mcp.domain.projection import projection, row_instant
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import FINISHED_STATUSES, OPEN_STATUSES, TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import FINISHED_STATES, WorkItem
from metagit_mcp.wire.lists.import_answers import NodeOutcome
from metagit_mcp.wire.lists.imported import Imported

Json = dict[str, Any]
# What an import sets. `status` stands for the reason of a block too.
FIELDS: Final = (
    "title",
    "status",
    "priority",
    "depends_on",
    "parent_id",
    "discovered_from",
    "agent_id",
    "estimated_runtime_seconds",
    "not_before",
    "deadline",
    "acceptance",
)
_INSTANTS: Final = frozenset({"not_before", "deadline"})
_LISTS: Final = frozenset({"depends_on", "acceptance"})
_OWNED: Final = frozenset({"active", "queued", "submitted"})
_STEP: Final = timedelta(microseconds=1)
_REMOVED: Final = "removed"


@value
class Merge:
    """What is to be written, and what became of each node. `record` is None where the graph stays as it is."""

    record: Json | None
    records: Mapping[str, Json]
    outcomes: tuple[NodeOutcome, ...]
    created: tuple[str, ...]
    statuses: tuple[tuple[str, str], ...]
    whole: Json


def merged(
    graph: Json | None, listed: ListedNodes, former: Imported, head: tuple[str, str], state: LedgerState, now: datetime
) -> Merge:
    """Return what the graph is to be; `head` are its id and title, for a graph that is new.

    Raises:
        GraphInvalid: the nodes that are there cannot be used.
    """
    return _Merging(graph, former, head, state, now).done(listed)


class _Merging:
    def __init__(
        self, graph: Json | None, former: Imported, head: tuple[str, str], state: LedgerState, now: datetime
    ) -> None:
        self._graph_id, title = head
        self._is_new = graph is None
        # The task graph tools refuse a graph without a title or a goal.
        named = title or self._graph_id
        goal = f"Do what the list {named} says"
        self._base = new_graph(self._graph_id, named, goal, now) if graph is None else graph
        self._rows = rows_of(self._graph_id, self._base)
        self._places: dict[str, list[int]] = {}
        for place, row in enumerate(self._rows):
            self._places.setdefault(row_id(row) or "", []).append(place)
        self._former, self._state, self._now = former, state, now
        self._records = dict(former.records)
        self._outcomes: list[NodeOutcome] = []
        self._created: list[str] = []
        self._statuses: list[tuple[str, str]] = []

    def done(self, listed: ListedNodes) -> Merge:
        for node in listed.nodes:
            self._outcomes.append(self._merge(node))
        gone = [name for name in self._former.records if name not in listed.ids and name in self._places]
        self._outcomes += [NodeOutcome(node_id=name, outcome="vanished") for name in sorted(gone)]
        is_changed = any(each.outcome in {"created", "updated"} for each in self._outcomes)
        whole = {**self._base, "nodes": self._rows}
        if is_changed:
            whole["updated_at"] = instant_of(self._now)
        return Merge(
            record=whole if is_changed else None,
            records=self._records,
            outcomes=tuple(self._outcomes),
            created=tuple(self._created),
            statuses=tuple(self._statuses),
            whole=whole,
        )

    def _merge(self, node: ListedNode) -> NodeOutcome:
        places = self._places.get(node.node_id, [])
        former = self._former.records.get(node.node_id, {})
        if _is_older(node, former):
            return NodeOutcome(node_id=node.node_id, outcome="stale_skipped")
        if not places:
            return self._missing(node, former)
        if len(places) > 1 or not isinstance(self._rows[places[0]], dict):
            return NodeOutcome(node_id=node.node_id, outcome="kept_here", fields=("node_id",))
        return self._present(node, former, places[0])

    def _missing(self, node: ListedNode, former: Json) -> NodeOutcome:
        """Add a node; one that was taken out of the graph here stays out until the list says something else of it."""
        if former and not self._is_new and all(_is_same(name, node.fields, former["said"]) for name in FIELDS):
            return NodeOutcome(node_id=node.node_id, outcome="kept_here", fields=(_REMOVED,))
        given = {name: each for name, each in node.fields.items() if each is not None}
        row = new_node(self._graph_id, node.node_id, given, self._now)
        item = self._state.item((self._graph_id, node.node_id))
        if item is not None:
            # Its row was lost, and what was done here counts.
            shown = projection(item, TaskNode(node_id=node.node_id))
            row |= {"status": shown.status, "blocker_reason": shown.blocker_reason}
            row["updated_at"] = instant_of(shown.updated_at)
        self._rows.append(row)
        self._created.append(node.node_id)
        self._remember(node, former, row, item)
        return NodeOutcome(node_id=node.node_id, outcome="created")

    def _present(self, node: ListedNode, former: Json, place: int) -> NodeOutcome:
        row: Json = self._rows[place]
        item = self._state.item((self._graph_id, node.node_id))
        said: Json = former.get("said", {})
        differing = [name for name in FIELDS if not _is_same(name, row, node.fields)]
        taken = [name for name in differing if _is_taken(name, row, node, said, item)]
        if taken:
            row = self._rows[place] = self._revised(row, node, taken, item)
        self._remember(node, former, row, item)
        if taken:
            return NodeOutcome(node_id=node.node_id, outcome="updated", fields=tuple(taken))
        outcome: Any = "kept_here" if differing else "unchanged"
        return NodeOutcome(node_id=node.node_id, outcome=outcome, fields=tuple(differing))

    def _revised(self, row: Json, node: ListedNode, taken: list[str], item: WorkItem | None) -> Json:
        given = {name: node.fields[name] for name in taken}
        if "status" in given:
            given["blocker_reason"] = node.fields["blocker_reason"]
            self._statuses.append((node.node_id, node.fields["status"]))
        now = self._now if item is None else max(self._now, item.changed_at + _STEP)
        return {**row, **given, "updated_at": instant_of(now)}

    def _remember(self, node: ListedNode, former: Json, row: Json, item: WorkItem | None) -> None:
        """Keep what the list says where the graph says it too: of the rest, it is asked again.

        That a node is `running` here because it is leased here is no word of the list's.
        """
        before: Json = former.get("said", {})
        said: Json = {}
        for name in FIELDS:
            is_agreed = name != "status" or not _is_owned(item)
            if is_agreed and _is_same(name, row, node.fields):
                said |= _told(name, node.fields)
            elif name in before:
                said |= _told(name, before)
        at = node.at or _instant(former, "at")
        as_of = node.as_of or _instant(former, "as_of")
        self._records[node.node_id] = {"at": _text(at), "as_of": _text(as_of), "said": said}


def _told(name: str, fields: Json) -> Json:
    names = (name, "blocker_reason") if name == "status" else (name,)
    return {each: fields[each] for each in names if fields.get(each) is not None or each in FIELDS}


def _is_taken(name: str, row: Json, node: ListedNode, said: Json, item: WorkItem | None) -> bool:
    """Say whether the list decides about a field in which it differs from the graph."""
    if _is_owned(item):
        return False
    if name == "status" and name not in said:
        # Nobody is known to have decided it: what is taken, held or over there is not given out here.
        return _is_open(row) and not _is_open(node.fields)
    if _is_finished_here(row, node, said, item):
        return False
    if name not in said or _is_same(name, node.fields, said):
        return False
    if _is_same(name, row, said):
        return True
    changed_at = row_instant(str(row.get("updated_at")))
    return node.at is not None and (changed_at is None or node.at > changed_at)


def _is_owned(item: WorkItem | None) -> bool:
    return item is not None and item.state in _OWNED


def _is_open(fields: Json) -> bool:
    return fields.get("status") in (None, *OPEN_STATUSES)


def _is_finished_here(row: Json, node: ListedNode, said: Json, item: WorkItem | None) -> bool:
    """Say whether the node is over by what was done here, and not by what the list said."""
    if row.get("status") not in FINISHED_STATUSES or row.get("status") == node.fields["status"]:
        return False
    return row.get("status") != said.get("status") or (item is not None and item.state in FINISHED_STATES)


def _is_older(node: ListedNode, former: Json) -> bool:
    """Say whether a record is older than what was imported: by its own time or, where it never had one, the list's."""
    at, before = node.at, _instant(former, "at")
    if at is None and before is None:
        at, before = node.as_of, _instant(former, "as_of")
    return at is not None and before is not None and at < before


def _instant(former: Json, name: str) -> datetime | None:
    given = former.get(name)
    return row_instant(given) if isinstance(given, str) else None


def _text(at: datetime | None) -> str | None:
    return None if at is None else instant_of(at)


def _is_same(name: str, one: Json, other: Json) -> bool:
    return _meaning(name, one) == _meaning(name, other)


def _meaning(name: str, fields: Json) -> object:
    """Return what a field says, in one form for all the ways in which that may be written."""
    given = fields.get(name)
    if name == "status":
        status = "pending" if _is_open(fields) else given
        return status, (fields.get("blocker_reason") or "") if status == "blocked" else ""
    if name in _INSTANTS and isinstance(given, str):
        return row_instant(given) or given
    if name in _LISTS:
        return [] if given is None else given
    return (given or 0) if name == "priority" else (given or None)
