"""Each MCP tool and its command-line twin answer the same JSON, in two real processes on the same workspace.

Each call starts from the same files and the same ledger at the same path, with the same clock, ids and agent. It must
not know what an answer holds: only that there is one, that it is a refusal or not, and that both agree field for field.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests import ready
from tests.interfaces.cli.fake_runs import ROOT, WAIT_S, environment, said_aside
from tests.interfaces.mcp.raw_wire import MODERN, RawServer
from tests.workloads import AT, write_workspace

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = [sys.executable, "-m", "metagit_mcp"]
# A host that names its session names the agent: neither side has to draw a name for it.
SAME = {
    "METAGIT_MCP_CLOCK": "2026-12-01T12:00:00Z",
    "METAGIT_MCP_IDS": "parity",
    "CLAUDE_CODE_SESSION_ID": "session-1",
}
TOOLSETS = "schedule,work,tasks,groups"
Json = dict[str, Any]


@dataclass(frozen=True)
class Twin:
    """One call of a tool and the command that is its twin; `server` are flags that the command has too.

    `grants`: the call gives a lease, which a server renews and at its end takes back, and the command line does not.
    """

    tool: str
    arguments: Json
    command: tuple[str, ...]
    refused: bool = False
    server: tuple[str, ...] = field(default=())
    grants: bool = False

    def __str__(self) -> str:
        return " ".join(self.command)


def twin(
    tool: str,
    arguments: Json,
    line: str,
    *more: str,
    refused: bool = False,
    server: str = "",
    grants: bool = False,
) -> Twin:
    return Twin(f"metagit_{tool}", arguments, (*line.split(), *more), refused, tuple(server.split()), grants)


def flags(arguments: Json) -> list[str]:
    """The arguments of a tool as flags of its command."""
    return [word for name, each in arguments.items() for word in (f"--{name.replace('_', '-')}", text(each))]


def text(each: object) -> str:
    if isinstance(each, dict):
        return json.dumps(each)
    return ",".join(each) if isinstance(each, list) else str(each)


NODES: list[Json] = [
    {"title": "Design it", "priority": 3, "risk": "reversible", "acceptance": ["drawn", "agreed"]},
    {"title": "Build it", "node_id": "build", "depends_on": ["design-it"], "deadline": "2026-12-02T12:00:00Z"},
]
FIELDS: Json = {
    "title": "Test it",
    "depends_on": ["n000000"],
    "parent_id": "n007919",
    "priority": 3,
    "estimated_tokens": 500,
    "estimated_runtime_seconds": 60,
    "project": "shop",
    "repository": "web",
    "agent_id": "ada",
    "requested_urgency": "high",
    "deadline": "2026-12-02T12:00:00Z",
    "not_before": "2026-12-01T13:00:00+02:00",
    "risk": "external",
    "approval": "human_required",
    "capabilities": ["gpu"],
    "slots": 2,
    "acceptance": ["it passes, twice"],
    "model_tier": "small",
}
WHOLE: Json = {**FIELDS, "node_id": "test", "discovered_from": "n000000"}
CHANGE: Json = {
    **FIELDS,
    "status": "blocked",
    "blocker_reason": "waits for the key",
    "clear": ["business_impact", "discovered_from"],
    "expected_updated_at": AT,
}
FACTORS: Json = dict.fromkeys(("priority", "dependency", "affinity", "cost", "fairness", "urgency", "deadline"), 1.5)
WEIGHED: Json = {**FACTORS, "merge_queue_threshold": 2, "merge_pressure_penalty": 0.5}
CIRCLE: list[Json] = [
    {"title": "Egg", "node_id": "egg", "depends_on": ["hen"]},
    {"title": "Hen", "node_id": "hen", "depends_on": ["egg"]},
]
OUTLINE = "Sketch the page\nBuild the page (after: sketch-the-page)\n  Style the page\n"
PATCH = (
    '{"slots": 4, "gates": {"approval_required_for": []}, "classes": {"low": 2}, '
    '"groups": {"g0001": {"class": "low", "weight": 2}}}'
)
NODE = {"graph_id": "g0000", "node_id": "n000000"}
OF_NODE = "n000000 --graph-id g0000"
NODE2 = {"graph_id": "g0000", "node_id": "n015838"}
OF_NODE2 = "n015838 --graph-id g0000"
# The workspace's one lease: on which node, and under which id, which follows from the ids.
LEASED = "n023757 --graph-id g0001 --agent-id agent-1"
LEASE = "L-2FOGMWGDRQ3Q"
FED = "group:cli"
LOG = "tests/groups/data/cli_group.jsonl"
EVENTS: list[Json] = [json.loads(line) for line in (ROOT / LOG).read_bytes().splitlines()]
CLAIM: Json = {
    "agent_id": "agent-2",
    "capabilities": ["gpu"],
    "limit": 1,
    "wait_seconds": 5,
    "lease_seconds": 600,
    "new_session": True,
    "action_id": "once",
}
START: Json = {"agent_id": "agent-2", "lease_seconds": 600, "new_session": True, "action_id": "once"}
RESULT = {"summary": "It runs", "artifacts": ["a.txt"], "evidence": ["green"]}
POINT: Json = {
    "checkpoint": {"checkpoint_id": "c-1", "uri": "file:a", "digest": "d", "note": "half"},
    "usage": {"tokens": 5, "tool_calls": 4, "seconds": 3, "cost_micros": 2},
    "note": "half done",
    "agent_id": "agent-1",
    "action_id": "once",
}
LIMITED: Json = {"note": "slow down", "rate_limited": {"resource": "api", "until": "2026-12-01T13:00:00Z"}}

TWINS = [
    twin("schedule_next", {}, "schedule next"),
    twin("schedule_next", {"limit": 5, "preview": True}, "schedule next --limit 5 --preview"),
    twin("schedule_next", {"limit": 100, "agent_id": "agent-1"}, "schedule next --limit 100 --agent-id agent-1"),
    twin(
        "schedule_next",
        {"graph_id": "g0000", "detail": "brief", "capabilities": ["gpu", "db"]},
        "schedule next --graph-id g0000 --detail brief --capabilities gpu,db",
    ),
    twin("schedule_next", {"limit": 0}, "schedule next --limit 0", refused=True),
    twin("schedule_next", {"graph_id": "nowhere"}, "schedule next --graph-id nowhere", refused=True),
    twin("schedule_next", {"claim": True, **CLAIM}, "schedule next --claim", *flags(CLAIM), grants=True),
    twin("schedule_next", {"claim": True, "agent_id": "agent-1"}, "schedule next --claim --agent-id agent-1"),
    twin("schedule_next", {"claim": True, "preview": True}, "schedule next --claim --preview", refused=True),
    twin("schedule_status", {}, "schedule status"),
    twin("schedule_status", {"recent": 0, "after_group": "g0000"}, "schedule status --recent 0 --after-group g0000"),
    twin("schedule_status", {**NODE, "detail": "full"}, f"schedule explain {OF_NODE} --detail full"),
    twin("schedule_status", {"node_id": "nowhere"}, "schedule explain nowhere", refused=True),
    twin("schedule_policy", {}, "schedule policy show"),
    twin("schedule_policy", {"action": "preview", "affinity": 0}, "schedule policy preview --affinity 0"),
    twin(
        "schedule_policy",
        {"action": "set", "priority": 2.5, "skip_on_merge_pressure": True, "graph_id": "g0001"},
        "schedule policy set --priority 2.5 --skip-on-merge-pressure --graph-id g0001",
    ),
    twin(
        "schedule_policy",
        {"action": "set", "patch": PATCH},
        "schedule policy set --operator ada --patch",
        PATCH,
        server="--operator ada",
    ),
    twin("schedule_policy", {"action": "preview", **WEIGHED}, "schedule policy preview", *flags(WEIGHED)),
    twin("schedule_policy", {"action": "set"}, "schedule policy set", refused=True),
    twin(
        "schedule_policy",
        {"action": "set", "cost": 1, "expected_revision": "abc"},
        "schedule policy set --cost 1 --expected-revision abc",
        refused=True,
    ),
    twin("work_start", {**NODE, **START}, f"work start {OF_NODE}", *flags(START), grants=True),
    twin("work_start", {**NODE, "queue_only": True}, f"work start {OF_NODE} --queue-only"),
    twin("work_start", {"node_id": "nowhere"}, "work start nowhere", refused=True),
    twin(
        "work_start",
        {"node_id": "n023757", "graph_id": "g0001", "agent_id": "agent-2"},
        "work start n023757 --graph-id g0001 --agent-id agent-2",
        refused=True,
    ),
    twin("work_report", {"lease_id": LEASE, "state": "running"}, f"work report {LEASE} --state running"),
    twin(
        "work_report",
        {"lease_id": LEASE, "state": "checkpointed", **POINT},
        f"work report {LEASE} --state checkpointed",
        *flags(POINT),
    ),
    twin(
        "work_report",
        {"lease_id": LEASE, "state": "completed", "result": RESULT},
        f"work report --lease-id {LEASE} --state completed",
        *flags({"result": RESULT}),
    ),
    twin(
        "work_report",
        {"lease_id": LEASE, "state": "failed", **LIMITED},
        f"work report {LEASE} --state failed",
        *flags(LIMITED),
    ),
    twin(
        "work_report",
        {"lease_id": LEASE, "state": "running", "agent_id": "agent-2"},
        f"work report {LEASE} --state running --agent-id agent-2",
        refused=True,
    ),
    twin("work_report", {"lease_id": LEASE, "state": "blocked"}, f"work report {LEASE} --state blocked", refused=True),
    twin("work_report", {"lease_id": "L-1", "state": "running"}, "work report L-1 --state running", refused=True),
    twin("group_deliver", {"group_id": FED, "events": EVENTS}, f"group deliver {LOG} --group {FED}"),
    twin(
        "group_deliver",
        {"group_id": FED, "events": EVENTS, "first_sequence": 1, "filtered": True},
        f"group deliver {LOG} --group {FED} --first-sequence 1 --filtered",
    ),
    twin("group_estimate", {"group_id": "g0000"}, "group estimate g0000"),
    twin("group_estimate", {"group_id": "g0000", "node_id": "n000000"}, "group estimate g0000 n000000"),
    twin("group_estimate", {"group_id": "group:none"}, "group estimate group:none", refused=True),
    twin("task_plan", {"title": "Page", "nodes": NODES}, "task plan --title Page --nodes", json.dumps(NODES)),
    twin(
        "task_plan",
        {"title": "Page", "goal": "It is seen", "graph_id": "page", "outline": OUTLINE},
        "task plan --title Page --graph-id page --goal",
        "It is seen",
        "--outline",
        OUTLINE,
    ),
    twin(
        "task_plan",
        {"title": "More", "graph_id": "g0000", "nodes": [WHOLE]},
        "task plan --title More --graph-id g0000 --nodes",
        json.dumps([WHOLE]),
    ),
    twin("task_plan", {"title": "P", "nodes": CIRCLE}, "task plan --title P --nodes", json.dumps(CIRCLE), refused=True),
    twin(
        "task_update",
        {**NODE, "priority": 7, "capabilities": ["gpu"], "acceptance": ["one, two"]},
        f"task update {OF_NODE} --priority 7 --capabilities gpu --acceptance",
        "one, two",
    ),
    twin("task_update", {**NODE2, **CHANGE}, f"task update {OF_NODE2}", *flags(CHANGE)),
    twin("task_update", {**NODE, "status": "completed"}, f"task update {OF_NODE} --status completed"),
    twin("task_update", {"node_id": "nowhere", "priority": 1}, "task update nowhere --priority 1", refused=True),
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original")
    root = write_workspace(folder, nodes=40, graphs=4, seed=7, worktrees=3, merges=6, decisions=5).root
    start = twin("work_start", {}, f"work start {LEASED}")
    _, answer = command_answer(start, root, METAGIT_MCP_IDS="earlier")
    assert answer["lease"]["lease_id"] == LEASE
    return root


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The path at which both twins find the workspace, which is part of an answer."""
    return tmp_path / "workspace"


def fresh(original: Path, place: Path) -> None:
    """Put the files back as they were."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(original, place, symlinks=True)


def server_answer(call: Twin, place: Path) -> tuple[bool, Json]:
    """Whether the tool refuses, and what it says."""
    serve = [*PROGRAM, "serve", "--workspace", str(place), "--toolsets", TOOLSETS, *call.server]
    with RawServer(serve, env=environment(**SAME), cwd=ROOT) as server:
        server.enter(MODERN)
        result = server.call_tool(call.tool, call.arguments)["result"]
        assert server.close() == 0
    text: Json = json.loads(result["content"][0]["text"])
    refused = bool(result.get("isError", False))
    if not refused:
        assert result["structuredContent"] == text
    return refused, text


def command_answer(call: Twin, place: Path, **env: str) -> tuple[bool, Json]:
    """Whether the command fails, and what it prints."""
    ended = ready.run(
        [*PROGRAM, *call.command, "--workspace", str(place), "--json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(**{**SAME, **env}),
        cwd=ROOT,
        timeout=WAIT_S,
        check=False,
    )
    text: Json = json.loads(ended.stdout)
    aside = said_aside(ended.returncode, text).encode()
    assert (ended.stderr, ended.stdout.count(b"\n"), ended.stdout[-1:]) == (aside, 1, b"\n")
    return ended.returncode in range(1, 10), text


LEDGER = ".metagit/schedule/ledger.db"


def state(place: Path) -> dict[str, bytes]:
    """Every file of the workspace; over which twin a change came is recorded, and the one thing that may differ."""
    paths = sorted(path for path in place.rglob("*") if path.is_file())
    return {
        str(path.relative_to(place)): path.read_bytes().replace(b'"surface":"mcp"', b'"surface":"cli"')
        for path in paths
        if not str(path.relative_to(place)).startswith(LEDGER)
    }


def events(place: Path) -> list[tuple[object, ...]]:
    """Every event of the ledger; whether a server looks after a lease is recorded, and may differ too."""
    with closing(sqlite3.connect(place / LEDGER)) as ledger:
        rows = ledger.execute("SELECT position, kind, version, body FROM event ORDER BY position").fetchall()
    return [(*row, re.sub(rb'"attended":true', b'"attended":false', bytes(body))) for *row, body in rows]


@pytest.mark.parametrize("call", TWINS, ids=str)
def test_twins_answer_the_same_and_leave_the_same(call: Twin, original: Path, place: Path) -> None:
    fresh(original, place)
    by_server, left_by_server, told_by_server = server_answer(call, place), state(place), events(place)
    fresh(original, place)
    by_command, left_by_command, told_by_command = command_answer(call, place), state(place), events(place)

    assert by_command == by_server
    assert by_server[0] is call.refused
    if call.grants:
        assert [kind for _, kind, *_ in told_by_server[len(told_by_command) :]] == ["work_released"]
        assert told_by_command == told_by_server[: len(told_by_command)]
    else:
        assert (left_by_command, told_by_command) == (left_by_server, told_by_server)


def test_every_tool_and_every_argument_has_a_twin(original: Path, place: Path) -> None:
    fresh(original, place)
    serve = [*PROGRAM, "serve", "--workspace", str(place), "--toolsets", TOOLSETS]
    with RawServer(serve, env=environment(**SAME), cwd=ROOT) as server:
        server.enter(MODERN)
        tools = server.request("tools/list")["result"]["tools"]
    listed = {f"{tool['name']} {name}" for tool in tools for name in tool["inputSchema"]["properties"]}
    assert {f"{call.tool} {name}" for call in TWINS for name in call.arguments} == listed
    given: dict[str, set[str]] = {}
    for call in TWINS:
        for name, each in call.arguments.items():
            given.setdefault(name, set()).update(each if isinstance(each, dict) else ())
    for tool in tools:
        for name, schema in tool["inputSchema"]["properties"].items():
            assert given[name] == set(schema.get("properties", ())), name
    (nodes,) = [schema for tool in tools if (schema := tool["inputSchema"]["properties"].get("nodes"))]
    assert WHOLE.keys() == nodes["items"]["properties"].keys()
