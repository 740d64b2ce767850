"""A closed setting for I6: agents always ask, every lease ends in time, and every start costs something.

It must not know how a pick is made. Time is counted in whole steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from tests.fairness.asks import class_of
from tests.fairness.bounds import ANYBODY, Watched
from tests.fairness.steps import AGENTS, Scene, Steps, graph_of

if TYPE_CHECKING:
    from random import Random


@dataclass
class Closed:
    """Agents for every slot, and leases of at most `longest` steps."""

    random: Random
    longest: int = 7
    ends: dict[str, int] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)
    waits: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.steps = Steps(self.random, Scene(wild=False, reports=self.random.random() < 0.5), Watched)
        self.play = self.steps.play
        self.play.policy = replace(self.play.policy, slots=self.random.randint(1, 6))
        self.play.refresh()

    def run(self, steps: int) -> Fraction:
        """The longest wait of a Group over the bound on it."""
        for now in range(steps):
            for lease_id in sorted(name for name, end in self.ends.items() if end <= now):
                del self.ends[lease_id]
                self.steps.end(self.play.state.leases[lease_id])
            self._fill()
            self._ask(now)
        return max((Fraction(wait, self._bound(name)) for name, wait in self.waits.items()), default=Fraction(0))

    def _fill(self) -> None:
        """Most Groups never run out of nodes; what is done is cleared away."""
        play = self.play
        for name in play.world.groups:
            if len(play.world.shelved(name)) < 2 and self.random.random() < 0.9:
                keep = [node for key, node in play.world.nodes(name).items() if key in play.world.shelved(name)]
                keep += [node for key, node in play.world.nodes(name).items() if self._runs(name, key)]
                more = [self.steps.node(name) for _ in range(4)]
                play.graphs = {**play.graphs, name: graph_of(name, tuple(keep + more))}
        play.refresh()

    def _runs(self, group: str, node: str) -> bool:
        return any(each.key == (group, node) for each in self.play.state.leases.values())

    def _ask(self, now: int) -> None:
        while True:
            eligible = self.play.book.standing(self.play.world, ANYBODY).eligible
            self.since = {name: self.since.get(name, now) for name in eligible}
            served = self.play.ask(AGENTS[0])
            if served is None:
                return
            self.ends[f"L{self.play.number}"] = now + self.random.randint(1, self.longest)
            self.waits[served.group] = max(self.waits.get(served.group, 0), now - self.since[served.group])
            self.since[served.group] = now

    def _bound(self, name: str) -> int:
        """I6: the starts that may come before, at the cheapest, each as long as may be."""
        play = self.play
        at = class_of(play.policy, name)
        own = [each for each in play.graphs if each != name and class_of(play.policy, each) == at]
        others = {class_of(play.policy, each) for each in play.graphs} - {at}
        starts = ceil(play.anywhere(name, own, others) / self._cheapest())
        return self.longest * (ceil(Fraction(starts, play.policy.slots or 1)) + 1)

    def _cheapest(self) -> int:
        return min(each[0] for each in self.steps.costs.values())
