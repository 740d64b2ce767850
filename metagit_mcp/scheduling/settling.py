"""What is to be known before a start: runs of other programs, and holds that are filled or over. Writes nothing.

A claim lets these events happen before it chooses (scheduling.md §3 rules 5 and 7).
"""

from collections.abc import Iterator

from metagit_mcp.domain.charging import units_of
from metagit_mcp.domain.instant import Instant, expiry_after
from metagit_mcp.domain.share_events import HoldEnded, HoldFilled, RunEnded, RunSeen, ShareEvent
from metagit_mcp.domain.shares import Run
from metagit_mcp.domain.tasks import effective_slots, effective_tokens
from metagit_mcp.scheduling.dispatch import share_of
from metagit_mcp.scheduling.waited_for import offer_of_hold
from metagit_mcp.scheduling.workspace import WorkspaceQueue


def unsettled(queue: WorkspaceQueue, instant: Instant) -> list[ShareEvent]:
    """Return what happened to runs and to the hold since the last start."""
    return [*unsettled_runs(queue), *_hold(queue, instant)]


def unsettled_runs(queue: WorkspaceQueue) -> Iterator[RunSeen | RunEnded]:
    """Yield the runs of other programs that are to be charged, and the ends of those that were."""
    known, policy = queue.snapshot.work.shares.runs, queue.snapshot.policy
    for graph_id in sorted(queue.unsettled_in):
        group, charged = queue.groups.get(graph_id), known.get(graph_id, {})
        seen = {} if group is None else group.seen
        for node_id in sorted(charged.keys() - seen.keys()):
            yield RunEnded(at=queue.now, graph_id=graph_id, node_id=node_id)
        share = share_of(queue, graph_id)
        if share is None:
            continue
        for node_id in sorted(seen.keys() - charged.keys()):
            node = seen[node_id]
            cost = units_of(effective_slots(node), effective_tokens(node))
            run = Run(graph_id=graph_id, node_id=node_id, share=share, cost=cost)
            yield RunSeen(at=queue.now, run=run, class_window=policy.class_window, group_window=policy.deadline_window)


def _hold(queue: WorkspaceQueue, instant: Instant) -> Iterator[ShareEvent]:
    hold, policy = queue.snapshot.work.shares.hold, queue.snapshot.policy
    if hold is None:
        return
    is_unwanted = hold.preempts and not policy.preemption.enabled
    if policy.slots is None or is_unwanted or offer_of_hold(queue, hold) is None:
        yield HoldEnded(at=queue.now, graph_id=hold.graph_id, node_id=hold.node_id)
    elif hold.until is None and policy.slots - queue.running_slots >= hold.slots:
        yield HoldFilled(at=queue.now, until=expiry_after(instant, policy.leases.start_by_seconds))
