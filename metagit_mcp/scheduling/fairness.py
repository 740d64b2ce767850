"""Whose turn it is among classes and Groups, in one pool (scheduling.md §3). Knows neither slots nor who asks.

Classes are the flows of the root, Groups those of their class. Everything here follows from the ledger, the policy
and what each Group would give the pool; a pick changes nothing until its start is an event.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

from metagit_mcp.domain.policy import CLASSES, SchedulePolicy, class_of, weight_of
from metagit_mcp.domain.shares import LCM, ROOT, Level, Pool, PoolChange, pool_name
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.scheduling.flows import Key
from metagit_mcp.scheduling.levels import LevelNow
from metagit_mcp.scheduling.moment import Moment
from metagit_mcp.scheduling.scoring import URGENCY, is_due_soon
from metagit_mcp.scheduling.standing import Offer

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
# Says what a Group would give the ask at hand, or None.
Usable = Callable[[str], Offer | None]
Satisfied = tuple[tuple[str, ...], ...]

# The class of a Group that the policy does not name.
_UNNAMED: Final = class_of(SchedulePolicy(), "")


def _named_in(policy: SchedulePolicy) -> dict[str, set[str]]:
    """Return the Groups that the policy names, by class."""
    found: dict[str, set[str]] = {name: set() for name in CLASSES}
    for graph_id in policy.groups:
        found[class_of(policy, graph_id)].add(graph_id)
    return found


class FairOrder:
    """The levels of one pool over the moment that its askers share; it follows both."""

    def __init__(self, satisfied: Satisfied, moment: Moment, policy: SchedulePolicy, work: LedgerState) -> None:
        """Look at every Group once."""
        self.satisfied = satisfied
        self._name = pool_name(satisfied)
        self.moment = moment
        self._policy = policy
        self._named = _named_in(policy)
        self._work = work
        # What the ledger knows of the pool's levels.
        self._origin, self._known = self._traced(work)
        self._root = LevelNow(
            ROOT,
            policy.class_window * LCM,
            self._known.get(ROOT),
            enters_behind=False,
            is_small=True,
            is_running=self._runs_any,
        )
        self._classes: dict[str, LevelNow] = {
            name: LevelNow(
                name,
                policy.deadline_window * LCM,
                self._known.get(name),
                enters_behind=True,
                is_running=partial(self._runs_any_of, name),
            )
            for name in CLASSES
        }
        self._eligible: dict[str, int] = dict.fromkeys(CLASSES, 0)
        self._class_of: dict[str, str] = {}
        # Groups known in a level that are in another class, or have no file any more.
        self._gone: dict[str, set[str]] = {name: set() for name in CLASSES}
        self._note_gone()
        moment.take_changed()
        self._look_at(moment.groups)

    # --- following

    def follow(self, work: LedgerState) -> bool:
        """Take over what happened since, in the ledger and in what Groups would give.

        False: the pool has tags of another origin than those that were followed, and all is to be looked at anew. It
        was split off or dropped since; or it is not split off yet, and the one it will be split from went on.
        """
        origin, known = self._traced(work)
        if origin is not self._origin:
            return False
        self._work, self._known = work, known
        # A lease that ended may have been charged to a class that none of the Groups at hand is in.
        self._root.follow(known.get(ROOT))
        for name, level in self._classes.items():
            is_used = name in known or self._eligible[name]
            if is_used and level.follow(known.get(name)) and self._gone[name]:
                self._gone[name] &= self._known_in(name).keys()
        self._look_at(self.moment.take_changed())
        return True

    def _traced(self, work: LedgerState) -> tuple[object, Mapping[str, Level]]:
        """Return where the tags come from, and the levels with them, as the ledger knows them.

        They come from the pool itself; a new pool has those of the one it is split from, by its root as it is now.
        """
        pools = work.shares.pools
        found = pools.get(self._name)
        if found is not None:
            return found, found.levels
        split_from = self._nearest(pools)
        levels = {} if split_from is None else pools[split_from].levels
        return levels.get(ROOT), levels

    def adopt(self, policy: SchedulePolicy) -> None:
        """Go on under a policy with other shares; the Groups that feel it are looked at when they are asked for."""
        self._policy = policy
        self._named = _named_in(policy)
        self._put_classes(CLASSES)
        self._note_gone()

    def split_from(self) -> str | None:
        """Return the known pool whose askers this one's were among: that with the most alike sets, then by name."""
        return self._nearest(self._work.shares.pools)

    def _nearest(self, known: Mapping[str, Pool]) -> str | None:
        wanted = set(self.satisfied)
        return min(known, key=lambda name: (len(wanted ^ set(known[name].satisfied)), name), default=None)

    def _runs_any(self) -> bool:
        """Say whether anything runs."""
        return bool(self._work.leases or self._work.shares.runs)

    def _runs_any_of(self, name: str) -> bool:
        """Say whether anything of the class runs."""
        if not self._runs_any():
            return False
        leases, runs = self._work.leases.values(), self._work.shares.runs.keys()
        if any(class_of(self._policy, lease.graph_id) == name for lease in leases):
            return True
        # Other programs may run something in a great many Groups: none is gone through that the policy need not name.
        if not runs.isdisjoint(self._named[name]):
            return True
        return name == _UNNAMED and any(graph_id not in self._policy.groups for graph_id in runs)

    def _look_at(self, graph_ids: Iterable[str]) -> None:
        """Put Groups in again, then the classes that one of them is newly in, or no longer."""
        touched: set[str] = set()
        for graph_id in graph_ids:
            name, before = class_of(self._policy, graph_id), self._class_of.get(graph_id)
            known, offer = self._known_in(name), self.moment.offer(graph_id)
            after = None if offer is None else name
            if before != after:
                touched |= self._move(graph_id, before, after)
            is_gone = offer is None and graph_id in known and graph_id not in self.moment.groups
            (self._gone[name].add if is_gone else self._gone[name].discard)(graph_id)
            if offer is None:
                self._classes[name].put(graph_id, None)
                continue
            is_moved = graph_id not in known and any(graph_id in self._known_in(each) for each in CLASSES)
            weight = weight_of(self._policy, graph_id)
            self._classes[name].put(graph_id, weight, self._key(offer), is_moved=is_moved)
        if touched:
            self._put_classes(touched)

    def _move(self, graph_id: str, before: str | None, after: str | None) -> set[str]:
        """Count a Group among the eligible ones of another class than before; return both classes."""
        if before is not None:
            self._eligible[before] -= 1
            self._classes[before].put(graph_id, None)
            del self._class_of[graph_id]
        if after is not None:
            self._eligible[after] += 1
            self._class_of[graph_id] = after
        return {name for name in (before, after) if name is not None}

    def _note_gone(self) -> None:
        """Note which Groups are in another class than the level's, or have no file any more."""
        graph_ids = self.moment.groups
        for name in CLASSES:
            self._gone[name] = {
                each for each in self._known_in(name) if each not in graph_ids or class_of(self._policy, each) != name
            }

    def _put_classes(self, names: Iterable[str]) -> None:
        for rank, name in enumerate(CLASSES):
            if name in names:
                self._root.put(name, self.class_weight(name) if self._eligible[name] else None, rank)

    def _known_in(self, name: str) -> Mapping[str, object]:
        level = self._known.get(name)
        return {} if level is None else level.flows

    def _key(self, offer: Offer) -> Key:
        """Return what orders Groups within the window: the deadline where it is near, urgency, then §2."""
        node, deadline = offer.node, _NEVER
        if node.deadline is not None:
            now = self.moment.groups[offer.graph_id].rules.now
            if is_due_soon(node, self._policy.deadline_horizon_seconds, now):
                deadline = node.deadline
        # The name of a node decides nothing between Groups: of alike heads the smaller tag goes first.
        return (deadline, -URGENCY[node.requested_urgency], -offer.micros, offer.tokens)

    # --- picking

    def next(self) -> Offer | None:
        """Return what is started next where the ask may take all that Groups would give anybody."""
        name = self._root.flows.first()
        graph_id = None if name is None else self._classes[name].flows.first()
        return None if graph_id is None else self.moment.offer(graph_id)

    def pick(self, usable: Usable, also: Collection[str] = (), *, is_anybody: bool = True) -> Offer | None:
        """Return what is started next, of what the ask may take; `also` are Groups of which only it may take something.

        Almost always the first in order may be taken, and nobody else is looked at. Groups are in the order of what
        they would give anybody: where the asker would be given another thing (not `is_anybody`), all are looked at.
        """
        found = self._first(usable) if is_anybody and not also else None
        return found or self._pick_among(usable, tuple(also))

    def _first(self, usable: Usable) -> Offer | None:
        """Return what the first of all would give, if that is the pick among those which the ask may take as well."""
        flows = self._root.flows
        name = flows.first()
        found = None if name is None else self._first_of(name, usable)
        if name is None or found is None:
            return None
        is_same_window = flows.tag(name) == flows.least or any(self._first_of(each, usable) for each in flows.at_least)
        return found if is_same_window else None

    def _first_of(self, name: str, usable: Usable) -> Offer | None:
        """Return the same of one class: the window begins where it does for all if the least tag may be taken."""
        flows = self._classes[name].flows
        first = flows.first()
        found = None if first is None else usable(first)
        if first is None or found is None:
            return None
        is_same_window = flows.tag(first) == flows.least or any(map(usable, flows.at_least))
        return found if is_same_window else None

    def _pick_among(self, usable: Usable, also: tuple[str, ...]) -> Offer | None:
        offers: dict[str, Offer] = {}
        rows: dict[str, list[tuple[str, int, Key]]] = {}
        for name in CLASSES:
            level = self._classes[name]
            graph_ids = [*level.flows, *(each for each in also if each not in level.flows)]
            for graph_id in graph_ids:
                if class_of(self._policy, graph_id) != name or (offer := usable(graph_id)) is None:
                    continue
                offers[graph_id] = offer
                tag = self._tag(level, graph_id)
                # Across Groups the terms of the asker are left out.
                _, negative, *_ = self.moment.head_of(self.moment.groups[graph_id], offer.node_id)
                key = self._key(offer._replace(micros=-negative))
                rows.setdefault(name, []).append((graph_id, tag, key))
        classes = [(name, self._root.tag_for(name, self.class_weight(name)), CLASSES.index(name)) for name in rows]
        first = self._root.flows.first_of(classes)
        if first is None:
            return None
        graph_id = self._classes[first].flows.first_of(rows[first])
        return None if graph_id is None else offers[graph_id]

    def _tag(self, level: LevelNow, graph_id: str) -> int:
        if graph_id in level.flows:
            return level.flows.tag(graph_id)
        return level.tag_for(graph_id, weight_of(self._policy, graph_id))

    def tags(self, graph_id: str) -> tuple[int, int]:
        """Return the tags that a Group and its class have now, the class's first."""
        name = class_of(self._policy, graph_id)
        root = self._root.tag_for(name, self.class_weight(name))
        return root, self._tag(self._classes[name], graph_id)

    def is_eligible(self, graph_id: str) -> bool:
        """Say whether the Group counts among those that the pool's askers may be given work of."""
        return graph_id in self._class_of

    def change(self, graph_id: str, cost: int, named: Collection[tuple[str, ...]]) -> PoolChange:
        """Return how the pick of an eligible Group leaves the pool; `named` are all sets that nodes name."""
        picked = class_of(self._policy, graph_id)
        charged = {ROOT: picked, picked: graph_id}
        return self._changed(charged, cost, named)

    def rest(self, named: Collection[tuple[str, ...]]) -> PoolChange | None:
        """Return how the pool is left by an ask that found it idle; None where it is not, or that was told before."""
        if self._root.flows.first() is not None or self._runs_any() or self._name not in self._work.shares.pools:
            return None
        if self._root.is_told() and all(level.is_told() for level in self._classes.values()):
            return None
        return self._changed({}, 0, named)

    def _changed(self, charged: Mapping[str, str], cost: int, named: Collection[tuple[str, ...]]) -> PoolChange:
        levels, entered = [self._root.change(charged.get(ROOT), cost)], self._entered()
        for name, level in self._classes.items():
            gone = tuple(sorted(each for each in self._gone[name] if self._may_leave(name, each)))
            if name in charged or gone or entered[name] or not level.is_told():
                levels.append(level.change(charged.get(name), cost, gone, entered[name]))
        pools = self._work.shares.pools
        return PoolChange(
            satisfied=self.satisfied,
            split_from=None if self._name in pools else self.split_from(),
            levels=tuple(levels),
            dropped=tuple(sorted(name for name, pool in pools.items() if not set(pool.satisfied) <= set(named))),
        )

    def _entered(self) -> dict[str, dict[str, int]]:
        """Return by class the Groups that came from another one and are not eligible: they are not new there."""
        found: dict[str, dict[str, int]] = {name: {} for name in CLASSES}
        for name, gone in self._gone.items():
            for graph_id in sorted(each for each in gone if each in self.moment.groups):
                now = class_of(self._policy, graph_id)
                is_known = graph_id in self._known_in(now) or graph_id in self._classes[now].flows
                if now != name and not is_known:
                    found[now][graph_id] = weight_of(self._policy, graph_id)
        return found

    def _may_leave(self, name: str, graph_id: str) -> bool:
        """Say that a Group which is gone from a class has nothing left to pay there."""
        known = self._known[name]
        return class_of(self._policy, graph_id) != name or known.flows[graph_id].tag <= known.virtual

    def class_weight(self, name: str) -> int:
        """Return the weight of a class."""
        weight: int = getattr(self._policy.classes, name)
        return weight

    # --- trying out

    def saved(self) -> Callable[[], None]:
        """Return what brings everything back to where it is now."""
        levels = [self._root.saved(), *(level.saved() for level in self._classes.values())]
        work, known, origin = self._work, self._known, self._origin
        eligible, class_by_group = dict(self._eligible), dict(self._class_of)
        gone = {name: set(each) for name, each in self._gone.items()}

        def restore() -> None:
            self._work, self._known, self._origin = work, known, origin
            self._eligible, self._class_of, self._gone = eligible, class_by_group, gone
            for bring_back in levels:
                bring_back()

        return restore

    def go_to(self, work: LedgerState) -> None:
        """Go on with a branch of the state, which says the same."""
        self._work, (self._origin, self._known) = work, self._traced(work)
        self._root.go_to(self._known.get(ROOT))
        for name, level in self._classes.items():
            level.go_to(self._known.get(name))
