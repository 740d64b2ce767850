"""May this agent have this node: sessions, ownership and the start of work (work.md §1, 2, 3). Writes nothing.

What speaks against the node itself was found by scheduling/eligibility.py and comes with the command.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, get_args

from metagit_mcp.domain.commands import Against, Enter, StartWork
from metagit_mcp.domain.events import Event, SessionNoted, SessionOpened, WorkAccepted, WorkReturned, WorkStarted
from metagit_mcp.domain.feed_events import DeclineReason, OfferDeclined
from metagit_mcp.domain.instant import Expiry, Instant, expiry_after, has_passed, later, seconds_left
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.verdict import Decided, refuse_trigger, story
from metagit_mcp.domain.work import ExecutionLease, Session, WorkItem, owner_of
from metagit_mcp.errors import (
    AuthStaleSession,
    CapacityExceeded,
    InvalidInput,
    MetagitError,
    NodeNotEligible,
    WorkAlreadyOwned,
)

SHORTEST_LEASE: Final = 60
_BASE32: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
# One word of the protocol for each reason (work.md §3).
_DECLINE: Final = {
    "capability_missing": "capability",
    "awaiting_approval": "authorization",
    "not_ready": "dependency",
    "blocked": "dependency",
    "budget_exhausted": "budget",
    "never_fits": "capacity",
    "exclusive": "capacity",
    "conflicts_with": "capacity",
    "resource_busy": "capacity",
    "resource_closed": "capacity",
    "group_quota": "capacity",
    "agent_slots": "capacity",
    "reserved": "capacity",
    "no_slot": "capacity",
    "queue_capacity": "capacity",
    "deadline": "deadline",
    "not_offered": "authorization",
}
# What may pass before accepted work has to start, so that it stands against a start only.
_OF_THE_MOMENT: Final = frozenset(
    {"exclusive", "conflicts_with", "resource_busy", "resource_closed", "group_quota", "agent_slots", "reserved"}
    | {"no_slot", "merge_pressure"}
)


def short_id(prefix: str, digits: str) -> str:
    """Return a short id made of 60 of the bits in some hexadecimal digits: `L-` and 12 base32 characters."""
    bits = int(digits[:15], 16)
    return f"{prefix}-" + "".join([_BASE32[bits >> shift & 31] for shift in range(55, -1, -5)])


# --- sessions ------------------------------------------------------------------------------------------------------


def decide_enter(state: LedgerState, command: Enter, policy: SchedulePolicy, now: Instant) -> Decided:
    """Let an agent in: into its live session, its first one, or, where it says so, a new one.

    Raises:
        AuthStaleSession: another server was started for this agent id alone and is alive.
    """
    before = state.sessions.get(command.agent_id)
    if before is None:
        return Decided(events=(_opened(command, policy, now, epoch=1),))
    if command.new_session:
        opened = _opened(command, policy, now, epoch=before.epoch + 1)
        return Decided(events=(opened, *_returned(state, command.agent_id, opened.epoch, policy, now)))
    _refuse_second_server(before, command, now, state.last_at)
    noted = _noted(before, command, policy, now)
    return Decided(events=() if noted is None else (noted,))


def _opened(command: Enter, policy: SchedulePolicy, now: Instant, *, epoch: int) -> SessionOpened:
    return SessionOpened(
        at=now.wall,
        agent_id=command.agent_id,
        epoch=epoch,
        capabilities=command.capabilities,
        holder=command.holder,
        held_until=None if command.holder is None else expiry_after(now, policy.leases.seconds),
    )


def _returned(
    state: LedgerState, agent_id: str, epoch: int, policy: SchedulePolicy, now: Instant
) -> Iterator[WorkReturned]:
    """Take the work of lower sessions back into its queue, before the new one starts anything (E7)."""
    start_by = expiry_after(now, policy.leases.start_by_seconds)
    for key in sorted(_owned_by(state, agent_id)):
        yield WorkReturned(at=now.wall, graph_id=key[0], node_id=key[1], session_epoch=epoch, start_by=start_by)


def _owned_by(state: LedgerState, agent_id: str) -> set[tuple[str, str]]:
    active = {lease.key for lease in state.leases.values() if lease.agent_id == agent_id}
    waiting = {key for key in state.terms if (item := state.item(key)) and item.owner == agent_id}
    return active | {key for key in waiting if (item := state.item(key)) and item.state == "queued"}


def _refuse_second_server(session: Session, command: Enter, now: Instant, last_at: datetime | None) -> None:
    until = session.held_until
    if command.holder in {None, session.holder} or until is None or has_passed(until, now, last_at):
        return
    raise AuthStaleSession(
        f"Another server claims as {session.agent_id}, session {session.epoch}.",
        hint="Start without --agent-id and METAGIT_AGENT_ID, or pass new_session=true if the other one is dead.",
        agent_id=session.agent_id,
        session_epoch=session.epoch,
    )


def _noted(session: Session, command: Enter, policy: SchedulePolicy, now: Instant) -> SessionNoted | None:
    """Note what is new of a session: what its agent can do, or the server that holds it."""
    capabilities = session.capabilities if command.capabilities is None else command.capabilities
    holder, until = session.holder, session.held_until
    if command.holder is not None and (holder != command.holder or _is_half_over(until, policy, now)):
        holder, until = command.holder, expiry_after(now, policy.leases.seconds)
    if (capabilities, holder, until) == (session.capabilities, session.holder, session.held_until):
        return None
    return SessionNoted(
        at=now.wall, agent_id=session.agent_id, capabilities=capabilities, holder=holder, held_until=until
    )


def hold_kept(
    state: LedgerState, agent_id: str, holder: str, policy: SchedulePolicy, now: Instant
) -> Iterator[SessionNoted]:
    """Yield what keeps a server's hold on its agent's session, where that is due and the hold is still its own."""
    session = state.sessions.get(agent_id)
    if session is not None and session.holder == holder:
        noted = _noted(session, Enter(agent_id=agent_id, holder=holder), policy, now)
        if noted is not None:
            yield noted


def hold_ended(state: LedgerState, agent_id: str, holder: str, now: Instant) -> Iterator[SessionNoted]:
    """Yield the end of a server's hold: the next server of this agent need not wait until it has run out."""
    session = state.sessions.get(agent_id)
    if session is not None and session.holder == holder:
        yield SessionNoted(at=now.wall, agent_id=agent_id, capabilities=session.capabilities)


def _is_half_over(until: Expiry | None, policy: SchedulePolicy, now: Instant) -> bool:
    """Say whether a server's hold is to be extended: not at every call, which would be an event each."""
    return until is None or 2 * seconds_left(until, now) < policy.leases.seconds


# --- start -----------------------------------------------------------------------------------------------------------


def decide_start_work(
    state: LedgerState, command: StartWork, policy: SchedulePolicy, now: Instant, new_id: Callable[[], str]
) -> Decided:
    """Give the node to the agent; the holder of a live lease on it gets that lease again, and nothing happens.

    Raises:
        WorkAlreadyOwned: another agent has it.
        InvalidStateTransition: it is blocked, parked, under review or finished.
        NodeNotEligible, CapacityExceeded: with every reason, and one word for them in `details.reason`.
        InvalidInput: a lease that is too short or too long.
    """
    item = state.item(command.key)
    if item is not None and item.state == "active" and item.owner == command.agent_id:
        return Decided(lease_id=item.lease_id)
    if item is not None and command.queue_only and owner_of(item) == command.agent_id:
        # By the log of a Group an ownership may be over.
        _refuse(command, [each for each in command.against if each.kind == "not_offered"])
        return Decided()
    _refuse_taken(item, command)
    refuse_trigger(item, command.graph_id, command.node_id, "accept" if command.queue_only else "start")
    _refuse_against(state, command, policy, now)
    # An agent enters before it starts anything.
    session = state.sessions[command.agent_id].epoch
    epoch = _epoch(item, command.agent_id)
    event: Event
    if command.queue_only:
        event = WorkAccepted(
            at=now.wall,
            graph_id=command.graph_id,
            node_id=command.node_id,
            agent_id=command.agent_id,
            session_epoch=session,
            ownership_epoch=epoch,
            start_by=expiry_after(now, policy.leases.start_by_seconds),
            seen_at=command.seen_at,
        )
        return Decided(events=(event,))
    lease = _lease(command, policy, now, new_id, session=session, epoch=epoch, item=item)
    event = WorkStarted(at=now.wall, lease=lease, seen_at=command.seen_at, dispatch=command.dispatch)
    return Decided(events=(event,), lease_id=lease.lease_id)


def _epoch(item: WorkItem | None, agent_id: str) -> int:
    """Return the Ownership Epoch of a start: that of the owner who goes on, else the next; a Group's log counts it."""
    if item is None:
        return 1
    if item.state == "queued":
        return item.ownership_epoch
    if item.fed is not None:
        return item.fed.ownership_epoch + (item.fed.owner != agent_id)
    return item.ownership_epoch + 1


def _lease(
    command: StartWork,
    policy: SchedulePolicy,
    now: Instant,
    new_id: Callable[[], str],
    *,
    session: int,
    epoch: int,
    item: WorkItem | None,
) -> ExecutionLease:
    term = lease_term(command.lease_seconds, policy, attended=command.attended)
    checkpoint = None if item is None else item.checkpoint
    return ExecutionLease(
        lease_id=short_id("L", new_id()),
        graph_id=command.graph_id,
        node_id=command.node_id,
        agent_id=command.agent_id,
        session_epoch=session,
        ownership_epoch=epoch,
        granted_at=now.wall,
        expiry=expiry_after(now, term),
        term_seconds=term,
        attended=command.attended,
        review=command.review,
        holding=command.holding,
        budget=command.budget,
        resumed_from=None if checkpoint is None else checkpoint.checkpoint_id,
        share=None if command.dispatch is None else command.dispatch.share,
        preemptible=command.preemptible,
    )


def lease_term(asked: int | None, policy: SchedulePolicy, *, attended: bool) -> int:
    """Return the seconds that a lease lasts: what was asked for, else what policy says.

    Raises:
        InvalidInput: it asks for less than a minute, or for more than policy allows.
    """
    if asked is None:
        return policy.leases.seconds if attended else policy.leases.unattended_seconds
    if not SHORTEST_LEASE <= asked <= policy.leases.max_seconds:
        raise InvalidInput(
            f"lease_seconds: must be {SHORTEST_LEASE} to {policy.leases.max_seconds}", field="lease_seconds"
        )
    return asked


def _refuse_taken(item: WorkItem | None, command: StartWork) -> None:
    if item is None or item.state not in {"active", "queued"} or item.owner == command.agent_id:
        return
    raise WorkAlreadyOwned(
        f"Node {command.node_id} is with {item.owner}.",
        hint="metagit_schedule_next with claim=true gives another node.",
        graph_id=command.graph_id,
        node_id=command.node_id,
        **story(item),
    )


def _refuse_against(state: LedgerState, command: StartWork, policy: SchedulePolicy, now: Instant) -> None:
    passing = _OF_THE_MOMENT if command.queue_only else frozenset()
    item = state.item(command.key)
    if command.queue_only and item is not None and item.fed is not None:
        # In a Group an ownership is approved, so that there must be one before.
        passing |= {"awaiting_approval"}
    against = [each for each in command.against if each.kind not in passing]
    if command.queue_only:
        against += _against_accepting(state, command, policy, now)
    _refuse(command, against)


def _refuse(command: StartWork, against: Sequence[Against]) -> None:
    if not against:
        return
    first = against[0]
    texts = [each.text for each in against]
    reason = _DECLINE.get(first.kind, "other")
    refusal: type[MetagitError] = CapacityExceeded if first.kind in _AT_CAPACITY else NodeNotEligible
    raise refusal(
        f"Node {command.node_id} may not be started: {'; '.join(texts[:10])}.",
        hint="metagit_schedule_status with node_id explains it; metagit_schedule_next gives a node that may.",
        graph_id=command.graph_id,
        node_id=command.node_id,
        reason=reason,
        reasons=texts[:50],
    )


def declined(state: LedgerState, command: StartWork, at: datetime, reason: object) -> Iterator[OfferDeclined]:
    """Yield that an agent turns down what its Group offers it, since admission refused it for this reason (work.md §3).

    A Group is told once of one offer.
    """
    item = state.item(command.key)
    fed = None if item is None or item.state != "open" else item.fed
    offer = None if fed is None else fed.offer
    if offer is None or command.agent_id not in {*offer.candidates} - {*offer.declined_by} or reason not in _WORDS:
        return
    word: Any = reason
    yield OfferDeclined(
        at=at, graph_id=command.graph_id, node_id=command.node_id, agent_id=command.agent_id, reason=word
    )


_WORDS: Final = frozenset(get_args(DeclineReason))
_AT_CAPACITY: Final = frozenset({"queue_capacity", "agent_slots", "group_quota", "no_slot", "resource_busy"})


def _against_accepting(
    state: LedgerState, command: StartWork, policy: SchedulePolicy, now: Instant
) -> Iterator[Against]:
    """Yield what speaks against owning work that is started later (work.md §3)."""
    queued = sum(1 for key in state.terms if (item := state.item(key)) and item.state == "queued")
    if queued >= policy.queue_capacity:
        yield Against(kind="queue_capacity", text=f"queue_capacity(limit {policy.queue_capacity})")
    if command.finish_by is not None and later(now.wall, command.runtime_seconds) > command.finish_by:
        yield Against(kind="deadline", text="deadline(cannot be kept)")
