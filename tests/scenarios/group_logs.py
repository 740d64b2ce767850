"""What scenarios about logs of Groups share: a log on its way through the real program, and what lies in the ledger.

Every wait is bounded. It must not know what a test expects.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.adapters.system import SeededIds
from metagit_mcp.application.turns.ledger import Ledger
from metagit_mcp.wire.ledger_codec import state_record
from tests import ready
from tests.groups.real_events import LINES
from tests.interfaces.cli.fake_runs import ROOT, environment
from tests.interfaces.mcp.raw_wire import WAIT_S, LineReader
from tests.scenarios.attack import PROGRAM, Ended, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from metagit_mcp.domain.state import LedgerState

Json = dict[str, Any]
G = "group:cli"
# Not long after the last Event of the real log, so that its offers and ownerships go on.
STILL = {"METAGIT_MCP_CLOCK": "2026-07-15T08:00:20Z", "METAGIT_MCP_IDS": "group log"}
LEDGER = ".metagit/schedule/ledger.db"


def made(root: Path) -> Path:
    """A workspace without task graphs."""
    (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    return root


def written(events: Iterable[Json]) -> list[bytes]:
    """Events as lines of a log."""
    return [json.dumps(event).encode() for event in events]


def of_group(group_id: str) -> list[bytes]:
    """The real log as another Group's."""
    return [line.replace(G.encode(), group_id.encode()) for line in LINES]


def delivering(root: Path, lines: Iterable[bytes], *flags: str, group_id: str = G, fault: str = "") -> Run:
    """A process that delivers these lines, on its way; up to 1,000 are one batch."""
    log = root.with_name(f"{root.name}.{len([*root.parent.iterdir()])}.jsonl")
    log.write_bytes(b"".join(line + b"\n" for line in lines))
    env = {**STILL, "METAGIT_MCP_FAULT": fault}
    return Run(root, "group", "deliver", str(log), "--group", group_id, "--json", *flags, env=env)


def delivered(root: Path, lines: Iterable[bytes], *flags: str, group_id: str = G) -> Json:
    """What the last batch of a delivery is answered; it must end well."""
    end = delivering(root, lines, *flags, group_id=group_id).ended()
    assert (end.code, end.err) == (0, b""), end
    answer: Json = json.loads(end.out.splitlines()[-1])
    return answer


def counted(answer: Json) -> tuple[int, int, int, int]:
    """Cursor, applied, duplicates, held."""
    return answer["cursor"], answer["applied"], answer["duplicates"], answer["held"]


def killed(root: Path, lines: Iterable[bytes], point: str) -> None:
    """Deliver these lines by a process that is killed at the point, and acknowledges nothing."""
    end = delivering(root, lines, fault=point).ended()
    assert end == Ended(-signal.SIGKILL, b"", f"{point}\n".encode())


def asked(root: Path, *arguments: str, code: int = 0) -> Json:
    """What one command prints with --json; it must end with `code`."""
    end = Run(root, *arguments, "--json", env=STILL).ended()
    assert (end.code, end.err) == (code, b""), end
    return end.record


class Line:
    """A process that takes a log from a pipe, line by line; `take` waits until a line is acknowledged."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdout is not None
        self._answers = LineReader(process.stdout.fileno())

    def give(self, line: bytes) -> None:
        """Hand over a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def answer(self) -> Json:
        """The next acknowledgement, or the record of a refusal."""
        answer: Json = json.loads(self._answers.line())
        return answer

    def take(self, line: bytes) -> Json:
        """Hand over a line, and wait for what is answered."""
        self.give(line)
        return self.answer()

    def kill(self) -> None:
        """Kill it, wherever it is."""
        self.process.kill()
        assert self.process.wait(WAIT_S) == -signal.SIGKILL

    def end(self) -> None:
        """End the log; whoever delivers it must end well and have said nothing more."""
        out, err = self.process.communicate(timeout=WAIT_S)
        assert (self.process.returncode, out, err) == (0, b"", b"")


@contextmanager
def line_to(root: Path, group_id: str = G) -> Iterator[Line]:
    """A pipe into `group deliver -`, which ends well with the block unless it was killed."""
    process = ready.Popen(
        [*PROGRAM, "group", "deliver", "-", "--group", group_id, "--json", "--workspace", str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**STILL),
        cwd=ROOT,
    )
    with process:
        try:
            yield (line := Line(process))
            if process.poll() is None:
                line.end()
        finally:
            process.kill()


# --- what lies in the ledger -----------------------------------------------------------------------------------------


def state_of(root: Path) -> LedgerState:
    """The state that a process which begins now finds."""
    store = SqliteEventStore(str(root))
    ledger = Ledger(store, SeededIds("reader"))
    ledger.follow()
    store.close()
    return ledger.state


def rows(root: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    """What stands in the file of the ledger."""
    with closing(sqlite3.connect(root / LEDGER)) as ledger:
        return ledger.execute(query, values).fetchall()


def kept(root: Path) -> tuple[bytes, list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Everything that deliveries lead to: the state, the keys of the inboxes, and what they hold.

    Only the number of ledger events is left out: there is one for each delivery that applied anything.
    """
    assert rows(root, "PRAGMA integrity_check") == [("ok",)]
    state = state_of(root)
    state.changes.clear()
    names = "SELECT g.group_id, e.sequence, e.event_key, e.digest FROM inbox_entry e JOIN inbox_group g"
    entries = rows(root, f"{names} ON g.number = e.group_number ORDER BY 1, 2")
    return state_record(state), entries, rows(root, "SELECT sequence, body FROM inbox_held ORDER BY 1")


def cursor(root: Path, group_id: str = G) -> int:
    """Where the Cursor stands, read by another process than the one that moved it; 0 for a Group without Events."""
    feed = state_of(root).feeds.get(group_id) if (root / LEDGER).exists() else None
    return 0 if feed is None else feed.cursor


def parts(lines: Sequence[bytes], size: int) -> list[Sequence[bytes]]:
    """The lines in runs of this size."""
    return [lines[first : first + size] for first in range(0, len(lines), size)]
