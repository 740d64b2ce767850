"""Draws task graphs as Mermaid text, in the waves in which they can run. Decides nothing."""

from collections.abc import Iterator, Sequence

from metagit_mcp.domain.graph import structure, waves
from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
from metagit_mcp.domain.text import shown

_CLASSES = {
    "completed": "fill:#d8f5d8,stroke:#2e7d32",
    "running": "fill:#fff3c4,stroke:#b28704",
    "blocked": "fill:#fde0e0,stroke:#c62828",
    "cancelled": "fill:#eeeeee,stroke:#9e9e9e",
}


def mermaid(graphs: Sequence[LoadedGraph]) -> str:
    """Return a Mermaid flowchart: one subgraph per graph and wave, an arrow from what must come first."""
    lines = ["flowchart LR"]
    for number, loaded in enumerate(graphs):
        lines += _graph(loaded, f"g{number}")
    lines += [f"  classDef {name} {style}" for name, style in _CLASSES.items()]
    return "\n".join(lines) + "\n"


def _graph(loaded: LoadedGraph, prefix: str) -> Iterator[str]:
    nodes = structure(loaded.graph.nodes if loaded.graph is not None else ()).by_id
    names = {node_id: f"{prefix}n{place}" for place, node_id in enumerate(sorted(nodes))}
    title = shown(loaded.graph.title) if loaded.graph is not None else "cannot be read"
    yield f'  subgraph {prefix}["{_quoted(loaded.graph_id)}: {_quoted(title)}"]'
    found = waves(nodes)
    circular = sorted(nodes.keys() - {node_id for wave in found for node_id in wave})
    for number, wave in enumerate([*found, circular] if circular else found, start=1):
        heading = "in or behind a circle" if circular and number > len(found) else f"wave {number}"
        yield f'    subgraph {prefix}w{number}["{heading}"]'
        yield from (_node(names[node_id], nodes[node_id]) for node_id in wave)
        yield "    end"
    for node_id in sorted(nodes):
        for needed in dict.fromkeys(nodes[node_id].depends_on):
            if needed in names:
                yield f"    {names[needed]} --> {names[node_id]}"
    yield "  end"


def _node(name: str, node: TaskNode) -> str:
    label = f"{_quoted(node.node_id)}<br/>{_quoted(shown(node.title, 60))}"
    style = f":::{node.status}" if node.status in _CLASSES else ""
    return f'      {name}["{label}"]{style}'


def _quoted(text: str) -> str:
    """Text inside a Mermaid label: entities for what the syntax or a browser would take as its own."""
    marks = {"&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "#": "#35;"}
    return "".join(marks.get(mark, mark) for mark in text)
