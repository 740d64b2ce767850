"""The fair oracle over everything else that decides: the slow reading of `tests/oracle.py` says what may be taken.

It must not share code with the core. A plan is made start by start, and each start is one more lease of the world.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.work import ExecutionLease, Holding, WorkItem
from tests import oracle
from tests.fairness.asks import Book, Candidate, Kept, Who, class_of, satisfied, weight_of
from tests.fairness.tags import Charge
from tests.oracle_needs import units
from tests.oracle_world import FINISHED, Found, World, item_of, nodes_of, place, slots

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metagit_mcp.domain.policy import SchedulePolicy
    from metagit_mcp.domain.tasks import TaskNode
    from tests.fairness.tags import Sets

T = TypeVar("T")


class Rich:
    """A world in which nodes are started one after another."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.memo: dict[tuple[object, ...], Any] = {}

    def once(self, key: tuple[object, ...], work: Callable[[], T]) -> T:
        if key not in self.memo:
            self.memo[key] = work()
        answer: T = self.memo[key]
        return answer

    @property
    def policy(self) -> SchedulePolicy:
        return self.world.policy

    @property
    def groups(self) -> Sequence[str]:
        return sorted(self.world.graphs)

    @property
    def named(self) -> Sets:
        every = (
            node
            for group in self.groups
            for node in nodes_of(self.world, group).values()
            if node.status not in FINISHED
        )
        return tuple(sorted({tuple(sorted(set(node.capabilities))) for node in every if node.capabilities}))

    @property
    def busy(self) -> frozenset[str]:
        running = {each.graph_id for each in self.world.leases} | {group for group, _ in self.seen()}
        return frozenset(class_of(self.policy, group) for group in running)

    def seen(self) -> list[tuple[str, TaskNode]]:
        """The runs of other programs, however long ago they began."""
        return [
            (group, node)
            for group in self.groups
            if (graph := self.world.graphs[group].graph) is not None and graph.status == "active"
            for node in nodes_of(self.world, group).values()
            if oracle.seen_running(self.world, group, node)
        ]

    def used(self, group: str | None = None) -> int:
        return oracle.all_running(self.world) if group is None else oracle.running(self.world, group)

    def seen_by(self, who: Who) -> World:
        return self.once(
            ("world", who), lambda: replace(self.world, agent_id=who.agent, capabilities=who.can, known={})
        )

    def takeable(self, group: str, who: Who) -> list[Candidate]:
        return self.once(("takeable", group, who), lambda: self._takeable(group, who))

    def _takeable(self, group: str, who: Who) -> list[Candidate]:
        world = self.seen_by(who)
        return [
            self._candidate(group, node, who)
            for node in nodes_of(world, group).values()
            if not oracle.own_reasons(world, group, node) and not oracle.standing_reasons(world, group, node)
        ]

    def _candidate(self, group: str, node: TaskNode, who: Who) -> Candidate:
        world, anybody = self.seen_by(who), self.seen_by(Who(can=who.can))
        item = item_of(world, group, node)
        is_due = oracle.due_soon(world, node) and node.deadline is not None
        return Candidate(
            group=group,
            node=node.node_id,
            slots=slots(node),
            cost=cost(node),
            order=(
                item is not None and bool(who.agent) and who.agent in item.released_by,
                -oracle.score(world, group, node),
                oracle.tokens(node),
                node.node_id,
            ),
            due=node.deadline.timestamp() if is_due and node.deadline is not None else float("inf"),
            urgency=oracle.URGENCIES[node.requested_urgency],
            owned=item is not None and item.state == "queued" and item.owner is not None,
            compared=-oracle.score(anybody, group, node),
        )

    def shelved(self, group: str) -> Mapping[str, tuple[int, int, str]]:
        world = self.world
        found = {}
        for name, node in nodes_of(world, group).items():
            if not oracle.own_reasons(world, group, node):
                bare = self.once(("bare",), lambda: replace(world, trees=(), merge_depth={}, services={}, known={}))
                found[name] = (-oracle.score(bare, group, node), oracle.tokens(node), name)
        return found

    def start(self, found: Candidate, agent: str) -> None:
        """One more lease."""
        world, node = self.world, nodes_of(self.world, found.group)[found.node]
        before = item_of(world, found.group, node)
        lease = ExecutionLease(
            lease_id=f"oracle {len(world.leases)}",
            graph_id=found.group,
            node_id=found.node,
            agent_id=f"{agent} {len(world.leases)}",
            session_epoch=0,
            ownership_epoch=0,
            granted_at=world.now,
            expiry=Expiry(at=world.now),
            term_seconds=0,
            holding=Holding(
                slots=found.slots,
                cost=found.cost,
                repository=place(node),
                uses=units(replace(world, agent_id=agent), node),
                exclusive=node.exclusive or (),
                touches=node.touches or (),
            ),
        )
        item = before or WorkItem(graph_id=found.group, node_id=found.node, state="open", changed_at=world.now)
        item = replace(item, state="active", owner=lease.agent_id, lease_id=lease.lease_id, until=None, retry_at=None)
        items = {**world.items, (found.group, found.node): item}
        self.world = replace(world, leases=(*world.leases, lease), items=items, known={})
        self.memo.clear()


def cost(node: TaskNode) -> int:
    return slots(node) * max(1, -(-oracle.tokens(node) // 1000))


def plan(world: World, limit: int, group: str | None = None) -> list[Found]:
    """What so many claims in a row get, in a workspace where nothing was charged yet."""
    view, book, who = Rich(world), Book(), Who(agent=world.agent_id, can=world.capabilities)
    if world.policy.ordering == "fair":
        for name, node in view.seen():
            book.tags.other(charge_of(view, name, cost(node)))
    picks: list[Found] = []
    while len(picks) < limit:
        answer = book.ask(view, who, group)
        if answer.wide is not None:
            book.kept = Kept(answer.wide.group, answer.wide.node, answer.wide.slots)
        found = answer.candidate
        if found is None:
            break
        picks.append(Found(graph_id=found.group, node_id=found.node, score=-found.order[1]))
        _begin(view, book, who, found, is_turn=answer.is_turn, guard=answer.guard)
        if book.kept is not None and not any(
            each.node == book.kept.node for each in view.takeable(book.kept.group, Who(can=who.can))
        ):
            book.kept = None
    return picks


def _begin(view: Rich, book: Book, who: Who, found: Candidate, *, is_turn: bool, guard: int) -> None:
    charge = charge_of(view, found.group, found.cost)
    lacking = book.offered(view, found.group, who).lacking
    if view.policy.ordering == "score":
        book.tags.pools.clear()
    elif is_turn:
        pool = satisfied(view.named, who.can)
        book.tags.pick(pool, book.standing(view, who), charge, view.named)
        book.tags.other(charge, but=pool)
    else:
        book.tags.other(charge)
    book.started(view, (found.group, found.node), guard, lacking if lacking != found.node else None)
    view.start(found, who.agent)


def charge_of(view: Rich, group: str, units_: int) -> Charge:
    policy, name = view.policy, class_of(view.policy, group)
    return Charge(
        group=group,
        name=name,
        class_weight=getattr(policy.classes, name),
        weight=weight_of(policy, group),
        cost=units_,
        class_window=policy.class_window,
        window=policy.deadline_window,
    )
