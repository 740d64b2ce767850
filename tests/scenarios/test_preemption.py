"""Five durable steps from a request to the queue again: asked, checkpointed, paused, slot released, resumed later.

Every step is done by a process of its own over the same ledger, so that a kill between any two of them is nothing new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.unit.adapters.reading import node
from tests.unit.application.desk import Desk, Json

if TYPE_CHECKING:
    from pathlib import Path

QUANTUM: Final = 300
GROUPS: Final = {"low": {"class": "low"}, "hot": {"class": "high"}}
STEPS: Final = ["session_opened", "work_started", "usage_reported", "session_opened"]


def opened(folder: Path, slots: int = 1, **preemption: object) -> Desk:
    """A workspace of one slot, with work of a Group of low class."""
    (folder / ".metagit" / "tasks" / "graphs").mkdir(parents=True)
    desk = Desk(folder)
    rules = {"min_quantum_seconds": QUANTUM, **preemption}
    desk.put("schedule/policy.json", {"slots": slots, "groups": GROUPS, "preemption": rules})
    desk.graph("low", node("l1", estimated_tokens=4000), node("l2"), node("l3"))
    return desk


def urgent(desk: Desk, **fields: object) -> None:
    """Urgent work of a Group of high class comes."""
    desk.graph("hot", node("u", requested_urgency="critical", **fields))


def ran(desk: Desk, seconds: int = QUANTUM, agent_id: str = "victim") -> str:
    """The lease of low work that has run so long, and used what it was charged for."""
    lease_id = desk.beside().lease(agent_id)
    desk.beside().report(lease_id, "running", usage={"tokens": 4000})
    desk.wait(seconds)
    return lease_id


def asked(desk: Desk) -> int:
    """How often somebody was asked to pause, in all."""
    return desk.events().count("preemption_requested")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return opened(tmp_path)


@pytest.fixture
def victim(desk: Desk) -> str:
    """A lease that urgent work would like to have the slot of."""
    lease_id = ran(desk)
    urgent(desk, capabilities=["ship"])
    return lease_id


def other(desk: Desk) -> Json:
    """What somebody gets who can do the urgent work."""
    return desk.beside().claim("other", capabilities=["ship"])


def given(answer: Json) -> list[str]:
    return [each["node_id"] for each in answer["decisions"]]


def make_room(lease_id: str) -> str:
    return (
        "Somebody waits for this slot: checkpoint as soon as it is safe, then metagit_work_report with lease_id "
        f"{lease_id} and state=paused. You get the node again later."
    )


def test_the_five_steps_each_by_another_process(desk: Desk, victim: str) -> None:
    # 1. The request is an event, and the answer to whatever is called under that lease tells it.
    assert given(other(desk)) == []
    assert desk.events() == [*STEPS, "preemption_requested"]
    beat = desk.beside().report(victim, "running")
    assert (beat["preempt_requested"], beat["node_status"], beat["released_slot"]) == (True, "active", False)
    assert (beat["lease"]["preempt_requested"], beat["next_step"]) == (True, make_room(victim))
    # 2. and 3. The agent gets to a safe point, which is recorded, and pauses.
    point = desk.beside().report(victim, "checkpointed", checkpoint={"checkpoint_id": "half", "note": "tests next"})
    assert (point["preempt_requested"], point["node_status"]) == (True, "active")
    paused = desk.beside().report(victim, "paused")
    assert (paused["preempt_requested"], paused["node_status"], paused["released_slot"]) == (False, "queued", True)
    assert "lease" not in paused
    # 4. The slot is free, and kept for the one node for which the request was made.
    kept = desk.beside().claim("victim")
    assert (given(kept), kept["runnable_count"]) == ([], 0)
    assert {each["reason"]: each["nodes"] for each in kept["not_eligible"]} == {"reserved": 3, "capability_missing": 1}
    assert given(other(desk)) == ["u"]
    # 5. The work is back in the queue of its Group, and goes on from its checkpoint.
    assert desk.beside().claim("victim")["decisions"] == []
    explained = desk.beside().status(node_id="l1", graph_id="low")["explain"]
    assert [each["reason"] for each in explained["reasons"]] == ["owned", "no_slot"]
    lease_id = desk.beside().start("u", "other")["lease"]["lease_id"]
    desk.beside().report(lease_id, "completed")
    (decision,) = desk.beside().claim("victim")["decisions"]
    assert (decision["node_id"], decision["lease"]["resume_from"]) == ("l1", "half")
    assert asked(desk) == 1


def test_whoever_is_free_may_take_the_urgent_work_the_victim_too(desk: Desk) -> None:
    lease_id = ran(desk)
    urgent(desk)
    assert given(desk.beside().claim("other")) == []
    desk.beside().report(lease_id, "paused", note="half done")
    assert given(desk.beside().claim("victim")) == ["u"]


def test_every_answer_under_the_lease_tells_it(desk: Desk, victim: str) -> None:
    other(desk)
    again = desk.beside().start("l1", "victim")
    assert (again["lease"]["lease_id"], again["lease"]["preempt_requested"]) == (victim, True)
    assert again["next_step"] == make_room(victim)
    claim = desk.beside().claim("victim")
    assert [(each["lease_id"], each["preempt_requested"]) for each in claim["held"]] == [(victim, True)]
    assert claim["next_step"] == make_room(victim)
    (running,) = desk.beside().status()["running"]
    assert (running["node_id"], running["preempt_requested"]) == ("l1", True)


def test_nobody_is_told_who_is_not_asked(desk: Desk) -> None:
    lease_id = ran(desk)
    again, claim = desk.beside().start("l1", "victim"), desk.beside().claim("victim")
    assert desk.beside().report(lease_id, "running")["preempt_requested"] is False
    told = [again["lease"], *claim["held"], *desk.beside().status()["running"]]
    assert [each for each in told if "preempt_requested" in each] == []


@pytest.mark.parametrize("ends", ["completed", "failed", "released", "blocked", "expired", "forced", "new session"])
def test_however_the_work_ends_the_slot_is_for_the_urgent_node(desk: Desk, victim: str, ends: str) -> None:
    other(desk)
    if ends == "expired":
        desk.wait(1000)
    elif ends == "forced":
        desk.beside().release("l1")
    elif ends == "new session":
        desk.beside().next(claim=True, agent_id="victim", new_session=True)
    else:
        desk.beside().report(victim, ends, note="why")
    assert given(desk.beside().claim("third")) == []
    assert given(other(desk)) == ["u"]
    assert desk.events().count("preemption_requested") == 1


def test_the_slot_is_kept_until_the_start_by_deadline_and_no_longer(desk: Desk, victim: str) -> None:
    other(desk)
    desk.beside().report(victim, "paused", note="half done")
    assert given(desk.beside().claim("third")) == []
    desk.wait(3599)
    assert given(desk.beside().claim("third")) == []
    desk.wait(1)
    assert given(desk.beside().claim("third")) == ["l1"]
    assert desk.events().count("hold_ended") == 1
    # It waits as everybody does: nobody is asked a second time for the same arrival.
    desk.wait(QUANTUM)
    assert given(other(desk)) == []
    assert asked(desk) == 1


def test_a_server_ends_what_nobody_started_in_time(desk: Desk, victim: str) -> None:
    """Also where nothing else is left that could lapse: no lease, and no ownership."""
    other(desk)
    desk.beside().report(victim, "completed")
    assert given(desk.beside().claim("third")) == []
    desk.wait(3599)
    desk.look_after()
    assert (given(desk.beside().next(agent_id="third")), desk.events()[-1]) == ([], "hold_filled")
    desk.wait(1)
    assert given(desk.beside().next(agent_id="third")) == ["l2"]
    assert desk.events()[-1] == "hold_filled"
    desk.look_after()
    assert desk.events()[-1] == "hold_ended"


def test_advice_asks_nobody_to_pause(desk: Desk, victim: str) -> None:
    desk.beside().next(agent_id="other", capabilities=["ship"])
    desk.beside().next(agent_id="other", capabilities=["ship"], limit=5)
    assert asked(desk) == 0
    assert desk.beside().report(victim, "running")["preempt_requested"] is False


def test_one_request_at_a_time(desk: Desk, victim: str) -> None:
    for _ in range(3):
        assert given(other(desk)) == []
    desk.graph("hot", node("u", capabilities=["ship"]), node("v", priority=9, capabilities=["ship"]))
    assert given(other(desk)) == []
    assert asked(desk) == 1
    assert desk.beside().report(victim, "running")["preempt_requested"] is True


def test_a_request_for_work_that_came_to_nothing_is_taken_back(desk: Desk, victim: str) -> None:
    other(desk)
    desk.graph("hot", node("u", capabilities=["ship"], status="cancelled"))
    assert given(other(desk)) == []
    assert desk.beside().report(victim, "running")["preempt_requested"] is False
    assert desk.events()[-2:] == ["hold_ended", "lease_renewed"]


Change = dict[str, Any]


@pytest.mark.parametrize(
    ("rules", "fields", "seconds"),
    [
        ({"enabled": False}, {}, QUANTUM),
        ({"max_preemptions": 0}, {}, QUANTUM),
        ({}, {}, QUANTUM - 1),
        ({}, {"preemptible": False}, QUANTUM),
    ],
    ids=["off", "never", "too early", "not this node"],
)
def test_who_is_not_asked(tmp_path: Path, rules: Change, fields: Change, seconds: int) -> None:
    desk = opened(tmp_path, **rules)
    desk.graph("low", node("l1", estimated_tokens=4000, **fields))
    lease_id = ran(desk, seconds)
    urgent(desk)
    assert given(desk.beside().claim("other")) == []
    assert (asked(desk), desk.beside().report(lease_id, "running")["preempt_requested"]) == (0, False)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_one_node_is_asked_only_so_often(tmp_path: Path, most: int) -> None:
    desk = opened(tmp_path, max_preemptions=most)
    desk.graph("low", node("l1", estimated_tokens=4000))
    for round_ in range(most + 2):
        lease_id = ran(desk)
        desk.graph("hot", node(f"u{round_}"))
        other(desk)
        if round_ >= most:
            assert desk.beside().report(lease_id, "running")["preempt_requested"] is False
            desk.beside().report(lease_id, "paused", note="of its own accord")
        else:
            desk.beside().report(lease_id, "paused", note="asked to")
        (decision,) = desk.beside().claim("other")["decisions"]
        assert decision["node_id"] == f"u{round_}"
        desk.beside().report(decision["lease"]["lease_id"], "completed")
        desk.flush()
    assert asked(desk) == most


def test_a_node_that_needs_two_slots_has_two_asked_one_after_the_other(tmp_path: Path) -> None:
    desk = opened(tmp_path, slots=2)
    leases = [ran(desk, agent_id="v1"), ran(desk, agent_id="v2")]
    urgent(desk, slots=2)
    assert given(desk.beside().claim("other")) == []
    first, second = sorted(leases, key=lambda each: not desk.beside().report(each, "running")["preempt_requested"])
    assert desk.beside().report(second, "running")["preempt_requested"] is False
    desk.beside().report(first, "paused", note="half done")
    # One slot is free and kept: the next ask has the other one asked as well, and nobody a third time.
    assert [given(desk.beside().claim(agent_id)) for agent_id in ("other", "v3")] == [[], []]
    assert desk.beside().report(second, "running")["preempt_requested"] is True
    desk.beside().report(second, "paused", note="half done")
    assert (given(desk.beside().claim("other")), asked(desk)) == (["u"], 2)


def test_where_nobody_else_can_be_asked_the_others_go_on_as_beside_any_wide_node(tmp_path: Path) -> None:
    desk = opened(tmp_path, slots=2)
    lease_id = ran(desk, agent_id="v1")
    stays = desk.beside().start("l3", "v2")["lease"]["lease_id"]
    urgent(desk, slots=2)
    desk.beside().claim("other")
    desk.beside().report(lease_id, "paused", note="half done")
    # Who began a moment ago is not asked: one slot would be idle for as long as that takes.
    served = []
    for _ in range(4):
        served.append(given(desk.beside().claim("v3")))
        for each in served[-1]:
            desk.beside().report(desk.beside().claim("v3")["held"][0]["lease_id"], "completed", note=each)
    assert (served, asked(desk)) == ([["l2"], [], [], []], 1)
    desk.beside().report(stays, "completed")
    assert given(desk.beside().claim("other")) == ["u"]


@pytest.mark.parametrize("over", ["cancelled", "room", "off"])
def test_nobody_is_told_to_pause_for_what_is_over(desk: Desk, victim: str, over: str) -> None:
    other(desk)
    if over == "cancelled":
        desk.graph("hot", node("u", status="cancelled"))
    else:
        policy = {"slots": 2} if over == "room" else {"slots": 1, "preemption": {"enabled": False}}
        desk.put("schedule/policy.json", {"groups": GROUPS, **policy})
    beat = desk.beside().report(victim, "running")
    assert (beat["preempt_requested"], "preempt_requested" in beat["lease"]) == (False, False)
    assert asked(desk) == 1
