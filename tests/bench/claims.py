"""What taking work costs: claims against bare appends of the same bytes, over stdio against the no-op, and opening.

A claim must be durable before it is answered, so that a disk decides most of it; on a file system in memory what is
left is what this package adds.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING

from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.adapters.system import RandomIds
from metagit_mcp.application.turns.ledger import Ledger
from tests.bench import NOOP
from tests.bench.long_ledger import batches
from tests.bench.series import Row, interleaved, ratio_row, spread
from tests.bench.session import REPOSITORY, Session
from tests.interop.peer import environment
from tests.postgres_server import running
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES = 10_000
EVENTS = 1_000_000
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - where it is there, it is the file system in memory


def claimable(folder: Path, nodes: int = NODES) -> Path:
    """A workspace of ready nodes."""
    write_workspace(folder, nodes=nodes, graphs=nodes // 100, shape="ready", seed=nodes)
    return folder


def over_postgres(root: Path, turns: int, rounds: int) -> Iterator[Row]:
    """The same with a ledger in PostgreSQL, on this machine and durable."""
    with running(fsync="on", max_connections="40") as server:
        yield from rate(root / "postgres", turns, rounds, server.url())


def rate(root: Path, turns: int, rounds: int, ledger: str = "") -> Iterator[Row]:
    """Claims a second of one process and of eight, against appends of the same bytes by as many."""
    where = ", PostgreSQL" if ledger else ""
    for processes in (1, 8):
        claims, appends = [], []
        for number in range(rounds):
            folder = claimable(root / f"claims-{processes}-{number}")
            claims += _turns("claim", folder, processes, turns, ledger)
            folder = claimable(root / f"appends-{processes}-{number}", 100)
            appends += _turns("append", folder, processes, turns, ledger)
        title = f"a claim{where}, {processes} process{'es' if processes > 1 else ''} ÷ a bare append of the same bytes"
        yield ratio_row(title, 2.5 if processes == 1 else None, claims, appends)
        tail, other = (quantiles(series, n=100)[98] for series in (claims, appends))
        yield Row(
            what=f"{title}, p99",
            target=None,
            measured=tail / other,
            ours=f"{tail * 1e3:.3g} ms",
            other=f"{other * 1e3:.3g} ms",
            rounds=len(claims),
        )


def _turns(kind: str, folder: Path, processes: int, turns: int, ledger: str) -> list[float]:
    """The seconds of each turn, all processes taking theirs at once; what one of them waits for the others counts."""
    command = [sys.executable, "-m", "tests.bench.claimer", kind, str(folder)]
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    [*command, f"agent-{number}"],
                    cwd=REPOSITORY,
                    env={**environment(), "METAGIT_LEDGER": ledger} if ledger else environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for number in range(processes)
        ]
        each = turns // processes
        for process in started:
            _ask(process, 3)
        for process in started:
            _answer(process)
        for process in started:
            _ask(process, each)
        return [second for process in started for second in _answer(process)]


def _ask(process: subprocess.Popen[str], turns: int) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{turns}\n")
    process.stdin.flush()


def _answer(process: subprocess.Popen[str]) -> list[float]:
    assert process.stdout is not None
    seconds: list[float] = json.loads(process.stdout.readline())
    return seconds


@contextmanager
def places(root: Path) -> Iterator[list[tuple[str, Path]]]:
    """The disk, and where there is one the file system in memory."""
    places = [("on disk", root)]
    if not IN_MEMORY.is_dir():
        yield places
        return
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=IN_MEMORY))
    try:
        yield [*places, ("in memory", folder)]
    finally:
        shutil.rmtree(folder)


def over_stdio(root: Path, rounds: int) -> Iterator[Row]:
    """`next(claim)` over stdio, against a tool of the same server that only returns as much text."""
    with places(root) as several:
        for place, folder in several:
            command = [sys.executable, "-m", "tests.bench.noop_server", "serve", "--workspace"]
            with Session([*command, str(claimable(folder / "stdio"))]) as session:
                session.initialize()
                asked = {"claim": True, "agent_id": "bench"}
                size = len(session.call("metagit_schedule_next", asked)["content"][0]["text"])
                _complete(session)
                series = interleaved(
                    lambda session=session: _claim(session),  # type: ignore[misc]  # called at once
                    lambda session=session, size=size: session.seconds(NOOP, {"size": size}),  # type: ignore[misc]  # as above
                    rounds=rounds,
                    warm_up=20,
                )
            yield ratio_row(f"claim over stdio, {NODES:,} nodes, {place}", 3.0, *series)


def _claim(session: Session) -> float:
    taken = session.seconds("metagit_schedule_next", {"claim": True, "agent_id": "bench"})
    _complete(session)
    return taken


def _complete(session: Session) -> None:
    """Give back what the agent holds; it is told what that is by a claim that gives nothing more."""
    answer = session.call("metagit_schedule_next", {"claim": True, "agent_id": "bench"})["structuredContent"]
    for lease in answer["held"]:
        session.call("metagit_work_report", {"lease_id": lease["lease_id"], "state": "completed"})


def opening(root: Path, rounds: int) -> Iterator[Row]:
    """A ledger of a million events, opened by a process that knows nothing of it."""
    folder = root / "long"
    (folder / ".metagit/schedule").mkdir(parents=True)
    _fill(str(folder))
    seconds = []
    for _ in range(rounds):
        store = SqliteEventStore(str(folder))
        begun = perf_counter()
        Ledger(store, RandomIds()).follow()
        seconds.append(perf_counter() - begun)
        store.close()
    yield Row(
        what=f"a ledger of {EVENTS:,} events opens",
        target=2.0,
        measured=median(seconds),
        unit="s",
        ours=spread(seconds),
        rounds=rounds,
    )


def _fill(folder: str) -> None:
    """Write a million events of 10,000 nodes, with the snapshots that a process that runs that long leaves."""
    store = SqliteEventStore(folder)
    ledger = Ledger(store, RandomIds())
    for several in batches(NODES, EVENTS):
        with ledger.writing() as turn:
            turn.happen(several)
    store.close()
