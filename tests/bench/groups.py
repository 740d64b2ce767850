"""What Groups that are fed by Events cost: their Events taken in, a long queue, a replay, a restart.

Events are delivered by the use case itself, without a protocol, into a ledger on the disk.
"""

from __future__ import annotations

import gc
import sqlite3
from contextlib import closing
from itertools import islice
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json

from metagit_mcp.adapters.sqlite import SqliteEventStore
from metagit_mcp.application.groups.deliveries import deliver
from metagit_mcp.application.turns.ledger import snapshot_of
from metagit_mcp.bootstrap import open_application
from metagit_mcp.domain.replay import fold
from metagit_mcp.settings import Settings
from metagit_mcp.wire.group_events import read_group_event
from metagit_mcp.wire.ledger_codec import read_event
from tests.bench.long_log import DONE, QUEUED, texts
from tests.bench.series import Row, interleaved, ratio_row, spread
from tests.groups.delivering import Process
from tests.scenarios.at_once import AT_ONCE, finished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from metagit_mcp.wire.group_events import GroupEvent

BATCH: Final = 1_000
LONG: Final = 50_000
QUEUED_ITEMS, GROUPS = 100_000, 100
LIVES: Final = BATCH // len(DONE)
MICROSECONDS: Final = 1e6
G: Final = "group:long"


def batches(events: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The Events as they are delivered, 1,000 in a call."""
    left = iter(events)
    while batch := list(islice(left, BATCH)):
        yield batch


def read(batch: Iterable[bytes]) -> list[GroupEvent]:
    return [read_group_event(text) for text in batch]


def process(folder: Path) -> Process:
    """A process on a workspace without graph files."""
    (folder / ".metagit/schedule").mkdir(parents=True, exist_ok=True)
    return Process(SqliteEventStore(str(folder)))


def _filled(folder: Path, group_id: str, items: int) -> Process:
    """A process that took in the log of a Group whose WorkItems are all queued."""
    one = process(folder)
    for batch in batches(texts(group_id, items, QUEUED)):
        one.deliver(read(batch), group_id)
    return one


# --- taking in ----------------------------------------------------------------------------------------------------


def ingest(root: Path, rounds: int) -> Iterator[Row]:
    """Events from their bytes to the disk, against an append of the same bytes to a table; and parts of that."""
    folder = root / "ingest"
    one = process(folder)
    with closing(_bare_table(folder / "bare.db")) as table:
        taken = [_taken_in(one, table, batch) for batch in batches(texts(G, LIVES * (rounds + 1), DONE))]
    one.store.close()
    # The first batch makes the ledger and loads what is needed.
    append, parse, reading, whole = zip(*taken[1:], strict=True)
    yield _each("ingest: an Event, from its bytes to the disk, 1,000 in a call", 100.0, whole, BATCH)
    title = "ingest ÷ a bare append of the same bytes"
    yield ratio_row(title, 3.33, whole, append)
    yield ratio_row(f"{title}: reading alone", None, reading, append)
    yield ratio_row(f"{title}: parsing the JSON alone", None, parse, append)


def _taken_in(one: Process, table: sqlite3.Connection, batch: list[bytes]) -> tuple[float, float, float, float]:
    """The seconds of an append, of parsing, of reading, and of reading and delivering."""
    append, parse = _timed(lambda: _append(table, batch)), _timed(lambda: [from_json(text) for text in batch])
    begun = perf_counter()
    events = read(batch)
    reading = perf_counter() - begun
    one.deliver(events, G)
    return append, parse, reading, perf_counter() - begun


def _bare_table(path: Path) -> sqlite3.Connection:
    table = sqlite3.connect(path, isolation_level=None)
    table.execute("PRAGMA journal_mode = WAL")
    table.execute("PRAGMA synchronous = FULL")
    table.execute("CREATE TABLE event (position INTEGER PRIMARY KEY, body BLOB NOT NULL)")
    return table


def _append(table: sqlite3.Connection, batch: list[bytes]) -> None:
    table.execute("BEGIN IMMEDIATE")
    table.executemany("INSERT INTO event (body) VALUES (?)", ((body,) for body in batch))
    table.execute("COMMIT")


# --- a long queue -------------------------------------------------------------------------------------------------


def into_a_long_queue(root: Path, rounds: int) -> Iterator[Row]:
    """1,000 Events, from their bytes, into a Group that holds 50,000 items, against as many into an empty one."""
    long, short = _filled(root / "long", G, LONG), process(root / "short")
    news = _going_on(long, rounds + 1)
    gc.collect()
    gc.freeze()
    series = interleaved(
        lambda: _delivered(long, G, next(news)),
        lambda: _into_an_empty_one(short),
        rounds=rounds,
    )
    gc.unfreeze()
    yield ratio_row(f"1,000 Events into a queue of {LONG:,} items ÷ into an empty one", 1.5, *series)
    long.store.close()
    short.store.close()


def _going_on(one: Process, times: int) -> Iterator[list[bytes]]:
    """More batches of the long Group's log."""
    feed = one.state.feeds[G]
    return batches(texts(G, LIVES * times, DONE, known=len(feed.nodes), sequence=feed.cursor))


def _into_an_empty_one(short: Process) -> float:
    name = f"group:{len(short.ledger.state.feeds):03}"
    return _delivered(short, name, list(texts(name, LIVES, DONE)))


def _delivered(one: Process, group_id: str, batch: list[bytes]) -> float:
    return _timed(lambda: one.deliver(read(batch), group_id))


def first_looks(root: Path, rounds: int) -> Iterator[Row]:
    """The first look at the queue after such a delivery, in a process that had looked before."""
    news = _going_on(process(root / "long"), rounds)
    long = _Looking(root / "long", G)
    fresh = (_Looking(root / f"short-{number}", G) for number in range(rounds))
    first = [_look_after(long, next(news)) for _ in range(rounds)]
    other = [_look_after(next(fresh), list(texts(G, LIVES, DONE))) for _ in range(rounds)]
    yield Row(
        what=f"the first look after 1,000 Events, {LONG:,} items (other: none)",
        target=None,
        measured=median(first),
        unit="s",
        ours=spread(first),
        other=spread(other),
        rounds=rounds,
    )


class _Looking:
    """An application on a workspace with one fed Group, whose queue was looked at."""

    def __init__(self, folder: Path, group_id: str) -> None:
        (folder / ".metagit/schedule").mkdir(parents=True, exist_ok=True)
        self.group_id = group_id
        self.application = open_application(Settings(workspace=str(folder)), surface="mcp", waits=AT_ONCE)
        self.look()

    def look(self) -> float:
        begun = perf_counter()
        finished(self.application.current.view())
        return perf_counter() - begun

    def take_in(self, events: list[GroupEvent]) -> None:
        finished(self.application.current.command(lambda turn: deliver(turn, self.group_id, events)))


def _look_after(looking: _Looking, batch: list[bytes]) -> float:
    looking.take_in(read(batch))
    return looking.look()


# --- a replay, a restart ------------------------------------------------------------------------------------------


def replay(root: Path, rounds: int) -> Iterator[Row]:
    """The fold of the ledger from its stored records, in memory."""
    items = LIVES * 100
    one = process(root / "replay")
    for batch in batches(texts(G, items, DONE)):
        one.deliver(read(batch), G)
    stored = [(each.kind, each.version, each.body) for each in one.store.read(0)]
    one.store.close()
    seconds = [_timed(lambda: fold(read_event(*each) for each in stored)) for _ in range(rounds)]
    yield _each("replay: a Group Event in memory, from its record in the ledger", 20.0, seconds, items * len(DONE))


def restart(root: Path, rounds: int) -> Iterator[Row]:
    """A process that knows nothing looks at the queue of 100,000 items: the ledger from snapshot and tail, the view."""
    folder = root / "restart"
    one = process(folder)
    names = [f"group:{number:03}" for number in range(GROUPS)]
    for number, name in enumerate(names):
        for batch in batches(texts(name, QUEUED_ITEMS // GROUPS, QUEUED)):
            one.deliver(read(batch), name)
        if number == GROUPS * 9 // 10:
            one.store.keep(snapshot_of(one.ledger.state, one.ledger.mark))
    one.store.close()
    opened: list[float] = []
    seconds = [_restarted(folder, opened) for _ in range(rounds)]
    title = f"a restart with {QUEUED_ITEMS:,} queued items in {GROUPS} fed Groups"
    yield Row(what=title, target=2.0, measured=median(seconds), unit="s", ours=spread(seconds), rounds=rounds)
    yield Row(
        what=f"{title}: the ledger alone",
        target=None,
        measured=median(opened),
        unit="s",
        ours=spread(opened),
        rounds=rounds,
    )


def _restarted(folder: Path, opened: list[float]) -> float:
    """As a process begins: nothing is collected before it has answered."""
    gc.collect()
    gc.disable()
    opened.append(_timed(process(folder).ledger.follow))
    whole = _timed(lambda: _Looking(folder, G))
    gc.enable()
    return whole


def _timed(step: Callable[[], object]) -> float:
    begun = perf_counter()
    step()
    return perf_counter() - begun


def _each(what: str, target: float, seconds: Sequence[float], events: int) -> Row:
    """A row of the time that one of many Events takes."""
    return Row(
        what=what,
        target=target,
        measured=median(seconds) / events * MICROSECONDS,
        unit="µs",
        ours=spread(seconds),
        rounds=len(seconds),
    )
