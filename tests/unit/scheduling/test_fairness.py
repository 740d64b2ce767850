"""Whose turn it is: two levels, the windows of each, pools of askers, Groups that leave (scheduling.md §3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain.limits import AgentPolicy, ResourcePolicy
from metagit_mcp.domain.policy import ClassWeights, PriorityClass, SchedulePolicy
from metagit_mcp.domain.share_events import RunSeen
from metagit_mcp.domain.shares import FlowTag, Run
from metagit_mcp.domain.work import Share
from metagit_mcp.scheduling.fairness import FairOrder
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import ANYONE, HOUR, NOW, group, names, task
from tests.unit.scheduling.claimed import UNIT, Played, groups_of, many, policy_of

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import LoadedGraph
    from metagit_mcp.scheduling.standing import Offer

GPU, NET = Asker(capabilities=frozenset({"gpu"})), Asker(capabilities=frozenset({"net"}))
BOTH = Asker(capabilities=frozenset({"gpu", "net"}))
W1 = Asker(agent_id="w1")


# --- two levels ------------------------------------------------------------------------------------------------


def test_groups_of_one_class_share_by_their_weights() -> None:
    played = Played(many("a", 40), many("b", 40), policy=policy_of(groups=groups_of(a=("normal", 3))))
    served = played.served(40)
    assert (served[:8], served.count("a"), served.count("b")) == ("aaabaaab", 30, 10)


def test_classes_share_by_their_weights_however_many_groups_they_have() -> None:
    policy = policy_of(classes=ClassWeights(high=3, low=1), groups=groups_of(a=("high", 1), b=("low", 4), c=("low", 1)))
    served = Played(many("a", 40), many("b", 40), many("c", 40), policy=policy).served(40)
    assert (served.count("a"), served.count("b"), served.count("c")) == (30, 8, 2)


def test_classes_with_one_tag_go_by_rank() -> None:
    weights = ClassWeights(critical=1, high=1, normal=1, low=1)
    groups = groups_of(a=("low", 1), b=("normal", 1), c=("high", 1), d=("critical", 1))
    played = Played(*(many(name, 9) for name in "abcd"), policy=policy_of(classes=weights, groups=groups))
    assert played.served(8) == "dcbadcba"


def test_a_more_urgent_class_goes_first_within_the_window_of_the_root() -> None:
    weights = ClassWeights(critical=1, low=1)
    groups = groups_of(a=("critical", 1), b=("low", 1))
    policy = policy_of(classes=weights, groups=groups, class_window=3)
    assert Played(many("a", 20), many("b", 20), policy=policy).served(12) == "aaaabababa" + "ba"


def test_a_sporadic_critical_node_is_the_very_next_start() -> None:
    groups = groups_of(a=("critical", 1))
    played = Played(many("a", 0), many("b", 90), policy=policy_of(groups=groups))
    assert played.served(30) == "b" * 30
    played.with_graphs(many("a", 1), many("b", 90))
    assert played.served(2) == "ab"


def test_the_cost_of_a_node_is_what_is_charged() -> None:
    """Two slots of 2,500 tokens are six units at weight 4 of the class and weight 2 of the Group."""
    nodes = group("a", task("n", slots=2, estimated_tokens=2_500)), group("b", task("m"))
    played = Played(*nodes, policy=policy_of(groups=groups_of(a=("normal", 2))))
    assert played.claims(2) == ["a/n", "b/m"]
    assert (played.tags(""), played.tags("normal")) == ({"normal": 6 / 4 + 1 / 4}, {"a": 3.5, "b": 2})
    assert (played.virtual(""), played.virtual("normal")) == (1.5, 1)


# --- inside the window -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "served"),
    [
        ({}, {}, "abababab"),
        ({}, {"priority": 1}, "bbbbabab"),
        ({"priority": 9}, {"requested_urgency": "high"}, "bbbbabab"),
        ({"requested_urgency": "routine"}, {}, "bbbbabab"),
        ({"requested_urgency": "critical"}, {"deadline": NOW + HOUR}, "bbbbabab"),
        ({"deadline": NOW + HOUR}, {"deadline": NOW}, "bbbbabab"),
        ({"priority": 1}, {"deadline": NOW + timedelta(days=2)}, "aaaababa"),
        ({"estimated_tokens": 900}, {"estimated_tokens": 800}, "bbbbabab"),
    ],
)
def test_the_better_head_goes_first_within_the_window_and_no_further(
    first: dict[str, Any], second: dict[str, Any], served: str
) -> None:
    """Deadline where it is near, then urgency, then the order inside a Group."""
    nodes = [task(f"n{number:02}", **first) for number in range(9)], [task(f"n{n:02}", **second) for n in range(9)]
    policy = policy_of(deadline_window=3)
    assert Played(group("a", *nodes[0]), group("b", *nodes[1]), policy=policy).served(8) == served


def test_a_window_is_wider_than_any_that_only_looks_at_tags() -> None:
    graphs = many("a", 9), many("b", 9, priority=1)
    assert Played(*graphs, policy=policy_of(deadline_window=0)).served(6) == "bababa"
    assert Played(*graphs, policy=SchedulePolicy()).served(9) == "b" * 9


def test_a_node_that_becomes_due_brings_its_group_before_others() -> None:
    policy = policy_of(deadline_window=8, deadline_horizon_seconds=3_600)
    played = Played(many("a", 9, priority=5), many("b", 9, deadline=NOW + 2 * HOUR), policy=policy)
    assert played.served(1) == "a"
    played.wait(3_600)
    assert played.served(1) == "b"


@pytest.mark.parametrize(("asker", "first"), [(ANYONE, "b/n02"), (W1, "c/n00")])
def test_what_an_ask_may_not_take_does_not_bound_its_window(asker: Asker, first: str) -> None:
    """4. The window is that of the flows this ask may take, also where the first of all is one of them."""
    policy = policy_of(
        deadline_window=3,
        resources={"api": ResourcePolicy(capacity=1)},
        agents={"w1": AgentPolicy(uses={"api": 1})},
    )
    played = Played(many("a", 1, uses={"api": 1}), many("b", 9, priority=5), many("c", 9, priority=9), policy=policy)
    played.start("b", "n00")
    played.start("b", "n01")
    played.happen(*(seen("c", f"r{number}") for number in range(5)))
    assert [played.queue.order(asker).tags(name)[1] / UNIT for name in "abc"] == [1, 2, 5]
    assert played.claim(asker) == first


def seen(graph_id: str, node_id: str, name: PriorityClass = "normal", cost: int = 1) -> RunSeen:
    share = Share(priority_class=name, class_weight=4, group_weight=1)
    run = Run(graph_id=graph_id, node_id=node_id, share=share, cost=cost)
    return RunSeen(at=NOW, run=run, class_window=9, group_window=9)


# --- pools -----------------------------------------------------------------------------------------------------


def needs(graph_id: str, count: int, *capabilities: str) -> LoadedGraph:
    return many(graph_id, count, capabilities=capabilities)


def test_a_pool_starts_with_the_tags_of_the_one_it_was_split_from() -> None:
    played = Played(many("a", 9), many("b", 9))
    assert played.served(3) == "aba"
    played.with_graphs(many("a", 9), many("b", 9), needs("c", 1, "gpu"))
    assert played.claim(GPU) == "b/n01"
    assert sorted(played.shares.pools) == ["", "gpu"]
    # In the pool it was no pick of, b is charged all the same; nobody there was told of c.
    assert (played.tags("normal"), played.virtual("normal")) == ({"a": 3, "b": 3}, 2)
    # c entered one unit behind V.
    assert (played.tags("normal", "gpu"), played.virtual("normal", "gpu")) == ({"a": 3, "b": 3, "c": 3}, 2)
    assert played.flow("normal", "c", "gpu") == FlowTag(tag=3 * UNIT, weight=1, eligible=True)
    assert (played.claim(GPU), played.claim()) == ("a/n02", "a/n03")


def test_the_nearest_pool_is_the_one_a_new_one_is_split_from() -> None:
    played = Played(many("a", 9), needs("b", 9, "gpu"), needs("c", 9, "net"), needs("d", 9, "gpu", "net"))
    assert [played.claim(asker) for asker in (ANYONE, GPU, NET)] == ["a/n00", "a/n01", "a/n02"]
    assert sorted(played.shares.pools) == ["", "gpu", "net"]
    order = played.queue.order(BOTH)
    # Three sets against one: each of the two is as near; the first by name.
    assert (order.satisfied, order.split_from()) == ((("gpu",), ("gpu", "net"), ("net",)), "gpu")


def test_a_pool_in_which_nobody_can_be_any_more_is_dropped_at_the_next_pick() -> None:
    played = Played(many("a", 9), needs("b", 1, "gpu"))
    assert [played.claim(asker) for asker in (GPU, ANYONE)] == ["a/n00", "a/n01"]
    assert sorted(played.shares.pools) == ["", "gpu"]
    played.with_graphs(many("a", 9))
    assert (played.claim(GPU), sorted(played.shares.pools)) == ("a/n02", [""])


def test_a_pool_that_comes_back_starts_from_the_one_that_stayed() -> None:
    """An order that was made for a pool of that name before knows nothing of it."""
    graphs = many("a", 19), many("b", 19)
    played = Played(*graphs, needs("c", 1, "gpu"))
    assert [played.claim(GPU) for _ in range(2)] == ["a/n00", "b/n00"]
    assert sorted(played.shares.pools) == ["gpu"]
    played.with_graphs(*graphs)
    assert played.served(3) == "aba"
    for number in range(4, 8):
        played.start("b", f"n{number:02}", W1)
    played.with_graphs(*graphs, needs("c", 1, "gpu"))
    again = Played(*graphs, needs("c", 1, "gpu"), work=played.work.branch())
    assert played.queue.order(GPU).tags("a") == again.queue.order(GPU).tags("a")
    assert played.queue.order(GPU).tags("b") == again.queue.order(GPU).tags("b")
    assert [played.claim(GPU) for _ in range(6)] == [again.claim(GPU) for _ in range(6)]
    assert played.shares == again.shares


def test_what_a_new_pool_shall_tell_is_what_differs_from_the_one_it_is_split_from() -> None:
    """Also of what that one was told after somebody of the new one asked."""
    graphs = many("a", 9), needs("b", 1, "gpu"), needs("c", 1, "net")
    played = Played(*graphs, many("d", 0))
    assert played.claim(GPU) == "a/n00"
    assert played.queue.order(NET).tags("a") == (UNIT // 4, 2 * UNIT)
    played.with_graphs(*graphs, needs("d", 3, "gpu"))
    assert played.claim(GPU) == "b/n00"
    assert played.flow("normal", "d", "gpu").eligible
    assert played.claim(NET) == "a/n01"
    assert [name for name, each in played.pool("net").levels["normal"].flows.items() if each.eligible] == ["a", "c"]
    assert played.pool("net").levels["normal"].eligible == 2


def test_a_start_is_charged_in_every_pool_but_at_most_one_window_past_v() -> None:
    played = Played(many("a", 9), many("b", 9), needs("c", 1, "gpu"), policy=policy_of(deadline_window=2))
    assert [played.claim(asker) for asker in (ANYONE, GPU)] == ["a/n00", "b/n00"]
    for _ in range(4):
        played.claim(GPU, "a")
    # V is 1 in both, the window 2, the charge 1.
    assert [played.virtual("normal", pool) for pool in ("", "gpu")] == [1, 1]
    assert [played.tags("normal", pool)["a"] for pool in ("", "gpu")] == [4, 4]


# --- Groups that are gone ------------------------------------------------------------------------------------------


def test_a_group_without_a_file_leaves_its_level_once_it_is_owed_nothing() -> None:
    played = Played(many("a", 9), many("b", 9))
    assert played.served(4) == "abab"
    played.with_graphs(many("a", 9))
    assert (played.served(1), played.tags("normal")) == ("a", {"a": 4, "b": 3})
    played.with_graphs(many("a", 9), many("c", 1))
    assert played.served(2) == "ac"
    played.with_graphs(many("a", 9), many("d", 0))
    played.queue.refresh(replace(played.queue.snapshot, now=NOW + HOUR))
    assert (played.served(1), played.tags("normal")) == ("a", {"a": 6, "c": 5})


def test_a_group_whose_file_comes_back_before_the_next_start_stays() -> None:
    played = Played(many("a", 9), many("b", 9))
    assert played.served(3) == "aba"
    played.start("a", "n02")
    played.start("a", "n03")
    played.with_graphs(many("a", 9))
    assert played.queue.order(ANYONE).is_eligible("b") is False
    played.with_graphs(many("a", 9), many("b", 9))
    assert (played.served(1), played.tags("normal")) == ("b", {"a": 3, "b": 3})
    level = played.pool().levels["normal"]
    assert level.eligible == sum(each.eligible for each in level.flows.values()) == 2


# --- what is followed ----------------------------------------------------------------------------------------------


def test_a_correction_moves_the_class_that_was_charged_though_its_group_is_gone() -> None:
    groups = groups_of(a=("high", 1), b=("high", 1), c=("low", 1))
    policy = policy_of(groups=groups, classes=ClassWeights(high=1, low=1))
    played = Played(many("a", 3), many("b", 9), many("c", 9), policy=policy)
    assert played.served(2) == "ac"
    played.with_graphs(many("b", 9), many("c", 9))
    assert (played.served(1), names(played.queue, limit=1)) == ("b", ["n01"])
    played.end("a", "n00", tokens=5_000)
    again = Played(many("b", 9), many("c", 9), policy=policy, work=played.work.branch())
    assert (again.served(6), played.served(6), played.shares == again.shares) == ("cccccb", "cccccb", True)


def test_a_correction_moves_the_group_and_its_class() -> None:
    played = Played(many("a", 9), many("b", 9))
    assert played.served(2) == "ab"
    played.end("a", "n00", tokens=5_000)
    assert (played.tags(""), played.tags("normal")) == ({"normal": 6 / 4}, {"a": 6, "b": 2})
    assert played.served(5) == "bbbba"
    played.report("a", "n01", 1)
    assert played.tags("normal") == {"a": 7, "b": 6}


def test_a_start_is_followed_at_the_cost_of_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [many(f"g{number:03}", 3) for number in range(300)]
    played = Played(*graphs, policy=policy_of(slots=400))
    assert played.claims(2) == ["g000/n00", "g001/n00"]
    looked: list[str] = []
    real = FairOrder._key  # noqa: SLF001 - what is counted is the work, not the answer

    def counted(self: FairOrder, offer: Offer) -> Any:  # noqa: ANN401 - as it is
        looked.append(offer.graph_id)
        return real(self, offer)

    monkeypatch.setattr(FairOrder, "_key", counted)
    assert played.claims(4) == [f"g00{number}/n00" for number in range(2, 6)]
    assert looked == [f"g00{number}" for number in range(1, 5)]
    looked.clear()
    assert [names(played.queue, limit=1) for _ in range(3)] == [["n00"]] * 3
    assert looked == ["g005"]
    looked.clear()
    # A plan looks at what it started, and once more when that is taken back.
    assert names(played.queue, limit=4) == ["n00"] * 4
    assert names(played.queue, limit=1) == ["n00"]
    assert sorted(looked) == ["g006", "g006", "g007", "g007", "g008", "g008"]


def test_a_plan_of_one_pool_leaves_the_order_of_the_others_alone() -> None:
    played = Played(many("a", 9), needs("b", 9, "gpu"))
    assert [played.claim(asker) for asker in (ANYONE, GPU)] == ["a/n00", "a/n01"]
    orders = [played.queue.order(asker) for asker in (ANYONE, GPU)]
    assert len(names(played.queue, GPU, limit=5)) == 5
    assert [played.queue.order(asker) for asker in (ANYONE, GPU)] == orders


def test_a_group_that_changes_its_class_while_it_has_nothing_ready_is_not_new_there() -> None:
    policy = policy_of(groups=groups_of(b=("low", 1)))
    played = Played(many("a", 9), many("b", 1), many("c", 9), policy=policy)
    assert played.served(4) == "abca"
    played.with_policy(replace(policy, groups=groups_of(b=("normal", 4))))
    assert played.queue.order(ANYONE).is_eligible("b") is False
    served = played.served(1)
    assert (served in "ac", "b" in played.pool().levels["low"].flows) == (True, False)
    flow = played.flow("normal", "b")
    assert (flow.charged, flow.weight, flow.eligible) == (True, 4, False)


def test_a_group_with_work_changes_its_class_at_once() -> None:
    policy = policy_of(groups=groups_of(b=("low", 1)))
    played = Played(many("a", 9), many("b", 9), policy=policy)
    assert played.served(5) == "abaaa"
    played.with_policy(replace(policy, groups=groups_of(b=("high", 2))))
    assert played.queue.order(ANYONE).tags("b")[1] == 0
    assert played.served(2) == "bb"
    assert ({*played.pool().levels["low"].flows}, played.tags("high")) == (set(), {"b": 1})
