"""Agents of two processes work on Groups that are fed by Events while authorities of their own run these Groups.

Deliveries lag, come twice and out of order; Commands are lost, repeated and refused. Whatever happens, no lease lives
on against what the log told, and once all was carried and delivered, workspace and Groups agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metagit_mcp.domain.feeding import as_told
from metagit_mcp.domain.invariants import violations
from metagit_mcp.domain.replay import first_difference, fold
from tests.groups import commands
from tests.groups.answering import TOLD_ONLY, state_of
from tests.properties.fed_world import ACTS, AGENTS, GROUPS, Step, World, contradicts, tried, world
from tests.properties.test_group_streams import group_said, in_our_words
from tests.scenarios.folding import events_in

if TYPE_CHECKING:
    from metagit_mcp.domain.feeds import Proposal
    from metagit_mcp.domain.work import ExecutionLease, WorkItem

ACCEPT = "work.accept_offer"
# The state here and there of work that an agent of this workspace owns.
AGREES = ("queued", "active", "blocked", "submitted")
NUMBERS = st.integers(0, 59)
STEPS: st.SearchStrategy[Step] = st.tuples(st.sampled_from(ACTS), NUMBERS, NUMBERS, NUMBERS)


# --- what always holds -----------------------------------------------------------------------------------------------


def check(made: World) -> None:
    one, other = (state_of(desk) for desk in made.desks)
    assert first_difference(one, other) is None
    assert violations(one) == []
    for group_id in GROUPS:
        told = made.told(one, group_id)
        assert group_said(one, group_id) == in_our_words(told)
        leases = [each for each in one.leases.values() if each.graph_id == group_id]
        asked = [each for each in one.feeds[group_id].outbox.values() if each.command not in TOLD_ONLY]
        acts: list[ExecutionLease | Proposal] = [*leases, *asked]
        assert [each for each in acts if contradicts(told["items"][each.node_id], each)] == []
        known = [each for each in asked if told["items"][each.node_id]["owner"] == each.agent_id]
        assert [each for each in asked if each not in known and not is_accepted_before(each, asked)] == []


def is_accepted_before(asked: Proposal, all_asked: list[Proposal]) -> bool:
    """Whether the Group is asked for an ownership before it hears what an agent did under it."""
    own = (asked.node_id, asked.agent_id, asked.ownership_epoch)
    until = all_asked[: all_asked.index(asked) + 1]
    accepted = [(each.node_id, each.agent_id, each.ownership_epoch) for each in until if each.command == ACCEPT]
    return own in accepted


# --- what holds in the end -------------------------------------------------------------------------------------------


def check_agreement(made: World) -> None:
    state = made.state
    for group_id, way in made.ways.items():
        assert way.outbox(made.desks[0]) == []
        assert group_said(state, group_id) == in_our_words(way.group.state())
        assert [item for item in state.items[group_id].values() if not agrees(item)] == []


def agrees(item: WorkItem) -> bool:
    """Whether an item is what its log says: its owner's here as there, or as the log alone has it."""
    fed = item.fed
    assert fed is not None
    if item.owner is not None:
        here = (item.state, item.owner, item.ownership_epoch)
        return item.state in AGREES and here == (fed.state, fed.owner, fed.ownership_epoch)
    told = as_told(item, fed)
    return (item.state, item.lease_id, item.until) == (told.state, None, None)


def check_starts(made: World) -> None:
    """Whoever may start work, as its log says, can; nobody else."""
    made.desks[0].put("schedule/policy.json", {"agent_slots": 99})
    for group_id in GROUPS:
        for name in made.told(made.state, group_id)["items"]:
            for agent in AGENTS:
                check_start(made, group_id, name, agent)


def check_start(made: World, group_id: str, name: str, agent: str) -> None:
    state = made.state
    is_running = state.items[group_id][name].lease_id is not None
    is_spent = 0 in (made.told(state, group_id)["items"][name]["left"] or {}).values()
    may = made.rights_to(agent, state, group_id, name)[1] and (is_running or not is_spent)
    started = tried("start at the end", lambda: made.desks[1].start(name, agent, graph_id=group_id))
    assert (started is not None) == may, (group_id, name, agent)


def check_archived(made: World) -> None:
    """A Group that is over leaves no lease and gives no work."""
    way = made.ways[GROUPS[0]]
    commands.archive(way.group)
    way.deliver(made.desks[0])
    assert [each for each in made.state.leases.values() if each.graph_id == way.group_id] == []
    assert way.asked(made.desks[0]) == []
    for agent in AGENTS:
        assert made.desks[1].taken(agent, graph_id=way.group_id) == []


def check_files(made: World) -> None:
    made.desks[0].flush()
    assert sorted(path.name for path in made.desks[0].path("tasks/graphs").glob("*.json")) == ["shop.json"]
    assert sorted(made.desks[0].statuses("shop")) == ["api", "docs", "ui"]


def check_replay(made: World) -> None:
    """What a process that begins now knows, and what all events lead to from nothing, is what is so."""
    assert first_difference(fold(events_in(made.desks[0].path("schedule/ledger.db"))), made.state) is None
    made.desks.append(made.desks[0].beside(ids="three"))
    assert first_difference(state_of(made.desks[2]), made.state) is None


def play(seed: int, steps: list[Step]) -> None:
    with world(seed) as made:
        for step in steps:
            made.do(step)
            check(made)
        made.settle()
        check(made)
        check_agreement(made)
        check_starts(made)
        check(made)
        check_archived(made)
        check(made)
        check_files(made)
        check_replay(made)


_IS_DEEP = settings().max_examples > 1_000
pytestmark = pytest.mark.timeout(7_200 if _IS_DEEP else 120)


@settings(max_examples=400 if _IS_DEEP else 25)
@given(seed=st.integers(0, 50), steps=st.lists(STEPS, min_size=80 if _IS_DEEP else 40, max_size=160))
def test_work_of_groups_agrees_with_their_logs(seed: int, steps: list[Step]) -> None:
    play(seed, steps)
