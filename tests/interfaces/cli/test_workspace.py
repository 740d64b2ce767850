"""The program on a real workspace, each command a process: what a start loads, and how each kind of end looks."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests import ready
from tests.interfaces.cli.fake_runs import ROOT, WAIT_S, environment, said_aside
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from pathlib import Path

PROBE = """
import json, sys
from metagit_mcp.__main__ import main
code = main()
json.dump([code, sorted({name.partition(".")[0] for name in sys.modules})], sys.stderr)
"""
# What only a server, a drawing or a terminal needs.
HEAVY = {"mcp", "mcp_types", "networkx", "rich", "asyncio", "anyio", "httpx", "sqlite3", "logging"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_workspace(tmp_path, nodes=12, graphs=2, seed=1, worktrees=2, merges=6).root


def done(*arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return ready.run(
        [sys.executable, "-m", "metagit_mcp", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(**env),
        cwd=cwd,
        timeout=WAIT_S,
        check=False,
    )


def answered(*arguments: str, cwd: Path, code: int = 0) -> dict[str, Any]:
    ended = done(*arguments, "--json", cwd=cwd)
    record: dict[str, Any] = json.loads(ended.stdout)
    aside = said_aside(code, record)
    assert (ended.returncode, ended.stderr, ended.stdout.count("\n")) == (code, aside, 1), ended
    return record


@pytest.mark.parametrize("flags", [("--json",), (), ("--preview", "--limit", "3", "--json")])
def test_next_loads_nothing_that_it_does_not_need(workspace: Path, flags: tuple[str, ...]) -> None:
    arguments = ["schedule", "next", *flags, "--workspace", str(workspace)]
    started = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(),
        cwd=ROOT,
        timeout=WAIT_S,
        check=False,
    )
    code, loaded = json.loads(started.stderr)
    assert (code, set(loaded) & HEAVY) == (0, set())
    assert "metagit_mcp" in loaded


def test_a_first_session(tmp_path: Path) -> None:
    made = answered("init", cwd=tmp_path)
    assert made["workspace"] == str(tmp_path)
    assert answered("init", cwd=tmp_path)["made"] == []
    assert answered("schedule", "next", cwd=tmp_path, code=10)["decisions"] == []

    outline = "Design it\nBuild it (after: design-it)\n"
    answered("task", "plan", "--title", "Shop", "--graph-id", "shop", "--outline", outline, cwd=tmp_path)
    assert answered("schedule", "count", "--runnable", cwd=tmp_path) == {"runnable_count": 1}
    assert answered("schedule", "next", cwd=tmp_path)["decisions"][0]["node_id"] == "design-it"

    answered("task", "update", "design-it", "--approval", "human_required", cwd=tmp_path)
    assert answered("schedule", "next", cwd=tmp_path, code=11)["decisions"] == []
    assert answered("work", "approve", "design-it", cwd=tmp_path, code=4)["code"] == "AUTH_FORBIDDEN"
    assert answered("work", "approve", "design-it", "--operator", "ada", cwd=tmp_path)["approved_by"] == "ada"

    answered("task", "update", "design-it", "--status", "running", cwd=tmp_path)
    assert answered("schedule", "next", cwd=tmp_path, code=10)["decisions"] == []
    answered("task", "update", "design-it", "--status", "completed", cwd=tmp_path)
    assert answered("schedule", "next", cwd=tmp_path)["decisions"][0]["node_id"] == "build-it"
    assert answered("task", "show", "build-it", cwd=tmp_path)["node"]["depends_on"] == ["design-it"]
    assert answered("schedule", "plan", "--mermaid", cwd=tmp_path)["mermaid"].startswith("flowchart ")


@pytest.mark.parametrize(
    ("line", "code", "name"),
    [
        ("schedule next --graph-id nowhere", 3, "GRAPH_NOT_FOUND"),
        ("schedule next --graph-id ..", 2, "INVALID_INPUT"),
        ("schedule next --graph-id ../../x", 2, "INVALID_INPUT"),
        ("schedule next --limit 101", 2, "INVALID_INPUT"),
        ("schedule explain nowhere", 3, "NODE_NOT_FOUND"),
        ("schedule policy set --priority NaN", 2, "INVALID_INPUT"),
        ('schedule policy set --patch {"slotz":4}', 2, "INVALID_INPUT"),
        ('schedule policy set --patch {"slots":4}', 4, "AUTH_FORBIDDEN"),
        ("schedule policy set --cost 1 --expected-revision abc", 4, "REVISION_CONFLICT"),
        ("task update nowhere --priority 1", 3, "NODE_NOT_FOUND"),
        ("schedule next --workspace /", 3, "WORKSPACE_NOT_FOUND"),
        ("schemas check", 2, "SCHEMA_VALIDATION_FAILED"),
    ],
)
def test_a_refusal_has_its_exit_code(workspace: Path, line: str, code: int, name: str) -> None:
    assert answered(*line.split(), cwd=workspace, code=code)["code"] == name


def test_a_policy_file_that_cannot_be_used_is_not_the_callers_fault(workspace: Path) -> None:
    (workspace / ".metagit" / "schedule").mkdir(exist_ok=True)
    (workspace / ".metagit" / "schedule" / "policy.json").write_text("{")
    assert answered("schedule", "next", cwd=workspace, code=5)["code"] == "POLICY_INVALID"
    assert answered("schedule", "policy", "show", cwd=workspace, code=5)["code"] == "POLICY_INVALID"


def test_a_hint_on_a_policy_file_mends_it(workspace: Path) -> None:
    path = workspace / ".metagit" / "schedule" / "policy.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"weights": {"urgancy": 3, "cost": 1}, "slotz": 4}')
    refused = answered("schedule", "policy", "set", "--affinity", "1", cwd=workspace, code=5)
    assert (refused["code"], refused["details"]["fields"]) == ("POLICY_INVALID", ["weights/urgancy", "slotz"])
    command = shlex.split(refused["hint"].partition(" with: ")[2])
    assert answered(*command[1:], cwd=workspace)["policy"]["weights"]["cost"] == 1
    assert answered("schedule", "policy", "set", "--affinity", "1", cwd=workspace)["changed"] is True


def test_what_a_set_leaves_wrong_in_the_file_is_named(workspace: Path) -> None:
    path = workspace / ".metagit" / "schedule" / "policy.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"weights": {"urgancy": 3}, "slotz": 4}')
    half = ("schedule", "policy", "set", "--patch", '{"slotz": null}')
    refused = answered(*half, cwd=workspace, code=5)
    assert (refused["code"], refused["details"]) == ("POLICY_INVALID", {"field": "weights/urgancy"})
    wrong = answered("schedule", "policy", "set", "--patch", '{"weights": {"prority": 1}}', cwd=workspace, code=2)
    assert (wrong["code"], wrong["details"]) == ("INVALID_INPUT", {"field": "weights/prority"})


def test_a_time_that_is_none_is_refused_with_an_example(workspace: Path) -> None:
    refused = answered(
        "task", "update", "n000000", "--graph-id", "g0000", "--deadline", "tomorrow", cwd=workspace, code=2
    )
    assert refused["message"].startswith("deadline: ")
    assert "2026-12-01T12:00:00Z" in refused["hint"]


def test_init_in_a_folder_of_a_workspace_asks_back(workspace: Path) -> None:
    inner = workspace / "inner"
    inner.mkdir()
    refused = answered("init", cwd=inner, code=2)
    assert (refused["code"], refused["details"]["workspace"]) == ("INVALID_INPUT", str(workspace))
    assert answered("init", "--nested", cwd=inner)["workspace"] == str(inner)


def test_the_workspace_comes_from_the_environment_too(workspace: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ended = done("schedule", "status", "--json", cwd=elsewhere, METAGIT_WORKSPACE=str(workspace))
    assert (ended.returncode, json.loads(ended.stdout)["workspace"]["path"]) == (0, str(workspace))


def test_schemas_are_written_and_checked(tmp_path: Path) -> None:
    written = answered("schemas", "export", "made", cwd=tmp_path)["files"]
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == sorted(written)
    assert answered("schemas", "check", "made", cwd=tmp_path)["state"] == "current"
    (tmp_path / "made" / written[0]).write_text("{}")
    assert answered("schemas", "check", "made", cwd=tmp_path, code=2)["code"] == "SCHEMA_VALIDATION_FAILED"
