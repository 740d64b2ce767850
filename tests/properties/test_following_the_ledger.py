"""A queue that followed the ledger, one built afresh and the oracle agree, whatever happened in between.

The state changes in place, as the fold changes it; the queue is told which nodes it was about and nothing else.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.scheduling.cycle import WorkspaceQueue, census, plan
from tests.properties.strategies import REPOSITORIES, askers, instants, workspaces
from tests.properties.test_queue_against_oracle import assert_as_oracle, assert_same
from tests.properties.work_strategies import events

# A deep search takes longer than any other test may.
pytestmark = pytest.mark.timeout(1_200)


@given(st.data())
def test_any_sequence_of_events_ends_where_a_fresh_build_does(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    queue = WorkspaceQueue(snapshot := workspace.snapshot())
    asked = [data.draw(askers(workspace.policy)) for _ in range(2)]
    for _ in range(data.draw(st.integers(1, 6))):
        for asker in asked:
            plan(queue, asker, data.draw(st.integers(1, 4)))
            census(queue, asker)
        if data.draw(st.sampled_from((True, False, False, False))):
            workspace = replace(workspace, now=data.draw(instants()))
            queue.go_on(workspace.now)
        touched = data.draw(events(workspace.work, workspace.graphs, REPOSITORIES))
        queue.follow(workspace.work, touched)
        fresh = WorkspaceQueue(replace(snapshot, now=workspace.now))
        for asker in asked:
            assert_same(queue, fresh, asker)
        assert_as_oracle(queue, workspace, data.draw(askers(workspace.policy)))


@given(st.data())
def test_a_branch_is_followed_and_left_again(data: st.DataObject) -> None:
    """Advice works on a branch in which something lapsed that the ledger does not know yet."""
    workspace = data.draw(workspaces())
    queue = WorkspaceQueue(snapshot := workspace.snapshot())
    asker = data.draw(askers(workspace.policy))
    plan(queue, asker, 1)
    branch = workspace.work.branch()
    touched = data.draw(events(branch, workspace.graphs, REPOSITORIES))
    queue.follow(branch, touched)
    assert_same(queue, WorkspaceQueue(replace(snapshot, work=branch)), asker)
    queue.follow(workspace.work, touched)
    assert_same(queue, WorkspaceQueue(snapshot), asker)


@given(st.data())
def test_another_state_is_compared_node_by_node(data: st.DataObject) -> None:
    workspace = data.draw(workspaces())
    queue = WorkspaceQueue(snapshot := workspace.snapshot())
    asker = data.draw(askers(workspace.policy))
    plan(queue, asker, 1)
    other = workspace.work.branch()
    data.draw(events(other, workspace.graphs, REPOSITORIES))
    queue.refresh(snapshot := replace(snapshot, work=other))
    assert_same(queue, WorkspaceQueue(snapshot), asker)
    assert_as_oracle(queue, replace(workspace, work=other), asker)
