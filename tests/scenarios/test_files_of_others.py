"""Other programs write to the same files, badly, late, or not to the end: answers go on and nothing is lost.

The other programs here are plain file writes, in place and without our keys, as metagit makes them.
"""

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from metagit_mcp.adapters.fault_points import FILE_POINTS
from tests.scenarios.companion import (
    answer,
    approve,
    asked,
    ended,
    next_of,
    opened,
    set_policy,
    start,
    status_of,
    update,
)
from tests.unit.adapters.reading import Json, graph, node, put, put_graph

METAGIT_NODE_KEYS = {
    *("node_id", "graph_id", "title", "depends_on", "status", "intent_id", "blocker_reason", "project"),
    *("repository", "agent_id", "acl", "context_budget", "compiled_context_path", "priority"),
    *("estimated_tokens", "created_at", "updated_at"),
}
METAGIT_POLICY_KEYS = {
    *("weights", "merge_queue_threshold", "merge_pressure_penalty", "skip_on_merge_pressure", "graph_overrides"),
}
DROPPED = "another program dropped"


@pytest.fixture(autouse=True)
def _by_stat(monkeypatch: pytest.MonkeyPatch) -> None:
    """No queue of the kernel is left open when a test ends."""
    monkeypatch.setenv("METAGIT_WATCH", "stat")


def graph_path(root: Path) -> Path:
    return root / ".metagit/tasks/graphs/g.json"


def policy_path(root: Path) -> Path:
    return root / ".metagit/schedule/policy.json"


def document(path: Path) -> Json:
    return dict(json.loads(path.read_text()))


def metagit_starts(root: Path, node_id: str) -> None:
    """What `metagit task start` does: the whole file anew, in place, without the keys it does not know."""
    record = document(graph_path(root))
    rows = [{key: each for key, each in row.items() if key in METAGIT_NODE_KEYS} for row in record["nodes"]]
    put(graph_path(root), {**record, "nodes": [_started(row, node_id) for row in rows]})


def _started(row: Json, node_id: str) -> Json:
    """Start a node now: a run that began long ago holds no slot."""
    now = datetime.now(UTC).isoformat()
    return {**row, "status": "running", "updated_at": now} if row["node_id"] == node_id else row


def metagit_sets(root: Path, **fields: object) -> None:
    """What `metagit schedule policy set` does."""
    record = {key: each for key, each in document(policy_path(root)).items() if key in METAGIT_POLICY_KEYS}
    weights = {key: each for key, each in record["weights"].items() if key in {"priority", "affinity", "cost"}}
    put(policy_path(root), {**record, "weights": weights, **fields})


def offered(found: Json) -> list[str]:
    return sorted(each["node_id"] for each in found["decisions"])


def reasons(found: Json) -> dict[str, int]:
    return {each["reason"]: each["nodes"] for each in found["not_eligible"]}


# --- programs that drop our fields -----------------------------------------------------------------------------


def test_gates_quotas_and_deadlines_outlive_metagits_writes(root: Path) -> None:
    ours = opened(root)
    update(ours, node_id="a", risk="destructive")
    update(ours, node_id="b", not_before="2099-01-01T00:00:00Z")
    set_policy(ours, patch=json.dumps({"slots": 1, "gates": {"approval_required_for": ["destructive"]}}))
    before = next_of(ours)
    assert (offered(before), reasons(before)) == (["c"], {"awaiting_approval": 1, "deferred": 1})

    metagit_starts(root, "d")
    metagit_sets(root, merge_queue_threshold=2)
    for application in (ours, opened(root)):
        after = next_of(application)
        left = {"awaiting_approval": 1, "deferred": 1, "no_slot": 1, "observed": 1}
        assert (offered(after), reasons(after)) == ([], left)
        dropped = [text.partition(";")[0] for text in after["warnings"]]
        assert dropped == [f"graph g: {DROPPED} a.risk, b.not_before", f"policy: {DROPPED} gates, slots"]
    approve(ours, "a")
    assert reasons(next_of(ours)) == {"deferred": 1, "no_slot": 2, "observed": 1}


def test_an_explicit_null_ends_a_kept_field(root: Path) -> None:
    ours = opened(root)
    update(ours, node_id="a", risk="destructive")
    assert offered(next_of(ours)) == ["b", "c", "d"]
    metagit_starts(root, "b")

    record = document(graph_path(root))
    record["nodes"][0]["risk"] = None
    put(graph_path(root), record)
    found = next_of(ours)
    assert (offered(found), found["warnings"]) == (["a", "c", "d"], [])
    metagit_starts(root, "c")
    assert (offered(next_of(opened(root))), next_of(ours)["warnings"]) == (["a", "d"], [])


def test_our_next_write_puts_dropped_fields_back_into_the_file(root: Path) -> None:
    ours = opened(root)
    update(ours, node_id="a", deadline="2099-01-01T00:00:00Z", priority=3)
    metagit_starts(root, "b")
    assert "deadline" not in document(graph_path(root))["nodes"][0]
    update(ours, node_id="c", priority=5)
    assert document(graph_path(root))["nodes"][0]["deadline"] == "2099-01-01T00:00:00Z"
    assert next_of(ours)["warnings"] == []


# --- files that cannot be used ---------------------------------------------------------------------------------

BROKEN: dict[str, Callable[[Path], object]] = {
    "worktrees/worktrees.json": lambda path: path.write_text("{"),
    "merges/m.json": lambda path: path.write_bytes(b"\xff"),
    "merges/n.json": lambda path: path.mkdir(),
    "schedule/kept.json": lambda path: path.write_text("[]"),
    "schedule/approvals.json": lambda path: path.write_text(""),
    "schedule/decisions.jsonl": lambda path: path.write_text('garbage\n{"torn'),
    "tasks/index.json": lambda path: path.write_text(""),
    "tasks/graphs/empty.json": lambda path: path.write_text(""),
    "tasks/graphs/pipe.json": os.mkfifo,
    "tasks/graphs/device.json": lambda path: path.symlink_to("/dev/zero"),
    "tasks/graphs/outside.json": lambda path: path.symlink_to("/etc/passwd"),
    "tasks/graphs/folder.json": lambda path: path.mkdir(),
    "tasks/graphs/a b.json": lambda path: path.write_text("{}"),
}


def test_every_file_broken_at_once_leaves_the_good_graph(root: Path) -> None:
    for name, break_it in BROKEN.items():
        break_it(root / ".metagit" / name)
    for found in (next_of(opened(root), preview=True), answer("next_of", root, "preview=true")):
        assert offered(found) == ["a", "b", "c", "d"]
        assert "affinity=0" in found["decisions"][0]["reasons"]
        assert len(found["warnings"]) == 11
    assert status_of(opened(root))["counts"]["graphs"] == 6


def test_a_broken_policy_stops_next_and_names_the_file(root: Path) -> None:
    policy_path(root).write_text('{"weights": {"priority": SECRET')
    code, message = answer("next_of", root)
    assert code == "POLICY_INVALID"
    assert message.startswith(".metagit/schedule/policy.json is not valid JSON: ")
    assert "SECRET" not in message
    assert answer("update", root, 'node_id="a"', "priority=3")["node"]["priority"] == 3


LOGS = ("schedule/decisions.jsonl", "schedule/audit.jsonl", "events/scheduler.jsonl", "events/taskgraph.jsonl")


def test_torn_and_garbage_lines_are_passed_over_and_never_appended_onto(root: Path) -> None:
    junk = [b"garbage", b"\x00\xff", b"[]", b'{"decision_id": 5}', b"{" * 100_000]
    torn = b'{"decision_id": "torn", "graph_id": "g"'
    for name in LOGS:
        path = root / ".metagit" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\n".join([*junk, torn]))
    ours = opened(root)
    found = next_of(ours)
    update(ours, node_id="a", status="running")
    set_policy(ours, priority=1.5)
    recent = status_of(ours, recent=100)["recent_decisions"]
    assert [each["decision_id"] for each in recent[::-1]] == [each["decision_id"] for each in found["decisions"]]
    for name in LOGS:
        lines = (root / ".metagit" / name).read_bytes().split(b"\n")
        assert lines[: len(junk) + 1] == [*junk, torn]
        assert all(isinstance(json.loads(line), dict) for line in lines[len(junk) + 1 : -1])
        assert (len(lines) > len(junk) + 2, lines[-1]) == (True, b"")


# --- workspaces of another kind --------------------------------------------------------------------------------


def test_a_workspace_behind_a_link_is_the_same_workspace(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    update(opened(link), node_id="a", priority=3)
    there, here = next_of(opened(link), preview=True), next_of(opened(root), preview=True)
    assert there["state_version"] == here["state_version"]
    assert offered(there) == offered(here) == ["a", "b", "c", "d"]
    assert status_of(opened(link))["workspace"]["path"] == str(root.resolve())


def test_a_read_only_workspace_answers_and_refuses_to_write(root: Path) -> None:
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    preview = answer("next_of", root, "preview=true", nobody=True)
    assert offered(preview) == ["a", "b", "c", "d"]
    assert preview["state_version"] == next_of(opened(root), preview=True)["state_version"]
    assert answer("status_of", root, nobody=True)["ready_count"] == 4
    refused = {
        "next_of": [],
        "update": ['node_id="a"', "priority=3"],
        "set_policy": ["priority=3.0"],
        "approve": ["a"],
    }
    codes = {action: answer(action, root, *given, nobody=True)[0] for action, given in refused.items()}
    assert codes == dict.fromkeys(refused, "READ_ONLY")


# --- several writers, and writers that die ---------------------------------------------------------------------


def test_two_writers_at_once_lose_nothing(root: Path) -> None:
    writers = [start("count_up", root, name, "25") for name in "ab"]
    ours = opened(root)
    for number in range(25):
        update(ours, node_id="c", priority=number + 1)
    assert [ended(writer) for writer in writers] == [(0, "{}", "")] * 2
    rows = document(graph_path(root))["nodes"]
    assert {row["node_id"]: row.get("priority") for row in rows} == {"a": 25, "b": 25, "c": 25, "d": None}


# For each kind of write, a use case that makes it.
WRITERS: dict[str, tuple[str, ...]] = {
    "graph": ("update", 'node_id="a"', 'risk="external"'),
    "index": ("update", 'node_id="a"', 'risk="external"'),
    "kept": ("update", 'node_id="a"', 'risk="external"'),
    "policy": ("set_policy", "deadline=0.5"),
    "decisions": ("next_of",),
    "events": ("next_of",),
    "audit": ("set_policy", "deadline=0.5"),
}


@pytest.mark.parametrize("point", FILE_POINTS)
def test_a_kill_in_the_middle_of_a_write_leaves_the_state_before_or_after(point: str, root: Path) -> None:
    whole = Path(shutil.copytree(root, root / "whole"))
    action, *arguments = WRITERS[point.partition(".")[0]]
    code, out, err = ended(start(action, root, *arguments, fault=point))
    assert (code, out, err) == (-9, "", f"{point}\n")

    before = state(whole)
    asked(action, whole, *arguments)
    after = state(whole)
    assert state(root) in (before, after)
    assert all_parse(root)
    # The next one is not stopped by what is left.
    asked(action, root, *arguments)
    assert state(root) == after
    assert all_parse(root)


def state(root: Path) -> tuple[Any, ...]:
    """What the workspace says to a reader of each kind, times of writing left out."""
    rows = [{**row, "updated_at": ""} for row in document(graph_path(root))["nodes"]]
    return rows, document(policy_path(root))


def all_parse(root: Path) -> bool:
    """Whether every file that another program may read is whole, temporary files being hidden from it."""
    found = [path for path in (root / ".metagit").rglob("*.json") if not path.name.startswith(".")]
    return all(isinstance(document(path), dict) for path in found)


def test_a_new_graph_of_another_program_is_offered_at_once(root: Path) -> None:
    ours = opened(root)
    next_of(ours, preview=True)
    put_graph(root / ".metagit/tasks/graphs", "h", node("z", priority=9))
    assert offered(next_of(ours, preview=True)) == ["a", "b", "c", "d", "z"]
    put(root / ".metagit/tasks/graphs/h.json", graph(graph_id="h"))
    assert offered(next_of(ours, preview=True)) == ["a", "b", "c", "d"]
