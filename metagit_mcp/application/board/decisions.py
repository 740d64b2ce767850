"""Recent decisions, each with what became of it. Reads nothing and decides nothing."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from metagit_mcp.application.board.reasons import Look
from metagit_mcp.application.board.work import Ended
from metagit_mcp.domain.decision import LoggedDecision
from metagit_mcp.domain.projection import row_instant
from metagit_mcp.wire.board_answers import Became, DecisionCard

# Ended leases are remembered at least that long (work.md §1, Fencing).
_REMEMBERED: Final = timedelta(days=7)
_Outcome = tuple[Became | None, datetime | None]


def decision_cards(look: Look, ended: Ended, recent: Sequence[LoggedDecision]) -> tuple[DecisionCard, ...]:
    """Return the decisions as a timeline, in the order of the log's answer: the newest first."""
    return tuple(_card(row, *_outcome(look, ended, row)) for row in recent)


def _card(row: LoggedDecision, became: Became | None, became_at: datetime | None) -> DecisionCard:
    return DecisionCard(
        decision_id=row.decision_id,
        at=row.at,
        graph_id=row.graph_id,
        node_id=row.node_id,
        score=row.score,
        reasons=row.reasons,
        title=row.title,
        agent_id=row.agent_id,
        repository=row.repository,
        became=became,
        became_at=became_at,
    )


def _outcome(look: Look, ended: Ended, row: LoggedDecision) -> _Outcome:
    """Return how the first lease ended that the agent had on the node since then, or that it runs."""
    if row.skipped:
        return "skipped", None
    at = row_instant(row.at)
    if at is None:
        return None, None
    own = (each for each in ended.get((row.graph_id, row.node_id), ()) if each.agent_id == row.agent_id)
    first = next((each for each in own if each.closed_at >= at), None)
    if first is not None:
        return first.closure, first.closed_at
    if look.view.work.lease_on((row.graph_id, row.node_id), row.agent_id or "") is not None:
        return "running", None
    return (None if look.view.now - at > _REMEMBERED else "not_taken"), None
