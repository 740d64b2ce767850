"""Says what the records of another program's list are as nodes, and accounts for every edge. Knows no graph.

A node whose record the other program would not start is held: `blocked`, with its reason, which every program that
shares the workspace understands.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from metagit_mcp.domain.text import shown, shown_id
from metagit_mcp.domain.value import value
from metagit_mcp.wire.lists.import_answers import EdgeCount, IgnoredCount
from metagit_mcp.wire.lists.listed import SourceEdge, SourceList, SourceRecord

Json = dict[str, Any]
_STATUSES: Final = {
    "open": "pending",
    "taken": "running",
    "held": "blocked",
    "done": "completed",
    "cancelled": "cancelled",
}
_LONGEST_REASON: Final = 500


@value
class ListedNode:
    """One record as a node: what its row is to say, and how new the source says that is.

    `at` is the record's own time, `as_of` that of the whole list, where it says one.
    """

    node_id: str
    fields: Json
    at: datetime | None
    as_of: datetime | None


@value
class ListedNodes:
    """The nodes of one list, in its order, and what became of everything else in it. `ids` are those of all records."""

    nodes: tuple[ListedNode, ...]
    ids: frozenset[str]
    edges_used: tuple[EdgeCount, ...]
    edges_ignored: tuple[IgnoredCount, ...]
    records_ignored: tuple[IgnoredCount, ...]
    warnings: tuple[str, ...]


def listed_nodes(source: SourceList, known: Collection[str] = ()) -> ListedNodes:
    """Return the nodes of a list; `known` are the ids that were imported from it before.

    What the other program itself does not offer is a node only where another one needs it, or where it is one already.
    """
    by_id = {record.record_id: record for record in source.records}
    wanted = _wanted(by_id, known)
    used: Counter[tuple[str, str]] = Counter()
    unused: Counter[tuple[str, str]] = Counter()
    warnings = [problem.text for problem in source.problems]
    for record in source.records:
        for edge in record.edges:
            _account(edge, record, by_id if record.record_id in wanted else None, used, unused, warnings)
    aside = Counter((record.aside, "not offered there") for record in source.records if record.record_id not in wanted)
    aside.update({(kind, "no task"): count for kind, count in source.passed_over.items()})
    return ListedNodes(
        nodes=tuple(_node(each, source) for each in source.records if each.record_id in wanted),
        ids=frozenset(by_id),
        edges_used=tuple(EdgeCount(kind=kind, use=use, count=used[kind, use]) for kind, use in sorted(used)),  # type: ignore[arg-type]  # what `_account` counts
        edges_ignored=_ignored(unused),
        records_ignored=_ignored(aside),
        warnings=tuple(warnings),
    )


def _wanted(by_id: Mapping[str, SourceRecord], known: Collection[str]) -> set[str]:
    """Return the ids of the records that become nodes."""
    found = {name for name, record in by_id.items() if not record.aside or name in known}
    fresh: Iterable[str] = sorted(found)
    while fresh:
        needed = {
            target
            for name in fresh
            for edge in by_id[name].edges
            if edge.use in {"depends_on", "parent_id"}
            for target in edge.targets
        }
        fresh = (needed & by_id.keys()) - found
        found |= fresh
    return found


def _account(
    edge: SourceEdge,
    record: SourceRecord,
    by_id: Mapping[str, SourceRecord] | None,
    used: Counter[tuple[str, str]],
    unused: Counter[tuple[str, str]],
    warnings: list[str],
) -> None:
    """Count one edge; `by_id` is None where its record is no node."""
    if by_id is None:
        unused[edge.kind, "its task is not imported"] += 1
    elif edge.use == "none":
        unused[edge.kind, edge.why] += 1
    elif edge.use == "held":
        unused[edge.kind, f"{edge.why}: its node is held"] += 1
    elif edge.use == "discovered_from" or all(target in by_id for target in edge.targets):
        used[edge.kind, edge.use] += 1
    else:
        used[edge.kind, "missing"] += 1
        if record.standing == "open":
            warnings.append(
                f"{record.place.text}: {edge.kind}: missing_dependency: {shown_id(edge.target)} is not in the list, "
                f"so {record.record_id} is not ready"
            )


def _ignored(counted: Counter[tuple[str, str]]) -> tuple[IgnoredCount, ...]:
    return tuple(IgnoredCount(kind=kind, why=why, count=counted[kind, why]) for kind, why in sorted(counted))


def _node(record: SourceRecord, source: SourceList) -> ListedNode:
    held = record.why_held or (f"{record.aside}, not offered there" if record.aside else "")
    is_held = bool(held) and record.standing in {"open", "held"}
    parents = _targets(record, "parent_id")
    found = _targets(record, "discovered_from")
    fields: Json = {
        "title": record.title,
        "status": "blocked" if is_held else _STATUSES[record.standing],
        "blocker_reason": shown(held, _LONGEST_REASON) if is_held else None,
        "priority": record.priority,
        "depends_on": list(dict.fromkeys(_targets(record, "depends_on"))),
        "parent_id": parents[0] if parents else None,
        "discovered_from": found[0] if found else None,
        "agent_id": record.agent_id,
        "estimated_runtime_seconds": record.runtime_seconds,
        "not_before": _text(record.not_before),
        "deadline": _text(record.deadline),
        "acceptance": None if record.acceptance is None else list(record.acceptance),
    }
    return ListedNode(node_id=record.record_id, fields=fields, at=record.updated_at, as_of=source.as_of)


def _targets(record: SourceRecord, use: str) -> list[str]:
    return [target for edge in record.edges if edge.use == use for target in edge.targets]


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
