"""What a change of policy touches, and that a queue looks at nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from metagit_mcp.domain.limits import GatePolicy, LeasePolicy, RetryPolicy
from metagit_mcp.domain.policy import ClassWeights, GroupPolicy, SchedulePolicy, WeightOverride, Weights
from metagit_mcp.scheduling.cycle import WorkspaceQueue, census, plan
from metagit_mcp.scheduling.policy_change import PolicyChange, policy_change
from tests.snapshots import ANYONE, around, group, names, snapshot_of, task

BEFORE = SchedulePolicy(groups={"g": GroupPolicy(weight=2), "x": GroupPolicy(quota=1)})
ALL = frozenset({"g", "h"})


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ({}, PolicyChange()),
        ({"agent_slots": 9, "queue_capacity": 9, "retries": RetryPolicy(max_attempts=9)}, PolicyChange()),
        ({"leases": LeasePolicy(seconds=9)}, PolicyChange()),
        ({"leases": LeasePolicy(observed_seconds=9)}, PolicyChange(is_whole=True, judged=ALL)),
        ({"gates": GatePolicy(approval_required_for=())}, PolicyChange(is_whole=True, judged=ALL)),
        ({"deadline_horizon_seconds": 9}, PolicyChange(is_whole=True, judged=ALL)),
        ({"slots": 9}, PolicyChange(is_whole=True)),
        ({"classes": ClassWeights(low=2)}, PolicyChange()),
        ({"weights": Weights(cost=9)}, PolicyChange(weighed=ALL)),
        ({"graph_overrides": {"h": WeightOverride(cost=9.0)}}, PolicyChange(weighed=frozenset({"h"}))),
        ({"groups": {}}, PolicyChange(shared=frozenset({"g"}))),
        ({"groups": {"g": GroupPolicy(weight=2), "h": GroupPolicy(quota=1)}}, PolicyChange(shared=frozenset({"h"}))),
        (
            {"groups": {"g": GroupPolicy(weight=2, budget={"tokens": 1}), "x": GroupPolicy(quota=1)}},
            PolicyChange(judged=frozenset({"g"}), shared=frozenset({"g"})),
        ),
    ],
)
def test_what_another_policy_changes(fields: dict[str, Any], change: PolicyChange) -> None:
    assert policy_change(BEFORE, replace(BEFORE, **fields), ["g", "h"]) == change


def test_the_same_policy_changes_nothing() -> None:
    assert policy_change(BEFORE, BEFORE, ["g"]) == PolicyChange()


def test_a_group_that_goes_with_the_policy_that_named_it_is_forgotten() -> None:
    before = snapshot_of(group("g", task("a")), group("h", task("b")), policy=BEFORE)
    queue = WorkspaceQueue(before)
    assert names(queue) == ["a", "b"]
    queue.refresh(replace(before, policy=SchedulePolicy(), graphs={"h": before.graphs["h"]}))
    assert (names(queue), census(queue, ANYONE).runnable) == (["b"], 1)


def test_merge_pressure_that_comes_and_goes_is_felt_at_once() -> None:
    policy = SchedulePolicy(skip_on_merge_pressure=True, merge_queue_threshold=1)
    before = snapshot_of(group("g", task("a", repository="p/a"), task("b")), policy=policy)
    queue = WorkspaceQueue(before)
    for merges, picked, skipped in (({}, ["a", "b"], []), ({"p/a": 1}, ["b"], ["a"]), ({}, ["a", "b"], [])):
        queue.refresh(replace(before, surroundings=around(merges=merges)))
        found = plan(queue, ANYONE, 9)
        assert [pick.node.node_id for pick in found.picks] == picked
        assert [pick.node.node_id for pick in found.skipped] == skipped
