"""What waits for a person, the oldest first, with the act that helps and what that leaves as it is. Decides nothing."""

from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import nsmallest
from typing import Final

from metagit_mcp.application.board.reasons import Look, board_reasons, since_of
from metagit_mcp.application.needs_person import file_need, lasting_pauses, limit_needs, node_need, pause_need
from metagit_mcp.domain.approval import approval_digest
from metagit_mcp.domain.text import shown_or_none
from metagit_mcp.domain.work import WorkItem
from metagit_mcp.scheduling.cycle import Held
from metagit_mcp.scheduling.eligibility import Reason
from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.wire.board_cards import Act, OfferedAct, PersonCard
from metagit_mcp.wire.status_answers import PersonNeeded

_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_LONGEST_SUMMARY: Final = 500
# What orders single nodes, and the node itself.
_Stuck = tuple[datetime, str, str, GroupQueue, Held]


def person_cards(look: Look, limit: int) -> tuple[tuple[PersonCard, ...], int]:
    """Return what needs a person, the first `limit`, and how much there is in all: what `schedule status` counts."""
    wide = [*_pauses(look), *_without_instant(look)]
    stuck = list(_stuck(look))
    cards = [*wide, *(_node(look, each) for each in nsmallest(limit, stuck, key=lambda each: each[:3]))]
    cards.sort(key=_age)
    return tuple(cards[:limit]), len(wide) + len(stuck)


def _age(card: PersonCard) -> tuple[datetime, str, str, str]:
    return card.since or _NEVER, card.graph_id or "", card.node_id or "", card.text


def _pauses(look: Look) -> Iterator[PersonCard]:
    for pause in lasting_pauses(look.view, look.asker, look.groups, alone=look.alone is not None):
        need = pause_need(pause)
        act = OfferedAct(act="resume", scope=pause.scope, name=pause.name or None, command=need.command)
        yield PersonCard(
            reason="paused", text=need.reason, act=act, graph_id=need.graph_id, since=pause.at, note=need.note
        )


def _without_instant(look: Look) -> Iterator[PersonCard]:
    """Yield limits that are too small, and files of which not all can be used: nobody knows since when."""
    for need in limit_needs(look.view, look.asker, look.groups, alone=look.alone is not None):
        yield _of_need(need, OfferedAct(act="command", command=need.command))
    for group in look.groups:
        if not group.loaded.is_whole:
            need = file_need(group.graph_id)
            yield _of_need(need, OfferedAct(act="file", file=need.file))


def _of_need(need: PersonNeeded, act: OfferedAct) -> PersonCard:
    return PersonCard(
        reason=need.reason.partition("(")[0],
        text=need.reason,
        act=act,
        graph_id=need.graph_id,
        node_id=need.node_id,
        title=need.title,
        nodes=need.nodes,
    )


def _stuck(look: Look) -> Iterator[_Stuck]:
    for group in look.groups:
        for held in look.view.queue.holds(group.graph_id).for_person:
            yield since_of(group, held.node) or _NEVER, group.graph_id, held.node.node_id, group, held


def _node(look: Look, stuck: _Stuck) -> PersonCard:
    since, graph_id, node_id, group, held = stuck
    need, item = node_need(group, held), group.rules.items.get(node_id)
    others = [each for each in look.against(graph_id, held.node) if each.text != held.reason.text]
    return PersonCard(
        reason=held.reason.kind,
        text=held.reason.text,
        act=act_for(need, held, item, others),
        graph_id=graph_id,
        node_id=node_id,
        title=need.title,
        since=None if since == _NEVER else since,
        note=need.note,
        agent_id=None if item is None else shown_or_none(item.owner),
        repository=shown_or_none(held.node.repository),
        risk=held.node.risk,
        summary=_summary(item),
    )


def act_for(need: PersonNeeded, held: Held, item: WorkItem | None, others: list[Reason]) -> OfferedAct:
    """Return what a person can do about a node, with the reasons that this does not end."""
    act = _act(need, held, item)
    return OfferedAct(
        act=act,
        digest=approval_digest(held.node) if act == "approve" else None,
        command=need.command,
        file=need.file,
        leaves=board_reasons(others),
    )


def _act(need: PersonNeeded, held: Held, item: WorkItem | None) -> Act:
    kind = held.reason.kind
    if kind == "awaiting_approval":
        return "approve"
    if kind == "awaiting_review":
        return "review"
    if kind == "blocked" and item is not None and item.state == "parked":
        return "retry"
    return "command" if need.file is None else "file"


def _summary(item: WorkItem | None) -> str | None:
    result = None if item is None else item.result
    return None if result is None else shown_or_none(result.summary, _LONGEST_SUMMARY)
