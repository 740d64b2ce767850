"""What else holds at any moment: a plan is what as many claims get, no order of input counts, replay leads here.

It must not change the run that it looks at.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from metagit_mcp.domain.events import WorkStarted
from metagit_mcp.domain.evolve import evolve
from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.replay import fold
from metagit_mcp.domain.work import ExecutionLease
from metagit_mcp.scheduling.cycle import Pick, WorkspaceQueue, choose, dispatch_of, holding_of, plan, unsettled
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.wire.ledger_codec import STATE_VERSION, event_record, read_event, read_state, state_record
from tests.fairness.asks import satisfied
from tests.fairness.play import FAR

if TYPE_CHECKING:
    from random import Random

    from metagit_mcp.domain.state import LedgerState
    from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
    from tests.fairness.asks import Who
    from tests.fairness.play import Play


def copied(state: LedgerState) -> LedgerState:
    """The state as a snapshot of the ledger gives it back."""
    found = read_state(STATE_VERSION, state_record(state))
    assert found is not None
    return found


def claims(play: Play, asker: Asker, count: int) -> list[Pick]:
    """What so many agents like the asker get who claim in a row, on a copy of the state and a queue built for it."""
    state = copied(play.state)
    queue = WorkspaceQueue(replace(play.snapshot(), work=state))
    picks: list[Pick] = []
    for number in range(count):
        for event in unsettled(queue, Instant(wall=play.now)):
            key = evolve(state, event)
            queue.follow(state, () if key is None else (key,))
        choice = choose(queue, asker)
        for each in choice.events:
            key = evolve(state, each)
            queue.follow(state, () if key is None else (key,))
        if choice.pick is None:
            break
        picks.append(choice.pick)
        dispatch = dispatch_of(queue, asker, choice.pick.graph_id, choice.pick.node, choice.pick)
        lease = ExecutionLease(
            lease_id=f"claim {number}",
            graph_id=choice.pick.graph_id,
            node_id=choice.pick.node.node_id,
            agent_id=f"one like {asker.agent_id} {number}",
            session_epoch=1,
            ownership_epoch=1,
            granted_at=play.now,
            expiry=FAR,
            term_seconds=900,
            holding=holding_of(queue, asker, choice.pick.graph_id, choice.pick.node),
            share=dispatch.share,
        )
        key = evolve(state, WorkStarted(at=play.now, lease=lease, dispatch=dispatch))
        queue.follow(state, () if key is None else (key,))
    return picks


def plan_is_claims(play: Play, who: Who, count: int) -> None:
    """`limit = k` is what k claims in a row would get; asked twice it says the same, and nothing is changed."""
    asker = Asker(agent_id=who.agent, capabilities=who.can)
    before = state_record(play.state)
    made = plan(play.queue, asker, count)
    assert list(made.picks) == claims(play, asker, count)
    assert plan(play.queue, asker, count) == made
    assert state_record(play.state) == before


def any_order(play: Play, who: Who, random: Random) -> None:
    """I8. A queue built afresh, of graphs and nodes in any order, gives the same as the one that followed."""
    asker = Asker(agent_id=who.agent, capabilities=who.can)
    names = list(play.graphs)
    random.shuffle(names)
    mixed = {name: _mixed(play.graphs[name], random) for name in names}
    other = WorkspaceQueue(replace(play.snapshot(), graphs=mixed))
    one, two = choose(play.queue, asker), choose(other, asker)
    assert one == two
    if one.pick is not None:
        nodes = (asker, one.pick.graph_id, one.pick.node, one.pick)
        assert dispatch_of(play.queue, *nodes) == dispatch_of(other, *nodes)


def _mixed(loaded: LoadedGraph, random: Random) -> LoadedGraph:
    assert loaded.graph is not None
    nodes = list(loaded.graph.nodes)
    random.shuffle(nodes)
    return replace(loaded, graph=replace(loaded.graph, nodes=tuple(nodes)))


def replayed(play: Play, snapshot: bytes, since: int) -> None:
    """I8. The snapshot and all that happened since, as it is written, lead to the state that is live."""
    state = read_state(STATE_VERSION, snapshot)
    assert state is not None
    reached = fold((read_event(*event_record(event)) for event in play.log[since:]), state)
    assert state_record(reached) == state_record(play.state)


def enters_no_tag(play: Play, who: Who, random: Random) -> None:
    """I7. Priority, deadline and urgency of a Group enter no tag: a start does the same to tags, whoever is picked."""
    if play.policy.ordering != "fair" or not play.graphs:
        return
    asker = Asker(agent_id=who.agent, capabilities=who.can)
    name = random.choice(sorted(play.graphs))
    graph = play.graphs[name].graph
    assert graph is not None
    other = {**play.graphs, name: replace(play.graphs[name], graph=_pressed(play, graph, random))}
    one, two = play.queue, WorkspaceQueue(replace(play.snapshot(), graphs=other))
    own, changed = one.order(asker), two.order(asker)
    eligible = [each for each in sorted(play.graphs) if own.is_eligible(each)]
    # What only lacks quota is the best node, and which one is best is for the Group to say.
    if eligible != [each for each in sorted(play.graphs) if changed.is_eligible(each)]:
        assert play.policy.groups[name].quota is not None
        return
    for each in eligible:
        sets = satisfied(play.world.named, who.can)
        assert own.change(each, 7, sets) == changed.change(each, 7, sets)


def _pressed(play: Play, graph: TaskGraph, random: Random) -> TaskGraph:
    def pressed(node: TaskNode) -> TaskNode:
        return replace(
            node,
            priority=random.choice((-1_000_000, 0, 1_000_000)),
            deadline=random.choice((None, play.now - timedelta(days=9))),
            requested_urgency=random.choice((None, "routine", "critical")),
        )

    return replace(graph, nodes=tuple(pressed(node) for node in graph.nodes))
