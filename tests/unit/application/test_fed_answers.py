"""What a Group makes of the acts of agents: it refuses them, decides otherwise, or takes those of another agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metagit_mcp.errors import CapacityExceeded, WorkAlreadyOwned, WorkStaleOwnership
from tests.groups import commands
from tests.groups.answering import state_of
from tests.unit.application.fed_scene import ACCEPT, CHECKPOINT, ME, OTHER, POLICY, START, TESTER, Scene, scene_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.groups.authority import Authority, Item
    from tests.unit.application.fed_scene import Json


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return scene_at(tmp_path)


# --- what the Group decides otherwise --------------------------------------------------------------------------------


def lost(scene: Scene, lease_id: str) -> None:
    """The lease is over, and its holder is told so."""
    assert scene.asked == []
    assert lease_id not in state_of(scene.desk).leases
    with pytest.raises(WorkStaleOwnership, match="revoked"):
        scene.desk.report(lease_id, "completed")


def test_a_refused_acceptance_is_undone_with_all_that_rests_on_it(scene: Scene) -> None:
    item = scene.offered(ME)
    lease_id = scene.start(item)
    scene.wait(600)
    assert (scene.answer(), scene.here(item), scene.there(item)) == (
        [ACCEPT],
        ("open", None, 0),
        ("offered", None, 0),
    )
    lost(scene, lease_id)
    assert scene.refusal(item).details["reasons"] == ["not_offered(offer ended 2026-07-15T08:10:00Z)"]


def test_a_refused_start_leaves_the_acceptance(scene: Scene) -> None:
    item = scene.offered(ME)
    lease_id = scene.start(item)
    accept, start = scene.proposals
    scene.way.carry(scene.desk, accept)
    scene.way.answer(scene.desk, start, "refused", "not now")
    assert (scene.asked, scene.here(item)) == ([ACCEPT], ("open", None, 0))
    scene.way.deliver(scene.desk)
    assert (scene.there(item), scene.here(item)) == (("queued", ME, 1), ("open", None, 1))
    lost(scene, lease_id)
    assert scene.desk.taken(ME) == [item.work_id]


def test_a_run_that_goes_on_under_another_lease_is_asked_for_once(scene: Scene) -> None:
    item = scene.offered(ME)
    scene.start(item)
    lease_id = scene.start(item, new_session=True)
    assert scene.asked == [ACCEPT, START]
    assert (scene.answer(), scene.asked, scene.there(item)) == ([], [], ("active", ME, 1))
    assert (scene.here(item), scene.item(item).lease_id) == (("active", ME, 1), lease_id)
    scene.desk.report(lease_id, "completed")
    assert (scene.answer(), scene.there(item)) == ([], ("submitted", ME, 1))


def test_a_refused_start_leaves_what_a_new_session_put_back_to_its_owner(scene: Scene) -> None:
    item, other = scene.offered(ME), scene.offered(ME)
    scene.start(item)
    scene.start(other, new_session=True)
    (start,) = [each for each in scene.proposals if (each.command, each.node_id) == (START, item.work_id)]
    scene.way.answer(scene.desk, start, "refused", "another session")
    assert scene.here(item) == ("queued", ME, 1)


def test_an_answer_that_concerns_no_event_changes_nothing_of_the_work(scene: Scene) -> None:
    scene.desk.put(POLICY, {"agent_slots": 1, "queue_capacity": 1})
    first, second = scene.offered(ME), scene.offered(ME)
    scene.accept(first)
    assert scene.refusal(second, queue_only=True).details["reason"] == "capacity"
    assert scene.asked == [ACCEPT, "work.decline_offer"]
    scene.way.carry(scene.desk, scene.proposals[1])
    assert (scene.asked, scene.here(first), scene.here(second)) == ([ACCEPT], ("queued", ME, 1), ("open", None, 0))


def test_an_estimate_that_was_told_changes_nothing_of_the_work(scene: Scene) -> None:
    """Not even of work that a new session put back before its Group has heard of its start."""
    item, other = scene.offered(ME), scene.offered(ME)
    scene.start(item)
    scene.start(other, new_session=True)
    before = scene.asked
    told = [each for each in scene.way.outbox(scene.desk) if each.command == "schedule.estimate"]
    assert item.work_id in {each.node_id for each in told}
    for each in told:
        scene.way.carry(scene.desk, each)
    assert (scene.here(item), scene.here(other), scene.asked) == (("queued", ME, 1), ("active", ME, 1), before)


ENDS: list[tuple[Callable[[Authority, Item], object], tuple[str, str | None, int]]] = [
    (commands.cancel, ("cancelled", None, 2)),
    (commands.lose, ("parked", None, 1)),
    (lambda group, item: commands.cancel_mission(group, item.mission), ("cancelled", None, 2)),
    (lambda group, item: commands.terminate_mission(group, item.mission), ("parked", None, 2)),
]


@pytest.mark.parametrize(("ends", "here"), ENDS)
def test_work_that_the_group_ends_ends_under_its_lease(
    scene: Scene, ends: Callable[[Authority, Item], object], here: tuple[str, str | None, int]
) -> None:
    item, lease_id = scene.running()
    scene.told(ends, item)
    assert scene.here(item) == here
    lost(scene, lease_id)
    assert scene.desk.taken(ME) == []


@pytest.mark.parametrize(("ends", "_"), ENDS)
def test_work_that_the_group_ends_ends_before_it_was_asked_for(
    scene: Scene, ends: Callable[[Authority, Item], object], _: object
) -> None:
    item = scene.offered(ME)
    lease_id = scene.start(item)
    scene.told(ends, item)
    lost(scene, lease_id)
    assert scene.desk.taken(ME) == []


def test_an_ownership_that_is_over_is_fenced_by_the_next_offer(scene: Scene) -> None:
    item, lease_id = scene.running(ME)
    scene.group.wait(3_600)
    scene.told(commands.offer, item, ME, OTHER)
    lost(scene, lease_id)
    assert (scene.here(item), scene.desk.taken(OTHER)) == (("open", None, 2), [item.work_id])


def test_an_offer_to_others_ends_what_was_asked_under_the_former(scene: Scene) -> None:
    item = scene.offered(ME)
    lease_id = scene.start(item)
    scene.group.wait(600)
    scene.told(commands.offer, item, OTHER)
    lost(scene, lease_id)
    assert (scene.here(item), scene.desk.taken(ME), scene.desk.taken(OTHER)) == (("open", None, 0), [], [item.work_id])


def test_a_start_that_was_not_heard_before_the_ownership_was_over_is_asked_for_no_more(scene: Scene) -> None:
    item = scene.offered(ME)
    scene.accept(item)
    scene.answer()
    lease_id = scene.start(item)
    scene.group.wait(3_600)
    scene.told(commands.offer, item, ME)
    lost(scene, lease_id)
    scene.start(item)
    assert (scene.asked, scene.here(item)) == ([ACCEPT, START], ("active", ME, 3))


def test_an_offer_or_an_ownership_that_is_over_gives_no_work(scene: Scene) -> None:
    late, owned = scene.offered(ME), scene.offered(ME)
    scene.told(lambda group, it: commands.accept(group, (it, ME)), owned)
    scene.wait(3_600)
    assert scene.desk.taken(ME) == []
    for item, over in ((late, "offer ended 2026-07-15T08:10:00Z"), (owned, "ownership ended 2026-07-15T09:00:00Z")):
        for is_queued in (True, False):
            assert scene.refusal(item, queue_only=is_queued).details["reasons"] == [f"not_offered({over})"]


def test_accepted_work_is_started_while_its_group_has_it_as_owned(scene: Scene) -> None:
    scene.desk.put(POLICY, {"leases": {"start_by_seconds": 7_200}})
    item = scene.offered(ME)
    assert scene.accept(item)["start_by"] == "2026-07-15T10:00:00Z"
    scene.answer()
    assert scene.accept(item)["start_by"] == "2026-07-15T09:00:00Z"
    scene.wait(3_600)
    over = ["not_offered(ownership ended 2026-07-15T09:00:00Z)"]
    assert (scene.here(item), scene.desk.taken(ME)) == (("queued", ME, 1), [])
    for is_queued in (True, False):
        assert scene.refusal(item, queue_only=is_queued).details["reasons"] == over


def test_a_result_that_comes_after_the_lease_of_the_group_is_refused(scene: Scene) -> None:
    item, lease_id = scene.running()
    scene.wait(600)
    scene.desk.report(lease_id, "completed", result={"summary": "done"})
    assert scene.here(item) == ("submitted", ME, 1)
    assert (scene.answer(), scene.here(item), scene.there(item)) == (
        ["work.submit"],
        ("open", None, 1),
        ("active", ME, 1),
    )
    assert scene.reasons(item) == [f"leased(by {ME}, until 2026-07-15T08:10:00Z)"]


def test_a_session_that_the_group_replaced_gives_the_work_back_to_its_owner(scene: Scene) -> None:
    item, lease_id = scene.running(ME, OTHER)
    commands.open_session(scene.group, ME)
    scene.way.deliver(scene.desk)
    assert (scene.here(item), scene.there(item)) == (("open", None, 1), ("queued", ME, 1))
    lost(scene, lease_id)
    assert (scene.desk.taken(OTHER), scene.desk.taken(ME, new_session=True)) == ([], [item.work_id])


def test_a_new_session_here_goes_on_with_what_the_group_has_as_running(scene: Scene) -> None:
    item, first = scene.running(ME, OTHER)
    assert scene.desk.taken(ME, new_session=True, limit=1) == [item.work_id]
    assert (scene.asked, scene.here(item), scene.there(item)) == ([], ("active", ME, 1), ("active", ME, 1))
    lease_id = scene.item(item).lease_id
    assert lease_id not in {None, first}
    scene.desk.report(str(lease_id), "completed")
    assert (scene.asked, scene.answer(), scene.there(item)) == (["work.submit"], [], ("submitted", ME, 1))


# --- two that ask ----------------------------------------------------------------------------------------------------


def test_the_log_takes_the_other_candidate(scene: Scene) -> None:
    item = scene.offered(ME, TESTER)
    lease_id = scene.start(item)
    scene.told(lambda group, it: commands.accept(group, (it, TESTER)), item)
    assert (scene.here(item), scene.there(item)) == (("open", None, 1), ("queued", TESTER, 1))
    lost(scene, lease_id)
    assert scene.refusal(item).details["reasons"] == [f"owned(by {TESTER})"]


def two_asked(scene: Scene) -> tuple[Item, str]:
    """One agent gave work back that the Group does not know of yet, and another took it; and that one's lease."""
    item = scene.offered(ME, OTHER)
    scene.desk.report(scene.start(item), "released", note="not mine")
    lease_id = scene.start(item, OTHER)
    assert scene.way.asked(scene.desk) == [
        (ACCEPT, item.work_id, ME),
        (START, item.work_id, ME),
        (CHECKPOINT, item.work_id, ME),
        (ACCEPT, item.work_id, OTHER),
        (START, item.work_id, OTHER),
    ]
    return item, lease_id


def test_each_of_two_agents_asks_for_itself_and_the_first_that_is_heard_has_it(scene: Scene) -> None:
    item, lease_id = two_asked(scene)
    scene.way.carry(scene.desk, scene.proposals[0])
    scene.way.deliver(scene.desk)
    assert scene.way.asked(scene.desk) == [(START, item.work_id, ME), (CHECKPOINT, item.work_id, ME)]
    assert lease_id not in state_of(scene.desk).leases
    assert (scene.answer(), scene.here(item), scene.there(item)) == ([], ("open", None, 1), ("queued", ME, 1))


def test_what_the_first_asked_for_does_not_end_the_run_of_the_second(scene: Scene) -> None:
    item, lease_id = two_asked(scene)
    for proposal in scene.proposals[3:]:
        assert scene.way.carry(scene.desk, proposal) == ""
    scene.way.deliver(scene.desk)
    assert (scene.asked, scene.here(item), scene.there(item)) == ([], ("active", OTHER, 1), ("active", OTHER, 1))
    assert scene.item(item).lease_id == lease_id


def test_a_refusal_of_the_first_leaves_the_second(scene: Scene) -> None:
    item, lease_id = two_asked(scene)
    scene.way.answer(scene.desk, scene.proposals[0], "refused", "no member")
    assert scene.way.asked(scene.desk) == [(ACCEPT, item.work_id, OTHER), (START, item.work_id, OTHER)]
    assert scene.item(item).lease_id == lease_id


def test_owned_work_is_not_started_by_another(scene: Scene) -> None:
    item = scene.offered(ME, OTHER)
    scene.accept(item)
    for fields in ({}, {"queue_only": True}):
        with pytest.raises(WorkAlreadyOwned, match=f"is with {ME}"):
            scene.desk.start(item.work_id, OTHER, **fields)
    assert scene.asked == [ACCEPT]


# --- declined --------------------------------------------------------------------------------------------------------


def test_a_candidate_that_may_not_accept_declines_once(scene: Scene) -> None:
    scene.desk.put(POLICY, {"queue_capacity": 0})
    item = scene.offered(ME)
    for _ in range(2):
        error = scene.refusal(item, queue_only=True)
        assert (type(error), error.details["reason"]) == (CapacityExceeded, "capacity")
        scene.wait(1)
    (asked,) = scene.proposals
    assert (asked.command, asked.agent_id, asked.payload) == ("work.decline_offer", ME, {"declineReason": "capacity"})
    assert (scene.answer(), scene.asked) == ([], [])
    scene.refusal(item, queue_only=True)
    assert scene.asked == []
    scene.told(commands.offer, item, ME)
    scene.refusal(item, queue_only=True)
    assert scene.asked == ["work.decline_offer"]


@pytest.mark.parametrize(
    ("contract", "skills", "reason"),
    [
        ({}, [], "capability"),
        ({"deadline": "2026-07-15T08:04:00Z", "seconds": 300}, ["software.python"], "deadline"),
        ({"needs": ("cli:requirements",)}, ["software.python"], "dependency"),
    ],
)
def test_a_decline_says_in_a_word_why(scene: Scene, contract: Json, skills: list[str], reason: str) -> None:
    scene.offered()
    item = scene.offered(ME, **contract)
    scene.desk = scene.desk.beside(capabilities=frozenset(skills))
    assert scene.refusal(item, queue_only=True).details["reason"] == reason
    assert [(each.command, each.payload) for each in scene.proposals] == [
        ("work.decline_offer", {"declineReason": reason})
    ]


def test_whoever_thinks_better_of_it_declines_no_more(scene: Scene) -> None:
    scene.desk.put(POLICY, {"queue_capacity": 0})
    item, other = scene.offered(ME), scene.offered(ME)
    scene.refusal(item, queue_only=True)
    scene.refusal(other, queue_only=True)
    scene.start(item)
    assert [(each.command, each.node_id) for each in scene.proposals] == [
        ("work.decline_offer", other.work_id),
        (ACCEPT, item.work_id),
        (START, item.work_id),
    ]
    scene.desk.put(POLICY, {"queue_capacity": 1})
    scene.accept(other)
    assert scene.asked == [ACCEPT, START, ACCEPT]


def test_an_agent_that_is_not_asked_has_nothing_to_decline(scene: Scene) -> None:
    scene.desk.put(POLICY, {"queue_capacity": 0})
    scene.refusal(scene.offered(ME), OTHER, queue_only=True)
    assert scene.asked == []
