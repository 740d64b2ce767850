"""The doctor says what is wrong with a ledger; the events are the authority, and only a snapshot is made anew."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.domain.state import LedgerState
from metagit_mcp.wire.codec import adapter
from metagit_mcp.wire.ledger_codec import state_record
from tests.unit.adapters.reading import node
from tests.unit.application.diagnosed import FIX, LEDGER, UNREAD, claimed, doctor, found, looked, mended, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.application.desk import Desk, Json


def test_the_files_beside_the_ledger_are_brought_in_step(desk: Desk) -> None:
    claimed(desk)
    identity = desk.path("schedule/workspace.json").read_text()
    desk.put("schedule/workspace.json", {"workspace_id": "another"})
    desk.path("schedule/.gitignore").unlink()
    before, during, after = mended(desk)
    texts = [f".metagit/schedule/{name} is not in step with the ledger" for name in ("workspace.json", ".gitignore")]
    assert before == [("ledger", "wrong", text, FIX) for text in texts]
    assert (during, after) == ([("ledger", "fixed", text) for text in texts], [])
    assert desk.path("schedule/workspace.json").read_text() == identity


def test_a_lost_ledger_is_told(desk: Desk) -> None:
    claimed(desk)
    named = desk.document("schedule/workspace.json")["workspace_id"]
    desk.application.close()
    for path in desk.path("schedule").glob("ledger.db*"):
        path.unlink()
    what = f".metagit/schedule/workspace.json names the ledger of workspace {named}, which is not there"
    assert mended(desk) == ([("ledger", "note", what)],) * 3
    assert not desk.path(LEDGER).exists()


MOVE_AWAY = (
    "To go on, stop all servers of this workspace and move the file away: the next claim makes a new ledger from the "
    "task graph files. Leases, attempts and checkpoints are then lost."
)


def damaged(desk: Desk) -> str:
    desk.path(LEDGER).write_bytes(b"no ledger at all " * 999)
    return f".metagit/schedule/ledger.db is damaged: SQLite cannot read it. {MOVE_AWAY}"


def too_new(desk: Desk) -> str:
    run(desk, ("PRAGMA user_version = 9", ()))
    return (
        ".metagit/schedule/ledger.db has schema version 9; this metagit-mcp knows versions up to 2. Use the newer "
        "metagit-mcp that wrote it (pip install --upgrade metagit-mcp), also in other servers."
    )


def no_file(desk: Desk) -> str:
    desk.path(LEDGER).unlink()
    desk.path(LEDGER).mkdir()
    return ".metagit/schedule/ledger.db is not a regular file but a folder."


@pytest.mark.parametrize("spoil", [damaged, too_new, no_file])
def test_a_ledger_that_cannot_be_opened_stops_no_other_check(desk: Desk, spoil: Callable[[Desk], str]) -> None:
    claimed(desk)
    desk.application.close()
    what = spoil(desk)
    desk.path("schedule/policy.json").write_text("[]")
    desk.path("tasks/graphs/half.json").write_text("{")
    desk.path("schedule/decisions.jsonl").write_text("garbage\n")
    before, during, after = mended(desk)
    log = ".metagit/schedule/decisions.jsonl: no JSON: line 1"
    assert [each[:2] for each in before[:2]] == [("policy", "wrong"), ("graphs", "wrong")]
    assert before[2:] == [("logs", "wrong", log, FIX), ("ledger", "wrong", what), *UNREAD]
    assert during == [*before[:2], ("logs", "fixed", log), *before[3:]]
    assert after == [*before[:2], *before[3:]]


def test_a_gap_in_the_ledger_is_named_and_nothing_is_written_from_it(desk: Desk) -> None:
    claimed(desk)
    desk.report(desk.lease("w2"), "running")
    run(desk, ("DELETE FROM event WHERE position = 3", ()))
    rows = desk.path("tasks/graphs/g.json").read_text()
    name = ".metagit/schedule/ledger.db is damaged"
    gap = [
        ("ledger", "wrong", f"{name}: event 3 is missing."),
        ("ledger", "wrong", f"{name}: an event after position 0 is missing. {MOVE_AWAY}"),
        *UNREAD,
    ]
    assert mended(desk) == (gap,) * 3
    assert desk.path("tasks/graphs/g.json").read_text() == rows


EXPIRED = '{"at": "2026-12-01T12:00:00Z", "lease_id": "L-none"}'


@pytest.mark.parametrize(
    ("kind", "body", "what"),
    [
        ("work_started", "{", "An event work_started of the ledger cannot be read"),
        ("work_sung", "{}", "The ledger has an event work_sung of version 1, which this version does not know."),
        ("lease_expired", EXPIRED, "An event lease_expired of the ledger speaks of L-none, which is not there."),
    ],
)
def test_an_event_that_makes_no_sense_is_told(desk: Desk, kind: str, body: str, what: str) -> None:
    claimed(desk)
    run(desk, ("UPDATE event SET kind = ?, body = ? WHERE position = 2", (kind, body.encode())))
    (wrong, *rest) = looked(desk, fix=True)
    assert (wrong[:2], rest) == (("ledger", "wrong"), UNREAD)
    assert wrong[2].startswith(what)
    assert "doctor" not in wrong[2]


def test_a_state_in_which_rules_are_broken_is_told_and_not_written_back(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.plan(nodes=[{"title": "C", "node_id": "c"}], graph_id="g")
    lease_id = desk.start("a")["lease"]["lease_id"]
    ((body,),) = run(desk, ("SELECT body FROM event WHERE position = 2", ()))
    started = json.loads(body)
    started["lease"]["session_epoch"] = 7
    run(desk, ("UPDATE event SET body = ? WHERE position = 2", (json.dumps(started).encode(),)))
    desk.wait(6)
    answer = doctor(desk, fix=True)
    broken = [each for each in found(answer) if each[0] == "ledger"]
    assert ("ledger", "wrong", f"after all events lease {lease_id} is of session 7, and its agent is in 1") in broken
    assert ("files", "wrong", "graph g: not written back yet: a", FIX) in found(answer)
    assert answer["warnings"] == ["the ledger is not sound: nothing is written from it"]
    assert (answer["fixed"], desk.statuses()["a"]) == (0, "pending")


def put_snapshot(
    desk: Desk, body: bytes, position: int = 2, workspace_id: str | None = None, *, version: int = 1
) -> None:
    ((own,),) = run(desk, ("SELECT workspace_id FROM ledger", ()))
    row = (own if workspace_id is None else workspace_id, position, version, body)
    run(desk, ("INSERT INTO snapshot (workspace_id, position, version, body) VALUES (?, ?, ?, ?)", row))


def told(state: LedgerState) -> Json:
    """A state as version 1 of snapshots tells it: all in one line, each item by itself."""
    one_by_one: Json = json.loads(adapter(LedgerState).dump_json(state, exclude={"terms"}, exclude_defaults=True))
    return one_by_one


def test_a_snapshot_that_the_events_do_not_lead_to_is_made_anew(desk: Desk) -> None:
    lease_id = claimed(desk)
    state = told(desk.application.current.state)
    state["items"]["g"]["a"]["state"] = "open"
    put_snapshot(desk, json.dumps(state).encode())
    desk.report(lease_id, "running", usage={"tokens": 5})
    before, during, after = mended(desk)
    what = (
        "the newest snapshot is not what the events lead to, first at /items/g/a/state: restart the servers once mended"
    )
    assert (before[0], during, after) == (("ledger", "wrong", what, FIX), [("ledger", "fixed", what)], [])
    rows = run(desk, ("SELECT position, body FROM snapshot", ()))
    run(desk, ("DELETE FROM snapshot", ()))
    afresh = desk.beside()
    afresh.status()
    assert rows == [(len(desk.events()), state_record(afresh.application.current.state))]


def test_a_snapshot_with_other_shares_is_one_that_the_events_do_not_lead_to(desk: Desk) -> None:
    claimed(desk)
    state = told(desk.application.current.state)
    state["shares"]["pools"][""]["levels"]["normal"]["flows"]["g"]["tag"] += 1
    put_snapshot(desk, json.dumps(state).encode())
    before, during, after = mended(desk)
    where = "/shares/pools//levels/normal/flows/g/tag"
    what = f"the newest snapshot is not what the events lead to, first at {where}: restart the servers once mended"
    assert (before[0], during, after) == (("ledger", "wrong", what, FIX), [("ledger", "fixed", what)], [])


def test_shares_in_which_rules_are_broken_are_told(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.lease()
    ((body,),) = run(desk, ("SELECT body FROM event WHERE position = 2", ()))
    started = json.loads(body)
    (level,) = [each for each in started["dispatch"]["pick"]["levels"] if each["level"] == "normal"]
    level["virtual"] += 9_000_000
    tag = level["flows"]["g"]["tag"]
    run(desk, ("UPDATE event SET body = ? WHERE position = 2", (json.dumps(started).encode(),)))
    said = f"after all events level 'normal' of pool '': g is eligible at {tag}, below V {level['virtual']}"
    assert ("ledger", "wrong", said) in looked(desk)


def test_no_snapshot_is_made_of_a_state_in_which_rules_are_broken(desk: Desk) -> None:
    lease_id = claimed(desk)
    put_snapshot(desk, json.dumps(told(desk.application.current.state)).encode())
    ((body,),) = run(desk, ("SELECT body FROM event WHERE position = 2", ()))
    started = json.loads(body)
    started["lease"]["session_epoch"] = 7
    run(desk, ("UPDATE event SET body = ? WHERE position = 2", (json.dumps(started).encode(),)))
    before, during, after = mended(desk)
    differs = "the newest snapshot is not what the events lead to, first at /items/g/a/owner_session"
    assert [each[1:] for each in before if each[0] == "ledger"] == [
        ("wrong", f"after all events lease {lease_id} is of session 7, and its agent is in 1"),
        ("wrong", "after all events node a of g is active and is owned by session 7 of w1"),
        ("wrong", f"{differs}: restart the servers once mended"),
    ]
    assert (during, after) == (before, before)


@pytest.mark.parametrize(("version", "body"), [(1, b"{"), (2, b"{}"), (2, b"{}\n")])
def test_a_snapshot_that_cannot_be_read_is_made_anew(desk: Desk, version: int, body: bytes) -> None:
    claimed(desk)
    put_snapshot(desk, body, version=version)
    before, during, after = mended(desk)
    ledger = before[0]
    assert ledger[:2] + ledger[3:] == ("ledger", "wrong", FIX)
    assert ledger[2].startswith("A snapshot of the ledger cannot be read")
    assert before[1:] == UNREAD
    # What could not be looked at before is looked at now.
    assert (during, after) == ([("ledger", "fixed", ledger[2])], [])


@pytest.mark.parametrize(("position", "workspace_id"), [(2, "another"), (99, None)])
def test_a_snapshot_of_another_ledger_is_passed_over(desk: Desk, position: int, workspace_id: str | None) -> None:
    lease_id = claimed(desk)
    put_snapshot(desk, b"{}", position, workspace_id)
    assert looked(desk) == []
    assert desk.beside().report(lease_id, "completed")["node_status"] == "completed"
    assert looked(desk, fix=True)[0] == ("files", "fixed", "graph g: not written back yet: a")


def test_a_long_ledger_is_read_in_pages(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagit_mcp.application.upkeep.soundness._PAGE", 3)
    claimed(desk)
    for number in range(8):
        desk.pause("agent", f"agent-{number}")
    assert looked(desk) == []
    assert doctor(desk)["checks"][5]["what"].endswith("; its state follows from its events, 10 so far")
