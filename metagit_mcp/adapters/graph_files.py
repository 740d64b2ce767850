"""Reads the task graph files of a workspace, each again only when it changed; it knows no policy and writes nothing.

A file that cannot be used harms only itself: it stands in the mapping as a graph without nodes, with a warning.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from metagit_mcp.adapters.files import FileImage, read_regular
from metagit_mcp.adapters.freed_memory import give_back
from metagit_mcp.adapters.kept import EMPTY_LESSON, NO_NODES, Kept, Lesson, Nodes, graph_lesson, lacks
from metagit_mcp.adapters.layout import GRAPHS
from metagit_mcp.adapters.patience import Draft, Patience
from metagit_mcp.adapters.refusals import FileRefused
from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
from metagit_mcp.domain.text import is_id, shown
from metagit_mcp.errors import StoreUnavailable
from metagit_mcp.wire.codec import compact
from metagit_mcp.wire.graph_codec import content_digest, invalid_graph, load_graph

_SUFFIX: Final = ".json"
# Bytes of a file from which the memory that parsing it took is worth a millisecond.
_LARGE: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class GraphReading:
    """One graph as read: its meaning, the digest of its bytes, and what was kept of it at that time.

    `restored` says that kept values stand in for dropped ones.
    """

    loaded: LoadedGraph
    raw_digest: str
    kept: Nodes
    restored: bool = False


def read_graph(graph_id: str, raw: bytes, kept: Nodes = NO_NODES) -> GraphReading:
    """Return the graph in `raw`; kept values stand where another program dropped ours. Never raises for content.

    Only a file that lacks some kept value is taken apart, which costs several times as much.
    """
    loaded = load_graph(graph_id, raw)
    if not lacks(loaded, kept):
        return GraphReading(loaded, loaded.digest, kept)
    full = load_graph(graph_id, raw, kept)
    restored = _restored(loaded, full, kept)
    if not restored:
        return GraphReading(loaded, loaded.digest, kept)
    digest = content_digest(loaded.digest.encode() + compact(restored))
    return GraphReading(replace(full, digest=digest), loaded.digest, kept, restored=True)


def _restored(bare: LoadedGraph, full: LoadedGraph, kept: Nodes) -> dict[str, Any]:
    """Return the kept values that are in force though the file lacks them, in a fixed order."""
    before, after = _nodes_in(bare, kept), _nodes_in(full, kept)
    return {
        f"{node_id} {name}": kept[node_id][name]
        for node_id in sorted(after)
        for name in sorted(kept[node_id])
        if getattr(before[node_id], name, None) is None and getattr(after[node_id], name, None) is not None
    }


def _nodes_in(loaded: LoadedGraph, kept: Nodes) -> dict[str, TaskNode]:
    nodes = loaded.graph.nodes if loaded.graph is not None else ()
    return {node.node_id: node for node in nodes if node.node_id in kept}


class GraphFiles:
    """All task graphs of a workspace. `graphs` is a new mapping exactly when one of them changed."""

    def __init__(self, root: str, patience: Patience) -> None:
        """Read nothing yet."""
        self.graphs: Mapping[str, LoadedGraph] = {}
        self.again: set[str] = set()
        self._root = root
        self._folder = f"{root}/{GRAPHS}"
        self._patience = patience
        self._readings: dict[str, GraphReading] = {}
        self._names_refused: set[str] = set()
        self._folder_problem = ""
        self._untaught: set[str] = set()
        self._lessons: dict[str, Lesson] = {}
        self._kept: Kept | None = None

    def refresh(self, names: set[str] | None, kept: Kept) -> None:
        """Read the named files again (None: whichever there are), and those whose kept values changed.

        `again` then names the files that were being written: they are to be named again at the next call.
        """
        before = set(self._readings)
        names = self._listed() | {f"{graph_id}{_SUFFIX}" for graph_id in before} if names is None else set(names)
        names.update([f"{graph_id}{_SUFFIX}" for graph_id in self._outdated(kept)])
        self.again = set()
        changed = [self._refresh_file(name, kept) for name in sorted(names)]
        if any(changed):
            self.graphs = {graph_id: each.loaded for graph_id, each in sorted(self._readings.items())}

    def warnings(self) -> Iterator[str]:
        """Yield what is wrong with files, and with the folder."""
        for loaded in self.graphs.values():
            yield from loaded.warnings
        for name in self._names_refused:
            yield f"{GRAPHS}/{shown(name)}: the name is no graph id (letters, digits, '_', '.', '-'); it is passed over"
        if self._folder_problem:
            yield self._folder_problem

    def lessons(self) -> dict[str, Lesson]:
        """Return what the graphs that were read since the last `taught` say of our fields, if anything."""
        for graph_id in self._untaught:
            reading = self._readings.get(graph_id)
            lesson = EMPTY_LESSON if reading is None else graph_lesson(reading.loaded, reading.kept)
            self._lessons.pop(graph_id, None)
            if lesson != EMPTY_LESSON:
                self._lessons[graph_id] = lesson
        self._untaught.clear()
        return dict(self._lessons)

    def taught(self) -> None:
        """Note that kept.json knows what `lessons` said."""
        self._lessons.clear()

    def _listed(self) -> set[str]:
        self._folder_problem, self._names_refused = "", set()
        try:
            with os.scandir(self._folder) as entries:
                return {entry.name for entry in entries}
        except FileNotFoundError:
            return set()
        except OSError as cause:
            self._folder_problem = f"{GRAPHS} cannot be listed: {os.strerror(cause.errno or 0)}"
            return set()

    def _outdated(self, kept: Kept) -> Iterator[str]:
        """Yield the graphs that kept values would now read differently; the others take note of them."""
        if kept is self._kept:
            return
        self._kept = kept
        for graph_id, former in self._readings.items():
            nodes = kept.nodes(graph_id)
            if nodes is former.kept or nodes == former.kept:
                continue
            if former.restored or lacks(former.loaded, nodes):
                yield graph_id
            else:
                self._readings[graph_id] = replace(former, kept=nodes)

    def _refresh_file(self, name: str, kept: Kept) -> bool:
        """Read one file; return whether its graph is another one now."""
        if name.startswith(".") or not name.endswith(_SUFFIX):
            return False
        graph_id = name.removesuffix(_SUFFIX)
        if not is_id(graph_id):
            self._note_bad_name(name)
            return False
        former = self._readings.get(graph_id)
        stands = former if former is not None and former.loaded.graph is not None else None
        found: Draft[GraphReading | None] = self._patience.settle(
            lambda: self._look(graph_id, kept.nodes(graph_id), former), stands
        )
        if found.passing:
            self.again.add(name)
        if found.what is None:
            return self._readings.pop(graph_id, None) is not None
        self._readings[graph_id] = found.what
        if former is not None and found.what.loaded is former.loaded:
            return False
        self._untaught.add(graph_id)
        return True

    def _note_bad_name(self, name: str) -> None:
        if os.path.lexists(f"{self._folder}/{name}"):
            self._names_refused.add(name)
        else:
            self._names_refused.discard(name)

    def _look(self, graph_id: str, kept: Nodes, former: GraphReading | None) -> Draft[GraphReading | None]:
        try:
            image = read_regular(f"{self._folder}/{graph_id}{_SUFFIX}", root=self._root)
        except FileRefused as error:
            return Draft(_unchanged(former, _unread(graph_id, f"{error.name} {error.why}")))
        except StoreUnavailable as error:
            return Draft(_unread(graph_id, error.message), passing=True)
        return Draft(None) if image is None else self._drafted(graph_id, image, kept, former)

    def _drafted(
        self, graph_id: str, image: FileImage, kept: Nodes, former: GraphReading | None
    ) -> Draft[GraphReading | None]:
        if former is not None and former.kept == kept and former.raw_digest == content_digest(image.raw):
            reading = former
        else:
            reading = _unchanged(former, read_graph(graph_id, image.raw, kept))
            if len(image.raw) >= _LARGE:
                give_back()
        is_half = reading.loaded.graph is None and self._patience.is_young(image.signature[0])
        return Draft(reading, passing=is_half)


def _unchanged(former: GraphReading | None, fresh: GraphReading) -> GraphReading:
    """Return `fresh` with the former graph object where both say the same, so that nobody takes it for a change."""
    if former is not None and former.loaded.digest == fresh.loaded.digest and former.loaded == fresh.loaded:
        return replace(fresh, loaded=former.loaded)
    return fresh


def _unread(graph_id: str, why: str) -> GraphReading:
    return GraphReading(invalid_graph(graph_id, why), "", NO_NODES)
