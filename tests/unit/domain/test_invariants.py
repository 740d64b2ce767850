"""Each invariant notices the smallest state that breaks it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from metagit_mcp.domain.approval import Approval
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.invariants import over_capacity, violations
from metagit_mcp.domain.limits import AgentPolicy, ResourcePolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import (
    Answered,
    Attempt,
    ClosedLease,
    Holding,
    Pause,
    ResourceClosure,
    WorkItem,
)
from tests.unit.domain.played import NOON, Played

LEASE = "L-AAAAAAAAAAAB"
CLOSED = ClosedLease(
    lease_id=LEASE,
    graph_id="g",
    node_id="n",
    agent_id="ada",
    ownership_epoch=1,
    closed_at=NOON,
    closure="released",
)


def whole() -> LedgerState:
    """A state with an active, a queued, a blocked, an open and a completed node."""
    played = Played()
    played.start()
    played.accept("queued")
    played.report(played.start("blocked"), "blocked", "waits")
    played.report(played.start("open"), "released")
    played.report(played.start("done"), "completed")
    return played.state


def item(node_id: str, **changes: Any) -> Callable[[LedgerState], None]:  # noqa: ANN401 - fields of an item
    def change(state: LedgerState) -> None:
        state.items["g"][node_id] = replace(state.items["g"][node_id], **changes)

    return change


def lease(**changes: Any) -> Callable[[LedgerState], None]:  # noqa: ANN401 - fields of a lease
    def change(state: LedgerState) -> None:
        state.leases[LEASE] = replace(state.leases[LEASE], **changes)

    return change


def two_leases(state: LedgerState) -> None:
    state.leases["L2"] = replace(state.leases[LEASE], lease_id="L2")


BROKEN: list[tuple[Callable[[LedgerState], Any], str]] = [
    (two_leases, "node n of g has 2 live leases"),
    (two_leases, "lease L2 is not that of its node"),
    (lambda state: state.items["g"].pop("n"), f"lease {LEASE} is not that of its node"),
    (lease(agent_id="bob"), f"lease {LEASE} is not that of its node"),
    (lease(ownership_epoch=2), f"lease {LEASE} is not that of its node"),
    (lease(session_epoch=2), f"lease {LEASE} is of session 2, and its agent is in 1"),
    (lambda state: state.sessions.pop("ada"), f"lease {LEASE} is of session 1, and its agent is in 0"),
    (lease(renewal_count=1), f"lease {LEASE} has 1 renewals, the last at None"),
    (lambda state: state.closed.update({LEASE: CLOSED}), f"lease {LEASE} is live and ended"),
    (item("n", lease_id=None), "node n of g is active and has lease None"),
    (item("open", lease_id=LEASE), f"node open of g is open and has lease {LEASE}"),
    (lambda state: state.leases.clear(), f"node n of g is active and its lease {LEASE} is not live"),
    (item("open", owner="ada", owner_session=1), "node open of g is open and has owner ada"),
    (item("queued", owner=None, owner_session=0), "node queued of g is queued and has no owner at epoch 1"),
    (item("queued", ownership_epoch=0), "node queued of g is queued and has no owner at epoch 0"),
    (item("queued", until=None), "node queued of g is queued and its ownership ends at None"),
    (item("blocked", until=None), "node blocked of g is blocked and its ownership ends at None"),
    (item("n", owner_session=0), "node n of g is active and is owned by session 0 of ada"),
    (item("n", owner_session=2), "node n of g is active and is owned by session 2 of ada"),
    (item("open", owner_session=1), "node open of g is open and is owned by session 1 of None"),
    (
        item("open", attempts=(Attempt(agent_id="a", at=NOON, outcome="failed"),) * 6),
        "node open of g is open and keeps 6 attempts and 0 pieces of evidence",
    ),
    (
        lambda state: state.terms.clear(),
        "the terms of [('g', 'blocked'), ('g', 'queued')] are not those of their nodes",
    ),
    (
        lambda state: state.terms.update({("g", "n"): Expiry(at=NOON)}),
        "the terms of [('g', 'n')] are not those of their nodes",
    ),
    (
        lambda state: state.items["g"].update(x=WorkItem(graph_id="g", node_id="y", state="open", changed_at=NOON)),
        "items keep ('g', 'y') under ('g', 'x')",
    ),
    (lambda state: state.closed.update(x=CLOSED), f"closed keep {LEASE} under x"),
    (lambda state: state.sessions.update(x=state.sessions["ada"]), "sessions keep ada under x"),
    (
        lambda state: state.answered.update(x=Answered(action_id="y", digest="", at=NOON, reply="")),
        "answered keep y under x",
    ),
    (
        lambda state: state.closures.update(x=ResourceClosure(resource="y", until=NOON, by="", at=NOON)),
        "closures keep y under x",
    ),
    (
        lambda state: state.pauses.update(x=Pause(scope="group", name="g", by="", at=NOON)),
        "pauses keep group:g under x",
    ),
    (
        lambda state: state.approvals.update(
            x=(Approval(graph_id="g", node_id="n", epoch=1, digest="", approved_by="", at=NOON),)
        ),
        "approvals keep g under x",
    ),
    (lambda state: state.leases.update(x=state.leases[LEASE]), f"leases keep {LEASE} under x"),
]


def test_nothing_is_wrong_with_a_whole_state() -> None:
    assert violations(whole()) == violations(LedgerState()) == []


@pytest.mark.parametrize(("harm", "line"), BROKEN)
def test_what_does_not_hold_is_named(harm: Callable[[LedgerState], Any], line: str) -> None:
    state = whole()
    harm(state)
    assert line in violations(state)


def test_within_a_command_leases_of_the_session_before_may_be_left() -> None:
    state = whole()
    state.sessions["ada"] = replace(state.sessions["ada"], epoch=2)
    assert violations(state, is_settled=False) == []
    assert violations(state) == [f"lease {LEASE} is of session 1, and its agent is in 2"]


def test_limits_that_are_exceeded_are_named() -> None:
    played = Played()
    played.start("a", holding=Holding(slots=2, uses={"gpu": 2, "cpu": 1}))
    played.start("b", holding=Holding(slots=1, uses={"gpu": 1}))
    played.start("c", "bob", graph_id="h")
    policy = SchedulePolicy(
        slots=3,
        agent_slots=1,
        groups={"g": GroupPolicy(quota=2), "h": GroupPolicy(quota=1)},
        agents={"b*": AgentPolicy(slots=0)},
        resources={"gpu": ResourcePolicy(capacity=2), "disk": ResourcePolicy()},
    )
    assert over_capacity(played.state, policy) == [
        "slots: 4/3",
        "group g: 3/2",
        "agent ada: 2/1",
        "agent bob: 1/0",
        "resource gpu: 3/2",
    ]
    assert over_capacity(played.state, SchedulePolicy(agent_slots=2)) == []
