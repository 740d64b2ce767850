"""What agents do in a Group that is fed by Events: what it is asked for, and what its log then makes of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain import group_facts as facts
from metagit_mcp.domain.events import (
    LeaseExpired,
    WorkAccepted,
    WorkBlocked,
    WorkParked,
    WorkPaused,
    WorkReleased,
    WorkSubmitted,
)
from metagit_mcp.domain.feed_events import EstimatePublished, OfferDeclined, ProposalAnswered
from metagit_mcp.domain.feeds import Contract, Proposal
from metagit_mcp.domain.outbox import action_id
from metagit_mcp.domain.share_events import PreemptionRequested
from metagit_mcp.domain.work import Checkpoint, Result
from tests.unit.domain.fed_log import (
    ACCEPTANCE,
    AT,
    ESTIMATE,
    LATER,
    ME,
    MICROS,
    OTHER,
    REFUSAL,
    TERM,
    G,
    Log,
    N,
    accept,
    accepted_by,
    begun,
    offered,
    owned,
    proposal,
    running,
    start,
)

if TYPE_CHECKING:
    from metagit_mcp.domain.events import Event

# --- what is asked for -----------------------------------------------------------------------------------------------


def test_an_acceptance_asks_for_the_offer_under_the_next_epoch() -> None:
    log = offered().did(accept())
    assert log.outbox == [proposal("work.accept_offer", ACCEPTANCE, membership=4)]
    assert (log.item.state, log.item.owner, log.item.ownership_epoch) == ("queued", ME, 1)


def test_a_start_from_an_offer_asks_for_both() -> None:
    log = offered().did(start())
    assert log.outbox == [
        proposal("work.accept_offer", action_id("work.accept_offer", "L1"), membership=4),
        proposal("work.start", action_id("work.start", "L1"), membership=4),
    ]


def test_a_start_after_an_acceptance_asks_only_for_itself() -> None:
    assert offered().did(accept(), start()).asked == ["work.accept_offer", "work.start"]
    assert owned().did(start()).outbox == [proposal("work.start", action_id("work.start", "L1"))]


def test_a_run_that_the_group_has_already_is_asked_for_no_more() -> None:
    log = begun(owned()).did(start())
    assert log.outbox == []
    assert (log.item.state, log.item.lease_id) == ("active", "L1")


POINT = Checkpoint(checkpoint_id="c", at=AT, lease_id="L1", note="from here")
OF: dict[str, Any] = {"at": AT, "lease_id": "L1"}
CITED: dict[str, Any] = {"executionLeaseId": "lease:x"}
ENDS: list[tuple[Event, Proposal]] = [
    (
        WorkPaused(start_by=TERM, checkpoint=POINT, **OF),
        proposal("work.checkpoint", action_id("work.checkpoint", "L1"), **CITED, checkpointId="c", note="from here"),
    ),
    (WorkReleased(**OF), proposal("work.checkpoint", action_id("work.checkpoint", "L1"), **CITED)),
    (
        WorkBlocked(note="a schema", until=TERM, **OF),
        proposal("work.block", action_id("work.block", "L1"), **CITED, reason="a schema"),
    ),
    (WorkSubmitted(**OF), proposal("work.submit", action_id("work.submit", "L1"), **CITED)),
    (
        WorkSubmitted(result=Result(summary="done", artifacts=("a",)), **OF),
        proposal("work.submit", action_id("work.submit", "L1"), **CITED, summary="done", artifacts=("a",)),
    ),
    (WorkParked(note="no way", **OF), proposal("work.fail", action_id("work.fail", "L1"), **CITED, reason="no way")),
]


@pytest.mark.parametrize(("end", "asked"), ENDS)
def test_the_end_of_a_lease_asks_for_its_command_and_cites_the_groups_lease(end: Event, asked: Proposal) -> None:
    assert running().did(end).outbox == [asked]


def test_a_lease_that_the_group_does_not_know_yet_cannot_be_cited() -> None:
    log = owned().did(start(), WorkSubmitted(**OF))
    assert log.outbox[1] == proposal("work.submit", action_id("work.submit", "L1"))


def test_a_lease_that_ran_out_asks_for_nothing() -> None:
    assert running().did(LeaseExpired(**OF)).outbox == []


def test_a_declined_offer_says_why() -> None:
    declined = OfferDeclined(at=AT, graph_id=G, node_id=N, agent_id=ME, reason="capacity")
    asked = proposal(
        "work.decline_offer",
        REFUSAL,
        membership=4,
        epoch=0,
        declineReason="capacity",
    )
    assert offered().did(declined).outbox == [asked]


def estimate(minutes: int) -> EstimatePublished:
    at = AT + timedelta(minutes=minutes)
    ends = {"start_from": at, "start_to": LATER, "completion": LATER}
    names: dict[str, Any] = {"confidence_percent": 50, "capacity_status": "queued", "agent_id": ME, **ends}
    return EstimatePublished(at=at, graph_id=G, node_id=N, **names)


def test_a_newer_estimate_takes_the_place_of_the_former() -> None:
    (told,) = owned().did(estimate(0), estimate(5)).outbox
    assert told.action_id == action_id("schedule.estimate", N, f"{MICROS + 300_000_000}")
    assert told.payload == {
        "estimatedStart": "2026-03-02T13:00:00Z",
        "estimatedStartFrom": "2026-03-02T12:05:00Z",
        "estimatedCompletion": "2026-03-02T13:00:00Z",
        "confidence": "0.50",
        "capacityStatus": "queued",
        "lastCalculatedAt": "2026-03-02T12:05:00Z",
    }


def test_a_stranger_to_the_group_has_no_epochs_there() -> None:
    declined = OfferDeclined(at=AT, graph_id=G, node_id=N, agent_id=OTHER, reason="other")
    (asked,) = offered().did(declined).outbox
    assert (asked.session_epoch, asked.membership_epoch) == (0, 0)


# --- what the log makes of it ----------------------------------------------------------------------------------------


def test_each_answer_takes_its_command_and_leaves_the_work_as_it_is() -> None:
    log = offered().did(start())
    accepted_by(log, ME)
    assert (log.asked, log.item.state, log.item.lease_id) == (["work.start"], "active", "L1")
    begun(log)
    assert (log.asked, log.item.state, log.item.lease_id) == ([], "active", "L1")


ANSWERS: list[tuple[Event, Any, dict[str, Any], str]] = [
    (ENDS[0][0], facts.WorkSetAside, {"until": LATER}, "queued"),
    (ENDS[2][0], facts.WorkStuck, {"reason": "a schema", "until": LATER}, "blocked"),
    (ENDS[3][0], facts.ResultSubmitted, {}, "submitted"),
    (ENDS[5][0], facts.WorkLost, {"reason": "no way"}, "parked"),
]


@pytest.mark.parametrize(("end", "fact", "names", "state"), ANSWERS)
def test_an_end_is_answered_by_its_event(end: Event, fact: Any, names: dict[str, Any], state: str) -> None:  # noqa: ANN401 - any fact
    log = running().did(end).told(fact, node_id=N, **names)
    assert (log.outbox, log.item.state) == ([], state)


def test_an_offer_again_leaves_an_acceptance_that_it_still_allows() -> None:
    log = offered().did(accept()).told(facts.WorkOffered, node_id=N, candidates=(ME,), until=LATER)
    assert (log.asked, log.item.state, log.item.owner) == (["work.accept_offer"], "queued", ME)


LOST: list[tuple[Any, dict[str, Any]]] = [
    (facts.OfferAccepted, {"agent_id": OTHER, "ownership_epoch": 1, "until": LATER}),
    (facts.OfferAccepted, {"agent_id": ME, "ownership_epoch": 3, "until": LATER}),
    (facts.WorkOffered, {"candidates": (OTHER,), "until": LATER}),
    (facts.ChildMissionCreated, {"mission_id": "child"}),
    (facts.WorkCalledOff, {"reason": "scope"}),
]


@pytest.mark.parametrize(("fact", "names"), LOST)
def test_work_that_the_group_gave_to_nobody_here_ends_here(fact: Any, names: dict[str, Any]) -> None:  # noqa: ANN401 - any fact
    log = offered().did(start()).told(fact, node_id=N, **names)
    state = log.state
    assert (log.outbox, state.leases, state.closed["L1"].closure) == ([], {}, "revoked")
    assert log.item == offered().told(fact, node_id=N, **names).item


def test_a_failure_that_the_group_tells_of_ends_a_start_that_it_has_not_answered() -> None:
    log = owned().did(start(), estimate(0)).told(facts.WorkLost, node_id=N, reason="too late")
    state = log.state
    assert (log.outbox, state.leases, state.closed["L1"].closure) == ([], {}, "revoked")
    assert log.item == owned().told(facts.WorkLost, node_id=N, reason="too late").item


@pytest.mark.parametrize(("outcome", "state"), [("cancelled", "cancelled"), ("terminated", "parked")])
def test_the_end_of_a_mission_ends_what_it_was_not_asked_for_yet(outcome: str, state: str) -> None:
    log = offered().did(start(), estimate(0)).told(facts.MissionEnded, mission_id="m", outcome=outcome)
    assert (log.outbox, log.state.leases, log.item.state) == ([], {}, state)
    assert log.item == offered().told(facts.MissionEnded, mission_id="m", outcome=outcome).item


def test_an_acceptance_that_lost_has_no_term_any_more() -> None:
    log = accepted_by(offered().did(accept()), OTHER)
    assert (log.state.terms, log.item.state, log.item.owner) == ({}, "open", None)


def test_a_fence_ends_confirmed_work() -> None:
    log = running().told(facts.WorkOffered, node_id=N, candidates=(ME,), until=LATER)
    state = log.state
    assert (state.leases, log.item.state, log.item.ownership_epoch) == ({}, "open", 2)


def test_the_end_of_a_mission_ends_all_that_is_not_over() -> None:
    log = running().told(facts.MissionEnded, mission_id="m", outcome="cancelled")
    assert (log.state.leases, log.item.state, log.state.feeds[G].ended) == ({}, "cancelled", ("m",))


def test_a_new_offer_or_its_acceptance_ends_what_was_said_of_the_former() -> None:
    declined = OfferDeclined(at=AT, graph_id=G, node_id=N, agent_id=ME, reason="capacity")
    log = offered().did(declined).told(facts.WorkOffered, node_id=N, candidates=(ME,), until=LATER)
    assert log.outbox == []
    assert accepted_by(offered().did(declined), OTHER).outbox == []


def test_nobody_stays_asked_to_pause_for_work_that_is_over() -> None:
    log = offered().did(PreemptionRequested(at=AT, lease_id="elsewhere", graph_id=G, node_id=N, slots=1))
    assert log.told(facts.UsageRecorded, node_id=N, left={}).state.shares.asked == {G: {N: 1}}
    assert log.told(facts.WorkCalledOff, node_id=N).state.shares.asked == {}


@pytest.mark.parametrize(("end", "fact", "names", "_"), ANSWERS[:3])
def test_an_answer_changes_nothing_but_what_the_log_says(end: Event, fact: Any, names: dict[str, Any], _: str) -> None:  # noqa: ANN401 - any fact
    before = running().did(end).item
    log = running().did(end).told(fact, node_id=N, **names)
    assert log.item == replace(before, fed=running().told(fact, node_id=N, **names).item.fed)
    assert log.item.owner == ME


def test_what_is_told_of_other_work_stays() -> None:
    log = offered().told(facts.WorkAuthorized, node=Contract(node_id="other"), mission_id="m").did(accept())
    log.told(facts.WorkOffered, node_id="other", candidates=(ME,), until=LATER)
    assert log.asked == ["work.accept_offer"]


def test_events_of_work_that_may_not_be_seen_change_nothing() -> None:
    log = (
        offered()
        .told(facts.ResultSubmitted, node_id="hidden")
        .told(facts.DependencyAdded, node_id="hidden", dependency_id=N)
    )
    assert [*log.state.items[G]] == [N]


# --- what carries the commands says ----------------------------------------------------------------------------------


def answered(action_id: str, outcome: Any) -> ProposalAnswered:  # noqa: ANN401 - a literal
    return ProposalAnswered(at=AT, group_id=G, action_id=action_id, outcome=outcome)


def test_a_refused_command_undoes_the_act_and_what_rests_on_it() -> None:
    log = offered().did(start(), answered(action_id("work.accept_offer", "L1"), "refused"))
    state = log.state
    assert (log.outbox, state.leases, state.closed["L1"].closure) == ([], {}, "revoked")
    assert (log.item.state, log.item.owner, log.item.ownership_epoch) == ("open", None, 0)


def test_a_refused_end_leaves_the_work_to_the_log() -> None:
    log = running().did(WorkSubmitted(**OF), answered(action_id("work.submit", "L1"), "refused"))
    assert (log.outbox, log.item.state, log.item.fed and log.item.fed.state) == ([], "open", "active")


def test_a_delivered_command_waits_for_its_event() -> None:
    assert offered().did(accept(), answered(ACCEPTANCE, "delivered")).asked == ["work.accept_offer"]


def test_what_no_event_answers_is_done_when_it_is_delivered() -> None:
    log = running().did(estimate(0), answered(ESTIMATE, "delivered"))
    assert (log.outbox, log.item.state, log.item.lease_id) == ([], "active", "L1")


def with_two() -> Log:
    """Two WorkItems, both accepted here, in a Group that says nothing of it yet."""
    log = offered().did(accept()).told(facts.WorkAuthorized, node=Contract(node_id="two"), mission_id="m")
    log.told(facts.WorkOffered, node_id="two", candidates=(ME,), until=LATER)
    names: dict[str, Any] = {"agent_id": ME, "session_epoch": 1, "ownership_epoch": 1, "start_by": TERM}
    return log.did(WorkAccepted(at=AT, graph_id=G, node_id="two", **names))


def test_what_is_asked_for_other_work_stays() -> None:
    log = with_two().did(estimate(0), answered(ACCEPTANCE, "refused"), estimate(5))
    assert [(each.command, each.node_id) for each in log.outbox] == [
        ("work.accept_offer", "two"),
        ("schedule.estimate", N),
    ]


def test_only_an_approval_of_the_present_ownership_counts() -> None:
    log = owned().told(facts.ExecutionApproved, node_id=N, ownership_epoch=2, until=LATER, by="human:owner")
    assert log.item.fed is not None
    assert log.item.fed.approved_until is None
    log.told(facts.ExecutionApproved, node_id=N, ownership_epoch=1, until=LATER, by="human:owner")
    log.told(facts.ExecutionApproved, node_id=N, ownership_epoch=1, until=AT, by="human:owner")
    assert log.item.fed is not None
    assert log.item.fed.approved_until == LATER


def test_a_branch_has_an_outbox_of_its_own() -> None:
    state = offered().did(accept()).state
    branch = state.branch()
    branch.feeds[G].outbox.clear()
    assert [*state.feeds[G].outbox] == [ACCEPTANCE]
