"""The generated workspaces are what they claim to be: the JSON of metagit-cli, and repeatable.

Must not know: how anything reads them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.workloads import Shape, write_workspace

if TYPE_CHECKING:
    from pathlib import Path

NODE_KEYS = [
    *("node_id", "graph_id", "title", "depends_on", "status", "intent_id", "blocker_reason"),
    *("project", "repository", "agent_id", "acl", "context_budget", "compiled_context_path"),
    *("priority", "estimated_tokens", "created_at", "updated_at"),
]


def contents(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text(encoding="utf-8").replace(str(root), "ROOT")
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def ready_in(root: Path) -> int:
    ready = 0
    for path in (root / ".metagit/tasks/graphs").iterdir():
        nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"]
        done = {node["node_id"] for node in nodes if node["status"] == "completed"}
        ready += sum(node["status"] in {"ready", "pending"} and done.issuperset(node["depends_on"]) for node in nodes)
    return ready


@pytest.mark.parametrize("shape", ["ready", "mixed", "chain"])
def test_a_workload_counts_its_ready_nodes(tmp_path: Path, shape: Shape) -> None:
    written = write_workspace(tmp_path, nodes=1003, graphs=10, shape=shape, seed=3)

    assert ready_in(tmp_path) == written.ready


@pytest.mark.parametrize(("shape", "ready"), [("ready", 1003), ("chain", 10)])
def test_all_nodes_or_one_a_chain_are_ready(tmp_path: Path, shape: Shape, ready: int) -> None:
    assert write_workspace(tmp_path, nodes=1003, graphs=10, shape=shape, seed=3).ready == ready


def test_a_mixed_workload_is_two_fifths_ready(tmp_path: Path) -> None:
    written = write_workspace(tmp_path, nodes=10_000, graphs=100, shape="mixed", seed=1)

    assert 3_800 <= written.ready <= 4_200


def test_every_document_is_indented_json_in_the_key_order_of_metagit(tmp_path: Path) -> None:
    write_workspace(tmp_path, nodes=60, graphs=3, shape="mixed", seed=2, worktrees=6, merges=14, policy={})

    for path in (tmp_path / ".metagit").rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert json.dumps(json.loads(text), indent=2) + "\n" == text, path
        for node in json.loads(text).get("nodes", []):
            assert list(node) == NODE_KEYS


def test_every_decision_line_is_json(tmp_path: Path) -> None:
    write_workspace(tmp_path, nodes=10, graphs=2, decisions=200)

    lines = (tmp_path / ".metagit/schedule/decisions.jsonl").read_text(encoding="utf-8")
    assert [json.dumps(json.loads(line)) for line in lines.splitlines()] == lines.splitlines()


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_workspace(tmp_path / name, nodes=300, graphs=4, shape="mixed", seed=9, extra_fields=True)

    assert contents(tmp_path / "one") == contents(tmp_path / "two")
