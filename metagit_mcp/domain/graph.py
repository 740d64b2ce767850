"""What the shape of a task graph says: what a node waits for, how critical it is, where it goes in circles.

Plain passes over the edges; networkx is imported only to name a cycle or to draw. Knows no policy and no clock.
"""

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Final, TypeVar

from metagit_mcp.domain.hierarchy import Descent
from metagit_mcp.domain.tasks import FINISHED_STATUSES, STATUSES, TaskNode, effective_tokens, is_parked
from metagit_mcp.domain.text import shown_id
from metagit_mcp.domain.value import value

K = TypeVar("K", bound=Hashable)
_LONGEST_PATH_SHOWN: Final = 10


@value
class Structure:
    """The nodes of one graph by id, with the hierarchy downwards and the cycle each node of a cycle is on.

    `ranks` is how critical each node is (`upward_ranks`). `burdens` is what each parent makes its children wait for by
    itself; `heard` leads from each parent to the nearest one, itself included, that may make a child wait (None: no
    such), so that a walk upwards passes over all others, and `lost` to the nearest that is missing or cancelled.
    `plain`: no parents and no circles, so that all of it but `by_id` stays the same whatever status a node takes.
    """

    by_id: dict[str, TaskNode]
    children: Mapping[str, Sequence[str]]
    ranks: Mapping[str, int] = field(default_factory=dict)
    cycles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    burdens: Mapping[str, Sequence[str]] = field(default_factory=dict)
    heard: Mapping[str, str | None] = field(default_factory=dict)
    lost: Mapping[str, str | None] = field(default_factory=dict)
    plain: bool = True


def structure(nodes: Sequence[TaskNode], broken: Collection[str] = ()) -> Structure:
    """Index the nodes of one graph; `broken` are ids with a field that cannot be used.

    Of several nodes with one id one that is not completed stands, whatever their order.
    """
    by_id = {node.node_id: node for node in nodes}
    if len(by_id) != len(nodes):
        by_id |= {node.node_id: node for node in sorted(nodes, key=_doubt)}
    children: dict[str, list[str]] = {}
    for node_id, node in by_id.items():
        if node.parent_id is not None:
            children.setdefault(node.parent_id, []).append(node_id)
    for below in children.values():
        below.sort()
    ranks, is_circular = _ranked(by_id)
    shape = Structure(by_id=by_id, children=children, ranks=ranks)
    if not (is_circular or children):
        return shape
    descent = Descent({node_id: node.parent_id for node_id, node in by_id.items()}, children)
    burdens = {parent_id: tuple(_burdens(shape, parent_id, broken, descent)) for parent_id in children}
    return replace(
        shape,
        cycles=_cycles(shape, descent),
        burdens=burdens,
        heard=_nearest(by_id, burdens, lambda name: bool(burdens[name]) or _may_hold(by_id[name])),
        lost=_nearest(by_id, burdens, lambda name: name not in by_id or by_id[name].status == "cancelled"),
        plain=False,
    )


def dependents_of(by_id: Mapping[str, TaskNode]) -> dict[str, list[str]]:
    """Return for each id that is depended on the nodes that depend on it."""
    found: dict[str, list[str]] = {}
    for node_id, node in by_id.items():
        # Most need nothing, and a set for each of them would cost more than all else here.
        for name in dict.fromkeys(node.depends_on) if node.depends_on else ():
            found.setdefault(name, []).append(node_id)
    return found


def _doubt(node: TaskNode) -> tuple[bool, str]:
    return node.status != "completed", repr(node)


# --- what a node waits for -------------------------------------------------------------------------------------


def unmet(shape: Structure, node: TaskNode) -> Iterator[str]:
    """Yield everything `node` waits for, as details of the reason `not_ready` (scheduling.md §5), best known first.

    Empty exactly when status, dependencies and hierarchy let the node run.
    """
    yield from unmet_itself(shape, node)
    for ancestor_id in ancestors_heard(shape, node):
        yield from shape.burdens[ancestor_id]
    for child in shape.children.get(node.node_id, ()):
        if shape.by_id[child].status not in FINISHED_STATUSES:
            yield f"open child {child}"


def unmet_itself(shape: Structure, node: TaskNode) -> Iterator[str]:
    """Yield of `unmet` what lies neither in the node's parents nor in its children, in the same order."""
    if node.node_id in shape.cycles:
        yield "cycle " + cycle_text(shape.cycles[node.node_id])
    if node.status not in STATUSES:
        yield f"unknown status {shown_id(node.status)}"
    yield from _unmet_dependencies(shape, node.depends_on)


def unmet_for_good(shape: Structure, node: TaskNode) -> Iterator[str]:
    """Yield of `unmet` what no living parent or child can end, and of the lost parents only the nearest.

    A deep hierarchy makes its nodes wait for as much as its depth squared; nobody is told that but by `unmet`.
    """
    yield from unmet_itself(shape, node)
    lost = None if node.parent_id is None else shape.lost.get(node.parent_id)
    if lost is not None:
        yield from shape.burdens[lost]


def waits_for_dependency(shape: Structure, node: TaskNode) -> bool:
    """Say whether `unmet` yields something for the dependencies of `node`, without saying what."""
    for name in node.depends_on:
        needed = shape.by_id.get(name)
        if needed is None or needed.status != "completed":
            return True
    return False


def _unmet_dependencies(shape: Structure, names: Iterable[str]) -> Iterator[str]:
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


def _burdens(shape: Structure, parent_id: str, broken: Collection[str], descent: Descent) -> Iterator[str]:
    """Yield what a parent makes its children wait for; it does not make them wait for each other."""
    parent = shape.by_id.get(parent_id)
    if parent is None:
        yield f"parent {shown_id(parent_id)} missing"
    elif parent.status == "cancelled":
        yield f"parent {parent_id} cancelled"
    elif parent.status != "completed":
        if parent_id in broken:
            yield f"parent {parent_id} invalid"
        if parent.status not in STATUSES:
            yield f"parent {parent_id} unknown status"
        elif parent.status == "blocked":
            yield f"parent {parent_id} blocked"
        outside = [name for name in parent.depends_on if not descent.is_below(name, parent_id)]
        for detail in _unmet_dependencies(shape, outside):
            yield f"parent {parent_id}: {detail}"


def _nearest(
    by_id: Mapping[str, TaskNode], parents: Iterable[str], is_meant: Callable[[str], bool]
) -> dict[str, str | None]:
    """Lead from each parent to the nearest one, itself included, that is meant; a circle without one leads nowhere.

    A parent that is missing must be meant.
    """
    found: dict[str, str | None] = {}
    for start in parents:
        passed: dict[str, None] = {}
        at: str | None = start
        while at is not None and at not in found and at not in passed:
            if is_meant(at):
                found[at] = at
            else:
                passed[at] = None
                at = by_id[at].parent_id
        found.update(dict.fromkeys(passed, None if at is None else found.get(at)))
    return found


def _may_hold(node: TaskNode) -> bool:
    return node.not_before is not None or node.risk is not None or node.approval is not None


def ancestors_heard(shape: Structure, node: TaskNode) -> Iterator[str]:
    """Yield the ancestors that may make `node` wait, nearest first; a circle of parents is walked once."""
    seen = {node.node_id}
    parent_id = node.parent_id
    while parent_id is not None:
        at = shape.heard.get(parent_id)
        if at is None or at in seen:
            return
        seen.add(at)
        yield at
        parent_id = shape.by_id[at].parent_id if at in shape.by_id else None


# --- criticality -----------------------------------------------------------------------------------------------


def upward_ranks(by_id: Mapping[str, TaskNode]) -> dict[str, int]:
    """Return for each node its effective tokens plus the heaviest chain of its dependents, in tokens.

    The upward rank of HEFT scheduling (scheduling.md §2, criticality), finished nodes included. Edges inside a
    cycle count for nothing, since no order exists along them.
    """
    return _ranked(by_id)[0]


def _ranked(by_id: Mapping[str, TaskNode]) -> tuple[dict[str, int], bool]:
    """Return the upward ranks, and whether nodes depend on each other in a circle."""
    ranks = _ranks_backwards(by_id)
    return (ranks, False) if ranks is not None else _ranks_in_any_order(by_id)


def _ranks_backwards(by_id: Mapping[str, TaskNode]) -> dict[str, int] | None:
    """Rank the nodes in one walk from the last to the first; None where one needs another that stands behind it.

    Plans are written in the order in which they are worked off, so hardly any graph needs more.
    """
    ranks: dict[str, int] = {}
    heaviest: dict[str, int] = {}
    for node_id, node in reversed(list(by_id.items())):
        rank = ranks[node_id] = effective_tokens(node) + heaviest.get(node_id, 0)
        for name in node.depends_on:
            if name in ranks:
                return None
            if rank > heaviest.get(name, 0):
                heaviest[name] = rank
    return ranks


def _ranks_in_any_order(by_id: Mapping[str, TaskNode]) -> tuple[dict[str, int], bool]:
    ranks = {node_id: effective_tokens(node) for node_id, node in by_id.items()}
    dependencies = {
        node_id: [name for name in dict.fromkeys(node.depends_on) if name in by_id]
        for node_id, node in by_id.items()
        if node.depends_on
    }
    waiting = dict.fromkeys(by_id, 0)
    for names in dependencies.values():
        for name in names:
            waiting[name] += 1
    heaviest = dict.fromkeys(by_id, 0)

    def settle(node_id: str) -> Sequence[str]:
        ranks[node_id] += heaviest[node_id]
        needed = dependencies.get(node_id, ())
        for name in needed:
            heaviest[name] = max(heaviest[name], ranks[node_id])
        return needed

    _peel(waiting, settle)
    is_circular = bool(waiting)
    if is_circular:
        _open_circles(waiting, dependencies)
        _peel(waiting, settle)
    return ranks, is_circular


def _open_circles(waiting: dict[str, int], dependencies: dict[str, list[str]]) -> None:
    """Drop the edges inside the cycles that a peel left over, so that the order of the rest is the same each time."""
    import networkx as nx  # noqa: PLC0415 - 105 ms of import that a graph without cycles never pays (ADR 0004)

    picture: nx.DiGraph[str] = nx.DiGraph()
    picture.add_edges_from((node_id, name) for node_id in waiting for name in dependencies.get(node_id, ()))
    for component in nx.strongly_connected_components(picture):
        for node_id in component:
            names = dependencies.get(node_id, [])
            for name in component.intersection(names):
                waiting[name] -= 1
            dependencies[node_id] = [name for name in names if name not in component]


def _peel(waiting: dict[K, int], settle: Callable[[K], Iterable[K]]) -> None:
    """Settle each key that waits for nothing, releasing those it returns; settled keys leave `waiting`."""
    free = deque(key for key, count in waiting.items() if count == 0)
    while free:
        key = free.popleft()
        del waiting[key]
        for released in settle(key):
            waiting[released] -= 1
            if waiting[released] == 0:
                free.append(released)


# --- cycles ----------------------------------------------------------------------------------------------------

# A node waits for itself ("node", id); what it inherits from its ancestors is a vertex of its own ("above", id),
# so that deep hierarchies stay linear.
_Vertex = tuple[str, str]


def _cycles(shape: Structure, descent: Descent) -> dict[str, tuple[str, ...]]:
    tied = (
        node for node in shape.by_id.values() if node.depends_on or node.parent_id or node.node_id in shape.children
    )
    onward = {vertex: targets for node in tied for vertex, targets in _waits_for(shape, node, descent)}
    left = _left_over(onward)
    return _name_cycles(left, onward) if left else {}


def _left_over(onward: Mapping[K, Iterable[K]]) -> list[K]:
    """Return the keys on cycles, and those that wait for one, by peeling off what waits for nothing."""
    backward: dict[K, list[K]] = {}
    waiting = dict.fromkeys(onward, 0)
    for key, targets in onward.items():
        for target in targets:
            if target in waiting:
                backward.setdefault(target, []).append(key)
                waiting[key] += 1
    _peel(waiting, lambda key: backward.get(key, ()))
    return list(waiting)


def _waits_for(shape: Structure, node: TaskNode, descent: Descent) -> Iterator[tuple[_Vertex, list[_Vertex]]]:
    """Yield the edges of one node: its dependencies, children, and what its parent hands down.

    A finished node waits for nothing itself and hands down only what its own parent does.
    """
    below = shape.children.get(node.node_id, ())
    if node.status in FINISHED_STATUSES:
        if below:
            yield ("above", node.node_id), _from_parent(node)
        return
    needs = [("node", name) for name in dict.fromkeys(node.depends_on)]
    if below:
        handed_down = [need for need in needs if not descent.is_below(need[1], node.node_id)]
        yield ("above", node.node_id), handed_down + _from_parent(node)
        needs += [("node", child) for child in below]
    yield ("node", node.node_id), needs + _from_parent(node)


def _from_parent(node: TaskNode) -> list[_Vertex]:
    return [] if node.parent_id is None else [("above", node.parent_id)]


def _name_cycles(vertices: Iterable[_Vertex], onward: Mapping[_Vertex, list[_Vertex]]) -> dict[str, tuple[str, ...]]:
    """Give every node on a cycle one closed path through its strongly connected component."""
    import networkx as nx  # noqa: PLC0415 - 105 ms of import that a graph without cycles never pays (ADR 0004)

    left = set(vertices)
    picture: nx.DiGraph[_Vertex] = nx.DiGraph()
    picture.add_edges_from((vertex, target) for vertex in left for target in onward[vertex] if target in left)
    named: dict[str, tuple[str, ...]] = {}
    for component in nx.strongly_connected_components(picture):
        first = min(component)
        if len(component) == 1 and not picture.has_edge(first, first):
            continue
        path = _closed_path(first, component, onward)
        named.update({name: path for kind, name in component if kind == "node"})
    return named


def _closed_path(
    start: _Vertex, component: Collection[_Vertex], onward: Mapping[_Vertex, list[_Vertex]]
) -> tuple[str, ...]:
    """Go on to the least vertex of the component until one is met again: the same path in every process."""
    passed: dict[_Vertex, None] = {}
    at = start
    while at not in passed:
        passed[at] = None
        at = min(target for target in onward[at] if target in component)
    vertices = list(passed)
    names = list(dict.fromkeys(name for _, name in vertices[vertices.index(at) :]))
    first = names.index(min(names))
    return (*names[first:], *names[: first + 1])


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
    with suppress(nx.NetworkXUnfeasible):
        for generation in nx.topological_generations(picture):
            found.append(sorted(generation))  # noqa: PERF401 - kept one by one, so those before a cycle stand
    return found
