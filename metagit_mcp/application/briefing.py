"""What an agent is told unasked: at the start of its session how things stand, at the end of its turn what is next.

Every number is the one that `schedule status` tells. It writes nothing, not even to the decision log.
"""

from datetime import datetime
from typing import Final

from metagit_mcp.application.asking import asker_of
from metagit_mcp.application.caller import Caller
from metagit_mcp.application.needs_person import persons_needed
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.shared import View
from metagit_mcp.application.work.leases import leases_of
from metagit_mcp.domain.text import shown_or_none
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import ExecutionLease
from metagit_mcp.scheduling.cycle import censuses, plan
from metagit_mcp.scheduling.explain import decision
from metagit_mcp.scheduling.snapshot import Asker

# How a lease ends when its own agent says how the work stands.
_REPORTED: Final = frozenset({"completed", "submitted", "failed", "released", "paused", "blocked"})


@value
class HeldWork:
    """A live lease of the agent: until when it lasts, and what its last checkpoint says."""

    lease_id: str
    graph_id: str
    node_id: str
    until: datetime
    checkpoint: str | None = None


@value
class RunnableWork:
    """How many nodes of a Group could be started now."""

    graph_id: str
    nodes: int


@value
class Briefing:
    """What an agent should know when its session begins; Groups without anything to start are left out.

    `persons_needed` is how many things only a person can set going.
    """

    held: tuple[HeldWork, ...]
    runnable: tuple[RunnableWork, ...]
    persons_needed: int


@value
class NextWork:
    """The node that the agent would get now, and why."""

    graph_id: str
    node_id: str
    score: float
    reasons: tuple[str, ...]


@value
class TurnEnd:
    """How an agent stands when its turn ends.

    `reported` is its newest lease, where that ended by its own report; `next` is looked for only then, and only while
    the agent holds nothing.
    """

    held: tuple[HeldWork, ...]
    reported: str | None = None
    next: NextWork | None = None


class Briefings:
    """What hooks of an agent's host tell it."""

    def __init__(self, current: Current, caller: Caller) -> None:
        """Keep the collaborators."""
        self._current = current
        self._caller = caller

    async def at_start(self, agent_id: str) -> Briefing:
        """Return what an agent should know when its session begins.

        Raises:
            PolicyInvalid: policy.json cannot be used.
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read.
        """
        self._caller.allow("look")
        view = await self._current.view()
        # As `schedule status` is asked: what this agent may still take is no matter of how things stand.
        asker, graph_ids = asker_of(self._caller, view), sorted(view.queue.groups)
        counted = censuses(view.queue, asker, graph_ids)
        runnable = [RunnableWork(graph_id=name, nodes=counted[name].runnable) for name in graph_ids]
        found = [each for each in runnable if each.nodes]
        return Briefing(
            held=_held(view, agent_id),
            runnable=tuple(sorted(found, key=lambda each: (-each.nodes, each.graph_id))),
            persons_needed=persons_needed(view, asker, graph_ids, 0)[1],
        )

    async def at_end_of_turn(self, agent_id: str) -> TurnEnd:
        """Return how an agent stands when its turn ends; raises what `at_start` raises."""
        self._caller.allow("look")
        view = await self._current.view()
        held, reported = _held(view, agent_id), _newest_reported(view, agent_id)
        if held or reported is None:
            return TurnEnd(held=held, reported=reported)
        return TurnEnd(held=held, reported=reported, next=_next(view, asker_of(self._caller, view, agent_id)))


def _held(view: View, agent_id: str) -> tuple[HeldWork, ...]:
    return tuple(_held_work(view, lease) for lease in leases_of(view.work, agent_id))


def _held_work(view: View, lease: ExecutionLease) -> HeldWork:
    item = view.work.item(lease.key)
    point = None if item is None else item.checkpoint
    return HeldWork(
        lease_id=lease.lease_id,
        graph_id=lease.graph_id,
        node_id=lease.node_id,
        until=lease.expiry.at,
        checkpoint=None if point is None else shown_or_none(point.note),
    )


def _newest_reported(view: View, agent_id: str) -> str | None:
    """Return the agent's newest lease that ended, if it ended by its own report; None for all others."""
    newest = next((each for each in reversed(view.work.closed.values()) if each.agent_id == agent_id), None)
    return newest.lease_id if newest is not None and newest.closure in _REPORTED else None


def _next(view: View, asker: Asker) -> NextWork | None:
    picks = plan(view.queue, asker, 1).picks
    if not picks:
        return None
    made = decision(view.queue, asker, picks[0], "", at=view.now)
    return NextWork(graph_id=made.graph_id, node_id=made.node_id, score=made.score, reasons=made.reasons)
