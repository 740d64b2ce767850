"""What a decision of the pure core costs, and what changes cost it: no file, no ledger, no process.

Must not know: how the queue works inside. It asks, starts and ends work as a claim and a report do.
"""

from __future__ import annotations

import gc
import random
from dataclasses import replace
from datetime import UTC, datetime
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from metagit_mcp.domain.events import WorkCompleted, WorkStarted
from metagit_mcp.domain.evolve import evolve
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.policy import ClassWeights, GroupPolicy, SchedulePolicy, Weights
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.domain.work import ExecutionLease
from metagit_mcp.scheduling.cycle import Pick, WorkspaceQueue, choose, dispatch_of, holding_of
from metagit_mcp.scheduling.snapshot import Asker, Snapshot, Surroundings, Worktree
from tests.bench.series import Row, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOW: Final = datetime(2026, 12, 1, 12, tzinfo=UTC)
ASKER: Final = Asker(agent_id="agent")
SIZES: Final = ((1_000, 10), (10_000, 100), (100_000, 1_000), (400_000, 1_000))
MICROSECONDS: Final = 1e6
IN_A_ROW: Final = 10


class World:
    """Ready nodes in Groups, and an agent that takes and finishes one after another."""

    def __init__(self, nodes: int, groups: int, unrunnable: int = 0) -> None:
        draw = random.Random(nodes)  # noqa: S311 - a workload
        graphs = {}
        for number in range(groups):
            own = [_node(draw, number, each) for each in range(nodes // groups)]
            own += [
                replace(_node(draw, number, each), node_id=f"x{each}", approval="human_required")
                for each in range(unrunnable // groups)
            ]
            name = f"g{number:04}"
            graph = TaskGraph(graph_id=name, title=name, status="active", nodes=tuple(own))
            graphs[name] = LoadedGraph(graph_id=name, graph=graph)
        self.state = LedgerState()
        self.snapshot = Snapshot(
            policy=SchedulePolicy(),
            graphs=graphs,
            surroundings=Surroundings(worktrees=(_tree("p/r1"),), merge_depth={"p/r2": 3}, services={"p/r3": 5}),
            approvals={},
            now=NOW,
            work=self.state,
        )
        self.queue = WorkspaceQueue(self.snapshot)
        self._turns = 0
        for _ in range(groups):
            # Each Group is known to the ledger then.
            self.turn()

    def decide(self) -> tuple[Pick, float]:
        """Ask what is next; return it and the seconds it took."""
        began = perf_counter()
        pick = choose(self.queue, ASKER).pick
        took = perf_counter() - began
        assert pick is not None
        return pick, took

    def turn(self) -> tuple[float, float]:
        """Take the next node and finish it; return the seconds of the decision, and of everything."""
        began = perf_counter()
        pick, took = self.decide()
        self._turns += 1
        dispatch = dispatch_of(self.queue, ASKER, pick.graph_id, pick.node, pick)
        lease = ExecutionLease(
            lease_id=f"L{self._turns}",
            graph_id=pick.graph_id,
            node_id=pick.node.node_id,
            agent_id=ASKER.agent_id,
            session_epoch=1,
            ownership_epoch=1,
            granted_at=NOW,
            expiry=Expiry(at=NOW),
            term_seconds=900,
            holding=holding_of(self.queue, ASKER, pick.graph_id, pick.node),
            share=dispatch.share,
        )
        self._happen(WorkStarted(at=NOW, lease=lease, dispatch=dispatch))
        self._happen(WorkCompleted(at=NOW, lease_id=lease.lease_id))
        return took, perf_counter() - began

    def _happen(self, event: Any) -> None:  # noqa: ANN401 - any event
        key = evolve(self.state, event)
        assert key is not None
        self.queue.follow(self.state, (key,))

    def refreshed(self, **changes: Any) -> float:  # noqa: ANN401 - any field of a snapshot
        """Let policy or surroundings change, and ask; return the seconds of both."""
        self.snapshot = replace(self.snapshot, **changes)
        began = perf_counter()
        self.queue.refresh(self.snapshot)
        _, took = self.decide()
        del took
        return perf_counter() - began

    def policy_changed(self, **changes: Any) -> float:  # noqa: ANN401 - any key of the policy
        return self.refreshed(policy=replace(self.snapshot.policy, **changes))


def _node(draw: random.Random, group: int, number: int) -> TaskNode:
    return TaskNode(
        node_id=f"n{number:06}",
        title="",
        status="pending",
        priority=draw.randrange(-3, 4),
        estimated_tokens=draw.randrange(1, 20_000),
        repository=f"p/r{(group * 7 + draw.randrange(3)) % 500}",
    )


def _tree(repository: str) -> Worktree:
    return Worktree(repository=repository, agent_id="", path=f"/{repository}", on_disk=True)


def decisions_by_size(rounds: int) -> Iterator[Row]:
    """One decision after another at each size, all sizes in turn; then with many nodes that may not run."""
    worlds = [World(*size) for size in SIZES]
    gated = World(1_000, 10, unrunnable=10_000)
    gc.collect()
    gc.freeze()
    taken: list[list[float]] = [[] for _ in [*worlds, gated]]
    whole: list[list[float]] = [[] for _ in [*worlds, gated]]
    for _ in range(-(-rounds // IN_A_ROW)):
        for number, world in enumerate([*worlds, gated]):
            # Warm is the world in which one was decided just before, not another one of the five.
            world.turn()
            for _ in range(IN_A_ROW):
                decision, turn = world.turn()
                taken[number].append(decision)
                whole[number].append(turn)
    for (nodes, groups), seconds in zip(SIZES, taken, strict=False):
        target = 40.0 if nodes == SIZES[-1][0] else None
        yield _timed(f"core: a decision, {nodes:,} nodes in {groups:,} Groups", target, seconds)
    largest = len(SIZES) - 1
    yield _ratio("core: a decision, 400,000 nodes ÷ 1,000", 4.0, taken[largest], taken[0])
    yield _ratio("core: a decision, 1,000 nodes and 10,000 unrunnable ÷ none", 2.0, taken[-1], taken[0])
    yield _timed("core: decide, charge, start and end, 400,000 nodes", None, whole[largest])
    gc.unfreeze()


def changes_at_size(rounds: int) -> Iterator[Row]:
    """What a change costs with the decision after it, at 100,000 nodes in 1,000 Groups."""
    world = World(100_000, 1_000)
    flips = [number % 2 for number in range(rounds)]
    around = world.snapshot.surroundings
    cheap: list[tuple[str, Callable[[int], float]]] = [
        ("class", lambda flip: world.policy_changed(groups={"g0500": _group(flip, "high")})),
        ("class weights", lambda flip: world.policy_changed(classes=ClassWeights(high=8 + flip))),
        ("Group weight", lambda flip: world.policy_changed(groups={"g0500": GroupPolicy(weight=1 + flip)})),
        ("quota", lambda flip: world.policy_changed(groups={"g0500": GroupPolicy(quota=3 + flip)})),
        (
            "affinity",
            lambda flip: world.refreshed(surroundings=replace(around, worktrees=(_tree(f"p/r{1 + flip}"),))),
        ),
        ("pressure", lambda flip: world.refreshed(surroundings=replace(around, merge_depth={"p/r2": 2 + flip}))),
        ("fairness", lambda flip: world.refreshed(surroundings=replace(around, services={"p/r3": 5 + flip}))),
    ]
    for name, change in cheap:
        seconds = [change(flip) for flip in flips]
        yield _timed(f"core: change of {name}, 100,000 nodes", 1_000.0, seconds)
    for name, base in (("priority", 1.0), ("dependency", 0.2), ("cost", 0.25)):
        weighed = [
            world.policy_changed(weights=replace(Weights(), **{name: base + flip / 10})) / 100_000 for flip in flips[:7]
        ]
        yield _timed(f"core: change of the {name} weight, a node", 2.0, weighed)


def _group(flip: int, name: str) -> GroupPolicy:
    return GroupPolicy(priority_class="high") if flip and name == "high" else GroupPolicy()


def _timed(what: str, target: float | None, seconds: list[float]) -> Row:
    return Row(
        what=what,
        target=target,
        measured=median(seconds) * MICROSECONDS,
        unit="µs",
        ours=spread(seconds),
        rounds=len(seconds),
    )


def _ratio(what: str, target: float, ours: list[float], other: list[float]) -> Row:
    return Row(
        what=what,
        target=target,
        measured=median(ours) / median(other),
        ours=spread(ours),
        other=spread(other),
        rounds=len(ours),
    )
