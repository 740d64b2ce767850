"""A queue over a state in memory on which claims are played as a ledger would keep them.

It must not decide anything: what a claim gets is what `choose` says, what follows is the fold.
"""

# ruff: noqa: ANN401 - any field of a snapshot, of a node or of a lease
from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from metagit_mcp.domain.events import Event, UsageReported, WorkCompleted, WorkPaused, WorkReleased, WorkStarted
from metagit_mcp.domain.evolve import evolve
from metagit_mcp.domain.instant import Expiry, Instant
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.shares import LCM, FlowTag, Pool, Shares
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import ExecutionLease, Usage
from metagit_mcp.scheduling.cycle import Pick, WorkspaceQueue, choose, dispatch_of, holding_of, unsettled
from tests.snapshots import ANYONE, HOUR, NOW, against, group, snapshot_of, task

if TYPE_CHECKING:
    from datetime import datetime

    from metagit_mcp.domain.tasks import LoadedGraph
    from metagit_mcp.scheduling.snapshot import Asker

UNIT = LCM


def policy_of(**fields: Any) -> SchedulePolicy:
    """A policy without a window, so that tags alone decide, unless it is named."""
    return SchedulePolicy(**{"deadline_window": 0, **fields})


def groups_of(**fields: tuple[Any, ...] | dict[str, Any]) -> dict[str, GroupPolicy]:
    """Policies of Groups: (class, weight), or fields."""
    return {
        name: GroupPolicy(priority_class=each[0], weight=each[1]) if isinstance(each, tuple) else GroupPolicy(**each)
        for name, each in fields.items()
    }


def many(graph_id: str, count: int, **fields: Any) -> LoadedGraph:
    """A Group of so many nodes n00, n01, … that cost one unit each."""
    return group(graph_id, *(task(f"n{number:02}", **fields) for number in range(count)))


class Played:
    """What was claimed so far, and what is claimed next."""

    def __init__(self, *graphs: LoadedGraph, work: LedgerState | None = None, **fields: Any) -> None:
        self.work = work or LedgerState()
        self.queue = WorkspaceQueue(snapshot_of(*graphs, work=self.work, **{"policy": policy_of(), **fields}))
        self.events: list[Event] = []
        self._granted = 0

    @property
    def shares(self) -> Shares:
        return self.work.shares

    def pool(self, name: str = "") -> Pool:
        return self.shares.pools[name]

    def tags(self, level: str, pool: str = "") -> dict[str, float]:
        """The tags of a level in units."""
        return {name: flow.tag / UNIT for name, flow in sorted(self.pool(pool).levels[level].flows.items())}

    def flow(self, level: str, name: str, pool: str = "") -> FlowTag:
        return self.pool(pool).levels[level].flows[name]

    def virtual(self, level: str, pool: str = "") -> float:
        return self.pool(pool).levels[level].virtual / UNIT

    def with_policy(self, policy: SchedulePolicy) -> None:
        self.queue.refresh(replace(self.queue.snapshot, policy=policy, now=self.queue.now))

    def with_graphs(self, *graphs: LoadedGraph) -> None:
        """Let the files be these."""
        files = {each.graph_id: each for each in graphs}
        self.queue.refresh(replace(self.queue.snapshot, graphs=files, now=self.queue.now))

    def wait(self, seconds: float) -> None:
        self.queue.go_on(self.queue.now + timedelta(seconds=seconds))

    def happen(self, *events: Event) -> None:
        for event in events:
            self.events.append(event)
            key = evolve(self.work, event)
            self.queue.follow(self.work, () if key is None else (key,))

    # --- taking work

    def settle(self) -> None:
        self.happen(*unsettled(self.queue, Instant(wall=self.queue.now)))

    def take(self, asker: Asker = ANYONE, graph_id: str | None = None, **fields: Any) -> Pick | None:
        """Claim the next node, and return the pick; `fields` are those of the lease."""
        self.settle()
        choice = choose(self.queue, asker, graph_id)
        self.happen(*choice.events)
        if choice.pick is not None:
            self.start(choice.pick.graph_id, choice.pick.node.node_id, asker, pick=choice.pick, **fields)
        return choice.pick

    def claim(self, asker: Asker = ANYONE, graph_id: str | None = None, **fields: Any) -> str | None:
        """Claim the next node; return it as graph/node."""
        pick = self.take(asker, graph_id, **fields)
        return None if pick is None else f"{pick.graph_id}/{pick.node.node_id}"

    def claims(self, count: int, asker: Asker = ANYONE, graph_id: str | None = None) -> list[str | None]:
        return [self.claim(asker, graph_id) for _ in range(count)]

    def served(self, count: int, asker: Asker = ANYONE) -> str:
        """The Groups of so many claims, one letter each."""
        return "".join((each or "-")[0] for each in self.claims(count, asker))

    def start(
        self, graph_id: str, node_id: str, asker: Asker = ANYONE, pick: Pick | None = None, **fields: Any
    ) -> ExecutionLease:
        """Start a node, as a pick or by its id."""
        node = self.queue.groups[graph_id].rules.shape.by_id[node_id]
        dispatch = dispatch_of(self.queue, asker, graph_id, node, pick)
        self._granted += 1
        lease = ExecutionLease(
            lease_id=f"L{self._granted:03}",
            graph_id=graph_id,
            node_id=node_id,
            agent_id=asker.agent_id or f"w{self._granted}",
            session_epoch=1,
            ownership_epoch=1,
            granted_at=self.queue.now,
            expiry=Expiry(at=self.queue.now + HOUR),
            term_seconds=3_600,
            holding=holding_of(self.queue, asker, graph_id, node),
            share=dispatch.share,
            **fields,
        )
        self.happen(WorkStarted(at=self.queue.now, lease=lease, dispatch=dispatch))
        return lease

    def against(self, graph_id: str, node_id: str, asker: Asker = ANYONE) -> list[str]:
        return against(self.queue, node_id, asker, graph_id)

    # --- ending it

    def lease(self, graph_id: str, node_id: str) -> ExecutionLease:
        return next(each for each in self.work.leases.values() if each.key == (graph_id, node_id))

    def report(self, graph_id: str, node_id: str, tokens: int) -> None:
        """Let the holder report what it used."""
        lease_id = self.lease(graph_id, node_id).lease_id
        self.happen(UsageReported(at=self.queue.now, lease_id=lease_id, usage=Usage(tokens=tokens)))

    def end(self, graph_id: str, node_id: str, tokens: int = 0) -> None:
        """Let the node be done."""
        if tokens:
            self.report(graph_id, node_id, tokens)
        self.happen(WorkCompleted(at=self.queue.now, lease_id=self.lease(graph_id, node_id).lease_id))

    def done(self, name: str | None) -> None:
        """Let a node be done that is named graph/node."""
        graph_id, node_id = (name or "").split("/")
        self.end(graph_id, node_id)

    def end_all(self) -> None:
        for lease in list(self.work.leases.values()):
            self.end(*lease.key)

    def give_back(self, graph_id: str, node_id: str, *, connection_ended: bool = True) -> None:
        lease_id = self.lease(graph_id, node_id).lease_id
        self.happen(WorkReleased(at=self.queue.now, lease_id=lease_id, connection_ended=connection_ended))

    def pause(self, graph_id: str, node_id: str, start_by: datetime = NOW + HOUR) -> None:
        """Let the holder pause: the node is queued, and its own."""
        lease_id = self.lease(graph_id, node_id).lease_id
        self.happen(WorkPaused(at=self.queue.now, lease_id=lease_id, start_by=Expiry(at=start_by)))
