"""Flags become exactly the request that the MCP tool would have made of its arguments, or an error that teaches."""

from __future__ import annotations

import io
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.interfaces.cli.main import cli
from metagit_mcp.wire.requests import (
    NextRequest,
    PlannedNode,
    PolicyRequest,
    StatusRequest,
    TaskPlanRequest,
    TaskUpdateRequest,
    WorkReportRequest,
    WorkStartRequest,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.interfaces.cli.conftest import Ended

    Run = Callable[..., Ended]

QUESTIONS: list[tuple[str, Any]] = [
    ("schedule next", NextRequest()),
    ("schedule next --limit 3 --preview --agent-id agent-1", NextRequest(limit=3, preview=True, agent_id="agent-1")),
    ("schedule next --preview false --detail full", NextRequest(preview=False, detail="full")),
    ("schedule next --capabilities gpu,net --capabilities db", NextRequest(capabilities=("gpu", "net", "db"))),
    ('schedule next --capabilities ["gpu"] --graph-id shop', NextRequest(capabilities=("gpu",), graph_id="shop")),
    (
        "schedule next --claim --wait-seconds 60 --lease-seconds 900 --new-session --action-id a",
        NextRequest(claim=True, wait_seconds=60, lease_seconds=900, new_session=True, action_id="a"),
    ),
    ("schedule next --capabilities []", NextRequest(capabilities=())),
    ("schedule status --recent 0 --after-group shop", StatusRequest(recent=0, after_group="shop")),
    ("schedule status --node-id build", StatusRequest(node_id="build")),
    ("schedule explain build --graph-id shop", StatusRequest(node_id="build", graph_id="shop")),
    ("schedule explain --node-id build --detail full", StatusRequest(node_id="build", detail="full")),
    ("schedule policy show", PolicyRequest(action="show")),
    ("schedule policy set --priority 2.5 --affinity 0", PolicyRequest(action="set", priority=2.5, affinity=0.0)),
    ("schedule policy set --skip-on-merge-pressure", PolicyRequest(action="set", skip_on_merge_pressure=True)),
    (
        "schedule policy set --skip-on-merge-pressure false --expected-revision abc",
        PolicyRequest(action="set", skip_on_merge_pressure=False, expected_revision="abc"),
    ),
    (
        "schedule policy preview --graph-id shop --cost 1 --merge-queue-threshold 4",
        PolicyRequest(action="preview", graph_id="shop", cost=1.0, merge_queue_threshold=4),
    ),
    ('schedule policy preview --patch {"slots":4}', PolicyRequest(action="preview", patch='{"slots":4}')),
    ("task update build --status completed", TaskUpdateRequest(node_id="build", status="completed")),
    (
        "task update --node-id build --depends-on a,b --priority -5",
        TaskUpdateRequest(node_id="build", depends_on=("a", "b"), priority=-5),
    ),
    ("task update build --depends-on []", TaskUpdateRequest(node_id="build", depends_on=())),
    ("task update build --clear deadline,risk", TaskUpdateRequest(node_id="build", clear=("deadline", "risk"))),
    (
        "task update build --acceptance one,two --acceptance three",
        TaskUpdateRequest(node_id="build", acceptance=("one,two", "three")),
    ),
]


@pytest.mark.parametrize(("line", "request_"), QUESTIONS, ids=[line for line, _ in QUESTIONS])
def test_flags_become_the_request(run: Run, line: str, request_: object) -> None:
    ended = run(*line.split())
    assert (ended.code, ended.err) == (0, "")
    assert [question for _, question in ended.asked] == [(request_,)]


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("schedule count --runnable --graph-id shop", [("schedule.count_runnable", ("shop", None, None))]),
        ("schedule count", [("schedule.count_runnable", (None, None, None))]),
        (
            "schedule count --agent-id ada --capabilities gpu,db",
            [("schedule.count_runnable", (None, "ada", ("gpu", "db")))],
        ),
        ("schedule plan --mermaid", [("schedule.mermaid", (None,))]),
        ("task list --status blocked", [("tasks.list", (None, "blocked"))]),
        ("task show build --graph-id shop", [("tasks.show", ("build", "shop"))]),
        (
            "work approve build --operator ada",
            [("rules.approvable", ("build", None)), ("rules.approve", ("build", "shop", "ada", "digest of build"))],
        ),
    ],
)
def test_flags_become_the_question(run: Run, line: str, asked: list[tuple[str, Any]]) -> None:
    assert run(*line.split()).asked == asked


# --- every argument of a tool is a flag of its twin ----------------------------------------------------------------

TWINS = [
    (("schedule", "next"), NextRequest, frozenset()),
    (("schedule", "status"), StatusRequest, frozenset()),
    (("schedule", "explain"), StatusRequest, frozenset()),
    (("schedule", "policy", "set"), PolicyRequest, frozenset({"action"})),
    (("schedule", "policy", "preview"), PolicyRequest, frozenset({"action"})),
    (("work", "start"), WorkStartRequest, frozenset()),
    (("work", "report"), WorkReportRequest, frozenset()),
    (("task", "plan"), TaskPlanRequest, frozenset()),
    (("task", "update"), TaskUpdateRequest, frozenset()),
]


@pytest.mark.parametrize(("path", "shape", "fixed"), TWINS, ids=[" ".join(path) for path, _, _ in TWINS])
def test_every_argument_of_the_tool_is_a_flag(path: tuple[str, ...], shape: type[Any], fixed: frozenset[str]) -> None:
    command: Any = cli
    for name in path:
        command = command.get_command(None, name)
    flags = {flag for parameter in command.params for flag in parameter.opts}
    assert {f"--{each.name.replace('_', '-')}" for each in fields(shape) if each.name not in fixed} <= flags


# --- shared flags --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "--workspace /w schedule next",
        "schedule --workspace /w next",
        "schedule next --workspace /w",
        "--workspace /elsewhere schedule next --workspace /w",
    ],
)
def test_the_workspace_may_stand_anywhere(run: Run, line: str) -> None:
    assert run(*line.split()).application.flags == [{"workspace": "/w"}]


@pytest.mark.parametrize("line", ["--json schedule count", "schedule --json count", "schedule count --json"])
def test_json_may_stand_anywhere(run: Run, line: str) -> None:
    assert run(*line.split()).record == {"runnable_count": 7}


def test_without_the_flag_the_environment_decides(run: Run) -> None:
    assert run("schedule", "next").application.flags == [{}]


def test_the_operator_reaches_the_settings(run: Run) -> None:
    ended = run("schedule", "policy", "set", "--patch", '{"slots": 4}', "--operator", "ada")
    assert (ended.code, ended.application.flags) == (0, [{"operator": "ada"}])


# --- texts from files ----------------------------------------------------------------------------------------------

OUTLINE = "Design\n  Draw (after: ask)\n"


@pytest.mark.parametrize("form", ["{path}", "@{path}"])
def test_an_outline_is_read_from_a_file(run: Run, tmp_path: Path, form: str) -> None:
    path = tmp_path / "plan.txt"
    path.write_bytes(b"\xef\xbb\xbf" + OUTLINE.encode())
    ended = run("task", "plan", "--title", "Ship", "--goal", "It runs", "--outline", form.format(path=path))
    assert ended.asked == [("tasks.plan", (TaskPlanRequest(title="Ship", goal="It runs", outline=OUTLINE),))]


def test_an_outline_is_read_from_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OUTLINE.encode())))
    ended = run("task", "plan", "--title", "Ship", "--outline", "-")
    assert ended.asked == [("tasks.plan", (TaskPlanRequest(title="Ship", outline=OUTLINE),))]


def test_an_outline_may_be_given_in_place(run: Run) -> None:
    ended = run("task", "plan", "--title", "Ship", "--outline", OUTLINE)
    assert ended.asked == [("tasks.plan", (TaskPlanRequest(title="Ship", outline=OUTLINE),))]


def test_nodes_are_json_or_a_file_with_it(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text('[{"title": "Test it"}]')
    wanted = [("tasks.plan", (TaskPlanRequest(title="Ship", nodes=(PlannedNode(title="Test it"),)),))]
    assert run("task", "plan", "--title", "Ship", "--nodes", '[{"title": "Test it"}]').asked == wanted
    assert run("task", "plan", "--title", "Ship", "--nodes", f"@{path}").asked == wanted


def test_a_patch_is_read_from_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "patch.json"
    path.write_text('{"merge_queue_threshold": 4}')
    ended = run("schedule", "policy", "preview", "--patch", f"@{path}")
    assert ended.asked == [("policies.run", (PolicyRequest(action="preview", patch='{"merge_queue_threshold": 4}'),))]


# --- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("schedule next --limt 3", "unknown option --limt", "Did you mean --limit? "),
        ("schedule next --json=yes", "Option '--json' does not take a value.", ""),
        ("--jsn schedule next", "unknown option --jsn", "Did you mean --json? "),
        ("schedul next", "unknown command schedul", "Did you mean metagit-mcp schedule? "),
        ("schedule nxt", "unknown command nxt", "Did you mean metagit-mcp schedule next? "),
        ("next", "unknown command next", "Did you mean metagit-mcp schedule next? Known: demo, init, "),
        ("policy show", "unknown command policy", "Did you mean metagit-mcp schedule policy? Known: "),
        (
            "show build",
            "unknown command show",
            "Did you mean metagit-mcp task show or metagit-mcp schedule policy show or metagit-mcp group show? Known: ",
        ),
        ("task aprove x", "unknown command aprove", "Did you mean metagit-mcp work approve? Known: plan, "),
        ("xyzzy", "unknown command xyzzy", "Known: demo, init, "),
        ("schedule next --wroking", "unknown option --wroking", "Known: --action-id, "),
        ("schedule policy sett", "unknown command sett", "Did you mean metagit-mcp schedule policy set? "),
        ("schedule next extra", "Got unexpected extra argument (extra)", "metagit-mcp schedule next --help shows"),
        ("schedule next --limit", "Option '--limit' requires an argument.", "--help after the command shows"),
        ("schedule next --limit 0", "limit: should be greater than or equal to 1", ""),
        ("schedule next --limit -1", "limit: should be greater than or equal to 1", ""),
        ("schedule next --limit 101", "limit: should be less than or equal to 100", ""),
        ("schedule next --limit x", "limit: should be a valid integer", ""),
        ("schedule next --preview maybe", "preview: should be a valid boolean", ""),
        ("schedule policy set --priority nan", "priority: should be a finite number", ""),
        ("schedule policy set --priority inf", "priority: should be a finite number", ""),
        ("schedule policy set --merge-queue-threshold 0", "merge_queue_threshold: should be greater than", ""),
        ("schedule policy set --patch [1]", "patch must be a JSON object (RFC 7396 merge patch).", ""),
        ("schedule explain", "no node is named", ""),
        ("schedule explain a --node-id b", "NODE and --node-id name two different nodes", ""),
        ("task list --status done", "status: should be one of pending, ready, ", "Leave it out to list every node; "),
        (
            "task plan --outline /nowhere/at/all",
            "outline: there is no file '/nowhere/at/all'",
            "For one task: --nodes ",
        ),
        ("task plan --title T --nodes @/nowhere", "nodes: there is no file '/nowhere'", ""),
        ("task plan --title T --nodes plan.json", "nodes: a file name is no JSON", "Did you mean --nodes @plan.json? "),
        ("schedule policy set --patch p.json", "patch: a file name is no JSON", "Did you mean --patch @p.json? "),
        (
            'task plan --title T --nodes [{"titel":"x"}]',
            "nodes/0/titel: unknown field",
            "Did you mean title? Known: title, node_id, depends_on, ",
        ),
        ('task plan --title T --nodes [{"title":"x","x":1}]', "nodes/0/x: unknown field", "Known: title, node_id, "),
        (
            "task update n --clear [a",
            "clear: must be a JSON array: expected value at line 1 column 2",
            'For example: ["',
        ),
        ("task plan --title T --nodes @/", "nodes: the file cannot be read: Is a directory", ""),
        (
            "task plan --title T --nodes {",
            "nodes: must be a JSON array: EOF while parsing an object at line 1 column 1",
            'For example: [{"title"',
        ),
        ("task show /b", "node_id: must be letters, digits and", ""),
    ],
)
def test_a_mistake_is_explained(run: Run, line: str, message: str, hint: str) -> None:
    ended = run("--json", *line.split())
    assert ended.code == 2
    assert ended.record["code"] == "INVALID_INPUT"
    assert ended.record["message"].startswith(message)
    assert ended.record["hint"].startswith(hint)
    assert (ended.asked, ended.err) == ([], "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("schedule", "next", "--graph-id", ""),
        ("schedule", "next", "--graph-id="),
        ("schedule", "count", "--graph-id", ""),
        ("task", "list", "--graph-id", ""),
        ("work", "approve", "build", "--operator", ""),
        ("schedule", "status", "--node-id", ""),
        ("schedule", "next", "--capabilities", ""),
        ("schedule", "next", "--workspace", ""),
        ("task", "plan", "--title", "T", "--outline", ""),
    ],
)
def test_an_empty_value_is_refused(run: Run, arguments: tuple[str, ...]) -> None:
    ended = run(*arguments, "--json")
    assert (ended.code, ended.record["code"], ended.asked) == (2, "INVALID_INPUT", [])
    assert ended.record["message"].endswith(" is empty")


def test_bytes_that_are_no_text_are_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "plan.txt"
    path.write_bytes(b"ok\n\xff")
    ended = run("task", "plan", "--title", "T", "--outline", str(path), "--json")
    assert (ended.code, ended.record["message"]) == (2, "outline: byte 3 is not UTF-8")
    assert run("task", "plan", "--title", "\udcff", "--json").record["code"] == "INVALID_INPUT"
    assert run("schedule", "next", "--\udcff", "--json").record["message"] == "unknown option --"


def test_a_huge_text_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "plan.txt"
    with path.open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    ended = run("task", "plan", "--title", "T", "--outline", str(path), "--json")
    assert (ended.code, ended.record["message"]) == (2, "outline: the text is longer than 8388608 bytes")


def test_a_group_without_a_command_shows_what_there_is(run: Run) -> None:
    for_person, for_script = run("schedule"), run("schedule", "--json")
    assert (for_person.code, for_person.out) == (2, "")
    assert "Usage: metagit-mcp schedule" in for_person.err
    assert (for_script.code, for_script.record["code"]) == (2, "INVALID_INPUT")
