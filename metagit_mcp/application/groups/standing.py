"""How each Group stands: what it is guaranteed and what it received, what it has, and when it is next. Decides nothing.

A Group that is shown costs a bounded look; of the others only their shares are compared.
"""

from collections.abc import Sequence
from fractions import Fraction

from metagit_mcp.application.finding import known_graph
from metagit_mcp.application.turns.shared import View
from metagit_mcp.domain.policy import MICRO, class_of, weight_of
from metagit_mcp.domain.tasks import GRAPH_STATUSES
from metagit_mcp.domain.text import known_word, shown
from metagit_mcp.domain.value import changed
from metagit_mcp.scheduling.cycle import censuses
from metagit_mcp.scheduling.guarantee import guaranteed, has_work, received
from metagit_mcp.scheduling.outlook import oldest_waiting, starts_before
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.tally import Census
from metagit_mcp.wire.responses import ReasonCount
from metagit_mcp.wire.status_answers import GroupStatus, OldestWaiting

_GROUPS_SHOWN = 20
# A Group whose next start comes later than this is not told when.
_STARTS_LOOKED_AT = 50
_NOTHING = Fraction(0)


def group_statuses(
    view: View,
    asker: Asker,
    graph_ids: Sequence[str],
    after_group: str | None,
    *,
    alone: bool = False,
    limit: int = _GROUPS_SHOWN,
) -> tuple[GroupStatus, ...]:
    """Return the Groups of these that are most behind their share, or those that come after one of all.

    Of one Group `alone` no share is told, nor its place among all: both follow from what the others do.
    Behind is who received less of the newest charges than it is guaranteed; ties go by id, and Groups without work
    come last.

    Raises:
        GraphNotFound: there is no Group to go on after.
    """
    shares = _Shares(view)
    order = sorted(graph_ids, key=shares.place)
    if after_group is not None:
        last = shares.place(known_graph(view.image.graphs, after_group).graph_id)
        order = [name for name in order if shares.place(name) > last]
    shown_ids = order if alone else order[:limit]
    counted = censuses(view.queue, asker, shown_ids)
    rows = (_of_itself(view, name, counted[name]) for name in shown_ids)
    if alone:
        return tuple(rows)
    moment = view.queue.moment(asker)
    offering = frozenset(name for name in shown_ids if moment.offer(name) is not None)
    before = starts_before(view.queue, asker, offering, _STARTS_LOOKED_AT)
    return tuple(
        changed(
            row,
            guaranteed=_rounded(shares.guaranteed.get(row.graph_id, _NOTHING)) if shares.are_kept else None,
            received=_rounded(shares.received.get(row.graph_id, _NOTHING)),
            starts_before=before.get(row.graph_id),
        )
        for row in rows
    )


class _Shares:
    """What every Group is guaranteed, and what it received."""

    def __init__(self, view: View) -> None:
        groups = view.queue.groups
        self._with_work = {name for name, group in groups.items() if has_work(group)}
        self.guaranteed = guaranteed(view.policy, self._with_work)
        self.received = received(view.work.shares.recent)
        # With `ordering: "score"` no Group is guaranteed anything.
        self.are_kept = view.policy.ordering == "fair"

    def place(self, graph_id: str) -> tuple[bool, float, Fraction, str]:
        """Return what orders the Groups: the most behind its share is the least.

        The rounded number is in the order of the exact one, which is only looked at where two are alike.
        """
        ahead = self.received.get(graph_id, _NOTHING) - self.guaranteed.get(graph_id, _NOTHING)
        return graph_id not in self._with_work, float(ahead), ahead, graph_id


def _of_itself(view: View, graph_id: str, counted: Census) -> GroupStatus:
    """What can be said of a Group whatever others do."""
    group = view.queue.groups[graph_id]
    graph = group.loaded.graph
    return GroupStatus(
        graph_id=graph_id,
        title="" if graph is None else shown(graph.title),
        state="invalid" if graph is None else known_word(graph.status, GRAPH_STATUSES),
        priority_class=class_of(view.policy, graph_id),
        weight=weight_of(view.policy, graph_id),
        nodes=len(group.rules.shape.by_id),
        ready=group.ready_count,
        runnable=counted.runnable,
        running=len(group.running),
        running_slots=group.running_slots,
        finished=group.first_reasons.get("finished", 0),
        quota=group.quota,
        oldest=_oldest(view, group),
        waits_for=None if counted.runnable else _waits_for(counted),
    )


def _rounded(share: Fraction) -> float:
    """Return a share as a decimal of six places, half to even."""
    micros, rest = divmod(share.numerator * MICRO, share.denominator)
    more = 2 * rest - share.denominator
    return (micros + (more > 0 or (more == 0 and micros % 2))) / MICRO


def _oldest(view: View, group: GroupQueue) -> OldestWaiting | None:
    found = oldest_waiting(group)
    if found is None:
        return None
    # A clock that was put back has waited for nothing.
    seconds = max(0, int((view.now - found.since).total_seconds()))
    return OldestWaiting(node_id=found.node_id, passed_over=found.passed_over, seconds=seconds)


def _waits_for(counted: Census) -> tuple[ReasonCount, ...] | None:
    """Why nothing of the Group can be started, by first reasons; None where there is nothing left to start."""
    left = {kind: nodes for kind, nodes in counted.not_eligible.items() if nodes and kind != "finished"}
    return tuple(ReasonCount(reason=kind, nodes=nodes) for kind, nodes in sorted(left.items())) or None
