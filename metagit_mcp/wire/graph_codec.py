"""Reads a task graph from bytes: the good nodes stand, each bad one is named. Knows no file and no policy.

The fast path hands the whole text to a parser that knows the fields; only when it is refused, or when fields of ours
were dropped by another program, is it taken apart node by node.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from hashlib import sha1
from itertools import islice
from typing import Any, Final

from metagit_mcp.domain.tasks import STATUSES, LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.domain.text import is_id, shown_id
from metagit_mcp.domain.value import changed
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.codec import (
    Json,
    adapter,
    compact,
    first_problem,
    has_bom,
    parse_leniently,
    problem,
    refusal,
    validated,
)
from metagit_mcp.wire.slips import SMALL, slips

Kept = Mapping[str, Mapping[str, Any]]
_NAMED: Final = 5
_INSTANT: Final = "An instant with its offset, for example 2026-12-01T12:00:00Z or 2026-12-01T14:00:00+02:00."
_HALF: Final = "holds half of a character (a lone surrogate)"
_STATUSES: Final = frozenset(STATUSES)
_NODE_FIELDS: Final = frozenset(each.name for each in fields(TaskNode))
_HEAD_FIELDS: Final = frozenset(each.name for each in fields(TaskGraph)) - {"nodes"}


def content_digest(raw: bytes) -> str:
    """Return a short digest of a file's content, the same in every process.

    It tells versions apart and keeps no secret: of the functions that every Python has, SHA-1 is the fastest.
    """
    return sha1(raw, usedforsecurity=False).hexdigest()[:16]


def load_graph(graph_id: str, raw: bytes, kept: Kept | None = None) -> LoadedGraph:
    """Return the graph in `raw`; `kept` holds our fields by node, in force where the text lacks the key.

    Never raises for content: a text that cannot be used as a whole gives a graph without nodes and a warning.
    """
    digest = content_digest(raw)
    if not kept and not has_bom(raw):
        try:
            found = _read(raw)
            if found is not None:
                graph, has_own = found
                return _checked(graph_id, graph, digest, {}, _slips_in(raw), has_own=has_own)
        except ValueError:
            # pydantic refuses it, or it is nested too deeply.
            pass
    return _apart(graph_id, raw, digest, kept or {})


# Beyond that msgspec has made up for the time that it takes to load; below it the others have less to load.
_READ_WITHOUT: Final = 1024 * 1024
_left_to_read = [_READ_WITHOUT]


def _read(raw: bytes) -> tuple[TaskGraph, bool] | None:
    """Return the graph in a text as pydantic reads it, and whether a node may say something in a field of ours.

    None: some node has no id by our own rule.

    Raises:
        ValidationError: it is none.
    """
    _left_to_read[0] -= len(raw)
    if _left_to_read[0] < 0:
        from metagit_mcp.wire.plain_graphs import plain_graph  # noqa: PLC0415 - as above

        found = plain_graph(raw)
        if found is not None:
            return found
    graph = validated(TaskGraph, raw)
    return (graph, True) if _have_ids(graph.nodes) else None


def _slips_in(raw: bytes) -> list[str]:
    """Return what a person may have misspelt in a text that can be read; only a small one is taken apart for it."""
    found = parse_leniently(raw) if len(raw) <= SMALL else None
    return _first_slips(found) if isinstance(found, dict) else []


def _first_slips(record: Json) -> list[str]:
    return list(islice(slips(record.get("nodes")), _NAMED))


def load_record(graph_id: str, record: Json) -> LoadedGraph:
    """Return the graph that the object of a file means, as `load_graph` says of the file."""
    try:
        return load_graph(graph_id, _written(record))
    except RecursionError:
        return invalid_graph(graph_id, "nested too deeply")


def _written(record: Json) -> bytes:
    try:
        return compact(record)
    except ValueError:
        # Half of a surrogate pair or deep nesting, which only the standard library writes down as they were read.
        import json  # noqa: PLC0415 - hardly any file has them

        return json.dumps(record).encode()


def _have_ids(nodes: Iterable[TaskNode]) -> bool:
    """Say whether every node has an id by our own rule: the pattern's letters are not the same to every program."""
    ids = {node.node_id for node in nodes}
    plain = all(map(str.isascii, ids)) and ids.isdisjoint({".", ".."})
    return plain or all(map(is_id, ids))


def invalid_graph(graph_id: str, why: str, digest: str = "") -> LoadedGraph:
    """Return the stand-in of a file that cannot be used, with the reason as its warning."""
    return LoadedGraph(graph_id=graph_id, graph=None, digest=digest, warnings=(f"graph {graph_id}: {why}",))


def _apart(graph_id: str, raw: bytes, digest: str, kept: Kept) -> LoadedGraph:
    try:
        record = parse_leniently(raw)
    except ValueError as error:
        return invalid_graph(graph_id, f"not valid JSON: {error}", digest)
    if not isinstance(record, dict):
        return invalid_graph(graph_id, "the file must hold one JSON object", digest)
    rows = record.get("nodes")
    if rows is not None and not isinstance(rows, list):
        return invalid_graph(graph_id, "nodes: must be a list", digest)
    warnings = ["starts with a byte order mark; other programs refuse that"] if has_bom(raw) else []
    warnings += _first_slips(record) if len(raw) <= SMALL else []
    defects: dict[str, str] = {}
    left_out: list[str] = []
    restored: list[str] = []
    nodes = tuple(_nodes(rows or [], kept, defects, left_out, restored))
    warnings += left_out
    if restored:
        warnings.append(
            f"another program dropped {_some(restored)}; the kept values stay in force (end one by an explicit null)"
        )
    try:
        head = {key: each for key, each in record.items() if key in _HEAD_FIELDS and each is not None}
        for name in _halves(head):
            return invalid_graph(graph_id, f"{name}: {_HALF}", digest)
        graph = adapter(TaskGraph).validate_python({**head, "nodes": nodes})
    except refusal() as error:
        return invalid_graph(graph_id, ": ".join(first_problem(error)), digest)
    told = tuple(f"graph {graph_id}: {text}" for text in left_out)
    return changed(_checked(graph_id, graph, digest, defects, warnings), left_out=told)


def _nodes(
    rows: Iterable[object], kept: Kept, defects: dict[str, str], left_out: list[str], restored: list[str]
) -> Iterable[TaskNode]:
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            left_out.append(f"nodes/{place}: must be an object")
            continue
        if isinstance(node_id := row.get("node_id"), str):
            row = {**row, "node_id": node_id.strip()}  # noqa: PLW2901 - the same row, read as the task graph tools do
        node = _node(_with_kept(row, kept, restored), place, defects, left_out)
        if node is not None:
            yield node


def _with_kept(row: Json, kept: Kept, restored: list[str]) -> Json:
    node_id = row.get("node_id")
    ours = kept.get(node_id) if isinstance(node_id, str) else None
    missing = {name: each for name, each in (ours or {}).items() if name not in row}
    restored += [f"{node_id}.{name}" for name in missing]
    return {**row, **missing}


def _node(row: Json, place: int, defects: dict[str, str], left_out: list[str]) -> TaskNode | None:
    """Read one node; one with a bad field is kept without that field and named in `defects`."""
    row = {name: each for name, each in row.items() if each is not None and name in _NODE_FIELDS}
    node_id = row.get("node_id")
    found = [(name, _HALF) for name in _halves(row)]
    try:
        node = adapter(TaskNode).validate_python(row)
    except refusal() as error:
        found = [problem(each) for each in error.errors(include_url=False, include_input=False)] + found
    else:
        if not found and is_id(node.node_id):
            return node
    bad = {path.partition("/")[0] for path, _ in found}
    if "node_id" in bad or not is_id(str(node_id)):
        left_out.append(f"nodes/{place}/node_id: must be letters, digits, '_', '.', '-' (at most 255)")
        return None
    where, rule = found[0]
    defects[str(node_id)] = f"{where}: {rule}"
    return adapter(TaskNode).validate_python({name: each for name, each in row.items() if name not in bad})


def _halves(row: Json) -> list[str]:
    """Return the fields that hold half of a surrogate pair: no file and no answer could ever hold them again."""
    return [] if _is_writable(row) else [name for name, each in row.items() if not _is_writable({name: each})]


def _is_writable(row: Json) -> bool:
    try:
        compact(row)
    except ValueError:
        return False
    return True


def check_node(row: Json) -> None:
    """Check one node that is about to be written.

    Raises:
        InvalidInput: a field is out of range; names it.
    """
    given = {name: each for name, each in row.items() if each is not None}
    try:
        node = adapter(TaskNode).validate_python(given)
    except refusal() as error:
        where, rule = first_problem(error)
        hint = _INSTANT if where in {"deadline", "not_before"} else ""
        raise InvalidInput(f"{where}: {rule}", hint=hint, field=where) from None
    defects: dict[str, str] = {}
    _in_utc(node, defects)
    for why in defects.values():
        raise InvalidInput(why, field=why.partition(":")[0])


def _checked(
    graph_id: str,
    graph: TaskGraph,
    digest: str,
    defects: dict[str, str],
    warnings: list[str],
    *,
    has_own: bool = True,
) -> LoadedGraph:
    """Add what only the whole shows: ids used twice, times without a zone, unknown statuses."""
    nodes = graph.nodes
    if len({node.node_id for node in nodes}) != len(nodes):
        times = Counter(node.node_id for node in nodes)
        defects.update({node_id: "node_id: used twice" for node_id, count in times.items() if count > 1})
    if graph.graph_id not in {None, graph_id}:
        warnings.append(f"names itself {shown_id(str(graph.graph_id))}; the file name decides")
    if has_own and any(node.deadline is not None or node.not_before is not None for node in nodes):
        graph = changed(graph, nodes=tuple(_in_utc(node, defects) for node in nodes))
    if not {node.status for node in nodes} <= _STATUSES:
        unknown = [node.node_id for node in nodes if node.status not in _STATUSES]
        warnings.append(f"unknown status of {_some(unknown)}; such nodes are not ready")
    warnings += [f"{node_id}/{why}" for node_id, why in sorted(defects.items())[:_NAMED]]
    if len(defects) > _NAMED:
        warnings.append(f"{len(defects) - _NAMED} more nodes have fields that cannot be used")
    return LoadedGraph(
        graph_id=graph_id,
        graph=graph,
        digest=digest,
        defects=defects,
        warnings=tuple(f"graph {graph_id}: {text}" for text in warnings),
        has_own=has_own,
    )


def _in_utc(node: TaskNode, defects: dict[str, str]) -> TaskNode:
    """Return the node with its instants in UTC; one that is no instant is named in `defects` and left out."""
    if node.deadline is None and node.not_before is None:
        return node
    times: dict[str, datetime | None] = {}
    for name, at in (("deadline", node.deadline), ("not_before", node.not_before)):
        times[name] = None
        if at is not None and at.tzinfo is None:
            defects[node.node_id] = f"{name}: needs an offset, for example 2026-12-01T12:00:00Z"
        elif at is not None:
            try:
                times[name] = at.astimezone(UTC)
            except OverflowError:
                defects[node.node_id] = f"{name}: is outside the calendar"
    return changed(node, deadline=times["deadline"], not_before=times["not_before"])


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(shown_id(name) for name in names[:_NAMED]) + more
