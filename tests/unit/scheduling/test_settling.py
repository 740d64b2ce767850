"""What a claim must know before it chooses: runs of other programs that began or ended, and what became of the hold."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from metagit_mcp.domain.charging import happened_to
from metagit_mcp.domain.instant import Expiry, Instant
from metagit_mcp.domain.limits import LeasePolicy
from metagit_mcp.domain.policy import GroupPolicy
from metagit_mcp.domain.share_events import HoldEnded, HoldFilled, RunEnded, RunSeen, SlotsHeld
from metagit_mcp.domain.shares import Hold, Run
from metagit_mcp.domain.tasks import LoadedGraph
from metagit_mcp.domain.work import Share
from metagit_mcp.scheduling.cycle import WorkspaceQueue, census, unsettled
from tests.snapshots import ANYONE, NOW, group, known, names, pause, task
from tests.unit.scheduling.claimed import Played, groups_of, many, policy_of

THEN = Instant(wall=NOW, boot_id="boot", ticks_ms=500)
OVER = HoldEnded(at=NOW, graph_id="g", node_id="wide")
HELD: dict[str, Any] = {"graph_id": "g", "node_id": "wide", "slots": 2, "at": NOW}


# --- runs of other programs ----------------------------------------------------------------------------------------


def test_a_run_is_seen_and_charged_once_and_ended_once() -> None:
    runs = [task(name, status="running", slots=2, estimated_tokens=1_500) for name in "ba"]
    policy = policy_of(groups=groups_of(g=("high", 3)), class_window=5, deadline_window=7)
    played = Played(group("g", *runs, task("c")), group("h", task("d")), policy=policy)
    share = Share(priority_class="high", class_weight=8, group_weight=3)
    assert unsettled(played.queue, THEN) == [
        RunSeen(
            at=NOW,
            run=Run(graph_id="g", node_id=name, share=share, cost=4),
            class_window=5,
            group_window=7,
        )
        for name in "ab"
    ]
    played.settle()
    assert (unsettled(played.queue, THEN), sorted(played.shares.runs["g"])) == ([], ["a", "b"])
    assert (played.tags(""), played.tags("high")) == ({"high": 1}, {"g": 8 / 3})
    played.with_graphs(group("g", runs[0], task("a"), task("c")), group("h", task("d")))
    assert unsettled(played.queue, THEN) == [RunEnded(at=NOW, graph_id="g", node_id="a")]
    played.with_graphs(group("h", task("d")))
    assert unsettled(played.queue, THEN) == [RunEnded(at=NOW, graph_id="g", node_id=name) for name in "ab"]
    played.settle()
    assert (unsettled(played.queue, THEN), played.shares.runs) == ([], {})


def test_a_charge_is_felt_by_the_order_that_is_there() -> None:
    run = task("r", status="running", estimated_tokens=5_000)
    played = Played(
        *(group(name, *map(task, "ab")) for name in "gh"), policy=policy_of(class_window=9, deadline_window=9)
    )
    assert played.served(2) == "gh"
    played.with_graphs(group("g", run, task("b")), group("h", task("b")))
    before = played.queue.order(ANYONE)
    assert (before.tags("g"), played.queue.unsettled_in) == (before.tags("h"), {"g"})
    for event in unsettled(played.queue, THEN):
        happened_to(played.shares, event)
    played.queue.follow(played.work, (), charged=("g",))
    order = played.queue.order(ANYONE)
    anew = WorkspaceQueue(played.queue.snapshot).order(ANYONE)
    assert (order is before, played.queue.unsettled_in) == (True, set())
    assert [order.tags(each) for each in "gh"] == [anew.tags(each) for each in "gh"]
    assert order.tags("g") > order.tags("h")


def test_what_is_under_a_lease_or_in_an_inactive_graph_is_no_run_of_others() -> None:
    graphs = group("g", task("a")), group("h", task("b", status="running"), status="paused")
    played = Played(*graphs)
    played.start("g", "a")
    assert unsettled(played.queue, THEN) == []


def test_by_score_runs_are_not_charged_but_those_that_were_end() -> None:
    run, done = task("a", status="running"), task("a", status="completed")
    played = Played(group("g", run))
    played.settle()
    played.with_policy(policy_of(ordering="score"))
    assert unsettled(played.queue, THEN) == []
    played.with_graphs(group("g", done))
    played.settle()
    assert played.shares.runs == {}
    played.with_graphs(group("g", run))
    assert unsettled(played.queue, THEN) == []


# --- the hold ------------------------------------------------------------------------------------------------------


def holding(*graphs: LoadedGraph, **policy: Any) -> Played:  # noqa: ANN401 - any key of the policy
    """A node of two slots is held, while one of two slots is in use."""
    played = Played(
        *(graphs or (group("g", task("wide", slots=2)),)),
        many("h", 5, priority=-1),
        policy=policy_of(slots=2, **policy),
    )
    played.start("h", "n04")
    assert (played.claim(), played.shares.hold) == ("h/n00", Hold(**HELD, starts=1))
    return played


def test_a_hold_is_filled_once_its_slots_are_free() -> None:
    played = holding(leases=LeasePolicy(start_by_seconds=60))
    assert unsettled(played.queue, THEN) == []
    played.end("h", "n00")
    assert unsettled(played.queue, THEN) == []
    played.end("h", "n04")
    until = Expiry(at=NOW + timedelta(seconds=60), boot_id="boot", ticks_ms=60_500)
    assert unsettled(played.queue, THEN) == [HoldFilled(at=NOW, until=until)]
    played.happen(HoldFilled(at=NOW, until=until))
    assert (unsettled(played.queue, THEN), played.shares.hold) == ([], Hold(**HELD, starts=1, until=until))


@pytest.mark.parametrize(
    "graphs",
    [
        (),
        (group("g"),),
        (group("g", task("wide", slots=1)),),
        (group("g", task("wide", slots=2, approval="human_required")),),
        (group("g", task("wide", slots=2), status="paused"),),
        (LoadedGraph(graph_id="g", graph=None),),
    ],
    ids=["no file", "no node", "other slots", "gated", "inactive", "broken"],
)
def test_a_hold_is_over_when_its_node_may_not_start_any_more(graphs: tuple[LoadedGraph, ...]) -> None:
    played = holding()
    played.with_graphs(*graphs, many("h", 5, priority=-1))
    assert unsettled(played.queue, THEN) == [OVER]
    assert census(played.queue, ANYONE).runnable == 0
    played.settle()
    assert (played.shares.hold, unsettled(played.queue, THEN)) == (None, [])


def test_a_hold_is_over_where_there_is_no_limit_or_the_quota_leaves_no_room() -> None:
    played = holding()
    played.with_policy(policy_of())
    assert unsettled(played.queue, THEN) == [OVER]
    played.with_policy(policy_of(slots=2, groups={"g": GroupPolicy(quota=2)}))
    assert unsettled(played.queue, THEN) == []
    played.with_policy(policy_of(slots=2, groups={"g": GroupPolicy(quota=1)}))
    assert unsettled(played.queue, THEN) == [OVER]


def test_a_hold_is_over_while_its_group_is_paused_and_stays_while_its_node_waits_for_its_owner() -> None:
    played = holding()
    played.work.pauses["group:g"] = pause("group", "g")
    played.queue.follow(played.work, ())
    assert unsettled(played.queue, THEN) == [OVER]
    played.work.pauses.clear()
    played.queue.follow(played.work, ())
    assert unsettled(played.queue, THEN) == []
    played.work.items["g"] = {"wide": known("wide", "queued", owner="w1")}
    played.queue.follow(played.work, [("g", "wide")])
    assert unsettled(played.queue, THEN) == []


def test_what_it_takes_to_start_the_node_is_not_asked_of_whoever_asks() -> None:
    """Somebody able to is enough: the asker need not be."""
    played = Played(
        group("g", task("wide", slots=2, capabilities=("gpu",))), many("h", 5, priority=-1), policy=policy_of(slots=2)
    )
    played.start("h", "n04")

    played.happen(SlotsHeld(**HELD))
    assert (unsettled(played.queue, THEN), played.claim()) == ([], "h/n00")


def test_runs_come_before_the_hold() -> None:
    played = holding()
    played.end_all()
    played.with_graphs(group("g", task("wide", slots=2), task("r", status="running")), many("h", 5, priority=-1))
    kinds = [type(each).__name__ for each in unsettled(played.queue, THEN)]
    # The run takes a slot that no wide node can drain: two of two never fit.
    assert kinds == ["RunSeen", "HoldEnded"]


def test_advice_sees_a_hold_that_is_over_as_a_claim_would() -> None:
    played = Played(
        group("g", task("wide", slots=2)), many("h", 5, priority=-1), policy=policy_of(slots=2, drain_limit=0)
    )
    played.start("h", "n04")
    assert (played.claim(), played.against("h", "n00")) == (None, ["reserved(for wide)"])
    before = played.work.branch()
    played.with_graphs(many("h", 5, priority=-1))
    for graph_id in (None, "h"):
        assert (census(played.queue, ANYONE, graph_id).runnable, names(played.queue, graph_id=graph_id)) == (4, ["n00"])
    assert (played.against("h", "n00"), played.work == before) == ([], True)
