"""Run with metagit-cli's own Python: does what it is asked in forks of a loaded metagit, or holds one of its locks.

Must not know: the package under test, which is not installed where this runs.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from metagit.cli.main import main
from metagit.core.scheduler.paths import policy_file
from metagit.core.scheduler.service import SchedulerService
from metagit.core.scheduler.store import ScheduleStore
from metagit.core.taskgraph.paths import graph_file
from metagit.core.taskgraph.store import TaskGraphStore

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def answer() -> None:
    """Answer each line of standard input, {words, folder, stdin}, with one of what came of it, {code, stdout, stderr}.

    `words` are "rank" and a root, or "metagit" and the arguments of a command, which takes seconds only to be loaded.
    """
    gc.freeze()
    while line := sys.stdin.readline():
        sys.stdout.write(json.dumps(_done(json.loads(line))) + "\n")
        sys.stdout.flush()


def _done(asked: dict[str, Any]) -> dict[str, Any]:
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as error:
        given.write(asked["stdin"].encode())
        given.seek(0)
        child = os.fork()
        if not child:
            for number, stream in enumerate((given, out, error)):
                os.dup2(stream.fileno(), number)
            os.chdir(asked["folder"])
            _do(asked["words"])
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        error.seek(0)
        return {"code": code, "stdout": out.read().decode(), "stderr": error.read().decode()}


def _do(words: list[str]) -> None:
    """Be the process that would have been started, to its end."""
    if words[0] == "rank":
        rank(words[1])
        sys.exit()
    sys.argv = words
    sys.exit(main())


def rank(root: str) -> None:
    """Print the preview of every ready node, best first, one JSON line each: graph_id, node_id, score, reasons."""
    decisions = SchedulerService(root).preview_next(limit=sys.maxsize)
    if isinstance(decisions, Exception):
        raise decisions
    for decision in decisions:
        kept = decision.model_dump(include={"graph_id", "node_id", "score", "reasons"})
        sys.stdout.write(json.dumps(kept) + "\n")


def hold(root: str, graph: str) -> None:
    """Take the lock of a graph, or of the policy if `graph` is empty; say so; keep it until standard input ends."""
    lock: AbstractContextManager[None]
    if graph:
        lock = TaskGraphStore(root)._file_lock(graph_file(root, graph))  # noqa: SLF001 - metagit has no public one
    else:
        lock = ScheduleStore(root)._file_lock(policy_file(root))  # noqa: SLF001 - metagit has no public one
    with lock:
        sys.stdout.write("held\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1:]:
        hold(*sys.argv[1:])
    else:
        answer()
