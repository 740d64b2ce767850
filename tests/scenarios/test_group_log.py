"""The log of a Group is delivered by real processes, in any order and by pieces, which are killed, race or wait.

Whatever happens on the way, what lies in the ledger in the end is to the byte what one undisturbed delivery leads to.
Every kill asserts that its step was reached: the process says its name before it dies.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.adapters.fault_points import LEDGER_POINTS
from tests.groups.real_events import LINES
from tests.groups.streams import SeededLots, log_of, ordered
from tests.scenarios.attack import Run, Server, record_of
from tests.scenarios.group_logs import (
    LEDGER,
    STILL,
    G,
    asked,
    counted,
    cursor,
    delivered,
    delivering,
    kept,
    killed,
    line_to,
    made,
    of_group,
    parts,
    rows,
    state_of,
    written,
)
from tests.unit.adapters.reading import node, put, put_graph

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.groups.streams import Order

BEFORE, AFTER = "ledger.appended", "ledger.committed"
HELD = "SELECT count(*) FROM inbox_held"
WHOLE = len(LINES)
Kept = tuple[bytes, list[tuple[object, ...]], list[tuple[object, ...]]]


def undisturbed(root: Path, lines: Sequence[bytes] = LINES) -> Path:
    """A workspace after one delivery of a whole log, in its order."""
    assert counted(delivered(made(root), lines)) == (len(lines), len(lines), 0, 0)
    return root


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace to which the real log was delivered undisturbed."""
    return undisturbed(tmp_path_factory.mktemp("calm") / "workspace")


@pytest.fixture(scope="module")
def expected(calm: Path) -> Kept:
    return kept(calm)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made(tmp_path / "workspace")


# --- any order -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "seed"), [("in order", 0), ("reversed", 0), ("shuffled", 1), ("shuffled", 2), ("duplicated", 3)]
)
def test_one_event_a_batch_in_any_order(root: Path, expected: Kept, order: Order, seed: int) -> None:
    """Each is acknowledged on its own, and what is acknowledged is durable."""
    arriving = ordered([{"at": at} for at in range(WHOLE)], order, random.Random(seed))  # noqa: S311 - an order
    come: set[int] = set()
    with line_to(root) as line:
        for at in (each["at"] for each in arriving):
            is_new, before = at not in come, len(come)
            come.add(at)
            reached = next(sequence for sequence in range(WHOLE + 1) if sequence not in come)
            answer = counted(line.take(LINES[at]))
            assert (answer[0], answer[2], answer[3]) == (reached, int(not is_new), len(come) - reached)
            ((entries,),) = rows(root, "SELECT count(*) FROM inbox_entry")
            assert entries == len(come) == before + is_new
    assert kept(root) == expected


@pytest.mark.parametrize(("order", "seed"), [("reversed", 0), ("duplicated", 5)])
def test_several_events_a_process_in_any_order(root: Path, expected: Kept, order: Order, seed: int) -> None:
    arriving = ordered([{"at": at} for at in range(WHOLE)], order, random.Random(seed))  # noqa: S311 - an order
    for part in parts([LINES[each["at"]] for each in arriving], 11):
        delivered(root, part)
    assert kept(root) == expected


# --- killed ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [1, 10, 19, 28])
def test_a_kill_before_and_after_the_commit_of_each_event(root: Path, expected: Kept, first: int) -> None:
    """Whoever delivers has no answer, and does what it can: deliver all of it again, up to the next Event."""
    if first > 1:
        delivered(root, LINES[: first - 1])
    for sequence in range(first, first + 9):
        killed(root, LINES[:sequence], BEFORE)
        assert cursor(root) == sequence - 1
        killed(root, LINES[:sequence], AFTER)
        assert cursor(root) == sequence
    # All of it again, and its rest.
    assert counted(delivered(root, LINES)) == (WHOLE, WHOLE - first - 8, first + 8, 0)
    assert kept(root) == expected


def test_kills_while_events_are_held(root: Path, expected: Kept) -> None:
    """Backwards, nothing is applied before the first Event of the log comes; what is held is as durable."""
    killed(root, LINES[-1:], AFTER)
    held = 1
    for part in parts(LINES[-2:0:-1], 7):
        killed(root, part, BEFORE)
        assert rows(root, HELD) == [(held,)]
        killed(root, part, AFTER)
        held += len(part)
        assert (rows(root, HELD), cursor(root)) == ([(held,)], 0)
    killed(root, LINES[:1], BEFORE)
    assert (rows(root, HELD), cursor(root)) == ([(WHOLE - 1,)], 0)
    killed(root, LINES[:1], AFTER)
    assert kept(root) == expected


def test_a_kill_at_each_step_of_making_the_ledger(root: Path, expected: Kept) -> None:
    """Each next process finds what the last one left half made."""
    for point in LEDGER_POINTS:
        killed(root, LINES, point)
        assert cursor(root) == (WHOLE if point == AFTER else 0)
    assert counted(delivered(root, LINES)) == (WHOLE, 0, WHOLE, 0)
    assert kept(root) == expected


@pytest.mark.parametrize("seed", [11, 12])
def test_a_drawn_log_through_processes_of_which_most_are_killed(tmp_path: Path, seed: int) -> None:
    log = log_of(SeededLots(seed), least=60)
    chance = random.Random(seed)  # noqa: S311 - an order
    arriving, root = ordered(log.events, "duplicated", chance), made(tmp_path / "workspace")
    for part in parts(written(arriving), 1 + len(arriving) // 3):
        for point in chance.sample((BEFORE, AFTER, "ledger.begun"), 2):
            killed(root, part, point)
        delivered(root, part)
        asked(root, "group", "snapshot")
    assert cursor(root) == len(log.events)
    assert asked(root, "group", "verify")["same"] is True
    assert kept(root) == kept(undisturbed(tmp_path / "other", written(log.events)))


def test_a_server_that_takes_in_a_log_is_killed(root: Path, expected: Kept) -> None:
    """The tool is the command's twin here too: its next server has what was committed, and knows it."""
    known = 0
    for point, events in ((BEFORE, LINES[:20]), (AFTER, LINES[:20]), (BEFORE, LINES), ("", LINES)):
        with Server(root, "--toolsets", "groups", env={**STILL, "METAGIT_MCP_FAULT": point}) as server:
            server.enter("2026-07-28")
            words = {"group_id": G, "events": [json.loads(line) for line in events]}
            request = server.begin("tools/call", {"name": "metagit_group_deliver", "arguments": words})
            if point:
                assert (server.wait(), server.stderr) == (-signal.SIGKILL, f"{point}\n")
            else:
                assert counted(record_of(server.answer(request))) == (WHOLE, WHOLE - known, known, 0)
                server.end()
        known = len(events) if point == AFTER else known
        assert cursor(root) == (known if point else WHOLE)
    assert kept(root) == expected


@pytest.mark.parametrize("answers", [1, 7, 20])
def test_a_kill_at_any_instant_loses_nothing_that_was_acknowledged(root: Path, expected: Kept, answers: int) -> None:
    with line_to(root) as line:
        for each in LINES[:30]:
            line.give(each)
        acknowledged = 0
        while acknowledged < answers:
            acknowledged = line.answer()["cursor"]
        line.kill()
    assert answers <= acknowledged <= cursor(root)
    assert delivered(root, LINES)["cursor"] == WHOLE
    assert kept(root) == expected


# --- at the same time ------------------------------------------------------------------------------------------------


def test_two_processes_with_the_same_log_at_once(root: Path, expected: Kept) -> None:
    """Each Event counts for one of them, and is a duplicate for the other."""
    applied = duplicates = 0
    with line_to(root) as one, line_to(root) as other:
        for each in LINES:
            one.give(each)
            other.give(each)
            answers = [counted(one.answer()), counted(other.answer())]
            applied += sum(answer[1] for answer in answers)
            duplicates += sum(answer[2] for answer in answers)
    assert (applied, duplicates) == (WHOLE, WHOLE)
    assert kept(root) == expected


def test_two_processes_from_the_two_ends_at_once(root: Path, expected: Kept) -> None:
    forwards, backwards = delivering(root, LINES), delivering(root, LINES[::-1])
    ends = [forwards.ended(), backwards.ended()]
    assert [(end.code, end.err) for end in ends] == [(0, b"")] * 2
    assert sorted(counted(end.record)[:3] for end in ends) == [(WHOLE, 0, WHOLE), (WHOLE, WHOLE, 0)]
    assert kept(root) == expected


def test_a_log_is_delivered_while_a_server_hands_out_work(root: Path, calm: Path) -> None:
    put_graph(root / ".metagit/tasks/graphs", "g", *(node(f"n{number:02}") for number in range(WHOLE)))
    put(root / ".metagit/schedule/policy.json", {"agent_slots": 99})
    leases = {}
    with Server(root, env=STILL) as server, line_to(root) as line:
        server.enter("2026-07-28")
        call = {"name": "metagit_schedule_next", "arguments": {"claim": True, "agent_id": "w1", "graph_id": "g"}}
        for sequence, each in enumerate(LINES, 1):
            request = server.begin("tools/call", call)
            assert counted(line.take(each))[:2] == (sequence, 1)
            (decision,) = server.answer(request)["result"]["structuredContent"]["decisions"]
            leases[decision["node_id"]] = decision["lease"]["lease_id"]
        found, other = state_of(root), state_of(calm)
        server.end()
    assert {lease.node_id: lease.lease_id for lease in found.leases.values()} == leases
    assert sorted(leases) == [f"n{number:02}" for number in range(WHOLE)]
    assert (found.feeds, found.items[G]) == (other.feeds, other.items[G])


def test_a_ledger_that_is_locked_for_too_long_is_said_and_nothing_is_applied(root: Path, expected: Kept) -> None:
    delivered(root, LINES[:9])
    before = kept(root)
    with closing(sqlite3.connect(root / LEDGER, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refused = asked(root, *deliver_words(root, LINES), code=5)
        other.execute("ROLLBACK")
    assert (refused["code"], refused["retryable"]) == ("STORE_UNAVAILABLE", True)
    assert kept(root) == before
    assert counted(delivered(root, LINES)) == (WHOLE, WHOLE - 9, 9, 0)
    assert kept(root) == expected


@pytest.mark.parametrize("most", [0, 8_192, 20_000])
def test_a_full_disk_takes_in_all_of_a_delivery_or_nothing(root: Path, expected: Kept, most: int) -> None:
    delivered(root, LINES[:9])
    before = kept(root)
    limits = {resource.RLIMIT_FSIZE: most}
    end = Run(root, *deliver_words(root, LINES[:8:-1]), "--json", env=STILL, limits=limits).ended()
    assert end.refusal == (5, "STORE_UNAVAILABLE")
    assert kept(root) == before
    assert counted(delivered(root, LINES)) == (WHOLE, WHOLE - 9, 9, 0)
    assert kept(root) == expected


# --- replaced, deleted, changed --------------------------------------------------------------------------------------


def test_a_deleted_ledger_is_made_again_from_the_log(root: Path, expected: Kept) -> None:
    delivered(root, LINES)
    shutil.rmtree(root / ".metagit/schedule")
    assert cursor(root) == 0
    assert counted(delivered(root, LINES)) == (WHOLE, WHOLE, 0, 0)
    assert kept(root) == expected


def test_an_older_ledger_in_its_place_goes_on_where_that_one_stood(root: Path, expected: Kept, tmp_path: Path) -> None:
    """A backup comes back under a process that delivers: what is missing since then is seen as a gap, not skipped."""
    delivered(root, LINES[:10])
    rows(root, "PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copyfile(root / LEDGER, tmp_path / "backup")
    with line_to(root) as line:
        for each in LINES[10:20]:
            line.take(each)
        for end in ("-wal", "-shm"):
            (root / (LEDGER + end)).unlink()
        (tmp_path / "backup").replace(root / LEDGER)
        assert counted(line.take(LINES[20])) == (10, 0, 0, 1)
    assert counted(delivered(root, LINES)) == (WHOLE, WHOLE - 10, 11, 0)
    assert kept(root) == expected


def test_a_log_that_begins_too_late_is_refused_and_the_copy_of_its_beginning_mends_it(
    root: Path, expected: Kept
) -> None:
    delivered(root, LINES[:10])
    before = kept(root)
    refused = asked(root, *deliver_words(root, LINES[14:]), "--first-sequence", "15", code=4)
    assert (refused["code"], refused["details"]["cursor"], refused["details"]["first"]) == ("CURSOR_TOO_OLD", 10, 15)
    assert kept(root) == before
    assert counted(delivered(root, LINES[10:14])) == (14, 4, 0, 0)
    delivered(root, LINES[14:])
    assert kept(root) == expected


def test_a_gap_that_is_never_filled_is_shown_and_harms_no_other_group(root: Path, calm: Path) -> None:
    assert counted(delivered(root, [*LINES[:4], *LINES[5:]])) == (4, 4, 0, 31)
    assert counted(delivered(root, of_group("group:two"), group_id="group:two")) == (WHOLE, WHOLE, 0, 0)
    stuck, well = (asked(root, "group", "show", name)["group"] for name in (G, "group:two"))
    assert (stuck["cursor"], stuck["held"], stuck["missing"]) == (4, 31, {"first": 5, "last": 5})
    assert well == {**asked(calm, "group", "show", G)["group"], "group_id": "group:two"}
    # It is still so for whoever looks later, and nothing else repairs it.
    assert counted(delivered(root, LINES[5:])) == (4, 0, 31, 31)
    assert counted(delivered(root, LINES[4:5])) == (WHOLE, 32, 0, 0)


def test_a_changed_event_of_the_ledger_is_found_and_an_untouched_ledger_is_not(root: Path) -> None:
    for part in parts(LINES, 18):
        delivered(root, part)
    asked(root, "group", "snapshot")
    assert asked(root, "group", "verify")["same"] is True
    assert asked(root, "group", "verify", G)["same"] is True
    with closing(sqlite3.connect(root / LEDGER)) as ledger, ledger:
        changed = "UPDATE event SET body = replace(body, 'agent://acme/coder', 'agent://acme/other') WHERE position = 1"
        assert ledger.execute(changed).rowcount == 1
    found = asked(root, "group", "verify", code=5)
    assert (found["same"], [(each["group_id"], each["same"]) for each in found["groups"]]) == (False, [(G, False)])
    assert asked(root, "group", "verify", G, code=5)["groups"] == found["groups"]


# --- long ------------------------------------------------------------------------------------------------------------


def test_an_event_of_long_ago_is_known_among_12_000(root: Path) -> None:
    talk = [LINES[17].replace(b'"sequence": 18', b'"sequence": %d' % at) for at in range(1, 12_001)]
    several = [each.replace(b"urn:missionweaveprotocol:event:", b"urn:%d:" % at) for at, each in enumerate(talk)]
    delivered(root, several)
    before = kept(root)
    again = [several[at] for at in (0, 1, 6_000, 11_999)]
    assert counted(delivered(root, again)) == (12_000, 0, 4, 0)
    other = several[0].replace(b'"correlationId": "', b'"correlationId": "x')
    assert asked(root, *deliver_words(root, [other]), code=4)["code"] == "EVENT_CONFLICT"
    assert kept(root) == before


def deliver_words(root: Path, lines: Sequence[bytes]) -> tuple[str, ...]:
    log = root.with_name("refused.jsonl")
    log.write_bytes(b"\n".join(lines))
    return "group", "deliver", str(log), "--group", G
