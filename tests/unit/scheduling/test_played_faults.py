"""Faults that the runs of tests/fairness found, each as small as it can be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metagit_mcp.domain.events import WorkCompleted, WorkReleased
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.shares import FlowTag
from tests.fairness.asks import Who
from tests.fairness.checks import plan_is_claims
from tests.fairness.play import Play
from tests.snapshots import group, task

if TYPE_CHECKING:
    from metagit_mcp.domain.policy import PriorityClass
    from metagit_mcp.domain.tasks import LoadedGraph

ANYBODY = Who(agent="a")
UNIT = 720_720


def play_of(*graphs: LoadedGraph, **policy: object) -> Play:
    return Play(policy=SchedulePolicy(**policy), graphs={each.graph_id: each for each in graphs})  # type: ignore[arg-type]  # any field of a policy


def of_class(name: PriorityClass) -> GroupPolicy:
    return GroupPolicy(priority_class=name)


def test_a_group_that_changes_class_while_it_has_no_work_is_no_new_one_there() -> None:
    """Entering a class, S := V of that class; a Group never charged before would enter one unit behind."""
    made = play_of(group("g", task("n")), group("h", *(task(f"m{number}") for number in range(4))))
    made.ask(ANYBODY, None)
    made.ask(ANYBODY, None)
    made.policy = replace(made.policy, groups={"g": of_class("low")})
    made.refresh()
    made.ask(ANYBODY, None)
    low = made.state.shares.pools[""].levels["low"]
    assert low.flows == {"g": FlowTag(tag=0, weight=1, eligible=False, charged=True)}
    made.graphs = {**made.graphs, "g": group("g", task("n"), task("another"))}
    made.refresh()
    served = made.ask(ANYBODY)
    assert served is not None
    assert served.group == "g"
    assert made.state.shares.pools[""].levels["low"].flows["g"].tag == UNIT


def test_advice_forgets_no_node_that_left() -> None:
    """What a plan of several starts told of the nodes that are gone is not told once that plan is forgotten."""
    nodes = [task(f"n{number}") for number in range(6)]
    made = play_of(group("g", *nodes))
    made.ask(ANYBODY)
    made.graphs = {"g": group("g", *nodes[:4])}
    made.refresh()
    plan_is_claims(made, ANYBODY, 3)
    made.ask(ANYBODY)
    dispatch = made.log[-1].dispatch  # type: ignore[union-attr]  # the last event is a start
    assert dispatch is not None
    assert dispatch.left == ("n4", "n5")


def test_the_held_node_says_how_pressing_its_group_is() -> None:
    """The head of a Group is what it would give now: while slots are held for its node, that and no other one."""
    calm = group("a", *(task(f"a{number}", priority=5) for number in range(4)))
    made = play_of(calm, group("w", task("wide", slots=2, priority=9)), slots=2, drain_limit=9)
    made.ask(ANYBODY, "a")
    made.ask(ANYBODY)
    assert made.state.shares.hold is not None
    made.graphs = {**made.graphs, "w": group("w", task("wide", slots=2), task("urgent", requested_urgency="critical"))}
    made.refresh()
    made.go_on(made.now)
    for lease in list(made.state.leases.values()):
        made.happen(WorkCompleted(at=made.now, lease_id=lease.lease_id))
    served = made.ask(ANYBODY)
    assert served is not None
    assert (served.group, served.node) == ("a", "a2")


def test_a_plan_ends_a_hold_as_soon_as_claims_would() -> None:
    """A start of the plan takes what the held node needs: slots are kept for it no longer."""
    made = play_of(
        group("w", task("wide", slots=3, exclusive=("key",), priority=9)),
        group("x", task("x1"), task("x2"), *(task(f"y{number}") for number in range(3))),
        group("z", task("z1", exclusive=("key",), priority=5)),
        slots=4,
        drain_limit=1,
    )
    made.ask(ANYBODY, "x")
    made.ask(ANYBODY, "x")
    plan_is_claims(made, ANYBODY, 4)


def test_a_held_node_that_the_asker_gave_back_comes_after_all_else() -> None:
    """Slots that are kept change nothing about who gave the node back."""
    made = play_of(
        group("a", *(task(f"a{number}") for number in range(4))),
        group("w", task("wide", slots=2, priority=9)),
        slots=2,
        drain_limit=9,
    )
    made.ask(ANYBODY, "w")
    made.happen(WorkReleased(at=made.now, lease_id="L1"))
    made.ask(ANYBODY, "a")
    made.ask(Who(agent="b"))
    assert made.state.shares.hold is not None
    for lease in list(made.state.leases.values()):
        made.happen(WorkCompleted(at=made.now, lease_id=lease.lease_id))
    served = made.ask(ANYBODY)
    assert served is not None
    assert served.group == "a"
