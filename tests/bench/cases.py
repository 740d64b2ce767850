"""What is measured: each case writes its workspaces, runs its variants in turn and yields rows.

Must not know: how the package works inside. It is started as users start it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, get_args

from tests.bench import NOOP
from tests.bench.claims import opening, over_postgres, over_stdio, rate
from tests.bench.core import changes_at_size, decisions_by_size
from tests.bench.groups import first_looks, ingest, into_a_long_queue, replay, restart
from tests.bench.hooks import starts
from tests.bench.http import claims_over_http, looking_on
from tests.bench.series import Row, interleaved, ratio_row
from tests.bench.session import LONGEST, REPOSITORY, Session
from tests.interop.install import main as install_peer
from tests.interop.peer import VENV, Metagit, PeerError, environment, installed
from tests.workloads import Shape, write_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

NEXT = "metagit_schedule_next"
STATUS = "metagit_schedule_status"
PREVIEW = {"preview": True}
SHAPES: tuple[Shape, ...] = get_args(Shape)
TITLES = {"ready": "all ready", "mixed": "40 % ready", "chain": "one deep chain"}
LINES = 100_000
BYTES_PER_NODE = 1536.0


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """How often each kind of measurement is repeated."""

    warm: int
    cold: int
    cold_large: int
    memory: int


FULL = Rounds(warm=400, cold=21, cold_large=7, memory=3)
QUICK = Rounds(warm=50, cold=5, cold_large=2, memory=1)


def workspace(root: Path, shape: Shape, nodes: int, graphs: int, decisions: int = 0) -> Path:
    """A workload; the deep chain is one graph, however many the others have."""
    folder = root / f"{shape}-{nodes}-{decisions}"
    if not folder.exists():
        count = 1 if shape == "chain" else graphs
        write_workspace(folder, nodes=nodes, graphs=count, shape=shape, seed=nodes, decisions=decisions)
    return folder


def serve(root: Path, module: str = "metagit_mcp") -> list[str]:
    return [sys.executable, "-m", module, "serve", "--workspace", str(root)]


# --- Warm: one call over stdio --------------------------------------------------------------------


def warm(root: Path, rounds: Rounds) -> Iterator[Row]:
    """`next(preview)` over stdio, against a tool of the same server that only returns as much text."""
    sizes = [(10_000, 100, {"inotify": 1.5, "stat": 2.0}), (100_000, 1_000, {"inotify": 2.5, "stat": 5.0})]
    for nodes, graphs, targets in sizes:
        for shape in SHAPES:
            folder = workspace(root, shape, nodes, graphs)
            for watch, target in targets.items():
                title = f"warm next, {nodes:,} nodes, {TITLES[shape]}, {watch}"
                yield from _warm(folder, watch, title, target, rounds.warm)


def _warm(folder: Path, watch: str, title: str, target: float, rounds: int) -> Iterator[Row]:
    with Session(serve(folder, "tests.bench.noop_server"), {"METAGIT_WATCH": watch}) as session:
        session.initialize()
        size = len(session.call(NEXT, PREVIEW)["content"][0]["text"])

        def ours() -> float:
            return session.seconds(NEXT, PREVIEW)

        def text_only() -> float:
            return session.seconds(NOOP, {"size": size})

        def twice() -> float:
            return session.seconds(NOOP, {"size": size, "twice": True})

        yield ratio_row(title, target, *interleaved(ours, text_only, rounds=rounds, warm_up=20))
        yield ratio_row(f"{title}, ÷ the same bytes on the wire", None, *interleaved(ours, twice, rounds=rounds))
        if watch == "stat":
            alone = _stat_of_each_graph(folder)
            yield ratio_row(f"{title}: one os.stat a graph alone", None, *interleaved(alone, text_only, rounds=rounds))


def _stat_of_each_graph(folder: Path) -> Callable[[], float]:
    """What no look by stat can do without, in a loop of its own; the folder stays open as long as this process."""
    names = [path.name for path in (folder / ".metagit/tasks/graphs").iterdir()]
    graphs = os.open(folder / ".metagit/tasks/graphs", os.O_RDONLY | os.O_DIRECTORY)

    def run() -> float:
        begun = perf_counter()
        for name in names:
            os.stat(name, dir_fd=graphs)
        return perf_counter() - begun

    return run


# --- Cold: a process per answer -------------------------------------------------------------------


def cold_cli(root: Path, rounds: Rounds) -> Iterator[Row]:
    """`schedule next --json`, against metagit-cli on the same workspace."""
    refusal = _peer_refusal()
    for nodes, graphs, target, count in (
        (1_000, 10, 0.3, rounds.cold),
        (100_000, 1_000, 0.4, rounds.cold_large),
    ):
        for shape in SHAPES:
            title = f"cold CLI next, {nodes:,} nodes, {TITLES[shape]} ÷ metagit-cli 0.36.0"
            if refusal:
                yield Row(what=title, target=target, measured=None, remark=refusal)
                continue
            folder = workspace(root, shape, nodes, graphs)
            ours = _process(cli(folder, "schedule", "next"))
            theirs = _process(Metagit(folder).command("schedule", "next", "--json"), cwd=folder)
            yield ratio_row(title, target, *interleaved(ours, theirs, rounds=count))


def _peer_refusal() -> str:
    if install_peer(["metagit"]) != 0:
        return "metagit-cli could not be installed"
    try:
        installed(VENV / "bin/metagit")
    except PeerError as error:
        return str(error)
    return ""


def cli(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "metagit_mcp", *arguments, "--json", "--workspace", str(folder)]


def _process(command: Sequence[str], cwd: Path = REPOSITORY) -> Callable[[], float]:
    def run() -> float:
        begun = perf_counter()
        subprocess.run(
            command,
            cwd=cwd,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=LONGEST,
        )
        return perf_counter() - begun

    return run


def cold_stdio(root: Path, rounds: Rounds) -> Iterator[Row]:
    """From spawning the server to its first answer, against a server that is nothing but the SDK."""
    folder = workspace(root, "ready", 12, 3)
    bare = [sys.executable, "-m", "tests.bench.bare_server"]
    for title, tool, arguments in (
        ("to the answer to initialize", "", {}),
        ("to the first answer of next", NEXT, PREVIEW),
    ):
        ours = _first_answer(serve(folder), tool, arguments)
        other = _first_answer(bare, tool and NOOP, {})
        yield ratio_row(
            f"cold stdio start {title} ÷ bare SDK server",
            1.15,
            *interleaved(ours, other, rounds=rounds.cold),
        )


def _first_answer(command: Sequence[str], tool: str, arguments: Mapping[str, object]) -> Callable[[], float]:
    def run() -> float:
        with Session(command) as session:
            session.initialize()
            if tool:
                session.call(tool, arguments)
            return perf_counter() - session.started

    return run


# --- History and memory ---------------------------------------------------------------------------


def decisions(root: Path, rounds: Rounds) -> Iterator[Row]:
    """The same calls with a long decision log and with none (or with as many lines as an answer shows)."""
    # In a folder of their own: other cases ask for decisions, and those are logged.
    few, none, many = (workspace(root / "logs", "ready", 1_000, 10, decisions=count) for count in (10, 0, LINES))
    calls: list[tuple[str, str, dict[str, Any]]] = [("next", NEXT, PREVIEW), ("status", STATUS, {})]
    for name, tool, arguments in calls:
        title = f"warm {name}, {LINES:,} decision lines ÷ none"
        yield _by_log(title, 1.2, many, none, tool, arguments, rounds.warm)
    yield _by_log(f"warm status, {LINES:,} decision lines ÷ 10", None, many, few, STATUS, {}, rounds.warm)
    for name in ("next", "status"):
        series = [_process(cli(folder, "schedule", name)) for folder in (many, none)]
        title = f"cold CLI {name}, {LINES:,} decision lines ÷ none"
        yield ratio_row(title, 1.2, *interleaved(*series, rounds=rounds.cold))


def _by_log(
    title: str, target: float | None, many: Path, few: Path, tool: str, arguments: Mapping[str, object], rounds: int
) -> Row:
    with ExitStack() as stack:
        sessions = [stack.enter_context(Session(serve(folder))) for folder in (many, few)]
        for session in sessions:
            session.initialize()
            session.call(tool, arguments)
        long, short = sessions
        series = interleaved(
            lambda: long.seconds(tool, arguments),
            lambda: short.seconds(tool, arguments),
            rounds=rounds,
            warm_up=20,
        )
    return ratio_row(title, target, *series)


def memory(root: Path, rounds: Rounds) -> Iterator[Row]:
    """What a loaded node costs: the server's memory with 100,000 nodes less that with none, a node."""
    nodes = 100_000
    empty = workspace(root, "ready", 0, 1)
    for shape in SHAPES:
        folder = workspace(root, shape, nodes, 1_000)
        loaded, bare = interleaved(
            lambda folder=folder: _resident(folder),  # type: ignore[misc]  # bound now, called at once
            lambda: _resident(empty),
            rounds=rounds.memory,
            warm_up=0,
        )
        yield Row(
            what=f"memory a node, {nodes:,} nodes, {TITLES[shape]}",
            target=BYTES_PER_NODE,
            measured=(median(loaded) - median(bare)) / nodes,
            unit="B",
            ours=f"{min(loaded) / 2**20:.0f} / {median(loaded) / 2**20:.0f} MiB",
            other=f"{min(bare) / 2**20:.0f} / {median(bare) / 2**20:.0f} MiB",
            rounds=len(loaded),
        )


def _resident(folder: Path) -> float:
    with Session(serve(folder)) as session:
        session.initialize()
        for _ in range(3):
            session.call(NEXT, PREVIEW)
        return float(session.resident_bytes())


def claims(root: Path, rounds: Rounds) -> Iterator[Row]:
    """What taking work costs."""
    yield from rate(root / "claims", turns=rounds.warm, rounds=3)
    yield from over_stdio(root / "claims", rounds.warm)
    yield from opening(root / "claims", rounds.memory)


def postgres(root: Path, rounds: Rounds) -> Iterator[Row]:
    """What taking work costs where many hosts share a ledger."""
    yield from over_postgres(root, turns=rounds.warm, rounds=3)


def http(root: Path, rounds: Rounds) -> Iterator[Row]:
    """What a server over HTTP costs, and who looks on."""
    yield from claims_over_http(root, rounds.warm)
    yield from looking_on(root, rounds.cold)


def hook(root: Path, rounds: Rounds) -> Iterator[Row]:
    """What a hook costs whoever waits for it."""
    yield from starts(root / "hooks", 2 * rounds.cold)


def core(_: Path, rounds: Rounds) -> Iterator[Row]:
    """What a decision of the pure core costs."""
    yield from decisions_by_size(2 * rounds.warm)
    yield from changes_at_size(rounds.cold)


def groups(root: Path, rounds: Rounds) -> Iterator[Row]:
    """What Groups that are fed by Events cost."""
    yield from ingest(root / "groups", rounds.cold)
    yield from into_a_long_queue(root / "groups", rounds.cold)
    yield from first_looks(root / "groups", rounds.cold_large)
    yield from replay(root / "groups", rounds.cold_large)
    yield from restart(root / "groups", rounds.cold_large)


CASES: dict[str, Callable[[Path, Rounds], Iterator[Row]]] = {
    "warm": warm,
    "cold-cli": cold_cli,
    "cold-stdio": cold_stdio,
    "decisions": decisions,
    "memory": memory,
    "claims": claims,
    "postgres": postgres,
    "http": http,
    "hook": hook,
    "core": core,
    "groups": groups,
}
