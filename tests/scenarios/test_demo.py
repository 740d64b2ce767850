"""The demo as a user runs it, and what it does when something is not as it says."""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp import MCPError

from metagit_mcp.errors import InternalError
from metagit_mcp.interfaces.demo import CHAPTERS, programs
from metagit_mcp.interfaces.demo.transcript import WIDTH, Transcript
from metagit_mcp.interfaces.demo.walk import demonstrate
from tests.docs.pages import PAGES
from tests.docs.transcripts import DEMO, fits, steps

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 100
FACTS = [fact for chapter in CHAPTERS for fact in chapter.facts]
# What differs from run to run: ids, and which of two agents that work at the same time was there first.
DIFFERENT = re.compile(r"(?<=decision )[0-9a-f]{8}|(?<=lease )L-[A-Z2-7]{12}|(?<=by )worker-[12]")
# A former run. Changed on purpose? `metagit-mcp demo`, with `…` for each of the above.
GOLDEN = ROOT / "tests/golden/demo.txt"


@dataclass(frozen=True)
class Outside:
    """What is around a run of the demo and must be untouched after it."""

    home: Path
    temporary: Path
    current: Path
    git_calls: Path
    environment: dict[str, str]

    def left_behind(self) -> list[Path]:
        places = (self.home, self.temporary, self.current)
        return [path for place in places for path in place.rglob("*")] + [
            path for path in [self.git_calls] if path.exists()
        ]


def outside(folder: Path) -> Outside:
    """Empty folders, a git that must not be called, and settings that would lead a server astray."""
    home, temporary, current, programs = (folder / name for name in ("home", "temporary", "current", "programs"))
    for each in (home, temporary, current, programs):
        each.mkdir()
    git_calls = folder / "git-was-called"
    (programs / "git").write_text(f'#!/bin/sh\necho "$@" >> {git_calls}\nexit 99\n')
    (programs / "git").chmod(0o755)
    environment = {
        **os.environ,
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "METAGIT_WORKSPACE": str(folder / "no-such-workspace"),
        "METAGIT_WORKSPACE_ROOT": str(folder / "no-such-workspace"),
        "METAGIT_WATCH": "no-such-way",
        "METAGIT_MCP_CLOCK": "no instant",
        "METAGIT_MCP_FAULT": "no-such-point",
        "METAGIT_AGENT_ID": "no agent",
        "CLAUDE_CODE_SESSION_ID": "no-agent",
        "CLAUDE_PROJECT_DIR": str(folder / "no-such-project"),
    }
    return Outside(home, temporary, current, git_calls, environment)


def run_demo(around: Outside, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command or [sys.executable, "-m", "metagit_mcp", "demo"],
        cwd=around.current,
        env=around.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


# --- as a user runs it -------------------------------------------------------------------------------------------

ESSENTIAL = (
    " 1. agent-1 connects to its server and lists the tools",
    "      metagit_schedule_next    What to work on next",
    "      search    index, ranking (after index)",
    "      of 8 nodes 4 can run, 3 wait for others, 1 for approval",
    "      shop/web: under merge pressure, 3 queued or running, threshold 3",
    "      needs a person, awaiting_approval: metagit-mcp work approve keys --graph-id upkeep",
    "      1. index     2.7625   priority=2 dependency=1.0000 affinity=1 cost=0.2500(tokens=3000)",
    "         merge_pressure depth=3 threshold=3 penalty=2.0",
    "      repository shop/search, warm worktree WORKSPACE/worktrees/agent-1/shop/search",
    "      context: metagit context compile --project shop --repo search --task-id index",
    "      running: schema by agent-2, index by agent-1",
    "      ranking is pending: not_ready(unfinished index), agent_slots(1/1)",
    "      index left: Found by name in 20 ms. search/index.py",
    "      before: ranking 2.675, docs 1.191667, libraries 0.2625",
    "      after:  ranking 2.675, libraries 2.2625, docs 1.191667",
    "      login again, session 2, ownership 1",
    "      worker-1 and worker-2 get nothing: 6 finished, 1 leased, 1 not_ready",
    "      login for worker-1, ownership 2",
    "      refused, WORK_LEASE_EXPIRED: completes nothing, is kept as evidence",
    "      login  done once by worker-1, after worker-3 (ownership 1), worker-3 (ownership 1)",
    f"{len(FACTS)} facts checked, all hold.",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outside, subprocess.CompletedProcess[str]]:
    """One run, and what was around it: it finds no program on its search path but a git that must not be called."""
    around = outside(tmp_path_factory.mktemp("demo"))
    around.environment["PATH"] = around.environment["PATH"].partition(os.pathsep)[0]
    return around, run_demo(around)


def test_pages_show_what_the_demo_prints(run: tuple[Outside, subprocess.CompletedProcess[str]]) -> None:
    shown = [step.output for page in PAGES for step in steps(page) if step.command == DEMO and step.output]
    assert shown
    assert [output for output in shown if not fits(output, run[1].stdout.splitlines())] == []


def test_the_demo_shows_what_agents_see(run: tuple[Outside, subprocess.CompletedProcess[str]]) -> None:
    done = run[1]
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in ESSENTIAL if line not in lines] == []
    assert len(lines) <= 140
    assert [line for line in lines if len(line) > WIDTH or not line.isascii() or not line.isprintable()] == []


def test_the_demo_touches_nothing_and_runs_no_git(run: tuple[Outside, subprocess.CompletedProcess[str]]) -> None:
    assert run[0].left_behind() == []


def test_runs_differ_in_ids_and_in_who_was_first(run: tuple[Outside, subprocess.CompletedProcess[str]]) -> None:
    assert DIFFERENT.sub("…", run[1].stdout) == GOLDEN.read_text(encoding="utf-8")


def changed(change: str) -> list[str]:
    """The command of a demo in which something is different."""
    own = "from metagit_mcp.interfaces import demo\nfrom metagit_mcp.interfaces.demo import example, programs"
    return [sys.executable, "-c", f"{own}\n{change}\nraise SystemExit(demo.main())"]


def ended_with(sabotage: str, folder: Path) -> list[str]:
    """The lines after the last step of a demo that is made to fail; it must end with 1 and clean up."""
    around = outside(folder)
    done = run_demo(around, *changed(sabotage))
    assert (done.returncode, done.stderr, around.left_behind()) == (1, "", [])
    lines = done.stdout.splitlines()
    steps = [place for place, line in enumerate(lines) if re.match(r"[ \d]\d\. ", line)]
    return lines[steps[-1] + 1 :] if steps else lines


@pytest.mark.parametrize(
    ("sabotage", "lines"),
    [
        (
            'example.PLANS[1]["nodes"][0]["priority"] = 1',
            [
                "The fact differs: the order is by score, and the scores are exact",
                "  at:       preview: decisions.*.node_id,score",
                '  expected: [["index", 2.7625], ["schema", 2.325], ["docs", 1.191667], ["libraries", 0.2625]]',
                '  seen:     [["schema", 2.325], ["index", 1.7625], ["docs", 1.191667], ["libraries", 0.2625]]',
            ],
        ),
        (
            "example.MERGES = example.MERGES[1:]",
            [
                "The fact differs: queued and running merges press, finished ones do not",
                "  at:       status: merge_pressure.*.repository,depth,pressured",
                '  expected: [["shop/web", 3, true]]',
                '  seen:     [["shop/web", 2, false]]',
            ],
        ),
    ],
    ids=["another priority", "fewer merges"],
)
def test_a_fact_that_differs_is_named(sabotage: str, lines: list[str], tmp_path: Path) -> None:
    assert ended_with(sabotage, tmp_path) == lines


def test_a_refused_step_is_told(tmp_path: Path) -> None:
    lines = ended_with('example.PLANS[0]["nodes"][0]["depends_on"] = ["page"]', tmp_path)
    assert lines[0].startswith("The step failed: metagit_task_plan was refused: ")
    assert "GRAPH_CYCLE" in "".join(lines)


@pytest.mark.parametrize(
    ("sabotage", "line"),
    [
        (
            "programs._PROGRAM = ('-c', 'raise SystemExit(print(\"no workspace\") or 3)')",
            "metagit-mcp init WORKSPACE ended with 3: no workspace",
        ),
        (
            "programs._PROGRAM = ('-c', 'import time; time.sleep(60)'); programs._ANSWER_SECONDS = 1",
            "metagit-mcp init WORKSPACE did not end within 1 seconds",
        ),
    ],
    ids=["it fails", "it hangs"],
)
def test_a_command_that_does_not_do_its_part_ends_the_demo(sabotage: str, line: str, tmp_path: Path) -> None:
    assert ended_with(sabotage, tmp_path) == [f"The step failed: {line}"]


async def test_a_server_that_never_answers_ends_the_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "_ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(programs, "_PROGRAM", ("-c", "import sys; sys.stdin.read()"))
    with pytest.RaisesGroup(pytest.RaisesExc(MCPError, match="timed out"), flatten_subgroups=True):
        async with programs.connected(tmp_path, "agent-1", mode="legacy"):
            pytest.fail("nothing can connect")


def test_a_terminated_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    around = outside(tmp_path)
    command = [sys.executable, "-m", "metagit_mcp", "demo"]
    with subprocess.Popen(command, cwd=around.current, env=around.environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() != b""
        process.send_signal(signal.SIGTERM)
        shown, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + signal.SIGTERM
    assert CHAPTERS[1].heading[0].encode() not in shown
    assert around.left_behind() == []


# --- how it is printed -------------------------------------------------------------------------------------------


def printed(*, coloured: bool) -> list[str]:
    out = io.StringIO()
    transcript = Transcript(out, coloured=coloured)
    transcript.heading(["About"])
    transcript.step(1, "agent-1 asks")
    transcript.seen(["word " * 25, "caf\u00e9"])
    transcript.failed(["No"])
    transcript.passed("Yes")
    return out.getvalue().splitlines()


def test_a_transcript_is_plain_text_of_limited_width() -> None:
    assert printed(coloured=False) == [
        "About",
        " 1. agent-1 asks",
        "      " + "word " * 18 + "word",
        "         " + "word " * 5 + "word",
        "      caf\\xe9",
        "No",
        "Yes",
    ]


def test_a_transcript_is_coloured_for_a_terminal() -> None:
    assert [line for line in printed(coloured=True) if line.startswith("\x1b")] == [
        "\x1b[1mAbout\x1b[0m",
        "\x1b[1m 1. agent-1 asks\x1b[0m",
        "\x1b[31mNo\x1b[0m",
        "\x1b[32mYes\x1b[0m",
    ]


def test_a_reader_that_leaves_early_does_not_disturb(tmp_path: Path) -> None:
    """Most of the first chapter is printed after that, and its facts are checked to the end."""
    around = outside(tmp_path)
    reading, writing = os.pipe()
    command = changed("demo.CHAPTERS = demo.CHAPTERS[:1]")
    with subprocess.Popen(
        command, cwd=around.current, env=around.environment, stdout=writing, stderr=subprocess.PIPE
    ) as process:
        os.close(writing)
        os.close(reading)
        _, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, errors) == (0, b"")


class FullDisk(io.StringIO):
    """Takes nothing."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fileno(self) -> int:
        return self._descriptor


def test_a_transcript_that_cannot_be_written_ends_the_demo(tmp_path: Path) -> None:
    with (tmp_path / "transcript").open("w") as file:
        transcript = Transcript(FullDisk(file.fileno()), coloured=False)
        with pytest.raises(InternalError, match="Standard output cannot be written: No space left on device"):
            demonstrate(transcript, CHAPTERS)
