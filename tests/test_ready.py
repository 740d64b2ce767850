"""A process that a loaded program became is like one that started from nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests import ready

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECONDS = 60
SEEN = """
import json, os, signal, sys, threading
streams = (sys.stdin, sys.stdout, sys.stderr)
seen = {
    "arguments": sys.argv,
    "folder": os.getcwd(),
    "environment": {name: text for name, text in os.environ.items() if name != "PYTHONPATH"},
    "imports from": sys.path[0],
    "parent": os.getppid(),
    "leads a session": os.getsid(0) == os.getpid(),
    "streams": [[s.fileno(), s.mode, s.encoding, s.errors, s.line_buffering, s.isatty()] for s in streams],
    "descriptors": [name for name in os.listdir("/dev/fd") if int(name) < 3],
    "signals": [str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)],
    "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "threads": threading.active_count(),
    "name": __name__,
    "same streams": [sys.__stdin__ is sys.stdin, sys.__stdout__ is sys.stdout, sys.__stderr__ is sys.stderr],
    "read": sys.stdin.read(),
}
print(json.dumps(seen))
print("äé", file=sys.stderr)
sys.exit(7)
"""


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], list[str]]:
    def command(text: str) -> list[str]:
        (tmp_path / "script.py").write_text(text)
        return [sys.executable, str(tmp_path / "script.py")]

    return command


@pytest.mark.parametrize("leads", [False, True])
def test_it_sees_what_it_would_see(script: Callable[[str], list[str]], tmp_path: Path, *, leads: bool) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "in").write_text("given")
    words = [*script(SEEN), "a b", "ü"]
    ends = []
    for run in (subprocess.run, ready.run):
        with (tmp_path / "in").open() as given:
            ended = run(
                words,
                stdin=given,
                capture_output=True,
                env={**os.environ, "PYTHONPATH": "", "OWN": "1"},
                cwd=tmp_path / "elsewhere",
                start_new_session=leads,
                timeout=SECONDS,
                check=False,
            )
        ends.append((ended.returncode, json.loads(ended.stdout), ended.stderr))
    assert ends[0] == ends[1]
    assert (ends[0][0], ends[0][1]["parent"], ends[0][1]["read"]) == (7, os.getpid(), "given")


def ended(words: list[str], **how: Any) -> tuple[int, str, str]:  # noqa: ANN401 - as `run` takes it
    done = ready.run(words, capture_output=True, text=True, timeout=SECONDS, check=False, **how)
    return done.returncode, done.stdout, done.stderr.splitlines()[-1] if done.stderr else ""


def test_it_ends_as_it_would_end(script: Callable[[str], list[str]]) -> None:
    assert ended(script("print('done')")) == (0, "done\n", "")
    assert ended(script("raise ValueError('odd')")) == (1, "", "ValueError: odd")
    assert ended(script("raise KeyboardInterrupt")) == (-signal.SIGINT, "", "KeyboardInterrupt")
    assert ended(script("import os; os.kill(os.getpid(), 9)")) == (-signal.SIGKILL, "", "")
    assert ended(script("import atexit; atexit.register(print, 'last')")) == (0, "last\n", "")


def test_it_is_killed_and_waited_for_as_any_child(script: Callable[[str], list[str]]) -> None:
    words = script("import sys; print('ready', flush=True); sys.stdin.read()")
    with ready.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert process.poll() is None
        process.terminate()
        assert process.wait(SECONDS) == -signal.SIGTERM


def test_none_is_left_behind_by_a_test_that_fails(script: Callable[[str], list[str]]) -> None:
    words = script("import sys; sys.stdin.read()")
    process = ready.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with pytest.raises(LookupError), process:
        raise LookupError
    assert process.returncode == -signal.SIGKILL


def test_two_in_a_row_differ_in_their_hash_seed(script: Callable[[str], list[str]]) -> None:
    words = script("print(hash('word'))")
    assert ended(words)[1] != ended(words)[1]


@pytest.mark.parametrize("how", [{"env": {**os.environ, "PYTHONHASHSEED": "7"}}, {"preexec_fn": os.getpid}])
def test_where_the_start_matters_it_starts_from_nothing(
    script: Callable[[str], list[str]], how: dict[str, Any]
) -> None:
    loaded = script("import sys; print('metagit_mcp' in sys.modules)")
    assert ended(loaded, **how) == (0, "False\n", "")
