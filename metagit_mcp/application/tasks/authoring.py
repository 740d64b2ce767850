"""Builds and revises task graph records (the JSON of a graph file), refusing what could never run. Knows no file."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from metagit_mcp.application.finding import usable_graph
from metagit_mcp.application.rows import instant_of, row_id
from metagit_mcp.domain.graph import cycle_text, structure
from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
from metagit_mcp.domain.text import is_id, shown_id
from metagit_mcp.errors import AuthForbidden, GraphCycle, GraphInvalid, InvalidInput, UnknownDependency
from metagit_mcp.wire.graph_codec import check_node, load_record
from metagit_mcp.wire.outline import OutlineItem
from metagit_mcp.wire.requests import PlannedNode, node_fields

Json = dict[str, Any]
_LONGEST_SLUG: Final = 60
_NAMED: Final = 5
_RISKS: Final = (None, "none", "reversible", "external", "high_risk", "destructive")
_APPROVALS: Final = (None, "not_required", "policy_required", "human_required")


class FreshIds:
    """Makes ids from titles, none of which was there before: numbered where several titles say the same."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """Note the ids that are in use."""
        self._taken = set(taken)
        self._counted: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        """Say whether an id is in use."""
        return name in self._taken

    def take(self, name: str) -> None:
        """Note one more id as in use."""
        self._taken.add(name)

    def made_from(self, title: str) -> str:
        """Return an id made from a title, now in use: lower case, words joined by dashes, numbered if need be."""
        words = re.findall(r"\w+", "".join(mark if is_id(mark) else " " for mark in title.casefold()))
        stem = "-".join(words)[:_LONGEST_SLUG].rstrip("-") or "task"
        # Ids are only ever added, so counting goes on where it stopped.
        number = self._counted.get(stem, 1)
        while (name := stem if number == 1 else f"{stem}-{number}") in self._taken:
            number += 1
        self._counted[stem] = number
        self.take(name)
        return name


def rows_of(graph_id: str, record: Json) -> list[Any]:
    """Return the node rows of a graph record, a list that the caller may change.

    Raises:
        GraphInvalid: there is something else in their place.
    """
    rows = record.get("nodes")
    if rows is not None and not isinstance(rows, list):
        hint = "Mend the file; other graphs go on."
        raise GraphInvalid(f"graph {graph_id}: nodes: must be a list", hint=hint, graph_id=graph_id)
    return list(rows or ())


def new_graph(graph_id: str, title: str, goal: str, now: datetime) -> Json:
    """Return the record of an empty graph, with every key that the task graph tools write."""
    at = instant_of(now)
    intent: Json = {
        "intent_id": f"intent-{graph_id}",
        "title": title,
        "goal": goal,
        "acceptance": [],
        "project": None,
        "repos": [],
        "objective_id": None,
        "handoff_id": None,
        "created_at": at,
        "updated_at": at,
    }
    return {
        "graph_id": graph_id,
        "title": title,
        "root_intent_id": intent["intent_id"],
        "objective_id": None,
        "handoff_id": None,
        "intent": intent,
        "nodes": [],
        "status": "active",
        "created_at": at,
        "updated_at": at,
    }


def new_node(graph_id: str, node_id: str, given: Json, now: datetime) -> Json:
    """Return the record of a node: every key that the task graph tools write, then ours where given."""
    at = instant_of(now)
    plain: Json = {
        "node_id": node_id,
        "graph_id": graph_id,
        "title": "",
        "depends_on": [],
        "status": "pending",
        "intent_id": f"intent-{graph_id}",
        "blocker_reason": None,
        "project": None,
        "repository": None,
        "agent_id": None,
        "acl": None,
        "context_budget": None,
        "compiled_context_path": None,
        "priority": 0,
        "estimated_tokens": None,
        "created_at": at,
        "updated_at": at,
    }
    return {**plain, **given, "node_id": node_id}


def outlined(items: Sequence[OutlineItem], taken: Iterable[str]) -> list[Json]:
    """Return the nodes of an outline, ids made from the titles."""
    names = FreshIds(taken)
    nodes: list[Json] = []
    for item in items:
        node: Json = {"node_id": names.made_from(item.title), "title": item.title, "depends_on": list(item.after)}
        if item.parent is not None:
            node["parent_id"] = nodes[item.parent]["node_id"]
        if item.risk is not None:
            node["risk"] = item.risk
        nodes.append(node)
    return nodes


def planned(nodes: Sequence[PlannedNode], taken: Iterable[str]) -> list[Json]:
    """Return the nodes of a plan, ids made from the titles where none is given.

    Raises:
        InvalidInput: an id that is none, or one used twice or already in the graph.
    """
    existing = set(taken)
    names = FreshIds(existing)
    for place, node in enumerate(nodes):
        if node.node_id is None:
            continue
        if not is_id(node.node_id):
            raise InvalidInput(
                f"nodes/{place}/node_id: must be letters, digits, '_', '.', '-' only", field=f"nodes/{place}/node_id"
            )
        if node.node_id in names:
            where = "already in the graph" if node.node_id in existing else "used twice in the plan"
            raise InvalidInput(
                f"nodes/{place}/node_id: {node.node_id} is {where}",
                hint="Leave node_id out to have one made, or change that node with metagit_task_update.",
                field=f"nodes/{place}/node_id",
            )
        names.take(node.node_id)
    found: list[Json] = []
    for node in nodes:
        given = node_fields(node)
        if node.node_id is None:
            given["node_id"] = names.made_from(node.title)
        found.append(given)
    return found


def checked(graph_id: str, record: Json, changed: Iterable[str]) -> LoadedGraph:
    """Return the graph that a record means, after refusing what the changed nodes could break.

    Raises:
        InvalidInput: a field of a changed node is out of range; names it.
        UnknownDependency: a changed node depends on, or is part of, a node that the graph lacks.
        GraphCycle: a changed node waits for itself; names the path.
        GraphInvalid: the record cannot be used whatever its nodes are.
    """
    names = set(changed)
    for row in record["nodes"]:
        node_id = row_id(row)
        if node_id in names:
            check_node({**row, "node_id": node_id})
    loaded = usable_graph({graph_id: load_record(graph_id, record)}, graph_id)
    shape = structure(loaded.graph.nodes if loaded.graph is not None else ())
    for node_id in sorted(names & shape.by_id.keys()):
        _refuse_unknown(shape.by_id[node_id], shape.by_id)
    for node_id in sorted(names & shape.cycles.keys()):
        path = shape.cycles[node_id]
        raise GraphCycle(
            f"The dependencies form a cycle: {cycle_text(path)}.",
            hint="Remove one of these dependencies; nothing was written.",
            cycle=list(path[:50]),
        )
    return loaded


def _refuse_unknown(node: TaskNode, known: Iterable[str]) -> None:
    needed = [*node.depends_on, *([node.parent_id] if node.parent_id is not None else [])]
    missing = [name for name in needed if name not in known]
    if missing:
        raise UnknownDependency(
            f"Node {node.node_id} needs {_some(missing)}, which the graph does not have.",
            hint="A node depends on nodes of its own graph: 'A depends_on B' makes B come first. Nothing was written.",
            node_id=node.node_id,
            missing=[shown_id(name) for name in missing],
        )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(shown_id, names[:_NAMED])) + more


def refuse_lowering(before: Json, given: Json) -> None:
    """Refuse a change that would weaken a gate (interfaces.md §4: risk and approval may be raised, never lowered).

    Raises:
        AuthForbidden: names the field.
    """
    for name, order in (("risk", _RISKS), ("approval", _APPROVALS)):
        old, new = before.get(name), given.get(name, before.get(name))
        if old in order and new in order and order.index(new) < order.index(old):
            raise AuthForbidden(
                f"{name} can be raised here, not lowered.",
                hint="A person lowers it in the graph file, or approves the node: metagit-mcp work approve NODE.",
                field=name,
            )
