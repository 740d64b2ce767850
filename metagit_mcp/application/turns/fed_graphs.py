"""The Groups that are fed by Events, as graphs beside those of the files. Reads nothing and writes nothing."""

from collections.abc import Mapping
from dataclasses import replace

from metagit_mcp.domain.fed_graph import graph_of
from metagit_mcp.domain.feeds import Feed
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.ports.workspace import WorkspaceImage


class FedGraphs:
    """Puts them beside the files' graphs; what did not change since the last time is the same object again."""

    def __init__(self) -> None:
        """Know no Group yet."""
        self._known: dict[str, tuple[int, LoadedGraph]] = {}
        self._read: WorkspaceImage | None = None
        self._image: WorkspaceImage | None = None
        self._filed: Mapping[str, LoadedGraph] = {}

    def beside(self, read: WorkspaceImage, feeds: Mapping[str, Feed]) -> WorkspaceImage:
        """Return the image of the files with the Groups in it. A file of a Group's name does not count, and is told."""
        is_other = bool(feeds or self._known) and self._follow(feeds)
        if is_other or self._image is None or read is not self._read:
            self._read, self._image = read, self._merged(read)
        return self._image

    @property
    def filed(self) -> Mapping[str, LoadedGraph]:
        """The graphs of the files that count, as of the last time."""
        return self._filed

    def _follow(self, feeds: Mapping[str, Feed]) -> bool:
        """Render the Groups that are new or of another shape; say whether there are any, or fewer than before."""
        is_other = False
        for group_id, feed in feeds.items():
            known = self._known.get(group_id)
            if known is None or known[0] != feed.shape:
                self._known[group_id] = (feed.shape, graph_of(feed))
                is_other = True
        if len(self._known) > len(feeds):
            # The ledger is another one.
            self._known = {group_id: known for group_id, known in self._known.items() if group_id in feeds}
            is_other = True
        return is_other

    def _merged(self, read: WorkspaceImage) -> WorkspaceImage:
        fed = {group_id: loaded for group_id, (_, loaded) in self._known.items()}
        named_twice = sorted(read.graphs.keys() & fed.keys())
        self._filed = read.graphs
        if not fed:
            return read
        if named_twice:
            self._filed = {name: loaded for name, loaded in read.graphs.items() if name not in fed}
        warnings = tuple(
            f"graph {name}: a Group that is fed by Events has this name, so its file does not count: rename it"
            for name in named_twice
        )
        return replace(read, graphs={**read.graphs, **fed}, warnings=read.warnings + warnings)
