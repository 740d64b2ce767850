"""`Popen` and `run` as in `subprocess`, which start modules and scripts from a process that has loaded the program.

Loading takes longer than most runs do. A process starts from nothing where its start may matter: with a hash seed,
resource limits, further descriptors or arguments that the system may refuse; and where the system is not Linux.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import Popen, run
    from types import TracebackType

__all__ = ("Popen", "run")

ROOT = Path(__file__).resolve().parents[1]
# Two that take turns: like two starts from nothing, two runs in a row differ in their hash seed.
_PROGRAMS = 2
_LONGEST = 100_000
_LAST_S = 20.0
# What an interpreter reads of its environment when it starts.
_READ_AT_START = ("PYTHON", "LC_", "LANG")
_ADOPTS = 36  # PR_SET_CHILD_SUBREAPER: whoever is left behind among its descendants becomes a child of this process
# Whoever starts a process with anything else than these has it start from nothing.
_USUAL = {
    "executable": None,
    "preexec_fn": None,
    "close_fds": True,
    "pass_fds": (),
    "startupinfo": None,
    "creationflags": 0,
    "shell": False,
    "restore_signals": True,
    "gid": None,
    "gids": None,
    "uid": None,
    "umask": -1,
    "process_group": -1,
}
# How `Popen` hands all of it to the step that makes the process, in Python 3.11 to 3.13.
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_NAMES = (
    *("args", "executable", "preexec_fn", "close_fds", "pass_fds", "cwd", "env", "startupinfo", "creationflags"),
    *("shell", *_PIPES, "restore_signals", "gid", "gids", "uid", "umask", "start_new_session", "process_group"),
)
_STREAMS = ("p2cread", "c2pwrite", "errwrite")
_lock = threading.Lock()
_turns = itertools.count()


class _Popen(subprocess.Popen[Any]):
    """Whoever waits for it, kills it or reads from it sees a child process like any other."""

    def _execute_child(self, *told: Any) -> None:  # noqa: ANN401 - as they are there
        start = dict(zip(_NAMES, told, strict=True))
        environ = dict(os.environ if start["env"] is None else start["env"])
        words = _words(start, environ)
        if words is None:
            super()._execute_child(*told)  # type: ignore[misc]  # the stub leaves it out
            return
        streams = [number if start[name] == -1 else start[name] for number, name in enumerate(_STREAMS)]
        asked = (words, environ, str(start["cwd"] or Path.cwd()), start["start_new_session"])
        self.pid = _begun(json.dumps(asked).encode(), streams, environ)
        self._child_created = True
        self._close_pipe_fds(*(start[name] for name in _PIPES))  # type: ignore[attr-defined]  # as above

    def __exit__(
        self, failed: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for its end; where a test failed, which would wait for what never comes, kill it before."""
        if failed is not None:
            self.kill()
        super().__exit__(failed, error, trace)


def _words(start: Mapping[str, Any], environ: Mapping[str, str]) -> list[str] | None:
    """The module or the script and its arguments, if there is nothing but that, neither too long nor odd."""
    if sys.platform != "linux" or "PYTHONHASHSEED" in environ:
        return None
    if any(start[name] != usual for name, usual in _USUAL.items()) or isinstance(start["args"], str | os.PathLike):
        return None
    program, *words = map(os.fspath, start["args"])
    if words[:1] == ["-m"]:
        del words[0]
    elif not words or not words[0].endswith(".py"):
        return None
    if program != sys.executable or not all(isinstance(word, str) for word in words):
        return None
    text = "".join((*words, *environ, *environ.values()))
    return None if "\0" in text or len(text) > _LONGEST else words


def _begun(asked: bytes, streams: list[int], environ: Mapping[str, str]) -> int:
    """The id of the process that a loaded program has become."""
    chosen = {name: text for name, text in environ.items() if name.startswith(_READ_AT_START)}
    with _lock:
        program = _loaded(next(_turns) % _PROGRAMS, tuple(sorted({**chosen, "PYTHONPATH": str(ROOT)}.items())))
        return program.become(asked, streams)


class _Program:
    """A program that has loaded everything, and ends with this process."""

    def __init__(self, chosen: Mapping[str, str]) -> None:
        self._line, theirs = socket.socketpair()
        environ = {name: text for name, text in os.environ.items() if not name.startswith(_READ_AT_START)}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.ready_program", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**environ, **chosen},
                cwd=ROOT,
            )
        atexit.register(self._end)

    def become(self, asked: bytes, streams: list[int]) -> int:
        """Have it become a process, which is then a child of this one; returns its id."""
        _adopt(1)
        socket.send_fds(self._line, [b"%8x" % len(asked)], streams)
        self._line.sendall(asked)
        answer = self._line.recv(8)
        _adopt(0)
        assert answer, "the loaded program has ended"
        return int(answer)

    def _end(self) -> None:
        self._line.close()
        self._process.wait(_LAST_S)


@cache
def _loaded(_: int, chosen: tuple[tuple[str, str], ...]) -> _Program:
    return _Program(dict(chosen))


def _adopt(on: int) -> None:
    """Become the parent of those who are left behind, or stop it: a test may look at what a real orphan does."""
    assert ctypes.CDLL(None).prctl(_ADOPTS, on, 0, 0, 0) == 0


def _run(words: Any, *, capture_output: bool = False, timeout: float, check: bool, **how: Any) -> Any:  # noqa: ANN401 - as there
    """What `subprocess.run` does."""
    if capture_output:
        how["stdout"] = how["stderr"] = subprocess.PIPE
    with _Popen(words, **how) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
    ended = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        ended.check_returncode()
    return ended


if not TYPE_CHECKING:
    Popen, run = _Popen, _run
