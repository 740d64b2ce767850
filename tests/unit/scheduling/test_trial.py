"""A plan of k is what k claims in a row get, and leaves everything as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.policy import Weights
from metagit_mcp.domain.share_events import SlotsHeld
from metagit_mcp.scheduling.cycle import WorkspaceQueue, census, plan, reasons_against
from metagit_mcp.scheduling.explain import decision
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.trial import Trial
from tests.snapshots import ANYONE, NOW, around, group, names, task
from tests.unit.scheduling.claimed import Played, many, policy_of
from tests.unit.scheduling.worlds import ASKERS, worlds

if TYPE_CHECKING:
    from metagit_mcp.domain.shares import LevelChange

EVERY = 30


def like(asker: Asker, number: int) -> Asker:
    """Another agent that sees what the asker sees."""
    return Asker(agent_id=f"{asker.agent_id} {number}", capabilities=asker.capabilities)


def afresh(played: Played) -> Played:
    """A queue that knows only where the events led."""
    before = played.queue.snapshot
    return Played(*before.graphs.values(), policy=before.policy, work=played.work.branch(), now=played.queue.now)


def known_of(queue: WorkspaceQueue, asker: Asker) -> tuple[Any, ...]:
    """All that is answered to an asker."""
    rows = [(name, node) for name, each in sorted(queue.groups.items()) for node in each.rules.shape.by_id.values()]
    asked = (None, *sorted(queue.groups))
    return (
        [plan(queue, asker, 1, graph_id) for graph_id in asked],
        [census(queue, asker, graph_id) for graph_id in asked],
        [reasons_against(queue, asker, name, node) for name, node in rows],
        _changes(queue, asker),
        [
            (
                each.ages.arrived(each.lanes.entries),
                each.ages.left(),
                {name: each.ages.passed_over(name) for name in each.lanes.place_of},
            )
            for _, each in sorted(queue.groups.items())
        ],
    )


def _changes(queue: WorkspaceQueue, asker: Asker) -> list[tuple[LevelChange, ...]]:
    """What the next pick of each Group would tell."""
    if queue.snapshot.policy.ordering != "fair":
        return []
    order = queue.order(asker)
    eligible = [name for name in sorted(queue.groups) if order.is_eligible(name)]
    return [order.change(name, 1, queue.capability_sets).levels for name in eligible]


@given(st.data())
def test_a_plan_of_k_is_what_k_claims_in_a_row_get(data: st.DataObject) -> None:
    played = data.draw(worlds())
    # An agent of no name, so that all of those that are like it see the same.
    asker = data.draw(st.sampled_from([each for each in ASKERS if not each.agent_id]))
    graph_id = data.draw(st.sampled_from((None, None, *sorted(played.queue.groups))))
    limit = data.draw(st.integers(1, 9))
    planned = plan(played.queue, asker, limit, graph_id).picks
    taken = [played.take(like(asker, number), graph_id) for number in range(limit)]
    assert list(planned) == [each for each in taken if each is not None]


@given(st.data())
def test_after_a_plan_everything_is_as_before(data: st.DataObject) -> None:
    played = data.draw(worlds())
    asker = data.draw(st.sampled_from(ASKERS))
    fresh, state, before = afresh(played), played.work.branch(), known_of(played.queue, asker)
    for _ in range(data.draw(st.integers(1, 3))):
        plan(played.queue, data.draw(st.sampled_from(ASKERS)), data.draw(st.integers(2, EVERY)))
    assert known_of(played.queue, asker) == before
    assert (played.work, played.queue.snapshot.work is played.work) == (state, True)
    assert known_of(fresh.queue, asker) == before


@given(st.data())
def test_a_queue_that_followed_is_as_one_built_afresh(data: st.DataObject) -> None:
    played = data.draw(worlds(20))
    asker = data.draw(st.sampled_from(ASKERS))
    fresh = afresh(played)
    assert known_of(played.queue, asker) == known_of(fresh.queue, asker)
    assert plan(played.queue, asker, EVERY) == plan(fresh.queue, asker, EVERY)


def test_what_was_said_of_picks_is_kept_over_a_trial() -> None:
    played = Played(many("g", 3))
    pick = plan(played.queue, ANYONE, 1).picks[0]
    first = decision(played.queue, ANYONE, pick, "d1", at=NOW)
    told = played.queue.moment(ANYONE).told
    assert len(told) == 1
    assert len(plan(played.queue, ANYONE, 3).picks) == 3
    assert (played.queue.moment(ANYONE).told, decision(played.queue, ANYONE, pick, "d1", at=NOW)) == (told, first)


def test_a_plan_starts_what_was_held_once_its_slots_are_free() -> None:
    """The hold is filled first, which is news; each start has a lease of its own."""
    wide, small = task("wide", slots=2, priority=9), [task(f"n{number}", priority=-1) for number in range(3)]
    played = Played(group("g", wide), group("h", *small), policy=policy_of(slots=4))
    played.happen(SlotsHeld(at=NOW, graph_id="g", node_id="wide", slots=2))
    assert names(played.queue) == ["wide", "n0", "n1"]
    assert [played.claim(), played.claim(), played.claim()] == ["g/wide", "h/n0", "h/n1"]


def test_a_trial_in_which_nothing_is_tried_changes_nothing() -> None:
    played = Played(many("g", 2), policy=policy_of(ordering="score"))
    before = known_of(played.queue, ANYONE)
    with Trial(played.queue, ANYONE, 1) as trial:
        trial.happen([])
    assert known_of(played.queue, ANYONE) == before


def test_a_trial_in_which_a_repository_is_served_out_brings_the_order_back() -> None:
    """Where services count, the terms of repositories change on the way there and back."""
    nodes = task("a", repository="p/a"), task("b", repository="p/b"), task("c", repository="p/b")
    played = Played(
        group("g", *nodes),
        group("h", task("d", repository="p/a"), task("e", repository="p/b")),
        policy=policy_of(weights=Weights(priority=0.0, cost=0.0, fairness=1.0)),
        surroundings=around(services={"p/b": 1}),
    )
    for _ in range(3):
        before = known_of(played.queue, ANYONE)
        assert names(played.queue, limit=5) == names(played.queue, limit=5)
        assert known_of(played.queue, ANYONE) == before
        played.claim()
