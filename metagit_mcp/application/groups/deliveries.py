"""Takes in what the log of a Group says: each Event once, in the order of the log, whatever order they come in.

What lies beyond a gap is held in the Group's inbox and never applied before its turn (work.md §6). Knows no store.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from metagit_mcp.application.turns.turn import Turn
from metagit_mcp.domain.feed_events import GroupEventsApplied
from metagit_mcp.domain.feeds import Feed
from metagit_mcp.domain.group_facts import GroupFact
from metagit_mcp.domain.value import value
from metagit_mcp.errors import Backpressure, CursorTooOld, EventConflict, GraphExists, InvalidInput
from metagit_mcp.ports.ledger import GroupInbox, InboxEntry
from metagit_mcp.wire.group_events import GroupEvent, fact_of, read_group_event

MOST_IN_A_CALL: Final = 1_000
# How many Events a Group may hold beyond a gap; no other Group feels it.
MOST_HELD: Final = 10_000
# Of how many places behind its Cursor a Group keeps the keys: what lies further back is known by its place alone.
PLACES_KEPT: Final = 100_000
_FORGET_EVERY: Final = 10_000
_READ_AT_ONCE: Final = 1_000


@value
class Delivered:
    """What became of a delivery: where the Cursor stands, and how many of its Events were applied, known, held.

    `applied` counts those too that were held until now.
    """

    cursor: int
    applied: int
    duplicates: int
    held: int


@value
class LogSeen:
    """What is declared of a Group's log: its first Event that may be seen, and whether some in it may not."""

    first: int = 1
    filtered: bool = False


def deliver(turn: Turn, group_id: str, events: Sequence[GroupEvent], log: LogSeen | None = None) -> Delivered:
    """Let Events of one Group happen, as far as its log has no gap; all of the call or, where it is refused, nothing.

    Raises:
        InvalidInput: there are too many.
        GraphExists: the id is that of a task graph.
        EventConflict: they are of another Group, or say something else than what was delivered before.
        CursorTooOld: the log begins after what was applied last.
        Backpressure: too much would be held.
        SchemaMismatch: what an Event tells cannot be read.
    """
    _refuse(turn, group_id, events)
    feed = turn.state.feeds.get(group_id)
    log = log or (LogSeen() if feed is None else LogSeen(first=feed.first, filtered=feed.filtered))
    cursor = _cursor(feed, log)
    inbox = turn.inbox(group_id)
    entries = [_entry(event) for event in events]
    fresh = _fresh(inbox, events, entries, cursor)
    # Read before anything happens: one that cannot be read takes nothing with it.
    told = {event.sequence: fact_of(event) for event in fresh.values()}
    run, rest = _in_order(inbox, fresh, cursor, filtered=log.filtered)
    _refuse_too_much(inbox, group_id, [event for event in run if event.sequence not in told], rest)
    facts = [told[event.sequence] if event.sequence in told else fact_of(event) for event in run]
    new = {entry.sequence: entry for entry in entries}
    inbox.put([new[event.sequence] for event in run if event.sequence in told])
    inbox.put([_entry(event, event.body) for event in rest])
    reached = run[-1].sequence if run else cursor
    inbox.applied(reached)
    _forget(inbox, cursor, reached)
    if run or feed is None:
        turn.happen([_applied(turn, group_id, reached, facts, log)])
    return Delivered(cursor=reached, applied=len(run), duplicates=len(events) - len(fresh), held=inbox.held_size()[0])


def _forget(inbox: GroupInbox, before: int, cursor: int) -> None:
    """Drop the keys that nobody needs any more, now and then: which they are follows from the Cursor."""
    if cursor > PLACES_KEPT and cursor // _FORGET_EVERY > before // _FORGET_EVERY:
        inbox.forget(cursor - PLACES_KEPT + 1)


def _applied(
    turn: Turn, group_id: str, cursor: int, facts: Iterable[GroupFact | None], log: LogSeen
) -> GroupEventsApplied:
    return GroupEventsApplied(
        at=turn.instant.wall,
        group_id=group_id,
        cursor=cursor,
        facts=tuple(fact for fact in facts if fact is not None),
        first=log.first,
        filtered=log.filtered,
    )


def _refuse(turn: Turn, group_id: str, events: Sequence[GroupEvent]) -> None:
    if len(events) > MOST_IN_A_CALL:
        raise InvalidInput(
            f"events: at most {MOST_IN_A_CALL} in one call", hint="Deliver the rest next.", field="events"
        )
    # Work of a graph whose file is gone may still be under way.
    known = (turn.image.graphs, turn.state.items)
    if group_id not in turn.state.feeds and any(group_id in each for each in known):
        hint = "Name the Group or the task graph otherwise: their work would be taken for the same."
        raise GraphExists(f"{group_id} is a task graph.", hint=hint, graph_id=group_id)
    other = next((event for event in events if event.group_id != group_id), None)
    if other is not None:
        raise _conflict(group_id, other.sequence, "is of another Group")


def _conflict(group_id: str, sequence: int, what: str) -> EventConflict:
    return EventConflict(
        f"The Event at {sequence} {what}; nothing was applied.",
        hint="Compare with the Group's own log: one place in it holds one Event, and no Event stands at two.",
        group_id=group_id,
        sequence=sequence,
    )


def _cursor(feed: Feed | None, log: LogSeen) -> int:
    """Return where the Cursor stands; a log that is new here begins with its first Event that may be seen."""
    if feed is None:
        return log.first - 1
    if log.first > feed.cursor + 1:
        raise CursorTooOld(
            f"The log begins at {log.first}, and the Cursor stands at {feed.cursor}.",
            hint="Deliver what lies between from a copy of the log.",
            group_id=feed.group_id,
            cursor=feed.cursor,
            first=log.first,
        )
    return feed.cursor


def _fresh(
    inbox: GroupInbox, events: Sequence[GroupEvent], entries: Sequence[InboxEntry], cursor: int
) -> dict[int, GroupEvent]:
    """Return the Events that were never delivered, by their place."""
    known = {entry.sequence: entry for entry in inbox.known(entries)}
    fresh = {event.sequence: event for event in events if event.sequence > cursor}
    if not known and len({event.event_key for event in fresh.values()}) == len(fresh) == len(events):
        # Each is another one at another place, and all are to come: so most deliveries are.
        return fresh
    fresh.clear()
    places = {entry.event_key: entry.sequence for entry in known.values()}
    for event in events:
        before = known.get(event.sequence) or (_entry(again) if (again := fresh.get(event.sequence)) else None)
        if places.setdefault(event.event_key, event.sequence) != event.sequence:
            raise _conflict(event.group_id, event.sequence, "was delivered at another place")
        if before is None and event.sequence <= cursor - PLACES_KEPT:
            # Its key may be forgotten: it was delivered, or the Cursor would not stand where it does.
            continue
        if before is None and event.sequence <= cursor:
            raise _conflict(event.group_id, event.sequence, "was not there when its place was passed")
        if before is None:
            fresh[event.sequence] = event
        elif (before.event_key, before.digest) != (event.event_key, event.digest):
            raise _conflict(event.group_id, event.sequence, "says something else than before")
    return fresh


def _entry(event: GroupEvent, body: bytes = b"") -> InboxEntry:
    return InboxEntry(sequence=event.sequence, event_key=event.event_key, digest=event.digest, body=body)


def _in_order(
    inbox: GroupInbox, fresh: Mapping[int, GroupEvent], cursor: int, *, filtered: bool
) -> tuple[list[GroupEvent], list[GroupEvent]]:
    """Return the Events that follow the Cursor without a gap, held ones among them, and those beyond a gap."""
    if filtered:
        # What was held before the filter was declared has nothing to wait for any more.
        known = {**{event.sequence: event for event in _all_held(inbox, cursor)}, **fresh}
        return [known[sequence] for sequence in sorted(known)], []
    run: list[GroupEvent] = []
    at = cursor
    while True:
        while (event := fresh.get(at + 1)) is not None:
            run.append(event)
            at += 1
        held = inbox.held(at, _READ_AT_ONCE)
        if not held:
            return run, [fresh[sequence] for sequence in sorted(fresh) if sequence > at]
        run.extend(read_group_event(entry.body) for entry in held)
        at = held[-1].sequence


def _all_held(inbox: GroupInbox, after: int) -> Iterator[GroupEvent]:
    while held := inbox.held(after, _READ_AT_ONCE, over_gaps=True):
        yield from (read_group_event(entry.body) for entry in held)
        after = held[-1].sequence


def _refuse_too_much(inbox: GroupInbox, group_id: str, freed: Sequence[GroupEvent], rest: Sequence[GroupEvent]) -> None:
    count, _ = inbox.held_size()
    if rest and count - len(freed) + len(rest) > MOST_HELD:
        raise Backpressure(
            f"Group {group_id} would hold more than {MOST_HELD} Events beyond a gap; nothing was applied.",
            hint="Deliver what is missing in between first.",
            group_id=group_id,
            held=count,
        )
