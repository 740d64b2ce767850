"""What the shape of a task graph says: what a node waits for, how critical it is, where it goes in circles.

Plain passes over the edges; networkx is imported only to name a cycle or to draw. Knows no policy and no clock.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from metagit_mcp.domain.tasks import FINISHED_STATUSES, STATUSES, TaskNode, effective_tokens, is_parked
from metagit_mcp.domain.text import shown_id
from metagit_mcp.domain.value import value

K = TypeVar("K", bound=Hashable)
_LONGEST_PATH_SHOWN: Final = 10


@value
class Structure:
    """The nodes of one graph by id, with the hierarchy downwards and the cycle each node of a cycle is on."""

    by_id: Mapping[str, TaskNode]
    children: Mapping[str, Sequence[str]]
    cycles: Mapping[str, tuple[str, ...]]


def structure(nodes: Iterable[TaskNode]) -> Structure:
    """Index the nodes of one graph; of several with one id the first stands."""
    by_id: dict[str, TaskNode] = {}
    for node in nodes:
        by_id.setdefault(node.node_id, node)
    children: dict[str, list[str]] = {}
    for node in by_id.values():
        if node.parent_id is not None:
            children.setdefault(node.parent_id, []).append(node.node_id)
    return Structure(by_id=by_id, children=children, cycles=_cycles(by_id, children))


# --- what a node waits for -------------------------------------------------------------------------------------


def unmet(shape: Structure, node: TaskNode) -> Iterator[str]:
    """Yield everything `node` waits for, as details of the reason `not_ready` (scheduling.md §5), best known first.

    Empty exactly when status, dependencies and hierarchy let the node run.
    """
    if node.node_id in shape.cycles:
        yield "cycle " + cycle_text(shape.cycles[node.node_id])
    if node.status not in STATUSES:
        yield f"unknown status {shown_id(node.status)}"
    if node.depends_on:
        yield from _unmet_dependencies(shape, node, node.depends_on)
    if node.parent_id is not None:
        yield from _unmet_ancestors(shape, node)
    for child in shape.children.get(node.node_id, ()):
        if shape.by_id[child].status not in FINISHED_STATUSES:
            yield f"open child {child}"


def _unmet_dependencies(shape: Structure, node: TaskNode, names: Iterable[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        needed = shape.by_id.get(name)
        if needed is None:
            yield f"missing dependency {shown_id(name)}"
        elif needed.status != "completed":
            yield f"{_state_word(needed)} {name}"


def _state_word(node: TaskNode) -> str:
    if node.status == "cancelled":
        return "cancelled"
    return "failed" if is_parked(node) else "unfinished"


def _unmet_ancestors(shape: Structure, node: TaskNode) -> Iterator[str]:
    for ancestor_id, ancestor in ancestors(shape, node):
        if ancestor is None:
            yield f"parent {shown_id(ancestor_id)} missing"
            continue
        if ancestor.status == "completed":
            continue
        if ancestor.status in {"cancelled", "blocked"}:
            yield f"parent {ancestor_id} {ancestor.status}"
        outside = [name for name in ancestor.depends_on if not _is_below(shape, name, ancestor_id)]
        for detail in _unmet_dependencies(shape, ancestor, outside):
            yield f"parent {ancestor_id}: {detail}"


def ancestors(shape: Structure, node: TaskNode) -> Iterator[tuple[str, TaskNode | None]]:
    """Yield the parents of `node`, nearest first, None for one the graph lacks; a parent cycle is walked once."""
    seen = {node.node_id}
    parent_id = node.parent_id
    while parent_id is not None and parent_id not in seen:
        seen.add(parent_id)
        parent = shape.by_id.get(parent_id)
        yield parent_id, parent
        parent_id = None if parent is None else parent.parent_id


def _is_below(shape: Structure, name: str, ancestor_id: str) -> bool:
    node = shape.by_id.get(name)
    return node is not None and any(parent_id == ancestor_id for parent_id, _ in ancestors(shape, node))


# --- criticality -----------------------------------------------------------------------------------------------


def upward_ranks(by_id: Mapping[str, TaskNode]) -> dict[str, int]:
    """Return for each node its effective tokens plus the heaviest chain of its dependents, in tokens.

    The upward rank of HEFT scheduling (scheduling.md §2, criticality), finished nodes included. Edges inside a
    cycle count for nothing, since no order exists along them.
    """
    dependencies = {
        node_id: [name for name in dict.fromkeys(node.depends_on) if name in by_id] if node.depends_on else ()
        for node_id, node in by_id.items()
    }
    waiting = dict.fromkeys(by_id, 0)
    for names in dependencies.values():
        for name in names:
            waiting[name] += 1
    ranks = {node_id: effective_tokens(node) for node_id, node in by_id.items()}
    if not any(dependencies.values()):
        return ranks
    heaviest = dict.fromkeys(by_id, 0)

    def settle(node_id: str) -> Sequence[str]:
        ranks[node_id] += heaviest[node_id]
        for name in dependencies[node_id]:
            heaviest[name] = max(heaviest[name], ranks[node_id])
        return dependencies[node_id]

    _peel(waiting, settle)
    for circle in _circular(waiting, dependencies):
        waiting[circle] = 0
    _peel(waiting, settle)
    return ranks


def _peel(waiting: dict[K, int], settle: Callable[[K], Iterable[K]]) -> None:
    """Settle each key that waits for nothing, releasing those it returns; settled keys leave `waiting`."""
    free = deque(key for key, count in waiting.items() if count == 0)
    while free:
        key = free.popleft()
        del waiting[key]
        for released in settle(key):
            if released in waiting:
                waiting[released] -= 1
                if waiting[released] == 0:
                    free.append(released)


def _circular(left: Iterable[K], onward: Mapping[K, Iterable[K]]) -> list[K]:
    """Of the keys that a peel left over return those on cycles (or between two), by peeling from the other end."""
    remaining = set(left)
    backward: dict[K, list[K]] = {key: [] for key in remaining}
    waiting = dict.fromkeys(left, 0)
    for key in left:
        for target in onward[key]:
            if target in remaining:
                backward[target].append(key)
                waiting[key] += 1
    _peel(waiting, lambda key: backward[key])
    return list(waiting)


# --- cycles ----------------------------------------------------------------------------------------------------

# A node waits for itself ("node", id); what it inherits from its ancestors is a vertex of its own ("above", id),
# so that deep hierarchies stay linear.
_Vertex = tuple[str, str]


def _cycles(by_id: Mapping[str, TaskNode], children: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    shape = Structure(by_id=by_id, children=children, cycles={})
    onward = {vertex: targets for node in by_id.values() for vertex, targets in _waits_for(shape, node)}
    backward: dict[_Vertex, list[_Vertex]] = {}
    waiting: dict[_Vertex, int] = dict.fromkeys(onward, 0)
    for vertex, targets in onward.items():
        for target in targets:
            if target in waiting:
                backward.setdefault(target, []).append(vertex)
                waiting[vertex] += 1
    _peel(waiting, lambda vertex: backward.get(vertex, ()))
    return _name_cycles(_circular(waiting, onward), onward) if waiting else {}


def _waits_for(shape: Structure, node: TaskNode) -> Iterator[tuple[_Vertex, list[_Vertex]]]:
    """Yield the edges of one unfinished node: its dependencies, open children, and what its parent hands down."""
    if node.status in FINISHED_STATUSES:
        return
    needs = [("node", name) for name in dict.fromkeys(node.depends_on)]
    below = shape.children.get(node.node_id, ())
    if below:
        handed_down = [need for need in needs if not _is_below(shape, need[1], node.node_id)]
        yield ("above", node.node_id), handed_down + _from_parent(node)
        needs += [("node", child) for child in below]
    needs += _from_parent(node)
    if needs:
        yield ("node", node.node_id), needs


def _from_parent(node: TaskNode) -> list[_Vertex]:
    return [] if node.parent_id is None else [("above", node.parent_id)]


def _name_cycles(
    vertices: Iterable[_Vertex], onward: Mapping[_Vertex, list[_Vertex]]
) -> dict[str, tuple[str, ...]]:
    """Give every node on a cycle one closed path through its strongly connected component."""
    import networkx as nx  # noqa: PLC0415 - 105 ms of import that a graph without cycles never pays (ADR 0004)

    left = set(vertices)
    picture: nx.DiGraph[_Vertex] = nx.DiGraph()
    picture.add_edges_from((v, target) for v in sorted(left) for target in sorted(onward[v]) if target in left)
    named: dict[str, tuple[str, ...]] = {}
    for component in nx.strongly_connected_components(picture):
        inside = picture.subgraph(component)
        if inside.number_of_edges():
            path = _closed_path([edge[0] for edge in nx.find_cycle(inside, source=min(component))])
            named.update({name: path for kind, name in component if kind == "node"})
    return named


def _closed_path(vertices: Sequence[_Vertex]) -> tuple[str, ...]:
    names = list(dict.fromkeys(name for _, name in vertices))
    first = names.index(min(names))
    turned = names[first:] + names[:first]
    return (*turned, turned[0])


def cycle_text(path: Sequence[str]) -> str:
    """Return a closed path as text, cut in the middle when it is long: `a -> b -> a`."""
    if len(path) > _LONGEST_PATH_SHOWN:
        hidden = len(path) - _LONGEST_PATH_SHOWN
        path = [*path[: _LONGEST_PATH_SHOWN - 1], f"... {hidden} more ...", path[-1]]
    return " -> ".join(path)


def waves(by_id: Mapping[str, TaskNode]) -> list[list[str]]:
    """Return the nodes in waves: each wave needs only earlier ones. Nodes on or behind a cycle are left out."""
    import networkx as nx  # noqa: PLC0415 - only drawing needs it

    picture: nx.DiGraph[str] = nx.DiGraph()
    picture.add_nodes_from(by_id)
    picture.add_edges_from((n, node_id) for node_id, node in by_id.items() for n in node.depends_on if n in by_id)
    found: list[list[str]] = []
    try:
        for generation in nx.topological_generations(picture):
            found.append(sorted(generation))  # noqa: PERF402 - kept one by one, so those before a cycle stand
    except nx.NetworkXUnfeasible:
        return found
    return found
