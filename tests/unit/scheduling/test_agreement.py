"""What is offered, what is counted and what is said against each node agree, in any small world."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.share_events import SlotsHeld
from metagit_mcp.scheduling.cycle import census, choose, plan, reasons_against
from tests.unit.scheduling.worlds import ASKERS, worlds

if TYPE_CHECKING:
    from metagit_mcp.scheduling.snapshot import Asker
    from metagit_mcp.scheduling.tally import Census
    from tests.unit.scheduling.claimed import Played


def first_kinds(played: Played, asker: Asker, graph_id: str) -> Counter[str]:
    """How often each kind of reason comes first; an empty one for none."""
    nodes = played.queue.groups[graph_id].rules.shape.by_id.values()
    found = Counter[str]()
    for node in nodes:
        reasons = reasons_against(played.queue, asker, graph_id, node)
        found[reasons[0].kind if reasons else ""] += 1
    return found


def counts(census_of: Census) -> Counter[str]:
    """The same, as it is counted."""
    found = Counter({"": census_of.runnable})
    found.update({str(kind): nodes for kind, nodes in census_of.not_eligible.items()})
    return +found


@given(st.data())
def test_nothing_can_be_started_exactly_when_nothing_is_offered(data: st.DataObject) -> None:
    played = data.draw(worlds(20))
    for asker in ASKERS:
        for graph_id in (None, *played.queue.groups):
            offered = plan(played.queue, asker, 1, graph_id).picks
            if census(played.queue, asker, graph_id).runnable and not offered:
                # What may start is counted as it is now; where no other start comes first, the ask itself keeps slots.
                played.settle()
                assert played.queue.snapshot.policy.drain_limit == 0
                assert isinstance(choose(played.queue, asker, graph_id).events[0], SlotsHeld)
            else:
                assert (census(played.queue, asker, graph_id).runnable == 0) is (not offered)
            for pick in offered:
                assert reasons_against(played.queue, asker, pick.graph_id, pick.node) == ()


@given(st.data())
def test_every_node_is_counted_once_under_its_first_reason(data: st.DataObject) -> None:
    """What is not offered has a reason, or comes later."""
    played = data.draw(worlds(20))
    asker = data.draw(st.sampled_from(ASKERS))
    total = Counter[str]()
    for graph_id in played.queue.groups:
        found, counted = first_kinds(played, asker, graph_id), census(played.queue, asker, graph_id)
        assert counts(counted) == found
        total += found
    counted = census(played.queue, asker)
    assert counts(counted) == total


@given(st.data())
def test_every_pick_of_a_plan_may_be_started_when_its_turn_comes(data: st.DataObject) -> None:
    played = data.draw(worlds(20))
    asker = data.draw(st.sampled_from(ASKERS))
    for pick in plan(played.queue, asker, 9).picks:
        played.settle()
        assert reasons_against(played.queue, asker, pick.graph_id, pick.node) == ()
        assert played.take(asker) is not None
