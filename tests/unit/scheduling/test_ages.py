"""Who of one Group waits the longest, and the pass-over guard that takes it (scheduling.md §2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.domain.shares import Age, Round
from metagit_mcp.scheduling import ages as ages_module
from metagit_mcp.scheduling.ages import ADMITTED_AT_ONCE, Ages, is_guard_due
from metagit_mcp.scheduling.cycle import Pick, plan
from metagit_mcp.scheduling.explain import decision
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import ANYONE, HOUR, NOW, group, known, ledger, names, task
from tests.unit.scheduling.claimed import Played, many, policy_of

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import TaskNode
    from metagit_mcp.scheduling.lane import Entry

W1 = Asker(agent_id="w1")
MINUTE = timedelta(seconds=60)


def stream(count: int = 60, *others: TaskNode, **policy: Any) -> Played:  # noqa: ANN401 - any key of the policy
    """One Group with a node that is always passed over, and a stream of better ones that come one after another."""
    nodes = task("old"), *others, *chain(count)
    return Played(group("g", *nodes), policy=policy_of(**{"pass_over_limit": 4, **policy}))


def chain(count: int) -> list[TaskNode]:
    return [task(f"n{n:03}", *([f"n{n - 1:03}"] if n else []), priority=5) for n in range(count)]


def ids(played: Played, count: int, asker: Asker = ANYONE) -> list[str]:
    """Let one node after another be claimed and done."""
    found = []
    for _ in range(count):
        got = played.claim(asker)
        assert got is not None
        found.append(got.split("/")[1])
        played.done(got)
    return found


# --- the guard -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 4, 20])
def test_a_node_that_was_passed_over_so_often_is_the_very_next(limit: int) -> None:
    played = stream(pass_over_limit=limit)
    assert "old" not in ids(played, limit)
    pick = played.take()
    assert pick is not None
    assert pick == Pick(graph_id="g", node=task("old"), score=125_000 + 200_000 // 60, passed_over=limit, is_turn=True)
    assert played.shares.rounds["g"].guarded_at == limit + 1
    told = decision(played.queue, ANYONE, pick, "d1", at=NOW)
    assert [reason for reason in told.reasons if reason.startswith("passed")] == [f"passed_over={limit}"]


def test_without_a_limit_it_waits_for_ever() -> None:
    assert "old" not in ids(stream(59, pass_over_limit=0), 59)


def test_the_guard_picks_at_most_once_in_so_many_and_the_oldest_first() -> None:
    """Bound: with m older nodes one is dispatched within K + (m + 1)(K + 1) dispatches of its Group."""
    played = stream(60, task("older", priority=1), task("oldest", priority=2))
    taken = ids(played, 20)
    assert [taken.index(name) + 1 for name in ("oldest", "older", "old")] == [5, 10, 15]
    assert [name[0] for name in taken].count("o") == 3


def test_a_node_that_comes_later_is_passed_over_from_then_on() -> None:
    played = stream(60)
    assert ids(played, 3) == ["n000", "n001", "n002"]
    graph = played.queue.snapshot.graphs["g"].graph
    assert graph is not None
    played.with_graphs(group("g", *graph.nodes, task("late", priority=-9)))
    taken = ids(played, 12)
    # old at the 5th dispatch; late is passed over 4 times at the 8th, and the guard may pick again at the 10th.
    assert [taken.index(name) + 4 for name in ("old", "late")] == [5, 10]


def test_the_best_node_is_no_pick_of_the_guard_however_old() -> None:
    played = Played(many("g", 9), policy=policy_of(pass_over_limit=2))
    picks = [played.take() for _ in range(6)]
    assert [None if pick is None else (pick.node.node_id, pick.passed_over) for pick in picks] == [
        (f"n{number:02}", 0) for number in range(6)
    ]
    assert played.shares.rounds["g"].guarded_at is None


def test_only_what_the_asker_may_take_counts_and_nothing_that_it_gave_back() -> None:
    gated = task("gated", capabilities=("gpu",)), task("mine", repository="p/a")
    work = ledger(known("mine", released_by=("w1",)))
    played = Played(group("g", *gated, task("old"), *chain(60)), policy=policy_of(pass_over_limit=4), work=work)
    assert ids(played, 4, W1) == ["n000", "n001", "n002", "n003"]
    assert [names(played.queue, asker, 1) for asker in (W1, ANYONE, Asker(capabilities=frozenset({"gpu"})))] == [
        ["old"],
        ["mine"],
        ["gated"],
    ]


@pytest.mark.parametrize(
    ("dispatches", "guarded_at", "limit", "is_due"),
    [
        (4, None, 4, True),
        (3, None, 4, False),
        (9, 5, 4, True),
        (9, 6, 4, False),
        (9, None, 0, False),
        (0, None, 0, False),
    ],
)
def test_when_the_guard_may_pick(dispatches: int, guarded_at: int | None, limit: int, *, is_due: bool) -> None:
    assert is_guard_due(Round(dispatches=dispatches, guarded_at=guarded_at), limit) is is_due


# --- pausing and going on ------------------------------------------------------------------------------------------


def test_an_age_pauses_while_the_node_is_not_ready_and_goes_on() -> None:
    """Losing eligibility pauses it, never resets it."""
    played = stream(60)
    assert ids(played, 3) == ["n000", "n001", "n002"]
    played.with_graphs(group("g", task("old", approval="human_required"), *chain(60)))
    assert ids(played, 3) == ["n003", "n004", "n005"]
    assert played.shares.rounds["g"].ages["old"] == Age(number=1, first=0, at=NOW, since=None, passed=3)
    # A Group that is built anew finds it so.
    played.with_graphs(group("g", task("old", approval="human_required"), *chain(60), task("more", "n059")))
    assert told_of(played)[1:] == ((), [None] * 5)
    played.with_graphs(group("g", task("old"), *chain(60)))
    # The start tells that it is back; it was passed over three times and once more.
    assert ids(played, 1) == ["n006"]
    assert played.shares.rounds["g"].ages["old"] == Age(number=1, first=0, at=NOW, since=3)
    assert ids(played, 1) == ["old"]


def test_an_age_counts_from_the_first_start_that_passed_it_over() -> None:
    played = Played(group("g", task("a"), task("b", priority=1)), policy=policy_of())
    assert played.queue.groups["g"].ages.passed_over("a") == 0
    assert played.claim() == "g/b"
    ages = played.queue.groups["g"].ages
    assert [ages.passed_over(name) for name in ("a", "b")] == [1, 0]
    assert played.shares.rounds["g"] == Round(
        dispatches=1, numbered=2, ages={"a": Age(number=1, first=0, at=NOW, since=0)}
    )


def test_a_node_that_ran_and_came_back_is_new() -> None:
    played = stream(9)
    for number in range(3):
        played.wait(60)
        assert (played.claim(), played.shares.rounds["g"].numbered) == ("g/n000", 2 + number)
        played.give_back("g", "n000")
    assert played.claim(graph_id="g") == "g/n000"
    assert played.shares.rounds["g"].ages == {"old": Age(number=1, first=0, at=NOW + MINUTE, since=0)}


def test_resources_and_quotas_do_not_pause_an_age() -> None:
    played = stream(60, task("busy", exclusive=("deploy",), priority=-1), task("r", exclusive=("deploy",), priority=9))
    assert [played.claim(), *ids(played, 6)] == ["g/r", "n000", "n001", "n002", "old", "n003", "n004"]
    played.end("g", "r")
    assert played.queue.groups["g"].ages.passed_over("busy") == 7
    assert ids(played, 3) == ["n005", "n006", "busy"]


# --- many at once --------------------------------------------------------------------------------------------------


def test_a_start_makes_at_most_so_many_nodes_known_and_the_best_first() -> None:
    count = 2 * ADMITTED_AT_ONCE + 10
    played = Played(group("g", *(task(f"n{number:04}", priority=-number) for number in range(count))))
    assert played.claim() == "g/n0000"
    ages = dict(played.shares.rounds["g"].ages)
    assert list(ages) == [f"n{number:04}" for number in range(1, ADMITTED_AT_ONCE)]
    assert played.claim() == "g/n0001"
    assert [len(ages), max(age.first for age in played.shares.rounds["g"].ages.values())] == [ADMITTED_AT_ONCE - 1, 1]
    assert len(played.shares.rounds["g"].ages) == 2 * ADMITTED_AT_ONCE - 2
    assert (played.claim(), len(played.shares.rounds["g"].ages)) == ("g/n0002", count - 3)
    assert list(played.shares.rounds["g"].ages)[-1] == f"n{count - 1:04}"


def test_what_is_no_longer_ready_is_not_made_known() -> None:
    played = Played(group("g", *(task(f"n{number:03}", priority=-number) for number in range(5))))
    first = played.queue.groups["g"]
    assert first.ages.arrived(first.lanes.entries) == ("n000", "n001", "n002", "n003", "n004")
    played.start("g", "n003")
    played.start("g", "n002")
    assert list(played.shares.rounds["g"].ages) == ["n000", "n001", "n004"]
    played.give_back("g", "n003")
    assert first.ages.arrived(first.lanes.entries) == ("n003",)


# --- trying out ----------------------------------------------------------------------------------------------------


def told_of(played: Played) -> tuple[Any, ...]:
    ages = played.queue.groups["g"].ages
    return (
        ages.arrived(played.queue.groups["g"].lanes.entries),
        ages.left(),
        [ages.oldest(place, limit) for place in range(len(played.queue.groups["g"].lanes)) for limit in range(1, 6)],
    )


@pytest.mark.parametrize("starts", [0, 1, 3, 4, 5, 9])
def test_a_plan_leaves_all_ages_as_they_were(starts: int) -> None:
    more = [task(f"m{number:02}", priority=3) for number in range(12)]
    played = stream(20, task("gated", priority=7, not_before=NOW + HOUR), *more)
    ids(played, starts)
    before, known_before = told_of(played), played.work.branch()
    for limit in (2, 5, 20):
        plan(played.queue, ANYONE, limit)
        assert told_of(played) == before
    assert played.work == known_before
    again = Played(
        *played.queue.snapshot.graphs.values(), work=played.work.branch(), policy=played.queue.snapshot.policy
    )
    assert ids(played, 12) == ids(again, 12)
    assert played.shares == again.shares


def test_the_guard_finds_the_oldest_after_a_plan_that_took_it() -> None:
    """What is tried out takes the oldest node; when that is over it lies where it lay."""
    played = stream(4, task("older", priority=1))
    assert ids(played, 4) == ["n000", "n001", "n002", "n003"]
    later = [task(f"p{number:02}", priority=6) for number in range(20)]
    played.with_graphs(group("g", task("old"), task("older", priority=1), *chain(4), *later))
    expected = ["older", "p00", "p01", "p02", "p03", "old", "p04", "p05"]
    for _ in range(3):
        assert names(played.queue, limit=8) == expected
        assert names(played.queue, limit=1) == ["older"]
    assert ids(played, 8) == expected


def test_more_that_was_made_known_than_is_remembered_is_sorted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ages_module, "_ADMITTED_KEPT", 3)
    played = stream(20, *(task(f"m{number:02}", priority=3) for number in range(12)))
    assert ids(played, 1) == ["n000"]
    before = played.work.branch()
    first = names(played.queue, limit=9)
    assert (names(played.queue, limit=9), played.work) == (first, before)
    assert [played.claim() for _ in range(9)] == [f"g/{each}" for each in first]


@pytest.mark.parametrize("kept", [3, 99])
def test_what_a_plan_told_to_have_left_or_come_back_is_told_again(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    monkeypatch.setattr(ages_module, "_ADMITTED_KEPT", kept)
    names_of = [f"m{number}" for number in range(6)]
    played = stream(20, *(task(name, priority=3) for name in names_of))
    assert ids(played, 1) == ["n000"]
    gated = [task(name, approval="human_required") for name in names_of]
    free = [task(name, priority=3) for name in names_of]
    for others, left, back in ((gated, tuple(names_of), ()), (free, (), tuple(names_of))):
        played.with_graphs(group("g", task("old"), *others, *chain(20)))
        before = told_of(played)
        assert (before[0][: len(back)], before[1]) == (back, left)
        for _ in range(2):
            assert len(plan(played.queue, ANYONE, 5).picks) > 1
            assert told_of(played) == before
        assert len(ids(played, 1)) == 1
        assert told_of(played)[1] == ()


def test_a_node_that_got_its_age_elsewhere_is_sorted_in() -> None:
    """Two lanes: only the one in which the node lies now gives it."""
    places = {"a": 0, "b": 1}
    known_ages = {"a": Age(number=0, first=0, at=NOW, since=0), "gone": Age(number=1, first=0, at=NOW, since=0)}
    ages = Ages(places, Round(dispatches=3, numbered=2, ages=known_ages), lambda _: "")
    assert (ages.oldest(0, 3), ages.oldest(1, 3), ages.oldest(0, 4), ages.left()) == ((0, "a"), None, None, ("gone",))
    entry: Entry = (0, 0, "a")
    del places["a"]
    ages.went("a")
    assert ages.left() == ("a", "gone")
    places["a"] = 1
    ages.came(entry, 1)
    assert (ages.oldest(0, 3), ages.oldest(1, 3), ages.left()) == (None, (0, "a"), ("gone",))
    ages.came(entry, 1)
    assert ages.oldest(1, 3) == (0, "a")
    ages.follow(ages.round)
    more = {**known_ages, "b": Age(number=2, first=3, at=NOW, since=3), "late": Age(number=3, first=3, at=NOW, since=3)}
    ages.follow(Round(dispatches=4, numbered=4, ages=more))
    assert (ages.oldest(1, 1), ages.left(), ages.passed_over("b")) == ((0, "a"), ("gone", "late"), 1)
    ages.follow(Round(dispatches=4, numbered=4, ages={"b": more["b"]}))
    assert (ages.oldest(1, 1), ages.left()) == ((2, "b"), ())


def test_a_group_that_is_weighed_anew_keeps_the_ages_of_its_nodes() -> None:
    played = stream(30)
    ids(played, 3)
    before = played.shares.rounds["g"].ages["old"]
    policy = played.queue.snapshot.policy
    played.with_policy(replace(policy, weights=replace(policy.weights, cost=3.0)))
    assert ids(played, 2)[1] == "old"
    assert before == Age(number=1, first=0, at=NOW, since=0)


def test_a_node_starts_within_the_guards_bound_whatever_arrives_after_it() -> None:
    limit, older = 3, 4
    nodes = [task(f"a{number}", updated_at="2026-11-29T10:00:00Z") for number in range(older + 1)]
    played = Played(group("g", *nodes), policy=policy_of(pass_over_limit=limit))
    assert played.claim() == "g/a0"
    nodes.append(task("old", priority=-1, updated_at="2026-11-29T10:00:01Z"))
    played.with_graphs(group("g", *nodes))
    assert played.claim() == "g/a1"
    starts = []
    for step in range(limit + (older + 1) * (limit + 1)):
        # More nodes than a start makes known, each time, and all of them better.
        at = f"2026-11-29T11:00:{step:02}Z"
        nodes += [task(f"b{step:02}x{number:03}", updated_at=at) for number in range(300)]
        played.with_graphs(group("g", *nodes))
        starts.append(played.claim())
    assert starts.count("g/old") == 1, starts
