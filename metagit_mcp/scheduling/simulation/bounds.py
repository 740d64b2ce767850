"""The proven bounds of scheduling.md §4 for one workload: how long a Group may wait, in cost and in seconds.

Exact rationals; it knows what comes and under which policy, not what happened.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from metagit_mcp.domain.policy import PriorityClass, SchedulePolicy, class_of, weight_of
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.bounds import class_weights, work_across, work_within
from metagit_mcp.scheduling.simulation.jobs import Job


@value
class Bound:
    """The most that may happen between two services of a Group that is eligible all the while.

    `cost` is the work of all other Groups in units (I5, which holds I4), `seconds` the time until it is served (I6).
    """

    cost: Fraction
    seconds: int


def bounds_of(policy: SchedulePolicy, agents: int, jobs: Iterable[Job]) -> dict[str, Bound]:
    """Return the bound of each Group that has any of these nodes, all of which can run."""
    every = tuple(jobs)
    load = _Load(policy, agents, every)
    return {graph_id: load.bound(graph_id) for graph_id in sorted({job.graph_id for job in every})}


class _Load:
    """The figures of a workload that the bounds are made of, by the names that scheduling.md §4 gives them."""

    def __init__(self, policy: SchedulePolicy, agents: int, jobs: tuple[Job, ...]) -> None:
        self._policy = policy
        self._slots = policy.slots or agents
        # Slots that can be in use at once: an agent has one node at a time.
        self._wide = sum(job.slots > 1 for job in jobs)
        self._longest = max((job.runtime for job in jobs), default=0)
        self._least = min((min(job.charge, job.cost) for job in jobs), default=1)
        self._agents = agents
        self._c = _slack(policy, self._slots, jobs)
        self._c_max = max(self._c.values(), default=0)
        self._class = {graph_id: class_of(policy, graph_id) for graph_id in self._c}
        self._weights: Counter[PriorityClass] = Counter()
        self._slacks: Counter[PriorityClass] = Counter()
        for graph_id, slack in self._c.items():
            self._weights[self._class[graph_id]] += weight_of(policy, graph_id)
            self._slacks[self._class[graph_id]] += slack

    def bound(self, graph_id: str) -> Bound:
        cost = self._across(graph_id)
        starts = -(-cost // self._least)
        at_once = min(self._slots, self._agents)
        rounds = -(-starts // at_once) + 1
        return Bound(cost=cost, seconds=self._longest * int(rounds + min(starts, self._wide)))

    def _across(self, graph_id: str) -> Fraction:
        """I5: the work of all other Groups, however full other classes are."""
        c, weight, name = self._c[graph_id], weight_of(self._policy, graph_id), self._class[graph_id]
        within = work_within(
            weight, c, self._weights[name] - weight, self._slacks[name] - c, self._policy.deadline_window
        )
        weights = class_weights(self._policy, self._weights)
        return work_across(within, self._c_max, name, weights, self._policy.class_window)


def _slack(policy: SchedulePolicy, slots: int, jobs: Iterable[Job]) -> dict[str, int]:
    """Return c_f = l_f + d·l_max + D·e of each Group."""
    largest: dict[str, int] = {}
    excess, is_wide = 0, False
    for job in jobs:
        largest[job.graph_id] = max(largest.get(job.graph_id, 0), job.charge)
        excess = max(excess, job.cost - job.charge)
        is_wide = is_wide or job.slots > 1
    drained = policy.drain_limit * max(largest.values(), default=0) if is_wide else 0
    return {graph_id: charge + drained + slots * excess for graph_id, charge in largest.items()}
