"""What an estimate assumes in place of other Groups, and how long a Group waits at most if that holds (work.md §7).

All of it follows from policy and from the Group's own nodes, so that nothing here can tell of another Group.
"""

from collections.abc import Collection, Iterable
from fractions import Fraction

from metagit_mcp.domain.charging import units_of
from metagit_mcp.domain.policy import PriorityClass, SchedulePolicy, class_of, weight_of
from metagit_mcp.domain.tasks import TaskNode, effective_slots, effective_tokens
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.bounds import class_weights, work_across, work_within


@value
class Effort:
    """Nodes of the Group as work: how many, what they cost in the end, and how many of them need several slots.

    `more` are the seconds, times slots, that they say to take beyond what is assumed of their cost.
    """

    starts: int = 0
    units: int = 0
    wide: int = 0
    more: int = 0

    def __add__(self, other: "Effort") -> "Effort":
        """Return both together."""
        return self._with(other, 1)

    def __sub__(self, part: "Effort") -> "Effort":
        """Return what is left without a part of it."""
        return self._with(part, -1)

    def _with(self, other: "Effort", sign: int) -> "Effort":
        return Effort(
            starts=self.starts + sign * other.starts,
            units=self.units + sign * other.units,
            wide=self.wide + sign * other.wide,
            more=self.more + sign * other.more,
        )


class Assumed:
    """The waits of one Group under a policy with a limit of slots, as long as what `disclosure` says is true."""

    def __init__(self, policy: SchedulePolicy, graph_id: str, nodes: Collection[TaskNode]) -> None:
        """Look at the Group's own nodes, the finished ones too: they may have moved its tag."""
        self._policy, self._group = policy, graph_id
        self._slots = policy.slots or 1
        charge, wide = _largest(nodes)
        self.most_cost = most = max(charge, wide * policy.disclosure.max_cost)
        # d·l_max + D·e of scheduling.md §4: nothing is charged less than one unit.
        beyond = (max(1, policy.drain_limit) * most if wide > 1 else 0) + self._slots * (most - 1)
        self._slack, self._most_slack = charge + beyond, most + beyond
        self._others = _others(policy, graph_id)
        said = max((node.estimated_runtime_seconds or 0 for node in nodes), default=0)
        self.longest = max(most * policy.disclosure.seconds_per_unit, said)

    def cost(self, node: TaskNode) -> int:
        """Return what a node of the Group costs in the end: what it says, else the most that is assumed of any."""
        slots = effective_slots(node)
        units = units_of(slots, effective_tokens(node))
        return units if node.estimated_tokens is not None else max(units, slots * self._policy.disclosure.max_cost)

    def runtime(self, node: TaskNode) -> int:
        """Return the most seconds for which a node of the Group is worked on."""
        return max(self._usual_runtime(node), node.estimated_runtime_seconds or 0)

    def _usual_runtime(self, node: TaskNode) -> int:
        return self.cost(node) * self._policy.disclosure.seconds_per_unit // effective_slots(node)

    def effort(self, nodes: Iterable[TaskNode]) -> Effort:
        """Return these nodes of the Group as work."""
        starts = units = wide = more = 0
        for node in nodes:
            starts += 1
            tokens = node.estimated_tokens
            if node.slots is None and node.estimated_runtime_seconds is None and tokens is not None and tokens > 0:
                # Hardly any is another, and there may be many: `cost` in short.
                units += -(-tokens // 1000)
            else:
                units += self.cost(node)
                slots = effective_slots(node)
                wide += slots > 1
                more += slots * (self.runtime(node) - self._usual_runtime(node))
        return Effort(starts=starts, units=units, wide=wide, more=more)

    def units(self, own: int) -> Fraction:
        """Return I5: the work of all, of which the Group gets `own` units, before it is served again."""
        policy, name, weight = self._policy, class_of(self._policy, self._group), weight_of(self._policy, self._group)
        others = self._others
        of_class = others[name]
        within = work_within(
            weight,
            self._slack,
            sum(of_class),
            len(of_class) * self._most_slack,
            policy.deadline_window,
            own,
        )
        weights = class_weights(policy, {name, *others})
        return work_across(within + own, self._most_slack, name, weights, policy.class_window)

    def wait(self, ahead: Effort, times: int) -> int:
        """Return I6: the most seconds until the Group started all that is ahead, and one node more.

        It may have had nothing that could start for a while in between, so that it waits anew: `times` in all.
        """
        units = self.units(ahead.units) + (times - 1) * self.units(0)
        each = self._policy.disclosure.seconds_per_unit
        # What is given back of work before, and what runs still and was charged too little.
        rounds = units / self._slots + times * 2 * self.most_cost
        seconds = rounds * each + Fraction(ahead.more, self._slots) + (times + ahead.wide) * self.longest
        return -(-seconds.numerator // seconds.denominator)


def _largest(nodes: Collection[TaskNode]) -> tuple[int, int]:
    """Return the largest charge and the most slots of a node."""
    tokens = max(map(effective_tokens, nodes), default=0)
    several = [node for node in nodes if node.slots is not None]
    charges = (units_of(effective_slots(node), effective_tokens(node)) for node in several)
    return max(units_of(1, tokens), max(charges, default=1)), max(map(effective_slots, several), default=1)


def _others(policy: SchedulePolicy, graph_id: str) -> dict[PriorityClass, list[int]]:
    """Return the weights of all other Groups that may have work, by class: those of the policy, then any more."""
    found: dict[PriorityClass, list[int]] = {class_of(policy, graph_id): []}
    for name in policy.groups:
        if name != graph_id:
            found.setdefault(class_of(policy, name), []).append(weight_of(policy, name))
    named = sum(map(len, found.values()))
    more = max(0, policy.disclosure.max_groups - 1 - named)
    if more:
        found.setdefault("normal", []).extend([1] * more)
    return found
