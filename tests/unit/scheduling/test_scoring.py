"""The score, exact to the micro, and how it is told: factors, reasons, due-soon."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.decision import Factor
from metagit_mcp.domain.policy import WEIGHT_NAMES, MicroWeights, SchedulePolicy, Weights, weights_for
from metagit_mcp.scheduling.cycle import WorkspaceQueue, plan
from metagit_mcp.scheduling.explain import explain
from metagit_mcp.scheduling.scoring import (
    RepositoryTerms,
    Scored,
    due_from,
    factors,
    is_due_soon,
    reasons,
    repository_micros,
    static_micros,
    sum_half_even,
)
from tests.snapshots import ANYONE, HOUR, NOW, around, group, names, queue_of, queue_over, task, tree

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import TaskNode
    from metagit_mcp.scheduling.snapshot import Asker

DEFAULT = weights_for(SchedulePolicy(), "g")
NOTHING = MicroWeights(**dict.fromkeys(WEIGHT_NAMES, 0))
DAY = 86_400


def score(queue: WorkspaceQueue, node_id: str, asker: Asker = ANYONE) -> int:
    return explain(queue, asker, "g", node_id).score


@pytest.mark.parametrize(
    ("node", "micros"),
    [
        # dependency 0.2 for the only node, and cost 0.25 · 1000/(1000 + tokens).
        (task("a"), 200_000 + 125_000),
        (task("a", estimated_tokens=0), 250_000),
        (task("a", priority=3), 3_325_000),
        (task("a", priority=-1_000_000), -1_000_000_000_000 + 325_000),
        (task("a", requested_urgency="routine"), -1_000_000 + 325_000),
        (task("a", requested_urgency="normal"), 325_000),
        (task("a", requested_urgency="high"), 1_325_000),
        (task("a", requested_urgency="critical"), 2_325_000),
        (task("a", estimated_tokens=10**9), 200_000),
        (task("a", deadline=NOW), 1_325_000),
        (task("a", deadline=NOW - timedelta(days=400)), 1_325_000),
        (task("a", deadline=NOW + timedelta(days=1)), 1_325_000),
        (task("a", deadline=NOW + timedelta(days=1, microseconds=1)), 325_000),
        (task("a", deadline=NOW + timedelta(days=1, hours=1), estimated_runtime_seconds=3_600), 1_325_000),
    ],
)
def test_the_score_of_a_node_alone(node: TaskNode, micros: int) -> None:
    assert score(queue_over(node), "a") == micros


@given(st.integers(-(10**15), 10**15), st.integers(0, 10**15), st.integers(1, 10**12))
def test_a_sum_is_rounded_once_half_even(whole: int, numerator: int, denominator: int) -> None:
    assert sum_half_even(whole, numerator, denominator) == round(whole + Fraction(numerator, denominator))


@pytest.mark.parametrize(
    ("whole", "numerator", "denominator", "total"),
    [(0, 1, 2, 0), (1, 1, 2, 2), (2, 1, 2, 2), (-1, 1, 2, 0), (-2, 1, 2, -2), (0, 3, 2, 2), (1, 3, 2, 2), (5, 2, 1, 7)],
)
def test_what_is_even_is_the_sum(whole: int, numerator: int, denominator: int, total: int) -> None:
    assert sum_half_even(whole, numerator, denominator) == total


@given(
    st.integers(-1_000_000, 1_000_000),
    st.sampled_from((0, 1, 280, 1000, 5_400, 31_000, 159_000, 799_000, 10**9)),
    st.integers(0, 10**12),
    st.integers(0, 10**12),
    st.builds(
        MicroWeights,
        **{name: st.integers(0, 10**12) | st.integers(0, 9) for name in ("priority", "dependency", "cost", "urgency")},
        **dict.fromkeys(("affinity", "fairness", "deadline"), st.just(0)),
    ),
)
def test_the_static_part_is_one_exact_rational(
    priority: int, tokens: int, rank: int, more: int, weights: MicroWeights
) -> None:
    node = task("a", priority=priority, estimated_tokens=tokens, requested_urgency="routine")
    exact = Fraction(weights.priority * priority - weights.urgency)
    exact += Fraction(weights.dependency * rank, rank + more) if rank else 0
    exact += Fraction(weights.cost * 1000, 1000 + tokens)
    assert static_micros(node, weights, rank, rank + more) == round(exact)


def test_criticality_lets_the_node_that_holds_back_the_heaviest_chain_go_first() -> None:
    nodes = (task("a"), task("b"), task("c", "b", estimated_tokens=3_000))
    queue = queue_over(*nodes)
    assert (score(queue, "a"), score(queue, "b"), score(queue, "c")) == (175_000, 325_000, 212_500)
    assert names(queue) == ["b", "a"]
    classic = queue_over(*nodes, policy=SchedulePolicy(weights=Weights(dependency=0)))
    assert (score(classic, "a"), score(classic, "b")) == (125_000, 125_000)
    assert names(classic) == ["a", "b"]


def test_completing_nodes_changes_no_key() -> None:
    before = task("a", priority=1), task("b", "a"), task("c", "b")
    after = replace(before[0], status="completed"), before[1], before[2]
    one, other = queue_over(*before), queue_over(*after)
    assert [score(one, name) for name in "abc"] == [score(other, name) for name in "abc"]


def test_without_any_tokens_no_node_is_critical() -> None:
    nodes = task("a", estimated_tokens=0), task("b", "a", estimated_tokens=0)
    assert score(queue_over(*nodes), "a") == 250_000


def test_the_order_of_ties() -> None:
    nodes = (
        task("b", estimated_tokens=9),
        task("a", estimated_tokens=9),
        task("B", estimated_tokens=9),
        task("c", estimated_tokens=8),
        task("é", estimated_tokens=9),
    )
    weights = Weights(priority=1, dependency=0, cost=0)
    queue = queue_of(group("h", *nodes), group("g", *nodes), policy=SchedulePolicy(weights=weights))
    picks = [(pick.node.node_id, pick.graph_id) for pick in plan(queue, ANYONE, 100).picks]
    assert picks == [(name, graph_id) for name in ["c", "B", "a", "b", "é"] for graph_id in "gh"]


# --- terms of the repository -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("terms", "micros"),
    [
        (RepositoryTerms(), 0),
        (RepositoryTerms(warm=True), 500_000),
        (RepositoryTerms(pressured=True, merge_depth=4), -2_000_000),
        (RepositoryTerms(warm=True, under_represented=True, pressured=True), -1_500_000),
    ],
)
def test_what_the_repository_adds(terms: RepositoryTerms, micros: int) -> None:
    assert repository_micros(DEFAULT, terms, 2_000_000) == micros
    fair = replace(DEFAULT, fairness=100)
    assert repository_micros(fair, terms, 2_000_000) == micros + 100 * terms.under_represented


def test_the_least_served_repository_where_fairness_asks() -> None:
    policy = SchedulePolicy(weights=Weights(fairness=1.0))
    nodes = (
        task("a", repository="p/a"),
        task("b", repository="p/b"),
        task("c", repository="p/c", status="completed"),
        task("d"),
    )
    served = around(services={"p/a": 2, "p/b": 1})
    queue = queue_over(*nodes, policy=policy, surroundings=served)
    assert [explain(queue, ANYONE, "g", name).reasons[-1] for name in "abcd"] == [
        "fairness=0",
        "fairness=1",
        "fairness=0",
        "fairness=0",
    ]
    equal = queue_over(*nodes, policy=policy, surroundings=around(services={"p/a": 1, "p/b": 1}))
    assert [explain(equal, ANYONE, "g", name).reasons[-1] for name in "ab"] == ["fairness=1", "fairness=1"]
    nobody = queue_over(policy=policy, surroundings=served)
    assert names(nobody) == []


# --- as people read it -----------------------------------------------------------------------------------------

FULL = task("a", priority=2, estimated_tokens=3_000, requested_urgency="critical")


def scored(**fields: Any) -> Scored:  # noqa: ANN401 - any field of Scored
    known: dict[str, Any] = {
        "rank": 1,
        "top_rank": 3,
        "due_soon": False,
        "terms": RepositoryTerms(),
        "penalty": 2_000_000,
    }
    return Scored(**{"weights": DEFAULT, **known, **fields})


def test_all_factors_in_their_order() -> None:
    full = scored(
        due_soon=True,
        terms=RepositoryTerms(warm=True, under_represented=True, merge_depth=5, pressured=True),
        weights=replace(DEFAULT, fairness=300_000),
    )
    assert factors(FULL, full) == (
        Factor(name="priority", value=2.0, weight=1.0, contribution=2.0),
        Factor(name="dependency", value=0.333333, weight=0.2, contribution=0.066667),
        Factor(name="affinity", value=1.0, weight=0.5, contribution=0.5),
        Factor(name="cost", value=0.25, weight=0.25, contribution=0.0625),
        Factor(name="fairness", value=1.0, weight=0.3, contribution=0.3),
        Factor(name="urgency", value=2.0, weight=1.0, contribution=2.0),
        Factor(name="deadline", value=1.0, weight=1.0, contribution=1.0),
        Factor(name="merge_pressure", value=-1.0, weight=2.0, contribution=-2.0),
    )
    assert full.total(FULL) == 3_929_167
    assert sum(factor.contribution for factor in factors(FULL, full)) == pytest.approx(3.929167)


def test_factors_that_do_not_count_are_plain_zeros() -> None:
    nothing = scored(rank=0, top_rank=0, weights=NOTHING, penalty=0)
    told = factors(task("a"), nothing)
    assert [str(factor.contribution) for factor in told] == ["0.0"] * 8
    assert [str(factor.value) for factor in told] == ["0.0", "0.0", "0.0", "0.5", "0.0", "0.0", "0.0", "0.0"]


@pytest.mark.parametrize(
    ("node", "fields", "said"),
    [
        (task("a"), {"rank": 0}, ("priority=0", "affinity=0", "cost=0.5000(tokens=1000)")),
        (task("a", priority=-3), {}, ("priority=-3", "dependency=0.3333", "affinity=0", "cost=0.5000(tokens=1000)")),
        (
            FULL,
            {
                "due_soon": True,
                "weights": replace(DEFAULT, fairness=1),
                "terms": RepositoryTerms(warm=True, under_represented=True, merge_depth=4, pressured=True),
            },
            (
                "priority=2",
                "dependency=0.3333",
                "affinity=1",
                "cost=0.2500(tokens=3000)",
                "fairness=1",
                "urgency=2",
                "deadline=1",
                "merge_pressure depth=4 threshold=3 penalty=2.0",
            ),
        ),
        (
            task("a", estimated_tokens=0, requested_urgency="routine"),
            {"rank": 3, "terms": RepositoryTerms(merge_depth=2)},
            ("priority=0", "dependency=1.0000", "affinity=0", "cost=1.0000(tokens=0)", "urgency=-1"),
        ),
        (
            FULL,
            {"due_soon": True, "weights": NOTHING},
            ("priority=2", "affinity=0", "cost=0.2500(tokens=3000)"),
        ),
    ],
)
def test_reasons_are_short_stable_strings(node: TaskNode, fields: dict[str, Any], said: tuple[str, ...]) -> None:
    assert reasons(node, scored(**fields), SchedulePolicy()) == said


# --- due-soon --------------------------------------------------------------------------------------------------


def test_due_soon_begins_before_the_deadline_by_run_time_and_horizon() -> None:
    node = task("a", deadline=NOW, estimated_runtime_seconds=60)
    start = NOW - timedelta(seconds=DAY + 60)
    assert due_from(node, DAY) == start
    assert [is_due_soon(node, DAY, start + timedelta(seconds=each)) for each in (-1, 0, 1, 10**8)] == [
        False,
        True,
        True,
        True,
    ]
    assert due_from(task("a"), DAY) is None
    assert not is_due_soon(task("a"), DAY, NOW)


def test_a_deadline_at_the_beginning_of_the_calendar_is_due() -> None:
    node = task("a", deadline=datetime.min.replace(tzinfo=UTC), estimated_runtime_seconds=10**9)
    assert due_from(node, 10**9) == datetime.min.replace(tzinfo=UTC)
    assert is_due_soon(node, 10**9, NOW)
    assert names(queue_over(node)) == ["a"]


def test_a_warm_repository_is_preferred_and_may_be_turned_off() -> None:
    nodes = task("a", repository="p/a"), task("b", repository="p/b")
    warm = around(tree("p/b"))
    assert names(queue_over(*nodes, surroundings=warm)) == ["b", "a"]
    off = SchedulePolicy(weights=Weights(affinity=0))
    assert names(queue_over(*nodes, surroundings=warm, policy=off)) == ["a", "b"]
    assert score(queue_over(*nodes, surroundings=warm), "b") == 825_000
    assert HOUR.total_seconds() == 3_600
