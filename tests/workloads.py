"""Writes seeded metagit workspaces to disk, in the exact shape metagit-cli writes them.

Must not know: the package under test. It is the independent side of every comparison, so it
builds its JSON from templates of its own and imports the standard library only.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

Shape = Literal["ready", "mixed", "chain"]

AT = "2026-11-29T13:52:06.850666+00:00"
MANIFEST = "name: {name}\nkind: umbrella\n"

# Estimates at which a cost term can fall on exactly half a micro: 1000 + tokens = 2^a * 5^b.
HALF_MICRO_TOKENS = (280, 5_400, 31_000, 159_000, 799_000)

GRAPH = """{
  "graph_id": "%(graph)s",
  "title": "Graph %(graph)s",
  "root_intent_id": "intent-%(graph)s",
  "objective_id": null,
  "handoff_id": null,
  "intent": {
    "intent_id": "intent-%(graph)s",
    "title": "Graph %(graph)s",
    "goal": "Finish graph %(graph)s",
    "acceptance": [
      "tests pass"
    ],
    "project": null,
    "repos": [],
    "objective_id": null,
    "handoff_id": null,
    "created_at": "%(at)s",
    "updated_at": "%(at)s"
  },
  "nodes": %(nodes)s,
  "status": "active",
  "created_at": "%(at)s",
  "updated_at": "%(at)s"
}
"""

NODE = """    {
      "node_id": "%s",
      "graph_id": "%s",
      "title": "Task %s of graph %s",
      "depends_on": %s,
      "status": "%s",
      "intent_id": "intent-%s",
      "blocker_reason": %s,
      "project": %s,
      "repository": %s,
      "agent_id": null,
      "acl": null,
      "context_budget": %s,
      "compiled_context_path": null,
      "priority": %d,
      "estimated_tokens": %s,
      "created_at": "AT",
      "updated_at": "AT"%s
    }""".replace("AT", AT)

EXTRA = """,
      "estimated_runtime_seconds": %d,
      "deadline": "2099-01-01T00:00:00+00:00",
      "requested_urgency": "normal",
      "business_impact": "medium",
      "risk": "reversible",
      "approval": "not_required",
      "slots": 1"""

DECISION = (
    '{"decision_id": "%032x", "at": "2026-11-%02dT%02d:%02d:%02d.000001+00:00", "graph_id": "%s",'
    ' "node_id": "%s", "score": 0.125, "reasons": ["priority=0", "affinity=0",'
    ' "cost=0.5000(tokens=1000)"], "dispatch_hints": {"title": "Task %s of graph %s",'
    ' "project": %s, "repository": %s, "agent_id": null, "priority": 0}, "acl_commands": [],'
    ' "compile_command": null, "skipped": false}\n'
)

MERGE_STATUSES = ("queued", "running", "queued", "queued", "succeeded", "failed")


@dataclass(frozen=True, kw_only=True)
class Written:
    """What stands on disk: the folder, how many nodes, and how many of them are ready."""

    root: Path
    nodes: int
    ready: int


@dataclass(frozen=True, kw_only=True)
class Place:
    """Project and repository of a node, already as JSON."""

    project: str
    repository: str


NOWHERE = Place(project="null", repository="null")


def repository_names(count: int) -> list[str]:
    """The repositories of a workload, in the one spelling both programs match: `project/repo`."""
    return [f"p{number % 7}/repo-{number:03d}" for number in range(count)]


def node_name(position: int) -> str:
    """The id at a position of a graph: unique below 10^6, and not in the order of the file."""
    return f"n{position * 7919 % 1_000_000:06d}"


def graph_name(number: int) -> str:
    """The id of a graph. All have one length, so the order of files is the order of ids."""
    return f"g{number:04d}"


def write_workspace(  # noqa: PLR0913 - keyword-only: each argument is one axis of a workload
    root: Path,
    *,
    nodes: int,
    graphs: int,
    shape: Shape = "ready",
    seed: int = 0,
    repositories: int = 40,
    decisions: int = 0,
    extra_fields: bool = False,
    worktrees: int = 0,
    merges: int = 0,
    policy: Mapping[str, object] | None = None,
) -> Written:
    """Write a workspace of `nodes` nodes, spread evenly over `graphs` graphs; same seed, same bytes.

    `ready`: every node is ready. `mixed`: about 40 % are, the others finished, running, blocked or
    waiting. `chain`: each graph is one chain, so `graphs=1` is one deep chain with one ready node.
    `worktrees` counts active rows (each second one is followed by a destroyed row of another
    repository), `merges` merge documents, four of six of them queued or running.
    """
    rng = random.Random(seed)  # noqa: S311 - a workload must repeat, not be secret
    names = repository_names(repositories)
    writer = GraphWriter(shape=shape, rng=rng, places=_places(names), extra=extra_fields)
    _prepare(root, policy)
    ready = 0
    for number in range(graphs):
        count = nodes // graphs + (number < nodes % graphs)
        graph = graph_name(number)
        _put(root / ".metagit/tasks/graphs" / f"{graph}.json", writer.document(graph, count))
        ready += writer.ready
    _put_index(root, graphs)
    _put_worktrees(root, names[:worktrees], names[::-1])
    _put_merges(root, names[::-1], merges)
    _put_decisions(root, names, decisions, graphs=graphs, per_graph=max(1, nodes // graphs))
    return Written(root=root, nodes=nodes, ready=ready)


@dataclass
class GraphWriter:
    """Renders one graph after another from one random stream; `ready` counts the last graph's."""

    shape: Shape
    rng: random.Random
    places: list[Place]
    extra: bool
    ready: int = 0

    def document(self, graph: str, count: int) -> str:
        """The whole JSON document of a graph with `count` nodes."""
        self.ready = 0
        nodes = ",\n".join(self._nodes(graph, count))
        listed = f"[\n{nodes}\n  ]" if nodes else "[]"
        return GRAPH % {"graph": graph, "at": AT, "nodes": listed}

    def _nodes(self, graph: str, count: int) -> Iterator[str]:
        rng = self.rng
        priorities = rng.choices(range(-9, 10), k=count)
        places = rng.choices(self.places, k=count)
        states = self._states(count)
        for position, (status, needed) in enumerate(states):
            name = node_name(position)
            depends = "[]" if needed is None else f'[\n        "{node_name(needed)}"\n      ]'
            blocker = '"waits for a person"' if status == "blocked" else "null"
            place, urgent = places[position], rng.random()
            priority = priorities[position] * (100 if urgent > 0.98 else 1)
            budget = "null" if urgent < 0.8 else int(urgent * 1e4) - 8000
            extra = EXTRA % (60 + position % 600) if self.extra else ""
            yield NODE % (
                *(name, graph, name, graph, depends, status, graph, blocker),
                *(place.project, place.repository, budget, priority, _tokens(rng), extra),
            )

    def _states(self, count: int) -> Iterator[tuple[str, int | None]]:
        match self.shape:
            case "ready":
                return self._all_ready(count)
            case "mixed":
                return self._mixed(count)
            case "chain":
                return self._chain(count)

    def _all_ready(self, count: int) -> Iterator[tuple[str, int | None]]:
        self.ready = count
        for position in range(count):
            yield ("pending" if position % 5 == 4 else "ready"), None

    def _chain(self, count: int) -> Iterator[tuple[str, int | None]]:
        self.ready = min(1, count)
        for position in range(count):
            yield ("pending", position - 1) if position else ("ready", None)

    def _mixed(self, count: int) -> Iterator[tuple[str, int | None]]:
        finished, unfinished = None, None
        for position in range(count):
            draw = self.rng.random()
            if draw < 0.4:
                # A `pending` node whose dependency is completed is ready, whatever the file says.
                yield ("pending", finished) if draw < 0.2 else ("ready", None)
                self.ready += 1
                unfinished = position
            elif draw < 0.6 or unfinished is None:
                yield "completed", None
                finished = position
            elif draw < 0.7:
                yield "running", None
                unfinished = position
            elif draw < 0.8:
                yield "blocked", None
            else:
                yield "pending", unfinished


def _places(names: list[str]) -> list[Place]:
    known = [Place(project=json.dumps(name.partition("/")[0]), repository=json.dumps(name)) for name in names]
    return [*known, *[NOWHERE] * (1 + len(known) // 12)]


def _tokens(rng: random.Random) -> str:
    draw = rng.random()
    if draw < 0.4:
        return "null"
    if draw < 0.45:
        return "0" if draw < 0.44 else "-1"
    if draw < 0.5:
        return str(rng.choice(HALF_MICRO_TOKENS))
    return str(int(rng.random() * (20_000 if draw < 0.9 else 2_000_000)))


def _prepare(root: Path, policy: Mapping[str, object] | None) -> None:
    for folder in ("tasks/graphs", "schedule", "events", "worktrees", "merges"):
        (root / ".metagit" / folder).mkdir(parents=True, exist_ok=True)
    _put(root / ".metagit.yml", MANIFEST.format(name="workload"))
    if policy is not None:
        _put_json(root / ".metagit/schedule/policy.json", policy)


def _put_index(root: Path, graphs: int) -> None:
    rows = [
        {
            "graph_id": graph_name(number),
            "title": f"Graph {graph_name(number)}",
            "status": "active",
            "objective_id": None,
            "updated_at": AT,
        }
        for number in range(graphs)
    ]
    _put_json(root / ".metagit/tasks/index.json", {"graphs": rows})


def _put_worktrees(root: Path, active: list[str], others: list[str]) -> None:
    rows = []
    for number, name in enumerate(active):
        rows.append(_worktree_row(root, number, name, "active"))
        if number % 2 and others[number] not in active:
            rows.append(_worktree_row(root, number + len(active), others[number], "destroyed"))
    if rows:
        _put_json(root / ".metagit/worktrees/worktrees.json", {"worktrees": rows})


def _worktree_row(root: Path, number: int, name: str, status: str) -> dict[str, object]:
    agent = f"agent-{number}"
    path = root / ".worktrees" / agent / name
    if status == "active":
        path.mkdir(parents=True, exist_ok=True)
    return {
        "worktree_id": f"{number:032x}",
        "path": str(path),
        "repository": name,
        "branch": f"agent/work-{number}",
        "agent_id": agent,
        "task_id": node_name(number),
        "lease_id": f"{number + 4096:032x}",
        "status": status,
        "created_at": AT,
        "updated_at": AT,
    }


def _put_merges(root: Path, names: list[str], count: int) -> None:
    size = len(MERGE_STATUSES)
    documents = [
        _merge(names[number // size % len(names)], number, MERGE_STATUSES[number % size]) for number in range(count)
    ]
    for document in documents:
        _put_json(root / ".metagit/merges" / f"{document['merge_id']}.json", document)
    listed = ("merge_id", "repository", "status", "updated_at")
    rows = [{key: document[key] for key in listed} for document in documents]
    if rows:
        _put_json(root / ".metagit/merges/queue.json", {"merges": rows})


def _merge(name: str, number: int, status: str) -> dict[str, object]:
    return {
        "merge_id": f"{name.replace('/', '-')}-agent-work-into-main-{number:08x}",
        "repository": name,
        "source_branch": f"agent/work-{number}",
        "target_branch": "main",
        "status": status,
        "repo_path": f"/srv/{name}",
        "commit_sha": None,
        "error_message": None,
        "node_id": None,
        "agent_id": None,
        "conflict": None,
        "validation": None,
        "acl_commands": [],
        "created_at": AT,
        "updated_at": AT,
    }


def _put_decisions(root: Path, names: list[str], count: int, *, graphs: int, per_graph: int) -> None:
    places = _places(names)
    lines = []
    for number in range(count):
        graph, node = graph_name(number % graphs), node_name(number // graphs % per_graph)
        place, minute = places[number % len(places)], number // 60
        clock = (1 + minute // 1440 % 29, minute // 60 % 24, minute % 60, number % 60)
        where = (node, graph, place.project, place.repository)
        lines.append(DECISION % (number, *clock, graph, node, *where))
    if lines:
        _put(root / ".metagit/schedule/decisions.jsonl", "".join(lines))


def _put_json(path: Path, document: Mapping[str, object]) -> None:
    _put(path, json.dumps(document, indent=2) + "\n")


def _put(path: Path, text: str) -> None:
    with open(path, "w", encoding="utf-8", opener=_private) as file:
        file.write(text)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
