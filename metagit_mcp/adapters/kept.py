"""Keeps our fields against programs that drop what they do not know: schedule/kept.json (interfaces.md §1).

It knows neither how a graph nor how a policy is read: it is told what a file was found to say (a `Lesson`) and
gives back what is kept. A key is a path: (node id, field) in a graph, the nested keys in the policy.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

from metagit_mcp.adapters.files import atomic_write, make_folder, read_regular
from metagit_mcp.adapters.layout import KEPT, SCHEDULE
from metagit_mcp.adapters.locks import locked
from metagit_mcp.adapters.refusals import FileRefused, storage_error
from metagit_mcp.domain.policy import RFC_KEYS
from metagit_mcp.domain.tasks import OWN_NODE_FIELDS, LoadedGraph
from metagit_mcp.errors import StoreUnavailable
from metagit_mcp.wire.codec import Json, compact, parse_json, plain

Path = tuple[str, ...]
Nodes = Mapping[str, Mapping[str, Any]]
NO_NODES: Final[Nodes] = {}

_own_values = attrgetter(*OWN_NODE_FIELDS)
_ASIDE: Final = "nothing is kept, and the next write sets the file aside as kept.json.bad"
_NO_VALUES: Final = (None,) * len(OWN_NODE_FIELDS)


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept: the policy's own part, our fields per graph and node; a warning when the file is unusable.

    `passing` says that it could not be reached at the moment.
    """

    policy: Mapping[str, Any] = field(default_factory=dict)
    graphs: Mapping[str, Nodes] = field(default_factory=dict)
    warning: str = ""
    passing: bool = False

    def nodes(self, graph_id: str) -> Nodes:
        """Return what is kept of one graph, by node."""
        return self.graphs.get(graph_id, NO_NODES)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one file says of our keys: values found, and former kept values that it ended."""

    found: Mapping[Path, Any] = field(default_factory=dict)
    ended: Mapping[Path, Any] = field(default_factory=dict)


EMPTY_LESSON: Final = Lesson()


# --- reading ---------------------------------------------------------------------------------------------------


def read_kept(root: str) -> Kept:
    """Return what is kept; a file that cannot be used is a warning and keeps nothing. Never raises."""
    try:
        return _read(root)
    except StoreUnavailable as error:
        return Kept(warning=error.message, passing=True)


def _read(root: str) -> Kept:
    try:
        image = read_regular(f"{root}/{KEPT}", root=root)
        return Kept() if image is None else _parsed(image.raw)
    except FileRefused as error:
        return Kept(warning=f"{error.name} {error.why}; {_ASIDE}")
    except ValueError as error:
        return Kept(warning=f"{KEPT}: {error}; {_ASIDE}")


def _parsed(raw: bytes) -> Kept:
    record = parse_json(raw)
    if not isinstance(record, dict):
        raise ValueError("it must hold one JSON object")  # noqa: TRY004 - as any other content that is wrong
    policy, graphs = record.get("policy", {}), record.get("graphs", {})
    if not isinstance(policy, dict) or not isinstance(graphs, dict):
        raise ValueError("policy and graphs must be JSON objects")  # noqa: TRY004 - as above
    policy = {name: each for name, each in policy.items() if name not in RFC_KEYS or isinstance(each, dict)}
    return Kept(policy=policy, graphs={graph_id: _nodes(graph) for graph_id, graph in graphs.items()})


def _nodes(graph: object) -> Nodes:
    nodes = graph.get("nodes") if isinstance(graph, dict) else None
    if not isinstance(nodes, dict) or not all(isinstance(each, dict) for each in nodes.values()):
        raise ValueError("a graph must hold an object of nodes, each an object")
    return nodes


# --- what files teach ------------------------------------------------------------------------------------------


def lacks(loaded: LoadedGraph, kept: Nodes) -> bool:
    """Say whether the file gives no value for some kept field of a node it has: dropped, or ended by a null."""
    if loaded.graph is None or not kept:
        return False
    here = (node for node in loaded.graph.nodes if node.node_id in kept)
    return any(getattr(node, name, None) is None for node in here for name in kept[node.node_id])


def graph_lesson(loaded: LoadedGraph, kept: Nodes) -> Lesson:
    """Return what a graph, loaded with `kept`, says of our fields. One that cannot be used says nothing.

    What was kept and is not there after loading was ended: by a null, or because its node is gone. A node with a
    defect ends nothing, since its bad field is left out in loading.
    """
    if loaded.graph is None:
        return EMPTY_LESSON
    found: dict[Path, Any] = {}
    nodes = loaded.graph.nodes if loaded.has_own else ()
    for node, own in zip(nodes, map(_own_values, nodes), strict=True):
        if own != _NO_VALUES:
            values = plain(node)
            found.update({(node.node_id, name): values[name] for name in OWN_NODE_FIELDS if name in values})
    ended = {path: each for path, each in _flat_nodes(kept) if path not in found and path[0] not in loaded.defects}
    return Lesson(found, ended)


def _flat_nodes(kept: Nodes) -> Iterator[tuple[Path, Any]]:
    for node_id, values in kept.items():
        for name, each in values.items():
            yield (node_id, name), each


def policy_lesson(own: Mapping[str, Any], record: Mapping[str, Any], kept: Mapping[str, Any]) -> Lesson:
    """Return what a policy record says of our keys; `own` is its own part. An explicit null ends a kept one."""
    ended = {path: each for path, each in _flat_policy(kept) if _is_null(record, path)}
    return Lesson(dict(_flat_policy(own)), ended)


def policy_set_lesson(own: Mapping[str, Any], kept: Mapping[str, Any]) -> Lesson:
    """Return what a policy that was set through us says of our keys: what it lacks is ended."""
    found = dict(_flat_policy(own))
    return Lesson(found, {path: each for path, each in _flat_policy(kept) if path not in found})


def _flat_policy(own: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    for name, each in own.items():
        if isinstance(each, dict) and (above or name in RFC_KEYS):
            yield from _flat_policy(each, (*above, name))
        else:
            yield (*above, name), each


def _is_null(record: Mapping[str, Any], path: Path) -> bool:
    at: Any = record
    for name in path:
        if not isinstance(at, dict) or name not in at:
            return False
        at = at[name]
        if at is None:
            return True
    return False


# --- writing ---------------------------------------------------------------------------------------------------


def learn(root: str, known: Kept, graphs: Mapping[str, Lesson], policy: Lesson | None = None) -> Kept:
    """Bring kept.json up to date under its lock, if `known`, the last reading of it, does not say all of it already.

    Returns what is kept now. A file that could not be used is set aside as kept.json.bad.

    Raises:
        ReadOnlyWorkspace, StoreUnavailable, FileRefused: it cannot be written.
    """
    if _taught(known, graphs, policy) == known:
        return known
    path = f"{root}/{KEPT}"
    make_folder(f"{root}/{SCHEDULE}", root=root)
    with locked(path, root=root, kind="kept"):
        current = _read(root)
        merged = _taught(current, graphs, policy)
        if merged != current:
            if current.warning:
                _set_aside(path)
            atomic_write(path, _rendered(merged), root=root, kind="kept")
            return Kept(merged.policy, merged.graphs)
    return current


def set_unusable_aside(root: str) -> None:
    """Move a kept.json whose content cannot be used aside, as the next writer would; one that can be used stays.

    Raises:
        ReadOnlyWorkspace, StoreUnavailable, FileRefused: it cannot be moved, or not even be read.
    """
    path = f"{root}/{KEPT}"
    with locked(path, root=root, kind="kept"):
        read_regular(path, root=root)
        if _read(root).warning:
            _set_aside(path)


def _set_aside(path: str) -> None:
    try:
        if os.path.isfile(path):
            os.replace(path, f"{path}.bad")
    except OSError as cause:
        raise storage_error(cause, KEPT) from cause


def _rendered(kept: Kept) -> bytes:
    graphs = {graph_id: {"nodes": nodes} for graph_id, nodes in sorted(kept.graphs.items())}
    return compact({"policy": kept.policy, "graphs": graphs}) + b"\n"


def _taught(kept: Kept, graphs: Mapping[str, Lesson], policy: Lesson | None) -> Kept:
    changed = {
        graph_id: _nested(_merged(dict(_flat_nodes(kept.nodes(graph_id))), lesson))
        for graph_id, lesson in graphs.items()
    }
    nodes = {graph_id: each for graph_id, each in {**kept.graphs, **changed}.items() if each}
    if policy is None:
        return Kept(kept.policy, nodes, kept.warning)
    return Kept(_nested(_merged(dict(_flat_policy(kept.policy)), policy)), nodes, kept.warning)


def _merged(flat: dict[Path, Any], lesson: Lesson) -> dict[Path, Any]:
    for path, each in lesson.ended.items():
        # Another process may have kept a newer value meanwhile; that one was not ended.
        if path not in lesson.found and path in flat and flat[path] == each:
            del flat[path]
    return flat | dict(lesson.found)


def _nested(flat: Mapping[Path, Any]) -> Json:
    record: Json = {}
    for path, each in flat.items():
        at = record
        for name in path[:-1]:
            if not isinstance(at.get(name), dict):
                at[name] = {}
            at = at[name]
        at[path[-1]] = each
    return record
