"""Starts that are only tried out, so that a plan of several nodes is what as many claims in a row would get.

They happen on a branch of the state; the queue goes there and comes back. Keeps nothing.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Self

from metagit_mcp.domain.events import Event, WorkStarted
from metagit_mcp.domain.evolve import evolve_all
from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.work import ExecutionLease, NodeKey
from metagit_mcp.scheduling.choice import Pick
from metagit_mcp.scheduling.dispatch import dispatch_of, holding_of
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.workspace import WorkspaceQueue


class Trial:
    """The queue as it would be after some starts; at the end of the block it is as it was."""

    def __init__(self, queue: WorkspaceQueue, asker: Asker, starts: int) -> None:
        """Try nothing yet; at most so many starts will be."""
        self._queue = queue
        # What becomes known at one of them is nobody's elder before the guard's limit of others.
        self._admits = starts > queue.snapshot.policy.pass_over_limit > 0
        self._asker = asker
        self._base = queue.snapshot.work
        self._state = _branch(self._base)
        self._own: set[str] = set()
        self._touched: set[NodeKey] = set()
        self._started = 0

    def __enter__(self) -> Self:
        """Go to the branch."""
        queue = self._queue
        self._moment = queue.moment(self._asker)
        self._told, self._moment.told = self._moment.told, {}
        self._plans, queue.plans = queue.plans, {}
        is_fair = queue.snapshot.policy.ordering == "fair"
        order = queue.order(self._asker) if is_fair else None
        self._restore = [queue.saved_orders(), *([] if order is None else [order.saved()])]
        queue.follow(self._state, ())
        if order is not None:
            order.go_to(self._state)
        return self

    def __exit__(self, *_: object) -> None:
        """Go back."""
        for bring_back in self._restore:
            bring_back()
        self._queue.follow(self._base, self._touched)
        self._moment.told, self._queue.plans = self._told, self._plans

    def start(self, pick: Pick) -> None:
        """Let the pick be started, by another agent each time."""
        queue, number = self._queue, self._started
        self._started += 1
        dispatch = dispatch_of(queue, self._asker, pick.graph_id, pick.node, pick, admits=self._admits)
        lease = ExecutionLease(
            lease_id=f"tried {number}",
            graph_id=pick.graph_id,
            node_id=pick.node.node_id,
            agent_id=f"{self._asker.agent_id} {number}",
            session_epoch=0,
            ownership_epoch=0,
            granted_at=queue.now,
            expiry=Expiry(at=queue.now),
            term_seconds=0,
            holding=holding_of(queue, self._asker, pick.graph_id, pick.node),
            share=dispatch.share,
        )
        self.happen([WorkStarted(at=queue.now, lease=lease, dispatch=dispatch)])

    def happen(self, events: Iterable[Event]) -> None:
        """Let events happen on the branch."""
        several = list(events)
        for event in several:
            if isinstance(event, WorkStarted):
                self._make_own(event.lease.graph_id)
        touched = evolve_all(self._state, several)
        self._touched |= touched
        self._queue.follow(self._state, touched)

    def _make_own(self, graph_id: str) -> None:
        """Copy what is about to be changed of a Group."""
        if graph_id in self._own:
            return
        self._own.add(graph_id)
        state, rounds = self._state, self._state.shares.rounds
        state.items[graph_id] = dict(state.items.get(graph_id, {}))
        if graph_id in state.feeds:
            # What is only tried out is not asked of a Group.
            feed = state.feeds[graph_id]
            state.feeds[graph_id] = replace(feed, outbox=dict(feed.outbox))
        if graph_id in rounds:
            rounds[graph_id] = replace(rounds[graph_id], ages=dict(rounds[graph_id].ages))


def _branch(state: LedgerState) -> LedgerState:
    """Return a copy as deep as starts go; a Group is copied when the first of its nodes is started."""
    return replace(
        state,
        items=dict(state.items),
        leases=dict(state.leases),
        terms=dict(state.terms),
        last=list(state.last),
        changes=list(state.changes),
        shares=state.shares.branch_of_charges(),
        feeds=dict(state.feeds),
    )
