"""Calls are counted by how they ended, and by how long they took."""

from __future__ import annotations

from metagit_mcp.wire.measures import BOUNDS, Calls, MeasuredCall


def call(tool: str, outcome: str = "ok", seconds: float = 0.02, claims: int = 0) -> MeasuredCall:
    return MeasuredCall(tool=tool, outcome=outcome, began_ns=0, seconds=seconds, claims=claims)


def test_calls_are_counted_by_tool_and_outcome() -> None:
    calls = Calls()
    for each in (call("next", claims=2), call("next"), call("next", "INVALID_INPUT"), call("report")):
        calls.add(each)

    assert calls.ended == {("next", "ok"): 2, ("next", "INVALID_INPUT"): 1, ("report", "ok"): 1}
    assert calls.claims == 2
    assert calls.times["next"].sum == 0.06


def test_a_bucket_holds_all_calls_up_to_its_bound() -> None:
    calls = Calls()
    for seconds in (0.0, 0.001, 0.0011, 0.3, 61.0):
        calls.add(call("next", seconds=seconds))
    below = {"0.001": 2, "0.0025": 3, "0.25": 3, "0.5": 4, "60.0": 4, "+Inf": 5}

    buckets = dict(calls.times["next"].buckets())
    assert list(buckets) == [*map(str, BOUNDS), "+Inf"]
    assert {name: buckets[name] for name in below} == below
