"""How answers about the order of work look to people. It must not print, nor decide what is worth knowing."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from metagit_mcp.domain.decision import LeaseRecord, LoggedDecision, ScheduleDecision
from metagit_mcp.domain.instant import instant_text
from metagit_mcp.interfaces.cli.output import Block, Table
from metagit_mcp.interfaces.cli.wording import for_people
from metagit_mcp.wire.codec import plain
from metagit_mcp.wire.responses import NextAnswer, PauseRecord, ReasonCount
from metagit_mcp.wire.status_answers import (
    GroupStatus,
    HeldSlots,
    NodeExplanation,
    PersonNeeded,
    RunningNode,
    StatusAnswer,
)

_SCORE = frozenset({"score"})
_FRACTION = re.compile(r"(?<=:\d\d)\.\d+")


def number(amount: float) -> str:
    """Return a number with up to six decimal places, without the zeros at its end."""
    return f"{amount:.6f}".rstrip("0").rstrip(".")


def counted(amount: int, noun: str) -> str:
    """Return a number with its noun, in the plural but for one."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def percent(share: float) -> str:
    """Return a share of 0 to 1 as a percentage, to one decimal place."""
    return f"{100 * share:.1f}%"


def duration(seconds: int) -> str:
    """Return a time in its largest unit of which there are at least two."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def without_fraction(instant: str) -> str:
    """Return an instant to the second."""
    return _FRACTION.sub("", instant)


def view_remarks(warnings: Iterable[str], next_step: str) -> Iterator[Block]:
    """Yield what every answer ends with."""
    yield from (f"warning: {for_people(warning)}" for warning in warnings)
    if next_step:
        yield f"next step: {for_people(next_step)}"


# --- next ----------------------------------------------------------------------------------------------------------


def view_next(answer: NextAnswer) -> Iterator[Block]:
    """Yield the decisions, what was left out, and why."""
    yield _decisions("Next", answer.decisions)
    for decision in answer.decisions:
        yield from _why(decision)
    yield _leases(answer.held)
    yield _decisions("Held back by merge pressure", answer.skipped)
    yield f"{answer.ready_count} ready, {answer.runnable_count} runnable now.{_held_back(answer.not_eligible)}"
    yield from view_remarks(answer.warnings, answer.next_step)


def _decisions(title: str, decisions: Iterable[ScheduleDecision]) -> Table:
    rows = tuple((each.graph_id, each.node_id, number(each.score), each.title) for each in decisions)
    return Table(title=title, header=("graph", "node", "score", "title"), rows=rows, numbers=_SCORE)


def _why(decision: ScheduleDecision) -> Iterator[Block]:
    yield f"why {decision.graph_id}/{decision.node_id}: {', '.join(decision.reasons)}"
    if decision.repository is not None:
        yield f"  repository: {decision.repository}"
    if decision.compile_command is not None:
        yield f"  context: {decision.compile_command}"
    if decision.lease is not None:
        yield from view_lease(decision.lease)


def view_lease(lease: LeaseRecord) -> Iterator[Block]:
    """Yield the lease as its holder has to know it."""
    until = instant_text(lease.expires_at)
    yield f"lease {lease.lease_id} on {lease.graph_id}/{lease.node_id}: {lease.agent_id}'s until {until}"
    if lease.resume_from is not None:
        yield f"  goes on from checkpoint {lease.resume_from}"
    if lease.preempt_requested:
        yield "  somebody waits for this slot: checkpoint as soon as it is safe, then report paused"


def _leases(leases: Iterable[LeaseRecord]) -> Table:
    rows = tuple(
        (each.lease_id, each.graph_id, each.node_id, each.agent_id, _until(each.expires_at, each.preempt_requested))
        for each in leases
    )
    return Table(title="Held already", header=("lease", "graph", "node", "agent", "until"), rows=rows)


def _held_back(counts: Iterable[ReasonCount]) -> str:
    # Finished nodes are no reason to wonder why there is no work.
    said = ", ".join(f"{each.reason} {each.nodes}" for each in counts if each.reason != "finished")
    return f" Not eligible: {said}." if said else ""


# --- status --------------------------------------------------------------------------------------------------------


def view_status(answer: StatusAnswer) -> Iterator[Block]:
    """Yield how things stand, the most pressing last, where the eye rests."""
    yield f"Workspace {answer.workspace.path} ({answer.workspace.chosen_by}), policy revision {answer.revision}"
    yield _counts(answer)
    yield _groups(answer)
    yield _running(answer)
    if answer.held is not None:
        yield _held(answer.held)
    yield view_pauses(answer.pauses)
    yield _pressure(answer)
    yield _recent(answer.recent_decisions)
    yield _waiting(answer)
    yield from _persons(answer.needs_person, answer.needs_person_total)
    if answer.explain is not None:
        yield from _explanation(answer.explain, _is_of_one_group(answer))
    held = _held_back(answer.not_eligible)
    yield f"{answer.ready_count} ready, {answer.runnable_count} runnable now.{held}"
    yield from view_remarks(answer.warnings, answer.next_step)


def _counts(answer: StatusAnswer) -> str:
    counts = plain(answer.counts)
    total = f"{counted(counts.pop('nodes'), 'node')} in {counted(counts.pop('graphs'), 'graph')}"
    parts = ", ".join(f"{nodes} {state.replace('_', ' ')}" for state, nodes in counts.items() if nodes)
    return f"{total}: {parts}" if parts else total


def _groups(answer: StatusAnswer) -> Table:
    groups = answer.groups
    rows = tuple(_group_row(each) for each in groups)
    header = ("graph", "class", "share", "received", "running", "ready", "oldest", "place", "note")
    shown = f", {len(rows)} of {answer.groups_total}" if len(rows) < answer.groups_total else ""
    title = f"Groups{shown}, most behind first; received of the last {counted(answer.charges or 0, 'charge')}"
    title = "Group" if _is_of_one_group(answer) else title
    waiting = frozenset(place for place, each in enumerate(groups) if each.waits_for)
    return Table(title=title, header=header, rows=rows, numbers=frozenset(header[2:8]), whole=waiting)


def _is_of_one_group(answer: StatusAnswer) -> bool:
    """Whether one Group was asked about: then its share is not told, and a place is one in it."""
    return answer.charges is None


def _group_row(group: GroupStatus) -> tuple[str, ...]:
    """One Group: with what it waits for, if nothing of it can be started, else its title."""
    quota = "" if group.quota is None else f"/{group.quota}"
    return (
        group.graph_id,
        f"{group.priority_class}×{group.weight}",
        "" if group.guaranteed is None else percent(group.guaranteed),
        "" if group.received is None else percent(group.received),
        f"{group.running_slots}{quota}",
        str(group.ready),
        "" if group.oldest is None else f"{duration(group.oldest.seconds)} {group.oldest.passed_over}×",
        "" if group.starts_before is None else str(group.starts_before + 1),
        _group_note(group),
    )


def _group_note(group: GroupStatus) -> str:
    if group.state != "active":
        return f"{group.state}: {group.title}"
    reasons = ", ".join(f"{each.reason} {each.nodes}" for each in group.waits_for or ())
    return f"waits: {reasons}" if reasons else group.title


def _held(held: HeldSlots) -> str:
    until = "" if held.until is None else f", until {instant_text(held.until)}"
    why = "; running work was asked to pause for it" if held.purpose == "preemption" else ""
    free = "" if held.free is None else f", {held.free} free now"
    slots = f"{counted(held.slots, 'slot')} kept{free}"
    return f"Waited for {held.graph_id}/{held.node_id}: {slots}{until}{why}"


def _running(answer: StatusAnswer) -> Table:
    rows = tuple(_running_row(each) for each in answer.running)
    return Table(title="Running", header=("graph", "node", "agent", "since", "leased until", "title"), rows=rows)


def _running_row(node: RunningNode) -> tuple[str, ...]:
    since, until = without_fraction(node.since or ""), _until(node.leased_until, node.preempt_requested)
    return (node.graph_id, node.node_id, node.agent_id or "", since, until, node.title)


def _until(until: datetime | None, is_asked: bool | None) -> str:
    """Return the end of a lease, and whether its holder is asked to pause before."""
    shown = instant_text(until) if until else ""
    return f"{shown}, asked to pause" if is_asked else shown


def view_pauses(pauses: Iterable[PauseRecord]) -> Table:
    """Return what is paused, by whom, until when and why."""
    rows = tuple(
        (f"{each.scope} {each.name}".rstrip(), each.by, instant_text(each.until) if each.until else "", each.note or "")
        for each in pauses
    )
    return Table(title="Paused", header=("what", "by", "until", "note"), rows=rows)


def _waiting(answer: StatusAnswer) -> Table:
    rows = tuple((each.graph_id, each.node_id, each.reason) for each in answer.waiting)
    title = f"Waiting, {len(rows)} of {answer.waiting_total}" if len(rows) < answer.waiting_total else "Waiting"
    return Table(title=title, header=("graph", "node", "for"), rows=rows)


def _pressure(answer: StatusAnswer) -> Table:
    rows = tuple(
        (each.repository, str(each.depth), str(each.threshold), "yes" if each.pressured else "no")
        for each in answer.merge_pressure
    )
    header = ("repository", "depth", "threshold", "pressured")
    return Table(title="Merge queue", header=header, rows=rows, numbers=frozenset(header[1:3]))


def _recent(decisions: Iterable[LoggedDecision]) -> Table:
    rows = tuple(
        (without_fraction(each.at), each.graph_id, each.node_id, number(each.score), "skipped" if each.skipped else "")
        for each in decisions
    )
    header = ("at", "graph", "node", "score", "")
    return Table(title="Recent decisions", header=header, rows=rows, numbers=_SCORE)


def _persons(needed: tuple[PersonNeeded, ...], total: int) -> Iterator[Block]:
    rows = tuple((each.graph_id or "", each.node_id or "", each.reason, _person_note(each)) for each in needed)
    title = f"Needs a person, {len(rows)} of {total}" if len(rows) < total else "Needs a person"
    files = frozenset(place for place, each in enumerate(needed) if each.file)
    yield Table(title=title, header=("graph", "node", "reason", "note"), rows=rows, whole=files)
    yield from (f"  {each.command}" for each in needed if each.command is not None)
    # Without a node the file stands in the table.
    yield from (f"  change {each.file}: {each.node_id}" for each in needed if each.file and each.node_id)


def _person_note(needed: PersonNeeded) -> str:
    said = needed.note or needed.title or needed.file or ""
    return said if needed.nodes is None or needed.nodes == 1 else f"{needed.nodes} nodes, one is: {said}"


# --- explain -------------------------------------------------------------------------------------------------------


def view_explanation(answer: StatusAnswer) -> Iterator[Block]:
    """Yield the explanation that a status holds."""
    if answer.explain is not None:
        yield from _explanation(answer.explain, _is_of_one_group(answer))
    yield from view_remarks(answer.warnings, answer.next_step)


def _explanation(node: NodeExplanation, is_of_one_group: bool) -> Iterator[Block]:
    yield f"{node.graph_id}/{node.node_id}: {node.title}"
    among = "those of its Group" if is_of_one_group else "those"
    place = "" if node.place is None else f", place {node.place} of {among} that can be started now"
    yield f"  status {node.status}, {'runnable' if node.runnable else 'not runnable now'}{place}"
    for against in node.reasons:
        note = f" ({against.note})" if against.note else ""
        yield f"  against: {against.text}{note}"
    yield f"  score {number(node.score)}: {', '.join(node.score_reasons)}"
    yield _factors(node)


def _factors(node: NodeExplanation) -> Table:
    rows = tuple(
        (each.name, number(each.value), number(each.weight), number(each.contribution)) for each in node.factors or ()
    )
    header = ("factor", "value", "weight", "contribution")
    return Table(title="Factors", header=header, rows=rows, numbers=frozenset(header[1:]))
