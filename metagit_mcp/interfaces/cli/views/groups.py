"""How answers about Groups that are fed by Events look to people. It must not print, nor decide what matters."""

from collections.abc import Iterator

from metagit_mcp.domain.instant import instant_text
from metagit_mcp.interfaces.cli.delivering import Progress
from metagit_mcp.interfaces.cli.output import Block, Table
from metagit_mcp.interfaces.cli.views.schedule import view_remarks
from metagit_mcp.wire.estimate_answers import EstimateAnswer
from metagit_mcp.wire.group_answers import (
    DeliverAnswer,
    FedGroup,
    GroupAnswer,
    GroupsAnswer,
    OutboxAnswer,
    ProposalAnswer,
    SnapshotAnswer,
    VerifyAnswer,
)

_FIGURES = ("group", "cursor", "held", "missing", "items", "outbox", "state")
_NUMBERS = frozenset({"cursor", "held", "items", "outbox"})


def view_batch(answer: DeliverAnswer, line: int) -> Iterator[Block]:
    """Yield what became of the lines up to one."""
    yield f"line {line}: {_counted(answer.applied, answer.duplicates, answer.held)}; Cursor {answer.cursor}"


def view_progress(progress: Progress) -> Iterator[Block]:
    """Yield what became of a whole log."""
    if progress.cursor is None:
        yield "Nothing was delivered: there is no Event in it."
        return
    counted = _counted(progress.applied, progress.duplicates, progress.held)
    yield f"Delivered up to line {progress.line}: {counted}; Cursor {progress.cursor}"
    yield from view_remarks((), progress.next_step)


def _counted(applied: int, duplicates: int, held: int) -> str:
    return f"{applied} applied, {duplicates} known before, {held} held"


def view_groups(answer: GroupsAnswer) -> Iterator[Block]:
    """Yield a row for each Group."""
    yield Table(title="Groups fed by Events", header=_FIGURES, rows=tuple(map(_row, answer.groups)), numbers=_NUMBERS)
    if not answer.groups:
        yield "No Group is fed by Events."
    yield from view_remarks(answer.warnings, answer.next_step)


def view_group(answer: GroupAnswer) -> Iterator[Block]:
    """Yield how one Group stands."""
    group = answer.group
    yield Table(title=group.group_id, header=_FIGURES[1:], rows=(_row(group)[1:],), numbers=_NUMBERS)
    rows = tuple((each.state, str(each.items)) for each in group.items)
    yield Table(title="WorkItems", header=("state", "items"), rows=rows, numbers=frozenset({"items"}))
    if group.first_sequence > 1:
        yield f"Its log is visible from sequence {group.first_sequence} on."
    yield from view_remarks(answer.warnings, answer.next_step)


def _row(group: FedGroup) -> tuple[str, ...]:
    missing = group.missing
    gap = "" if missing is None else f"{missing.first}-{missing.last}"
    state = "archived" if group.archived else "filtered" if group.filtered else "open"
    figures = (group.cursor, group.held, gap, group.items_total, group.outbox, state)
    return (group.group_id, *map(str, figures))


def view_outbox(answer: OutboxAnswer) -> Iterator[Block]:
    """Yield what the Group is to be asked for; what agents said is in the JSON alone."""
    rows = tuple(
        (
            instant_text(each.at),
            each.command,
            each.work_item_id,
            each.agent_id,
            str(each.ownership_epoch),
            each.action_id,
        )
        for each in answer.proposals
    )
    header = ("at", "command", "work item", "agent", "epoch", "action id")
    yield Table(title=f"Outbox of {answer.group_id}", header=header, rows=rows, numbers=frozenset({"epoch"}))
    yield from view_remarks(answer.warnings, answer.next_step)


def view_estimate(answer: EstimateAnswer) -> Iterator[Block]:
    """Yield when it starts and ends, as far as that can be told."""
    where = answer.group_id if answer.node_id is None else f"{answer.group_id}/{answer.node_id}"
    yield f"{where}: {answer.capacity_status}, confidence {answer.confidence:g}"
    start, end = answer.estimated_start, answer.estimated_completion
    if start is not None:
        yield f"  starts {instant_text(start.earliest)} to {instant_text(start.latest)}"
    if end is not None:
        yield f"  is done by {instant_text(end)}"
    yield from view_remarks(answer.warnings, answer.next_step)


def view_answered(answer: ProposalAnswer) -> Iterator[Block]:
    """Yield what left the outbox."""
    yield f"{answer.action_id}: {answer.outcome}"
    yield from (f"  {each} left the outbox" for each in answer.withdrawn)
    yield from view_remarks(answer.warnings, answer.next_step)


def view_verified(answer: VerifyAnswer) -> Iterator[Block]:
    """Yield where the ledger leads elsewhere, if anywhere."""
    rows = tuple(
        (each.group_id, str(each.cursor), str(each.items), "same" if each.same else f"differs at {each.differs_at}")
        for each in answer.groups
    )
    header = ("group", "cursor", "items", "replayed")
    yield Table(title="Groups", header=header, rows=rows, numbers=frozenset({"cursor", "items"}))
    yield f"ledger at {answer.position}, newest snapshot at {answer.snapshot_position}"
    if answer.differs_at is not None:
        yield f"The live state differs at {answer.differs_at}."
    yield from view_remarks(answer.warnings, answer.next_step)


def view_snapshot(answer: SnapshotAnswer) -> Iterator[Block]:
    """Yield where the snapshot stands."""
    yield f"snapshot kept at {answer.position}, {answer.bytes} bytes"
    yield from view_remarks(answer.warnings, answer.next_step)
