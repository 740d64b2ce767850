"""Counts what each steady Group and class was given, and compares it with the bounds of scheduling.md §4.

It must not import any part of the package. Shares and windows are read from the policy in force at each start, charges
and picks from the ledger. Numbers are units of cost at weight 1. What is counted between
two starts is counted under one policy: each change begins anew. So does a start that was no pick: an owner that resumes
its work is charged for it, and taken for served. The window is the largest that was ever in force, since tags that one
allowed stay when it becomes smaller.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from tests.soak.place import STEADY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.soak.rows import Row

Json = dict[str, Any]
ROOT: Final = ""
L: Final = 720_720
_CLASS_OF: Final = {graph_id: name for name, steady in STEADY.items() for graph_id in steady}
# In `low` things happen that no bound counts; the other classes always have work.
_COUNTED: Final = {ROOT: tuple(STEADY), **STEADY}


@dataclass(frozen=True)
class Given:
    """A start: what it cost whom under which policy, and whether it was the pick of an ask."""

    graph_id: str
    priority_class: str
    cost: int
    policy: Json
    is_pick: bool


@dataclass
class Bounds:
    """The largest value over its bound, and what makes the bounds."""

    policies: Mapping[str, Json]
    worst: dict[str, tuple[Fraction, str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    received: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    guaranteed: defaultdict[str, dict[str, Fraction]] = field(default_factory=lambda: defaultdict(dict))
    picks: int = 0
    stretches: int = 0
    longest: int = 0
    holds: int = 0
    _largest: Counter[tuple[str, str]] = field(default_factory=Counter)
    _most: int = 1
    _window: Counter[str] = field(default_factory=Counter)
    _tags: dict[tuple[str, str], Json] = field(default_factory=dict)

    def follow(self, rows: Iterable[Row]) -> Bounds:
        """Count all starts."""
        found = [row for row in rows if row.kind in {"work_started", "slots_held"}]
        self.holds = sum(row.kind == "slots_held" for row in found)
        given = [self._given(row.body) if row.kind == "work_started" else None for row in found]
        for each in given:
            if each is not None:
                self._most = max(self._most, each.cost)
                self._window["class_window"] = max(self._window["class_window"], each.policy["class_window"])
                self._window["deadline_window"] = max(self._window["deadline_window"], each.policy["deadline_window"])
                for flow in ((ROOT, each.priority_class), (each.priority_class, each.graph_id)):
                    self._largest[flow] = max(self._largest[flow], each.cost)
        for row in found:
            if row.kind == "work_started":
                self._tagged(row.body["dispatch"])
        for stretch in _stretches(given):
            self._stretch(stretch)
        return self

    def _given(self, body: Json) -> Given | None:
        lease, dispatch = body["lease"], body["dispatch"]
        share = dispatch["share"]
        policy = self.policies.get(dispatch["policy_revision"])
        if policy is None:
            self.faults.append(f"a start under policy {dispatch['policy_revision']}, which nobody set")
            return None
        graph_id = lease["graph_id"]
        known = policy["groups"].get(graph_id, {})
        said = (share["priority_class"], share["class_weight"], share["group_weight"])
        own = known.get("class", "normal")
        if said != (own, policy["classes"][own], known.get("weight", 1)):
            self.faults.append(f"{graph_id} was charged as {said}")
        return Given(graph_id, own, lease["holding"]["cost"], policy, dispatch.get("pick") is not None)

    # --- I1, from the tags that the ledger tells

    def _tagged(self, dispatch: Json) -> None:
        if dispatch.get("pick") is None:
            return
        for level in dispatch["pick"]["levels"]:
            name = level["level"]
            for flow, tag in level["flows"].items():
                self._tags[name, flow] = tag
            for flow in level["gone"]:
                self._tags.pop((name, flow), None)
            window = self._b(name)
            for flow in _COUNTED.get(name, ()):
                tag = self._tags.get((name, flow))
                if tag is not None and tag["eligible"]:
                    above = Fraction(tag["tag"] - level["virtual"], L)
                    charge = self._c(name, flow, self.holds)
                    self._keep("I1", above / (window + Fraction(charge, tag["weight"])), f"{name or 'root'}: {flow}")

    # --- I3 and I4, from what was given

    def _stretch(self, stretch: list[Given | None]) -> None:
        starts = [each for each in stretch if each is not None]
        if not starts:
            return
        holds = stretch.count(None)
        self.stretches += 1
        self.picks += sum(each.is_pick for each in starts)
        self.longest = max(self.longest, len(starts))
        for level, flows in _COUNTED.items():
            weights = {flow: _weight(starts[0].policy, level, flow) for flow in flows}
            window = self._b(level)
            at_level = [(_flow(each, level), each) for each in starts if _flow(each, level)]
            total = sum(each.cost for flow, each in at_level if flow in weights)
            for flow in flows:
                due = Fraction(total * weights[flow], sum(weights.values()))
                self.guaranteed[level][flow] = self.guaranteed[level].get(flow, Fraction(0)) + due
                self.received[level][flow] += sum(each.cost for name, each in at_level if name == flow)
            for one, other in combinations(flows, 2):
                self._apart(level, (one, other), at_level, weights, window, holds)
            for flow in flows:
                self._between(level, flow, at_level, starts[0].policy, window, holds)

    def _apart(
        self,
        level: str,
        pair: tuple[str, str],
        at_level: list[tuple[str, Given]],
        weights: Mapping[str, int],
        window: int,
        holds: int,
    ) -> None:
        bound = 2 * window + sum(Fraction(self._c(level, flow, holds), weights[flow]) for flow in pair)
        at = low = high = Fraction(0)
        for flow, each in at_level:
            if flow not in pair:
                continue
            if not each.is_pick:
                at = low = high = Fraction(0)
                continue
            at += Fraction(each.cost if flow == pair[0] else -each.cost, weights[flow])
            low, high = min(low, at), max(high, at)
            self._keep("I3", (high - low) / bound, f"{level or 'root'}: {pair[0]}, {pair[1]}")

    def _between(
        self, level: str, flow: str, at_level: list[tuple[str, Given]], policy: Json, window: int, holds: int
    ) -> None:
        """What others of the level were given between two starts of a flow."""
        own = 2 * window + Fraction(self._c(level, flow, holds), _weight(policy, level, flow))
        work: Counter[str] = Counter()
        for name, each in at_level:
            if name == flow:
                work.clear()
            elif each.is_pick:
                work[name] += each.cost
                bound = sum(_weight(policy, level, other) * own + self._c(level, other, holds) for other in work)
                self._keep("I4", Fraction(work.total()) / bound, f"{level or 'root'}: {flow}")

    def _b(self, level: str) -> int:
        return self._window["class_window" if level == ROOT else "deadline_window"]

    def _c(self, level: str, flow: str, holds: int) -> int:
        """The largest charge of a flow, and what may be started beside a wide node while slots are kept for it."""
        return max(1, self._largest[level, flow]) + 3 * self._most * holds

    def _keep(self, name: str, value: Fraction, what: str) -> None:
        if name not in self.worst or value > self.worst[name][0]:
            self.worst[name] = (value, what)


def _flow(each: Given, level: str) -> str:
    if level == ROOT:
        return each.priority_class
    return each.graph_id if each.priority_class == level else ""


def _weight(policy: Json, level: str, flow: str) -> int:
    if level == ROOT:
        return int(policy["classes"][flow])
    return int(policy["groups"].get(flow, {}).get("weight", 1))


def _stretches(given: Iterable[Given | None]) -> list[list[Given | None]]:
    """The starts between two changes of the policy; None stands for slots that were kept."""
    made: list[list[Given | None]] = []
    policy: Json | None = None
    for each in given:
        if each is not None and each.policy is not policy:
            policy = each.policy
            made.append([])
        if made:
            made[-1].append(each)
    return made
