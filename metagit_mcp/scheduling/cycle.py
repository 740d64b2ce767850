"""Who is next: the plan of one cycle over all Groups, in numbered steps. Knows neither files nor how answers look."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import nsmallest
from typing import Final

from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.share_events import HoldEnded, ShareEvent
from metagit_mcp.domain.tasks import TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.scheduling.choice import Choice, Pick, choose
from metagit_mcp.scheduling.demand import demand_of
from metagit_mcp.scheduling.dispatch import dispatch_of, holding_of
from metagit_mcp.scheduling.eligibility import Reason, intrinsic, is_exhausted_node
from metagit_mcp.scheduling.holds import Held, Holds
from metagit_mcp.scheduling.moment import Moment
from metagit_mcp.scheduling.settling import unsettled, unsettled_runs
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.standing import Top
from metagit_mcp.scheduling.tally import Census
from metagit_mcp.scheduling.workspace import WorkspaceQueue

__all__ = [
    "Choice",
    "Held",
    "Holds",
    "Pick",
    "Plan",
    "WorkspaceQueue",
    "census",
    "censuses",
    "choose",
    "dispatch_of",
    "holding_of",
    "plan",
    "reasons_against",
    "unsettled",
    "unsettled_runs",
]

_HELD_BY_ITSELF: Final = frozenset({"exclusive", "conflicts_with", "resource_busy"})


@value
class Plan:
    """What `limit` agents like the asker would start now, in order, and what merge pressure held back."""

    picks: tuple[Pick, ...]
    skipped: tuple[Pick, ...]


def plan(queue: WorkspaceQueue, asker: Asker, limit: int, graph_id: str | None = None) -> Plan:
    """Return the next `limit` nodes for the asker, of one Group or of all; nothing is changed (advice).

    How many leases the asker may hold does not matter: each node is taken to go to another agent.
    """
    # 1. The same question again, and nothing changed.
    question = (asker, limit, graph_id)
    if question in queue.plans:
        known: Plan = queue.plans[question]
        return known
    # 2. What merge pressure keeps out, best first, never at the cost of a pick.
    skipped = _held_back(queue.moment(asker), limit, graph_id)
    # 3. What a claim would have to know first.
    news = unsettled(queue, Instant(wall=queue.now))
    # 4. One ask needs no more than a look.
    if limit == 1 and not news:
        pick = choose(queue, asker, graph_id).pick
        return Plan(picks=() if pick is None else (pick,), skipped=skipped)
    # 5. Several are what as many claims in a row would get: each is started before the next is looked for.
    found = Plan(picks=tuple(_tried(queue, asker, limit, graph_id, news)), skipped=skipped)
    queue.keep(question, found)
    return found


def _tried(
    queue: WorkspaceQueue, asker: Asker, limit: int, graph_id: str | None, news: Sequence[ShareEvent]
) -> list[Pick]:
    from metagit_mcp.scheduling.trial import Trial  # noqa: PLC0415 - one ask starts nothing, and loads no event

    picks: list[Pick] = []
    with Trial(queue, asker, limit) as trial:
        trial.happen(news)
        while len(picks) < limit:
            choice = choose(queue, asker, graph_id)
            trial.happen(choice.events)
            if choice.pick is None:
                break
            picks.append(choice.pick)
            if len(picks) < limit:
                trial.start(choice.pick)
                # A start may take what the node needs for which slots are held.
                trial.happen(unsettled(queue, Instant(wall=queue.now)))
    return picks


def _held_back(moment: Moment, limit: int, graph_id: str | None) -> tuple[Pick, ...]:
    """Return the best `limit` nodes that `skip_on_merge_pressure` removed."""
    skipped = moment.skipped(graph_id)
    if not skipped:
        return ()
    # A lane can give one of the best only if its head is among the best heads.
    lanes = nsmallest(limit, skipped)
    best = nsmallest(
        limit, (entry for *_, name, place in lanes for entry in _skipped_entries(moment, name, place, limit))
    )
    return tuple(
        Pick(graph_id=name, node=moment.standing(name).group.rules.shape.by_id[node_id], score=-negative)
        for _, negative, _, node_id, name in best
    )


def _skipped_entries(moment: Moment, graph_id: str, place: int, limit: int) -> Iterator[Top]:
    for depth in range(limit):
        head = moment.head(moment.standing(graph_id).group, place, depth)
        if head is None:
            return
        yield (*head[:4], graph_id)


def census(queue: WorkspaceQueue, asker: Asker, graph_id: str | None = None) -> Census:
    """Count the nodes of one Group or of all as the asker sees them."""
    with _without_what_is_over(queue, asker):
        return _census(queue, asker, graph_id)


def censuses(queue: WorkspaceQueue, asker: Asker, graph_ids: Iterable[str]) -> dict[str, Census]:
    """Count the nodes of each of these Groups as `census` does, at one look at what is over."""
    with _without_what_is_over(queue, asker):
        moment, own = queue.moment(asker), queue.agent_slots(asker)
        return {graph_id: moment.census_of(graph_id, own) for graph_id in graph_ids}


@contextmanager
def _without_what_is_over(queue: WorkspaceQueue, asker: Asker) -> Iterator[None]:
    """Look at the queue as a claim would find it: a hold that is over, which is no event yet, keeps nothing."""
    news = unsettled(queue, Instant(wall=queue.now)) if queue.snapshot.work.shares.holds else ()
    over = [each for each in news if isinstance(each, HoldEnded)]
    if not over:
        yield
        return
    from metagit_mcp.scheduling.trial import Trial  # noqa: PLC0415 - hardly ever is there one

    with Trial(queue, asker, 0) as trial:
        trial.happen(over)
        yield


def _census(queue: WorkspaceQueue, asker: Asker, graph_id: str | None) -> Census:
    moment, own = queue.moment(asker), queue.agent_slots(asker)
    return moment.census(own) if graph_id is None else moment.census_of(graph_id, own)


def reasons_against(queue: WorkspaceQueue, asker: Asker, graph_id: str, node: TaskNode) -> tuple[Reason, ...]:
    """Return every reason why the asker may not start the node now, in the fixed order; empty when it may.

    The node is looked at as the queue knows it, whatever an older copy says.
    """
    group = queue.groups[graph_id]
    rules, known = group.rules, group.rules.shape.by_id[node.node_id]
    own = tuple(intrinsic(rules, known))
    if any(reason.kind == "finished" for reason in own):
        return own
    demand = demand_of(known, rules.items.get(known.node_id), exhausted=is_exhausted_node(rules, known))
    # An exhausted budget has its place among the reasons that the demand brings.
    own = tuple(reason for reason in own if reason.kind != "budget_exhausted")
    with _without_what_is_over(queue, asker):
        against = queue.moment(asker).against(demand, group, known.node_id, asker, queue.agent_slots(asker))
        others = tuple(against)
    if known.node_id in rules.leases:
        # What stands against it there is the node itself, also where it is blocked under its lease.
        others = tuple(reason for reason in others if reason.kind not in _HELD_BY_ITSELF)
    return own + others
