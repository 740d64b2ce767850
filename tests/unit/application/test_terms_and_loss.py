"""Terms end without a daemon, and the use cases go on with what is left: no ledger, another one, no right to write."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import LeaseNotFound, PolicyInvalid, StoreCorrupt, StoreTooNew
from tests.scenarios.at_once import finished
from tests.scenarios.companion import answer
from tests.unit.adapters.reading import node
from tests.unit.application.desk import NOW, Desk

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.application.desk import Json

LEDGER = "schedule/ledger.db"
POLICY = "schedule/policy.json"


def advised(desk: Desk) -> list[str]:
    return [each["node_id"] for each in desk.next(preview=True, limit=9)["decisions"]]


def test_a_lease_ends_for_all_before_anybody_wrote_it_down(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b", depends_on=["a"]))
    desk.lease()
    desk.flush()
    before = desk.events()
    other = desk.beside()
    desk.wait(899)
    assert (advised(desk), advised(other)) == ([], [])
    desk.wait(1)
    for each in (desk, other, desk.beside()):
        assert advised(each) == ["a"]
        told = each.status(node_id="a")
        assert (told["explain"]["runnable"], told["running"]) == (True, [])
        assert finished(each.application.schedule.count_runnable(None)) == 1
    assert (desk.events(), desk.row("a")["status"]) == (before, "running")
    (decision,) = other.claim("w2")["decisions"]
    assert decision["lease"]["ownership_epoch"] == 2
    assert decision["dispatch_hints"]["attempts"] == [
        {"agent_id": "w1", "at": "2026-12-01T12:15:00Z", "outcome": "expired", "note": ""}
    ]
    assert desk.events() == [*before, "lease_expired", "session_opened", "work_started"]
    assert advised(desk) == []


def test_the_instant_in_an_answer_is_that_of_the_question(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.lease()
    desk.wait(900)
    # The same lapse is looked at again and again while time goes on.
    for second in range(3):
        desk.wait(1)
        assert desk.next(preview=True)["decisions"][0]["at"] == f"2026-12-01T12:15:0{second + 1}Z"
    lease = desk.claim("w2")["decisions"][0]["lease"]
    assert lease["expires_at"] == "2026-12-01T12:30:03Z"
    assert desk.next(preview=True)["decisions"] == []


def test_the_wall_clock_moves_no_term_of_this_boot(desk: Desk) -> None:
    desk.graph("g", node("a"))
    lease_id = desk.lease()
    for days in (1, -1):
        desk.set_clock(NOW + timedelta(days=days), 1000)
        assert desk.claim("w2")["decisions"] == []
        assert desk.report(lease_id, "running")["node_status"] == "active"
    # After another boot the wall clock is all there is.
    desk.set_clock(NOW + timedelta(days=1, minutes=14), 10**9, "another")
    assert desk.taken("w2") == []
    desk.set_clock(NOW + timedelta(days=1, minutes=15), 5, "another")
    assert desk.taken("w2") == ["a"]


@pytest.mark.parametrize("policy", [{"slots": 1}, {"resources": {"db": {"capacity": 1}}}])
def test_what_a_lapsed_lease_held_is_free(desk: Desk, policy: dict[str, object]) -> None:
    desk.put(POLICY, policy)
    desk.graph("g", node("a", uses={"db": 1}))
    desk.graph("h", node("b", uses={"db": 1}))
    desk.start("a")
    assert advised(desk) == []
    desk.wait(900)
    assert advised(desk) == ["a"]
    assert desk.beside().start("b", agent_id="w2")["lease"]["node_id"] == "b"
    assert advised(desk) == []


# --- nothing is made by looking -------------------------------------------------------------------------------------


def test_only_a_command_makes_a_ledger(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.next()
    desk.next(limit=9, preview=True, wait_seconds=1)
    desk.status(node_id="a")
    desk.policy()
    desk.update("a", priority=3)
    desk.update("b", status="blocked", blocker_reason="x")
    desk.plan("More", outline="One")
    desk.shown("a")
    desk.flush()
    desk.look_after()
    desk.end()
    assert sorted(each.name for each in desk.path("schedule").iterdir() if "ledger" in each.name) == []
    assert not desk.path("schedule/workspace.json").exists()
    desk.claim()
    assert desk.document("schedule/workspace.json")["workspace_id"]
    assert desk.path("schedule/.gitignore").exists()


# --- a ledger that is lost -----------------------------------------------------------------------------------------


def delete(desk: Desk) -> None:
    """Take the ledger away, with whatever lies beside it."""
    for each in desk.path("schedule").glob("ledger.db*"):
        each.unlink()


def test_without_its_ledger_the_files_say_what_there_is(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b", depends_on=["a"]), node("c"))
    first = desk.lease()
    desk.report(first, "completed")
    second = desk.claim()["decisions"][0]["lease"]["lease_id"]
    desk.flush()
    before = desk.statuses()
    delete(desk)
    # a is done, b seems to run elsewhere, c is free; the next command makes a new ledger.
    assert (desk.statuses(), advised(desk), desk.application.current.has_ledger) == (before, ["c"], False)
    with pytest.raises(LeaseNotFound):
        desk.report(second, "completed")
    assert desk.taken("w2") == ["c"]
    assert desk.events() == ["session_opened", "run_seen", "work_started"]
    assert desk.beside().claim("w3")["not_eligible"] == [
        {"reason": "finished", "nodes": 1},
        {"reason": "leased", "nodes": 1},
        {"reason": "observed", "nodes": 1},
    ]


def test_what_was_said_of_a_lost_ledger_is_not_said_any_more(desk: Desk) -> None:
    desk.graph("g", node("a"))
    desk.lease()
    desk.flush()
    desk.set_row("a", status="ready", updated_at="2026-12-01T12:00:10Z")
    assert len(desk.next(preview=True)["warnings"]) == 1
    delete(desk)
    assert (desk.next(preview=True)["warnings"], advised(desk)) == ([], ["a"])


def test_another_ledger_in_its_place_is_read_from_its_beginning(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.lease()
    other_root = tmp_path_factory.mktemp("other")
    shutil.copytree(desk.path("tasks"), other_root / ".metagit" / "tasks")
    other = Desk(other_root)
    other.start("b", agent_id="w7")
    other.application.close()
    delete(desk)
    shutil.copy(other.path(LEDGER), desk.path(LEDGER))
    assert advised(desk) == ["a"]
    assert [(each["node_id"], each["agent_id"]) for each in desk.status()["running"]] == [("b", "w7")]
    assert desk.taken("w2") == ["a"]


def overwrite(desk: Desk) -> None:
    desk.path(LEDGER).write_bytes(b"no ledger at all" * 1000)


def from_the_future(desk: Desk) -> None:
    with closing(sqlite3.connect(desk.path(LEDGER))) as ledger:
        ledger.execute("PRAGMA user_version = 99")
        ledger.commit()


def with_a_new_kind(desk: Desk) -> None:
    with closing(sqlite3.connect(desk.path(LEDGER))) as ledger:
        ledger.execute("INSERT INTO event SELECT max(position) + 1, 'no_kind_of_ours', 1, '{}' FROM event")
        ledger.commit()


def with_a_torn_event(desk: Desk) -> None:
    with closing(sqlite3.connect(desk.path(LEDGER))) as ledger:
        ledger.execute("INSERT INTO event SELECT max(position) + 1, 'work_released', 1, '{' FROM event")
        ledger.commit()


@pytest.mark.parametrize(
    ("harm", "error"),
    [
        (overwrite, StoreCorrupt),
        (from_the_future, StoreTooNew),
        (with_a_new_kind, StoreTooNew),
        (with_a_torn_event, StoreCorrupt),
    ],
)
def test_a_ledger_that_cannot_be_read_is_said_and_never_guessed(
    desk: Desk, harm: Callable[[Desk], None], error: type[Exception]
) -> None:
    desk.graph("g", node("a"), node("b"))
    desk.lease()
    if harm in {overwrite, from_the_future}:
        desk.application.close()
    harm(desk)
    asked: list[Callable[[], Json]] = [lambda: desk.next(preview=True), desk.claim, desk.status, desk.beside().claim]
    for _ in range(2):
        for ask in asked:
            with pytest.raises(error):
                ask()
    # What needs no ledger goes on; a change that must know it does not.
    assert desk.shown("a")["node_id"] == "a"
    for fields in ({"priority": 1}, {"status": "completed"}):
        with pytest.raises(error):
            desk.update("a", **fields)
    desk.look_after()
    desk.end()
    delete(desk)
    assert desk.taken("w2") == ["a"]


# --- a workspace that cannot be written ----------------------------------------------------------------------------


def test_where_nothing_may_be_written_one_can_look(reachable: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, root = reachable, reachable.root
    monkeypatch.setenv("METAGIT_MCP_CLOCK", f"@{desk.clock}")
    desk.graph("g", node("a"), node("b"))

    def looked() -> list[str]:
        return [each["node_id"] for each in answer("next_of", root, "preview=true", nobody=True)["decisions"]]

    assert looked() == ["a", "b"]
    assert answer("next_of", root, "claim=true", nobody=True)[0] == "READ_ONLY"
    assert not desk.path(LEDGER).exists()
    desk.lease()
    desk.application.close()
    # The ledger is its owner's alone, as is the decision log; whoever may not read it does not guess.
    for ask in ("preview=true", "claim=true"):
        code, message = answer("next_of", root, ask, nobody=True)
        assert (code, message) == ("STORE_UNAVAILABLE", f".metagit/{LEDGER} cannot be read by this user.")
    desk.path(LEDGER).chmod(0o644)
    assert looked() == ["b"]
    assert [each["node_id"] for each in answer("status_of", root, nobody=True)["running"]] == ["a"]
    assert answer("next_of", root, "claim=true", nobody=True)[0] == "READ_ONLY"
    assert desk.events() == ["session_opened", "work_started"]
    desk.wait(900)
    assert looked() == ["a", "b"]


def test_reports_need_no_policy(desk: Desk) -> None:
    desk.graph("g", node("a"), node("b"), node("c"))
    lease_id = desk.lease()
    desk.put(POLICY, {"slotz": 1})
    assert desk.report(lease_id, "running")["node_status"] == "active"
    assert desk.report(lease_id, "checkpointed", note="half")["node_status"] == "active"
    before = desk.events()
    asked: list[Callable[[], Json]] = [desk.claim, lambda: desk.start("b"), lambda: desk.next(preview=True)]
    for ask in asked:
        with pytest.raises(PolicyInvalid) as caught:
            ask()
        assert caught.value.details == {"field": "slotz"}
    assert desk.events() == before
    assert desk.beside().report(lease_id, "completed")["node_status"] == "completed"
    desk.look_after()
    assert desk.statuses()["a"] == "completed"
    desk.put(POLICY, {})
    assert desk.taken() == ["b"]
