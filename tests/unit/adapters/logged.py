"""A decision, an event and an approval to write in tests. It must not know what a test expects."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from metagit_mcp.domain.approval import Approval
from metagit_mcp.domain.decision import DispatchHints, Factor, Handoff, ScheduleDecision, SchedulerEvent

AT = datetime(2026, 11, 29, 12, 0, 0, 5, tzinfo=UTC)


def hints(**fields: Any) -> DispatchHints:  # noqa: ANN401 - any field
    """What a dispatcher is told."""
    least = DispatchHints(
        title="Build it",
        graph_id="g",
        priority=3,
        estimated_tokens=1000,
        depends_on=("plan",),
        handoff=Handoff(prompt="Work on node build of graph g."),
    )
    return replace(least, **fields)


def decision(node_id: str = "build", graph_id: str = "g", **fields: Any) -> ScheduleDecision:  # noqa: ANN401 - as above
    """One decision as `next` makes it."""
    least = ScheduleDecision(
        decision_id="0" * 32,
        at=AT,
        graph_id=graph_id,
        node_id=node_id,
        title="Build it",
        score=3.25,
        reasons=("priority=3",),
        factors=(Factor(name="priority", value=3.0, weight=1.0, contribution=3.0),),
        dispatch_hints=hints(),
    )
    return replace(least, **fields)


def event(kind: str = "ScheduleDecision") -> SchedulerEvent:
    """One event."""
    return SchedulerEvent(event_id="1" * 32, type=kind, at=AT, payload={"graph_id": "g", "node_id": "build"})


def approval(node_id: str = "build", graph_id: str = "g") -> Approval:
    """One approval."""
    return Approval(graph_id=graph_id, node_id=node_id, epoch=1, digest="d" * 64, approved_by="ada", at=AT)
