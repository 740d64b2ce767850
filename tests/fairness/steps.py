"""Decides by a seed what there is and what happens next: Groups, nodes, agents, ends of leases, changes of policy.

It must not look at what the queue or the oracle would do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random  # noqa: TC003 - made here by its seed
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from metagit_mcp.domain.events import (
    LeaseExpired,
    OwnershipRevoked,
    SchedulingPaused,
    SchedulingResumed,
    UsageReported,
    WorkAccepted,
    WorkBlocked,
    WorkCompleted,
    WorkFailed,
    WorkParked,
    WorkPaused,
    WorkReleased,
    WorkUnblocked,
)
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.limits import LeasePolicy, PreemptionPolicy
from metagit_mcp.domain.policy import CLASSES, ClassWeights, GroupPolicy, SchedulePolicy
from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.domain.work import Usage
from metagit_mcp.scheduling.cycle import reasons_against
from metagit_mcp.scheduling.snapshot import Asker
from tests.fairness.asks import Who
from tests.fairness.play import NOW, Play, Served
from tests.fairness.world import DONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from metagit_mcp.domain.work import ExecutionLease, PauseScope

P = TypeVar("P", bound=Play)
SETS: tuple[tuple[str, ...], ...] = (("gpu",), ("db",), ("db", "gpu"))
CAN = (frozenset[str](), frozenset({"gpu"}), frozenset({"db", "gpu"}), frozenset({"db"}))
AGENTS = tuple(Who(agent=f"a{number}", can=can) for number, can in enumerate(CAN))


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What may happen in a run; without `wild` it is only what the bounds between Groups speak of."""

    wild: bool = True
    pools: bool = False
    wide: bool = False
    reports: bool = False


class Steps(Generic[P]):
    """The next step, drawn anew each time."""

    def __init__(self, random: Random, scene: Scene, make: Callable[..., P]) -> None:
        self.random, self.scene = random, scene
        self.names = [f"g{number:02}" for number in range(random.randint(1, 12))]
        self.costs = {name: self._cost_of_group() for name in self.names}
        self.made = 0
        # Steps of the wild kind that were taken.
        self.told: set[str] = set()
        graphs = {name: self._graph(name, random.randint(1, 5)) for name in self.names}
        self.play = make(policy=self._policy(), graphs=graphs)
        self.agents = AGENTS if scene.pools else (AGENTS[0], replace(AGENTS[0], agent="b"))

    # --- what there is

    def _cost_of_group(self) -> tuple[int, int]:
        most = self.random.choice((1, 1, 4, 30, 1000))
        return (most if self.random.random() < 0.4 else 1, most)

    def _policy(self) -> SchedulePolicy:
        draw = self.random
        weights = ClassWeights()
        if draw.random() < 0.5:
            weights = ClassWeights(**{name: draw.randint(1, 16) for name in CLASSES})
        return SchedulePolicy(
            classes=weights,
            groups={name: self._group() for name in self.names if draw.random() < 0.9},
            slots=draw.choice((None, 1, 2, 3, 4, 6)),
            pass_over_limit=draw.choice((0, 1, 2, 5, 20)),
            drain_limit=draw.choice((0, 1, 3, 3)),
            deadline_window=draw.choice((0, 8, 8, 40)),
            class_window=draw.choice((0, 0, 0, 6)),
            preemption=PreemptionPolicy(enabled=False),
            # A hold that lapses, because nobody asked, gives way once more: no bound between Groups speaks of it.
            leases=LeasePolicy(start_by_seconds=draw.choice((60, 3_600)) if self.scene.wild else 1_000_000_000),
        )

    def _group(self) -> GroupPolicy:
        draw = self.random
        limit = draw.choice((None, None, None, 0, 1, 2, 3)) if self.scene.wild else None
        classes = draw.choice((CLASSES, CLASSES, ("normal",)))
        return GroupPolicy(priority_class=draw.choice(classes), weight=draw.choice((1, 1, 2, 3, 5, 16)), quota=limit)

    def node(self, group: str, earlier: tuple[str, ...] = ()) -> TaskNode:
        draw, wild = self.random, self.scene.wild
        self.made += 1
        fields: dict[str, Any] = {}
        if self.scene.wide and draw.random() < 0.2:
            fields["slots"] = draw.randint(2, 4)
        if draw.random() < 0.3:
            fields["deadline"] = self.play_now() + timedelta(hours=draw.choice((-500, -1, 2, 23, 25, 500)))
        if draw.random() < 0.2:
            fields["requested_urgency"] = draw.choice(("routine", "normal", "high", "critical"))
        if self.scene.pools and draw.random() < 0.35:
            fields["capabilities"] = draw.choice(SETS)
        if wild and earlier and draw.random() < 0.3:
            fields["depends_on"] = (draw.choice(earlier),)
        if wild and draw.random() < 0.1:
            fields["exclusive"] = (draw.choice(("k1", "k2")),)
        if wild and draw.random() < 0.05:
            fields["not_before"] = self.play_now() + timedelta(minutes=draw.randint(-5, 60))
        tokens = 1000 * draw.randint(*self.costs[group]) - draw.choice((0, 0, 999, 500))
        return TaskNode(
            node_id=f"n{self.made}", priority=draw.choice((0, 0, 1, -100, 100)), estimated_tokens=tokens, **fields
        )

    def play_now(self) -> Any:  # noqa: ANN401 - an instant
        return self.play.now if hasattr(self, "play") else NOW

    def _graph(self, name: str, count: int) -> LoadedGraph:
        nodes: list[TaskNode] = []
        for _ in range(count):
            nodes.append(self.node(name, tuple(each.node_id for each in nodes)))
        return graph_of(name, tuple(nodes))

    # --- what happens

    def step(self) -> Served | None:
        """Let one thing happen; return the start, if it was one."""
        draw, play = self.random, self.play
        if play.state.pauses and draw.random() < 0.1:
            self._pause()
        if draw.random() < 0.5:
            play.go_on(play.now + timedelta(seconds=draw.choice((0, 1, 20, 90))))
        kind = draw.random()
        if kind < 0.5:
            return play.ask(draw.choice(self.agents))
        if kind < 0.78:
            self._end()
        elif kind < 0.92 or not self.scene.wild:
            self._arrive()
        else:
            wild = draw.choice(self._WILD)
            self.told.add(wild.__name__.strip("_"))
            return wild(self)
        return None

    def _end(self) -> None:
        leases = [self.play.state.leases[name] for name in sorted(self.play.state.leases)]
        if leases:
            self.end(self.random.choice(leases))
            self.play.compare()

    def end(self, lease: ExecutionLease) -> None:
        draw, play = self.random, self.play
        if self.scene.reports and draw.random() < 0.5:
            most = draw.choice((1, 2 * lease.holding.cost, lease.holding.cost))
            usage = Usage(tokens=1000 * draw.randint(1, max(1, most)))
            play.happen(UsageReported(at=play.now, lease_id=lease.lease_id, usage=usage))
        until = Expiry(at=play.now + timedelta(seconds=draw.choice((30, 600))))
        of: dict[str, Any] = {"at": play.now, "lease_id": lease.lease_id}
        done = WorkCompleted(**of)
        if not self.scene.wild or draw.random() < 0.6:
            play.happen(done)
            return
        play.happen(
            draw.choice(
                (
                    WorkFailed(note="", retry_at=play.now + timedelta(seconds=draw.choice((0, 60))), **of),
                    WorkReleased(**of),
                    WorkPaused(start_by=until, **of),
                    WorkBlocked(note="", until=until, **of),
                    WorkParked(note="", **of),
                    LeaseExpired(**of),
                    OwnershipRevoked(at=play.now, graph_id=lease.graph_id, node_id=lease.node_id, by="ann"),
                )
            )
        )

    def _arrive(self) -> None:
        """Give a Group new nodes, and clear away what is done."""
        draw, play = self.random, self.play
        name = draw.choice(self.names)
        graph = play.graphs[name].graph if name in play.graphs else None
        known = () if graph is None else tuple(node for node in graph.nodes if not self._is_done(name, node))
        ids = tuple(node.node_id for node in known)
        known = tuple(
            replace(node, depends_on=tuple(each for each in node.depends_on if each in ids)) for node in known
        )
        room = 12 - len(known)
        more = tuple(self.node(name, ids) for _ in range(min(room, draw.randint(1, 6))))
        play.graphs = {**play.graphs, name: graph_of(name, known + more)}
        play.refresh()

    def _is_done(self, group: str, node: TaskNode) -> bool:
        item = self.play.state.item((group, node.node_id))
        return (item.state if item is not None else node.status) in {*DONE, "parked"}

    # --- what only happens in a wild run

    def _leave(self) -> None:
        """A Group's file is removed; its leases go on."""
        play = self.play
        gone = self.random.choice(self.names)
        play.graphs = {name: each for name, each in play.graphs.items() if name != gone}
        play.refresh()

    def _set_policy(self) -> None:
        draw, play = self.random, self.play
        fresh = self._policy()
        what = draw.choice(("groups", "groups", "classes", "slots", "windows", "guard", "order"))
        if what == "windows":
            play.policy = replace(play.policy, deadline_window=fresh.deadline_window, class_window=fresh.class_window)
        elif what == "guard":
            play.policy = replace(play.policy, pass_over_limit=fresh.pass_over_limit, drain_limit=fresh.drain_limit)
        elif what == "order":
            ordering: Literal["fair", "score"] = draw.choice(("fair", "fair", "fair", "score"))
            play.policy = replace(play.policy, ordering=ordering)
        elif what == "groups":
            name = draw.choice(self.names)
            play.policy = replace(play.policy, groups={**play.policy.groups, name: self._group()})
        else:
            play.policy = replace(play.policy, **{what: getattr(fresh, what)})
        play.refresh()

    def _pause(self) -> None:
        draw, play = self.random, self.play
        if play.state.pauses:
            pause = draw.choice([play.state.pauses[key] for key in sorted(play.state.pauses)])
            play.happen(SchedulingResumed(at=play.now, scope=pause.scope, name=pause.name, by="ann"))
            return
        scopes: tuple[tuple[PauseScope, str], ...] = (
            ("group", draw.choice(self.names)),
            ("agent", draw.choice(self.agents).agent),
            ("workspace", ""),
        )
        scope, name = draw.choice(scopes)
        play.happen(SchedulingPaused(at=play.now, scope=scope, name=name, by="ann"))

    def _start_named(self) -> Served | None:
        """Start one named node, whoever's turn it is."""
        draw, play = self.random, self.play
        who = draw.choice(self.agents)
        asker = Asker(agent_id=who.agent, capabilities=who.can)
        play.settle()
        every = [
            (group, node)
            for group in play.world.groups
            for node in play.queue.groups[group].rules.shape.by_id.values()
            if not reasons_against(play.queue, asker, group, node)
        ]
        if not every:
            return None
        group, node = draw.choice(sorted(every, key=lambda each: (each[0], each[1].node_id)))
        served = play.start(who, group, node)
        play.compare()
        return served

    def _ask_group(self) -> Served | None:
        groups = self.play.world.groups
        return self.play.ask(self.random.choice(self.agents), self.random.choice(groups)) if groups else None

    def _accept(self) -> None:
        """An agent takes a node to start it later."""
        draw, play = self.random, self.play
        who = draw.choice(self.agents)
        every = sorted(
            (group, each.node)
            for group in play.world.groups
            for each in play.world.takeable(group, who)
            if not each.owned
        )
        if every:
            group, node = draw.choice(every)
            until = Expiry(at=play.now + timedelta(seconds=draw.choice((5, 900))))
            play.happen(
                WorkAccepted(
                    at=play.now,
                    graph_id=group,
                    node_id=node,
                    agent_id=who.agent,
                    session_epoch=1,
                    ownership_epoch=1,
                    start_by=until,
                )
            )

    def _unblock(self) -> None:
        draw, play = self.random, self.play
        blocked = sorted(
            item.key for items in play.state.items.values() for item in items.values() if item.state == "blocked"
        )
        if blocked:
            group, node = draw.choice(blocked)
            play.happen(WorkUnblocked(at=play.now, graph_id=group, node_id=node))

    def _edit(self) -> None:
        """Another program writes a status, or a person changes a node."""
        draw, play = self.random, self.play
        names = [name for name in play.world.groups if play.world.nodes(name)]
        if not names:
            return
        name = draw.choice(names)
        nodes = play.world.nodes(name)
        unknown = [each for each in sorted(nodes) if play.state.item((name, each)) is None]
        node = nodes[draw.choice(unknown or sorted(nodes))]
        fresh = self.node(name)
        changes: tuple[dict[str, Any], ...] = (
            {"status": draw.choice(("running", "running", "pending", "completed", "blocked"))},
            {"priority": fresh.priority, "deadline": fresh.deadline, "requested_urgency": fresh.requested_urgency},
            {"estimated_tokens": fresh.estimated_tokens, "slots": fresh.slots},
            {"capabilities": fresh.capabilities, "exclusive": fresh.exclusive},
        )
        nodes[node.node_id] = replace(node, **draw.choice(changes))
        status = draw.choice(("active", "active", "active", "paused"))
        play.graphs = {**play.graphs, name: graph_of(name, tuple(nodes.values()), status)}
        play.refresh()

    _WILD = (
        _leave,
        _set_policy,
        _set_policy,
        _pause,
        _start_named,
        _start_named,
        _ask_group,
        _accept,
        _unblock,
        _edit,
        _edit,
    )


def graph_of(name: str, nodes: tuple[TaskNode, ...], status: str = "active") -> LoadedGraph:
    return LoadedGraph(graph_id=name, graph=TaskGraph(title=name, status=status, nodes=nodes))
