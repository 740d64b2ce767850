"""Which work may be started at all: the requirements B of docs/reference/conformance.md."""

from pathlib import Path

import pytest

from metagit_mcp.domain.commands import StartWork
from metagit_mcp.domain.limits import RetryPolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.work import Usage
from metagit_mcp.errors import AuthForbidden, BudgetExceeded, InvalidStateTransition, NodeNotEligible, WorkAlreadyOwned
from metagit_mcp.scheduling.snapshot import Asker
from tests.requirements.asked import desk_of
from tests.snapshots import NOW, against, closure, known, lease, ledger, names, queue_over, task
from tests.unit.adapters.reading import node
from tests.unit.domain.played import Played


@pytest.mark.parametrize(
    ("status", "reasons"),
    [
        ("completed", []),
        ("ready", ["not_ready(unfinished first)"]),
        ("running", ["not_ready(unfinished first)"]),
        ("cancelled", ["not_ready(cancelled first)"]),
    ],
)
def test_work_waits_until_what_it_depends_on_is_done(status: str, reasons: list[str]) -> None:
    """Claims B1."""
    queue = queue_over(task("first", status=status), task("then", "first"), task("never", "gone"))
    assert against(queue, "then") == reasons
    assert against(queue, "never") == ["not_ready(missing dependency gone)"]


def test_work_that_needs_an_approval_waits_for_a_person_and_asks_again_once_it_changed(tmp_path: Path) -> None:
    """Claims B2."""
    desk = desk_of(tmp_path, node("deploy", risk="destructive"), node("ask", approval="human_required"))
    assert desk.taken() == []
    with pytest.raises(NodeNotEligible) as caught:
        desk.start("deploy")
    assert (caught.value.details["reason"], caught.value.details["reasons"]) == ("authorization", ["awaiting_approval"])
    desk.approve("deploy")
    desk.update("deploy", title="Deploy twice")
    assert desk.taken() == []
    desk.approve("deploy")
    assert desk.taken() == ["deploy"]


def test_gates_and_what_is_busy_come_before_any_priority() -> None:
    """Claims B3."""
    most = {"priority": 1_000_000, "requested_urgency": "critical"}
    queue = queue_over(
        task("gated", risk="high_risk", **most),
        task("busy", exclusive=("main",), **most),
        task("closed", uses={"api": 1}, **most),
        task("held", exclusive=("main",)),
        task("plain", priority=-5),
        work=ledger(known("held"), lease("held", exclusive=("main",)), closure("api", NOW.replace(hour=23))),
    )
    assert names(queue) == ["plain"]
    assert against(queue, "gated") == ["awaiting_approval"]
    assert against(queue, "busy") == ["exclusive(main, held by held)"]
    assert against(queue, "closed") == ["resource_closed(api, until 2026-11-29T23:00:00Z)"]


def test_an_exhausted_budget_pauses_the_work_and_nothing_goes_past_it() -> None:
    """Claims B6."""
    played = Played()
    lease_id = played.start(budget={"tokens": 100})
    played.report(lease_id, "checkpointed", "half")
    over = played.report(lease_id, "running", usage=Usage(tokens=101))
    assert isinstance(over.refusal, BudgetExceeded)
    assert (played.item().state, played.item().spent, played.state.leases) == ("queued", Usage(tokens=101), {})
    queue = queue_over(task("n", budget={"tokens": 100}), work=played.state)
    assert against(queue, "n", Asker(agent_id="ada")) == ["budget_exhausted"]


def test_only_queued_work_of_ones_own_or_open_work_starts() -> None:
    """Claims B7."""
    played = Played(SchedulePolicy(groups={"r": GroupPolicy(review=True)}, retries=RetryPolicy(max_attempts=1)))
    for name, graph_id, state in (
        ("blocked", "g", "blocked"),
        ("completed", "g", "completed"),
        ("parked", "g", "failed"),
        ("submitted", "r", "completed"),
    ):
        played.report(played.start(name, graph_id=graph_id), state, "why")
    played.enter("bob")
    for name, graph_id in (("blocked", "g"), ("completed", "g"), ("parked", "g"), ("submitted", "r")):
        with pytest.raises(InvalidStateTransition):
            played.ask(StartWork(graph_id=graph_id, node_id=name, agent_id="bob"))
    played.accept("owned", "ada")
    with pytest.raises(WorkAlreadyOwned):
        played.ask(StartWork(graph_id="g", node_id="owned", agent_id="bob"))
    lease_id = played.start("owned", "ada")
    assert (played.item("owned").state, played.item("owned").lease_id) == ("active", lease_id)
    with pytest.raises(AuthForbidden):
        played.report(lease_id, "running", agent_id="bob")


@pytest.mark.parametrize(
    ("has", "missing"),
    [
        ((), ["gpu@2", "ship"]),
        (("ship", "gpus"), ["gpu@2"]),
        (("gpu@1", "ship"), ["gpu@2"]),
        (("gpu@2", "ship"), []),
        (("gpu@3", "ship"), []),
        (("gpu", "ship"), []),
    ],
)
def test_work_is_only_for_who_can_do_all_that_it_names(has: tuple[str, ...], missing: list[str]) -> None:
    """Claims B8.

    A later version does for an earlier one, and a name without a version vouches for all of them (ADR 0033).
    """
    queue = queue_over(task("n", capabilities=("ship", "gpu@2")))
    asker = Asker(agent_id="w1", capabilities=frozenset(has))
    assert against(queue, "n", asker) == [f"capability_missing({name})" for name in missing]
    assert names(queue, asker) == ([] if missing else ["n"])
