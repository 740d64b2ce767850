"""A process that claims nodes, or only appends as many bytes, as fast as one agent can: one line of times a turn.

An agent completes what it claimed before it claims again, which is not timed. Each line of standard input is a number
of turns; the answer is one line of JSON with the seconds of each. It uses the use cases without a protocol, so that
both kinds of turn differ by nothing but the deciding. The ledger is that of METAGIT_LEDGER, if one is named.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from metagit_mcp.adapters.postgres import PostgresEventStore
from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.adapters.system import RandomIds
from metagit_mcp.bootstrap import open_application
from metagit_mcp.ports.ledger import EventStore, LedgerMark
from metagit_mcp.settings import Settings
from metagit_mcp.wire.requests import NextRequest, WorkReportRequest
from tests.scenarios.at_once import AT_ONCE, finished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Turn = Callable[[], None]

LEDGER = os.environ.get("METAGIT_LEDGER")
# What a claim appends: see tests/bench/claims.py.
BYTES = 620


def claiming(root: str, agent: str) -> Iterator[tuple[Turn, Turn]]:
    settings = Settings(workspace=root, ledger=LEDGER, workspace_id=Path(root).name)
    application = open_application(settings, surface="mcp", waits=AT_ONCE)
    request = NextRequest(claim=True, agent_id=agent)
    lease_ids: list[str] = []

    def claim() -> None:
        (decision,) = finished(application.schedule.next(request)).decisions
        assert decision.lease is not None
        lease_ids.append(decision.lease.lease_id)

    def complete() -> None:
        finished(application.work.report(WorkReportRequest(lease_id=lease_ids.pop(), state="completed")))

    while True:
        yield claim, complete


def appending(root: str, _: str) -> Iterator[tuple[Turn, Turn]]:
    store: EventStore = SqliteEventStore(root)
    if LEDGER is not None:
        store = PostgresEventStore(root, LEDGER, named=Path(root).name)
    ids = RandomIds()
    body = b'{"x":"' + b"x" * (BYTES - 8) + b'"}'
    known = LedgerMark()

    def append() -> None:
        nonlocal known
        with store.writing(known, ids.new) as writer:
            writer.append([("work_started", 1, body)])
            known = LedgerMark(workspace_id=writer.mark.workspace_id, position=writer.mark.position + 1)

    while True:
        yield append, append


def main(kind: str, root: str, agent: str) -> None:
    turns = {"claim": claiming, "append": appending}[kind](root, agent)
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            turn, untimed = next(turns)
            begun = perf_counter()
            turn()
            seconds.append(perf_counter() - begun)
            untimed()
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    Path(sys.argv[2]).resolve(strict=True)
    main(*sys.argv[1:])
