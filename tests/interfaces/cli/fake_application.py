"""An application without a workspace for the command line: it answers samples and remembers what it was asked.

It must not know how the command line parses or renders.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from metagit_mcp.application.news.changes import Change
from metagit_mcp.domain.decision import LoggedDecision
from metagit_mcp.errors import EventConflict
from metagit_mcp.interfaces.cli.invocation import Invocation
from metagit_mcp.wire.diagnosis import DoctorAnswer, DoctorFinding
from metagit_mcp.wire.group_answers import (
    DeliverAnswer,
    FedGroup,
    GroupAnswer,
    GroupReplay,
    GroupsAnswer,
    MissingEvents,
    OutboxAnswer,
    ProposalAnswer,
    ProposalRecord,
    SnapshotAnswer,
    StateCount,
    VerifyAnswer,
)
from metagit_mcp.wire.responses import (
    ApprovalAnswer,
    PauseAnswer,
    PauseRecord,
    Placed,
    PolicyEffect,
    ReasonCount,
    ShareChange,
    TaskListAnswer,
    WorkStandingAnswer,
)
from metagit_mcp.wire.status_answers import (
    GroupStatus,
    HeldSlots,
    MergePressure,
    NodeExplanation,
    OldestWaiting,
    PersonNeeded,
    ReasonAgainst,
    RunningNode,
    StatusAnswer,
)
from tests.interfaces.cli.fake_import import ANSWER as IMPORTED
from tests.interfaces.mcp.fake_application import (
    AT,
    DECISION,
    NODE,
    estimate_answer,
    next_answer,
    plan_answer,
    policy_answer,
    report_answer,
    start_answer,
    status_answer,
    update_answer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metagit_mcp.bootstrap import Application
    from metagit_mcp.wire.group_events import GroupEvent
    from metagit_mcp.wire.requests import StatusRequest

MERMAID = "flowchart LR\n  n0[plan] --> n1[build]\n"
APPROVAL = ApprovalAnswer(
    graph_id="shop", node_id="build", approved_by="ada", at=AT, warnings=(), next_step="It may run now."
)
STANDING = WorkStandingAnswer(
    graph_id="shop", node_id="build", node_status="open", by="ada", warnings=(), next_step="Ask for the next."
)
PAUSE = PauseRecord(scope="group", name="shop", by="ada", at=AT, note="Release", until=AT)
PAUSED = PauseAnswer(pauses=(PAUSE,), changed=True, warnings=(), next_step="Look at the status.")
CHANGES = (
    Change(at=AT, change="work_started", graph_id="shop", node_id="build", agent_id="agent-1", lease_id="L-1"),
    Change(at=AT, change="work_failed", graph_id="shop", node_id="build", lease_id="L-1", until=AT, note="No key"),
    Change(at=AT, change="file_status", graph_id="shop", node_id="test", status="completed"),
    Change(at=AT, change="scheduling_paused", scope="workspace", by="ada"),
    Change(at=AT, change="graph_added", graph_id="more"),
)
DIAGNOSIS = DoctorAnswer(
    checks=(
        DoctorFinding(check="workspace", state="fine", what="/shop, chosen by --workspace"),
        DoctorFinding(check="logs", state="wrong", what="audit: no JSON: line 2", mend="metagit-mcp doctor --fix"),
        DoctorFinding(check="leases", state="note", what="lease L-1 was not renewed"),
        DoctorFinding(check="leftovers", state="fixed", what="left behind: .metagit-1-ab.tmp"),
    ),
    problems=1,
    fixed=1,
    warnings=("graph shop: one row is odd",),
    next_step="metagit-mcp doctor --fix mends what is safe to mend; nothing else is changed.",
)
EXPLANATION = NodeExplanation(
    graph_id="shop",
    node_id="build",
    title="Build it",
    status="ready",
    runnable=False,
    reasons=(ReasonAgainst(reason="blocked", text="blocked(failed)", note="No key"),),
    score=3.25,
    score_reasons=("priority=3",),
    factors=DECISION.factors,
)
PERSON = PersonNeeded(
    graph_id="shop",
    node_id="deploy",
    title="Deploy it",
    reason="awaiting_approval",
    command="metagit-mcp work approve deploy --graph-id shop",
)
SMALL = PersonNeeded(
    graph_id="shop",
    node_id="big",
    nodes=3,
    title="Big",
    reason="never_fits(4 slots, limit 2)",
    command="metagit-mcp schedule policy set --patch '{}'",
)

GROUP = GroupStatus(
    graph_id="shop",
    title="Shop",
    state="active",
    priority_class="high",
    weight=3,
    guaranteed=0.666667,
    received=0.25,
    nodes=3,
    ready=1,
    runnable=1,
    running=1,
    running_slots=2,
    finished=1,
    quota=4,
    oldest=OldestWaiting(node_id="build", passed_over=7, seconds=150),
    starts_before=2,
)
IDLE_GROUP = replace(
    GROUP,
    graph_id="site",
    title="Site",
    priority_class="normal",
    weight=1,
    guaranteed=None,
    runnable=0,
    quota=None,
    oldest=None,
    starts_before=None,
    waits_for=(ReasonCount(reason="blocked", nodes=1), ReasonCount(reason="no_slot", nodes=2)),
)


def full_status() -> StatusAnswer:
    """A status in which every list has a row."""
    logged = LoggedDecision(
        decision_id="d1", at="2026-11-29T12:00:00Z", graph_id="shop", node_id="build", score=3.25, skipped=True
    )
    return replace(
        status_answer(),
        counts=replace(status_answer().counts, graphs=1, nodes=3, eligible=1, awaiting_approval=1),
        groups=(GROUP, IDLE_GROUP, replace(IDLE_GROUP, graph_id="over", state="completed", waits_for=None)),
        groups_total=30,
        charges=40,
        held=HeldSlots(
            graph_id="shop", node_id="wide", title="Wide", purpose="width", slots=3, free=1, since=AT, until=AT
        ),
        running=(RunningNode(graph_id="shop", node_id="test", title="Test it", agent_id="agent-1", leased_until=AT),),
        pauses=(PAUSE,),
        needs_person=(SMALL, PERSON),
        needs_person_total=2,
        recent_decisions=(logged,),
        merge_pressure=(MergePressure(repository="default/web", depth=4, threshold=3, pressured=True),),
        not_eligible=(ReasonCount(reason="awaiting_approval", nodes=1),),
        explain=EXPLANATION,
        warnings=("graph shop: one row is odd",),
    )


EFFECT = PolicyEffect(
    before=(Placed(graph_id="shop", node_id="build", score=3.25),),
    after=(
        Placed(graph_id="shop", node_id="test", score=4.0),
        Placed(graph_id="shop", node_id="build", score=3.25),
    ),
    shares=(ShareChange(graph_id="shop", before=1.0, after=0.333333),),
    shares_total=1,
)


def followed(tell: Callable[[Change], bool]) -> None:
    """Tell of all changes, as long as somebody listens."""
    for change in CHANGES:
        if not tell(change):
            return


def shown_again(_: StatusRequest, tell: Callable[[StatusAnswer], bool]) -> None:
    """Tell how things stand twice, then let the person say that this is enough."""
    tell(status_answer())
    tell(replace(status_answer(), ready_count=3))
    raise KeyboardInterrupt


FED = FedGroup(
    group_id="group:auth",
    cursor=10,
    first_sequence=3,
    filtered=False,
    archived=False,
    held=8,
    items_total=3,
    items=(StateCount(state="open", items=2), StateCount(state="queued", items=1)),
    outbox=1,
    missing=MissingEvents(first=11, last=12),
)
PROPOSAL = ProposalRecord(
    action_id="L-1:submit",
    command="work.submit",
    group_id="group:auth",
    work_item_id="auth:build",
    agent_id="agent://acme/coder",
    ownership_epoch=2,
    session_epoch=1,
    membership_epoch=4,
    payload={"summary": "It runs", "artifacts": ("a.txt",)},
    at=AT,
)
OUTBOX = OutboxAnswer(
    group_id="group:auth", cursor=10, proposals=(PROPOSAL,), proposals_total=1, warnings=(), next_step="Send it."
)
ANSWERED = ProposalAnswer(
    group_id="group:auth",
    action_id="L-1:accept",
    outcome="refused",
    changed=True,
    withdrawn=("L-1:accept", "L-1:start"),
    warnings=(),
    next_step="Look again.",
)
VERIFIED = VerifyAnswer(
    position=40,
    snapshot_position=30,
    same=True,
    groups=(GroupReplay(group_id="group:auth", cursor=10, items=3, same=True),),
    warnings=(),
    next_step="Nothing to do.",
)


def taken_in(group_id: str, events: Sequence[GroupEvent], _: Mapping[str, Any]) -> DeliverAnswer:
    """Take in Events of the one Group there is; what is no business of it is in conflict."""
    wrong = next((index for index, event in enumerate(events) if event.group_id != group_id), None)
    if wrong is not None:
        raise EventConflict("It is of another Group.", hint="Compare.", index=wrong, sequence=events[wrong].sequence)
    cursor, size = events[-1].sequence, len(events)
    return DeliverAnswer(cursor=cursor, applied=size, duplicates=0, held=0, warnings=(), next_step="Go on.")


SAMPLES: dict[str, Any] = {
    "schedule.next": next_answer(DECISION),
    "schedule.status": status_answer(),
    "schedule.follow_status": shown_again,
    "schedule.count_runnable": 7,
    "schedule.mermaid": MERMAID,
    "policies.run": policy_answer(),
    "tasks.plan": plan_answer(),
    "tasks.update": update_answer(),
    "tasks.list": TaskListAnswer(graphs=(plan_answer().graph,), warnings=()),
    "tasks.show": NODE,
    "imports.run": IMPORTED,
    "work.start": start_answer(),
    "work.report": report_answer(),
    "work.review": STANDING,
    "work.release": STANDING,
    "work.retry": STANDING,
    "rules.approvable": (NODE, "digest of build"),
    "rules.approve": APPROVAL,
    "rules.pause": PAUSED,
    "rules.resume": replace(PAUSED, pauses=(), changed=False),
    "maintenance.doctor": DIAGNOSIS,
    "groups.take_in": taken_in,
    "groups.follow": lambda more, goes_on: [more() for _ in range(3) if goes_on()],
    "groups.listed": GroupsAnswer(groups=(FED,), warnings=(), next_step="Look at one."),
    "groups.shown": GroupAnswer(group=FED, warnings=("it is old",), next_step="Deliver the rest."),
    "groups.outbox": OUTBOX,
    "groups.answer": ANSWERED,
    "groups.verify": VERIFIED,
    "groups.estimate": estimate_answer(),
    "groups.snapshot": SnapshotAnswer(position=40, bytes=1000, warnings=(), next_step="Verify it."),
    "watching.begin": None,
    "watching.follow": followed,
}


@dataclass
class FakeApplication:
    """Answers each use case with its sample, or with what `instead` has for it (an exception is raised)."""

    instead: Mapping[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    flags: list[Mapping[str, Any]] = field(default_factory=list)

    def invocation(self) -> Invocation:
        """Return an invocation that reaches this application."""
        return Invocation(self._opened)

    def _opened(self, flags: Mapping[str, Any]) -> Application:
        self.flags.append(flags)
        rooms: dict[str, dict[str, Any]] = {}
        for name in SAMPLES:
            room, _, use_case = name.partition(".")
            rooms.setdefault(room, {})[use_case] = self._use_case(name)
        return cast("Application", SimpleNamespace(**{room: SimpleNamespace(**each) for room, each in rooms.items()}))

    def _use_case(self, name: str) -> Callable[..., Any]:
        async def answer(*question: Any, **named: Any) -> Any:  # noqa: ANN401 - whichever belong together
            if named:
                question = (*question, named)
            self.asked.append((name, question))
            given = self.instead.get(name, SAMPLES[name])
            if isinstance(given, Exception):
                raise given
            return given(*question) if callable(given) else given

        return answer
