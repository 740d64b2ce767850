"""The example workspace: three task graphs over four repositories, a warm worktree, and merges waiting in a queue.

The graphs are plans for our own task authoring; what other programs write is written here as plain files, in their
shape. Knows neither the scheduler nor what the demo makes of it.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]

# Arguments of metagit_task_plan, one call a graph.
PLANS: Final[tuple[Json, ...]] = (
    {
        "graph_id": "checkout",
        "title": "Online checkout",
        "goal": "Customers can pay online.",
        "nodes": [
            {
                "node_id": "schema",
                "title": "Design the order tables",
                "priority": 2,
                "project": "shop",
                "repository": "shop/api",
                "estimated_tokens": 1000,
            },
            {
                "node_id": "api",
                "title": "Serve orders over HTTP",
                "depends_on": ["schema"],
                "priority": 2,
                "project": "shop",
                "repository": "shop/api",
                "estimated_tokens": 3000,
            },
            {
                "node_id": "page",
                "title": "Build the checkout page",
                "depends_on": ["api"],
                "priority": 2,
                "project": "shop",
                "repository": "shop/web",
                "estimated_tokens": 4000,
            },
        ],
    },
    {
        "graph_id": "search",
        "title": "Product search",
        "goal": "Customers find what they look for.",
        "nodes": [
            {
                "node_id": "index",
                "title": "Index the catalogue",
                "priority": 2,
                "project": "shop",
                "repository": "shop/search",
                "estimated_tokens": 3000,
                "acceptance": ["Every product is found by its name."],
            },
            {
                "node_id": "ranking",
                "title": "Rank results by relevance",
                "depends_on": ["index"],
                "priority": 2,
                "project": "shop",
                "repository": "shop/search",
                "estimated_tokens": 1000,
            },
        ],
    },
    {
        "graph_id": "upkeep",
        "title": "Upkeep",
        "goal": "The shop stays safe and documented.",
        "nodes": [
            {
                "node_id": "docs",
                "title": "Describe the deployment",
                "priority": 1,
                "project": "shop",
                "repository": "shop/infra",
                "estimated_tokens": 1000,
            },
            {
                "node_id": "keys",
                "title": "Rotate the signing keys",
                "priority": 4,
                "project": "shop",
                "repository": "shop/infra",
                "risk": "high_risk",
                "estimated_tokens": 1000,
            },
            {
                "node_id": "libraries",
                "title": "Update the web libraries",
                "priority": 2,
                "project": "shop",
                "repository": "shop/web",
                "estimated_tokens": 3000,
            },
        ],
    },
)

WARM_REPOSITORY: Final = "shop/search"
WARM_AGENT: Final = "agent-1"
# (repository, status): three of these wait or run, all for one repository.
MERGES: Final = (
    ("shop/web", "running"),
    ("shop/web", "queued"),
    ("shop/web", "queued"),
    ("shop/api", "succeeded"),
)


def surround(root: Path) -> None:
    """Write what lies around the task graphs of the workspace at `root`: a worktree, and the merge queue."""
    now = datetime.now(UTC).isoformat()
    _write(root / ".metagit/worktrees/worktrees.json", {"worktrees": [_worktree(root, now)]})
    for number, (repository, status) in enumerate(MERGES, start=1):
        merge = _merge(f"merge-{number}", repository, status, now)
        _write(root / f".metagit/merges/{merge['merge_id']}.json", merge)


def _worktree(root: Path, now: str) -> Json:
    path = root / "worktrees" / WARM_AGENT / WARM_REPOSITORY
    path.mkdir(parents=True)
    return {
        "worktree_id": "worktree-1",
        "path": str(path),
        "repository": WARM_REPOSITORY,
        "branch": "agent/catalogue",
        "agent_id": WARM_AGENT,
        "task_id": None,
        "lease_id": None,
        "status": "active",
        "created_at": now,
        "updated_at": now,
    }


def _merge(merge_id: str, repository: str, status: str, now: str) -> Json:
    return {
        "merge_id": merge_id,
        "repository": repository,
        "source_branch": f"agent/{merge_id}",
        "target_branch": "main",
        "status": status,
        "created_at": now,
        "updated_at": now,
    }


def _write(path: Path, record: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
