"""Work over the raw wire, between real processes: claims, leases that follow their connection, and sessions."""

from __future__ import annotations

import fcntl
import signal
from typing import TYPE_CHECKING

import pytest

from tests.interfaces.mcp.live import (
    NEXT,
    REPORT,
    START,
    STATUS,
    LiveServer,
    node,
    statuses,
    until,
    write_graph,
)
from tests.interfaces.mcp.raw_wire import ERAS
from tests.soon import soon

if TYPE_CHECKING:
    from pathlib import Path

CLEAN_ENDS = (None, signal.SIGTERM, signal.SIGINT)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    write_graph(tmp_path, node("one", priority=2), node("two", priority=1))
    return tmp_path


@pytest.mark.parametrize("era", ERAS)
def test_an_agent_takes_a_node_works_on_it_and_gives_it_back_done(shop: Path, era: str) -> None:
    with LiveServer(shop, era=era) as server:
        first = server.ask(NEXT, claim=True)
        (decision,) = first["decisions"]
        lease = decision["lease"]
        assert (decision["node_id"], first["held"], lease["node_id"]) == ("one", [], "one")
        # The reply may have been lost: asking again shows what is held, and gives no second node.
        again = server.ask(NEXT, claim=True)
        assert (again["decisions"], [each["lease_id"] for each in again["held"]]) == ([], [lease["lease_id"]])
        until(lambda: statuses(shop)["one"] == "running")
        running = server.ask(REPORT, lease_id=lease["lease_id"], state="running")
        assert (running["node_status"], running["released_slot"]) == ("active", False)
        done = server.ask(REPORT, lease_id=lease["lease_id"], state="completed", result={"summary": "Built"})
        assert (done["node_status"], done["released_slot"], done.get("lease")) == ("completed", True, None)
        until(lambda: statuses(shop)["one"] == "completed")
        named = server.ask(START, node_id="two")
        assert named["lease"]["node_id"] == "two"
        assert server.close() == 0
        assert server.stderr == ""
    assert statuses(shop) == {"one": "completed", "two": "ready"}


def test_the_files_follow_soon(shop: Path) -> None:
    with LiveServer(shop) as server:
        for attempt in soon():
            lease = server.claim()
            with attempt:
                until(lambda taken=lease["node_id"]: statuses(shop)[taken] == "running")  # type: ignore[misc]  # a default binds it
            server.ask(REPORT, lease_id=lease["lease_id"], state="released")


@pytest.mark.parametrize("end", CLEAN_ENDS, ids=lambda end: end.name if end else "end of input")
def test_a_clean_end_releases_what_the_connection_took(shop: Path, end: signal.Signals | None) -> None:
    with LiveServer(shop) as server, LiveServer(shop) as other:
        server.claim(agent_id="team/one")
        server.claim(agent_id="team/two")
        until(lambda: statuses(shop) == {"one": "running", "two": "running"})
        assert other.ask(NEXT, claim=True)["decisions"] == []
        assert (server.close() if end is None else server.stop(end)) == 0
        assert server.stderr == ""
        assert statuses(shop) == {"one": "ready", "two": "ready"}
        assert other.claim()["node_id"] == "one"


def test_a_clean_end_releases_nothing_that_others_took(shop: Path) -> None:
    with LiveServer(shop) as server, LiveServer(shop) as other:
        theirs = other.claim()
        server.claim()
        # Naming a lease is enough to report on it, and does not make it one's own.
        server.ask(REPORT, lease_id=theirs["lease_id"], state="running")
        assert server.close() == 0
        assert other.ask(REPORT, lease_id=theirs["lease_id"], state="running")["node_status"] == "active"
        assert other.ask(STATUS)["counts"]["running"] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_ledger_that_another_program_holds_does_not_keep_the_server(shop: Path, number: signal.Signals) -> None:
    # Hosts kill what is not gone some seconds after they asked.
    for attempt in soon(4.0):
        with LiveServer(shop) as server, LiveServer(shop) as other:
            lease = server.claim()
            with (shop / ".metagit" / "schedule" / "ledger.db.lock").open("rb") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                # A call that waits for the ledger is given up like any other.
                call = server.ask_later(REPORT, lease_id=lease["lease_id"], state="completed")
                server.notify("notifications/cancelled", {"requestId": call})
                server.request("tools/list")
                with attempt:
                    assert server.stop(number) == 0
                assert [*server.others, *server.remaining()] == []
            # What could not be released runs out; until then it is kept for whoever names it.
            assert other.ask(REPORT, lease_id=lease["lease_id"], state="running")["node_status"] == "active"
            other.ask(REPORT, lease_id=lease["lease_id"], state="released")


def test_a_killed_server_loses_no_lease(shop: Path) -> None:
    with LiveServer(shop) as server, LiveServer(shop) as other:
        lease = server.claim()
        server.process.kill()
        server.wait()
        assert other.claim()["node_id"] == "two"
        # Whoever names the lease goes on where the dead process was.
        done = other.ask(REPORT, lease_id=lease["lease_id"], state="completed", result={"summary": "Built"})
        assert done["node_status"] == "completed"


def test_a_second_server_of_an_agent_reads_until_it_takes_over(shop: Path) -> None:
    with LiveServer(shop, "--agent-id", "one") as first, LiveServer(shop, "--agent-id", "one") as second:
        lease = first.claim()
        refused = second.ask(NEXT, claim=True)
        assert (refused["code"], refused["retryable"]) == ("AUTH_STALE_SESSION", False)
        assert "new_session=true" in refused["hint"]
        assert second.ask(START, node_id="two")["code"] == "AUTH_STALE_SESSION"
        assert second.ask(STATUS)["counts"]["running"] == 1
        assert [each["node_id"] for each in second.ask(NEXT)["decisions"]] == ["two"]
        # The first one goes on as if nothing had happened.
        assert first.ask(REPORT, lease_id=lease["lease_id"], state="running")["node_status"] == "active"
        taken = second.claim(new_session=True)
        assert (taken["node_id"], taken["session_epoch"] > lease["session_epoch"]) == ("one", True)
        late = first.ask(REPORT, lease_id=lease["lease_id"], state="completed")
        assert late["code"] == "AUTH_STALE_SESSION"
        assert first.ask(NEXT, claim=True)["code"] == "AUTH_STALE_SESSION"
        # Its end does not touch what the second one has.
        assert first.close() == 0
        assert second.ask(REPORT, lease_id=taken["lease_id"], state="running")["node_status"] == "active"


def test_a_reply_is_the_same_for_the_same_action(shop: Path) -> None:
    with LiveServer(shop) as server:
        first = server.ask(NEXT, claim=True, action_id="a1", agent_id="team/one")
        lease_id = first["decisions"][0]["lease"]["lease_id"]
        assert server.ask(NEXT, claim=True, action_id="a1", agent_id="team/one") == first
        assert server.ask(NEXT, claim=True, action_id="a1", agent_id="team/two")["code"] == "ACTION_ID_COLLISION"
        done = server.ask(REPORT, lease_id=lease_id, state="completed", action_id="a2")
        assert done["node_status"] == "completed"
        assert server.ask(REPORT, lease_id=lease_id, state="completed", action_id="a2") == done
        assert server.ask(REPORT, lease_id=lease_id, state="completed")["code"] == "WORK_STALE_OWNERSHIP"
