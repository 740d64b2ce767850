"""A WorkItem's contract is read in either dialect, and what it asks for is never taken to be less than it is."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from metagit_mcp.domain.feeds import Contract
from metagit_mcp.domain.group_facts import WorkAuthorized
from metagit_mcp.errors import SchemaMismatch
from metagit_mcp.wire.group_events import fact_of, read_group_event
from tests.groups.real_events import SAMPLES

Json = dict[str, Any]
EVENT = SAMPLES["work.authorized"]
OF_THE_SCHEMA: Json = {
    "workItemId": "work:1",
    "missionId": "mission:1",
    "groupId": "group:authentication",
    "state": "open",
    "exclusive": True,
    "contract": {
        "contractVersion": 1,
        "goal": "Carry\nout",
        "requiredDeliverables": [],
        "acceptanceCriteria": [
            {"criterionId": "a", "description": "checks pass", "evidenceRequired": ["deterministic_test"]}
        ],
        "dependencyWorkItemIds": ["work:0", "work:0"],
        "requiredCapabilities": [{"id": "software.python", "version": "1.0.0+a"}],
        "deadline": "2026-07-15T16:00:00Z",
        "requestedUrgency": "high",
        "businessImpact": "the release waits",
        "retryPolicy": {"maxAttempts": 2},
        "budget": {
            "currency": "EUR",
            "financialLimit": 12.5,
            "modelTokenLimit": 1000,
            "toolCallLimit": 10,
            "computeSecondsLimit": 5,
            "wallClockSecondsLimit": 60,
        },
        "sideEffectRisk": "external",
        "executionApproval": "policy_required",
    },
}


def asked(item: Json | None = None, **contract: object) -> Contract:
    """The contract of a real Event, or of another item, with some of its fields replaced."""
    event = copy.deepcopy(EVENT)
    event["payload"]["workItem"] = copy.deepcopy(item or EVENT["payload"]["workItem"])
    event["payload"]["workItem"]["contract"].update(contract)
    fact = fact_of(read_group_event(event))
    assert isinstance(fact, WorkAuthorized)
    return fact.node


def refusal(item: Json | None = None, **contract: object) -> tuple[object, object]:
    with pytest.raises(SchemaMismatch) as refused:
        asked(item, **contract)
    assert refused.value.details["kind"] == "work.authorized"
    return refused.value.details["field"], refused.value.details["rule"]


def test_the_dialect_of_the_events_is_read() -> None:
    assert fact_of(read_group_event(EVENT)) == WorkAuthorized(
        sequence=5,
        at=datetime(2026, 7, 15, 8, tzinfo=UTC),
        node=Contract(
            node_id="auth:requirements",
            title="Analyze authentication requirements",
            priority=50,
            requested_urgency="normal",
            deadline=datetime(2026, 7, 15, 16, tzinfo=UTC),
            estimated_runtime_seconds=300,
            risk="none",
            approval="not_required",
            capabilities=("software.analysis",),
            budget={"tokens": 10000, "tool_calls": 100},
            acceptance=("Analyze authentication requirements deterministic checks pass",),
        ),
        mission_id="mission:authentication",
        cause="poc:action:0022",
    )


def test_the_dialect_of_the_schema_is_read() -> None:
    assert asked(OF_THE_SCHEMA) == Contract(
        node_id="work:1",
        title="Carry out",
        depends_on=("work:0",),
        requested_urgency="high",
        deadline=datetime(2026, 7, 15, 16, tzinfo=UTC),
        business_impact="the release waits",
        risk="external",
        approval="human_required",
        capabilities=("software.python@1.0.0+a",),
        budget={"tokens": 1000, "tool_calls": 10, "seconds": 60, "cost_micros": 12_500_000},
        acceptance=("checks pass",),
    )


@pytest.mark.parametrize(
    ("priority", "urgency"),
    [(0, "routine"), (29, "routine"), (30, "normal"), (69, "normal"), (70, "high"), (90, "critical"), (None, None)],
)
def test_a_requested_priority_means_an_urgency(priority: int | None, urgency: str | None) -> None:
    node = asked(requestedPriority=priority)
    assert (node.priority, node.requested_urgency) == (priority or 0, urgency)


def test_both_may_be_said() -> None:
    node = asked(requestedUrgency="routine", requestedPriority=95)
    assert (node.requested_urgency, node.priority) == ("routine", 95)


def test_what_is_not_known_counts_as_risky() -> None:
    assert asked(sideEffectRisk="radioactive").risk == "high_risk"
    assert asked(sideEffectRisk="destructive").risk == "destructive"
    assert asked(executionApproval="two_people").approval == "human_required"


def test_a_capability_has_a_version_where_a_certain_one_is_asked_for() -> None:
    given = [{"id": "a"}, {"id": "a", "minimumVersion": 0}, {"id": "b", "minimumVersion": 3}]
    assert asked(requiredCapabilities=given).capabilities == ("a", "b@3")


def test_what_is_left_out_asks_for_nothing() -> None:
    nothing = dict.fromkeys(("requiredCapabilities", "budget", "acceptanceCriteria", "deadline"))
    node = asked(**nothing)
    assert (node.capabilities, node.budget, node.acceptance, node.deadline) == ((), None, (), None)
    assert asked(budget={"modelTokens": None, "financialMicrounits": None}).budget is None
    assert asked(budget={"financialMicrounits": 5, "wallClockSeconds": 6}).budget == {"seconds": 6, "cost_micros": 5}


IN = "payload/workItem/contract/"


@pytest.mark.parametrize(
    ("contract", "field", "rule"),
    [
        ({"goal": ""}, "goal", "is required"),
        ({"sideEffectRisk": None}, "sideEffectRisk", "is required"),
        ({"executionApproval": None}, "executionApproval", "is required"),
        ({"requestedPriority": 101}, "requestedPriority", "must be a whole number from 0 to 100"),
        ({"requestedUrgency": "now"}, "requestedUrgency", "must be routine, normal, high or critical"),
        ({"requiredCapabilities": ["a"]}, "requiredCapabilities/0", "must be an object"),
        (
            {"requiredCapabilities": [{"id": "agent:a"}]},
            "requiredCapabilities/0/id",
            "must be at most 200 letters, digits and '_', '.', '-'",
        ),
        (
            {"requiredCapabilities": [{"id": "a", "version": "new one"}]},
            "requiredCapabilities/0/version",
            "must be a version like 1.2.0",
        ),
        ({"acceptanceCriteria": ["a", 5]}, "acceptanceCriteria/0", "must be an object"),
        ({"acceptanceCriteria": [{}]}, "acceptanceCriteria/0/description", "is required"),
        ({"budget": {"financialLimit": "5"}}, "budget/financialLimit", "must be a number from 0 to 1000000000"),
        ({"budget": {"financialLimit": True}}, "budget/financialLimit", "must be a number from 0 to 1000000000"),
        ({"budget": {"financialLimit": -0.5}}, "budget/financialLimit", "must be a number from 0 to 1000000000"),
        (
            {"extensions": {"urn:x": {"critical": True}}},
            "extensions/urn:x",
            "this extension is critical, and not known here",
        ),
    ],
)
def test_a_wrong_contract_is_refused_by_its_field(contract: Json, field: str, rule: str) -> None:
    assert refusal(**contract) == (IN + field, rule)


def test_a_wrong_item_is_refused_by_its_field() -> None:
    rule = "must be open: nobody can have had the work yet"
    assert refusal({**OF_THE_SCHEMA, "state": "queued"}) == ("payload/workItem/state", rule)
    asks = {"extensions": {"urn:x": {"critical": True}}}
    assert refusal(OF_THE_SCHEMA | asks)[0] == "payload/workItem/extensions/urn:x"
