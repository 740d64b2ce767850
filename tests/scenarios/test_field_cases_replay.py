"""What users of comparable schedulers reported, in our terms: logs that come twice, late or with gaps, and old copies.

Each test has the number of its row in section H of the field cases, and tries other inputs of the same kind.
"""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.wire.ledger_codec import state_record
from tests.groups import commands
from tests.groups.offered import CAPABLE, at_the_beginning, deliver, offering
from tests.groups.oracle import group_after
from tests.groups.real_events import LINES
from tests.groups.streams import SeededLots, log_of
from tests.scenarios.claiming import given, refused, told
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW, Desk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.groups.authority import Item

Json = dict[str, Any]
G = "group:cli"
AGENT = "agent://acme/analyst"
REAL: list[Json] = [json.loads(line) for line in LINES]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "w" / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    return Desk(tmp_path / "w")


def ledger(desk: Desk) -> tuple[int, bytes]:
    """How long the ledger is, and the state to which it leads for a process that begins now."""
    fresh = desk.beside()
    fresh.status()
    return len(desk.events()), state_record(fresh.application.current.state)


def states(desk: Desk, group_id: str = G) -> dict[str, str]:
    """What the log of the Group says of each WorkItem."""
    desk.status()
    items = desk.application.current.state.items.get(group_id, {})
    return {name: item.fed.state for name, item in sorted(items.items()) if item.fed is not None}


def said(events: Sequence[Json]) -> dict[str, str]:
    """The same by the oracle."""
    return {name: item["state"] for name, item in sorted(group_after(events)["items"].items())}


def reached(desk: Desk, events: Sequence[Json], **declared: object) -> tuple[int, int, int]:
    """Deliver; return the Cursor, how many were applied, and how many are held."""
    answer = deliver(desk, events, G, **declared)
    return answer["cursor"], answer["applied"], answer["held"]


# --- what was there stays --------------------------------------------------------------------------------------------


def test_140_what_comes_later_leaves_what_was_there(desk: Desk) -> None:
    """Row 140: a second import drops the open tasks of the first."""
    desk.graph("g", node("a"), node("b", depends_on=["a"]), mine=[1])
    deliver(desk, REAL[:9])
    former = desk.path("tasks/graphs/g.json").read_bytes(), states(desk)
    desk.plan("Other", nodes=[{"title": "One", "node_id": "a"}])
    deliver(desk, [{**each, "groupId": "group:two"} for each in REAL], "group:two")
    assert (desk.path("tasks/graphs/g.json").read_bytes(), states(desk)) == former
    desk.plan("More", graph_id="g", nodes=[{"title": "Three", "node_id": "c"}])
    rows = {row["node_id"]: row for row in desk.document("tasks/graphs/g.json")["nodes"]}
    assert (sorted(rows), rows["b"]["depends_on"]) == (["a", "b", "c"], ["a"])
    # Nor does it go with the process that wrote it.
    desk.end()
    assert sorted(path.name for path in desk.path("tasks/graphs").glob("*.json")) == ["g.json", "other.json"]
    assert states(desk.beside()) == former[1]


@pytest.mark.parametrize("age", [-3_600, -1, 0])
@pytest.mark.parametrize("status", ["ready", "pending", "running", "blocked"])
def test_145_an_older_copy_of_a_file_reopens_nothing(desk: Desk, status: str, age: int) -> None:
    """Row 145: what was finished since is open again in the copy."""
    desk.graph("g", node("a"), node("b"))
    desk.report(desk.lease("w1"), "completed")
    desk.flush()
    desk.set_row("a", status=status, updated_at=(NOW + timedelta(seconds=age)).isoformat())
    assert given(desk.next()) == ["b"]
    desk.flush()
    assert desk.statuses() == {"a": "completed", "b": "pending"}


@pytest.mark.parametrize("known", [9, 20, 36])
def test_145_an_older_copy_of_a_log_takes_nothing_back(desk: Desk, known: int) -> None:
    deliver(desk, REAL[:known])
    before = ledger(desk)
    for end in range(1, known + 1, 4):
        assert deliver(desk, REAL[:end])["duplicates"] == end
    assert ledger(desk) == before
    # What another copy says at a place that is passed is no news, but a mistake.
    assert refused(lambda: deliver(desk, [{**REAL[0], "correlationId": "restored"}])) == "EVENT_CONFLICT"
    assert ledger(desk) == before


@pytest.mark.parametrize("how", ["completed", "cancelled"])
def test_146_a_node_made_again_under_the_id_of_one_that_is_over_is_new_work(desk: Desk, how: str) -> None:
    """Row 146: the new node is taken for the deleted one."""
    desk.graph("g", node("x"), node("y", status="completed"))
    first = desk.start("x")["lease"]
    if how == "completed":
        desk.report(first["lease_id"], "completed")
    else:
        desk.set_row("x", status="cancelled", updated_at=(NOW + timedelta(seconds=1)).isoformat())
    assert given(desk.claim("w2")) == []
    desk.flush()
    desk.graph("g", node("y", status="completed"))
    assert given(desk.claim("w2")) == []
    desk.wait(5)
    again = (NOW + timedelta(seconds=5)).isoformat()
    desk.graph("g", node("x", status="ready", created_at=again, updated_at=again), node("y", status="completed"))
    (decision,) = desk.claim("w2")["decisions"]
    assert (decision["node_id"], decision["lease"]["ownership_epoch"]) == ("x", first["ownership_epoch"] + 1)
    # Whoever worked on the former one has no part in it.
    assert refused(lambda: desk.report(first["lease_id"], "completed")) == "WORK_STALE_OWNERSHIP"


# --- twice -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [1, 12, 24, 36])
def test_148_any_end_of_the_real_log_comes_again_after_a_crash(desk: Desk, known: int) -> None:
    """Row 148: the last seconds before a crash are replayed, and are counted twice."""
    deliver(desk, REAL[:known])
    before = ledger(desk)
    for first in range(known):
        for process in (desk, desk.beside()):
            answer = deliver(process, REAL[first:known])
            assert (answer["cursor"], answer["applied"], answer["duplicates"]) == (known, 0, known - first)
    assert ledger(desk) == before
    assert states(desk) == said(REAL[:known])


@pytest.mark.parametrize("seed", [21, 22, 23])
def test_148_any_end_of_a_drawn_log_comes_again_with_what_follows(desk: Desk, seed: int) -> None:
    log = log_of(SeededLots(seed), least=40).events
    applied = 0
    for known in range(7, len(log) + 7, 7):
        answer = deliver(desk.beside(), log[max(0, known - 19) : known])
        applied += answer["applied"]
    assert (applied, states(desk)) == (len(log), said(log))


def test_148_what_agents_did_counts_once_too(desk: Desk) -> None:
    """Slots, charges and the outbox are as after one delivery."""
    at_the_beginning(desk)
    group = offering(G, items=2)
    deliver(desk, group.log)
    lease = desk.claim(AGENT, capabilities=CAPABLE)["decisions"][0]["lease"]
    item = group.items[lease["node_id"]]
    commands.accept(group, (item, AGENT))
    commands.start(group, item)
    deliver(desk, group.log)
    before, shares = ledger(desk), desk.application.current.state.shares
    for first in range(len(group.log)):
        assert deliver(desk.beside(), group.log[first:])["applied"] == 0
    assert ledger(desk) == before
    desk.status()
    assert desk.application.current.state.shares == shares
    desk.report(lease["lease_id"], "completed")
    commands.submit(group, item)
    commands.accept_result(group, item)
    deliver(desk, group.log)
    assert (states(desk)[item.work_id], deliver(desk, group.log)["applied"]) == ("verified", 0)


# --- gaps ------------------------------------------------------------------------------------------------------------


def test_149_nothing_is_applied_before_its_turn(desk: Desk) -> None:
    """Row 149, as it stands: 1, 2, 4, and then 3."""
    assert [reached(desk, [REAL[at - 1]]) for at in (1, 2, 4, 3)] == [(1, 1, 0), (2, 1, 0), (2, 0, 1), (4, 2, 0)]
    assert states(desk) == said(REAL[:4])


def calling_off(desk: Desk) -> tuple[list[Json], Item]:
    """A log whose last Event calls off its one WorkItem, which was authorized and offered."""
    at_the_beginning(desk)
    group = offering(G)
    (item,) = group.items.values()
    commands.cancel(group, item)
    return group.log, item


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_149_what_was_called_off_never_comes_back(desk: Desk, order: tuple[int, ...]) -> None:
    """The end of the work comes before what offers it, in any order."""
    log, item = calling_off(desk)
    deliver(desk, log[:-3])
    come: set[int] = set()
    for at in order:
        come.add(at)
        deliver(desk, [log[at - 3]])
        runnable = given(desk.next(agent_id=AGENT, capabilities=CAPABLE))
        assert runnable == ([item.work_id] if come == {0, 1} else [])
    assert states(desk) == {item.work_id: "cancelled"}


@pytest.mark.parametrize("missing", [1, 5, 20, 35])
def test_149_a_gap_holds_all_that_lies_beyond_it_however_long_it_lasts(desk: Desk, missing: int) -> None:
    rest = REAL[missing:]
    deliver(desk, REAL[: missing - 1] or rest)
    deliver(desk, rest)
    desk.wait(7 * 86_400)
    process = desk.beside()
    process.look_after()
    assert reached(process, rest[-1:]) == (missing - 1, 0, 36 - missing)
    assert states(process) == (said(REAL[: missing - 1]) if missing > 1 else {})
    assert reached(process, [REAL[missing - 1]]) == (36, 37 - missing, 0)
    assert states(desk) == said(REAL)


def test_151_a_place_is_no_index(desk: Desk) -> None:
    """Row 151: 5 follows 2 only where 3 and 4 are declared absent."""
    assert reached(desk, [REAL[0], REAL[1], REAL[4]]) == (2, 2, 1)
    assert reached(desk, REAL[4:5]) == (2, 0, 1)
    # What was held is not lost with the declaration.
    assert reached(desk, [REAL[8]], filtered=True) == (9, 2, 0)
    assert reached(desk, [REAL[0], REAL[4], REAL[8]]) == (9, 0, 0)
    # A place that was passed stays passed.
    assert refused(lambda: deliver(desk, [REAL[2]])) == "EVENT_CONFLICT"


@pytest.mark.parametrize("first", [2, 10, 35])
def test_151_a_log_that_begins_later_is_counted_from_there(desk: Desk, first: int) -> None:
    assert reached(desk, REAL[first - 1 : first], first_sequence=first) == (first, 1, 0)
    assert reached(desk, REAL[first:]) == (36, 36 - first, 0)
    assert refused(lambda: deliver(desk, REAL[: first - 1])) == "EVENT_CONFLICT"
    # Without the declaration the same is a gap.
    other = [{**each, "groupId": "group:two"} for each in REAL[first - 1 :]]
    assert deliver(desk, other, "group:two")["cursor"] == 0


@pytest.mark.parametrize("order", [*permutations((1, 2, 3))])
def test_152_the_cursor_is_what_is_whole_and_each_effect_comes_once(desk: Desk, order: tuple[int, ...]) -> None:
    """Row 152: a Cursor at the highest place that was seen passes over what is missing, or shows it again."""
    reaching, come = [], set()
    for at in order:
        come.add(at)
        whole = next(place for place in range(4) if place + 1 not in come)
        cursor, applied, held = reached(desk, [REAL[at - 1]])
        assert (cursor, held) == (whole, len(come) - whole)
        reaching.append(applied)
    assert sum(reaching) == 3
    # Whoever asks again and again sees nothing again.
    before = ledger(desk)
    assert [reached(desk, REAL[:3]) for _ in range(3)] == [(3, 0, 0)] * 3
    assert ledger(desk) == before
    facts = [fact for each in told(desk, "group_events_applied") for fact in each["facts"]]
    members = [(2, "agent://acme/coder"), (3, "agent://acme/reviewer")]
    assert [(fact["sequence"], fact["agent_id"]) for fact in facts] == members
