"""What `import` is asked and answers: per graph what became of each record and each edge. Knows no format."""

from typing import Literal

from metagit_mcp.domain.text import ID_PATTERN
from metagit_mcp.domain.value import value
from metagit_mcp.wire.arguments import said

System = Literal["beads", "taskmaster", "backlog"]
Outcome = Literal["created", "updated", "unchanged", "stale_skipped", "kept_here", "vanished"]


@value
class ImportRequest:
    """Copy the tasks of another program's list into task graphs."""

    system: System = said("Whose list it is")
    path: str = said("The list: its file, its folder, or the project that it is in", min_length=1, max_length=4096)
    graph_id: str | None = said(
        "The graph to write to; default: the one it was imported into before, else named after the list",
        None,
        min_length=1,
        max_length=255,
        pattern=ID_PATTERN,
    )
    tag: str | None = said("Only the list of this tag; default: all", None, min_length=1, max_length=255)
    strict: bool = said("A dependency whose prefix does not fit is missing, not found by number", default=False)
    dry_run: bool = said("Say what would happen, and write nothing", default=False)


@value
class EdgeCount:
    """How many edges of one kind were used, and what they became; `missing`: they lead to nothing in the list."""

    kind: str
    use: Literal["depends_on", "parent_id", "discovered_from", "missing"]
    count: int


@value
class IgnoredCount:
    """How many records or edges of one kind lead to nothing here, and why."""

    kind: str
    why: str
    count: int


@value
class NodeOutcome:
    """What became of one node; `fields` are those that were set or, where it is kept, those that differ here."""

    node_id: str
    outcome: Outcome
    fields: tuple[str, ...] = ()


@value
class ImportedGraph:
    """What became of one list.

    `created` + `updated` + `unchanged` + `stale_skipped` + `kept_here` is the number of `records` that are nodes here;
    `held` of them may not be started by anybody until a person says so. `nodes` names all that are not unchanged,
    `nodes_omitted` is how many it does not name.
    """

    graph_id: str
    title: str
    is_new: bool
    records: int
    created: int
    updated: int
    unchanged: int
    stale_skipped: int
    kept_here: int
    vanished: int
    held: int
    edges_used: tuple[EdgeCount, ...]
    edges_ignored: tuple[IgnoredCount, ...]
    records_ignored: tuple[IgnoredCount, ...]
    nodes: tuple[NodeOutcome, ...]
    nodes_omitted: int


@value
class ImportAnswer:
    """The answer to `import`: the graphs in the order of the source, the first warnings, how many more there are."""

    system: System
    source: str
    dry_run: bool
    graphs: tuple[ImportedGraph, ...]
    warnings: tuple[str, ...]
    warnings_omitted: int
    next_step: str
