"""The queue in dispatch order, and every node that does not stand in it, with every reason. Decides nothing."""

from collections.abc import Iterator, Mapping
from itertools import islice

from metagit_mcp.application.board.reasons import Look, board_reasons, since_of
from metagit_mcp.domain.policy import MICRO, class_of
from metagit_mcp.domain.tasks import FINISHED_STATUSES, STATUSES, TaskNode
from metagit_mcp.domain.text import known_word, shown, shown_or_none
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import NodeKey, owner_of
from metagit_mcp.scheduling.cycle import Pick, census
from metagit_mcp.scheduling.eligibility import Reason
from metagit_mcp.scheduling.lineup import OF_TURN, Lineup, is_in_line, lineup, reasons_behind
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.scoring import reasons as score_reasons
from metagit_mcp.wire.board_cards import BlockedCard, QueueCard


@value
class Queued:
    """The queue and what does not stand in it, the first of each, and how much there is in all."""

    queue: tuple[QueueCard, ...]
    queue_total: int
    not_runnable: tuple[BlockedCard, ...]
    not_runnable_total: int


def queued(look: Look, lost: frozenset[NodeKey], limit: int) -> Queued:
    """Return every unfinished node that does not run, in one of the two lists; `lost` are those that were lost."""
    found = lineup(look.view.queue, look.asker, limit, look.alone)
    counted = census(look.view.queue, look.asker, look.alone)
    in_line = counted.runnable + sum(counted.not_eligible.get(kind, 0) for kind in OF_TURN)
    unfinished = sum(1 for group in look.groups for node in group.rules.shape.by_id.values() if _is_left(node))
    running = sum(len(group.running) for group in look.groups)
    return Queued(
        queue=tuple(_queue_cards(look, found, lost)),
        queue_total=in_line,
        not_runnable=tuple(islice(_blocked_cards(look, found), limit)),
        not_runnable_total=unfinished - running - in_line,
    )


def _is_left(node: TaskNode) -> bool:
    return node.status not in FINISHED_STATUSES


# --- in line ----------------------------------------------------------------------------------------------------------


def _queue_cards(look: Look, found: Lineup, lost: frozenset[NodeKey]) -> Iterator[QueueCard]:
    against = _against(look, found)
    for place, pick in enumerate((*found.now, *found.later), start=1):
        key = (pick.graph_id, pick.node.node_id)
        yield _queue_card(look, pick, place, against.get(key), is_lost=key in lost)


def _against(look: Look, found: Lineup) -> Mapping[NodeKey, tuple[Reason, ...]]:
    """Return what stands against those that come later: now, or once those before them have started."""
    later = [(pick.graph_id, pick.node) for pick in found.later]
    against = {(graph_id, node.node_id): look.against(graph_id, node) for graph_id, node in later}
    free = [(graph_id, node) for graph_id, node in later if not against[graph_id, node.node_id]]
    behind = reasons_behind(look.view.queue, look.asker, found, free)
    return against | {key: look.as_told(reasons) for key, reasons in behind.items()}


def _queue_card(look: Look, pick: Pick, place: int, against: tuple[Reason, ...] | None, *, is_lost: bool) -> QueueCard:
    view, node = look.view, pick.node
    group = view.queue.groups[pick.graph_id]
    scored = view.queue.moment(look.asker).scored(group, node, view.policy, view.now)
    return QueueCard(
        place=place,
        graph_id=pick.graph_id,
        node_id=node.node_id,
        title=shown(node.title),
        score=pick.score / MICRO,
        score_reasons=score_reasons(node, scored, view.policy),
        priority_class=class_of(view.policy, pick.graph_id),
        now=against is None or None,
        reasons=board_reasons(against or ()),
        passed_over=pick.passed_over or None,
        repository=shown_or_none(node.repository),
        agent_id=_agent(group, node),
        deadline=node.deadline,
        lost=is_lost or None,
    )


def _agent(group: GroupQueue, node: TaskNode) -> str | None:
    """Return whose the node is: its owner, else whom its file names."""
    item = group.rules.items.get(node.node_id)
    return shown_or_none((None if item is None else owner_of(item) or item.owner) or node.agent_id)


# --- not in line ------------------------------------------------------------------------------------------------------


def _blocked_cards(look: Look, found: Lineup) -> Iterator[BlockedCard]:
    moment = look.view.queue.moment(look.asker)
    picked = {(pick.graph_id, pick.node.node_id) for pick in found.now}
    for group in sorted(look.groups, key=lambda each: (not each.rules.active, each.graph_id)):
        running = {node.node_id for node in group.running}
        for node_id, node in sorted(group.rules.shape.by_id.items()):
            is_elsewhere = node_id in running or (group.graph_id, node_id) in picked
            if _is_left(node) and not is_elsewhere and not is_in_line(moment, group.graph_id, node_id):
                yield _blocked_card(look, group, node)


def _blocked_card(look: Look, group: GroupQueue, node: TaskNode) -> BlockedCard:
    return BlockedCard(
        graph_id=group.graph_id,
        node_id=node.node_id,
        title=shown(node.title),
        status=known_word(node.status, STATUSES),
        reasons=board_reasons(look.against(group.graph_id, node)),
        since=since_of(group, node),
        repository=shown_or_none(node.repository),
        agent_id=_agent(group, node),
    )
