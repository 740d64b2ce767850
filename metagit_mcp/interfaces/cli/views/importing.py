"""How an import looks to people. It must not print, nor know what was read."""

from collections.abc import Iterable, Iterator
from typing import Final

from metagit_mcp.interfaces.cli.output import Block, Table
from metagit_mcp.interfaces.cli.views.schedule import counted, view_remarks
from metagit_mcp.wire.lists.import_answers import IgnoredCount, ImportAnswer, ImportedGraph

_SHOWN: Final = 15
_COUNTS: Final = ("created", "updated", "unchanged", "stale_skipped", "kept_here", "vanished", "held")


def view_import(answer: ImportAnswer) -> Iterator[Block]:
    """Yield what became of each list, then what is to be known of it."""
    would = "Would import" if answer.dry_run else "Imported"
    yield f"{would} {answer.source} ({answer.system}):"
    header = ("graph", "records", *(name.replace("_", " ") for name in _COUNTS))
    rows = tuple(
        (each.graph_id, str(each.records), *(str(getattr(each, name)) for name in _COUNTS)) for each in answer.graphs
    )
    yield Table(title="Graphs", header=header, rows=rows, numbers=frozenset(header[1:]))
    for graph in answer.graphs:
        yield from _of_graph(graph)
    more = (f"{counted(answer.warnings_omitted, 'more warning')}",) if answer.warnings_omitted else ()
    yield from view_remarks((*answer.warnings, *more), answer.next_step)


def _of_graph(graph: ImportedGraph) -> Iterator[Block]:
    used = tuple((each.kind, each.use, str(each.count)) for each in graph.edges_used)
    yield Table(title=f"Edges of {graph.graph_id}", header=("kind", "became", "count"), rows=used, numbers=_COUNT)
    yield Table(
        title=f"Edges of {graph.graph_id} that lead to nothing",
        header=_LEFT,
        rows=_left(graph.edges_ignored),
        numbers=_COUNT,
    )
    yield Table(
        title=f"Entries of {graph.graph_id} left out", header=_LEFT, rows=_left(graph.records_ignored), numbers=_COUNT
    )
    told = tuple(
        (each.node_id, each.outcome.replace("_", " "), ", ".join(each.fields))
        for each in graph.nodes
        if each.outcome != "created"
    )
    yield Table(title=f"Nodes of {graph.graph_id}", header=("node", "outcome", "fields"), rows=told[:_SHOWN])


_LEFT: Final = ("kind", "count", "why")
_COUNT: Final = frozenset({"count"})


def _left(counts: Iterable[IgnoredCount]) -> tuple[tuple[str, ...], ...]:
    return tuple((each.kind, str(each.count), each.why) for each in counts)
