"""The proven bounds of scheduling.md §4 as formulae: how much work may come before a Group is served. Knows no node.

Exact rationals, by the names of that section. docs/explanation/fairness.md says why each of them holds.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from metagit_mcp.domain.policy import PriorityClass, SchedulePolicy


def work_within(weight: int, slack: int, others_weight: int, others_slack: int, window: int, own: int = 0) -> Fraction:
    """Return Γ of I4: the most that the other Groups of a class get while one of them gets `own` units.

    `slack` is its c; `others_weight` and `others_slack` add up w and c of the others. Between two services `own` is 0.
    """
    return others_weight * (2 * window + Fraction(slack + own, weight)) + others_slack


def work_across(
    within: Fraction, most_slack: int, own: PriorityClass, weights: Mapping[PriorityClass, int], window: int
) -> Fraction:
    """Return I5: the most that all get while a Group of the class `own` waits, however full other classes are.

    `within` is what its own class gets, `most_slack` is c_max, `weights` are those of all classes that have work.
    """
    weight = weights[own]
    found = (within + most_slack) * Fraction(sum(weights.values()), weight)
    for name in sorted(weights):
        if name != own:
            found += weights[name] * (Fraction(most_slack, weight) + 2 * window) + most_slack
    return found


def class_weights(policy: SchedulePolicy, names: Iterable[PriorityClass]) -> dict[PriorityClass, int]:
    """Return the weights of these classes, by name."""
    return {name: getattr(policy.classes, name) for name in sorted(names)}
