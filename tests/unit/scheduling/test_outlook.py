"""When a Group's turn comes, and who of it waits the longest: as claims in a row and the guard would tell."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.shares import Age, Hold, Round
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.scheduling.cycle import WorkspaceQueue, census, plan
from metagit_mcp.scheduling.outlook import Waiting, oldest_waiting, starts_before
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import ANYONE, NOW, group, lease, ledger, names, queue_of, task

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import LoadedGraph

NODES = st.lists(st.tuples(st.integers(0, 3), st.sampled_from((0, 900, 5_000)), st.integers(1, 3)), max_size=5)
GROUPS = st.lists(
    st.tuples(st.sampled_from(("critical", "high", "normal", "low")), st.integers(1, 16), NODES), min_size=1, max_size=5
)


def workspace(groups: list[tuple[Any, int, list[tuple[int, int, int]]]]) -> tuple[list[LoadedGraph], dict[str, Any]]:
    """Graphs of these nodes (priority, tokens, slots), and the policy of their Groups."""
    loaded = [
        group(
            f"g{place}",
            *(
                task(f"n{number}", priority=priority, estimated_tokens=tokens, slots=slots)
                for number, (priority, tokens, slots) in enumerate(nodes)
            ),
        )
        for place, (_, _, nodes) in enumerate(groups)
    ]
    policies = {
        f"g{place}": GroupPolicy(priority_class=kind, weight=weight, quota=3 if weight == 1 else None)
        for place, (kind, weight, _) in enumerate(groups)
    }
    return loaded, {"groups": policies}


@given(GROUPS, st.integers(0, 3), st.sampled_from(("fair", "score")))
def test_it_is_the_place_in_what_claims_in_a_row_would_get_with_endless_slots(
    groups: list[tuple[Any, int, list[tuple[int, int, int]]]], running: int, ordering: Literal["fair", "score"]
) -> None:
    loaded, policy = workspace(groups)
    nodes = [(each.graph_id, node.node_id) for each in loaded if each.graph for node in each.graph.nodes]
    work = ledger(*(lease(node_id, graph_id=graph_id) for graph_id, node_id in nodes[:running]))
    queue = queue_of(*loaded, policy=SchedulePolicy(ordering=ordering, slots=3, **policy), work=work)
    endless = queue_of(*loaded, policy=SchedulePolicy(ordering=ordering, **policy), work=work)
    order = [pick.graph_id for pick in plan(endless, ANYONE, 9).picks]
    found = starts_before(queue, ANYONE, frozenset(queue.groups), 9)
    assert found == {graph_id: order.index(graph_id) for graph_id in order}


def busy(hold: Hold | None = None, **policy: Any) -> WorkspaceQueue:  # noqa: ANN401 - any field
    """Two Groups, of which one holds the only slot."""
    work = ledger(lease("a1", graph_id="a"))
    work.shares.holds[:] = [] if hold is None else [hold]
    graphs = [group(name, *(task(f"{name}{place}") for place in (1, 2, 3))) for name in "ab"]
    return queue_of(*graphs, policy=SchedulePolicy(slots=1, **policy), work=work)


def test_it_is_known_while_no_slot_is_free_and_changes_nothing() -> None:
    queue = busy()
    before = (census(queue, ANYONE), plan(queue, ANYONE, 3))
    assert starts_before(queue, ANYONE, {"a", "b"}, 10) == {"a": 0, "b": 1}
    assert (census(queue, ANYONE), plan(queue, ANYONE, 3)) == before
    assert names(queue) == []


def test_only_wanted_groups_are_told_and_only_near_ones() -> None:
    queue = busy()
    told = starts_before(queue, ANYONE, {"a", "b"}, 10)
    assert starts_before(queue, ANYONE, {"b"}, 10) == {"b": told["b"]}
    assert starts_before(queue, ANYONE, {"a", "b"}, 1) == {name: 0 for name, place in told.items() if place == 0}
    assert starts_before(queue, ANYONE, set(), 10) == {}
    assert starts_before(queue, ANYONE, {"nowhere"}, 10) == {}


def test_quotas_and_capabilities_hold_all_the_same() -> None:
    queue = busy(groups={"a": GroupPolicy(quota=1)})
    assert starts_before(queue, ANYONE, {"a", "b"}, 10) == {"b": 0}
    able = queue_of(group("a", task("n", capabilities=("gpu",))), group("b", task("m")))
    assert starts_before(able, ANYONE, {"a", "b"}, 10) == {"b": 0}
    assert starts_before(able, Asker(capabilities=frozenset({"gpu"})), {"a", "b"}, 10) == {"a": 0, "b": 1}


def test_what_is_kept_for_one_keeps_no_other_from_its_place() -> None:
    kept = busy(Hold(graph_id="b", node_id="b2", slots=1, at=NOW, starts=9))
    assert starts_before(kept, ANYONE, {"a", "b"}, 10) == starts_before(busy(), ANYONE, {"a", "b"}, 10)
    assert kept.moment(ANYONE).situation.hold == kept.snapshot.work.shares.hold


# --- the oldest ------------------------------------------------------------------------------------------------------

LATER = NOW + timedelta(minutes=1)


@pytest.mark.parametrize(
    ("ages", "oldest"),
    [
        ({}, None),
        ({"gone": Age(number=0, first=0, at=NOW, since=0)}, None),
        (
            {"b": Age(number=3, first=2, at=LATER, since=2), "a": Age(number=4, first=2, at=NOW, since=2)},
            Waiting(node_id="b", passed_over=5, since=LATER),
        ),
        (
            {"done": Age(number=0, first=0, at=NOW, since=0), "a": Age(number=1, first=0, at=NOW, passed=4)},
            Waiting(node_id="a", passed_over=4, since=NOW),
        ),
    ],
)
def test_the_oldest_is_the_first_of_those_that_are_ready(ages: dict[str, Age], oldest: Waiting | None) -> None:
    work = LedgerState()
    work.shares.rounds["g"] = Round(dispatches=7, ages=ages)
    queue = queue_of(group("g", task("a"), task("b"), task("done", status="completed")), work=work)
    assert oldest_waiting(queue.groups["g"]) == oldest


def test_before_the_first_start_nobody_was_passed_over() -> None:
    assert oldest_waiting(queue_of(group("g", task("a"))).groups["g"]) is None
