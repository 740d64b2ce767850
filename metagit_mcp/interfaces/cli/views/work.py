"""How answers about single nodes, leases and pauses look to people. It must not print, nor decide what matters."""

from collections.abc import Iterable, Iterator

from metagit_mcp.application.news.changes import Change
from metagit_mcp.domain.decision import BudgetFigure
from metagit_mcp.domain.instant import instant_text
from metagit_mcp.interfaces.cli.output import Block, Table
from metagit_mcp.interfaces.cli.views.schedule import view_lease, view_pauses, view_remarks
from metagit_mcp.wire.responses import PauseAnswer, WorkReportAnswer, WorkStandingAnswer, WorkStartAnswer


def view_start(answer: WorkStartAnswer) -> Iterator[Block]:
    """Yield the lease, or the ownership of what is started later."""
    if answer.lease is not None:
        yield from view_lease(answer.lease)
        yield from _budget(answer.lease.budget or ())
    owned = answer.ownership
    if owned is not None:
        yield f"{owned.graph_id}/{owned.node_id} is {owned.agent_id}'s; to be started by {instant_text(owned.start_by)}"
    hints = answer.dispatch_hints
    if hints is not None:
        yield f"  {hints.title}"
        yield from (f"  acceptance: {each}" for each in hints.acceptance or ())
    yield from view_remarks(answer.warnings, answer.next_step)


def view_report(answer: WorkReportAnswer) -> Iterator[Block]:
    """Yield what the node is now, and the lease if it goes on."""
    yield f"{answer.graph_id}/{answer.node_id} is {answer.node_status}"
    if answer.retry_at is not None:
        yield f"  tried again at {instant_text(answer.retry_at)}"
    if answer.lease is not None:
        yield from view_lease(answer.lease)
    yield from _budget(answer.budget_left or ())
    yield from view_remarks(answer.warnings, answer.next_step)


def view_standing(answer: WorkStandingAnswer) -> Iterator[Block]:
    """Yield what the node is after a person's act."""
    yield f"{answer.graph_id}/{answer.node_id} is {answer.node_status}, by {answer.by}"
    yield from view_remarks(answer.warnings, answer.next_step)


def view_pause(answer: PauseAnswer) -> Iterator[Block]:
    """Yield all that is paused now."""
    yield "changed" if answer.changed else "not changed"
    yield view_pauses(answer.pauses)
    if not answer.pauses:
        yield "Nothing is paused."
    yield from view_remarks(answer.warnings, answer.next_step)


def view_change(change: Change) -> str:
    """Return one line: when, where, what, who, and in whose words."""
    where = f"{change.graph_id}/{change.node_id}" if change.node_id else change.graph_id
    scope = f"{change.scope} {change.name or ''}".rstrip() if change.scope else None
    words = [instant_text(change.at), where or scope, change.change, change.status, change.agent_id, change.lease_id]
    words += [f"by {change.by}"] if change.by else []
    words += [f"until {instant_text(change.until)}"] if change.until else []
    line = " ".join(word for word in words if word)
    return f"{line}: {change.note}" if change.note else line


def _budget(figures: Iterable[BudgetFigure]) -> Iterator[Block]:
    rows = tuple((each.name, str(each.limit), str(each.left)) for each in figures)
    yield Table(title="Budget", header=("figure", "limit", "left"), rows=rows, numbers=frozenset({"limit", "left"}))
