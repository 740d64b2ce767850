"""Who is next: the plan of one cycle over all Groups, in numbered steps. Knows neither files nor how answers look."""

from collections.abc import Iterator
from heapq import nsmallest
from typing import Final

from metagit_mcp.domain.repository import repository_key
from metagit_mcp.domain.tasks import TaskNode, effective_slots, effective_tokens
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import Holding
from metagit_mcp.scheduling.demand import demand_of, with_own
from metagit_mcp.scheduling.draft import Draft, Pick
from metagit_mcp.scheduling.eligibility import Reason, intrinsic, is_exhausted_node
from metagit_mcp.scheduling.holds import Held, Holds
from metagit_mcp.scheduling.moment import Census, Moment, Top
from metagit_mcp.scheduling.snapshot import Asker
from metagit_mcp.scheduling.workspace import WorkspaceQueue

__all__ = ["Held", "Holds", "Pick", "Plan", "WorkspaceQueue", "census", "holding_of", "plan", "reasons_against"]


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
    # 1. What the asker sees, kept since the last change.
    moment = queue.moment(asker)
    # 2. The best head of each Group in question.
    draft = Draft(moment, graph_id)
    # 3. The best of those, again and again; each pick takes what it needs before the next is looked at.
    picks = tuple(draft.picks(limit))
    # 4. What merge pressure kept out, best first, never at the cost of a pick.
    return Plan(picks=picks, skipped=_held_back(moment, limit, graph_id))


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
    others = queue.moment(asker).against(demand, group, asker, queue.agent_slots(asker))
    if any(reason.kind == "leased" for reason in own):
        # What stands against it there is the node itself.
        others = (reason for reason in others if reason.kind not in _HELD_BY_ITSELF)
    return own + tuple(others)


def holding_of(queue: WorkspaceQueue, asker: Asker, graph_id: str, node: TaskNode) -> Holding:
    """Return what a lease of the asker on the node holds as long as it lasts (scheduling.md §1 and §5)."""
    known = queue.groups[graph_id].rules.shape.by_id[node.node_id]
    slots = effective_slots(known)
    return Holding(
        slots=slots,
        cost=slots * max(1, -(-effective_tokens(known) // 1000)),
        repository=repository_key(known.repository, known.project),
        uses=dict(with_own(demand_of(known).uses, queue.units_of(asker.agent_id))),
        exclusive=known.exclusive or (),
        touches=known.touches or (),
    )
