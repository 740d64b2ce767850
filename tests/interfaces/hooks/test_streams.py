"""A hook is in nobody's way: closed streams, pipes that stay open, signals, and what takes too long."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.interfaces.hooks.calls import EVENTS as SECONDS
from tests import ready
from tests.interfaces.hooks.documented import EVENTS, SESSION, given
from tests.interfaces.hooks.fixtures import LIMIT_S, clean, run
from tests.soon import soon

if TYPE_CHECKING:
    from tests.interfaces.hooks.fixtures import Workshop

ROOT = Path(__file__).resolve().parents[3]
WORKER = {"METAGIT_WORKER_MODE": "1"}
PIPE = subprocess.PIPE


def started(workshop: Workshop, event: str, **streams: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - as Popen has them
    words = [sys.executable, "-m", "metagit_mcp", "hook", event]
    process: Any = ready.Popen(words, env=clean(**workshop.environ), cwd=workshop.root, **streams)
    return process  # type: ignore[no-any-return]  # which is one


def test_a_pipe_that_stays_open_is_not_waited_for(workshop: Workshop) -> None:
    with started(workshop, "stamp-agent", stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(given("claude", "stamp-agent")).encode())
        process.stdin.flush()
        assert process.wait(LIMIT_S) == 0
        assert json.loads(process.stdout.read())["hookSpecificOutput"]["updatedInput"]["agent_id"] == SESSION


@pytest.mark.parametrize("event", EVENTS)
def test_a_pipe_on_which_nothing_comes_ends_it_soon(event: str, workshop: Workshop) -> None:
    for attempt in soon(SECONDS[event]):
        with started(workshop, event, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
            assert process.stderr
            with attempt:
                assert process.wait(LIMIT_S) == 0
            assert process.stderr.read() == b""


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_streams_may_be_closed(event: str, closed: str, workshop: Workshop) -> None:
    lease = workshop.desk.lease(SESSION)
    files = {path: path.read_bytes() for path in workshop.root.rglob("*.json")}
    line = f'"{sys.executable}" -m metagit_mcp hook {event} {closed}'
    environ = clean(**workshop.environ, PYTHONPATH=str(ROOT), **WORKER)
    text = json.dumps(given("claude", event)).encode()
    done = subprocess.run(
        ["/bin/sh", "-c", line], input=text, capture_output=True, timeout=60, env=environ, check=False
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    # Nothing was written where a stream had been.
    assert {path: path.read_bytes() for path in workshop.root.rglob("*.json")} == files
    assert workshop.desk.claim(SESSION)["held"][0]["lease_id"] == lease


def test_whoever_reads_no_answer_is_no_obstacle(workshop: Workshop) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with started(workshop, "session-start", stdin=subprocess.DEVNULL, stdout=writing, stderr=PIPE) as process:
        os.close(writing)
        assert process.stderr
        assert process.wait(LIMIT_S) == 0
        assert process.stderr.read() == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_without_a_trace(number: signal.Signals, workshop: Workshop) -> None:
    with started(workshop, "stop", stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        # It reads: so the pipe of 64 KiB takes more than it holds.
        process.stdin.write(b" " * 200_000)
        process.stdin.flush()
        process.send_signal(number)
        assert process.wait(LIMIT_S) == 0
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


def test_what_takes_too_long_ends_without_an_answer() -> None:
    script = (
        "from metagit_mcp.interfaces.hooks.streams import end_after\nend_after(0.05)\nimport time\ntime.sleep(20)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=LIMIT_S, cwd=ROOT, env=clean(), check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_end_of_a_session_is_over_at_once(workshop: Workshop) -> None:
    # A host gives all its hooks 1.5 s; nothing is read, and the server sees its own end of input.
    ran = run("session-end", "garbage", environ=clean(**workshop.environ, **WORKER), cwd=workshop.root)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
