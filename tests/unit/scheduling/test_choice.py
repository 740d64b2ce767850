"""What one ask gets, and what it lets be held: wide nodes, the hold of another Group, asks for one Group, owned nodes,
and the order by score (scheduling.md §3 rules 4 and 7).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from metagit_mcp.domain.policy import GroupPolicy
from metagit_mcp.domain.share_events import SlotsHeld
from metagit_mcp.domain.shares import Hold
from metagit_mcp.scheduling.cycle import Choice, Pick, census, choose
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import ANYONE, NOW, against, group, known, learn, lease, ledger, names, queue_of, task
from tests.unit.scheduling.claimed import Played, many, policy_of

W1, W2, GPU = Asker(agent_id="w1"), Asker(agent_id="w2"), Asker(capabilities=frozenset({"gpu"}))
HELD = SlotsHeld(at=NOW, graph_id="g", node_id="wide", slots=3)


def wide_world(running: int = 1, **policy: Any) -> Played:  # noqa: ANN401 - any key of the policy
    """Group g has a wide node of three slots and narrow ones, h narrow ones; some of its nodes run already."""
    wide = task("wide", priority=9, slots=3)
    played = Played(
        group("g", wide, task("a"), task("b")), many("h", 20, priority=-1), policy=policy_of(**{"slots": 3, **policy})
    )
    for number in range(running):
        played.start("h", f"n{19 - number}")
    return played


# --- a wide node -----------------------------------------------------------------------------------------------


def test_a_node_that_does_not_fit_is_held_and_its_group_set_aside() -> None:
    played = wide_world()
    choice = choose(played.queue, ANYONE)
    assert choice == Choice(
        pick=Pick(graph_id="h", node=task("n00", priority=-1), score=-675_000, is_turn=True), events=(HELD,)
    )
    assert choose(played.queue, ANYONE) == choice
    assert played.shares.hold is None


def test_after_so_many_other_starts_slots_are_kept_and_then_it_starts() -> None:
    played = wide_world()
    for number in range(3):
        assert played.shares.hold == (None if number == 0 else Hold(**held(starts=number)))
        assert played.claim() == f"h/n0{number}"
        played.end("h", f"n0{number}")
    assert played.shares.hold == Hold(**held(starts=3))
    assert (played.claim(), played.claim()) == (None, None)
    assert against(played.queue, "n03", graph_id="h") == ["reserved(for wide)"]
    assert dict(census(played.queue, ANYONE).not_eligible)["reserved"] == 2 + 16
    played.end("h", "n19")
    assert played.claim() == "g/wide"
    # Three slots are taken, and the hold is over.
    assert played.claim() is None
    assert played.shares.holds == []
    assert against(played.queue, "n03", graph_id="h") == ["no_slot(3/3)"]


def held(**fields: int) -> dict[str, Any]:
    return {"graph_id": "g", "node_id": "wide", "slots": 3, "at": NOW, **fields}


def test_slots_are_kept_only_from_what_would_take_them() -> None:
    """Another start needs k slots left free beside its own."""
    played = wide_world(2, slots=4)
    assert played.claims(2) == ["h/n00", "h/n01"]
    played.end("h", "n00")
    assert played.claim() == "h/n02"
    played.end("h", "n01")
    played.end("h", "n02")
    assert played.shares.hold == Hold(**held(starts=3))
    assert played.claim() is None
    played.end("h", "n18")
    # Three are free: all for the held node.
    assert played.claim(graph_id="h") is None
    played.end("h", "n19")
    assert (played.claim(graph_id="h"), played.claim()) == ("h/n03", "g/wide")


def test_with_no_slot_free_nothing_is_picked_or_held() -> None:
    played = wide_world(3)
    assert choose(played.queue, ANYONE) == Choice()
    assert against(played.queue, "a") == ["no_slot(3/3)"]


@pytest.mark.parametrize(("drain_limit", "starts"), [(0, 0), (1, 1), (5, 5)])
def test_exactly_so_many_other_starts_come_first(drain_limit: int, starts: int) -> None:
    played = wide_world(drain_limit=drain_limit)
    taken = 0
    while (got := played.claim()) is not None:
        assert got.startswith("h/")
        played.done(got)
        taken += 1
    assert (taken, played.shares.hold) == (starts, Hold(**held(starts=starts)))


def test_one_node_is_held_at_a_time() -> None:
    """Another one that does not fit waits without a hold of its own, and its Group gives nothing else."""
    played = Played(
        group("a", task("w", slots=3), task("x")), group("b", task("w", slots=2), task("x")), policy=policy_of(slots=3)
    )
    played.start("b", "x")
    played.start("a", "x")
    assert (played.claim(), played.shares.hold) == (None, Hold(graph_id="a", node_id="w", slots=3, at=NOW))
    assert played.claim() is None
    assert played.shares.hold == Hold(graph_id="a", node_id="w", slots=3, at=NOW)
    played.end("b", "x")
    # b's node would fit now; it is one of the other starts.
    assert (played.claim(), played.shares.hold) == ("b/w", Hold(graph_id="a", node_id="w", slots=3, at=NOW, starts=1))


def test_who_may_not_take_the_held_node_gets_nothing_of_its_group() -> None:
    wide = task("wide", priority=9, slots=3, capabilities=("gpu",))
    played = Played(group("g", wide, task("a")), many("h", 9, priority=-1), policy=policy_of(slots=3))
    played.start("h", "n08")
    assert played.claim(GPU) == "h/n00"
    assert (played.claim(ANYONE, "g"), against(played.queue, "a")) == (None, ["reserved(for wide)"])
    played.end("h", "n08")
    assert played.claim() == "h/n01"
    played.end_all()
    assert [played.claim(), played.claim(GPU)] == ["h/n02", None]
    played.end_all()
    assert [played.claim(), played.claim(GPU)] == [None, "g/wide"]


def test_the_held_node_starts_though_a_better_one_came_that_is_wider() -> None:
    played = wide_world(2, slots=4)
    assert (played.claim(), played.shares.hold) == ("h/n00", Hold(**held(starts=1)))
    nodes = task("wide", priority=9, slots=3), task("wider", priority=10, slots=4)
    played.with_graphs(group("g", *nodes), many("h", 20, priority=-1))
    for each in ("n00", "n18"):
        played.end("h", each)
    assert (against(played.queue, "wide"), against(played.queue, "wider")) == ([], ["no_slot(1/4)"])
    assert census(played.queue, ANYONE, "g").runnable == 1
    assert played.claim(graph_id="g") == "g/wide"


# --- one Group is asked for ----------------------------------------------------------------------------------------


def test_an_ask_for_one_group_holds_too_and_takes_no_turn() -> None:
    played = wide_world()
    assert choose(played.queue, ANYONE, "g") == Choice(events=(HELD,))
    expected = Pick(graph_id="h", node=task("n00", priority=-1), score=-675_000)
    assert choose(played.queue, ANYONE, "h") == Choice(pick=expected)
    assert played.claim(graph_id="g") is None
    assert played.claim(graph_id="h") == "h/n00"
    assert played.shares.hold == Hold(**held(starts=1))


def test_a_group_without_work_gives_nothing() -> None:
    queue = queue_of(group("g"), group("h", task("a")))
    assert (choose(queue, ANYONE, "g"), names(queue)) == (Choice(), ["a"])


# --- who owns or gave back something -------------------------------------------------------------------------------


def test_the_owner_resumes_at_the_place_of_its_group_without_taking_a_turn() -> None:
    played = Played(group("g", task("a"), task("b")), group("h", task("c"), task("d")), policy=policy_of(slots=9))
    assert played.claims(2, W1) == ["g/a", "h/c"]
    played.pause("g", "a")
    before = played.tags("normal")
    pick = played.take(W1)
    assert pick == Pick(graph_id="g", node=replace(task("a"), status="pending"), score=575_000 - 250_000 + 0)
    # Charged again, as a start that was no pick.
    assert (before, played.tags("normal")) == ({"g": 2, "h": 2}, {"g": 2, "h": 2})


def test_what_only_the_asker_may_take_is_found_in_a_group_that_gives_nothing_else() -> None:
    work = ledger(known("a", "queued", owner="w1"))
    played = Played(group("g", task("a", priority=9)), group("h", task("b")), work=work)
    assert [names(played.queue, asker) for asker in (W1, W2)] == [["a", "b"], ["b"]]
    assert played.take(W1) == Pick(graph_id="g", node=task("a", priority=9), score=9_325_000)
    assert played.pool().levels["normal"].flows["g"].charged


def test_what_the_asker_gave_back_comes_last_across_groups() -> None:
    work = ledger(known("a", released_by=("w1",)))
    played = Played(group("g", task("a", priority=9)), group("h", task("b")), work=work)
    assert [played.claim(W1), played.claim(W1)] == ["h/b", "g/a"]


# --- by score ------------------------------------------------------------------------------------------------------


def test_by_score_all_nodes_are_in_one_order_and_nothing_is_charged() -> None:
    graphs = many("a", 3, priority=1), group("b", task("m", priority=2), task("n"))
    played = Played(*graphs, policy=policy_of(ordering="score"))
    assert played.claims(5) == ["b/m", "a/n00", "a/n01", "a/n02", "b/n"]
    assert (played.shares.pools, played.shares.recent) == ({}, [])
    assert {name: each.dispatches for name, each in played.shares.rounds.items()} == {"a": 3, "b": 2}
    assert [lease.share for lease in played.work.leases.values()] == [None] * 5


def test_by_score_what_a_quota_keeps_out_lends_its_place_to_nobody() -> None:
    nodes = task("wide", priority=9, slots=2), task("small", priority=1)
    policy = policy_of(ordering="score", groups={"a": GroupPolicy(quota=2)})
    played = Played(group("a", *nodes, task("r")), group("b", task("n", priority=5)), policy=policy)
    played.start("a", "r")
    assert played.claims(3) == ["b/n", "a/small", None]


def test_by_score_a_wide_node_is_held_too() -> None:
    played = wide_world(ordering="score")
    assert choose(played.queue, ANYONE).events == (HELD,)
    assert [played.claim() for _ in range(2)] == ["h/n00", "h/n01"]
    played.end_all()
    assert played.claim() == "g/wide"


def test_back_to_shares_all_tags_start_equal() -> None:
    played = Played(many("a", 9), many("b", 9))
    assert played.served(4) == "abab"
    played.with_policy(policy_of(ordering="score"))
    assert (played.served(2), played.shares.pools) == ("bb", {}) or played.shares.pools == {}
    played.with_policy(policy_of())
    assert played.served(2) == "ab"
    assert played.tags("normal") == {"a": 2, "b": 2}


def test_a_state_that_is_learnt_elsewhere_counts_at_the_next_ask() -> None:
    played = Played(group("g", task("a")), policy=policy_of(slots=1))
    key = learn(played.work, lease("x", graph_id="x"))
    played.queue.follow(played.work, {key})
    assert choose(played.queue, ANYONE) == Choice()


def test_a_hold_of_a_group_that_is_gone_gives_nothing() -> None:
    """Whoever chooses before that is known finds nothing of it."""
    played = Played(group("h", task("a")), policy=policy_of(slots=2))
    played.happen(SlotsHeld(at=NOW, graph_id="gone", node_id="wide", slots=2))
    pick = choose(played.queue, ANYONE).pick
    assert pick is not None
    assert pick.node.node_id == "a"
