"""Two hosts with folders of their own work on one PostgreSQL ledger: each node goes to one of them, once.

Each host writes back into its own files. The account comes from the answers, from the files of both, and from the
ledger read with plain SQL.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.wire.codec import plain
from tests import ready
from tests.interfaces.cli.fake_runs import ROOT, WAIT_S, environment
from tests.scenarios.at_once import finished
from tests.scenarios.attack import Run, Server
from tests.scenarios.claiming import POLICY, refused
from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk
from tests.unit.application.diagnosed import found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.postgres_server import PostgresServer

NODES = [f"n{number:03d}" for number in range(200)]
NAME = "shop"
OpenHost = "Callable[..., Desk]"


@pytest.fixture
def host(tmp_path: Path, postgres: PostgresServer) -> Iterator[Callable[..., Desk]]:
    """Opens a host by its letter: a workspace of its own, and a process on it that names the ledger."""
    opened: list[Desk] = []

    def open_host(letter: str, *nodes: Any, surface: Any = "mcp", **settings: Any) -> Desk:  # noqa: ANN401 - as Desk
        root = tmp_path / letter
        (root / ".metagit" / "tasks" / "graphs").mkdir(parents=True, exist_ok=True)
        opened.append(Desk(root, surface, **{"ledger": postgres.url(), "workspace_id": NAME, **settings}))
        if nodes:
            opened[-1].graph("g", *nodes)
        return opened[-1]

    yield open_host
    for desk in opened:
        desk.application.close()


def kinds(postgres: PostgresServer) -> list[str]:
    """The kinds of all events, in their order."""
    return [kind for (kind,) in postgres.asked("SELECT kind FROM metagit_mcp.event ORDER BY position")]


def variables(postgres: PostgresServer, **more: str) -> dict[str, str]:
    return {"METAGIT_LEDGER": postgres.url(), "METAGIT_WORKSPACE_ID": NAME, **more}


# --- files of two hosts --------------------------------------------------------------------------------------------


def test_what_one_host_does_stands_in_the_files_of_both(host: Callable[..., Desk], postgres: PostgresServer) -> None:
    nodes = (node("a"), node("b", depends_on=["a"]))
    one, other = host("a", *nodes), host("b", *nodes)
    lease_id = one.lease("w1")
    assert other.taken("w2") == []
    other.flush()
    assert (one.statuses(), other.statuses()) == (dict.fromkeys("ab", "pending"), {"a": "running", "b": "pending"})
    one.report(lease_id, "completed")
    # Its row still says that it runs; the ledger says more.
    assert other.taken("w2") == ["b"]
    for desk in (one, other):
        desk.flush()
        assert desk.statuses() == {"a": "completed", "b": "running"}
    assert Counter(kinds(postgres)) == {"session_opened": 2, "work_started": 2, "work_completed": 1}


def test_a_stale_row_of_one_host_opens_nothing_that_another_finished(
    host: Callable[..., Desk], postgres: PostgresServer
) -> None:
    one, other = host("a", node("a")), host("b", node("a"))
    one.report(one.lease("w1"), "completed")
    one.flush()
    # As a checkout of an older state of the files leaves it.
    other.graph("g", node("a"))
    assert (other.taken("w2"), other.next(preview=True)["ready_count"]) == ([], 0)
    other.look_after()
    assert (one.statuses(), other.statuses()) == ({"a": "completed"}, {"a": "completed"})
    assert Counter(kinds(postgres)) == {
        "session_opened": 2,
        "work_started": 1,
        "work_completed": 1,
        "pool_rested": 1,
    }


def test_a_node_that_a_host_does_not_see_is_neither_offered_nor_harmed_by_it(
    host: Callable[..., Desk],
) -> None:
    one, other = host("a", node("b")), host("b", node("b"))
    one.graph("h", node("x", graph_id="h"), node("y", graph_id="h"))
    assert (one.taken("w1", graph_id="h"), one.taken("w1b", graph_id="h")) == (["x"], ["y"])
    assert refused(lambda: other.start("x", graph_id="h")) == "GRAPH_NOT_FOUND"
    assert (other.taken("w2"), other.taken("w3")) == (["b"], [])
    other.look_after()
    leases = other.application.current.state.leases
    assert sorted((each.graph_id, each.node_id, each.agent_id) for each in leases.values()) == [
        ("g", "b", "w2"),
        ("h", "x", "w1"),
        ("h", "y", "w1b"),
    ]
    doctor = plain(finished(host("b").application.maintenance.doctor(fix=True)))
    lacking = "is for a node that the files of this host lack"
    assert [(check, state, what.endswith(lacking)) for check, state, what in found(doctor)] == [
        ("leases", "note", True),
        ("leases", "note", True),
    ]
    assert len(one.application.current.state.leases) == 2
    one.flush()
    assert one.statuses("h") == {"x": "running", "y": "running"}


def test_an_act_of_another_program_in_the_files_of_one_host_counts_on_both(host: Callable[..., Desk]) -> None:
    one, other = host("a", node("a")), host("b", node("a"))
    lease_id = one.lease("w1")
    one.flush()
    other.flush()
    other.set_row("a", status="cancelled", updated_at="2026-12-01T13:00:00Z")
    other.look_after()
    assert refused(lambda: one.report(lease_id, "running")) == "WORK_STALE_OWNERSHIP"
    one.flush()
    assert one.statuses() == {"a": "cancelled"}


def test_a_lease_of_another_host_runs_out_by_the_clock_on_the_wall(host: Callable[..., Desk]) -> None:
    one, other = host("a", node("a")), host("b", node("a"))
    one.lease("w1", lease_seconds=600)
    other.set_clock(other.now(), 0, "another")
    other.wait(599)
    assert other.taken("w2") == []
    other.wait(2)
    assert other.taken("w2") == ["a"]


# --- processes -----------------------------------------------------------------------------------------------------


def test_processes_of_two_hosts_take_each_of_200_nodes_once(
    host: Callable[..., Desk], postgres: PostgresServer
) -> None:
    desks = [host(letter, *map(node, NODES)) for letter in "ab"]
    for desk in desks:
        desk.put(POLICY, {"agent_slots": 1_000})
    drainers = [
        ready.Popen(
            [sys.executable, "-m", "tests.scenarios.drainer", str(desks[number % 2].root), f"w{number}", "10"],
            cwd=ROOT,
            env=environment(**variables(postgres)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    got: Counter[str] = Counter()
    for drainer in drainers:
        assert drainer.stdout is not None
        assert drainer.stdout.readline() == "ready\n"
    for drainer in drainers:
        out, err = drainer.communicate("\n", timeout=3 * WAIT_S)
        assert (drainer.returncode, err) == (0, "")
        got.update(name for name, _ in json.loads(out))
    assert got == Counter(f"g/{name}" for name in NODES)
    assert Counter(kinds(postgres))["work_started"] == len(NODES)
    for desk in desks:
        desk.flush()
    assert desks[0].statuses() == desks[1].statuses()
    assert Counter(desks[0].statuses().values())["completed"] == Counter(kinds(postgres))["work_completed"]


@pytest.mark.parametrize("point", ["ledger.begun", "ledger.appended", "ledger.committed"])
def test_a_process_that_is_killed_in_its_turn_holds_up_nobody(
    host: Callable[..., Desk], postgres: PostgresServer, point: str
) -> None:
    one, other = host("a", node("a")), host("b", node("a"))
    one.update("a", title="listed")
    end = Run(
        one.root,
        "schedule",
        "next",
        "--claim",
        "--agent-id",
        "w1",
        "--json",
        env=variables(postgres, METAGIT_MCP_FAULT=point, METAGIT_MCP_CLOCK=f"@{one.clock}"),
    ).ended()
    assert (end.code, end.out, end.err.decode()) == (-signal.SIGKILL, b"", f"{point}\n")
    assert other.taken("w2") == ([] if point == "ledger.committed" else ["a"])
    assert Counter(kinds(postgres))["work_started"] == 1


def test_a_server_goes_on_after_its_ledger_was_away(host: Callable[..., Desk], postgres: PostgresServer) -> None:
    desk = host("a", node("a"), node("b"))
    with Server(desk.root, env=variables(postgres)) as server:
        server.enter("2026-07-28")
        lease = server.ask("work_start", node_id="a", agent_id="w1")["lease"]
        postgres.stop("immediate")
        away = [
            server.ask("schedule_next", claim=True, agent_id="w2"),
            server.ask("work_report", lease_id=lease["lease_id"], state="completed"),
            server.ask("schedule_status"),
        ]
        postgres.start()
        reported = server.ask("work_report", lease_id=lease["lease_id"], state="completed")
        assert (server.ask("schedule_next", claim=True, agent_id="w2")["decisions"][0]["node_id"]) == "b"
        server.end()
    assert [(each["code"], each["retryable"]) for each in away] == [("STORE_UNAVAILABLE", True)] * 3
    assert "s3cret" not in json.dumps(away)
    assert reported["node_status"] == "completed"


def test_what_needs_no_ledger_is_answered_without_it_and_the_doctor_names_it_without_the_password(
    host: Callable[..., Desk], postgres: PostgresServer
) -> None:
    desk = host("a", node("a"))
    desk.lease("w1")
    told = plain(finished(desk.application.maintenance.doctor(fix=False)))
    (fine,) = [(each["state"], each["what"]) for each in told["checks"] if each["check"] == "ledger"]
    place = postgres.url().partition("host=")[2]
    assert fine[0] == "fine"
    assert fine[1].partition("; ")[0].endswith(f" at postgresql://{place}/postgres, shared with other hosts")
    nowhere = "postgresql://ada:s3cret@127.0.0.1:1/shop"
    away = host("a", ledger=nowhere)
    assert [each["graph_id"] for each in away.listed()] == ["g"]
    assert refused(lambda: away.next(preview=True)) == refused(away.claim) == "STORE_UNAVAILABLE"
    doctor = Run(desk.root, "doctor", env={"METAGIT_LEDGER": nowhere, "METAGIT_WORKSPACE_ID": NAME}).ended()
    assert (doctor.code, doctor.err) == (5, b"")
    assert b"The ledger at postgresql://127.0.0.1:1/shop cannot be reached." in doctor.out
    assert b"s3cret" not in doctor.out
