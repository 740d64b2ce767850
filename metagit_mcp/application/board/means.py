"""What work is done with: slots, resources, keys, agents, budgets, and who received how much of it. Decides nothing."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from metagit_mcp.application.board.reasons import Look
from metagit_mcp.application.needs_person import needed_resources
from metagit_mcp.application.standing import held_slots
from metagit_mcp.domain.decision import BudgetFigure
from metagit_mcp.domain.policy import budget_for, slots_of_agent
from metagit_mcp.domain.shares import Charged
from metagit_mcp.domain.state import pause_key
from metagit_mcp.domain.tasks import FINISHED_STATUSES
from metagit_mcp.domain.text import shown, shown_name
from metagit_mcp.domain.work import ExecutionLease, Usage, added, budget_left
from metagit_mcp.scheduling.eligibility import is_exhausted_node
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.wire.board_answers import (
    AgentCard,
    BudgetCard,
    KeyCard,
    ResourceCard,
    ShareHistory,
    ShareLine,
    SlotsCard,
)
from metagit_mcp.wire.status_answers import GroupStatus

_POINTS: Final = 50
_LINES: Final = 20
_KEYS_SHOWN: Final = 100


def slots_card(look: Look) -> SlotsCard:
    """Return the slots of the workspace; of one Group alone it is not told how many are in use."""
    in_use = look.view.queue.running_slots if look.alone is None else None
    return SlotsCard(limit=look.view.policy.slots, in_use=in_use, held=held_slots(look.view, look.alone))


def resource_cards(look: Look) -> tuple[ResourceCard, ...]:
    """Return the resources of the policy, and those that are closed, by name; of one Group alone what it needs."""
    view = look.view
    closures = {name: each for name, each in view.work.closures.items() if each.until > view.now}
    names = view.policy.resources.keys() | closures.keys()
    if look.alone is not None:
        names &= needed_resources(view.queue.groups[look.alone])
    return tuple(_resource(look, name) for name in sorted(names))


def _resource(look: Look, name: str) -> ResourceCard:
    view, is_whole = look.view, look.alone is None
    known, closure = view.policy.resources.get(name), view.work.closures.get(name)
    closed = None if closure is None or closure.until <= view.now else closure
    return ResourceCard(
        name=shown_name(name),
        capacity=None if known is None else known.capacity,
        in_use=view.queue.holdings.units[name] if is_whole else None,
        closed=True if closed is not None else None,
        closed_until=closed.until if closed is not None and is_whole else None,
        closed_by=shown(closed.by) if closed is not None and is_whole else None,
    )


def key_cards(look: Look) -> tuple[KeyCard, ...]:
    """Return the exclusive keys that leases hold, by name and node."""
    found = ((key, lease) for lease in _leases(look) for key in lease.holding.exclusive)
    rows = sorted(found, key=lambda each: (each[0], each[1].key))
    return tuple(
        KeyCard(name=shown_name(key), graph_id=lease.graph_id, node_id=lease.node_id, agent_id=shown(lease.agent_id))
        for key, lease in rows[:_KEYS_SHOWN]
    )


def _leases(look: Look) -> Iterator[ExecutionLease]:
    return (each for each in look.view.work.leases.values() if look.alone in {None, each.graph_id})


# --- agents -----------------------------------------------------------------------------------------------------------


def agent_cards(look: Look, limit: int) -> tuple[tuple[AgentCard, ...], int]:
    """Return the agents, those that hold something first; of one Group alone those that work for it."""
    held = Counter[str]()
    proofs: dict[str, datetime] = {}
    for lease in _leases(look):
        held[lease.agent_id] += 1
        _prove(proofs, lease.agent_id, lease.last_renewed_at or lease.granted_at)
    for session in look.view.work.sessions.values() if look.alone is None else ():
        _prove(proofs, session.agent_id, session.opened_at)
    order = sorted(proofs, key=lambda name: (not held[name], name))
    return tuple(_agent(look, name, held[name], proofs[name]) for name in order[:limit]), len(order)


def _prove(proofs: dict[str, datetime], agent_id: str, at: datetime) -> None:
    proofs[agent_id] = max(at, proofs.get(agent_id, at))


def _agent(look: Look, agent_id: str, held: int, proof_at: datetime) -> AgentCard:
    work, is_whole = look.view.work, look.alone is None
    pause, session = work.pauses.get(pause_key("agent", agent_id)), work.sessions.get(agent_id)
    is_paused = is_whole and pause is not None and (pause.until is None or pause.until > look.view.now)
    capabilities = None if session is None or not is_whole else session.capabilities
    return AgentCard(
        agent_id=shown(agent_id, 256),
        held=held,
        slots=slots_of_agent(look.view.policy, agent_id),
        paused=is_paused or None,
        proof_at=proof_at,
        capabilities=None if capabilities is None else tuple(map(shown_name, capabilities)),
    )


# --- budgets ----------------------------------------------------------------------------------------------------------


def budget_cards(look: Look, limit: int) -> tuple[tuple[BudgetCard, ...], int]:
    """Return the budgets of which something was used, the scarcest first, and how many there are in all."""
    found = [card for group in look.groups for card in _budgets(look, group)]
    found.sort(key=lambda card: (not card.exhausted, _left_of_million(card), card.graph_id, card.node_id))
    return tuple(found[:limit]), len(found)


def _left_of_million(card: BudgetCard) -> int:
    return min(each.left * 1_000_000 // max(each.limit, 1) for each in card.figures)


def _budgets(look: Look, group: GroupQueue) -> Iterator[BudgetCard]:
    rules = group.rules
    for node_id, item in rules.items.items():
        node, lease = rules.shape.by_id.get(node_id), rules.leases.get(node_id)
        spent = item.spent if lease is None else added(item.spent, lease.usage)
        if node is None or node.status in FINISHED_STATUSES or spent == _NOTHING:
            continue
        limits = budget_for(look.view.policy, group.graph_id, node.budget) if lease is None else lease.budget
        left = budget_left(limits, spent)
        if limits and left:
            yield BudgetCard(
                graph_id=group.graph_id,
                node_id=node_id,
                title=shown(node.title),
                figures=tuple(BudgetFigure(name=name, limit=limits[name], left=each) for name, each in left.items()),
                exhausted=is_exhausted_node(rules, node),
            )


_NOTHING: Final = Usage()


# --- shares -----------------------------------------------------------------------------------------------------------


def share_history(look: Look, groups: Iterable[GroupStatus]) -> ShareHistory | None:
    """Return how the newest charges went on, of the Groups with the largest shares; None of one Group alone."""
    recent = look.view.work.shares.recent
    if look.alone is not None:
        return None
    largest = sorted(groups, key=lambda each: (-max(each.guaranteed or 0, each.received or 0), each.graph_id))
    names = [each.graph_id for each in largest[:_LINES] if each.guaranteed or each.received]
    step = -(-len(recent) // _POINTS)
    points = [*range(len(recent), 0, -step)][::-1] if recent else []
    rows = [*_received(recent, points, names)]
    lines = tuple(
        ShareLine(graph_id=name, received=tuple(row[place] for row in rows)) for place, name in enumerate(names)
    )
    return ShareHistory(charges=tuple(points), lines=lines)


def _received(recent: list[Charged], points: list[int], names: list[str]) -> Iterator[list[float]]:
    """Yield at each number of charges the share that each Group has in their cost."""
    costs, done = Counter[str](), 0
    for point in points:
        for each in recent[done:point]:
            costs[each.graph_id] += each.cost
        done, total = point, costs.total()
        yield [round(costs[name] / total, 6) if total else 0.0 for name in names]
