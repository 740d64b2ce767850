"""Plays the queue and the oracle side by side: each ask as a claim makes it, each event told to both, all compared.

It must not decide what happens next; `steps.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from metagit_mcp.domain.events import WorkStarted
from metagit_mcp.domain.evolve import evolve
from metagit_mcp.domain.instant import Expiry, Instant
from metagit_mcp.domain.lapses import lapses
from metagit_mcp.domain.share_events import PoolRested, SlotsHeld
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import ExecutionLease
from metagit_mcp.scheduling.cycle import Pick, WorkspaceQueue, choose, dispatch_of, holding_of, unsettled
from metagit_mcp.scheduling.snapshot import Asker, Snapshot, Surroundings
from tests.fairness.asks import Answer, Book, Kept, Who, class_of, held, quota, satisfied, weight_of
from tests.fairness.tags import RANKS, ROOT, Charge
from tests.fairness.world import World, slots, units

if TYPE_CHECKING:
    from metagit_mcp.domain.events import Event
    from metagit_mcp.domain.policy import SchedulePolicy
    from metagit_mcp.domain.tasks import LoadedGraph, TaskNode
    from tests.fairness.tags import Levels, Sets

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOTHING_AROUND = Surroundings()
FAR = Expiry(at=datetime(2036, 1, 1, tzinfo=UTC))
Shown = dict[Any, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Served:
    """One start: where it was charged, and the pool whose pick it was, if it was one."""

    group: str
    node: str
    charge: Charge
    pool: Sets | None


@dataclass
class Play:
    """One workspace in the course of time; `log` are the events of its ledger."""

    policy: SchedulePolicy
    graphs: dict[str, LoadedGraph]
    state: LedgerState = field(default_factory=LedgerState)
    book: Book = field(default_factory=Book)
    log: list[Event] = field(default_factory=list)
    charges: dict[str, Charge] = field(default_factory=dict)
    runs: dict[tuple[str, str], Charge] = field(default_factory=dict)
    until: datetime | None = None
    number: int = 0
    virtuals: dict[tuple[Sets, str], int] = field(default_factory=dict)
    now: datetime = NOW

    def __post_init__(self) -> None:
        state = self.state
        self.world = World(
            policy=self.policy,
            graphs=self.graphs,
            items=state.items,
            leases=state.leases,
            pauses=state.pauses,
            now=self.now,
        )
        self.queue = WorkspaceQueue(self.snapshot())

    def snapshot(self) -> Snapshot:
        return Snapshot(
            policy=self.policy,
            graphs=dict(self.graphs),
            surroundings=NOTHING_AROUND,
            approvals={},
            now=self.now,
            work=self.state,
        )

    # --- what happens

    def refresh(self) -> None:
        """Files or policy changed."""
        self.queue.refresh(self.snapshot())
        self.world.policy, self.world.graphs = self.policy, self.graphs
        self.world.changed()

    def go_on(self, now: datetime) -> None:
        self.now = self.world.now = now
        self.world.changed()
        self.queue.go_on(now)

    def happen(self, *events: Event) -> None:
        for event in events:
            before = dict(self.state.leases)
            key = evolve(self.state, event)
            self.queue.follow(self.state, () if key is None else (key,))
            self.log.append(event)
            for lease_id in before.keys() - self.state.leases.keys():
                self._correct(before[lease_id])
        self.world.changed()

    def _correct(self, lease: ExecutionLease) -> None:
        charge, tokens = self.charges.pop(lease.lease_id, None), lease.usage.tokens
        if charge is not None and tokens:
            used = lease.holding.slots * max(1, -(-tokens // 1000))
            self.corrected(charge, used - charge.cost)

    def corrected(self, charge: Charge, excess: int) -> None:
        """6. For those who watch."""
        self.book.tags.correct(charge, excess)

    # --- asks

    def settle(self) -> None:
        """Everything that a start must know of happens, and the oracle finds the same of the hold."""
        instant = Instant(wall=self.now)
        self.happen(*lapses(self.state, instant))
        if self.until is not None and self.now >= self.until:
            self.book.kept, self.until = None, None
        self._see_runs()
        self._look_at_hold()
        self.happen(*unsettled(self.queue, instant))
        assert self._hold() == self.book.kept

    def _hold(self) -> Kept | None:
        hold = self.state.shares.hold
        if hold is None:
            return None
        return Kept(hold.graph_id, hold.node_id, hold.slots, hold.starts, hold.until is not None)

    def _see_runs(self) -> None:
        seen = {(group, node.node_id): node for group in self.graphs for node in self.world.seen(group)}
        for key in self.runs.keys() - seen.keys():
            del self.runs[key]
        for key in sorted(seen.keys() - self.runs.keys()) if self.policy.ordering == "fair" else ():
            self.runs[key] = self._charge(key[0], seen[key])
            self.book.tags.other(self.runs[key])

    def _look_at_hold(self) -> None:
        """7. It ends when its node is no longer eligible for anybody; it is filled once its slots are free."""
        kept, total = self.book.kept, self.policy.slots
        if kept is None:
            return
        if total is None or not self._may_start(kept):
            self.book.kept, self.until = None, None
        elif not kept.filled and total - self.world.used() >= kept.slots:
            kept.filled = True
            self.until = self.now + timedelta(seconds=self.policy.leases.start_by_seconds)

    def _may_start(self, kept: Kept) -> bool:
        node = self.world.nodes(kept.group).get(kept.node) if kept.group in self.graphs else None
        if node is None or slots(node) != kept.slots:
            return False
        item = self.state.item((kept.group, kept.node))
        owner = item.owner if item is not None and item.state == "queued" else None
        able = Who(agent=owner or "", can=frozenset(node.capabilities or ()))
        offer = self.book.offered(self.world, kept.group, able)
        is_stopped = offer.candidate is None and offer.lacking is not None
        return not is_stopped and held(self.world, kept, able) is not None

    def _charge(self, group: str, node: TaskNode) -> Charge:
        policy, name = self.policy, class_of(self.policy, group)
        return Charge(
            group=group,
            name=name,
            class_weight=getattr(policy.classes, name),
            weight=weight_of(policy, group),
            cost=units(node),
            class_window=policy.class_window,
            window=policy.deadline_window,
        )

    def ask(self, who: Who, group: str | None = None) -> Served | None:
        """Ask for the next node and start it: the queue and the oracle give the same one."""
        self.settle()
        asker = Asker(agent_id=who.agent, capabilities=who.can)
        answer = self.book.ask(self.world, who, group)
        choice = choose(self.queue, asker, group)
        assert shown(choice.pick) == told(answer)
        wide = answer.wide
        if wide is None:
            rests = group is None and answer.candidate is None and self._rests(who)
            assert [type(event) for event in choice.events] == [PoolRested] * rests
        else:
            waits = SlotsHeld(at=self.now, graph_id=wide.group, node_id=wide.node, slots=wide.slots)
            assert choice.events == (waits,)
            self.book.kept = Kept(wide.group, wide.node, wide.slots)
        self.happen(*choice.events)
        served = None
        if choice.pick is not None:
            served = self.start(who, choice.pick.graph_id, choice.pick.node, answer, choice.pick)
        self.compare()
        return served

    def _rests(self, who: Who) -> bool:
        """Whether the ask finds the pool at rest, and tells it."""
        if self.policy.ordering != "fair" or self.world.used() == self.policy.slots:
            return False
        book, world = self.book, self.world
        return book.tags.rest(satisfied(world.named, who.can), book.standing(world, who), world.named)

    def start(
        self, who: Who, group: str, node: TaskNode, answer: Answer | None = None, pick: Pick | None = None
    ) -> Served:
        """Start a node, picked or named."""
        asker = Asker(agent_id=who.agent, capabilities=who.can)
        dispatch = dispatch_of(self.queue, asker, group, node, pick)
        self.number += 1
        item = self.state.item((group, node.node_id))
        lease = ExecutionLease(
            lease_id=f"L{self.number}",
            graph_id=group,
            node_id=node.node_id,
            agent_id=who.agent,
            session_epoch=1,
            ownership_epoch=1 if item is None else item.ownership_epoch + 1,
            granted_at=self.now,
            expiry=FAR,
            term_seconds=900,
            holding=holding_of(self.queue, asker, group, node),
            share=dispatch.share,
        )
        served = self._started(who, group, node, answer or Answer())
        if self.policy.ordering == "fair":
            self.charges[lease.lease_id] = served.charge
        self.happen(WorkStarted(at=self.now, lease=lease, dispatch=dispatch))
        self._within_limits(group)
        return served

    def _started(self, who: Who, group: str, node: TaskNode, answer: Answer) -> Served:
        """What the oracle makes of a start."""
        book, world, charge = self.book, self.world, self._charge(group, node)
        lacking = book.offered(world, group, who).lacking
        pool = satisfied(world.named, who.can) if answer.is_turn else None
        if self.policy.ordering == "score":
            # Back to shares all tags start equal: what was charged to these is corrected in no others.
            book.tags.pools.clear()
            self.charges.clear()
        elif pool is not None:
            book.tags.pick(pool, book.standing(world, who), charge, world.named)
            book.tags.other(charge, but=pool)
        else:
            book.tags.other(charge)
        is_held = book.kept is not None and (book.kept.group, book.kept.node) == (group, node.node_id)
        book.started(world, (group, node.node_id), answer.guard, lacking if lacking != node.node_id else None)
        if is_held:
            self.until = None
        return Served(group=group, node=node.node_id, charge=charge, pool=pool)

    def _within_limits(self, group: str) -> None:
        """I2. No start of ours takes running above slots or quota."""
        room, total = quota(self.policy, group), self.policy.slots
        assert total is None or self.world.used() <= total
        assert room is None or self.world.used(group) <= room

    # --- what is alike

    def compare(self) -> None:
        assert real_tags(self.state) == {pool: oracle_tags(levels) for pool, levels in self.book.tags.pools.items()}
        assert self._hold() == self.book.kept
        self._never_falls()
        for group, turns in self.book.turns.items():
            known = self.state.shares.rounds[group]
            guarded = turns.guards[-1] if turns.guards else None
            assert (known.dispatches, known.guarded_at, known.lacking, known.lacking_starts) == (
                turns.count,
                guarded,
                turns.lacking,
                turns.others,
            )

    def _never_falls(self) -> None:
        """I2. V of a level never falls as long as its pool is there."""
        before = self.virtuals
        self.virtuals = {
            (pool.satisfied, name): level.virtual
            for pool in self.state.shares.pools.values()
            for name, level in pool.levels.items()
        }
        assert all(self.virtuals[key] >= before[key] for key in self.virtuals.keys() & before.keys())


def shown(pick: Pick | None) -> tuple[str, str, int, bool] | None:
    return None if pick is None else (pick.graph_id, pick.node.node_id, pick.passed_over, pick.is_turn)


def told(answer: Answer) -> tuple[str, str, int, bool] | None:
    found = answer.candidate
    return None if found is None else (found.group, found.node, answer.guard, answer.is_turn)


def oracle_tags(levels: Levels) -> dict[str, Any]:
    return {
        name: (
            level.virtual,
            level.top,
            {flow: (each.tag, each.weight, each.eligible, each.settled) for flow, each in level.flows.items()},
        )
        for name, level in levels.items()
        if level.flows or level.virtual or level.top
    }


def real_tags(state: LedgerState) -> Shown:
    found: Shown = {}
    for pool in state.shares.pools.values():
        assert set(pool.levels) <= {ROOT, *RANKS}
        for level in pool.levels.values():
            assert level.eligible == sum(flow.eligible for flow in level.flows.values())
        found[pool.satisfied] = {
            name: (
                level.virtual,
                level.top,
                {flow: (each.tag, each.weight, each.eligible, each.charged) for flow, each in level.flows.items()},
            )
            for name, level in pool.levels.items()
            if level.flows or level.virtual or level.top
        }
    return found
