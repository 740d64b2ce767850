"""An application without a workspace: it answers what a test wants, and remembers what it was asked.

It must not know how it is served.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from metagit_mcp.domain.decision import DispatchHints, Factor, Handoff, LeaseRecord, ScheduleDecision
from metagit_mcp.domain.place import WorkspacePlace
from metagit_mcp.scheduling.estimate import StartWindow
from metagit_mcp.settings import TOOLSETS, Settings
from metagit_mcp.wire.estimate_answers import EstimateAnswer
from metagit_mcp.wire.group_answers import DeliverAnswer
from metagit_mcp.wire.responses import (
    GraphRecord,
    NextAnswer,
    NodeRecord,
    PolicyAnswer,
    ReasonCount,
    TaskPlanAnswer,
    TaskUpdateAnswer,
    WorkReportAnswer,
    WorkStartAnswer,
)
from metagit_mcp.wire.status_answers import StatusAnswer, StatusCounts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from metagit_mcp.bootstrap import Application

    Progress = Callable[[float, float], Awaitable[None]]

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
SETTINGS = Settings(toolsets=frozenset(TOOLSETS))

# The least arguments with which a call of each tool goes through.
LEAST: dict[str, dict[str, Any]] = {
    "metagit_schedule_next": {},
    "metagit_schedule_status": {},
    "metagit_schedule_policy": {},
    "metagit_work_start": {"node_id": "build"},
    "metagit_work_report": {"lease_id": "L-AAAABBBBCCCC", "state": "running"},
    "metagit_task_plan": {"title": "Ship it"},
    "metagit_task_update": {"node_id": "build"},
    "metagit_group_deliver": {"group_id": "group:shop", "events": [{"sequence": 1}]},
    "metagit_group_estimate": {"group_id": "group:shop"},
}
NODE = NodeRecord(graph_id="shop", node_id="build", title="Build it", status="ready", depends_on=("plan",), deadline=AT)
DECISION = ScheduleDecision(
    decision_id="0" * 32,
    at=AT,
    graph_id="shop",
    node_id="build",
    title="Build it",
    score=3.25,
    reasons=("priority=3", "cost=0.2500(tokens=1000)"),
    factors=(Factor(name="priority", value=3.0, weight=1.0, contribution=3.0),),
    dispatch_hints=DispatchHints(
        title="Build it",
        graph_id="shop",
        priority=3,
        estimated_tokens=1000,
        depends_on=("plan",),
        handoff=Handoff(prompt="Work on node build of graph shop."),
    ),
    acl_commands=(),
)

LEASE = LeaseRecord(
    lease_id="L-AAAABBBBCCCC",
    graph_id="shop",
    node_id="build",
    agent_id="agent-1",
    ownership_epoch=1,
    expires_at=AT,
    mission_id="urn:metagit:0:shop",
    session_epoch=1,
)


def next_answer(*decisions: ScheduleDecision) -> NextAnswer:
    return NextAnswer(
        decisions=decisions,
        skipped=(),
        ready_count=2,
        runnable_count=1,
        not_eligible=(ReasonCount(reason="blocked", nodes=1),),
        all_finished=False,
        truncated=False,
        omitted=(),
        state_version="v1",
        warnings=(),
        next_step="Work on it.",
    )


def status_answer(place: str = "/somewhere") -> StatusAnswer:
    numbers = dict.fromkeys((name for name in StatusCounts.__dataclass_fields__), 0)
    return StatusAnswer(
        workspace=WorkspacePlace(path=place, chosen_by="--workspace"),
        policy={"weights": {"priority": 1.0}, "merge_queue_threshold": 3},
        revision="abc",
        ready_count=0,
        runnable_count=0,
        counts=StatusCounts(**numbers),
        not_eligible=(),
        groups=(),
        groups_total=0,
        charges=0,
        running=(),
        needs_person=(),
        needs_person_total=0,
        waiting=(),
        waiting_total=0,
        recent_decisions=(),
        merge_pressure=(),
        state_version="v1",
        truncated=False,
        omitted=(),
        warnings=(),
        next_step="Ask for the next.",
    )


def policy_answer() -> PolicyAnswer:
    return PolicyAnswer(policy={"slots": None}, revision="abc", changed=False, warnings=(), next_step="Go on.")


def start_answer() -> WorkStartAnswer:
    return WorkStartAnswer(lease=LEASE, dispatch_hints=DECISION.dispatch_hints, warnings=(), next_step="Work on it.")


def report_answer() -> WorkReportAnswer:
    return WorkReportAnswer(
        graph_id="shop",
        node_id="build",
        node_status="active",
        released_slot=False,
        preempt_requested=False,
        warnings=(),
        next_step="Go on.",
    )


def plan_answer() -> TaskPlanAnswer:
    graph = GraphRecord(graph_id="shop", title="Shop", goal="", status="active", nodes_total=1, nodes=(NODE,))
    return TaskPlanAnswer(
        graph=graph, created=True, added=1, truncated=False, omitted=(), warnings=(), next_step="Ask for the next."
    )


def update_answer() -> TaskUpdateAnswer:
    return TaskUpdateAnswer(node=NODE, changed=True, warnings=(), next_step="Ask for the next.")


@dataclass
class FakeKeeping:
    """Counts what it was told and asked; `instead` is done in place of a duty."""

    instead: Callable[[str], Awaitable[None]] | None = None
    calls: int = 0
    duties: list[str] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, number: int) -> None:
        """Wait until that many duties were begun."""
        while len(self.duties) < number:
            self._news.clear()
            await self._news.wait()

    def note_call(self) -> None:
        self.calls += 1

    async def look_after(self) -> None:
        await self._duty("look_after")

    async def end(self) -> None:
        await self._duty("end")

    async def _duty(self, name: str) -> None:
        self.duties.append(name)
        self._news.set()
        if self.instead is not None:
            await self.instead(name)


def deliver_answer() -> DeliverAnswer:
    return DeliverAnswer(cursor=7, applied=2, duplicates=1, held=0, warnings=(), next_step="Deliver what follows.")


def estimate_answer() -> EstimateAnswer:
    return EstimateAnswer(
        group_id="group:shop",
        confidence=0.75,
        capacity_status="queued",
        last_calculated_at=AT,
        warnings=(),
        next_step="Ask again.",
        node_id="build",
        estimated_start=StartWindow(earliest=AT, latest=AT),
        estimated_completion=AT,
    )


async def _untold(_waited: float, _of: float) -> None:
    raise AssertionError


@dataclass
class FakeApplication:
    """Answers each use case with a sample, or with what `instead` does with the request."""

    instead: Callable[[Any], Awaitable[Any]] | None = None
    asked: list[Any] = field(default_factory=list)
    keeping: FakeKeeping = field(default_factory=FakeKeeping)
    progress: Progress = _untold

    def opened(self) -> Application:
        """Return itself, as opening a workspace would return the application."""
        uses = SimpleNamespace(
            schedule=SimpleNamespace(next=self._answer(next_answer(DECISION)), status=self._answer(status_answer())),
            policies=SimpleNamespace(run=self._answer(policy_answer())),
            work=SimpleNamespace(start=self._answer(start_answer()), report=self._answer(report_answer())),
            tasks=SimpleNamespace(plan=self._answer(plan_answer()), update=self._answer(update_answer())),
            groups=SimpleNamespace(deliver=self._answer(deliver_answer()), estimate=self._answer(estimate_answer())),
            keeping=self.keeping,
        )
        return cast("Application", uses)

    def _answer(self, sample: object) -> Callable[..., Awaitable[Any]]:
        async def answer(request: Any, progress: Progress = _untold) -> Any:  # noqa: ANN401 - whichever belong together
            self.asked.append(request)
            self.progress = progress
            return sample if self.instead is None else await self.instead(request)

        return answer
