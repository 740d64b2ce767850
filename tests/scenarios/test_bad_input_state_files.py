"""The other files of a workspace damaged, full disks, few descriptors, another user: each costs only itself."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import ready
from tests.interfaces.cli.fake_runs import ROOT, environment
from tests.scenarios.attack import WAIT_S, Json, Server, graphs_of, logs_parse, offered, run
from tests.scenarios.nobody import told
from tests.unit.adapters.reading import AT, node, put, put_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

LOGS = ("schedule/decisions.jsonl", "schedule/audit.jsonl", "events/scheduler.jsonl", "events/taskgraph.jsonl")
JUNK = [
    b"garbage",
    b"\x00\xff\xfe",
    b"[]",
    b"5",
    b'{"decision_id": 5}',
    b"{" * 100_000,
    b'{"score": NaN}',
    b'"' + b"x" * (2 << 20) + b'"',
    '{"a": "\u2028"}'.encode(),
]
WRITES: dict[str, list[str]] = {
    "next": ["schedule", "next"],
    "update": ["task", "update", "a", "--risk", "external"],
    "complete": ["task", "update", "b", "--status", "completed"],
    "plan": ["task", "plan", "--title", "new", "--nodes", '[{"title": "x"}]'],
    "set": ["schedule", "policy", "set", "--deadline", "0.5"],
    "approve": ["work", "approve", "c", "--operator", "ada"],
}
READS: dict[str, list[str]] = {
    "preview": ["schedule", "next", "--preview"],
    "status": ["schedule", "status"],
    "explain": ["schedule", "explain", "a"],
    "show": ["schedule", "policy", "show"],
    "list": ["task", "list"],
}


@pytest.fixture
def root() -> Iterator[Path]:
    """A workspace that another user can reach too, which the folders of pytest are not."""
    root = Path(tempfile.mkdtemp(prefix="workspace-"))
    root.chmod(0o755)
    put_graph(graphs_of(root), "g", node("a", repository="p/r"), node("b"), node("c", risk="destructive"))
    yield root
    shutil.rmtree(root)


def files(root: Path) -> dict[str, bytes]:
    found = (path for path in sorted(root.rglob("*")) if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def test_junk_in_each_log_is_passed_over_and_nothing_is_appended_onto_a_torn_line(root: Path) -> None:
    torn = b'{"decision_id": "torn", "graph_id": "g"'
    for name in LOGS:
        path = root / ".metagit" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\n".join([*JUNK, torn]))
    put(root / ".metagit/schedule/policy.json", {"weights": {"fairness": 1.0}})
    with Server(root, "--operator", "ada") as server:
        server.enter("2026-07-28")
        given = server.ask("schedule_next", limit=2)
        assert len(given["decisions"]) == 2
        assert server.ask("task_update", node_id="a", status="running", agent_id="x")["changed"] is True
        assert server.ask("schedule_policy", action="set", priority=1.5)["changed"] is True
        recent = server.ask("schedule_status", recent=100)
        told = [each["decision_id"] for each in recent["recent_decisions"]]
        assert told[::-1] == [each["decision_id"] for each in given["decisions"]]
        assert len([text for text in recent["warnings"] if "decisions.jsonl" in text]) == 2
        server.end()
    for name in LOGS:
        lines = (root / ".metagit" / name).read_bytes().split(b"\n")
        assert lines[: len(JUNK) + 1] == [*JUNK, torn]
        added = lines[len(JUNK) + 1 :]
        assert (len(added) > 1, added[-1]) == (True, b"")
        assert all(isinstance(json.loads(line), dict) for line in added[:-1])


DAMAGE = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"worktrees": 5, "graphs": 5, "approvals": 5, "policy": 5}',
    b"[" * 9_999,
]
PLACES = {
    "worktrees/worktrees.json": "no worktree counts",
    "merges/m.json": "it is not counted",
    "schedule/kept.json": "kept.json",
    "schedule/approvals.json": "approvals.json",
    "tasks/index.json": "",
    "merges/queue.json": "",
}


def test_damage_of_each_other_file_is_named_and_stops_no_answer(root: Path) -> None:
    with Server(root, "--operator", "ada") as server:
        server.enter("2026-07-28")
        for name, named in PLACES.items():
            path = root / ".metagit" / name
            path.parent.mkdir(exist_ok=True)
            for number, raw in enumerate(DAMAGE):
                path.write_bytes(raw)
                os.utime(path, (1_000_000_000 + number, 1_000_000_000))
                answer = server.ask("schedule_next", preview=True, limit=9)
                assert offered(answer) == ["a", "b"], (name, raw)
                is_said = any(named in text for text in answer["warnings"])
                assert is_said is bool(named) or not answer["warnings"], (name, raw, answer["warnings"])
                title = f"{number} {path.stem}"
                assert server.ask("task_update", node_id="a", title=title)["node"]["title"] == title, (name, raw)
                assert server.ask("schedule_policy", action="set", cost=number)["policy"]["weights"]["cost"] == number
            path.unlink()
        server.end()


def test_bad_rows_cost_only_themselves(root: Path) -> None:
    good = {"repository": "p/r", "path": str(root), "agent_id": "x", "status": "active", "updated_at": AT}
    bad: list[object] = [None, 5, [], {}, {**good, "status": "?"}, {**good, "repository": 5}, {**good, "path": ""}]
    put(root / ".metagit/worktrees/worktrees.json", {"worktrees": [*bad, good, {**good, "path": "\0"}]})
    for number, row in enumerate([{"repository": "p/r", "status": "queued"}, *bad]):
        put(root / f".metagit/merges/m{number}.json", row)
    approval = {"graph_id": "g", "node_id": "c", "epoch": 1, "digest": "d", "approved_by": "x", "at": "never"}
    put(root / ".metagit/schedule/approvals.json", {"approvals": [*bad, approval]})
    answer = run(root, "schedule", "next", "--preview").record
    assert "affinity=1" in answer["decisions"][0]["reasons"]
    status = run(root, "schedule", "status").record
    pressure = [(each["repository"], each["depth"]) for each in status["merge_pressure"]]
    assert pressure == [("p/r", 1)]
    assert [each["node_id"] for each in status["needs_person"]] == ["c"]


def test_kept_values_that_cannot_be_used_do_not_stop_a_set(root: Path) -> None:
    put(root / ".metagit/schedule/kept.json", {"policy": {"newer_key": 1, "slots": 2}, "graphs": {}})
    preview = run(root, "schedule", "next", "--preview").record
    assert offered(preview) == ["a"]
    assert [text.partition(" are left out")[0] for text in preview["warnings"]] == [
        "policy: the kept values of newer_key, slots"
    ]
    end = run(root, "schedule", "policy", "set", "--priority", "2")
    assert (end.code, end.record["policy"]["weights"]["priority"]) == (0, 2.0)


@pytest.mark.parametrize("most", [0, 100])
def test_a_full_disk_is_told_and_loses_nothing(root: Path, most: int) -> None:
    before = files(root)
    for name, command in WRITES.items():
        end = run(root, *command, limits={resource.RLIMIT_FSIZE: most})
        if most == 0 or name != "set":
            assert end.refusal == (5, "STORE_UNAVAILABLE"), name
    for name in ("preview", "status"):
        end = run(root, *READS[name], limits={resource.RLIMIT_FSIZE: most})
        assert (end.code, end.err) == (0, b""), name
    after = files(root)
    assert {name: after[name] for name in before} == before
    assert [name for name in after if ".tmp" in name] == []
    for name, command in WRITES.items():
        assert told(root, command)[0] == 0, name
    assert logs_parse(root)


def test_links_out_of_the_workspace_are_not_followed_to_write(root: Path, tmp_path: Path) -> None:
    target = tmp_path / "theirs"
    target.write_text('{"theirs": 1}\n')
    for name in (*LOGS, "schedule/policy.json", "schedule/approvals.json", "schedule/kept.json", "tasks/index.json"):
        path = root / ".metagit" / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(target if "jsonl" in name else "/dev/full")
    codes = {name: run(root, *command).code for name, command in WRITES.items()}
    assert codes == {"next": 5, "update": 0, "complete": 0, "plan": 0, "set": 5, "approve": 0}
    assert target.read_text() == '{"theirs": 1}\n'


def test_few_descriptors_are_enough(root: Path) -> None:
    for name, command in {**WRITES, **READS}.items():
        end = run(root, *command, limits={resource.RLIMIT_NOFILE: 12})
        assert (end.code, end.err) == (0, b""), name
    assert logs_parse(root)


def as_nobody(root: Path, commands: dict[str, list[str]]) -> dict[str, tuple[int, Json]]:
    """What the commands answer to a user who owns nothing."""
    ended = ready.run(
        [sys.executable, "-m", "tests.scenarios.nobody", str(root), json.dumps(list(commands.values()))],
        capture_output=True,
        env=environment(),
        cwd=ROOT,
        timeout=WAIT_S,
        check=True,
    )
    assert ended.stderr == b""
    return dict(zip(commands, map(tuple, json.loads(ended.stdout)), strict=True))


def test_another_users_workspace_answers_and_refuses_to_write(root: Path) -> None:
    put_graph(graphs_of(root), "private", node("z"))
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (graphs_of(root) / "private.json").chmod(0o600)
    before = files(root)
    answers = as_nobody(root, {**READS, **WRITES})
    assert {name: code for name, (code, _) in answers.items()} == {
        **dict.fromkeys(READS, 0),
        **dict.fromkeys(WRITES, 5),
    }
    assert {answers[name][1]["code"] for name in WRITES} == {"READ_ONLY"}
    preview = answers["preview"][1]
    assert offered(preview) == ["a"]
    private = ".metagit/tasks/graphs/private.json cannot be read: Permission denied"
    assert preview["warnings"] == [f"graph private: {private}"]
    assert files(root) == before
