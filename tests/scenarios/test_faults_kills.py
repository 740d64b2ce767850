"""A process is killed at each step of its writes: what was acknowledged stands, and the next process finishes the rest.

Every test asserts that the step was reached: the process says its name before it dies. The oracle is the file of the
ledger, read with plain SQL, and the graph file.
"""

from __future__ import annotations

import json
import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters.fault_points import LEDGER_POINTS
from tests.scenarios.attack import Run, Server
from tests.scenarios.claiming import given, held, told
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.application.desk import Json

EVERY_WRITING = ("ledger.locked", "ledger.begun", "ledger.appended", "ledger.committed")
GRAPH = ("graph.locked", "graph.temp_written", "graph.before_rename", "graph.renamed")
LOGGED = tuple(f"{log}.{step}" for log in ("decisions", "events") for step in ("locked", "appended_half", "appended"))
AFTER_COMMIT = ("ledger.committed", *GRAPH, *LOGGED)
CLAIM = ("schedule", "next", "--claim", "--agent-id", "w1")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Commands of a person on two nodes, of which the first has a field that foreign programs would drop."""
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(tmp_path, "cli")
    desk.graph("g", node("a", priority=9, risk="external"), node("b", mine=["x"]))
    return desk


def killed(desk: Desk, point: str, *arguments: str) -> None:
    """Run a command that is killed at the point."""
    env = {"METAGIT_MCP_FAULT": point, "METAGIT_MCP_CLOCK": f"@{desk.clock}"}
    end = Run(desk.root, *arguments, "--json", env=env).ended()
    assert (end.code, end.out, end.err.decode()) == (-signal.SIGKILL, b"", f"{point}\n")


def ledger(desk: Desk) -> list[str]:
    """The kinds of all events, in a ledger that is whole."""
    path = desk.path("schedule/ledger.db")
    if path.exists():
        with closing(sqlite3.connect(path)) as opened:
            assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return desk.events()


def mended(desk: Desk) -> None:
    """Whatever was left half done is done by the next command: nothing is torn, and no file lags behind."""
    desk.resume("workspace")
    for log in ("schedule/decisions.jsonl", "events/scheduler.jsonl", "events/taskgraph.jsonl"):
        assert len(torn(desk.path(log))) <= 1
    rows: list[Json] = desk.document("tasks/graphs/g.json")["nodes"]
    assert [(row["node_id"], row.get("risk"), row.get("mine")) for row in rows] == [
        ("a", "external", None),
        ("b", None, ["x"]),
    ]


def torn(log: Path) -> list[str]:
    """The lines of a log that are none: what a kill left behind, with nothing appended onto it."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [line for line in lines if not line.endswith("}") or line.count('"event_id"') > 1]


@pytest.mark.parametrize("point", LEDGER_POINTS)
def test_a_kill_in_the_first_claim_of_all(desk: Desk, point: str) -> None:
    killed(desk, point, *CLAIM)
    came = ["session_opened", "work_started"] if point == "ledger.committed" else []
    assert ledger(desk) == came
    answer = desk.claim("w1")
    # Acknowledged or not: the node is with its agent once.
    assert given(answer) == ([] if came else ["a"])
    assert [node_id for node_id, _ in held(desk, "w1")] == ["a"]
    assert len(told(desk, "work_started")) == 1
    mended(desk)
    assert desk.statuses() == {"a": "running", "b": "pending"}


@pytest.mark.parametrize("point", [*EVERY_WRITING, *GRAPH, *LOGGED])
def test_a_kill_in_a_later_claim(desk: Desk, point: str) -> None:
    other = desk.lease("w0")
    desk.report(other, "checkpointed", note="half way")
    before = ledger(desk)
    killed(desk, point, *CLAIM)
    came = ["session_opened", "work_started"] if point in AFTER_COMMIT else []
    assert ledger(desk) == [*before, *came]
    assert given(desk.claim("w1")) == ([] if came else ["b"])
    assert [[node_id for node_id, _ in held(desk, name)] for name in ("w0", "w1")] == [["a"], ["b"]]
    assert desk.report(other, "completed")["node_status"] == "completed"
    mended(desk)
    assert desk.statuses() == {"a": "completed", "b": "running"}
    assert len(told(desk, "work_started")) == 2


@pytest.mark.parametrize("point", AFTER_COMMIT)
def test_a_claim_that_was_killed_is_logged_once_when_it_is_repeated(desk: Desk, point: str) -> None:
    desk.claim("w0")
    killed(desk, point, *CLAIM, "--action-id", "x")
    # What others log closes the line that was cut short.
    desk.next()
    (made,) = desk.claim("w1", action_id="x")["decisions"]
    assert desk.claim("w1", action_id="x")["decisions"] == [made]
    log = desk.path("schedule/decisions.jsonl")
    whole = [json.loads(line) for line in log.read_text().splitlines() if line not in torn(log)]
    logged = [each for each in whole if each["decision_id"] == made["decision_id"]]
    assert [(each["node_id"], each["agent_id"], "lease" in each) for each in logged] == [("b", "w1", False)]


@pytest.mark.parametrize("point", [*EVERY_WRITING, *GRAPH, *LOGGED[3:]])
def test_a_kill_in_a_report(desk: Desk, point: str) -> None:
    lease_id = desk.lease("w1")
    before = ledger(desk)
    report = ("work", "report", lease_id, "--state", "completed", "--action-id", "x")
    killed(desk, point, *report)
    came = ["work_completed", "command_answered"] if point in AFTER_COMMIT else []
    assert ledger(desk) == [*before, *came]
    # Its agent does what one does without an answer: it says it again.
    assert desk.report(lease_id, "completed", action_id="x")["node_status"] == "completed"
    assert len(told(desk, "work_completed")) == 1
    mended(desk)
    assert desk.statuses() == {"a": "completed", "b": "pending"}
    assert desk.taken("w1") == ["b"]


@pytest.mark.parametrize("point", ["ledger.appended", "graph.before_rename"])
@pytest.mark.parametrize(
    ("state", "status"), [("blocked", "blocked"), ("failed", "ready"), ("released", "ready"), ("paused", "ready")]
)
def test_a_kill_in_a_report_of_any_kind(desk: Desk, point: str, state: str, status: str) -> None:
    lease_id = desk.lease("w1")
    killed(desk, point, "work", "report", lease_id, "--state", state, "--note", "why")
    done = point in AFTER_COMMIT
    assert [each for each, _ in held(desk, "w1")] == ([] if done else ["a"])
    if not done:
        desk.report(lease_id, state, note="why")
    mended(desk)
    assert desk.statuses() == {"a": status, "b": "pending"}
    # The answer of a process that was killed was never given: it is told by the refusal.
    assert desk.row("a")["blocker_reason"] == ("why" if state == "blocked" else None)


@pytest.mark.parametrize("point", [*GRAPH, "events.appended_half"])
def test_a_server_killed_while_it_writes_back_has_answered_and_the_next_process_goes_on(desk: Desk, point: str) -> None:
    """In a server the file comes after the answer."""
    env = {"METAGIT_MCP_FAULT": point, "METAGIT_MCP_CLOCK": f"@{desk.clock}"}
    with Server(desk.root, env=env) as server:
        server.enter("2026-07-28")
        # A start is no decision, so that nothing is logged before the answer.
        lease = server.ask("work_start", node_id="a", agent_id="w1")["lease"]
        assert (server.wait(), server.stderr) == (-signal.SIGKILL, f"{point}\n")
    assert held(desk, "w1") == [("a", lease["lease_id"])]
    mended(desk)
    assert desk.statuses() == {"a": "running", "b": "pending"}
    assert desk.report(lease["lease_id"], "completed")["node_status"] == "completed"


def test_a_kill_at_any_instant_loses_no_claim_that_was_answered(desk: Desk) -> None:
    """Several claims are on their way when the server dies; those that were answered stand, each node once."""
    desk.put("schedule/policy.json", {"agent_slots": 100})
    desk.graph("g", *(node(f"n{number:02d}") for number in range(60)))
    with Server(desk.root, env={"METAGIT_MCP_CLOCK": f"@{desk.clock}"}) as server:
        server.enter("2026-07-28")
        call = {"name": "metagit_schedule_next", "arguments": {"claim": True, "agent_id": "w1", "limit": 1}}
        asked = [server.begin("tools/call", call) for _ in range(40)]
        answers = [server.answer(asked[number]) for number in range(7)]
        server.process.kill()
        server.wait()
    leases = [
        each["lease"]["lease_id"] for answer in answers for each in answer["result"]["structuredContent"]["decisions"]
    ]
    starts = [each["lease"] for each in told(desk, "work_started")]
    assert {each["lease_id"] for each in starts} >= set(leases)
    assert len({each["node_id"] for each in starts}) == len(starts) >= 7
    desk.resume("workspace")
    statuses = desk.statuses()
    assert {name for name, status in statuses.items() if status == "running"} == {each["node_id"] for each in starts}
