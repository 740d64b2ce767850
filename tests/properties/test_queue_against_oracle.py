"""The incremental queue, a queue built afresh and the oracle agree, whatever happened before (scheduling.md §4, I9).

The oracle judges; a difference is a fault of the core or a rule that is not written down.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.scheduling.cycle import Pick, WorkspaceQueue, census, holding_of, plan, reasons_against
from metagit_mcp.scheduling.explain import explain
from metagit_mcp.scheduling.snapshot import Asker, Snapshot
from tests import oracle
from tests.fairness import rich
from tests.oracle_needs import collide
from tests.properties.strategies import GRAPH_IDS, Workspace, askers, instants, successors, workspaces

EVERY = 100
# A deep search takes longer than any other test may.
pytestmark = pytest.mark.timeout(1_200)


def found(picks: tuple[Pick, ...]) -> list[oracle.Found]:
    return [oracle.Found(graph_id=pick.graph_id, node_id=pick.node.node_id, score=pick.score) for pick in picks]


def assert_as_oracle(queue: WorkspaceQueue, workspace: Workspace, asker: Asker) -> None:
    world = workspace.seen_by(asker)
    for graph_id in [None, *sorted(workspace.graphs)]:
        counted, expected = census(queue, asker, graph_id), oracle.count(world, graph_id)
        assert (counted.runnable, counted.ready) == (expected.runnable, expected.ready)
        assert dict(counted.not_eligible) == dict(expected.not_eligible)
        for limit in (1, 2, EVERY):
            made = plan(queue, asker, limit, graph_id)
            assert found(made.picks) == rich.plan(world, limit, graph_id)
            assert found(made.skipped) == oracle.held_back(world, limit, graph_id)
    for graph_id, node in oracle.every_node(world):
        told = explain(queue, asker, graph_id, node.node_id)
        assert [reason.kind for reason in told.against] == oracle.reasons(world, graph_id, node)


def assert_same(one: WorkspaceQueue, other: WorkspaceQueue, asker: Asker) -> None:
    assert census(one, asker) == census(other, asker)
    assert plan(one, asker, EVERY) == plan(other, asker, EVERY)
    assert sorted(one.groups) == sorted(other.groups)
    for graph_id in other.groups:
        assert one.holds(graph_id) == other.holds(graph_id)
        for node_id in other.groups[graph_id].rules.shape.by_id:
            assert explain(one, asker, graph_id, node_id) == explain(other, asker, graph_id, node_id)


@given(st.data())
def test_a_queue_built_afresh_is_as_the_oracle_says(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    queue = WorkspaceQueue(workspace.snapshot())
    for _ in range(2):
        assert_as_oracle(queue, workspace, data.draw(askers(workspace.policy)))


@given(st.data())
def test_any_sequence_of_changes_ends_where_a_fresh_build_does(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    snapshot: Snapshot | None = None
    queue = WorkspaceQueue(snapshot := workspace.snapshot(snapshot))
    for _ in range(data.draw(st.integers(1, 5))):
        for _ in range(data.draw(st.integers(0, 2))):
            plan(queue, data.draw(askers(workspace.policy)), data.draw(st.integers(1, 4)))
        workspace = data.draw(successors(workspace))
        queue.refresh(snapshot := workspace.snapshot(snapshot))
        assert_same(queue, WorkspaceQueue(snapshot), data.draw(askers(workspace.policy)))
    assert_as_oracle(queue, workspace, data.draw(askers(workspace.policy)))


@given(st.data())
def test_time_that_passes_or_goes_back_is_as_a_fresh_build_at_that_time(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    queue = WorkspaceQueue(snapshot := workspace.snapshot())
    asker = data.draw(askers(workspace.policy))
    for now in data.draw(st.lists(instants(), min_size=1, max_size=4)):
        plan(queue, asker, 1)
        snapshot = replace(snapshot, now=now)
        queue.go_on(now)
        assert_same(queue, WorkspaceQueue(snapshot), asker)
    assert_as_oracle(queue, replace(workspace, now=snapshot.now), asker)


@given(st.data())
def test_the_order_of_graphs_and_nodes_decides_nothing(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    asker = data.draw(askers(workspace.policy))
    mixed = {}
    for graph_id in data.draw(st.permutations(sorted(workspace.graphs))):
        loaded = workspace.graphs[graph_id]
        if loaded.graph is not None:
            nodes = tuple(data.draw(st.permutations(loaded.graph.nodes)))
            loaded = replace(loaded, graph=replace(loaded.graph, nodes=nodes))
        mixed[graph_id] = loaded
    one, other = WorkspaceQueue(workspace.snapshot()), WorkspaceQueue(replace(workspace, graphs=mixed).snapshot())
    assert_same(one, other, asker)


@given(st.data())
def test_a_shorter_plan_is_the_beginning_of_a_longer_one(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    queue, asker = WorkspaceQueue(workspace.snapshot()), data.draw(askers(workspace.policy))
    for graph_id in [None, *sorted(workspace.graphs)]:
        whole = plan(queue, asker, EVERY, graph_id)
        for limit in range(1, len(whole.picks) + 2):
            part = plan(queue, asker, limit, graph_id)
            assert part.picks == whole.picks[:limit]
            assert part.skipped == whole.skipped[:limit]


@given(st.data())
def test_no_plan_takes_running_above_slots_or_quota(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    queue, asker = WorkspaceQueue(workspace.snapshot()), data.draw(askers(workspace.policy))
    world = workspace.seen_by(asker)
    picks = plan(queue, asker, EVERY).picks
    assert len({(pick.graph_id, pick.node.node_id) for pick in picks}) == len(picks)
    if picks and workspace.policy.slots is not None:
        taken = sum(pick.node.slots or 1 for pick in picks)
        assert oracle.all_running(world) + taken <= workspace.policy.slots
    for graph_id in {pick.graph_id for pick in picks}:
        taken = sum(pick.node.slots or 1 for pick in picks if pick.graph_id == graph_id)
        limit = oracle.quota(world, graph_id)
        assert limit is None or oracle.running(world, graph_id) + taken <= limit


@given(st.data())
def test_no_plan_holds_two_that_collide_or_more_than_there_is(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    queue, asker = WorkspaceQueue(workspace.snapshot()), data.draw(askers(workspace.policy))
    holdings = [holding_of(queue, asker, pick.graph_id, pick.node) for pick in plan(queue, asker, EVERY).picks]
    held = [lease.holding for lease in workspace.work.leases.values()]
    for name, limit in workspace.policy.resources.items():
        used = sum(each.uses.get(name, 0) for each in holdings)
        assert not used or used + sum(each.uses.get(name, 0) for each in held) <= limit.capacity
    for place, one in enumerate(holdings):
        for other in (*holdings[:place], *held):
            assert not set(one.exclusive) & set(other.exclusive)
            assert one.repository != other.repository or not collide(one.touches, other.touches)


def unlimited(workspace: Workspace) -> Workspace:
    """The workspace without anything that one start takes from another: the plan of all is all that is eligible."""
    policy = workspace.policy
    agents = {pattern: replace(agent, slots=None) for pattern, agent in policy.agents.items()}
    policy = replace(policy, slots=None, groups={}, resources={}, agents=agents, agent_slots=99)
    graphs = {}
    for graph_id, loaded in workspace.graphs.items():
        graphs[graph_id] = loaded
        if loaded.graph is not None:
            nodes = tuple(replace(node, exclusive=None, touches=None) for node in loaded.graph.nodes)
            graphs[graph_id] = replace(loaded, graph=replace(loaded.graph, nodes=nodes))
    return replace(workspace, policy=policy, graphs=graphs)


@given(st.data())
def test_offered_explained_and_counted_are_the_same_nodes(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    free = unlimited(workspace)
    queue, asker = WorkspaceQueue(free.snapshot()), data.draw(askers(free.policy))
    nodes = list(oracle.every_node(free.seen_by(asker)))
    offered = {(pick.graph_id, pick.node.node_id) for pick in plan(queue, asker, EVERY).picks}
    eligible = {
        (graph_id, each.node_id) for graph_id, each in nodes if not reasons_against(queue, asker, graph_id, each)
    }
    explained = {
        (graph_id, each.node_id)
        for graph_id, each in nodes
        if not explain(queue, asker, graph_id, each.node_id).against
    }
    assert offered == eligible == explained
    counted = census(queue, asker)
    assert counted.runnable == len(offered)
    assert counted.runnable + sum(counted.not_eligible.values()) == len(nodes)
    parts = [census(queue, asker, graph_id) for graph_id in free.graphs]
    assert (sum(each.runnable for each in parts), sum(each.ready for each in parts)) == (
        counted.runnable,
        counted.ready,
    )
    assert counted.ready >= counted.runnable


@given(st.data())
def test_every_score_is_the_exact_one(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    queue, asker = WorkspaceQueue(workspace.snapshot()), data.draw(askers(workspace.policy))
    world = workspace.seen_by(asker)
    for graph_id, node in oracle.every_node(world):
        assert explain(queue, asker, graph_id, node.node_id).score == oracle.score(world, graph_id, node)


@given(st.data())
def test_more_askers_than_are_kept_change_no_answer(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    queue = WorkspaceQueue(workspace.snapshot())
    asker = data.draw(askers(workspace.policy))
    before = plan(queue, asker, EVERY), census(queue, asker)
    for number in range(70):
        plan(queue, Asker(agent_id="w1", capabilities=frozenset({f"c{number}"})), 1)
    assert (plan(queue, asker, EVERY), census(queue, asker)) == before
    assert set(workspace.graphs) <= set(GRAPH_IDS)
