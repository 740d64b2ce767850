"""The commands about work under way: what each asks the application, and what people are shown of its answer."""

from __future__ import annotations

import io
import json
import os
import pwd
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain.commands import PauseScheduling, ResumeScheduling
from metagit_mcp.domain.decision import BudgetFigure
from metagit_mcp.wire.requests import (
    GivenCheckpoint,
    GivenRateLimit,
    GivenResult,
    GivenUsage,
    WorkReportRequest,
    WorkStartRequest,
)
from metagit_mcp.wire.responses import OwnershipRecord, WorkStartAnswer
from tests.interfaces.cli.fake_application import CHANGES, full_status
from tests.interfaces.mcp.fake_application import AT, DECISION, LEASE, next_answer, report_answer, start_answer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.interfaces.cli.conftest import Ended

    Run = Callable[..., Ended]

ME = f"{pwd.getpwuid(os.getuid()).pw_name}@{os.uname().nodename}"
UNTIL = datetime(2026, 12, 1, 12, tzinfo=UTC)
SHOWN = ("tasks.show", ("build", None))
OBJECTS = {
    "result": '{"summary":"It_runs","artifacts":["a"],"evidence":["e"]}',
    "checkpoint": '{"note":"half","uri":"u","digest":"d","checkpoint_id":"c"}',
    "usage": '{"tokens":5,"tool_calls":4,"seconds":3,"cost_micros":2}',
    "rate-limited": '{"resource":"api","until":"2026-12-01T12:00:00Z"}',
}
REPORT = "work report L-1 --state failed --note no"
FULL = WorkReportRequest(
    lease_id="L-1",
    state="failed",
    note="no",
    result=GivenResult(summary="It_runs", artifacts=("a",), evidence=("e",)),
    checkpoint=GivenCheckpoint(note="half", uri="u", digest="d", checkpoint_id="c"),
    usage=GivenUsage(tokens=5, tool_calls=4, seconds=3, cost_micros=2),
    rate_limited=GivenRateLimit(resource="api", until=UNTIL),
)
ASKED: list[tuple[str, list[tuple[str, tuple[Any, ...]]]]] = [
    ("work start build", [("work.start", (WorkStartRequest(node_id="build"),))]),
    (
        "work start --node-id build --graph-id shop --agent-id a --lease-seconds 60 --queue-only --action-id x",
        [
            (
                "work.start",
                (
                    WorkStartRequest(
                        node_id="build",
                        graph_id="shop",
                        agent_id="a",
                        lease_seconds=60,
                        queue_only=True,
                        action_id="x",
                    ),
                ),
            )
        ],
    ),
    ("work report L-1 --state running", [("work.report", (WorkReportRequest(lease_id="L-1", state="running"),))]),
    (
        "work report --lease-id L-1 --state released --agent-id a --action-id x",
        [("work.report", (WorkReportRequest(lease_id="L-1", state="released", agent_id="a", action_id="x"),))],
    ),
    (
        " ".join([REPORT, *(f"--{name} {text}" for name, text in OBJECTS.items())]),
        [("work.report", (FULL,))],
    ),
    (
        "work review build --accept --operator ada",
        [SHOWN, ("work.review", ("build", "shop", "ada", {"accept": True, "note": ""}))],
    ),
    (
        "work review build --reject --note no --operator ada",
        [SHOWN, ("work.review", ("build", "shop", "ada", {"accept": False, "note": "no"}))],
    ),
    (
        "work release build --force --note hangs --operator ada",
        [SHOWN, ("work.release", ("build", "shop", "ada", "hangs"))],
    ),
    ("work release build --force --operator ada", [SHOWN, ("work.release", ("build", "shop", "ada", ""))]),
    (
        "work retry --node-id build --graph-id shop --operator ada",
        [("tasks.show", ("build", "shop")), ("work.retry", ("build", "shop", "ada"))],
    ),
    ("pause", [("rules.pause", (PauseScheduling(scope="workspace", name="", by=ME),))]),
    (
        "pause --group shop --reason busy --until 2026-12-01T13:00:00+01:00 --operator ada",
        [("rules.pause", (PauseScheduling(scope="group", name="shop", by="ada", reason="busy", until=UNTIL),))],
    ),
    ("pause --agent a/b", [("rules.pause", (PauseScheduling(scope="agent", name="a/b", by=ME),))]),
    ("resume --resource api", [("rules.resume", (ResumeScheduling(scope="resource", name="api", by=ME),))]),
    ("resume --operator ada", [("rules.resume", (ResumeScheduling(scope="workspace", name="", by="ada"),))]),
]


@pytest.mark.parametrize(("line", "asked"), ASKED, ids=[line for line, _ in ASKED])
def test_flags_become_the_question(run: Run, line: str, asked: list[tuple[str, tuple[Any, ...]]]) -> None:
    ended = run(*line.split())
    assert (ended.code, ended.err, ended.asked) == (0, "", asked)


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_read_from_a_file_or_from_standard_input(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "given.json"
    path.write_text(OBJECTS[name])
    wanted = run(*REPORT.split(), f"--{name}", OBJECTS[name]).asked
    assert run(*REPORT.split(), f"--{name}", f"@{path}").asked == wanted
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OBJECTS[name].encode())))
    assert run(*REPORT.split(), f"--{name}", "-").asked == wanted


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("work start", "no node is named", "Name it: NODE or --node-id NODE."),
        ("work report --state running", "no lease is named", "Name it: LEASE or --lease-id LEASE."),
        ("work report a --lease-id b --state running", "LEASE and --lease-id name two different leases", ""),
        ("work report L-1", "state: is required", ""),
        ("work report L-1 --state done", "state: should be ", ""),
        ("work report L-1 --state running --usage {", "usage: must be a JSON object: ", ""),
        ("work report L-1 --state running --usage u.json", "usage: a file name", "Did you mean --usage @u.json? "),
        (
            "work report L-1 --state failed --note x --rate-limited r.json",
            "rate_limited: a file name is no JSON",
            "Did you mean --rate-limited @r.json? ",
        ),
        ("work report L-1 --state completed --result @/nowhere", "result: there is no file '/nowhere'", ""),
        ("work review build", "say either --accept or --reject", ""),
        ("work review build --accept --reject", "say either --accept or --reject", ""),
        ("work review build --reject --operator ada", "note: say what is wrong with the result", "Add --note TEXT."),
        ("work release build", "a node is taken from its agent only with --force", "Add --force, or let "),
        ("work retry /b", "node_id: must be letters", ""),
        ("pause --group a --agent b", "--group and --agent name several scopes", "Pause one after another."),
        ("pause --group ..", "group: no group could have this name", ""),
        ("pause --agent \x1b[1m", "agent: no agent could have this name", ""),
        ("pause --until tomorrow", "until: must be an RFC 3339 instant", "For example: 2026-12-01T12:00:00Z"),
        ("pause --until 2026-12-01T12:00:00", "until: must be an RFC 3339 instant with its offset", ""),
        ("pause --until 0001-01-01T00:00:00+23:00", "until: must be an RFC 3339 instant", ""),
        ("pause --reason " + "x" * 2_001, "reason: should have at most 2000 characters", ""),
        ("pause --operator \x1b[1mada", "operator: must be one line", ""),
        ("resume --resource " + "x" * 300, "resource: no resource could have this name", ""),
        ("puase", "unknown command puase", "Did you mean metagit-mcp pause? "),
    ],
)
def test_a_mistake_is_explained(run: Run, line: str, message: str, hint: str) -> None:
    ended = run("--json", *line.split())
    assert (ended.code, ended.record["code"], ended.asked) == (2, "INVALID_INPUT", [])
    assert ended.record["message"].startswith(message)
    assert ended.record["hint"].startswith(hint)


@pytest.mark.parametrize(
    ("line", "act"),
    [
        ("work review build --accept", "review it"),
        ("work release build --force", "take it back"),
        ("work retry build", "let it be tried again"),
    ],
)
def test_without_a_terminal_somebody_must_be_named(run: Run, line: str, act: str) -> None:
    ended = run(*line.split(), "--json")
    assert (ended.code, ended.record["code"]) == (4, "AUTH_FORBIDDEN")
    assert ended.record["message"] == f"Only a person may {act}: build."
    assert ended.asked == [SHOWN]


# --- what people are shown -------------------------------------------------------------------------------------------


def lines(ended: Ended) -> list[str]:
    assert (ended.code, ended.err) == (0, "")
    return ended.out.splitlines()


LEASE_LINE = "lease L-AAAABBBBCCCC on shop/build: agent-1's until 2026-11-29T12:00:00Z"
BUDGET = (BudgetFigure(name="tokens", limit=100, left=40),)
BUDGET_TABLE = ["Budget:", "  figure  limit  left", "  tokens    100    40"]


def test_a_claim_shows_the_lease(run: Run) -> None:
    answer = next_answer(replace(DECISION, lease=replace(LEASE, resume_from="c-1")))
    assert lines(run("schedule", "next", "--claim", schedule_next=answer)) == [
        "Next:",
        "  graph  node   score  title",
        "  shop   build   3.25  Build it",
        "why shop/build: priority=3, cost=0.2500(tokens=1000)",
        LEASE_LINE,
        "  goes on from checkpoint c-1",
        "2 ready, 1 runnable now. Not eligible: blocked 1.",
        "next step: Work on it.",
    ]


def test_what_the_agent_holds_already_is_shown(run: Run) -> None:
    answer = replace(next_answer(), held=(LEASE,))
    assert lines(run("schedule", "next", "--claim", schedule_next=answer))[:3] == [
        "Held already:",
        "  lease           graph  node   agent    until",
        "  L-AAAABBBBCCCC  shop   build  agent-1  2026-11-29T12:00:00Z",
    ]


def test_start(run: Run) -> None:
    given = start_answer().dispatch_hints
    assert given is not None
    hints = replace(given, acceptance=("It runs",))
    answer = replace(start_answer(), lease=replace(LEASE, budget=BUDGET), dispatch_hints=hints)
    assert lines(run("work", "start", "build", work_start=answer)) == [
        LEASE_LINE,
        *BUDGET_TABLE,
        "  Build it",
        "  acceptance: It runs",
        "next step: Work on it.",
    ]
    owned = OwnershipRecord(graph_id="shop", node_id="build", agent_id="agent-1", ownership_epoch=1, start_by=AT)
    later = WorkStartAnswer(ownership=owned, warnings=("odd",), next_step="Start it.")
    assert lines(run("work", "start", "build", "--queue-only", work_start=later)) == [
        "shop/build is agent-1's; to be started by 2026-11-29T12:00:00Z",
        "warning: odd",
        "next step: Start it.",
    ]


def test_report(run: Run) -> None:
    report = ("work", "report", "L-1", "--state", "running")
    assert lines(run(*report)) == ["shop/build is active", "next step: Go on."]
    answer = replace(report_answer(), node_status="open", retry_at=AT, lease=LEASE, budget_left=BUDGET)
    assert lines(run(*report, work_report=answer)) == [
        "shop/build is open",
        "  tried again at 2026-11-29T12:00:00Z",
        LEASE_LINE,
        *BUDGET_TABLE,
        "next step: Go on.",
    ]


def test_whoever_is_asked_to_pause_is_told_so(run: Run) -> None:
    asked = replace(LEASE, preempt_requested=True)
    answer = replace(report_answer(), preempt_requested=True, lease=asked)
    assert lines(run("work", "report", "L-1", "--state", "running", work_report=answer)) == [
        "shop/build is active",
        LEASE_LINE,
        "  somebody waits for this slot: checkpoint as soon as it is safe, then report paused",
        "next step: Go on.",
    ]
    held = replace(next_answer(), held=(asked, LEASE))
    assert lines(run("schedule", "next", "--claim", schedule_next=held))[:4] == [
        "Held already:",
        "  lease           graph  node   agent    until",
        "  L-AAAABBBBCCCC  shop   build  agent-1  2026-11-29T12:00:00Z, asked to pause",
        "  L-AAAABBBBCCCC  shop   build  agent-1  2026-11-29T12:00:00Z",
    ]
    (running,) = full_status().running
    status = replace(full_status(), running=(replace(running, preempt_requested=True),))
    shown = lines(run("schedule", "status", schedule_status=status))
    assert "  shop   test  agent-1         2026-11-29T12:00:00Z, asked to pause  Test it" in shown


def test_a_persons_act(run: Run) -> None:
    assert lines(run("work", "retry", "build", "--operator", "ada")) == [
        "shop/build is open, by ada",
        "next step: Ask for the next.",
    ]


def test_pause_and_resume(run: Run) -> None:
    assert lines(run("pause", "--group", "shop")) == [
        "changed",
        "Paused:",
        "  what        by   until                 note",
        "  group shop  ada  2026-11-29T12:00:00Z  Release",
        "next step: Look at the status.",
    ]
    assert lines(run("resume")) == ["not changed", "Nothing is paused.", "next step: Look at the status."]


# --- watch -----------------------------------------------------------------------------------------------------------

CHANGED = [
    "2026-11-29T12:00:00Z shop/build work_started agent-1 L-1",
    "2026-11-29T12:00:00Z shop/build work_failed L-1 until 2026-11-29T12:00:00Z: No key",
    "2026-11-29T12:00:00Z shop/test file_status completed",
    "2026-11-29T12:00:00Z workspace scheduling_paused by ada",
    "2026-11-29T12:00:00Z more graph_added",
]


def test_watch_prints_a_line_for_each_change(run: Run) -> None:
    ended = run("watch", "--lines")
    assert (lines(ended), [name for name, _ in ended.asked]) == (CHANGED, ["watching.begin", "watching.follow"])


def test_watch_begins_with_how_things_stand(run: Run) -> None:
    ended = run("watch")
    assert [name for name, _ in ended.asked] == ["watching.begin", "schedule.status", "watching.follow"]
    assert lines(ended)[0] == "Workspace /somewhere (--workspace), policy revision abc"
    assert lines(ended)[-len(CHANGED) :] == CHANGED


@pytest.mark.parametrize("flags", [("--json",), ("--lines", "--json")])
def test_watch_for_scripts_prints_one_object_a_line(run: Run, flags: tuple[str, ...]) -> None:
    ended = run("watch", *flags)
    assert (ended.code, ended.err) == (0, "")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [row["change"] for row in rows] == [change.change for change in CHANGES]
    assert rows[0] == {
        "at": "2026-11-29T12:00:00Z",
        "change": "work_started",
        "graph_id": "shop",
        "node_id": "build",
        "agent_id": "agent-1",
        "lease_id": "L-1",
    }
