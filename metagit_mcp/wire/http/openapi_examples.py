"""Examples for the OpenAPI document: one node from the claim to the report. Must not know a path.

They are made of the types that they are examples of, and say what a server answers (a test compares them).
"""

from datetime import UTC, datetime
from typing import Final

from metagit_mcp.domain.decision import DispatchHints, Factor, Handoff, LeaseRecord, ScheduleDecision
from metagit_mcp.domain.value import changed
from metagit_mcp.wire.codec import Json, plain
from metagit_mcp.wire.responses import NextAnswer, ReasonCount, WorkReportAnswer

_AT: Final = datetime(2026, 12, 1, 12, tzinfo=UTC)
_LEASE: Final = LeaseRecord(
    lease_id="L-K7Q2M4XABCDE",
    graph_id="shop",
    node_id="build",
    agent_id="builder",
    ownership_epoch=1,
    expires_at=datetime(2026, 12, 1, 16, tzinfo=UTC),
    mission_id="urn:metagit:0b0c1b1e6f435a6c8f6e3d7a5a1c9e10:shop",
    session_epoch=1,
)
_FACTORS: Final = (
    ("priority", 3, 1, 3),
    ("dependency", 0.666667, 0.2, 0.133333),
    ("affinity", 0, 0.5, 0),
    ("cost", 0.5, 0.25, 0.125),
    ("fairness", 0, 0, 0),
    ("urgency", 0, 1, 0),
    ("deadline", 0, 1, 0),
    ("merge_pressure", 0, 2, 0),
)
_DECISION: Final = ScheduleDecision(
    decision_id="817c38d981a0819b86b667e7221af6e9",
    at=_AT,
    graph_id="shop",
    node_id="build",
    title="Build it",
    score=3.258333,
    reasons=("priority=3", "dependency=0.6667", "affinity=0", "cost=0.5000(tokens=1000)"),
    factors=tuple(Factor(name=name, value=given, weight=by, contribution=made) for name, given, by, made in _FACTORS),
    dispatch_hints=DispatchHints(
        title="Build it",
        graph_id="shop",
        priority=3,
        estimated_tokens=1_000,
        depends_on=("design",),
        handoff=Handoff(prompt="Work on node build of graph shop."),
    ),
    acl_commands=(),
    agent_id="builder",
)
_WAITING: Final = (
    ReasonCount(reason="awaiting_approval", nodes=1),
    ReasonCount(reason="finished", nodes=1),
    ReasonCount(reason="not_ready", nodes=1),
)
_ADVISED: Final = NextAnswer(
    decisions=(_DECISION,),
    skipped=(),
    ready_count=2,
    runnable_count=1,
    not_eligible=_WAITING,
    all_finished=False,
    truncated=False,
    omitted=(),
    state_version="5f1c0a2b9d3e",
    warnings=(),
    next_step="This is advice. Take node build of graph shop with metagit_schedule_next claim=true, or with"
    " metagit_work_start.",
)
_CLAIMED: Final = changed(
    _ADVISED,
    decisions=(changed(_DECISION, lease=_LEASE),),
    ready_count=1,
    runnable_count=0,
    not_eligible=(*_WAITING[:2], ReasonCount(reason="leased", nodes=1), _WAITING[2]),
    next_step=f"Work on node build of graph shop. Report with metagit_work_report and lease_id {_LEASE.lease_id}:"
    " running now and then, completed with a result, blocked or failed with a note, released to give it back.",
)
_IDLE: Final = changed(
    _CLAIMED,
    decisions=(),
    next_step="Nothing can be started now. 1 awaiting_approval: a person must approve them: metagit-mcp work approve"
    " NODE; 1 leased: agents work on them; 1 not_ready: they wait for other nodes.",
)
_REPORTED: Final = WorkReportAnswer(
    graph_id="shop",
    node_id="build",
    node_status="completed",
    preempt_requested=False,
    released_slot=True,
    warnings=(),
    next_step="Ask for the next: metagit_schedule_next with claim=true.",
)

CLAIM: Final[Json] = {"agent_id": "builder", "wait_seconds": 30, "action_id": "run-17/claim-1"}
START: Final[Json] = {"node_id": "build", "graph_id": "shop", "action_id": "run-17/start-1"}
REPORT: Final[Json] = {
    "lease_id": _LEASE.lease_id,
    "state": "completed",
    "result": {"summary": "Built it", "artifacts": ["dist/it.whl"], "evidence": ["the tests pass"]},
    "action_id": "run-17/report-1",
}
COLLISION: Final[Json] = {
    "code": "ACTION_ID_COLLISION",
    "message": "Action id run-17/claim-1 was used for another command.",
    "hint": "Repeat a call unchanged under its action id, or take a new one for a new call.",
    "details": {"action_id": "run-17/claim-1"},
    "retryable": False,
}


def examples_of_answers() -> dict[str, dict[str, Json]]:
    """Return examples of answers, by the name of the operation and what they show."""
    idle = plain(_IDLE)
    return {
        "next": {"work": plain(_ADVISED), "nothing to start": idle},
        "claim": {"work": plain(_CLAIMED), "nothing to start": idle},
        "report": {"completed": plain(_REPORTED)},
    }
