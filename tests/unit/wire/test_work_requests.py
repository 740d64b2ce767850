"""How work is taken and reported: arguments with parts of their own, as objects or as JSON strings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.requests import (
    GivenCheckpoint,
    GivenRateLimit,
    GivenResult,
    GivenUsage,
    NextRequest,
    WorkReportRequest,
    WorkStartRequest,
)

LEASE = "L-AAAAAAAAAAAA"


def reported(**fields: Any) -> WorkReportRequest:  # noqa: ANN401 - any argument
    return parse_request(WorkReportRequest, {"lease_id": LEASE, "state": "running", **fields})


def refused(shape: type, **arguments: Any) -> tuple[str, str, object]:  # noqa: ANN401 - any argument
    with pytest.raises(InvalidInput) as error:
        parse_request(shape, arguments)
    return error.value.message, error.value.hint, error.value.details.get("field")


def test_a_claim_has_its_defaults() -> None:
    request = parse_request(NextRequest, {})
    assert (request.claim, request.wait_seconds, request.lease_seconds, request.new_session, request.action_id) == (
        False,
        0,
        None,
        False,
        None,
    )
    asked = {"claim": "true", "wait_seconds": "300", "lease_seconds": 60, "new_session": True, "action_id": "one"}
    assert parse_request(NextRequest, asked) == NextRequest(
        claim=True, wait_seconds=300, lease_seconds=60, new_session=True, action_id="one"
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"wait_seconds": 301}, "wait_seconds: should be less than or equal to 300"),
        ({"wait_seconds": -1}, "wait_seconds: should be greater than or equal to 0"),
        ({"wait_seconds": True}, "wait_seconds: must be an integer"),
        ({"lease_seconds": 59}, "lease_seconds: should be greater than or equal to 60"),
        ({"claim": "perhaps"}, "claim: should be a valid boolean, unable to interpret input"),
        ({"action_id": "x" * 129}, "action_id: should have at most 128 characters"),
    ],
)
def test_a_claim_that_cannot_be(fields: dict[str, Any], message: str) -> None:
    assert refused(NextRequest, **fields)[0] == message


def test_a_start_names_its_node() -> None:
    request = parse_request(WorkStartRequest, {"node_id": "a", "graph_id": "", "queue_only": "true"})
    assert request == WorkStartRequest(node_id="a", queue_only=True)
    assert refused(WorkStartRequest)[::2] == ("node_id: is required", "node_id")
    assert refused(WorkStartRequest, node_id="..")[::2] == ("node_id: is no id that a file could have", "node_id")


def test_the_parts_of_a_report_are_objects() -> None:
    at = datetime(2026, 12, 1, 12, tzinfo=UTC)
    request = reported(
        state="completed",
        result={"summary": "Built it", "artifacts": ["dist/it.whl"]},
        checkpoint={"uri": "s3://here", "digest": "sha256:1"},
        usage={"tokens": 5, "tool_calls": "7"},
        rate_limited={"resource": "api", "until": "2026-12-01T13:00:00+01:00"},
    )
    assert request == WorkReportRequest(
        lease_id=LEASE,
        state="completed",
        result=GivenResult(summary="Built it", artifacts=("dist/it.whl",)),
        checkpoint=GivenCheckpoint(uri="s3://here", digest="sha256:1"),
        usage=GivenUsage(tokens=5, tool_calls=7),
        rate_limited=GivenRateLimit(resource="api", until=at),
    )


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("result", '{"summary": "Built it"}', GivenResult(summary="Built it")),
        ("checkpoint", '{"note": "Parsed"}', GivenCheckpoint(note="Parsed")),
        ("usage", "{}", GivenUsage()),
    ],
)
def test_a_json_string_is_accepted_for_an_object(name: str, text: str, part: object) -> None:
    assert getattr(reported(**{name: text}), name) == part


def test_what_an_object_says_nothing_of_is_absent() -> None:
    empty = {"checkpoint_id": "", "uri": None, "note": "Parsed"}
    assert reported(checkpoint=empty).checkpoint == GivenCheckpoint(note="Parsed")
    assert reported(result=None, usage="") == reported()


@pytest.mark.parametrize(
    ("fields", "message", "hint", "field"),
    [
        (
            {"result": {"sumary": "x"}},
            "result/sumary: unknown field",
            "Did you mean summary? Known: summary, artifacts, evidence.",
            "result/sumary",
        ),
        (
            {"usage": {"tokens": -1}},
            "usage/tokens: should be greater than or equal to 0",
            "usage: Used under this lease so far, in all.",
            "usage/tokens",
        ),
        (
            {"rate_limited": {"resource": "api", "until": "2026-12-01T13:00:00"}},
            "rate_limited/until: should have timezone info",
            "rate_limited: With failed: a resource turned you away; costs no attempt.",
            "rate_limited/until",
        ),
        (
            {"result": "done"},
            "result: must be a JSON object: expected value at line 1 column 1",
            'For example: {"summary": "Built it", "artifacts": ["dist/it.whl"]}',
            "result",
        ),
        (
            {"state": "done"},
            "state: should be 'running', 'checkpointed', 'paused', 'blocked', 'completed', 'failed' or 'released'",
            "state: running renews the lease; released gives the node back untried.",
            "state",
        ),
    ],
)
def test_a_report_that_cannot_be(fields: dict[str, Any], message: str, hint: str, field: str) -> None:
    assert refused(WorkReportRequest, **{"lease_id": LEASE, "state": "failed", **fields}) == (message, hint, field)
