"""What is done with Groups that are fed by Events: deliver, look, answer, check. Knows no file and no store's insides.

Whatever is answered for one Group names nothing of another (work.md §7).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, TypeVar

from metagit_mcp.application.caller import Caller, asked, looking, no_such_group
from metagit_mcp.application.finding import about_group
from metagit_mcp.application.groups.deliveries import Delivered, LogSeen, deliver
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.disclosure import estimate
from metagit_mcp.application.turns.turn import Turn
from metagit_mcp.application.upkeep.replays import Replays
from metagit_mcp.domain.feed_events import ProposalAnswered
from metagit_mcp.domain.feeds import Feed, Proposal
from metagit_mcp.domain.outbox import is_told_only
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.text import shown
from metagit_mcp.errors import InvalidInput, InvalidStateTransition, MetagitError, SchemaMismatch
from metagit_mcp.ports.ledger import EventStore, InboxSize
from metagit_mcp.ports.machine import Waits
from metagit_mcp.ports.workspace import Warnings
from metagit_mcp.wire.codec import Json
from metagit_mcp.wire.estimate_answers import EstimateAnswer, EstimateRequest
from metagit_mcp.wire.group_answers import (
    DeliverAnswer,
    FedGroup,
    GroupAnswer,
    GroupsAnswer,
    MissingEvents,
    OutboxAnswer,
    ProposalAnswer,
    ProposalRecord,
    SnapshotAnswer,
    StateCount,
    VerifyAnswer,
)
from metagit_mcp.wire.group_events import GroupEvent, read_group_event
from metagit_mcp.wire.group_requests import MOST_BYTES, DeliverRequest

R = TypeVar("R")
Outcome = Literal["delivered", "refused"]
_LONGEST_REASON: Final = 2_000
# Who waits for an Event here may have to wait this much longer.
_LOOK_EVERY_S: Final = 0.5
_OUTBOX: Final = "metagit-mcp group outbox GROUP --json"


class Groups:
    """The use cases of the Groups that are fed by Events."""

    def __init__(self, current: Current, store: EventStore, replays: Replays, waits: Waits, caller: Caller) -> None:
        """Keep the collaborators."""
        self._caller = caller
        self._current = current
        self._store = store
        self._replays = replays
        self._waits = waits

    # --- what comes in -------------------------------------------------------------------------------------------

    async def deliver(self, request: DeliverRequest) -> DeliverAnswer:
        """Take in Events of a Group's log: all of the call, once each, or nothing.

        Raises:
            InvalidInput, SchemaMismatch: there are too many, or one cannot be read; `details.index` says which.
            GraphExists, EventConflict, CursorTooOld, Backpressure: they do not fit what was delivered before.
            ReadOnlyWorkspace, StoreUnavailable, StoreCorrupt: the ledger cannot be written.
        """
        try:
            self._caller.allow("feed_group")
            events = await self._waits.offload(lambda: _read(request.events))
            return await self.take_in(request.group_id, events, first=request.first_sequence, filtered=request.filtered)
        except MetagitError as error:
            raise _placed(error) from None

    async def take_in(
        self, group_id: str, events: Sequence[GroupEvent], *, first: int | None = None, filtered: bool | None = None
    ) -> DeliverAnswer:
        """Do the same with Events that were read already; an error names only `details.index`."""

        def act(turn: Turn) -> Delivered:
            try:
                return deliver(turn, group_id, events, _declared(turn, group_id, first, filtered=filtered))
            except MetagitError as error:
                raise _indexed(error, events) from None

        _refuse_too_large(len(event.body) for event in events)
        with asked(self._caller, "feed_group", group_id, no_such_group):
            delivered, warnings = await self._about(group_id, act)
        return DeliverAnswer(
            cursor=delivered.cursor,
            applied=delivered.applied,
            duplicates=delivered.duplicates,
            held=delivered.held,
            warnings=warnings,
            next_step=_after(delivered),
        )

    async def follow(self, more: Callable[[], bool], goes_on: Callable[[], bool]) -> None:
        """Call `more` as long as this goes on, with a pause wherever it found nothing; it raises what else ends it."""
        while goes_on():
            if not more():
                await self._waits.sleep(_LOOK_EVERY_S)

    # --- how it stands -------------------------------------------------------------------------------------------

    async def listed(self) -> GroupsAnswer:
        """Return every Group that is fed by Events."""
        self._caller.allow("look")
        work = await self._current.work()
        groups = await self._waits.offload(lambda: tuple(self._record(work, name) for name in sorted(work.feeds)))
        step = "metagit-mcp group show GROUP looks at one." if groups else "metagit-mcp group deliver begins one."
        return GroupsAnswer(groups=groups, warnings=(), next_step=step)

    async def shown(self, group_id: str) -> GroupAnswer:
        """Return how one Group stands.

        Raises:
            GroupNotFound: there is none.
        """
        with looking(self._caller, group_id, no_such_group):
            work = await self._current.work()
            known_feed(work, group_id)
        group = await self._waits.offload(lambda: self._record(work, group_id))
        return GroupAnswer(group=group, warnings=(), next_step=_step_of(group))

    async def outbox(self, group_id: str) -> OutboxAnswer:
        """Return what the Group is to be asked for, oldest first.

        Raises:
            GroupNotFound: there is none.
        """
        with looking(self._caller, group_id, no_such_group):
            feed = known_feed(await self._current.work(), group_id)
        proposals = tuple(_proposal(group_id, each) for each in feed.outbox.values())
        return OutboxAnswer(
            group_id=group_id,
            cursor=feed.cursor,
            proposals=proposals,
            proposals_total=len(proposals),
            warnings=(),
            next_step="Send each Command to the Group as it is, and deliver the Events that answer it."
            if proposals
            else "There is nothing to ask the Group for.",
        )

    async def estimate(self, request: EstimateRequest) -> EstimateAnswer:
        """Return when a Group, or one of its nodes, will start and be done.

        Raises:
            GroupNotFound, NodeNotFound: there is none.
            PolicyInvalid: policy.json cannot be used.
        """
        with looking(self._caller, request.group_id, no_such_group), about_group(request.group_id):
            view = await self._current.view()
            return estimate(view, request.group_id, request.node_id)

    def _record(self, work: LedgerState, group_id: str) -> FedGroup:
        feed, items = work.feeds[group_id], work.items.get(group_id, {})
        held = self._store.inbox_size(group_id)
        states = Counter(str(item.state) for item in items.values())
        return FedGroup(
            group_id=feed.group_id,
            cursor=feed.cursor,
            first_sequence=feed.first,
            filtered=feed.filtered,
            archived=feed.archived,
            held=held.held,
            missing=_missing(feed, held),
            items_total=len(items),
            items=tuple(StateCount(state=state, items=states[state]) for state in sorted(states)),
            outbox=len(feed.outbox),
        )

    # --- what the Group said of a proposal -----------------------------------------------------------------------

    async def answer(self, group_id: str, action_id: str, outcome: Outcome, reason: str = "") -> ProposalAnswer:
        """Record what became of a proposal: it was delivered, or the Group refused it and the act is undone here.

        Raises:
            GroupNotFound: there is no such Group.
            InvalidStateTransition: nothing stands in its outbox under this id.
            InvalidInput: the reason is too long.
        """
        if len(reason) > _LONGEST_REASON:
            raise InvalidInput(f"reason: should have at most {_LONGEST_REASON} characters", field="reason")
        with asked(self._caller, "feed_group", group_id, no_such_group):
            answered, warnings = await self._about(
                group_id, lambda turn: _answered(turn, group_id, action_id, outcome, shown(reason, _LONGEST_REASON))
            )
        return ProposalAnswer(
            group_id=group_id,
            action_id=action_id,
            outcome=outcome,
            changed=bool(answered),
            withdrawn=answered,
            warnings=warnings,
            next_step=f"{_OUTBOX} shows what is left."
            if answered
            else "It stays in the outbox until an Event of the Group's log answers it: deliver that.",
        )

    # --- whether it can be relied on -----------------------------------------------------------------------------

    async def verify(self, group_id: str | None = None) -> VerifyAnswer:
        """Read the ledger anew, from its newest snapshot and from nothing, and compare with the live state.

        Raises:
            GroupNotFound: there is no such Group.
            StoreCorrupt, StoreTooNew, StoreUnavailable: the ledger cannot be read.
        """
        self._caller.allow("administer")
        work = await self._current.work()
        if group_id is not None:
            known_feed(work, group_id)
        return await self._waits.offload(lambda: self._replays.verify(group_id))

    async def snapshot(self) -> SnapshotAnswer:
        """Keep a snapshot of the state now, from which any process goes on.

        Raises:
            InvalidStateTransition: there is no ledger yet.
            StoreUnavailable: it cannot be kept.
        """
        self._caller.allow("administer")
        await self._current.work()
        return await self._waits.offload(self._replays.snapshot)

    async def _about(self, group_id: str, act: Callable[[Turn], R]) -> tuple[R, Warnings]:
        """Act in a turn; the warnings about other Groups are left for whoever asks about those."""
        return await self._current.command(act, lambda _: group_id)


def known_feed(state: LedgerState, group_id: str) -> Feed:
    """Return a Group that is fed by Events.

    Raises:
        GroupNotFound: there is none; which others there are is not said.
    """
    feed = state.feeds.get(group_id)
    if feed is None:
        raise no_such_group(group_id)
    return feed


# --- reading ---------------------------------------------------------------------------------------------------------


def _read(given: Sequence[Json]) -> list[GroupEvent]:
    events: list[GroupEvent] = []
    size = 0
    for index, each in enumerate(given):
        try:
            events.append(read_group_event(each))
        except SchemaMismatch as error:
            raise _again(error, index) from None
        size += len(events[-1].body)
        _refuse_too_large([size])
    return events


def _refuse_too_large(sizes: Iterable[int]) -> None:
    if sum(sizes) > MOST_BYTES:
        hint = "Deliver them in several calls, one after another."
        raise InvalidInput(f"events: at most {MOST_BYTES} bytes in one call", hint=hint, field="events")


def _declared(turn: Turn, group_id: str, first: int | None, *, filtered: bool | None) -> LogSeen | None:
    """Return what is declared of the log, with what was declared before in place of what is not said."""
    feed = turn.state.feeds.get(group_id)
    if first is None and filtered is None:
        return None
    known = LogSeen() if feed is None else LogSeen(first=feed.first, filtered=feed.filtered)
    return LogSeen(
        first=known.first if first is None else first, filtered=known.filtered if filtered is None else filtered
    )


def _indexed(error: MetagitError, events: Sequence[GroupEvent]) -> MetagitError:
    """Return the error with the index of the Event that it is about, if it is about one of these."""
    at = error.details.get("sequence")
    index = next((index for index, event in enumerate(events) if event.sequence == at), None)
    return error if index is None else _again(error, index)


def _again(error: MetagitError, index: int) -> MetagitError:
    return type(error)(error.message, hint=error.hint, **{**error.details, "index": index})


def _placed(error: MetagitError) -> MetagitError:
    if "index" not in error.details:
        return error
    return type(error)(f"events/{error.details['index']}: {error.message}", hint=error.hint, **error.details)


# --- telling ---------------------------------------------------------------------------------------------------------


def _after(delivered: Delivered) -> str:
    if delivered.held:
        return f"{delivered.held} Events wait: deliver those from sequence {delivered.cursor + 1} on."
    return f"Deliver what follows sequence {delivered.cursor} as it comes; metagit_schedule_next gives the work."


def _missing(feed: Feed, held: InboxSize) -> MissingEvents | None:
    is_gap = held.held > 0 and held.first_held > feed.cursor + 1
    return MissingEvents(first=feed.cursor + 1, last=held.first_held - 1) if is_gap else None


def _step_of(group: FedGroup) -> str:
    if group.missing is not None:
        return f"Deliver the Events {group.missing.first} to {group.missing.last}: {group.held} wait for them."
    if group.outbox:
        return f"{_OUTBOX} says what to ask the Group for."
    return f"Deliver what follows sequence {group.cursor} as it comes."


def _proposal(group_id: str, proposal: Proposal) -> ProposalRecord:
    payload: Json = dict(proposal.payload)
    if "confidence" in payload:
        # The core knows no fractions but exact ones.
        payload["confidence"] = float(payload["confidence"])
    return ProposalRecord(
        action_id=proposal.action_id,
        command=proposal.command,
        group_id=group_id,
        work_item_id=proposal.node_id,
        agent_id=proposal.agent_id,
        ownership_epoch=proposal.ownership_epoch,
        session_epoch=proposal.session_epoch,
        membership_epoch=proposal.membership_epoch,
        payload=payload,
        at=proposal.at,
    )


def _answered(turn: Turn, group_id: str, action_id: str, outcome: Outcome, reason: str) -> tuple[str, ...]:
    """Return the proposals that left the outbox."""
    feed = known_feed(turn.state, group_id)
    proposal = feed.outbox.get(action_id)
    if proposal is None:
        raise InvalidStateTransition(
            "The outbox of the Group has nothing under this action id.",
            hint=f"An Event answered it, or it was withdrawn: {_OUTBOX} shows what stands.",
            group_id=group_id,
            action_id=shown(action_id),
        )
    if outcome == "delivered" and not is_told_only(proposal):
        # Its Event will answer it: there is nothing to remember.
        return ()
    before = [*feed.outbox]
    turn.happen(
        [ProposalAnswered(at=turn.instant.wall, group_id=group_id, action_id=action_id, outcome=outcome, reason=reason)]
    )
    left = known_feed(turn.state, group_id).outbox
    return tuple(each for each in before if each not in left)
