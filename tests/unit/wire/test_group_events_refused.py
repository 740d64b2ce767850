"""What is no Event of a Group is refused with its kind, its field and the rule, and by nothing but a refusal."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagit_mcp.errors import MetagitError, SchemaMismatch
from metagit_mcp.wire.group_events import fact_of, read_group_event
from metagit_mcp.wire.group_texts import LONGEST_EVENT
from tests.groups.real_events import LINES, REAL, SAMPLES, refusal, sample

Json = dict[str, Any]
EIGHT = datetime(2026, 7, 15, 8, tzinfo=UTC)
OFFLINE = "urn:missionweaveprotocol:extension:bounded-offline-execution"


def deep(levels: int) -> Any:  # noqa: ANN401 - lists in lists
    item: Any = []
    for _ in range(levels):
        item = [item]
    return item


def said(rule: str) -> tuple[str, str, str]:
    return "unknown", "event", rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b"", "must be JSON: EOF while parsing a value at line 1 column 0"),
        (b"[]", "must be a JSON object"),
        (b'{"a":NaN}', "must be JSON: expected value at line 1 column 6"),
        (b'{"a":1e400}', "must be JSON: Out of range float values are not JSON compliant"),
        ({"a": float("nan")}, "must be JSON: Out of range float values are not JSON compliant"),
        (b'{"a":1,"a":1}', "must be JSON: an object has the same key twice"),
        (b'{"a":1,"a":"\\u003a"}', "must be JSON: an object has the same key twice"),
        ({"a": 10**5000}, "must be JSON: Exceeds the limit (4300 digits) for integer string conversion"),
        ({"a": deep(100_000)}, "must be JSON: nested too deeply, or of other values"),
        ({"a": {1, 2}}, "must be JSON: nested too deeply, or of other values"),
        (None, "must be JSON: nested too deeply, or of other values"),
        ('{"a":"\ud800"}', "must not hold half of a character (a lone surrogate)"),
        ({"a": "\ud800"}, "must not hold half of a character (a lone surrogate)"),
        (b'{"a":"' + b"x" * LONGEST_EVENT + b'"}', "must be at most 65536 bytes of JSON"),
        ({"a": "x" * LONGEST_EVENT}, "must be at most 65536 bytes of JSON"),
        # What is short only as an exponent.
        (b'{"a":[' + b"1e15," * 12_000 + b"1]}", "must be at most 65536 bytes of JSON"),
    ],
    ids=range(16),
)
def test_what_is_no_json_to_everybody_is_refused(text: Any, rule: str) -> None:  # noqa: ANN401 - no Event at all
    assert refusal(text) == said(rule)


def test_a_text_that_only_python_could_read_is_refused() -> None:
    for text in (b'{"a":' + b"1" * 5000 + b"}", b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", b'{"a":"\\ud800"}', b"\xff"):
        assert refusal(text)[1] == "event"
    assert refusal({"a": deep(250)})[1] == "event"


def test_an_object_of_the_size_that_an_event_may_have_is_read() -> None:
    event = sample("work.submitted", more="")
    event["payload"]["more"] = "x" * (LONGEST_EVENT - len(read_group_event(event).body))
    assert len(read_group_event(event).body) == LONGEST_EVENT


ID = "must be at most 256 letters, digits and '_', '.', ':', '/', '@', '-', the first a letter, digit or '_'"
INSTANT = "must be an instant with its offset, like 2026-12-01T12:00:00Z"


@pytest.mark.parametrize(
    ("name", "wrong", "rule"),
    [
        ("kind", None, "is required"),
        ("kind", ["work"], "must be a text"),
        ("kind", "Work", "must be words with dots between them, like work.started"),
        ("protocolVersion", "0.2", "must be 0.1"),
        ("id", "", ID),
        ("id", "x" * 257, ID),
        ("groupId", "-a", ID),
        ("groupId", "a b", ID),
        ("groupId", "a\n", ID),
        ("groupId", 5, ID),
        ("sequence", None, "is required"),
        ("sequence", 0, f"must be a whole number from 1 to {2**53}"),
        ("sequence", True, f"must be a whole number from 1 to {2**53}"),
        ("sequence", 1.5, f"must be a whole number from 1 to {2**53}"),
        ("sequence", 2**53 + 1, f"must be a whole number from 1 to {2**53}"),
        ("occurredAt", None, "is required"),
        ("occurredAt", 5, INSTANT),
        ("occurredAt", "2026-07-15", INSTANT),
        ("occurredAt", "2026-07-15T08:00:00", INSTANT),
        ("occurredAt", "2026-02-30T08:00:00Z", INSTANT),
        ("occurredAt", "0001-01-01T00:00:00+14:00", INSTANT),
        ("payload", None, "is required"),
        ("payload", [], "must be an object"),
        ("extensions", [1], "must be an object"),
        ("cause", "x", "must be an object"),
        ("actionId", 5, "must be a text"),
    ],
)
def test_a_wrong_envelope_is_refused_by_its_field(name: str, wrong: object, rule: str) -> None:
    assert refusal(SAMPLES["work.submitted"] | {name: wrong})[1:] == (name, rule)


def test_an_event_without_an_id_is_refused_by_the_name_of_the_wire() -> None:
    assert refusal(SAMPLES["work.submitted"] | {"id": None}) == ("work.submitted", "eventId", "is required")


def test_a_refusal_names_the_event_as_well_as_can_be() -> None:
    with pytest.raises(SchemaMismatch) as refused:
        fact_of(read_group_event(sample("work.submitted", workItemId="a b")))
    assert refused.value.as_record() == {
        "code": "SCHEMA_VALIDATION_FAILED",
        "message": f"Event work.submitted 16: payload/workItemId: {ID}.",
        "hint": "Have the Event delivered again as the Group's log has it.",
        "details": {
            "kind": "work.submitted",
            "field": "payload/workItemId",
            "rule": ID,
            "event_id": SAMPLES["work.submitted"]["id"],
            "sequence": 16,
        },
        "retryable": False,
    }


def test_instants_are_read_with_any_offset() -> None:
    for text in ("2026-07-15T10:00:00+02:00", "2026-07-15t08:00:00z", "2026-07-15T08:00:00.000000000Z"):
        assert read_group_event(SAMPLES["work.submitted"] | {"occurredAt": text}).at == EIGHT


@pytest.mark.parametrize(
    ("kind", "payload", "field", "rule"),
    [
        ("work.offer.created", {"candidateAgentIds": "a"}, "candidateAgentIds", "must be a list"),
        ("work.offer.created", {"candidateAgentIds": ["a", 5]}, "candidateAgentIds/1", ID),
        ("work.offer.accepted", {"ownershipEpoch": None}, "ownershipEpoch", "is required"),
        ("work.offer.accepted", {"ownershipLeaseExpiresAt": None}, "ownershipLeaseExpiresAt", "is required"),
        ("work.contract.revised", {"dependencyId": None}, "dependencyId", "is required"),
        ("work.started", {"executionLease": None}, "executionLease", "is required"),
        ("work.started", {"executionLease": {"leaseId": 1}}, "executionLease/leaseId", ID),
        ("work.progressed", {"executionLease": {"leaseId": "a"}}, "executionLease/expiresAt", "is required"),
        ("work.checkpointed", {"checkpoint": "x"}, "checkpoint", "must be an object"),
        ("work.blocked", {"reason": {}}, "reason", "must be a text"),
        ("work.unblocked", {"status": "active"}, "status", "must be queued or open"),
        ("work.unblocked", {"status": None}, "status", "is required"),
        ("work.failed", {"sourceEventId": 5}, "sourceEventId", "must be a text"),
        (
            "ext.missionweaveprotocol.core.work_execution_lease_revoked",
            {"status": "active"},
            "status",
            "must be queued",
        ),
        (
            "ext.missionweaveprotocol.core.resource_usage_recorded",
            {"remainingBudget": {"toolCalls": -1}},
            "remainingBudget/toolCalls",
            f"must be a whole number from 0 to {2**53}",
        ),
        ("membership.ended", {"principal": {"id": "a"}}, "principal/type", "is required"),
    ],
)
def test_a_wrong_payload_is_refused_by_its_field(kind: str, payload: Json, field: str, rule: str) -> None:
    assert refusal(sample(kind, **payload)) == (kind, f"payload/{field}", rule)


@pytest.mark.parametrize(
    ("extensions", "field", "rule"),
    [
        ({"urn:x:new": {"critical": True}}, "urn:x:new", "this extension is critical, and not known here"),
        ({"urn:x": {"critical": 1}}, "urn:x/critical", "must be true or false"),
        ({"urn:x": None}, "urn:x", "is required"),
        ({"urn:x\u202e\n": {"critical": True}}, "urn:x", "this extension is critical, and not known here"),
    ],
)
def test_an_extension_that_must_be_understood_is_refused_by_name(extensions: Json, field: str, rule: str) -> None:
    refused = refusal(SAMPLES["message.posted"] | {"extensions": extensions})
    assert refused == ("message.posted", f"extensions/{field}", rule)


def test_extensions_that_are_known_or_may_be_passed_over_are() -> None:
    extensions = {OFFLINE: {"critical": True}, "urn:x:new": {"critical": False, "data": 5}}
    read = read_group_event(SAMPLES["message.posted"] | {"extensions": extensions})
    assert read_group_event(SAMPLES["message.posted"] | {"extensions": None}).digest != read.digest


# --- nothing but a refusal comes out ---------------------------------------------------------------------------------

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["\ud800", "a\x00", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "x" * 70_000]),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=3), st.just({})), max_size=3),
    st.dictionaries(st.text(max_size=3), st.none(), max_size=2),
    st.just({"id": {}}),
)


def places(item: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - any JSON value
    pairs = list(item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ())
    return [(item, name) for name, _ in pairs] + [found for _, each in pairs for found in places(each)]


@settings(max_examples=400)
@given(st.data())
def test_nothing_but_a_refusal_comes_of_a_damaged_event(data: st.DataObject) -> None:
    event = copy.deepcopy(data.draw(st.sampled_from(REAL)))
    for _ in range(data.draw(st.integers(1, 3))):
        where, name = data.draw(st.sampled_from(places(event)))
        if data.draw(st.booleans()) or isinstance(where, list):
            where[name] = data.draw(ODD)
        else:
            del where[name]
    for form in (event, json.dumps(event)):
        try:
            read = read_group_event(form)
            again = read_group_event(read.body)
            assert (again, fact_of(again)) == (read, fact_of(read))
        except MetagitError as refused:
            assert json.dumps(refused.as_record())  # noqa: PT017 - a refusal is one of the right answers


@given(st.binary(max_size=40), st.sampled_from(LINES), st.integers(0, 1400))
def test_nothing_but_a_refusal_comes_of_a_damaged_text(noise: bytes, line: bytes, place: int) -> None:
    try:
        fact_of(read_group_event(line[:place] + noise + line[place + len(noise) :]))
    except MetagitError as refused:
        assert json.dumps(refused.as_record())  # noqa: PT017 - as above
