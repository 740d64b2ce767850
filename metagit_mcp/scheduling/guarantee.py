"""What each Group is guaranteed of the work, and what it received of it lately. Knows no tag and no plan.

A guaranteed share is what a Group gets as long as every Group with work asks for more: the classes that have work
divide the whole by their weights, and the Groups with work of a class divide its part (scheduling.md §3). What one of
them leaves unused flows on, so a Group may well get more.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from metagit_mcp.domain.policy import PriorityClass, SchedulePolicy, class_of, weight_of
from metagit_mcp.domain.shares import Charged
from metagit_mcp.scheduling.queue import GroupQueue


def guaranteed(policy: SchedulePolicy, with_work: Iterable[str]) -> dict[str, Fraction]:
    """Return the guaranteed share of each Group that has work, the least id first; they add up to 1.

    With `ordering: "score"` no Group is guaranteed anything: the answer is empty.
    """
    if policy.ordering == "score":
        return {}
    groups = {graph_id: (class_of(policy, graph_id), weight_of(policy, graph_id)) for graph_id in sorted(with_work)}
    inside: Counter[PriorityClass] = Counter()
    for name, weight in groups.values():
        inside[name] += weight
    total = sum(_weight_of_class(policy, name) for name in inside)
    return {
        graph_id: Fraction(_weight_of_class(policy, name) * weight, total * inside[name])
        for graph_id, (name, weight) in groups.items()
    }


def _weight_of_class(policy: SchedulePolicy, name: PriorityClass) -> int:
    weight: int = getattr(policy.classes, name)
    return weight


def has_work(group: GroupQueue) -> bool:
    """Say whether the Group takes part in the sharing: a node of it runs, or waits for nothing but its turn.

    Limits, resources and what the asker can do do not matter here: they hold work back, and do not end it.
    """
    return bool(group.repositories or group.running_slots)


def received(charges: Iterable[Charged]) -> dict[str, Fraction]:
    """Return the share that each Group has in the cost of these charges; one that was charged nothing is left out."""
    costs = Counter[str]()
    for each in charges:
        costs[each.graph_id] += each.cost
    total = costs.total()
    return {graph_id: Fraction(cost, total) for graph_id, cost in costs.items()}
