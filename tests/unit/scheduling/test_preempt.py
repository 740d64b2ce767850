"""When somebody is asked to pause for a flow that is further behind, and who (scheduling.md §6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from metagit_mcp.domain.limits import PreemptionPolicy
from metagit_mcp.domain.policy import ClassWeights, SchedulePolicy
from metagit_mcp.domain.share_events import HoldEnded, PreemptionRequested, SlotsHeld
from metagit_mcp.domain.shares import Hold, Preemption
from metagit_mcp.scheduling.cycle import Choice, choose, plan
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import ANYONE, HOUR, NOW, group, task
from tests.unit.scheduling.claimed import Played, groups_of, many, policy_of

W1 = Asker(agent_id="w1")
QUANTUM = 300


def two_groups(*, reported: int = 4_000, waited: float = QUANTUM, **policy: Any) -> Played:  # noqa: ANN401 - any key
    """One slot, taken by a node of a that is charged five units; then b has work. S is 6 for a and 2 for b."""
    played = Played(
        group("a", task("long", estimated_tokens=5_000)), many("b", 0), policy=policy_of(**{"slots": 1, **policy})
    )
    assert played.claim(W1) == "a/long"
    played.with_graphs(group("a", task("long", estimated_tokens=5_000)), many("b", 3))
    if reported:
        played.report("a", "long", reported)
    played.wait(waited)
    return played


def request(played: Played, node_id: str = "n00", lease_id: str = "L001", **fields: Any) -> PreemptionRequested:  # noqa: ANN401 - as above
    named = {"graph_id": "b", "node_id": node_id, "slots": 1, **fields}
    return PreemptionRequested(at=played.queue.now, lease_id=lease_id, **named)


def test_who_is_ahead_even_when_refunded_is_asked_to_pause() -> None:
    played = two_groups()
    assert played.queue.order(ANYONE).tags("b")[1] * 3 == played.queue.order(ANYONE).tags("a")[1]
    assert choose(played.queue, ANYONE) == Choice(events=(request(played),))
    assert played.claim() is None
    hold = Hold(graph_id="b", node_id="n00", slots=1, at=played.queue.now, preempts=True)
    asked = Preemption(lease_id="L001", graph_id="b", node_id="n00", at=played.queue.now)
    assert (played.shares.hold, played.shares.preemptions, played.shares.asked) == (
        hold,
        {"L001": asked},
        {"b": {"n00": 1}},
    )
    # One request at a time.
    assert choose(played.queue, ANYONE) == Choice()


def test_the_freed_slot_is_kept_for_the_node_it_was_freed_for() -> None:
    played = two_groups()
    assert played.claim() is None
    played.pause("a", "long", NOW + 2 * HOUR)
    assert [played.claim(W1), played.claim()] == ["b/n00", None]
    assert (played.shares.hold, played.shares.preemptions, played.shares.asked) == (None, {}, {})
    item = played.work.item(("a", "long"))
    assert item is not None
    assert item.preemptions == 1


@pytest.mark.parametrize(
    ("reported", "is_asked"), [(0, False), (1, False), (1_000, False), (1_001, True), (9_000, True)]
)
def test_what_was_not_used_is_refunded_before_the_two_are_compared(reported: int, *, is_asked: bool) -> None:
    """2 + 1 ≤ 6 − refund: with two of five units used it is just even; nothing reported refunds all."""
    played = two_groups(reported=reported)
    assert choose(played.queue, ANYONE) == Choice(events=(request(played),) if is_asked else ())


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({"preemption": PreemptionPolicy(enabled=False)}, False),
        ({"preemption": PreemptionPolicy(min_quantum_seconds=301)}, False),
        ({"preemption": PreemptionPolicy(min_quantum_seconds=0), "waited": 0}, True),
        ({"waited": QUANTUM - 0.001}, False),
        ({"preemption": PreemptionPolicy(max_preemptions=0)}, False),
        ({"ordering": "score"}, False),
    ],
)
def test_what_the_policy_says(fields: dict[str, Any], *, asked: bool) -> None:
    played = two_groups(**fields)
    assert bool(choose(played.queue, ANYONE).events) is asked


def test_advice_asks_nobody() -> None:
    played = two_groups()
    before = played.work.branch()
    assert [plan(played.queue, ANYONE, limit).picks for limit in (1, 5)] == [(), ()]
    assert played.work == before


def test_an_ask_for_one_group_asks_nobody_to_pause() -> None:
    assert choose(two_groups().queue, ANYONE, "b") == Choice()


def test_nobody_is_asked_while_a_slot_is_free_or_a_node_is_held() -> None:
    played = two_groups()
    played.with_policy(replace(played.queue.snapshot.policy, slots=2))
    assert choose(played.queue, ANYONE).events == ()
    played = two_groups()
    played.happen(SlotsHeld(at=NOW, graph_id="b", node_id="n01", slots=1))
    assert choose(played.queue, ANYONE).events == ()


def test_a_lease_that_may_not_be_asked_or_was_not_charged_is_left_alone() -> None:
    for fields in ({"preemptible": False}, {"share": None}):
        played = two_groups()
        for lease_id, lease in list(played.work.leases.items()):
            played.work.leases[lease_id] = replace(lease, **fields)
        assert choose(played.queue, ANYONE).events == ()


def test_a_node_that_was_asked_to_pause_too_often_is_left_alone() -> None:
    played = two_groups(preemption=PreemptionPolicy(max_preemptions=2))
    item = played.work.items["a"]["long"]
    for preemptions, asked in ((1, True), (2, False)):
        played.work.items["a"]["long"] = replace(item, preemptions=preemptions)
        assert bool(choose(played.queue, ANYONE).events) is asked


def test_a_node_asks_once_each_time_that_it_comes() -> None:
    played = two_groups()
    assert played.claim() is None
    played.happen(HoldEnded(at=played.queue.now, graph_id="b", node_id="n00", lapsed=True))
    assert choose(played.queue, ANYONE) == Choice()
    played.happen(request(played, "n00"))
    played.happen(HoldEnded(at=played.queue.now, graph_id="b", node_id="n00"))
    assert choose(played.queue, ANYONE).events == (request(played),)


def test_nothing_waits_and_nobody_is_asked() -> None:
    played = two_groups()
    played.with_graphs(group("a", task("long", estimated_tokens=5_000)), many("b", 0))
    assert choose(played.queue, ANYONE) == Choice()
    # What waits in the same Group asks nobody of it.
    played.with_graphs(group("a", task("long", estimated_tokens=5_000), task("next", priority=9)))
    assert choose(played.queue, ANYONE) == Choice()


# --- several victims -----------------------------------------------------------------------------------------------


def three_groups(**fields: dict[str, Any]) -> Played:
    """Three slots, taken by a, b and c, each charged five units and all used; then d has work."""
    long = [group(name, task("long", **{"estimated_tokens": 5_000, **fields.get(name, {})})) for name in "abc"]
    played = Played(*long, policy=policy_of(slots=3))
    assert sorted(played.served(3)) == ["a", "b", "c"]
    played.with_graphs(*long, many("d", 3))
    for name in "abc":
        played.report(name, "long", 5_000)
    played.wait(QUANTUM)
    return played


def test_the_one_that_is_furthest_ahead_is_asked() -> None:
    played = three_groups(b={"estimated_tokens": 7_000, "priority": 1})
    # a and c are at 6, b, which started first, at 8 with two of seven units not used: even.
    assert choose(played.queue, ANYONE).events == (request(played, lease_id="L003", graph_id="d"),)
    played.report("b", "long", 6_000)
    assert choose(played.queue, ANYONE).events == (request(played, lease_id="L001", graph_id="d"),)


def test_of_alike_ones_the_latest_start_then_the_last_lease() -> None:
    played = three_groups()
    assert choose(played.queue, ANYONE).events == (request(played, lease_id="L003", graph_id="d"),)
    later = replace(played.work.leases["L002"], granted_at=NOW + HOUR / 12)
    played.work.leases["L002"] = later
    played.wait(QUANTUM)
    assert choose(played.queue, ANYONE).events == (request(played, lease_id="L002", graph_id="d"),)


# --- across classes ------------------------------------------------------------------------------------------------


def two_classes(**policy: Any) -> Played:  # noqa: ANN401 - any key
    """Two slots, taken by low work that is used up; then something critical comes."""
    groups = groups_of(c=("critical", 1))
    named = {"classes": ClassWeights(critical=16, normal=1), "groups": groups, "slots": 2, **policy}
    played = Played(many("a", 9), many("b", 9), many("c", 0), policy=policy_of(**named))
    assert played.served(2) == "ab"
    played.with_graphs(many("a", 9), many("b", 9), many("c", 2))
    for name in "ab":
        played.report(name, "n00", 1_000)
    played.wait(QUANTUM)
    return played


def test_across_classes_the_classes_are_compared() -> None:
    """At the root: 1 + 1/16 ≤ 2, though inside its class c is where a and b are."""
    played = two_classes()
    expected = request(played, lease_id="L002", graph_id="c")
    assert choose(played.queue, ANYONE).events == (expected,)
    assert played.claim() is None
    played.pause("b", "n00", NOW + 2 * HOUR)
    assert played.served(1) == "c"


def test_a_class_that_is_no_further_behind_asks_nobody() -> None:
    played = two_classes(classes=ClassWeights(critical=1, normal=1), slots=2)
    # 1 + 1 ≤ 2 holds; a cost of two units does not.
    assert choose(played.queue, ANYONE).events != ()
    played.with_graphs(many("a", 9), many("b", 9), many("c", 2, estimated_tokens=2_000))
    assert choose(played.queue, ANYONE).events == ()


def test_the_weight_at_which_a_victim_was_charged_bounds_its_refund() -> None:
    played = two_groups(reported=0, groups=groups_of(a=("normal", 1)))
    policy = played.queue.snapshot.policy
    assert choose(played.queue, ANYONE).events == ()
    played.with_policy(replace(policy, groups=groups_of(a=("normal", 16))))
    # S of a is brought from 6 to V + 5/16; five units of refund are as much: nothing is left of its lead.
    assert choose(played.queue, ANYONE).events == ()
    played.with_policy(SchedulePolicy(slots=1))
    played.report("a", "long", 5_000)
    assert choose(played.queue, ANYONE).events == (request(played),)


def test_a_wide_node_is_held_slots_for_as_many_as_it_needs() -> None:
    played = two_groups(reported=5_000, slots=2, drain_limit=0)
    played.start("b", "n02")
    wide = group("c", task("wide", slots=2, estimated_tokens=500))
    played.with_graphs(group("a", task("long", estimated_tokens=5_000)), group("b", task("n02")), wide)
    # 2 + 2 ≤ 6: both slots are kept once the one is free.
    assert played.claim() is None
    assert played.shares.hold == Hold(graph_id="c", node_id="wide", slots=2, at=played.queue.now, preempts=True)
    played.end("a", "long")
    assert played.claim() is None
    played.end("b", "n02")
    assert played.claim() == "c/wide"
