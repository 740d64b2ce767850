"""When each Group's turn comes, and who of it waits the longest. Knows neither shares nor words; changes nothing."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.shares import Round
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.choice import choose
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.settling import unsettled
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.workspace import WorkspaceQueue

_NO_ROUND: Final = Round()


@value
class Waiting:
    """A ready node that the starts of its Group pass over: how often so far, and since when that is known."""

    node_id: str
    passed_over: int
    since: datetime


def oldest_waiting(group: GroupQueue) -> Waiting | None:
    """Return the oldest of the Group's ready nodes, as the pass-over guard counts; None before it was passed over.

    It is the one with the lowest number (scheduling.md §2), and the ledger keeps them in that order.
    """
    known, ready = group.round or _NO_ROUND, group.lanes.place_of
    for node_id, age in known.ages.items():
        if node_id in ready:
            passed = age.passed if age.since is None else known.dispatches - age.since
            return Waiting(node_id=node_id, passed_over=passed, since=age.at)
    return None


def starts_before(queue: WorkspaceQueue, asker: Asker, wanted: Collection[str], limit: int) -> Mapping[str, int]:
    """Return how many other starts come before the next one of each wanted Group.

    It is the place in what as many claims in a row by agents like the asker would get, if no slot were ever missing:
    quotas, resources and all other limits hold. A Group that is not among the first `limit` is left out.
    """
    question = ("starts", asker, frozenset(wanted), limit)
    if question not in queue.plans:
        queue.keep(question, _starts_before(queue, asker, wanted, limit) if wanted else {})
    known: Mapping[str, int] = queue.plans[question]
    return known


def _starts_before(queue: WorkspaceQueue, asker: Asker, wanted: Collection[str], limit: int) -> dict[str, int]:
    from metagit_mcp.scheduling.trial import Trial  # noqa: PLC0415 - mere advice loads this module and tries nothing

    found: dict[str, int] = {}
    with Trial(queue, asker, limit) as trial:
        trial.happen(unsettled(queue, Instant(wall=queue.now)))
        for count in range(limit):
            # As if nothing ran and nothing were kept; the next start, and the end of the trial, tell how it is.
            queue.moment(asker).meet(0, None)
            pick = choose(queue, asker).pick
            if pick is None:
                break
            if pick.graph_id in wanted:
                found.setdefault(pick.graph_id, count)
            if len(found) == len(wanted):
                break
            trial.start(pick)
    return found
