"""What of each reason may be told inside its node's Group: nobody of another Group, and no figure but the policy's."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from metagit_mcp.domain.limits import ResourcePolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.work import ResourceClosure
from metagit_mcp.scheduling.cycle import WorkspaceQueue, reasons_against
from metagit_mcp.scheduling.eligibility import Reason, within_group
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import ANYONE, NOW, group, lease, ledger, queue_of, queue_over, task
from tests.unit.scheduling.claimed import Played, policy_of

W1 = Asker(agent_id="w1")
BOTH: dict[str, Any] = {"exclusive": ("lock",), "touches": ("src/*", "docs/*")}


def bare(queue: WorkspaceQueue, node_id: str, asker: Asker = ANYONE, graph_id: str = "g") -> list[str]:
    node = queue.groups[graph_id].rules.shape.by_id[node_id]
    return [each.text for each in within_group(reasons_against(queue, asker, graph_id, node))]


def test_a_holder_is_named_inside_its_own_group() -> None:
    graphs = (group("g", task("a", **BOTH), task("own", **BOTH)), group("h", task("x", **BOTH), task("y", **BOTH)))
    inside = queue_of(*graphs, work=ledger(lease("own", **BOTH)))
    assert bare(inside, "a") == ["exclusive(lock, held by own)", "conflicts_with(own, docs/)"]
    outside = (lease(name, graph_id="h", **BOTH) for name in ("x", "y"))
    # However many there are.
    assert bare(queue_of(*graphs, work=ledger(*outside)), "a") == ["exclusive(lock)", "conflicts_with"]


def test_no_figure_but_the_policys_is_told() -> None:
    closed = ResourceClosure(resource="mail", until=NOW + timedelta(hours=1), by="w9", at=NOW)
    policy = SchedulePolicy(
        slots=3, agent_slots=1, resources={"api": ResourcePolicy(capacity=2)}, groups={"g": GroupPolicy(quota=0)}
    )
    work = ledger(lease("r", graph_id="h", slots=3, uses={"api": 2}), closed)
    node = task("a", slots=2, uses={"api": 1, "mail": 1})
    assert bare(queue_of(group("g", node), group("h", task("r")), policy=policy, work=work), "a", W1) == [
        "resource_busy(api, capacity 2)",
        "resource_closed(mail)",
        "never_fits(2 slots, limit 0)",
        "group_quota(0/0)",
        "agent_slots(limit 1)",
        "no_slot(limit 3)",
    ]


@pytest.mark.parametrize(("slots", "said"), [(4, "never_fits(4 slots, limit 3)"), (3, "never_fits(3 slots)")])
def test_what_runs_of_other_programs_leave_is_no_figure(slots: int, said: str) -> None:
    queue = queue_of(
        group("g", task("a", slots=slots)), group("h", task("r", status="running")), policy=SchedulePolicy(slots=3)
    )
    assert bare(queue, "a") == [said, "no_slot(limit 3)"]


def test_for_whom_slots_are_kept_is_told_in_its_group() -> None:
    wide, narrow = task("wide", priority=9, slots=3), task("a")
    played = Played(
        group("g", wide, narrow, task("r")), group("h", task("x")), policy=policy_of(slots=3, drain_limit=0)
    )
    played.start("g", "r")
    assert played.claim() is None
    assert [bare(played.queue, "a"), bare(played.queue, "x", graph_id="h")] == [["reserved(for wide)"], ["reserved"]]


def test_what_is_told_without_anybody_stays_as_it_is() -> None:
    queue = queue_over(task("a", "b", capabilities=("gpu",)), task("b"))
    assert bare(queue, "a") == ["not_ready(unfinished b)", "capability_missing(gpu)"]
    noted = Reason(kind="blocked", note="why")
    assert within_group([noted, noted, Reason(kind="blocked", note="else")]) == (
        noted,
        Reason(kind="blocked", note="else"),
    )
