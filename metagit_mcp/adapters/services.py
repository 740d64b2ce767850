"""Counts how often the newest work was for each repository, from the end of the decision log. Writes nothing.

It is asked only while a fairness weight asks for it (scheduling.md §2, under_represented).
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from metagit_mcp.adapters.json_lines import TailFollower, tail_lines
from metagit_mcp.adapters.layout import DECISIONS
from metagit_mcp.domain.repository import repository_key
from metagit_mcp.errors import StoreUnavailable
from metagit_mcp.wire.codec import parse_json

# However many decisions led to nothing, no more lines are looked at per place of the window.
_LINES_PER_SERVICE: Final = 20

# Graph, node and canonical repository of one decision that was not skipped.
_Row = tuple[str, str, str]


class ServiceLog:
    """The newest decisions of one workspace, each line read once."""

    def __init__(self, root: str) -> None:
        """Read nothing yet."""
        self._root = root
        self._path = f"{root}/{DECISIONS}"
        self._rows: deque[_Row] = deque()
        self._follower: TailFollower | None = None

    def services(self, window: int, ran: Callable[[str, str], bool]) -> Mapping[str, int]:
        """Return how many of the newest `window` services each canonical repository got.

        A service is a node that was decided on and then ran, as `ran(graph_id, node_id)` says; each counts once.
        """
        try:
            self._follow(window * _LINES_PER_SERVICE)
        except StoreUnavailable:
            return {}
        newest = dict.fromkeys(reversed(self._rows))
        seen: set[tuple[str, str]] = set()
        counts: Counter[str] = Counter()
        for graph_id, node_id, repository in newest:
            if (graph_id, node_id) not in seen and ran(graph_id, node_id):
                seen.add((graph_id, node_id))
                counts[repository] += 1
                if len(seen) == window:
                    break
        counts.pop("", None)
        return dict(sorted(counts.items()))

    def _follow(self, lines: int) -> None:
        growth = None if self._follower is None or self._rows.maxlen != lines else self._follower.drain()
        if growth is None or growth.restarted or growth.more:
            tail = tail_lines(self._path, root=self._root, limit_rows=lines)
            self._follower = TailFollower(self._path, root=self._root, after=tail.end)
            self._rows = deque(_rows(reversed(tail.rows)), maxlen=lines)
        else:
            self._rows.extend(_rows(growth.rows))


def _rows(lines: Iterable[bytes]) -> Iterable[_Row]:
    """Yield what the lines say of decisions that were not skipped, in their order."""
    for line in lines:
        try:
            row = parse_json(line)
        except ValueError:
            continue
        if isinstance(row, dict) and row.get("skipped") is not True:
            hints = row.get("dispatch_hints")
            place = hints if isinstance(hints, dict) else row
            texts = (row.get("graph_id"), row.get("node_id"), place.get("repository") or "", place.get("project") or "")
            if all(isinstance(each, str) for each in texts):
                graph_id, node_id, repository, project = map(str, texts)
                yield graph_id, node_id, repository_key(repository, project)
