"""What a queue sees that follows many events of other processes at once, and what two kinds of askers share.

It must not know how a queue follows.
"""

from __future__ import annotations

from dataclasses import replace

from metagit_mcp.domain.events import WorkStarted
from metagit_mcp.domain.limits import AgentPolicy, ResourcePolicy
from metagit_mcp.domain.replay import told_by
from metagit_mcp.scheduling.cycle import WorkspaceQueue, choose, dispatch_of
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import ANYONE, group, task
from tests.unit.scheduling.claimed import Played, many, policy_of


class Late:
    """Another process's queue over the same ledger, which looks only now and then."""

    def __init__(self, played: Played) -> None:
        self.played, self.read = played, 0
        self.queue = WorkspaceQueue(played.queue.snapshot)

    def look(self) -> None:
        """Follow all that happened since, as a process does that reads it from the ledger."""
        news, self.read = self.played.events[self.read :], len(self.played.events)
        # More than what the news are about is no harm.
        touched = {event.lease.key for event in self.played.events if isinstance(event, WorkStarted)}
        touched |= {key for event in news for key in told_by(event)}
        self.queue.follow(self.played.work, touched)
        self.queue.order(ANYONE)


def test_what_others_told_of_a_group_counts_though_the_group_is_as_it_was() -> None:
    exclusive = {"exclusive": ("k",)}
    played = Played(
        group("p", *(task(f"p{number}", **exclusive) for number in range(5))),
        group("y", task("y0", **exclusive), task("y1", **exclusive)),
        many("q", 30),
        many("r", 30),
    )
    late = Late(played)
    first = played.claim()
    assert first == "p/p0"
    played.give_back("p", "p0")
    played.claim()
    late.look()
    # While others have the key, y is told to have ceased; when the late one looks, the key is free again.
    played.start("p", "p3")
    played.claims(8)
    assert not played.flow("normal", "y").eligible
    played.give_back("p", "p3")
    late.look()
    fresh = WorkspaceQueue(played.queue.snapshot)
    picks = [choose(queue, ANYONE).pick for queue in (late.queue, played.queue, fresh)]
    assert picks[0] == picks[1] == picks[2]
    pick = picks[0]
    assert pick is not None
    told = [dispatch_of(queue, ANYONE, pick.graph_id, pick.node, pick).pick for queue in (late.queue, fresh)]
    assert told[0] == told[1]


def test_an_agent_that_would_be_given_another_node_is_compared_by_that_one() -> None:
    policy = policy_of(
        deadline_window=8, agents={"u": AgentPolicy(uses={"acct": 1})}, resources={"acct": ResourcePolicy(capacity=1)}
    )
    nodes = task("a1", priority=9, uses={"acct": 1}), task("a2", priority=0)
    played = Played(group("a", *nodes), group("b", task("b", priority=5)), policy=policy)
    assert played.claim(Asker(agent_id="u")) == "b/b"


def test_a_node_that_came_twice_gets_one_age() -> None:
    played = Played(group("g", *(task(f"n{number:03}", priority=-number) for number in range(100))))
    played.claim()
    played.start("g", "n090")
    played.give_back("g", "n090")
    here = dispatch_of(played.queue, ANYONE, "g", played.queue.groups["g"].rules.shape.by_id["n050"])
    fresh = WorkspaceQueue(replace(played.queue.snapshot))
    there = dispatch_of(fresh, ANYONE, "g", fresh.groups["g"].rules.shape.by_id["n050"])
    assert (len(here.arrived), here) == (32, there)
