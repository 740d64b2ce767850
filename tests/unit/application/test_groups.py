"""What is done with Groups that are fed by Events, and that an answer about one of them says nothing of another."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain.outbox import action_id
from metagit_mcp.errors import (
    EventConflict,
    GraphExists,
    GroupNotFound,
    InvalidInput,
    InvalidStateTransition,
    MetagitError,
    SchemaMismatch,
)
from metagit_mcp.ports.machine import Waits
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.estimate_answers import EstimateRequest
from metagit_mcp.wire.group_events import read_group_event
from tests.groups import commands
from tests.groups.offered import CAPABLE, CODER, at_the_beginning, deliver, offering
from tests.groups.real_events import LINES
from tests.scenarios.at_once import at_once, finished
from tests.unit.adapters.reading import node

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from metagit_mcp.application.groups.groups import Groups
    from tests.unit.application.desk import Desk

Json = dict[str, Any]
G = "group:cli"
REAL: list[Json] = [json.loads(line) for line in LINES]
TOO_MUCH = {"field": "events"}


def groups(desk: Desk) -> Groups:
    return desk.application.groups


def told(use_case: Coroutine[Any, Any, Any]) -> Json:
    return plain(finished(use_case))


def refusal(kind: type[MetagitError], use_case: Coroutine[Any, Any, Any]) -> Json:
    with pytest.raises(kind) as refused:
        finished(use_case)
    return refused.value.as_record()


def refused(kind: type[MetagitError], desk: Desk, events: object, group_id: str = G) -> Json:
    """Deliver what is refused; nothing happened."""
    before = desk.events()
    with pytest.raises(kind) as error:
        deliver(desk, events, group_id)
    assert desk.events() == before
    return error.value.as_record()


def proposals(desk: Desk) -> list[Json]:
    """What the Group is asked for, besides what it is only told."""
    found: list[Json] = told(groups(desk).outbox(G))["proposals"]
    return [each for each in found if each["command"] != "schedule.estimate"]


# --- delivering ------------------------------------------------------------------------------------------------------


def test_a_log_is_delivered_with_a_gap_and_then_what_was_missing(desk: Desk) -> None:
    assert deliver(desk, REAL[:10]) == {
        "cursor": 10,
        "applied": 10,
        "duplicates": 0,
        "held": 0,
        "warnings": [],
        "next_step": "Deliver what follows sequence 10 as it comes; metagit_schedule_next gives the work.",
    }
    gap = deliver(desk, REAL[12:])
    assert (gap["cursor"], gap["held"]) == (10, 24)
    assert gap["next_step"] == "24 Events wait: deliver those from sequence 11 on."
    whole = deliver(desk, REAL[8:12])
    assert (whole["cursor"], whole["applied"], whole["duplicates"], whole["held"]) == (36, 26, 2, 0)


def test_events_may_come_as_one_text_of_json(desk: Desk) -> None:
    assert deliver(desk, json.dumps(REAL))["cursor"] == 36


def test_an_event_that_cannot_be_read_is_named_by_its_place_and_takes_the_others_with_it(desk: Desk) -> None:
    bad = {**REAL[2], "sequence": 0}
    record = refused(SchemaMismatch, desk, [*REAL[:2], bad, *REAL[3:]])
    assert record["message"].startswith("events/2: Event ")
    assert (record["details"]["index"], record["details"]["field"]) == (2, "sequence")


def test_an_event_whose_payload_cannot_be_read_is_named_by_its_place(desk: Desk) -> None:
    at = next(index for index, event in enumerate(REAL) if event["kind"] == "work.started")
    bad = deepcopy(REAL[at])
    bad["payload"]["executionLease"]["expiresAt"] = "soon"
    record = refused(SchemaMismatch, desk, [*REAL[:at], bad])
    assert record["message"].startswith(f"events/{at}: Event work.started ")
    assert (record["details"]["index"], record["details"]["field"]) == (at, "payload/executionLease/expiresAt")


def test_an_event_that_does_not_fit_is_named_by_its_place(desk: Desk) -> None:
    deliver(desk, REAL[:3])
    other = {**REAL[1], "correlationId": "another"}
    record = refused(EventConflict, desk, [REAL[0], other])
    assert record["message"] == "events/1: The Event at 2 says something else than before; nothing was applied."
    assert record["details"] == {"group_id": G, "sequence": 2, "index": 1}


def test_more_than_eight_mebibytes_in_a_call_are_refused(desk: Desk) -> None:
    events = [{**REAL[0], "sequence": number, "eventId": f"event:{number}"} for number in range(1, 141)]
    for event in events:
        event["payload"] = {"text": "x" * 60_000}
    assert refused(InvalidInput, desk, events)["details"] == TOO_MUCH
    assert deliver(desk, events[:137])["applied"] == 137


def test_what_was_read_already_is_measured_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metagit_mcp.application.groups.groups.MOST_BYTES", 100)
    record = refusal(InvalidInput, groups(desk).take_in(G, [read_group_event(LINES[0])]))
    assert record["details"] == TOO_MUCH


def test_a_task_graph_cannot_be_fed(desk: Desk) -> None:
    desk.graph("shop", node("a"))
    assert refused(GraphExists, desk, [{**REAL[0], "groupId": "shop"}], group_id="shop")["details"] == {
        "graph_id": "shop"
    }


def test_a_log_is_declared_once_and_again_in_part(desk: Desk) -> None:
    assert deliver(desk, REAL[9:12], first_sequence=10)["cursor"] == 12
    assert deliver(desk, REAL[12:20:2], filtered=True)["cursor"] == 19
    group = told(groups(desk).shown(G))["group"]
    assert (group["first_sequence"], group["filtered"], group["cursor"]) == (10, True, 19)
    assert deliver(desk, REAL[24:25])["cursor"] == 25
    assert deliver(desk, REAL[26:28], filtered=False)["held"] == 2


# --- how it stands ---------------------------------------------------------------------------------------------------


def test_a_group_is_shown_with_its_gap(desk: Desk) -> None:
    deliver(desk, REAL[:10])
    deliver(desk, REAL[12:20])
    assert told(groups(desk).shown(G)) == {
        "group": {
            "group_id": G,
            "cursor": 10,
            "first_sequence": 1,
            "filtered": False,
            "archived": False,
            "held": 8,
            "items_total": 2,
            "items": [{"state": "open", "items": 2}],
            "outbox": 0,
            "missing": {"first": 11, "last": 12},
        },
        "warnings": [],
        "next_step": "Deliver the Events 11 to 12: 8 wait for them.",
    }


def test_groups_are_listed_by_name(desk: Desk) -> None:
    assert told(groups(desk).listed()) == {
        "groups": [],
        "warnings": [],
        "next_step": "metagit-mcp group deliver begins one.",
    }
    for name in ("group:b", "group:a"):
        deliver(desk, [{**REAL[0], "groupId": name}], name)
    listed = told(groups(desk).listed())
    assert [(each["group_id"], each["cursor"]) for each in listed["groups"]] == [("group:a", 1), ("group:b", 1)]
    assert listed["groups"][0] == told(groups(desk).shown("group:a"))["group"]


def test_what_a_group_is_asked_for_stays_as_it_is_until_it_is_answered(desk: Desk) -> None:
    group = offering(items=2)
    deliver(at_the_beginning(desk), group.log)
    (decision,) = desk.claim(CODER, capabilities=CAPABLE)["decisions"]
    lease, work_id = decision["lease"]["lease_id"], decision["node_id"]
    asked = proposals(desk)
    names = {
        "group_id": G,
        "work_item_id": work_id,
        "agent_id": CODER,
        "ownership_epoch": 1,
        "session_epoch": 1,
        "membership_epoch": 1,
        "payload": {},
        "at": "2026-07-15T08:00:00Z",
    }
    assert asked == [
        {"action_id": action_id("work.accept_offer", lease), "command": "work.accept_offer", **names},
        {"action_id": action_id("work.start", lease), "command": "work.start", **names},
    ]
    shown = told(groups(desk).outbox(G))
    assert (shown["cursor"], shown["proposals_total"]) == (len(group.log), len(shown["proposals"]))
    assert told(groups(desk).shown(G))["next_step"] == (
        "metagit-mcp group outbox GROUP --json says what to ask the Group for."
    )
    # Whatever else happens meanwhile, not a byte of it changes.
    before = len(group.log)
    commands.make_noise(group, "message.posted")
    deliver(desk, group.log[before:])
    assert proposals(desk.beside()) == asked
    # An answer takes its Command alone.
    before = len(group.log)
    commands.accept(group, (group.items[work_id], CODER))
    deliver(desk, group.log[before:])
    assert proposals(desk) == asked[1:]


@pytest.mark.parametrize("name", ["shown", "outbox", "verify"])
def test_a_group_that_nobody_fed_is_not_found_and_no_other_is_named(desk: Desk, name: str) -> None:
    deliver(desk, REAL[:1])
    record = refusal(GroupNotFound, getattr(groups(desk), name)("group:nobody"))
    assert record == {
        "code": "GROUP_NOT_FOUND",
        "message": "No Group group:nobody is fed by Events.",
        "hint": "metagit_group_deliver begins one with the first Events of its log.",
        "details": {"group_id": "group:nobody"},
        "retryable": False,
    }


def test_answers_about_one_group_are_the_same_whatever_another_is(desk: Desk) -> None:
    deliver(desk, REAL[:10])
    asked = (groups(desk).shown, groups(desk).outbox, groups(desk).verify)
    alone = [told(each(G)) for each in asked]
    position = len(desk.events())
    other = offering("group:other", items=3)
    at_the_beginning(desk)
    deliver(desk, other.log, "group:other")
    assert desk.taken(CODER, graph_id="group:other", capabilities=CAPABLE) != []
    beside = [told(each(G)) for each in asked]
    assert alone[2].pop("position") == position
    assert beside[2].pop("position") == len(desk.events())
    assert beside == alone
    assert "other" not in json.dumps(beside)


def test_a_group_is_told_when_its_work_is_done(desk: Desk) -> None:
    deliver(at_the_beginning(desk), offering().log)
    request = parse_request(EstimateRequest, {"group_id": G})
    answer = told(groups(desk).estimate(request))
    assert (answer["group_id"], answer["last_calculated_at"]) == (G, "2026-07-15T08:00:00Z")
    refusal(GroupNotFound, groups(desk).estimate(parse_request(EstimateRequest, {"group_id": "group:nobody"})))


# --- what the Group said ---------------------------------------------------------------------------------------------


def running(desk: Desk) -> tuple[str, str]:
    """Work of a Group under a lease: the lease and the WorkItem."""
    deliver(at_the_beginning(desk), offering().log)
    (decision,) = desk.claim(CODER, capabilities=CAPABLE)["decisions"]
    return decision["lease"]["lease_id"], decision["node_id"]


def test_a_refused_command_leaves_with_all_that_rests_on_it_and_the_act_is_undone(desk: Desk) -> None:
    lease, work_id = running(desk)
    answer = told(groups(desk).answer(G, action_id("work.accept_offer", lease), "refused", "another was\x07 first"))
    assert answer == {
        "group_id": G,
        "action_id": action_id("work.accept_offer", lease),
        "outcome": "refused",
        "changed": True,
        "withdrawn": [action_id("work.accept_offer", lease), action_id("work.start", lease)],
        "warnings": [],
        "next_step": "metagit-mcp group outbox GROUP --json shows what is left.",
    }
    assert proposals(desk) == []
    assert desk.application.current.state.leases == {}
    assert desk.application.current.state.items[G][work_id].owner is None


def test_a_delivered_command_stays_until_its_event_comes(desk: Desk) -> None:
    lease, _ = running(desk)
    before, events = told(groups(desk).outbox(G)), desk.events()
    answer = told(groups(desk).answer(G, action_id("work.start", lease), "delivered"))
    assert (answer["changed"], answer["withdrawn"]) == (False, [])
    assert answer["next_step"] == ("It stays in the outbox until an Event of the Group's log answers it: deliver that.")
    assert (told(groups(desk).outbox(G)), desk.events()) == (before, events)


def test_what_no_event_answers_is_over_once_it_is_delivered(desk: Desk) -> None:
    running(desk)
    (estimate,) = (each for each in told(groups(desk).outbox(G))["proposals"] if each["command"] == "schedule.estimate")
    answer = told(groups(desk).answer(G, estimate["action_id"], "delivered"))
    assert (answer["changed"], answer["withdrawn"]) == (True, [estimate["action_id"]])
    assert [each["command"] for each in proposals(desk)] == ["work.accept_offer", "work.start"]
    assert estimate not in told(groups(desk).outbox(G))["proposals"]


@pytest.mark.parametrize("outcome", ["delivered", "refused"])
def test_nothing_stands_under_an_action_id_that_was_answered_or_never_was(desk: Desk, outcome: Any) -> None:  # noqa: ANN401 - either outcome
    lease, _ = running(desk)
    finished(groups(desk).answer(G, action_id("work.accept_offer", lease), "refused"))
    events = desk.events()
    for named in (action_id("work.accept_offer", lease), "nobody's", "\x1b[31m"):
        record = refusal(InvalidStateTransition, groups(desk).answer(G, named, outcome))
        assert record["message"] == "The outbox of the Group has nothing under this action id."
        assert record["details"]["group_id"] == G
        assert "\x1b" not in record["details"]["action_id"]
    assert desk.events() == events


def test_an_answer_needs_its_group_and_a_reason_of_bounded_length(desk: Desk) -> None:
    refusal(GroupNotFound, groups(desk).answer(G, "a", "refused"))
    assert refusal(InvalidInput, groups(desk).answer(G, "a", "refused", "x" * 2001))["details"] == {"field": "reason"}


# --- following -------------------------------------------------------------------------------------------------------


def test_following_pauses_only_where_nothing_was_found(desk: Desk) -> None:
    found = iter([True, False, False, True])
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    followed = desk.beside(waits=Waits(offload=at_once, sleep=sleep))
    left = [4]

    def more() -> bool:
        left[0] -= 1
        return next(found)

    finished(groups(followed).follow(more, lambda: left[0] > 0))
    assert slept == [0.5, 0.5]


def test_a_lease_that_ran_out_counts_before_any_command_says_so(desk: Desk) -> None:
    at_the_beginning(desk)
    deliver(desk, offering().log)
    desk.claim(CODER, capabilities=CAPABLE)
    before = desk.events()
    assert told(groups(desk).shown(G))["group"]["items"] == [{"state": "active", "items": 1}]
    desk.wait(3_600)
    assert told(groups(desk).shown(G))["group"]["items"] == [{"state": "open", "items": 1}]
    assert told(groups(desk).listed())["groups"][0]["items"] == [{"state": "open", "items": 1}]
    assert desk.events() == before
