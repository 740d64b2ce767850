"""What an orchestrator sends over HTTP is what a tool would be asked, and what cannot be meant is refused by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.http.http_requests import AdviceRequest, ClaimRequest, advice_request, claim_request
from metagit_mcp.wire.requests import NextRequest

GPU = ("gpu", "db")


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ({}, NextRequest()),
        ({"limit": "3", "graph_id": "shop", "detail": "brief"}, NextRequest(limit=3, graph_id="shop", detail="brief")),
        ({"agent": "a"}, NextRequest(agent_id="a")),
        ({"agent_id": "a"}, NextRequest(agent_id="a")),
        ({"agent": "a", "agent_id": "a"}, NextRequest(agent_id="a")),
        ({"capabilities": "gpu,db"}, NextRequest(capabilities=GPU)),
        ({"capabilities": " gpu , db ,"}, NextRequest(capabilities=GPU)),
        ({"capabilities": '["gpu", "db"]'}, NextRequest(capabilities=GPU)),
        ({"capabilities": "", "graph_id": ""}, NextRequest()),
        ({"preview": "true"}, NextRequest(preview=True)),
        ({"preview": "false", "claim": "false"}, NextRequest()),
    ],
)
def test_a_query_is_advice(query: dict[str, str], asked: NextRequest) -> None:
    assert advice_request(query) == asked


@pytest.mark.parametrize("name", ["claim", "wait_seconds", "lease_seconds", "new_session", "action_id"])
def test_what_belongs_to_a_claim_is_told_where_it_belongs(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        advice_request({name: "true"})
    assert refused.value.as_record() == {
        "code": "INVALID_INPUT",
        "message": f"{name}: GET /v1/next gives advice and takes nothing",
        "hint": "POST /v1/claim takes work: the same fields as a JSON object, and this one too.",
        "details": {"field": name},
        "retryable": False,
    }


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"graph_id": ".."}, "graph_id"),
        ({"agent": "-x"}, "agent"),
        ({"agent": "a", "agent_id": "b"}, "agent"),
        ({"agent_id": "-x"}, "agent"),
        ({"detail": "much"}, "detail"),
        ({"graph": "shop"}, "graph"),
    ],
)
def test_a_query_that_says_nothing_sensible_is_refused(query: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        advice_request(query)
    assert refused.value.details == {"field": field}


@pytest.mark.parametrize("said", [{}, {"claim": True}, {"claim": "true"}, {"claim": None}, {"claim": ""}])
def test_a_claim_goes_without_saying(said: dict[str, Any]) -> None:
    assert claim_request({**said, "limit": 2, "action_id": "one"}) == NextRequest(limit=2, action_id="one", claim=True)


@pytest.mark.parametrize("said", [False, "false", 0, "yes", [True]])
def test_a_claim_that_is_none_is_refused(said: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        claim_request({"claim": said})
    assert (refused.value.message, refused.value.details) == ("claim: must be true here", {"field": "claim"})


def test_a_claim_takes_what_the_tool_takes() -> None:
    known = [each.name for each in fields(NextRequest)]
    assert sorted(each.name for each in fields(ClaimRequest)) == sorted(set(known) - {"preview"})
    assert {each.name for each in fields(AdviceRequest)} - {"agent"} < set(known)
    assert claim_request({"preview": False}) == NextRequest(claim=True)
