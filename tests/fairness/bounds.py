"""Measures a run without quotas, pauses and changes of policy against the bounds I1 and I3 to I5, and the guard's.

It must not know how a pick is made: it looks at tags, charges and corrections. Numbers are whole, in units times L.

A wide node adds d·l_max for each time that slots were held while a flow was ahead: `holds` counts those in a row.
A correction counts as it took effect: what a refund below V forfeits was work. The flows that a bound sums up over are
those that were served in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from metagit_mcp.domain.share_events import SlotsHeld
from tests.fairness.asks import Who, class_of
from tests.fairness.play import Play, Served
from tests.fairness.tags import ROOT, Charge, L

if TYPE_CHECKING:
    from collections.abc import Iterable

Flow = tuple[str, str]
ANYBODY = Who()


@dataclass
class Waiting:
    """What others got since a flow was served last, or came, and who they were."""

    work: int = 0
    whom: set[str] = field(default_factory=set)


@dataclass
class Measured:
    """The largest values seen, by flow."""

    above: dict[Flow, int] = field(default_factory=dict)
    apart: dict[tuple[str, str, str], int] = field(default_factory=dict)
    between: dict[tuple[Flow, frozenset[str]], int] = field(default_factory=dict)
    anywhere: dict[tuple[str, frozenset[str], frozenset[str]], int] = field(default_factory=dict)
    guard: Fraction = Fraction(0)


def keep(most: dict[object, int], key: object, number: int) -> None:
    most[key] = max(most.get(key, 0), number)


@dataclass
class Watched(Play):
    """A run in which one pool is watched at every pick."""

    seen: Measured = field(default_factory=Measured)
    largest: dict[Flow, int] = field(default_factory=dict)
    excess: int = 0
    at_once: int = 1
    had_wide: bool = False
    # How often slots were held since a flow was last as near to V as without wide nodes, and the most of it.
    since_near: dict[Flow, int] = field(default_factory=dict)
    holds: int = 1
    # Of each level: who was eligible at the last pick; the range of the difference of two; who waits for what.
    there: dict[str, set[str]] = field(default_factory=dict)
    ranges: dict[tuple[str, str, str], tuple[int, int, int]] = field(default_factory=dict)
    waiting: dict[Flow, Waiting] = field(default_factory=dict)
    overall: dict[str, Waiting] = field(default_factory=dict)
    older: dict[tuple[str, str], int] = field(default_factory=dict)

    def ask(self, who: Who, group: str | None = None) -> Served | None:
        self.settle()
        standing, waits, happened = self.book.standing(self.world, ANYBODY), self._waits(), len(self.log)
        served = super().ask(who, group)
        for event in self.log[happened:]:
            if isinstance(event, SlotsHeld):
                self.since_near = {flow: count + 1 for flow, count in self.since_near.items()}
        if served is not None:
            rows: dict[str, set[str]] = {ROOT: {name for name, _ in standing.eligible.values()}}
            for name, (at, _) in standing.eligible.items():
                rows.setdefault(at, set()).add(name)
            self._look(rows)
            self._served(served)
            self._guarded(served, waits)
            self.at_once = max(self.at_once, self.world.used())
        return served

    # --- who is eligible at every pick

    def _look(self, rows: dict[str, set[str]]) -> None:
        for level in {ROOT, *self.there, *rows}:
            now, before = rows.get(level, set()), self.there.get(level, set())
            for name in before ^ now:
                self._begin(level, name, now)
            self.there[level] = now
            tags = self.book.tags.pools[()][level]
            for name in now:
                keep(self.seen.above, (level, name), tags.flows[name].tag - tags.virtual)  # type: ignore[arg-type]  # kept under keys of many shapes
                assert tags.flows[name].tag >= tags.virtual
                self._near((level, name), tags.flows[name].tag - tags.virtual)

    def _near(self, flow: Flow, above: int) -> None:
        usual = (self._window(flow[0]) + Fraction(self.largest.get(flow, 1), self._weight(flow))) * L
        self.since_near[flow] = 0 if above <= usual else self.since_near.get(flow, 0)
        self.holds = max(self.holds, self.since_near[flow])

    def _begin(self, level: str, name: str, now: set[str]) -> None:
        """A flow came or went: what was measured of it begins anew."""
        for key in [key for key in self.ranges if key[0] == level and name in key[1:]]:
            del self.ranges[key]
        self.waiting.pop((level, name), None)
        self.overall.pop(name, None)
        if name in now:
            self.waiting[level, name] = Waiting()
            if level != ROOT:
                self.overall[name] = Waiting()

    # --- charges and corrections

    def _served(self, served: Served) -> None:
        charge = served.charge
        for level, name in ((ROOT, charge.name), (charge.name, charge.group)):
            keep(self.largest, (level, name), charge.cost)  # type: ignore[arg-type]  # kept under keys of many shapes
            weight = charge.class_weight if level == ROOT else charge.weight
            self._worked(level, name, charge.cost * L, weight)
            self.waiting[level, name] = Waiting()
        self._worked_overall(charge, charge.cost * L)
        self.overall[charge.group] = Waiting()

    def corrected(self, charge: Charge, excess: int) -> None:
        levels = self.book.tags.pools[()]
        before = levels[ROOT].flows[charge.name].tag, levels[charge.name].flows[charge.group].tag
        super().corrected(charge, excess)
        after = levels[ROOT].flows[charge.name].tag, levels[charge.name].flows[charge.group].tag
        self.excess = max(self.excess, excess)
        self._worked(ROOT, charge.name, (after[0] - before[0]) * charge.class_weight, charge.class_weight)
        self._worked(charge.name, charge.group, (after[1] - before[1]) * charge.weight, charge.weight)
        self._worked_overall(charge, (after[0] - before[0]) * charge.class_weight)

    def _worked(self, level: str, name: str, work: int, weight: int) -> None:
        there = self.there.get(level, set())
        for other in there - {name}:
            waiting = self.waiting[level, other]
            waiting.work += work
            waiting.whom.add(name)
            keep(self.seen.between, ((level, other), frozenset(waiting.whom)), waiting.work)  # type: ignore[arg-type]  # kept under keys of many shapes
        for other in there - {name} if name in there else ():
            one, two = sorted((name, other))
            at, low, high = self.ranges.get((level, one, two), (0, 0, 0))
            at += work // weight if name == one else -(work // weight)
            low, high = min(low, at), max(high, at)
            self.ranges[level, one, two] = (at, low, high)
            keep(self.seen.apart, (level, one, two), high - low)  # type: ignore[arg-type]  # kept under keys of many shapes

    def _worked_overall(self, charge: Charge, work: int) -> None:
        for name, waiting in self.overall.items():
            if name == charge.group:
                continue
            waiting.work += work
            at = class_of(self.policy, name)
            waiting.whom.add(charge.group if charge.name == at else f" {charge.name}")
            own = frozenset(each for each in waiting.whom if each[0] != " ")
            keep(self.seen.anywhere, (name, own, frozenset(waiting.whom - own)), waiting.work)  # type: ignore[arg-type]  # kept under keys of many shapes

    # --- the guard

    def _waits(self) -> dict[tuple[str, str], int]:
        return {
            (group, node): wait.passed for group, turns in self.book.turns.items() for node, wait in turns.waits.items()
        }

    def _guarded(self, served: Served, before: dict[tuple[str, str], int]) -> None:
        """A node with m older ones is dispatched within K + (m + 1)(K + 1) dispatches of its Group."""
        limit, waits = self.policy.pass_over_limit, self.book.turns[served.group].waits
        for node, wait in waits.items():
            older = sum(1 for each in waits.values() if each.number < wait.number)
            self.older.setdefault((served.group, node), older)
        key = (served.group, served.node)
        older = self.older.pop(key, 0)
        if limit and key in before:
            ratio = Fraction(before[key] + 1, limit + (older + 1) * (limit + 1))
            self.seen.guard = max(self.seen.guard, ratio)

    # --- the bounds

    def _c(self, flows: Iterable[Flow]) -> int:
        """The largest c = l + d·l_max + D·e of these flows; l is at least the unit by which a new Group is behind."""
        # With a limit of 0 a held node is still one start that waited while others came.
        drain = max(1, self.policy.drain_limit) * self.holds if self.had_wide else 0
        total = self.policy.slots or self.at_once
        most = max(self.largest.values(), default=0)
        return max(self.largest.get(flow, 1) for flow in flows) + drain * most + total * self.excess

    def _window(self, level: str) -> int:
        return self.policy.class_window if level == ROOT else self.policy.deadline_window

    def _weight(self, flow: Flow) -> int:
        level, name = flow
        if level == ROOT:
            return int(getattr(self.policy.classes, name))
        return self.policy.groups[name].weight if name in self.policy.groups else 1

    def _gamma(self, flow: Flow, whom: Iterable[str]) -> Fraction:
        """I4: the most that others of the level get between two services of a flow."""
        own = 2 * self._window(flow[0]) + Fraction(self._c([flow]), self._weight(flow))
        return sum(
            (self._weight((flow[0], name)) * own + self._c([(flow[0], name)]) for name in whom), start=Fraction(0)
        )

    def anywhere(self, name: str, own: Iterable[str], others: Iterable[str]) -> Fraction:
        """I5: the most that all others get between two services of a Group."""
        at = class_of(self.policy, name)
        most, weight = (
            self._c([(ROOT, each) for level, each in self.largest if level == ROOT]),
            self._weight((ROOT, at)),
        )
        classes = [each.strip() for each in others]
        every = sum(self._weight((ROOT, each)) for each in {at, *classes})
        found = (self._gamma((at, name), own) + most) * Fraction(every, weight)
        for each in classes:
            found += self._weight((ROOT, each)) * (Fraction(most, weight) + 2 * self.policy.class_window) + most
        return found

    def ratios(self) -> dict[str, Fraction]:
        """The largest value over its bound, of each bound."""
        found = {"I1": Fraction(0), "I3": Fraction(0), "I4": Fraction(0), "I5": Fraction(0), "guard": self.seen.guard}
        for flow, above in self.seen.above.items():
            bound = self._window(flow[0]) * L + self._c([flow]) * (L // self._weight(flow))
            found["I1"] = max(found["I1"], Fraction(above, bound))
        for (level, one, two), apart in self.seen.apart.items():
            share = sum(Fraction(self._c([(level, each)]), self._weight((level, each))) for each in (one, two))
            found["I3"] = max(found["I3"], Fraction(apart) / ((share + 2 * self._window(level)) * L))
        for (flow, whom), work in self.seen.between.items():
            found["I4"] = max(found["I4"], work / (self._gamma(flow, whom) * L))
        for (name, own, others), work in self.seen.anywhere.items():
            found["I5"] = max(found["I5"], work / (self.anywhere(name, own, others) * L))
        return found
