"""What a hook costs, from the start of its process to its end, beside a bare interpreter with what any hook needs.

A host waits for it: at every call of a tool, at every end of a turn, at every start of a session.
"""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tests.bench.series import Row, interleaved, ratio_row
from tests.bench.session import LONGEST, REPOSITORY
from tests.interop.peer import environment
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

LONGEST_MS = 150.0
BARE = [sys.executable, "-c", "import json, sqlite3"]
STAMP = {"tool_name": "mcp__metagit__metagit_schedule_next", "tool_input": {"claim": True}}


def starts(root: Path, rounds: int) -> Iterator[Row]:
    """Each event in a process of its own: as a ratio to the bare interpreter of the same run, and in milliseconds."""
    nowhere, there = root / "nowhere", root / "there"
    nowhere.mkdir(parents=True, exist_ok=True)
    if not there.exists():
        write_workspace(there, nodes=1_000, graphs=10, shape="mixed", seed=1)
        _take_work(there)
    cases: list[tuple[str, str, Path, Mapping[str, Any]]] = [
        ("hook stamp-agent", "stamp-agent", there, STAMP),
        ("hook stop, not a worker's", "stop", there, {}),
        ("hook session-start, no workspace", "session-start", nowhere, {}),
        ("hook session-start, 12 nodes and a ledger", "session-start", _small(root), {}),
        ("hook session-start, 1,000 nodes and a ledger", "session-start", there, {}),
    ]
    bare = _process(BARE, nowhere, b"")
    for title, event, folder, given in cases:
        record = json.dumps({"session_id": "bench", "cwd": str(folder), **given}).encode()
        ours, other = interleaved(_hook(event, folder, record), bare, rounds=rounds)
        yield ratio_row(f"{title} ÷ a bare interpreter", None, ours, other)
        yield Row(
            what=f"{title}, whole",
            target=LONGEST_MS,
            measured=median(ours) * 1e3,
            unit="ms",
            rounds=rounds,
        )


def _small(root: Path) -> Path:
    folder = root / "small"
    if not folder.exists():
        write_workspace(folder, nodes=12, graphs=3, shape="mixed", seed=1)
        _take_work(folder)
    return folder


def _take_work(folder: Path) -> None:
    """Have the session hold a lease, so that there is a ledger."""
    words = [sys.executable, "-m", "metagit_mcp", "schedule", "next", "--claim", "--agent-id", "bench"]
    subprocess.run(
        [*words, "--workspace", str(folder)],
        cwd=REPOSITORY,
        env=environment(),
        capture_output=True,
        check=True,
        timeout=LONGEST,
    )


def _hook(event: str, folder: Path, record: bytes) -> Callable[[], float]:
    return _process([sys.executable, "-m", "metagit_mcp", "hook", event], folder, record)


def _process(command: list[str], folder: Path, given: bytes) -> Callable[[], float]:
    known = {**environment(), "PYTHONPATH": str(REPOSITORY)}

    def run() -> float:
        begun = perf_counter()
        subprocess.run(command, cwd=folder, env=known, input=given, capture_output=True, check=True, timeout=LONGEST)
        return perf_counter() - begun

    return run
