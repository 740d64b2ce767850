"""Preemption never loops: whoever made room is not asked for it back, and equals do not disturb one another.

All of it in virtual time, a checkpoint each tick, with agents that ask whenever they are free.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import event as seen_in_a_run
from hypothesis import given, settings
from hypothesis import strategies as st

from metagit_mcp.domain.events import WorkPaused, WorkStarted
from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.invariants import over_capacity
from metagit_mcp.domain.lapses import lapses
from metagit_mcp.domain.limits import PreemptionPolicy
from metagit_mcp.domain.policy import CLASSES, GroupPolicy, SchedulePolicy, class_of
from metagit_mcp.domain.share_events import PreemptionRequested, SlotsHeld
from metagit_mcp.domain.share_invariants import violations_of_shares
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import group, task
from tests.unit.scheduling.claimed import Played

if TYPE_CHECKING:
    from metagit_mcp.domain.tasks import LoadedGraph
    from metagit_mcp.domain.work import ExecutionLease, NodeKey

# Whoever reports leaves a tick's tokens behind each tick; what it used never passes what it was charged.
TOKENS: Final = 1000
pytestmark = pytest.mark.timeout(1_200)


class Fleet:
    """Agents that work on what they are given, a tick at a time, and pause at the next tick once they are asked to."""

    def __init__(self, policy: SchedulePolicy, agents: int, *, reports: bool, graphs: list[LoadedGraph]) -> None:
        self.played = Played(*graphs, policy=policy)
        self.graphs = graphs
        self._policy = policy
        self._reports = reports
        self._idle = [Asker(agent_id=f"w{number}") for number in range(agents)]
        self._needs = {
            (each.graph_id, node.node_id): (node.estimated_tokens or TOKENS) // TOKENS
            for each in graphs
            for node in (each.graph.nodes if each.graph else ())
        }
        self._done = Counter[tuple[str, str]]()
        self._used = Counter[str]()

    def come(self, late: LoadedGraph) -> None:
        """Let more work come."""
        self.graphs = [*(each for each in self.graphs if each.graph_id != late.graph_id), late]
        for node in late.graph.nodes if late.graph else ():
            self._needs.setdefault((late.graph_id, node.node_id), (node.estimated_tokens or TOKENS) // TOKENS)
        self.played.with_graphs(*self.graphs)

    def tick(self) -> None:
        """Let a tick of work pass, then let everybody who is free ask."""
        self.played.wait(1)
        for lease in list(self.played.work.leases.values()):
            self._work(lease)
        # All of them ask in each round, whatever the one before got.
        while sum(self._claim(asker) for asker in self._idle):
            pass
        assert list(violations_of_shares(self.played.work)) == []
        assert over_capacity(self.played.work, self._policy) == []
        assert lapses(self.played.work, Instant(wall=self.played.queue.now)) == []

    def _work(self, lease: ExecutionLease) -> None:
        key = lease.key
        self._done[key] += 1
        self._used[lease.lease_id] += TOKENS
        if self._reports:
            self.played.report(*key, self._used[lease.lease_id])
        if self._done[key] >= self._needs[key]:
            self.played.end(*key)
        elif lease.lease_id in self.played.shares.preemptions:
            self.played.pause(*key)

    def _claim(self, asker: Asker) -> bool:
        if any(lease.agent_id == asker.agent_id for lease in self.played.work.leases.values()):
            return False
        return self.played.take(asker) is not None

    def run(self, ticks: int) -> Fleet:
        for _ in range(ticks):
            self.tick()
        return self

    def requests(self) -> list[PreemptionRequested]:
        return [each for each in self.played.events if isinstance(each, PreemptionRequested)]

    def left(self) -> list[NodeKey]:
        """What is not done yet."""
        return [key for key, need in self._needs.items() if self._done[key] < need]


def jobs(graph_id: str, count: int, cost: int) -> LoadedGraph:
    return group(graph_id, *(task(f"j{number}", estimated_tokens=cost * TOKENS) for number in range(count)))


def policy_of(slots: int, window: int = 0, **fields: object) -> SchedulePolicy:
    rules = PreemptionPolicy(min_quantum_seconds=0, max_preemptions=1_000)
    known: dict[str, object] = {"slots": slots, "deadline_window": window, "preemption": rules, **fields}
    return SchedulePolicy(**known)  # type: ignore[arg-type] # any fields of the policy


# --- equals ---


@pytest.mark.parametrize("reports", [False, True], ids=["silent", "reporting"])
@pytest.mark.parametrize("window", [0, 8])
@pytest.mark.parametrize("cost", [1, 7, 20])
@pytest.mark.parametrize(
    ("groups", "each", "slots"), [(2, 1, 1), (4, 1, 1), (3, 3, 4)], ids=["2 on 1", "4 on 1", "3x3 on 4"]
)
def test_equals_ask_nobody_to_pause(groups: int, each: int, slots: int, cost: int, window: int, reports: bool) -> None:  # noqa: FBT001 - a column of the table
    graphs = [jobs(f"g{number}", each, cost) for number in range(groups)]
    fleet = Fleet(policy_of(slots, window), slots + 2, reports=reports, graphs=graphs)
    fleet.run(groups * each * cost + 2)
    assert (fleet.requests(), fleet.left()) == ([], [])


def test_the_same_asks_once_where_one_of_them_is_not_an_equal() -> None:
    """The check above is no check of a preemption that never happens."""
    policy = policy_of(1, groups={"low": GroupPolicy(priority_class="low"), "hot": GroupPolicy(priority_class="high")})
    fleet = Fleet(policy, 3, reports=True, graphs=[jobs("low", 1, 20)])
    fleet.run(10).come(jobs("hot", 1, 3))
    fleet.run(20)
    assert [(each.graph_id, each.node_id) for each in fleet.requests()] == [("hot", "j0")]
    assert fleet.left() == []
    started = [event.lease.graph_id for event in fleet.played.events if isinstance(event, WorkStarted)]
    assert started == ["low", "hot", "low"]


# --- any ---


@st.composite
def fleets(draw: st.DrawFn) -> tuple[Fleet, list[LoadedGraph]]:
    """A fleet of some Groups of any class and weight, and Groups that come later."""
    names = [f"g{number}" for number in range(draw(st.integers(2, 5)))]
    groups = {
        name: GroupPolicy(priority_class=draw(st.sampled_from(CLASSES)), weight=draw(st.sampled_from((1, 2, 16))))
        for name in names
    }
    slots = draw(st.integers(1, 3))
    quantum, most = draw(st.sampled_from((0, 0, 2, 5))), draw(st.integers(0, 3))
    rules = PreemptionPolicy(min_quantum_seconds=quantum, max_preemptions=most)
    policy = policy_of(slots, draw(st.sampled_from((0, 8))), groups=groups, preemption=rules)
    graphs = [jobs(name, draw(st.integers(1, 3)), draw(st.sampled_from((1, 2, 5, 12)))) for name in names]
    late = draw(st.integers(0, len(names) - 1))
    fleet = Fleet(policy, slots + draw(st.integers(1, 2)), reports=draw(st.booleans()), graphs=graphs[late:])
    return fleet, graphs[:late]


@given(fleets(), st.data())
@settings(max_examples=1_000 if settings().max_examples > 1_000 else 20)
def test_whoever_made_room_is_not_asked_for_it_back(
    drawn: tuple[Fleet, list[LoadedGraph]], data: st.DataObject
) -> None:
    fleet, late = drawn
    for graph in late:
        fleet.run(data.draw(st.integers(0, 12)))
        fleet.come(graph)
    fleet.run(200)
    seen_in_a_run(f"{min(len(fleet.requests()), 3)} or more requests")
    assert fleet.left() == []
    _check(fleet)


def _check(fleet: Fleet) -> None:
    """Read the history: how often each was asked, one at a time, and no request against the one that it served."""
    policy = fleet.played.queue.snapshot.policy
    leases: dict[str, ExecutionLease] = {}
    paused = Counter[tuple[str, str]]()
    arrivals = Counter[tuple[str, str]]()
    standing: PreemptionRequested | None = None
    served: dict[str, tuple[str, str]] = {}
    for event in fleet.played.events:
        if isinstance(event, WorkStarted):
            lease = leases[event.lease.lease_id] = event.lease
            # Another start of the flow is another charge: what it took from then on is another matter.
            served = {
                preemptor: flows for preemptor, flows in served.items() if _flow(policy, lease, flows) != flows[0]
            }
            if standing is not None and lease.key == (standing.graph_id, standing.node_id):
                victim = leases[standing.lease_id]
                served[lease.lease_id] = _differing(policy, lease.graph_id, victim.graph_id)
                standing = None
        elif isinstance(event, WorkPaused):
            paused[leases[event.lease_id].key] += 1
        elif isinstance(event, PreemptionRequested):
            victim, key = leases[event.lease_id], (event.graph_id, event.node_id)
            assert standing is None
            assert victim.graph_id != event.graph_id
            assert (event.at - victim.granted_at).total_seconds() >= policy.preemption.min_quantum_seconds
            flows = served.get(event.lease_id)
            assert flows is None or _differing(policy, victim.graph_id, event.graph_id) != flows
            arrivals[key] += 1
            standing = event
        else:
            assert not isinstance(event, SlotsHeld)
    # A node that paused came a second time.
    assert all(count <= 1 + paused[key] for key, count in arrivals.items())
    assert all(count <= policy.preemption.max_preemptions for count in paused.values())


def _differing(policy: SchedulePolicy, one: str, other: str) -> tuple[str, str]:
    """The flows of two Groups at the level where they differ: their classes, or they themselves."""
    classes = class_of(policy, one), class_of(policy, other)
    return (one, other) if classes[0] == classes[1] else classes


def _flow(policy: SchedulePolicy, lease: ExecutionLease, like: tuple[str, str]) -> str:
    """The flow of a lease at the level of some flows."""
    return class_of(policy, lease.graph_id) if like[0] in CLASSES else lease.graph_id
