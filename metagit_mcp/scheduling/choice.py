"""What one ask gets: the next node, and what is to be kept or asked for a node that must wait. Changes nothing.

scheduling.md §3 rules 4 and 7, and §6 where no slot is free.
"""

from collections.abc import Iterator
from typing import NamedTuple

from metagit_mcp.domain.share_events import PoolRested, PreemptionRequested, ShareEvent, SlotsHeld
from metagit_mcp.domain.shares import Hold
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.scheduling.fairness import FairOrder
from metagit_mcp.scheduling.preempt import preemption_for
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.standing import Offer
from metagit_mcp.scheduling.waited_for import offer_of_hold
from metagit_mcp.scheduling.workspace import WorkspaceQueue


class Pick(NamedTuple):
    """One node of a plan with its exact score in micros.

    `passed_over` is not 0 where the guard picked it, and `is_turn` says that it was its Group's turn in a pool.
    """

    graph_id: str
    node: TaskNode
    score: int
    passed_over: int = 0
    is_turn: bool = False


class Choice(NamedTuple):
    """What an ask gets, and what a claim lets happen before it: slots are held, or somebody is asked to pause."""

    pick: Pick | None = None
    events: tuple[ShareEvent, ...] = ()


def choose(queue: WorkspaceQueue, asker: Asker, graph_id: str | None = None) -> Choice:
    """Return what the asker would start now, of one Group or of all."""
    ask = _Ask(queue, asker, graph_id)
    request = None if graph_id is not None or ask.free is None else _request(queue, asker, ask.free)
    if request is not None or (ask.free is not None and ask.free < 1):
        return Choice(events=() if request is None else (request,))
    offer, held = ask.first(), None
    if offer is not None and ask.is_too_wide(offer):
        # 7. It keeps its place: its Group is set aside for this ask, and slots are kept for it.
        held = SlotsHeld(at=queue.now, graph_id=offer.graph_id, node_id=offer.node_id, slots=offer.slots)
        ask.wait(Hold(graph_id=offer.graph_id, node_id=offer.node_id, slots=offer.slots, at=queue.now))
        offer = ask.first()
    if offer is None and held is None:
        return Choice(events=tuple(ask.rested()))
    return Choice(pick=None if offer is None else ask.pick(offer), events=() if held is None else (held,))


def _request(queue: WorkspaceQueue, asker: Asker, free: int) -> PreemptionRequested | None:
    """Return whom to ask to pause: for who is next while no slot is free, or one more for whom slots are kept."""
    shares, hold = queue.snapshot.work.shares, queue.snapshot.work.shares.hold
    if queue.snapshot.policy.ordering != "fair" or shares.preemptions:
        return None
    if hold is not None:
        found = offer_of_hold(queue, hold) if hold.preempts and free < hold.slots else None
        return None if found is None else preemption_for(queue, queue.order(found[0]), found[1])
    if free >= 1:
        return None
    moment, order = queue.moment(asker), queue.order(asker)

    def wanted(graph_id: str) -> Offer | None:
        offer = moment.offer(graph_id)
        # Nobody makes room for what the asker gave back.
        return None if offer is None or offer.is_shunned else offer

    offer = order.pick(wanted, is_anybody=moment is order.moment)
    return None if offer is None else preemption_for(queue, order, offer)


class _Ask:
    """One ask: the free slots (None: no limit), and the hold that stands, or that it is about to make."""

    __slots__ = ("_as_anybody", "_asker", "_graph_id", "_moment", "_order", "_queue", "_takes_shunned", "free", "hold")

    def __init__(self, queue: WorkspaceQueue, asker: Asker, graph_id: str | None) -> None:
        self._queue, self._asker, self._graph_id = queue, asker, graph_id
        self._moment = queue.moment(asker)
        situation = self._moment.situation
        self.free = None if situation.slots is None else situation.slots - situation.running
        self.hold = situation.hold
        self._takes_shunned = True
        is_fair = graph_id is None and queue.snapshot.policy.ordering == "fair"
        self._order = queue.order(asker) if is_fair else None
        # The same, where anybody of the pool would get the same: nothing is held, and nothing is the asker's own.
        is_anybody = self._order is not None and self.hold is None and self._moment is self._order.moment
        self._as_anybody = self._order if is_anybody else None

    def wait(self, hold: Hold) -> None:
        """Set the Group of a wide node aside."""
        self.hold, self._as_anybody = hold, None

    def is_too_wide(self, offer: Offer) -> bool:
        return self.free is not None and offer.slots > self.free

    def first(self) -> Offer | None:
        """Return what comes first of what may be started, or, while nothing is held, may be waited for."""
        if self._as_anybody is not None:
            return self._as_anybody.next()
        if not self._queue.is_named(self._asker.agent_id):
            return self._first()
        # What the asker gave back comes after all else that it may take (work.md §1, release).
        self._takes_shunned = False
        found = self._first()
        self._takes_shunned = True
        return found or self._first()

    def _first(self) -> Offer | None:
        if self._graph_id is not None:
            return self._usable(self._graph_id)
        if self._order is None:
            return next(self._by_score(), None)
        also = self._queue.owned_in(self._asker.agent_id)
        if self.hold is not None and self._gives_another(self.hold, self._order):
            also.append(self.hold.graph_id)
        return self._order.pick(self._usable, also, is_anybody=self._moment is self._order.moment)

    def _gives_another(self, hold: Hold, order: FairOrder) -> bool:
        """Say whether the Group of the held node would give another one, or none: the order knows it by that."""
        held, offer = self._usable(hold.graph_id), self._moment.offer(hold.graph_id)
        is_alike = offer is not None and held is not None and offer.node_id == held.node_id
        return held is not None and not (is_alike and order.is_eligible(hold.graph_id))

    def _by_score(self) -> Iterator[Offer]:
        for top in self._moment.tops():
            offer = self._usable(top[4])
            if offer is not None:
                yield offer

    def _usable(self, graph_id: str) -> Offer | None:
        hold, free = self.hold, self.free
        if hold is not None and hold.graph_id == graph_id:
            # Its Group gives the held node and nothing else.
            held = self._moment.held_offer(hold)
            return None if held is None or self.is_too_wide(held) or self._is_left(held) else held
        offer = self._moment.offer(graph_id)
        if offer is None or self._is_left(offer):
            return None
        if free is None:
            return offer
        if offer.slots > free:
            return offer if hold is None else None
        return None if hold is not None and self._moment.takes_kept(hold, offer.slots, free) else offer

    def rested(self) -> Iterator[PoolRested]:
        """Yield what there is to tell of a pool in which nothing waits and nothing runs."""
        change = None if self._order is None else self._order.rest(self._queue.capability_sets)
        if change is not None:
            yield PoolRested(at=self._queue.now, change=change)

    def _is_left(self, offer: Offer) -> bool:
        return offer.is_shunned and not self._takes_shunned

    def pick(self, offer: Offer) -> Pick:
        is_turn = self._as_anybody is not None
        if self._order is not None and not is_turn and self._order.is_eligible(offer.graph_id):
            # What the asker owns is no turn of its Group.
            group = self._moment.groups[offer.graph_id]
            is_turn = group.lanes[offer.place].demand.owner is None
        return Pick(
            graph_id=offer.graph_id,
            node=offer.node,
            score=offer.micros,
            passed_over=offer.passed_over,
            is_turn=is_turn,
        )
