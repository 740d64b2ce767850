"""One Group as an asker sees it: what it would give, and the drain of its quota for its best node (scheduling.md §3
rule 7).
"""

from __future__ import annotations

from typing import Any

import pytest

from metagit_mcp.domain.policy import GroupPolicy
from metagit_mcp.domain.shares import Round
from metagit_mcp.scheduling.cycle import Choice, census, choose
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.standing import Offer
from tests.snapshots import ANYONE, against, around, group, names, queue_over, task
from tests.unit.scheduling.claimed import Played, many, policy_of

GPU = Asker(capabilities=frozenset({"gpu"}))


def quota_world(quota: int = 3, running: int = 1, **policy: Any) -> Played:  # noqa: ANN401 - any key of the policy
    """Group g has a wide node of three slots and narrow ones, some of which run already."""
    narrow = [task(f"n{number:02}") for number in range(20)]
    groups = {"g": GroupPolicy(quota=quota)}
    played = Played(
        group("g", task("wide", priority=9, slots=3), *narrow), policy=policy_of(**{"groups": groups, **policy})
    )
    for number in range(running):
        played.start("g", f"n{19 - number}")
    return played


def test_an_offer_says_what_would_be_given() -> None:
    nodes = task("a", repository="p/a", estimated_tokens=7, slots=2), task("b", repository="p/b")
    queue = queue_over(*nodes, surroundings=around(merges={"p/b": 9}))
    standing = queue.moment(ANYONE).standing("g")
    # 0.25 · 1000/1007 and 0.2 · 7/1000.
    assert standing.offer == Offer("g", nodes[0], 248_262 + 1_400, 7, 2, 0)
    assert standing.offer.node_id == "a"
    assert (standing.lacking, standing.is_stopped) == (None, False)


@pytest.mark.parametrize(("drain_limit", "starts"), [(0, 0), (1, 1), (3, 3)])
def test_exactly_so_many_others_start_while_the_best_node_lacks_quota(drain_limit: int, starts: int) -> None:
    played = quota_world(drain_limit=drain_limit)
    taken = 0
    while (got := played.claim()) is not None:
        assert got.startswith("g/n")
        played.done(got)
        taken += 1
    standing = played.queue.moment(ANYONE).standing("g")
    assert (taken, standing.lacking, standing.is_stopped, standing.offer) == (starts, "wide", True, None)
    assert choose(played.queue, ANYONE) == choose(played.queue, ANYONE, "g") == Choice()
    assert against(played.queue, "n10") == against(played.queue, "wide") == ["group_quota(1/3)"]
    assert dict(census(played.queue, ANYONE).not_eligible)["group_quota"] == 1 + 19 - starts
    played.end("g", "n19")
    assert (played.claim(), played.shares.rounds["g"].lacking) == ("g/wide", None)


def test_the_count_is_of_one_node_and_begins_anew_with_another() -> None:
    played = quota_world()
    assert played.claims(2) == ["g/n00", "g/n01"]
    assert (played.shares.rounds["g"].lacking, played.shares.rounds["g"].lacking_starts) == ("wide", 2)
    nodes = [task(f"n{number:02}") for number in range(20)]
    played.with_graphs(group("g", task("wide", priority=9, slots=3), task("best", priority=10, slots=2), *nodes))
    played.end("g", "n00")
    assert played.claim() == "g/n02"
    assert (played.shares.rounds["g"].lacking, played.shares.rounds["g"].lacking_starts) == ("best", 1)


def test_a_better_node_that_fits_goes_first_and_the_count_is_over() -> None:
    played = quota_world()
    assert played.claim() == "g/n00"
    nodes = [task(f"n{number:02}") for number in range(20)]
    played.with_graphs(group("g", task("wide", priority=9, slots=3), task("best", priority=10), *nodes))
    assert played.claim() == "g/best"
    assert (played.shares.rounds["g"].lacking, played.shares.rounds["g"].lacking_starts) == (None, 0)


def test_where_nothing_else_fits_the_group_gives_nothing() -> None:
    played = Played(
        group("g", task("w", slots=2), task("v", slots=2), task("r")),
        policy=policy_of(groups={"g": GroupPolicy(quota=2)}),
    )
    played.start("g", "r")
    standing = played.queue.moment(ANYONE).standing("g")
    assert (standing.offer, standing.lacking, standing.is_stopped) == (None, "v", False)
    assert (names(played.queue), against(played.queue, "w")) == ([], ["group_quota(1/2)"])


def test_what_never_fits_keeps_nothing_from_starting() -> None:
    played = quota_world(quota=2, running=0)
    assert against(played.queue, "wide") == ["never_fits(3 slots, limit 2)", "group_quota(0/2)"]
    assert (played.claims(2), played.shares.rounds["g"].lacking) == (["g/n00", "g/n01"], None)


def test_the_start_of_the_node_itself_is_no_other_start() -> None:
    played = quota_world(running=0)
    assert played.claim() == "g/wide"
    assert played.shares.rounds["g"] == Round(dispatches=1, numbered=21, ages=played.shares.rounds["g"].ages)
    assert "wide" not in played.shares.rounds["g"].ages


@pytest.mark.parametrize("ordering", ["fair", "score"])
def test_a_held_node_starts_though_the_quota_is_kept_for_another_one(ordering: str) -> None:
    groups = {"g": GroupPolicy(quota=3)}
    policy = policy_of(groups=groups, slots=3, drain_limit=0, ordering=ordering)
    played = Played(group("g", task("held", slots=2), task("r"), task("x")), many("h", 9, priority=-1), policy=policy)
    played.start("g", "r")
    played.start("h", "n08")
    assert (played.claim(), played.shares.hold is None) == (None, False)
    best = task("best", slots=3, priority=9)
    played.with_graphs(group("g", task("held", slots=2), task("r"), task("x"), best), many("h", 9))
    assert [against(played.queue, name) for name in ("held", "x")] == [
        ["no_slot(2/3)"],
        ["group_quota(1/3)", "reserved(for held)"],
    ]
    played.end("h", "n08")
    assert against(played.queue, "held") == []
    for graph_id in (None, "g"):
        counted = census(played.queue, ANYONE, graph_id)
        assert (counted.runnable, counted.not_eligible["group_quota"], names(played.queue, limit=1)) == (1, 2, ["held"])
    assert (played.claim(), names(played.queue)) == ("g/held", [])
