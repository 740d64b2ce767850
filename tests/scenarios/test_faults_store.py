"""The ledger is locked, full, damaged, gone or too new: nothing acknowledged is lost, nothing is claimed blindly."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.errors import MetagitError
from tests.scenarios.attack import Run, Server
from tests.scenarios.claiming import given, held, refusal, refused
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LEDGER = "schedule/ledger.db"
BESIDE = ("-wal", "-shm")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(tmp_path)
    desk.graph("g", *(node(name) for name in "abc"))
    return desk


def closed(desk: Desk) -> Path:
    """A ledger with two leases, closed so that all of it lies in its file."""
    desk.lease("w1")
    desk.lease("w2")
    desk.flush()
    desk.application.close()
    path = desk.path(LEDGER)
    with closing(sqlite3.connect(path)) as ledger:
        ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


# --- locked ----------------------------------------------------------------------------------------------------------


def test_a_ledger_that_another_program_locks_is_waited_for_and_then_said(desk: Desk) -> None:
    """A real server against a connection that holds the write lock for longer than it may wait."""
    lease_id = desk.lease("w1")
    events = desk.events()
    with (
        closing(sqlite3.connect(desk.path(LEDGER), isolation_level=None)) as other,
        Server(desk.root, env={"METAGIT_MCP_CLOCK": f"@{desk.clock}"}) as server,
    ):
        server.enter("2026-07-28")
        server.ask("schedule_status")
        other.execute("BEGIN IMMEDIATE")
        refusal_of_claim = server.ask("schedule_next", claim=True, agent_id="w2")
        assert (refusal_of_claim["code"], refusal_of_claim["retryable"]) == ("STORE_UNAVAILABLE", True)
        # Readers are not in the way of a writer.
        assert [each["node_id"] for each in server.ask("schedule_status")["running"]] == ["a"]
        assert given(server.ask("schedule_next", agent_id="w2", preview=True)) == ["b"]
        other.execute("ROLLBACK")
        assert desk.events() == events
        assert given(server.ask("schedule_next", claim=True, agent_id="w2")) == ["b"]
        assert server.ask("work_report", lease_id=lease_id, state="completed")["node_status"] == "completed"
        server.end()


# --- full ------------------------------------------------------------------------------------------------------------


def limit_pages(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """The connections that are opened from now on."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*arguments: Any, **options: Any) -> sqlite3.Connection:  # noqa: ANN401 - passed on as they are
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    return opened


def test_a_full_database_acknowledges_nothing_and_goes_on_when_there_is_room(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = desk.lease("w1")
    desk.application.close()
    opened = limit_pages(monkeypatch)
    full = desk.beside()
    assert given(full.next(agent_id="w2")) == ["b"]
    (connection,) = opened
    connection.execute("PRAGMA max_page_count = 1")
    answered: list[str] = []

    def fill() -> None:
        """A few events may fit into the last page."""
        while len(answered) < 200:
            answer = full.report(first, "checkpointed", note=f"{len(answered)} {'x' * 900}")
            answered.append(answer["lease"]["lease_id"])

    error = refusal(fill)
    assert (error.code, error.retryable, full.events().count("work_checkpointed")) == (
        "STORE_UNAVAILABLE",
        True,
        len(answered),
    )
    # Reading goes on; so does the file of the plan.
    assert held_of(full, "a") == ["leased(by w1, until 2026-12-01T12:15:00Z)"]
    connection.execute("PRAGMA max_page_count = 1000000")
    assert full.report(first, "completed")["node_status"] == "completed"
    assert full.taken("w2") == ["b"]


def held_of(desk: Desk, node_id: str) -> list[str]:
    return [each["text"] for each in desk.status(node_id=node_id)["explain"]["reasons"]]


@pytest.mark.parametrize("most", [0, 4_096])
def test_a_full_disk_refuses_the_claim_and_keeps_what_was_there(desk: Desk, most: int) -> None:
    first = desk.lease("w1")
    desk.flush()
    events, clock = desk.events(), {"METAGIT_MCP_CLOCK": f"@{desk.clock}"}
    limits = {resource.RLIMIT_FSIZE: most}
    end = Run(desk.root, "schedule", "next", "--claim", "--json", env=clock, limits=limits).ended()
    assert end.refusal == (5, "STORE_UNAVAILABLE")
    assert (desk.events(), held(desk, "w1")) == (events, [("a", first)])
    assert desk.taken("w2") == ["b"]


def test_a_full_disk_before_the_first_claim_leaves_no_half_ledger(desk: Desk) -> None:
    limits = {resource.RLIMIT_FSIZE: 1_000}
    end = Run(desk.root, "schedule", "next", "--claim", "--json", limits=limits).ended()
    assert end.refusal == (5, "STORE_UNAVAILABLE")
    assert not desk.path(LEDGER).exists()
    assert desk.taken("w2") == ["a"]


# --- damaged, too new ------------------------------------------------------------------------------------------------


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as ledger:
        ledger.execute("PRAGMA user_version = 7")


def no_event(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as ledger:
        ledger.execute("DELETE FROM event WHERE position = 2")


def odd_event(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as ledger:
        ledger.execute("UPDATE event SET body = '{\"at\": 5}' WHERE position = 2")


def unknown_event(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as ledger:
        ledger.execute("UPDATE event SET kind = 'work_imagined' WHERE position = 2")


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "garbage": (lambda path: path.write_bytes(b"not a database " * 999), "STORE_CORRUPT"),
    "emptied": (lambda path: path.write_bytes(b""), "STORE_CORRUPT"),
    "cut": (lambda path: os.truncate(path, 5_000), "STORE_CORRUPT"),
    "cut to a page": (lambda path: os.truncate(path, 4_096), "STORE_CORRUPT"),
    "another database": (lambda path: path.write_bytes(b"SQLite format 3\0" + b"\0" * 4_080), "STORE_CORRUPT"),
    "a gap": (no_event, "STORE_CORRUPT"),
    "an event that is none": (odd_event, "STORE_CORRUPT"),
    "an unknown event": (unknown_event, "STORE_TOO_NEW"),
    "a newer version": (newer, "STORE_TOO_NEW"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_ledger_that_cannot_be_read_stops_claims_and_is_left_as_it_is(desk: Desk, kind: str) -> None:
    path = closed(desk)
    damage, code = DAMAGE[kind]
    damage(path)
    raw, graph = path.read_bytes(), desk.path("tasks/graphs/g.json").read_bytes()
    other = desk.beside()
    calls: dict[str, Callable[[], object]] = {
        "claim": lambda: other.claim("w3"),
        "advice": other.next,
        "start": lambda: other.start("c", "w3"),
        "report": lambda: other.report("L-AAAAAAAAAAAA", "running"),
        "status": other.status,
        "pause": lambda: other.pause("workspace"),
    }
    errors = {name: refusal(call) for name, call in calls.items()}
    assert {name: error.code for name, error in errors.items()} == dict.fromkeys(calls, code)
    assert all(error.hint for error in errors.values())
    # What needs no ledger goes on: the plan can be read.
    assert [len(each["nodes"]) for each in other.listed()] == [3]
    other.look_after()
    other.end()
    assert (path.read_bytes(), desk.path("tasks/graphs/g.json").read_bytes()) == (raw, graph)


def server_says(server: Desk) -> str:
    try:
        return "".join(given(server.next()))
    except MetagitError as error:
        return error.code


def test_a_ledger_that_is_put_back_is_used_again(desk: Desk) -> None:
    path = closed(desk)
    copy = path.read_bytes()
    server = desk.beside()
    assert given(server.next()) == ["c"]
    for damage, code in DAMAGE.values():
        path.unlink()
        for end in BESIDE:
            path.with_name(path.name + end).unlink(missing_ok=True)
        path.write_bytes(copy)
        damage(path)
        assert refused(desk.beside().next) == code
        # Who read those events before does not read them again to answer.
        assert server_says(server) in {code, "c"}
    path.unlink()
    path.write_bytes(copy)
    # What it said of the damage it says no more, though nothing else has changed.
    assert given(server.next()) == ["c"]
    assert given(server.claim("w3")) == ["c"]
    assert [name for name, _ in held(server, "w1")] == ["a"]


# --- deleted, replaced -----------------------------------------------------------------------------------------------


def workspace_id(desk: Desk) -> str:
    found: str = desk.document("schedule/workspace.json")["workspace_id"]
    return found


@pytest.mark.parametrize("under_a_server", [False, True])
def test_a_deleted_ledger_is_rebuilt_from_the_files(desk: Desk, *, under_a_server: bool) -> None:
    """What ran is seen as a run that nobody holds a lease of; a new workspace id is drawn."""
    if under_a_server:
        lease_id, former = desk.lease("w1"), ""
        desk.flush()
        former = workspace_id(desk)
        for end in ("", *BESIDE):
            desk.path(LEDGER + end).unlink(missing_ok=True)
        server = desk
    else:
        lease_id, former = desk.lease("w1"), workspace_id(desk)
        desk.flush()
        desk.application.close()
        shutil.rmtree(desk.path("schedule"))
        server = desk.beside()
    assert given(server.next()) == ["b"]
    assert held_of(server, "a")[0].startswith("observed(until ")
    assert refused(lambda: server.report(lease_id, "completed")) == "LEASE_NOT_FOUND"
    assert server.taken("w2") == ["b"]
    # The run is charged once more: what was charged before is lost with the ledger.
    assert workspace_id(server) != former
    assert server.events() == ["session_opened", "run_seen", "work_started"]
    # Its agent, or a person, says in the file that it is done.
    server.set_row("a", status="completed", updated_at="2026-12-01T12:00:02+00:00")
    assert server.status()["counts"]["finished"] == 1


def test_a_ledger_of_another_workspace_in_its_place_is_that_ledger(desk: Desk, tmp_path: Path) -> None:
    """A copy of a folder, or a restored backup: what it says counts, and nothing of the former is mixed in."""
    other = tmp_path / "other"
    (other / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    theirs = Desk(other)
    theirs.graph("g", *(node(name) for name in "abc"))
    theirs.start("c", "w9")
    theirs.application.close()
    desk.lease("w1")
    desk.flush()
    shutil.copyfile(theirs.path(LEDGER), tmp_path / "copy")
    (tmp_path / "copy").replace(desk.path(LEDGER))
    answer = desk.claim("w2")
    assert given(answer) == ["b"]
    assert held_of(desk, "c") == ["leased(by w9, until 2026-12-01T12:15:00Z)"]
    assert held_of(desk, "a")[0].startswith("observed(")
    assert [node_id for node_id, _ in held(desk, "w9")] == ["c"]
