"""What an import answers, as a sample. It must not know any command."""

from metagit_mcp.wire.lists.import_answers import EdgeCount, IgnoredCount, ImportAnswer, ImportedGraph, NodeOutcome

GRAPH = ImportedGraph(
    graph_id="shop",
    title="Shop",
    is_new=True,
    records=4,
    created=2,
    updated=1,
    unchanged=0,
    stale_skipped=0,
    kept_here=1,
    vanished=1,
    held=1,
    edges_used=(EdgeCount(kind="blocks", use="depends_on", count=3),),
    edges_ignored=(IgnoredCount(kind="related", why="nothing waits for it", count=2),),
    records_ignored=(IgnoredCount(kind="memory", why="no task", count=1),),
    nodes=(
        NodeOutcome(node_id="shop-9", outcome="vanished"),
        NodeOutcome(node_id="shop-3", outcome="kept_here", fields=("status", "title")),
        NodeOutcome(node_id="shop-1", outcome="created"),
    ),
    nodes_omitted=0,
)
ANSWER = ImportAnswer(
    system="beads",
    source=".beads/issues.jsonl",
    dry_run=False,
    graphs=(GRAPH,),
    warnings=("issues.jsonl, line 3: priority: is missing: P2 is taken",),
    warnings_omitted=2,
    next_step="metagit-mcp schedule next shows what can be started.",
)
