"""The tags of scheduling.md §3 as its words say them: a dictionary per pool, everything worked out anew at each start.

It must not know the core: neither its fold nor its order. Numbers are whole, and nothing is kept but what was told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

L = 720_720
ROOT = ""
RANKS = ("critical", "high", "normal", "low")
# The capability sets that the askers of a pool satisfy, each sorted, in order.
Sets = tuple[tuple[str, ...], ...]


@dataclass
class Flow:
    """S and the weight as last told; `settled`: it was charged, or came from another class, and is new no longer."""

    tag: int
    weight: int
    eligible: bool = False
    settled: bool = False


@dataclass
class Level:
    """V, the largest tag ever given, and the flows."""

    virtual: int = 0
    top: int = 0
    flows: dict[str, Flow] = field(default_factory=dict)

    def copy(self) -> Level:
        flows = {name: Flow(each.tag, each.weight, each.eligible, each.settled) for name, each in self.flows.items()}
        return Level(self.virtual, self.top, flows)

    def give(self, name: str, flow: Flow) -> None:
        self.flows[name] = flow
        self.top = max(self.top, flow.tag)


Levels = dict[str, Level]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a pool sees before a start: class and weight of each eligible Group, and the classes as policy says.

    `there` are the Groups that have a file, `running` the classes in which something runs.
    """

    eligible: Mapping[str, tuple[str, int]]
    class_of: Mapping[str, str]
    weight_of: Mapping[str, int]
    there: frozenset[str]
    class_weight: Mapping[str, int]
    running: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Charge:
    """One charge: the class and the weights then, and the windows in units."""

    group: str
    name: str
    class_weight: int
    weight: int
    cost: int
    class_window: int = 0
    window: int = 0


def lighter(tag: int, virtual: int, before: int, after: int) -> int:
    """2. Raising a weight: S := V + (S - V)·w_old // w_new if S > V; lowering: S stays."""
    return virtual + (tag - virtual) * before // after if after > before and tag > virtual else tag


def blank() -> Levels:
    return {name: Level() for name in (ROOT, *RANKS)}


class Tags:
    """All pools, by the sets that their askers satisfy."""

    def __init__(self) -> None:
        self.pools: dict[Sets, Levels] = {}

    def parent(self, pool: Sets) -> Sets | None:
        """The pool that one is split from: the one with the most alike sets, then by name."""
        wanted = set(pool)
        return min(self.pools, key=lambda each: (len(wanted ^ set(each)), spelt(each)), default=None)

    def seen(self, pool: Sets, standing: Standing) -> Levels:
        """The levels as they are just before a start of the pool, which tells all that changed since its last one."""
        found = self.pools.get(pool)
        if found is None:
            parent = self.parent(pool)
            found = blank() if parent is None else self.pools[parent]
        levels = {name: level.copy() for name, level in found.items()}
        busy = {name for name, level in levels.items() if any(flow.eligible for flow in level.flows.values())}
        busy |= standing.running | ({ROOT} if standing.running else set())
        moved = self._leave(levels, standing)
        rows: dict[str, dict[str, int]] = {name: {} for name in RANKS}
        for group, (name, weight) in standing.eligible.items():
            rows[name][group] = weight
        classes = {name: standing.class_weight[name] for name in RANKS if rows[name]}
        event(levels[ROOT], classes, {}, busy=ROOT in busy, is_root=True)
        for name in RANKS:
            event(levels[name], rows[name], moved[name], busy=name in busy, is_root=False)
        return levels

    @staticmethod
    def _leave(levels: Levels, standing: Standing) -> dict[str, dict[str, int]]:
        """Groups of another class leave a level, and those without a file that are owed nothing are forgotten.

        Return which Groups come into each class from another one, with their weights.
        """
        moved: dict[str, dict[str, int]] = {name: {} for name in RANKS}
        for name in RANKS:
            level = levels[name]
            for group, flow in list(level.flows.items()):
                now = standing.class_of.get(group, "normal")
                if now != name:
                    del level.flows[group]
                    if group in standing.there:
                        moved[now][group] = standing.weight_of.get(group, 1)
                elif group not in standing.there and flow.tag <= level.virtual:
                    del level.flows[group]
        return moved

    def pick(self, pool: Sets, standing: Standing, charge: Charge, named: Sets) -> None:
        """3 and 5. V moves, then the pick is charged at both levels."""
        levels = self.seen(pool, standing)
        for level, name, weight in (
            (levels[ROOT], charge.name, charge.class_weight),
            (levels[charge.name], charge.group, charge.weight),
        ):
            least = min(flow.tag for flow in level.flows.values() if flow.eligible)
            level.virtual = max(level.virtual, least)
            flow = level.flows[name]
            level.give(name, Flow(flow.tag + charge.cost * L // weight, weight, eligible=True, settled=True))
        self._keep(pool, levels, named)

    def _keep(self, pool: Sets, levels: Levels, named: Sets) -> None:
        self.pools[pool] = levels
        for each in list(self.pools):
            if not set(each) <= set(named):
                del self.pools[each]

    def rest(self, pool: Sets, standing: Standing, named: Sets) -> bool:
        """2. An ask that finds nothing eligible and nothing running tells it, where it was not told; say whether."""
        levels = self.pools.get(pool, {})
        is_told = not any(flow.eligible for level in levels.values() for flow in level.flows.values())
        if standing.eligible or standing.running or is_told:
            return False
        self._keep(pool, self.seen(pool, standing), named)
        return True

    def other(self, charge: Charge, but: Sets | None = None) -> None:
        """5. A start that was no pick of a pool is charged there too, up to one window and its charge past V."""
        if not self.pools:
            self.pools[()] = blank()
        for pool, levels in self.pools.items():
            if pool == but:
                continue
            _lift(levels[ROOT], charge.name, charge.class_weight, charge.cost, charge.class_window)
            _lift(levels[charge.name], charge.group, charge.weight, charge.cost, charge.window)

    def correct(self, charge: Charge, excess: int) -> None:
        """6. The charge of a lease that ended becomes what was used, at the larger of the weights then and now."""
        for levels in self.pools.values():
            for level, name, weight in (
                (levels[ROOT], charge.name, charge.class_weight),
                (levels[charge.name], charge.group, charge.weight),
            ):
                flow = level.flows.get(name)
                if flow is None:
                    continue
                tag = flow.tag + excess * L // max(weight, flow.weight)
                tag = max(tag, level.virtual) if flow.eligible else tag
                level.give(name, Flow(tag, flow.weight, flow.eligible, flow.settled))


def spelt(pool: Sets) -> str:
    return "|".join("+".join(names) for names in pool)


def event(level: Level, rows: Mapping[str, int], moved: Mapping[str, int], *, busy: bool, is_root: bool) -> None:
    """2. Arrivals and new weights, then departures; flows that stay keep their own S.

    `busy`: before the event something at the level was eligible or ran.
    """
    arrives = any(name not in level.flows or not level.flows[name].eligible for name in rows)
    if not busy and arrives:
        level.virtual = max(level.virtual, level.top)
    for name in moved.keys() - level.flows.keys():
        # Entering a class: S := V of that class.
        level.give(name, Flow(level.virtual, moved[name], settled=True))
    for name, weight in rows.items():
        level.give(name, _entered(level, name, weight, is_root=is_root))
    for name, flow in level.flows.items():
        flow.eligible = name in rows


def _entered(level: Level, name: str, weight: int, *, is_root: bool) -> Flow:
    before, virtual = level.flows.get(name), level.virtual
    settled = before is not None and before.settled
    if before is not None and (before.eligible or before.settled):
        tag = lighter(before.tag, virtual, before.weight, weight)
        return Flow(tag if before.eligible else max(virtual, tag), weight, eligible=True, settled=settled)
    return Flow(virtual + (0 if is_root else L // weight), weight, eligible=True, settled=settled)


def _lift(level: Level, name: str, weight: int, cost: int, window: int) -> None:
    before, virtual = level.flows.get(name), level.virtual
    tag, eligible = virtual, False
    if before is not None:
        tag, eligible = lighter(before.tag, virtual, before.weight, weight), before.eligible
    if not eligible:
        tag = max(virtual, tag)
    charge = cost * L // weight
    most = virtual + window * L + charge
    level.give(name, Flow(max(tag, min(tag + charge, most)), weight, eligible, settled=True))
