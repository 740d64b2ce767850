"""Events of a Group are read in both envelopes, each as its fact, and told apart by all that they hold."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain import group_facts as facts
from metagit_mcp.errors import SchemaMismatch
from metagit_mcp.wire.group_events import GroupEvent, fact_of, read_group_event
from tests.groups.real_events import LINES, OF_A_GROUP, REAL, SAMPLES, refusal, sample, told

Json = dict[str, Any]
EIGHT = datetime(2026, 7, 15, 8, tzinfo=UTC)


# --- what is read ----------------------------------------------------------------------------------------------------


def test_every_event_of_a_real_log_is_read() -> None:
    events = [read_group_event(line) for line in LINES]
    assert [each.sequence for each in events] == list(range(1, 37))
    assert {each.group_id for each in events} == {"group:cli"}
    assert sum(fact_of(each) is not None for each in events) == 27
    assert len({each.event_key for each in events}) == len({each.digest for each in events}) == 36


@pytest.mark.parametrize("event", REAL, ids=lambda event: event["kind"])
def test_a_body_is_read_as_the_same_event(event: Json) -> None:
    read = read_group_event(event)
    again = read_group_event(read.body)
    assert (again, again.record, fact_of(again)) == (read, read.record, fact_of(read))
    assert len(read.digest) == len(read.event_key) == 16


@pytest.mark.parametrize("kind", sorted(SAMPLES.keys() - OF_A_GROUP.keys()))
def test_an_event_of_no_group_is_refused(kind: str) -> None:
    assert refusal(SAMPLES[kind]) == (kind, "groupId", "is required")


def test_the_envelope_of_the_wire_is_read() -> None:
    read = read_group_event(LINES[8])
    assert read == GroupEvent(
        event_id=read.record["eventId"],
        group_id="group:cli",
        sequence=9,
        kind="work.started",
        at=EIGHT,
        digest=read.digest,
        event_key=read.event_key,
        body=read.body,
    )
    assert fact_of(read) == facts.WorkBegun(
        sequence=9,
        at=EIGHT,
        node_id="cli:implementation",
        lease_id="lease:execution:4788966e-62d9-4790-80cf-e76d2affb07c",
        agent_id="agent://acme/coder",
        session_epoch=1,
        ownership_epoch=1,
        until=datetime(2026, 7, 15, 8, 0, 2, tzinfo=UTC),
        cause="poc:action:0052",
    )


NINE = datetime(2026, 7, 15, 9, tzinfo=UTC)
AT = datetime(2026, 7, 15, 8, 0, 11, tzinfo=UTC)
WHOLE: list[tuple[str, facts.GroupFact | None]] = [
    (
        "work.offer.created",
        facts.WorkOffered(
            sequence=12,
            at=EIGHT,
            node_id="auth:requirements",
            candidates=("agent://acme/analyst",),
            until=datetime(2026, 7, 15, 8, 10, tzinfo=UTC),
            cause="poc:action:0033",
        ),
    ),
    (
        "work.offer.accepted",
        facts.OfferAccepted(
            sequence=13,
            at=EIGHT,
            node_id="auth:requirements",
            agent_id="agent://acme/analyst",
            ownership_epoch=1,
            until=NINE,
            cause="poc:action:0034",
        ),
    ),
    (
        "work.contract.revised",
        facts.DependencyAdded(
            sequence=11,
            at=EIGHT,
            node_id="auth:review",
            dependency_id="auth:tests",
            cause="poc:dynamic-dependency",
        ),
    ),
    (
        "work.progressed",
        facts.LeaseExtended(
            sequence=8,
            at=datetime(2026, 7, 15, 8, 1, tzinfo=UTC),
            node_id="work:renew",
            lease_id="lease:execution:3bb9845f-0176-4e8b-8321-72f1be18b0c9",
            until=datetime(2026, 7, 15, 8, 11, tzinfo=UTC),
            cause="action:14",
        ),
    ),
    (
        "work.checkpointed",
        facts.WorkSetAside(
            sequence=21, at=EIGHT, node_id="auth:implementation", until=NINE, note="add MFA", cause="poc:action:0042"
        ),
    ),
    (
        "work.blocked",
        facts.WorkStuck(
            sequence=23,
            at=EIGHT,
            node_id="auth:implementation",
            reason="awaiting authentication schema decision",
            until=NINE,
            cause="poc:action:0044",
        ),
    ),
    (
        "work.unblocked",
        facts.WorkUnstuck(sequence=24, at=EIGHT, node_id="auth:implementation", owned=True, cause="poc:action:0045"),
    ),
    (
        "work.submitted",
        facts.ResultSubmitted(sequence=16, at=EIGHT, node_id="auth:requirements", cause="poc:action:0037"),
    ),
    (
        "work.result.accepted",
        facts.ResultVerified(sequence=17, at=EIGHT, node_id="auth:requirements", cause="poc:action:0038"),
    ),
    (
        "work.failed",
        facts.WorkLost(
            sequence=4,
            at=EIGHT,
            node_id="work:implementation",
            reason="child Mission mission:child failed: child implementation cannot proceed",
            fenced=True,
            cause="action:10",
        ),
    ),
    (
        "work.cancelled",
        facts.WorkCalledOff(
            sequence=6, at=EIGHT, node_id="work:root", reason="scope closed", cause="action:delegation:16"
        ),
    ),
    (
        "ext.missionweaveprotocol.core.work_execution_lease_revoked",
        facts.SessionReplaced(
            sequence=41,
            at=AT,
            node_id="auth:review",
            session_epoch=4,
            cause="urn:uuid:2f7fe683-f88b-4302-a366-3dc2fdc60b92",
        ),
    ),
    (
        "ext.missionweaveprotocol.core.resource_usage_recorded",
        facts.UsageRecorded(
            sequence=42,
            at=AT,
            node_id="auth:review",
            left={"tokens": 9999, "tool_calls": 100},
            cause="poc:action:0091",
        ),
    ),
    (
        "approval.execution.granted",
        facts.ExecutionApproved(
            sequence=6,
            at=EIGHT,
            node_id="work:deploy",
            ownership_epoch=1,
            until=datetime(2026, 7, 15, 8, 5, tzinfo=UTC),
            by="human:owner",
            cause="action:execution-approval",
        ),
    ),
    (
        "mission.child.created",
        facts.ChildMissionCreated(
            sequence=35,
            at=datetime(2026, 7, 15, 8, 0, 6, tzinfo=UTC),
            node_id="auth:security",
            mission_id="mission:authentication:security",
            cause="poc:action:0067",
        ),
    ),
    (
        "mission.cancelled",
        facts.MissionEnded(
            sequence=6, at=EIGHT, mission_id="mission:control", outcome="cancelled", cause="human-action:5"
        ),
    ),
    (
        "mission.terminated",
        facts.MissionEnded(sequence=2, at=EIGHT, mission_id="mission:child", outcome="terminated", cause="action:10"),
    ),
    (
        "membership.changed",
        facts.MembershipChanged(
            sequence=2,
            at=EIGHT,
            agent_id="agent://acme/analyst",
            status="provisional",
            epoch=1,
            roles=("worker",),
            cause="poc:action:0017",
        ),
    ),
    (
        "membership.ended",
        facts.MembershipChanged(
            sequence=7, at=EIGHT, agent_id="agent:delegate", status="ended", cause="action:delegation:17"
        ),
    ),
    (
        "mission.coordinator.assigned",
        facts.CoordinatorAssigned(
            sequence=5,
            at=EIGHT,
            agent_id="agent://acme/coordinator-cli-v2",
            epoch=2,
            cause="poc:human-action:0003",
        ),
    ),
    ("group.archived", facts.GroupArchived(sequence=72, at=AT, cause="poc:action:0128")),
    ("message.posted", None),
]


@pytest.mark.parametrize(("kind", "fact"), WHOLE, ids=[kind for kind, _ in WHOLE])
def test_each_kind_tells_its_fact(kind: str, fact: facts.GroupFact | None) -> None:
    assert told(SAMPLES[kind]) == fact


def test_other_forms_of_a_fact() -> None:
    assert told(sample("work.blocked", ownershipLeaseExpiresAt=None)).until is None
    assert told(sample("work.failed", sourceEventId=None)).fenced is False
    assert told(sample("work.unblocked", status=None, state="open")).owned is False
    assert told(sample("work.checkpointed", checkpoint=None)).note == ""
    assert told(sample("work.checkpointed", checkpoint={"phase": "half\nway"})).note == "half way"


def test_a_membership_of_the_schema_is_read_and_people_are_passed_over() -> None:
    agent = {"id": "agent:a", "type": "agent"}
    membership: Json = {"member": agent, "role": "worker", "state": "active", "membershipEpoch": 3}
    fact = told(sample("membership.changed", membership=membership))
    assert (fact.agent_id, fact.status, fact.epoch, fact.roles) == ("agent:a", "active", 3, ("worker",))
    person = {"id": "human:a", "type": "human"}
    assert told(sample("membership.changed", membership=membership | {"member": person})) is None
    assert told(sample("membership.ended", principal=person)) is None


@pytest.mark.parametrize(
    ("own", "cause"),
    [
        ({"actionId": "action:1"}, "action:1"),
        ({"actionId": None}, ""),
        ({"actionId": "no id of ours"}, ""),
        ({"cause": {"type": "command", "id": "action:2"}}, "action:2"),
        ({"cause": {"type": "timer", "id": "action:2"}}, ""),
    ],
)
def test_the_command_behind_an_event_is_named(own: Json, cause: str) -> None:
    assert told(SAMPLES["work.submitted"] | own).cause == cause


# --- one digest for one content --------------------------------------------------------------------------------------


def reordered(item: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(item, dict):
        return {name: reordered(each) for name, each in reversed(item.items())}
    return [reordered(each) for each in item] if isinstance(item, list) else item


@pytest.mark.parametrize("event", REAL, ids=lambda event: event["kind"])
def test_the_same_content_has_the_same_digest_however_it_is_written(event: Json) -> None:
    read = read_group_event(event)
    for text in (
        json.dumps(event),
        json.dumps(reordered(event), indent=3),
        json.dumps(event).replace("/", "\\/").replace(":", "\\u003a").replace("\\u003a ", ": "),
        json.dumps(event, ensure_ascii=False).encode(),
    ):
        assert read_group_event(text) == read


def test_a_whole_number_is_the_same_however_it_is_written() -> None:
    event = SAMPLES["work.offer.accepted"]
    text = json.dumps(sample("work.offer.accepted", ownershipEpoch=7, more=[7, {"a": 7}], x=[0.5, 1e300], y=0))
    read = read_group_event(text)
    other = text.replace('Epoch": 7', 'Epoch": 7.0').replace("[7", "[70e-1").replace('"a": 7', '"a": 7.00')
    assert other != text
    again = read_group_event(other.replace('"y": 0', '"y": -0.0'))
    assert (again, fact_of(again)) == (read, fact_of(read))
    assert read_group_event(event).digest != read.digest


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
        max_leaves=15,
    )
)
def test_any_content_has_one_text_whatever_the_order_of_its_keys(more: Any) -> None:  # noqa: ANN401 - any JSON value
    event = sample("work.submitted", more=more)
    in_order, backwards = json.dumps(event, sort_keys=True), json.dumps(reordered(event), indent=1)
    try:
        read = read_group_event(in_order)
    except SchemaMismatch as refused:
        assert refused.details["field"] == "event"  # noqa: PT017 - only half a character is refused
    else:
        assert (read_group_event(backwards), read_group_event(event), read_group_event(read.body)) == (read,) * 3


@given(st.data())
def test_whatever_differs_has_another_digest(data: st.DataObject) -> None:
    event = copy.deepcopy(data.draw(st.sampled_from(REAL)))
    before = read_group_event(event)
    where = data.draw(st.sampled_from([event, event["payload"]]))
    where["more"] = data.draw(st.one_of(st.integers(), st.text(), st.booleans(), st.lists(st.none())))
    try:
        assert read_group_event(event).digest != before.digest
    except SchemaMismatch as refused:
        assert refused.details["field"] == "event"  # noqa: PT017 - only half a character is refused
