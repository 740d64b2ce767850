"""Run with metagit-cli's own Python: prints its whole ranking of a workspace, or holds one of its locks.

Must not know: the package under test, which is not installed where this runs.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from metagit.core.scheduler.paths import policy_file
from metagit.core.scheduler.service import SchedulerService
from metagit.core.scheduler.store import ScheduleStore
from metagit.core.taskgraph.paths import graph_file
from metagit.core.taskgraph.store import TaskGraphStore

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


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
    if sys.argv[1] == "rank":
        rank(sys.argv[2])
    else:
        hold(sys.argv[2], sys.argv[3])
