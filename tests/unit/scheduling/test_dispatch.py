"""What a start does to shares and ages, worked out before it happens; and what the lease then holds."""

from __future__ import annotations

import pytest

from metagit_mcp.domain.approval import approval_digest
from metagit_mcp.domain.policy import ClassWeights, GroupPolicy
from metagit_mcp.domain.shares import Dispatch, FlowTag, LevelChange, PoolChange, Round
from metagit_mcp.domain.work import Holding, Share
from metagit_mcp.scheduling.cycle import choose, dispatch_of, holding_of
from metagit_mcp.scheduling.dispatch import share_of
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import ANYONE, NOW, group, known, ledger, queue_of, task
from tests.unit.scheduling.claimed import UNIT, Played, groups_of, many, policy_of

W1, GPU = Asker(agent_id="w1"), Asker(capabilities=frozenset({"gpu"}))


def test_a_pick_tells_its_pool_and_its_group() -> None:
    policy = policy_of(groups=groups_of(g=("high", 2)), class_window=3, deadline_window=5)
    nodes = task("a", estimated_tokens=2_500, slots=2, priority=1), task("b")
    queue = queue_of(group("g", *nodes), group("h", task("c")), policy=policy)
    pick = choose(queue, ANYONE).pick
    assert pick is not None
    assert dispatch_of(queue, ANYONE, "g", pick.node, pick) == Dispatch(
        share=Share(priority_class="high", class_weight=8, group_weight=2),
        class_window=3,
        group_window=5,
        pick=PoolChange(
            levels=(
                LevelChange(
                    level="",
                    virtual=0,
                    flows={
                        "high": FlowTag(tag=6 * UNIT // 8, weight=8, eligible=True, charged=True),
                        "normal": FlowTag(tag=0, weight=4, eligible=True),
                    },
                ),
                LevelChange(
                    level="high",
                    virtual=UNIT // 2,
                    flows={"g": FlowTag(tag=UNIT // 2 + 3 * UNIT, weight=2, eligible=True, charged=True)},
                ),
                LevelChange(level="normal", virtual=0, flows={"h": FlowTag(tag=UNIT, weight=1, eligible=True)}),
            )
        ),
        arrived=("a", "b"),
        node_digest=approval_digest(nodes[0])[:12],
    )
    assert dispatch_of(queue, ANYONE, "g", pick.node, pick) == dispatch_of(queue, ANYONE, "g", pick.node, pick)


def test_a_start_by_its_id_is_nobodys_turn() -> None:
    queue = queue_of(group("g", task("a", priority=1), task("b")), policy=policy_of())
    node = task("b")
    assert dispatch_of(queue, W1, "g", node) == Dispatch(
        share=Share(priority_class="normal", class_weight=4, group_weight=1),
        class_window=0,
        group_window=0,
        arrived=("a", "b"),
        node_digest=approval_digest(node)[:12],
    )


def test_by_score_nothing_is_charged_and_ages_go_on() -> None:
    queue = queue_of(group("g", task("a")), policy=policy_of(ordering="score"))
    assert share_of(queue, "g") is None
    assert dispatch_of(queue, ANYONE, "g", task("a"), choose(queue, ANYONE).pick) == Dispatch(
        share=None,
        class_window=0,
        group_window=0,
        arrived=("a",),
        node_digest=approval_digest(task("a"))[:12],
    )


def test_a_pick_says_that_the_guard_made_it_and_who_left() -> None:
    played = Played(group("g", task("old"), task("a", priority=5)), policy=policy_of(pass_over_limit=1))
    assert played.claim() == "g/a"
    nodes = [task("old"), task("b", priority=9), task("a"), task("gated", approval="human_required")]
    played.with_graphs(group("g", *nodes))
    pick = choose(played.queue, ANYONE).pick
    assert pick is not None
    found = dispatch_of(played.queue, ANYONE, "g", pick.node, pick)
    assert (pick.node.node_id, found.guard, found.arrived, found.left) == ("old", True, ("b",), ())
    played.with_graphs(group("g", task("old", approval="human_required"), *nodes[1:]))
    pick = choose(played.queue, ANYONE).pick
    assert pick is not None
    found = dispatch_of(played.queue, ANYONE, "g", pick.node, pick)
    assert (pick.node.node_id, found.guard, found.arrived, found.left) == ("b", False, ("b",), ("old",))


def test_a_start_says_which_node_lacks_only_quota() -> None:
    policy = policy_of(groups={"g": GroupPolicy(quota=2)})
    played = Played(group("g", task("wide", slots=2, priority=1), task("a"), task("r")), policy=policy)
    assert dispatch_of(played.queue, ANYONE, "g", task("a")).lacking is None
    played.start("g", "r")
    assert dispatch_of(played.queue, ANYONE, "g", task("a")).lacking == "wide"
    assert dispatch_of(played.queue, ANYONE, "g", task("wide")).lacking is None


@pytest.mark.parametrize(("asker", "name"), [(ANYONE, ""), (GPU, "gpu")])
def test_a_pick_changes_the_pool_of_the_asker(asker: Asker, name: str) -> None:
    queue = queue_of(many("g", 2), many("h", 1, capabilities=("gpu",)))
    pick = choose(queue, asker).pick
    assert pick is not None
    change = dispatch_of(queue, asker, "g", pick.node, pick).pick
    assert change is not None
    assert (change.name, change.split_from, change.dropped) == (name, None, ())
    assert [sorted(level.flows) for level in change.levels] == [["normal"], ["g", "h"] if name else ["g"]]


def test_the_owner_that_resumes_takes_no_turn() -> None:
    work = ledger(known("a", "queued", owner="w1"))
    queue = queue_of(group("g", task("a", priority=9), task("b")), work=work)
    pick = choose(queue, W1).pick
    assert pick is not None
    found = dispatch_of(queue, W1, "g", pick.node, pick)
    assert (pick.node.node_id, pick.is_turn, found.pick, found.share is None) == ("a", False, None, False)


def test_a_lease_holds_what_the_queue_knows_of_the_node() -> None:
    queue = queue_of(group("g", task("a", slots=2, estimated_tokens=1_001)))
    assert holding_of(queue, ANYONE, "g", task("a")) == Holding(slots=2, cost=4)


def test_the_share_follows_the_policy() -> None:
    policy = policy_of(classes=ClassWeights(low=3), groups=groups_of(g=("low", 7)))
    queue = queue_of(group("g", task("a")), policy=policy)
    assert share_of(queue, "g") == Share(priority_class="low", class_weight=3, group_weight=7)


def test_the_first_start_of_a_group_begins_its_round() -> None:
    played = Played(many("g", 1))
    assert played.claim() == "g/n00"
    assert played.shares.rounds == {"g": Round(dispatches=1, numbered=1)}
    assert played.queue.groups["g"].round is played.shares.rounds["g"]
    assert played.queue.now == NOW
