"""An agent works on the WorkItems of a Group: each act, what the Group is asked for, and how it goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import BudgetExceeded, InvalidStateTransition, NodeNotEligible, WorkStaleOwnership
from tests.groups import commands
from tests.unit.application.fed_scene import ACCEPT, CHECKPOINT, ME, OTHER, POLICY, START, G, Scene, scene_at

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return scene_at(tmp_path)


# --- accept and start ------------------------------------------------------------------------------------------------


def test_an_offer_is_accepted_for_later_and_started_then(scene: Scene) -> None:
    item = scene.offered(ME, OTHER)
    assert scene.accept(item) == {
        "graph_id": G,
        "node_id": item.work_id,
        "agent_id": ME,
        "ownership_epoch": 1,
        "start_by": "2026-07-15T09:00:00Z",
    }
    assert (scene.asked, scene.here(item), scene.there(item)) == ([ACCEPT], ("queued", ME, 1), ("offered", None, 0))
    assert (scene.answer(), scene.asked, scene.there(item)) == ([], [], ("queued", ME, 1))
    scene.start(item)
    assert (scene.asked, scene.here(item)) == ([START], ("active", ME, 1))
    assert (scene.answer(), scene.asked, scene.there(item)) == ([], [], ("active", ME, 1))
    assert scene.here(item) == ("active", ME, 1)


def test_an_acceptance_of_which_nothing_was_heard_yet_outlasts_the_offer(scene: Scene) -> None:
    item = scene.offered(ME)
    scene.accept(item)
    assert scene.way.carry_all(scene.desk) == []
    scene.wait(600)
    scene.start(item)
    assert (scene.answer(), scene.asked, scene.here(item)) == ([], [], ("active", ME, 1))


def test_a_claim_accepts_and_starts(scene: Scene) -> None:
    item = scene.offered(ME)
    (decision,) = scene.desk.claim(ME)["decisions"]
    assert (decision["graph_id"], decision["node_id"], decision["agent_id"]) == (G, item.work_id, ME)
    assert scene.asked == [ACCEPT, START]
    assert (scene.answer(), scene.there(item), scene.here(item)) == ([], ("active", ME, 1), ("active", ME, 1))


def test_nobody_else_gets_what_is_offered(scene: Scene) -> None:
    item = scene.offered(ME)
    assert scene.desk.taken(OTHER) == []
    error = scene.refusal(item, OTHER)
    assert (type(error), error.details["reasons"]) == (NodeNotEligible, [f"not_offered(but to {ME})"])
    assert (scene.asked, scene.here(item)) == ([], ("open", None, 0))


def test_what_nobody_is_offered_nobody_gets(scene: Scene) -> None:
    item = scene.offered()
    assert scene.reasons(item) == ["not_offered"]
    assert scene.desk.taken(ME) == []
    assert scene.refusal(item).details["reasons"] == ["not_offered"]


def test_an_agent_that_accepted_elsewhere_starts_here(scene: Scene) -> None:
    item = scene.offered(ME)
    scene.told(lambda group, it: commands.accept(group, (it, ME)), item)
    assert (scene.here(item), scene.there(item)) == (("open", None, 1), ("queued", ME, 1))
    assert scene.desk.taken(OTHER) == []
    assert scene.accept(item)["start_by"] == "2026-07-15T09:00:00Z"
    assert scene.asked == []
    scene.start(item)
    assert (scene.asked, scene.answer(), scene.there(item)) == ([START], [], ("active", ME, 1))


def test_a_heartbeat_and_a_checkpoint_on_the_way_ask_for_nothing(scene: Scene) -> None:
    item, lease_id = scene.running()
    scene.desk.report(lease_id, "running")
    scene.desk.report(lease_id, "checkpointed", note="half")
    assert (scene.asked, scene.here(item)) == ([], ("active", ME, 1))


def test_a_lease_that_the_group_extends_stays(scene: Scene) -> None:
    item, lease_id = scene.running()
    scene.told(commands.renew, item)
    assert (scene.item(item).lease_id, scene.asked) == (lease_id, [])


# --- pause, block, and go on -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["paused", "released"])
def test_paused_or_released_work_stays_its_owners(scene: Scene, said: str) -> None:
    item, lease_id = scene.running(ME, OTHER)
    scene.desk.report(lease_id, said, note="half")
    assert (scene.asked, scene.answer(), scene.there(item)) == ([CHECKPOINT], [], ("queued", ME, 1))
    assert scene.desk.taken(OTHER) == []
    assert scene.desk.taken(ME) == [item.work_id]
    assert (scene.answer(), scene.there(item), scene.here(item)) == ([], ("active", ME, 1), ("active", ME, 1))


def test_whoever_a_resource_turned_away_keeps_the_work(scene: Scene) -> None:
    item, lease_id = scene.running()
    until = (scene.desk.now() + timedelta(minutes=5)).isoformat()
    scene.desk.report(lease_id, "failed", rate_limited={"resource": "api", "until": until})
    assert (scene.asked, scene.answer(), scene.there(item)) == ([CHECKPOINT], [], ("queued", ME, 1))


def test_work_whose_agent_has_gone_stays_its_owners(scene: Scene) -> None:
    item, _ = scene.running(ME, OTHER)
    scene.desk.end()
    assert (scene.asked, scene.answer(), scene.there(item)) == ([CHECKPOINT], [], ("queued", ME, 1))
    assert scene.desk.taken(OTHER) == []


def test_work_that_used_too_much_is_set_aside(scene: Scene) -> None:
    item, lease_id = scene.running(tokens=10_000)
    with pytest.raises(BudgetExceeded, match="used more tokens"):
        scene.desk.report(lease_id, "running", usage={"tokens": 10_001}, note="so far")
    assert (scene.asked, scene.answer(), scene.there(item)) == ([CHECKPOINT], [], ("queued", ME, 1))


def test_work_that_a_person_takes_back_is_its_owners_in_the_group(scene: Scene) -> None:
    item = scene.offered(ME, OTHER)
    scene.accept(item)
    scene.answer()
    scene.desk.release(item.work_id, graph_id=G)
    assert (scene.here(item), scene.there(item), scene.asked) == (("open", None, 1), ("queued", ME, 1), [])
    assert (scene.desk.taken(OTHER), scene.desk.taken(ME)) == ([], [item.work_id])


def test_an_owner_that_is_late_here_is_owner_as_long_as_its_group_says(scene: Scene) -> None:
    scene.desk.put(POLICY, {"leases": {"start_by_seconds": 60}})
    item = scene.offered(ME, OTHER)
    scene.accept(item)
    scene.answer()
    scene.wait(61)
    assert scene.desk.taken(OTHER) == []
    assert scene.here(item) == ("open", None, 1)
    scene.start(item)
    assert (scene.answer(), scene.here(item)) == ([], ("active", ME, 1))


def test_blocked_work_goes_on_when_the_coordinator_unblocks_it(scene: Scene) -> None:
    item, lease_id = scene.running(ME, OTHER)
    scene.desk.report(lease_id, "blocked", note="a schema")
    assert scene.asked == ["work.block"]
    assert (scene.answer(), scene.here(item), scene.there(item)) == ([], ("blocked", ME, 1), ("blocked", ME, 1))
    assert scene.desk.taken(ME) == []
    scene.told(commands.unblock, item)
    assert (scene.there(item), scene.desk.taken(OTHER), scene.desk.taken(ME)) == (("queued", ME, 1), [], [item.work_id])
    assert (scene.answer(), scene.here(item)) == ([], ("active", ME, 1))


def test_work_that_is_unblocked_too_late_is_nobodys(scene: Scene) -> None:
    item, lease_id = scene.running()
    scene.desk.report(lease_id, "blocked", note="a schema")
    scene.answer()
    scene.wait(3_600)
    scene.told(commands.unblock, item)
    assert (scene.there(item), scene.here(item)) == (("open", None, 2), ("open", None, 2))
    assert scene.reasons(item) == ["not_offered"]


def test_nobody_here_unblocks_the_work_of_a_group(scene: Scene) -> None:
    item, lease_id = scene.running(ME, OTHER)
    scene.desk.report(lease_id, "blocked", note="a schema")
    scene.answer()
    scene.desk.release(item.work_id, graph_id=G)
    assert (scene.here(item), scene.item(item).note) == (("blocked", None, 1), "a decision")
    with pytest.raises(InvalidStateTransition, match="whose Coordinator decides on this"):
        scene.desk.release(item.work_id, graph_id=G)
    assert (scene.desk.taken(ME), scene.desk.taken(OTHER)) == ([], [])


def test_work_of_a_child_mission_waits_for_that(scene: Scene) -> None:
    item, lease_id = scene.running()
    scene.told(commands.create_child, item)
    assert (scene.here(item), scene.there(item)) == (("blocked", None, 2), ("blocked", None, 2))
    with pytest.raises(WorkStaleOwnership, match="revoked"):
        scene.desk.report(lease_id, "completed")
    scene.told(commands.approve_child, item)
    assert scene.here(item) == ("completed", None, 2)


# --- the end ---------------------------------------------------------------------------------------------------------


def test_a_result_is_submitted_judged_and_lets_others_begin(scene: Scene) -> None:
    item, lease_id = scene.running()
    after = scene.offered(ME, needs=(item.work_id,))
    scene.desk.report(lease_id, "completed", result={"summary": "done"})
    (asked,) = scene.proposals
    assert item.lease is not None
    assert (asked.command, asked.payload) == (
        "work.submit",
        {"executionLeaseId": item.lease.lease_id, "summary": "done"},
    )
    assert (scene.answer(), scene.here(item), scene.there(item)) == ([], ("submitted", ME, 1), ("submitted", ME, 1))
    assert scene.reasons(item) == ["awaiting_review(in its Group)"]
    assert scene.reasons(after)[0] == f"not_ready(unfinished {item.work_id})"
    scene.told(commands.accept_result, item)
    assert (scene.here(item), scene.desk.taken(ME)) == (("completed", None, 1), [after.work_id])


def test_failed_work_is_offered_again_to_another(scene: Scene) -> None:
    item, lease_id = scene.running()
    scene.desk.report(lease_id, "failed", note="no way")
    assert (scene.asked, scene.here(item)) == (["work.fail"], ("parked", None, 1))
    assert (scene.answer(), scene.asked, scene.here(item)) == ([], [], ("parked", None, 1))
    scene.told(commands.offer, item, OTHER)
    assert (scene.here(item), scene.desk.taken(ME)) == (("open", None, 2), [])
    scene.start(item, OTHER)
    assert (scene.answer(), scene.here(item), scene.there(item)) == ([], ("active", OTHER, 3), ("active", OTHER, 3))


def test_a_lease_that_ran_out_here_leaves_the_run_to_the_log(scene: Scene) -> None:
    item, lease_id = scene.running(ME, OTHER)
    scene.wait(901)
    assert (scene.desk.taken(ME), scene.desk.taken(OTHER)) == ([], [])
    assert (scene.here(item), scene.asked) == (("open", None, 1), [])
    assert scene.reasons(item) == [f"leased(by {ME}, until 2026-07-15T08:10:00Z)"]
    scene.wait(3_600)
    scene.told(commands.offer, item, OTHER)
    assert (scene.desk.taken(ME), scene.desk.taken(OTHER)) == ([], [item.work_id])
    assert scene.item(item).lease_id != lease_id
