"""Weights in exact micros, what overrides inherit, and what policy grants an agent."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.limits import AgentPolicy
from metagit_mcp.domain.policy import (
    CLASSES,
    ClassWeights,
    GroupPolicy,
    MicroWeights,
    SchedulePolicy,
    WeightOverride,
    Weights,
    class_of,
    granted_capabilities,
    has_excess_places,
    micros,
    quota_for,
    weight_of,
    weights_for,
)


@pytest.mark.parametrize(
    ("number", "whole", "excess"),
    [
        (0, 0, False),
        (0.0, 0, False),
        (-0.0, 0, False),
        (1, 1_000_000, False),
        (0.2, 200_000, False),
        (0.1 + 0.2, 300_000, True),
        (0.000001, 1, False),
        (0.0000005, 0, True),
        (0.0000015, 2, True),
        (0.0000025, 2, True),
        (1e-7, 0, True),
        (5e-324, 0, True),
        (1_000_000.0, 10**12, False),
        (123456.654321, 123_456_654_321, False),
    ],
)
def test_a_decimal_in_micros_rounded_half_even(number: float, whole: int, *, excess: bool) -> None:
    assert micros(number) == whole
    assert has_excess_places(number) is excess


@given(st.floats(0, 1_000_000))
def test_micros_are_what_the_written_decimal_says(number: float) -> None:
    exact = Fraction(repr(number)) * 1_000_000
    assert micros(number) == round(exact)
    assert has_excess_places(number) is (exact.denominator != 1)


DEFAULTS = {
    "priority": 1_000_000,
    "dependency": 200_000,
    "affinity": 500_000,
    "cost": 250_000,
    "fairness": 0,
    "urgency": 1_000_000,
    "deadline": 1_000_000,
}


def test_the_default_weights() -> None:
    assert weights_for(SchedulePolicy(), "g") == MicroWeights(**DEFAULTS)


def test_an_override_inherits_what_it_does_not_name() -> None:
    policy = SchedulePolicy(
        weights=Weights(cost=0.125), graph_overrides={"g": WeightOverride(priority=3.0, fairness=0.0, affinity=0)}
    )
    assert weights_for(policy, "g") == MicroWeights(
        **{**DEFAULTS, "priority": 3_000_000, "affinity": 0, "cost": 125_000}
    )
    assert weights_for(policy, "h") == MicroWeights(**{**DEFAULTS, "cost": 125_000})


def test_the_soft_factors_stay_below_one_step_of_priority() -> None:
    weights = weights_for(SchedulePolicy(), "g")
    assert weights.dependency + weights.affinity + weights.cost == 950_000 < weights.priority


def test_a_quota_is_none_unless_it_is_named() -> None:
    policy = SchedulePolicy(groups={"g": GroupPolicy(quota=2), "h": GroupPolicy()})
    assert [quota_for(policy, graph_id) for graph_id in "ghi"] == [2, None, None]


@pytest.mark.parametrize(
    ("agent_id", "granted"),
    [
        ("w1", frozenset({"gpu", "write"})),
        ("w12", frozenset({"gpu"})),
        ("team/x", frozenset()),
        ("W1", None),
        ("", None),
        ("other", None),
    ],
)
def test_what_policy_grants(agent_id: str, granted: frozenset[str] | None) -> None:
    agents = {
        "w1": AgentPolicy(capabilities=("write",)),
        "w1*": AgentPolicy(capabilities=("gpu",)),
        "team/*": AgentPolicy(),
    }
    assert granted_capabilities(SchedulePolicy(agents=agents), agent_id) == granted


def test_a_star_names_every_agent_but_no_anonymous_one() -> None:
    policy = SchedulePolicy(agents={"*": AgentPolicy(capabilities=("read",))})
    assert granted_capabilities(policy, "anyone") == frozenset({"read"})
    assert granted_capabilities(policy, "") is None


def test_a_group_has_the_class_and_weight_of_its_policy() -> None:
    groups = {"g": GroupPolicy(priority_class="critical", weight=16), "h": GroupPolicy()}
    policy = SchedulePolicy(groups=groups)
    assert [(class_of(policy, name), weight_of(policy, name)) for name in "ghi"] == [
        ("critical", 16),
        ("normal", 1),
        ("normal", 1),
    ]


def test_every_class_has_its_weight() -> None:
    assert CLASSES == ("critical", "high", "normal", "low")
    assert {each.name: each.default for each in fields(ClassWeights)} == {
        "critical": 16,
        "high": 8,
        "normal": 4,
        "low": 1,
    }
