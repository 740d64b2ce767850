"""What policy says of work under way: slots, resources and budgets, reviews, waits after failures."""

import pytest

from metagit_mcp.domain.limits import AgentPolicy, RetryPolicy
from metagit_mcp.domain.policy import (
    GroupPolicy,
    SchedulePolicy,
    backoff_seconds,
    budget_for,
    is_reviewed,
    slots_of_agent,
    uses_of_agent,
)

POLICY = SchedulePolicy(
    agent_slots=2,
    groups={"g": GroupPolicy(review=True, budget={"tokens": 9}), "h": GroupPolicy()},
    agents={
        "a*": AgentPolicy(slots=3, uses={"gpu": 1, "cpu": 2}),
        "ada": AgentPolicy(slots=1, uses={"gpu": 2}),
        "bob": AgentPolicy(),
    },
)


@pytest.mark.parametrize(("agent_id", "slots"), [("ada", 1), ("amy", 3), ("bob", 2), ("cy", 2), ("", 2)])
def test_the_strictest_pattern_counts_the_slots(agent_id: str, slots: int) -> None:
    assert slots_of_agent(POLICY, agent_id) == slots


@pytest.mark.parametrize(
    ("agent_id", "uses"),
    [("ada", {"gpu": 2, "cpu": 2}), ("amy", {"gpu": 1, "cpu": 2}), ("bob", {}), ("", {})],
)
def test_an_agent_takes_the_most_that_a_pattern_names(agent_id: str, uses: dict[str, int]) -> None:
    assert uses_of_agent(POLICY, agent_id) == uses


def test_a_node_has_its_own_budget_or_its_groups() -> None:
    assert budget_for(POLICY, "g", {"seconds": 1}) == {"seconds": 1}
    assert budget_for(POLICY, "g", {}) == {}
    assert budget_for(POLICY, "g", None) == {"tokens": 9}
    assert budget_for(POLICY, "h", None) is None
    assert budget_for(POLICY, "other", None) is None


def test_a_group_reviews_if_it_says_so() -> None:
    assert [is_reviewed(POLICY, name) for name in ("g", "h", "other")] == [True, False, False]


@pytest.mark.parametrize(("failures", "seconds"), [(1, 60), (2, 120), (6, 1_920), (7, 3_600), (10**6, 3_600)])
def test_the_wait_doubles_up_to_the_longest(failures: int, seconds: int) -> None:
    assert backoff_seconds(SchedulePolicy(), failures) == seconds


def test_no_wait_stays_none() -> None:
    assert backoff_seconds(SchedulePolicy(retries=RetryPolicy(backoff_seconds=0)), 9) == 0
