"""What one ask gets, from the words of scheduling.md §2, §3 and §5: every Group looked at anew, nothing kept in order.

It must not know the core. What may be taken, and at which score, it asks of a `View`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from tests.fairness.tags import RANKS, ROOT, L, Level, Sets, Standing, Tags, lighter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from metagit_mcp.domain.policy import SchedulePolicy

Key = tuple[str, str]
T = TypeVar("T")
MOST_AGED = 32


class Candidate(NamedTuple):
    """A node that nothing but slots, quota and holds keeps from who asks.

    `order` is that of §2: given back by who asks, score descending, tokens, id; `compared` is the score that counts
    across Groups, where it is another one; `due` is the deadline in seconds of whatever clock, if it is near.
    """

    group: str
    node: str
    slots: int
    cost: int
    order: tuple[bool, int, int, str]
    due: float = float("inf")
    urgency: int = 0
    owned: bool = False
    compared: int | None = None

    @property
    def key(self) -> tuple[float, int, int, int]:
        """4. Deadline, urgency, then the order of §2 but for the id, which says nothing between Groups."""
        _, score, tokens, _ = self.order
        return (self.due, -self.urgency, score if self.compared is None else self.compared, tokens)


@dataclass(frozen=True, kw_only=True)
class Who:
    """Who asks, and what it can do; without a name it is anybody of a pool."""

    agent: str = ""
    can: frozenset[str] = frozenset()


class View(Protocol):
    """The workspace as it is. `busy` are the classes of Groups in which something runs."""

    @property
    def policy(self) -> SchedulePolicy: ...
    @property
    def groups(self) -> Iterable[str]: ...
    @property
    def named(self) -> Sets: ...
    @property
    def busy(self) -> frozenset[str]: ...
    def once(self, key: tuple[object, ...], work: Callable[[], T]) -> T:
        """Keep an answer until something changes."""

    def takeable(self, group: str, who: Who) -> list[Candidate]:
        """What nothing but slots keeps from the agent, in any order."""

    def shelved(self, group: str) -> Mapping[str, tuple[int, int, str]]:
        """All nodes that are ready by themselves, each with its place in the order of §2, without its repository."""

    def used(self, group: str | None = None) -> int:
        """The slots in use."""


@dataclass
class Wait:
    """The age of a node: its number, and how often it was passed over."""

    number: int
    passed: int = 0


@dataclass
class Turns:
    """The dispatches of one Group."""

    count: int = 0
    guards: list[int] = field(default_factory=list)
    waits: dict[str, Wait] = field(default_factory=dict)
    numbered: int = 0
    lacking: str | None = None
    others: int = 0


@dataclass
class Kept:
    """The slots that are kept for a node."""

    group: str
    node: str
    slots: int
    starts: int = 0
    filled: bool = False


@dataclass(frozen=True, kw_only=True)
class Offered:
    """What a Group would give; `lacking` is the best node where it lacks only quota.

    `place` is that of the Group where all are ranked by score: the guard decides inside its Group.
    """

    candidate: Candidate | None
    guard: int = 0
    lacking: str | None = None
    place: tuple[bool, int, int, str] = (False, 0, 0, "")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What an ask gets; `wide` is for what slots are held from now on."""

    candidate: Candidate | None = None
    guard: int = 0
    is_turn: bool = False
    wide: Candidate | None = None


class Book:
    """All that is remembered between asks: tags, turns, and the slots that are kept."""

    def __init__(self) -> None:
        self.tags = Tags()
        self.turns: dict[str, Turns] = {}
        self.kept: Kept | None = None

    # --- one Group

    def offered(self, view: View, group: str, who: Who) -> Offered:
        every = sorted(view.takeable(group, who), key=lambda each: each.order)
        if not every:
            return Offered(candidate=None)
        head, guard = self._guarded(view, group, every)
        room = quota(view.policy, group)
        if room is None or view.used(group) + head.slots <= room:
            return Offered(candidate=head, guard=guard, place=every[0].order)
        turns = self.turns.get(group, Turns())
        if (turns.others if turns.lacking == head.node else 0) >= view.policy.drain_limit:
            return Offered(candidate=None, lacking=head.node, place=every[0].order)
        fitting = [each for each in every if view.used(group) + each.slots <= room]
        place = (fitting or every)[0].order
        return Offered(candidate=fitting[0] if fitting else None, lacking=head.node, place=place)

    def _guarded(self, view: View, group: str, every: list[Candidate]) -> tuple[Candidate, int]:
        """2. The oldest that was passed over K times, if none of the last K picks was the guard's."""
        limit, turns = view.policy.pass_over_limit, self.turns.get(group)
        if limit == 0 or turns is None or any(at > turns.count - limit for at in turns.guards):
            return every[0], 0
        own = {each.node: each for each in every if not each.order[0]}
        aged = [(wait.number, name) for name, wait in turns.waits.items() if name in own and wait.passed >= limit]
        if not aged or min(aged)[1] == every[0].node:
            return every[0], 0
        name = min(aged)[1]
        return own[name], turns.waits[name].passed

    # --- one ask

    def ask(self, view: View, who: Who, group: str | None = None) -> Answer:
        total = view.policy.slots
        free = None if total is None else total - view.used()
        if free is not None and free < 1:
            return Answer()
        every = {name: self.offered(view, name, who) for name in view.groups if group in {None, name}}
        first, wide = self._first(view, every, who, self.kept, group), None
        if first is not None and free is not None and first.slots > free:
            wide = first
            first = self._first(view, every, who, Kept(wide.group, wide.node, wide.slots), group)
        if first is None:
            return Answer(wide=wide)
        is_turn = group is None and view.policy.ordering == "fair" and not first.owned
        is_turn = is_turn and first.group in self.standing(view, who).eligible
        offer = every[first.group]
        is_held = self.kept is not None and self.kept.group == first.group
        guard = offer.guard if offer.candidate == first and not is_held else 0
        return Answer(candidate=first, guard=guard, is_turn=is_turn, wide=wide)

    def _first(
        self, view: View, every: Mapping[str, Offered], who: Who, kept: Kept | None, group: str | None
    ) -> Candidate | None:
        usable = {name: self._usable(view, name, who, offer, kept) for name, offer in every.items()}
        offers = {name: each for name, each in usable.items() if each is not None}
        # What the asker gave back comes after all else that it may take.
        offers = {name: each for name, each in offers.items() if not each.order[0]} or offers
        if not offers:
            return None
        if group is not None:
            return offers[group]
        if view.policy.ordering == "score":
            return offers[min(offers, key=lambda name: (every[name].place, name))]
        return self._in_turn(view, offers, who)

    @staticmethod
    def _usable(view: View, name: str, who: Who, offer: Offered, kept: Kept | None) -> Candidate | None:
        """7. While slots are kept, the Group of the held node gives only it, and others leave it its slots."""
        free = None if view.policy.slots is None else view.policy.slots - view.used()
        found = offer.candidate
        if kept is not None and kept.group == name:
            found = held(view, kept, who) if found is not None or offer.lacking is None else None
            return found if found is not None and (free is None or found.slots <= free) else None
        if found is None or free is None or kept is None:
            return found
        if found.slots > free:
            return None
        is_drained = kept.starts >= view.policy.drain_limit
        return None if is_drained and free - found.slots < kept.slots else found

    def _in_turn(self, view: View, offers: Mapping[str, Candidate], who: Who) -> Candidate:
        levels = self.tags.seen(satisfied(view.named, who.can), self.standing(view, who))
        policy = view.policy
        rows: dict[str, list[tuple[tuple[float, int, int, int], int, str]]] = {}
        for name, each in offers.items():
            at = class_of(policy, name)
            rows.setdefault(at, []).append((each.key, _tag(levels[at], name, weight_of(policy, name), 1), name))
        classes = [
            (RANKS.index(name), _tag(levels[ROOT], name, getattr(policy.classes, name), 0), name) for name in rows
        ]
        least = min(tag for _, tag, _ in classes)
        chosen = min(each for each in classes if each[1] <= least + policy.class_window * L)[2]
        least = min(tag for _, tag, _ in rows[chosen])
        return offers[min(each for each in rows[chosen] if each[1] <= least + policy.deadline_window * L)[2]]

    def standing(self, view: View, who: Who) -> Standing:
        """Which Groups are eligible for the pool, whoever of it asks."""
        key = ("standing", satisfied(view.named, who.can))
        return view.once(key, lambda: self._standing(view, who))

    def _standing(self, view: View, who: Who) -> Standing:
        policy = view.policy
        anybody = Who(can=frozenset(name for names in satisfied(view.named, who.can) for name in names))
        eligible = {}
        for name in view.groups:
            if self.offered(view, name, anybody).candidate is not None:
                eligible[name] = (class_of(policy, name), weight_of(policy, name))
        every = {*view.groups, *policy.groups}
        return Standing(
            eligible=eligible,
            weight_of={name: weight_of(policy, name) for name in every},
            class_of={name: class_of(policy, name) for name in every},
            there=frozenset(view.groups),
            class_weight={name: getattr(policy.classes, name) for name in RANKS},
            running=view.busy,
        )

    # --- what a start does to its Group

    def started(self, view: View, key: Key, guard: int, lacking: str | None) -> None:
        """Every node that waits was passed over once more, but the one that is started."""
        group, node = key
        turns = self.turns.setdefault(group, Turns())
        ready = view.shelved(group)
        new = sorted((place, name) for name, place in ready.items() if name not in turns.waits)
        for _, name in new[:MOST_AGED]:
            turns.waits[name] = Wait(turns.numbered)
            turns.numbered += 1
        for name, wait in turns.waits.items():
            wait.passed += name in ready
        turns.waits.pop(node, None)
        turns.count += 1
        if guard:
            turns.guards.append(turns.count)
        is_same = lacking is not None and lacking == turns.lacking
        turns.others = turns.others + 1 if is_same else int(lacking is not None)
        turns.lacking = lacking
        if self.kept is not None:
            self.kept = None if (self.kept.group, self.kept.node) == key else self._counted(self.kept)

    @staticmethod
    def _counted(kept: Kept) -> Kept:
        return Kept(kept.group, kept.node, kept.slots, kept.starts + 1, kept.filled)


def _tag(level: Level, name: str, weight: int, behind: int) -> int:
    """S, or what it would be of a flow that is not eligible: nobody but one agent may take something of it."""
    flow = level.flows.get(name)
    if flow is not None and flow.eligible:
        return flow.tag
    if flow is None or not flow.settled:
        return level.virtual + behind * (L // weight)
    return max(level.virtual, lighter(flow.tag, level.virtual, flow.weight, weight))


def held(view: View, kept: Kept, who: Who) -> Candidate | None:
    """The node for which slots are kept, where nothing but free slots keeps it from who asks."""
    found = next((each for each in view.takeable(kept.group, who) if each.node == kept.node), None)
    room = quota(view.policy, kept.group)
    is_within = found is None or room is None or view.used(kept.group) + found.slots <= room
    return found if is_within else None


def satisfied(named: Sets, can: frozenset[str]) -> Sets:
    return tuple(names for names in named if can >= set(names))


def class_of(policy: SchedulePolicy, group: str) -> str:
    return policy.groups[group].priority_class if group in policy.groups else "normal"


def weight_of(policy: SchedulePolicy, group: str) -> int:
    return policy.groups[group].weight if group in policy.groups else 1


def quota(policy: SchedulePolicy, group: str) -> int | None:
    return policy.groups[group].quota if group in policy.groups else None
