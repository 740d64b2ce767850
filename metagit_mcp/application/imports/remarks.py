"""Says what a caller has to know of an imported graph besides its counts. Knows no file, and changes nothing."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from metagit_mcp.application.imports.merge import Merge
from metagit_mcp.domain.graph import cycle_text, structure
from metagit_mcp.domain.tasks import GRAPH_STATUSES, OPEN_STATUSES, TaskGraph
from metagit_mcp.domain.text import known_word, shown, shown_name
from metagit_mcp.wire.graph_codec import load_record
from metagit_mcp.wire.lists.import_answers import ImportRequest
from metagit_mcp.wire.lists.imported import Imported, ListSource
from metagit_mcp.wire.lists.listed import SourceList

_MOST_CYCLES: Final = 5
_MOST_NAMED: Final = 5
_LONGEST_PLACE: Final = 200
_STILL: Final = "still offered until metagit-mcp task update NODE --status cancelled"


def tags_left_behind(
    request: ImportRequest,
    found: ListSource,
    lists: Sequence[SourceList],
    known: Mapping[str, Imported],
    graphs: Collection[str],
) -> Iterator[str]:
    """Yield which graphs came from tags that the list has no more: their tasks may stand in another graph as well."""
    tags = {each.tag for each in lists}
    for graph_id, each in sorted(known.items()):
        is_own = (each.system, each.source) == (request.system, found.at)
        if is_own and request.tag is None and each.tag not in tags and graph_id in graphs:
            tag = shown_name(each.tag)
            yield f"graph {graph_id}: the list has no tag {tag} any more; what is open in it is {_STILL}"


def remarks(graph_id: str, merge: Merge, now: Imported, came_from: str | None) -> Iterator[str]:
    """Yield what is not as a caller may think: another list than before, nodes of no list, nodes that are never ready.

    `came_from` is where the list was before, None where nothing was imported.
    """
    if came_from not in {None, now.source}:
        was, source = shown(came_from or "", _LONGEST_PLACE), shown(now.source, _LONGEST_PLACE)
        yield f"graph {graph_id}: it was imported from {was} before, and follows {source} from now on"
    yield from _vanished(graph_id, merge)
    graph = load_record(graph_id, merge.whole).graph or TaskGraph()
    if graph.status != "active":
        status = known_word(graph.status, GRAPH_STATUSES)
        yield f"graph {graph_id}: its own status is {status}: nothing in it is offered"
    for path in sorted(set(structure(graph.nodes).cycles.values()))[:_MOST_CYCLES]:
        yield f"graph {graph_id}: nodes wait in a circle: {cycle_text(path)}"


def _vanished(graph_id: str, merge: Merge) -> Iterator[str]:
    """Yield which nodes are offered although the list has them no more."""
    gone = {each.node_id for each in merge.outcomes if each.outcome == "vanished"}
    rows = [row for row in merge.whole["nodes"] if isinstance(row, dict) and row.get("status") in OPEN_STATUSES]
    names = sorted(gone.intersection(row["node_id"] for row in rows if isinstance(row.get("node_id"), str)))
    if names:
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield f"graph {graph_id}: gone from the list, but {_STILL}: {', '.join(names[:_MOST_NAMED])}{more}"
