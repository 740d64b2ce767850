"""What the holder of a lease may report, and what follows from it (work.md §1, 4). Writes nothing."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from metagit_mcp.domain.admission import short_id
from metagit_mcp.domain.commands import RateLimited, ReportWork
from metagit_mcp.domain.events import (
    Event,
    EvidenceKept,
    LeaseRenewed,
    ResourceClosed,
    ResourceReopened,
    UsageReported,
    WorkBlocked,
    WorkCheckpointed,
    WorkCompleted,
    WorkFailed,
    WorkParked,
    WorkPaused,
    WorkReleased,
    WorkSubmitted,
)
from metagit_mcp.domain.instant import Expiry, Instant, expiry_after, has_passed, is_earlier, later
from metagit_mcp.domain.policy import SchedulePolicy, backoff_seconds, is_reviewed
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.text import shown
from metagit_mcp.domain.verdict import Decided, no_such_lease
from metagit_mcp.domain.work import (
    USAGE_NAMES,
    Checkpoint,
    ExecutionLease,
    Usage,
    added,
    falls,
    over_budget,
)
from metagit_mcp.errors import AuthForbidden, BudgetExceeded, InvalidInput, MetagitError

# Ends that leave nothing to be added by whoever held the lease.
_DONE: Final = ("completed", "submitted")
_LONGEST_CLOSURE: Final = 7 * 86_400
# These reports keep the checkpoint in the event that they lead to.
_KEEP_THEIR_POINT: Final = ("checkpointed", "paused", "blocked")


def decide_report_work(
    state: LedgerState, command: ReportWork, policy: SchedulePolicy, now: Instant, new_id: Callable[[], str]
) -> Decided:
    """Let a report happen. A fenced holder's last word is kept as evidence and refused; too much usage pauses the work.

    Raises:
        LeaseNotFound, WorkLeaseExpired, WorkStaleOwnership, AuthStaleSession: no live lease, and nothing to keep.
        AuthForbidden: the lease is another agent's.
        InvalidInput: the note, the checkpoint or the usage is missing or cannot be.
    """
    lease = state.leases.get(command.lease_id)
    holder = lease or state.closed.get(command.lease_id)
    if holder is not None and command.agent_id not in {None, holder.agent_id}:
        raise AuthForbidden(
            f"Lease {command.lease_id} is of {holder.agent_id}.",
            hint="Leave agent_id out, or report with the id that claimed the node.",
            lease_id=command.lease_id,
        )
    if lease is None:
        return _too_late(state, command, now)
    return _Report(state, lease, command, policy, now, new_id).decided()


def _too_late(state: LedgerState, command: ReportWork, now: Instant) -> Decided:
    refusal = no_such_lease(state, command.lease_id)
    closed = state.closed.get(command.lease_id)
    if closed is None or closed.closure in _DONE or (command.result is None and not command.note):
        raise refusal
    item = state.item((closed.graph_id, closed.node_id))
    kept = EvidenceKept(
        at=now.wall, lease_id=command.lease_id, state=command.state, note=command.note, result=command.result
    )
    known = () if item is None else item.evidence
    said = (kept.lease_id, kept.state, kept.note, kept.result)
    if any((each.lease_id, each.state, each.note, each.result) == said for each in known):
        raise refusal
    return Decided(events=(kept,), refusal=refusal)


class _Report:
    """One report under a live lease, worked out step by step."""

    def __init__(
        self,
        state: LedgerState,
        lease: ExecutionLease,
        command: ReportWork,
        policy: SchedulePolicy,
        now: Instant,
        new_id: Callable[[], str],
    ) -> None:
        self._state, self._lease, self._command = state, lease, command
        self._policy, self._now, self._new_id = policy, now, new_id
        # A live lease has its item.
        self._item = state.items[lease.graph_id][lease.node_id]

    def decided(self) -> Decided:
        command, lease = self._command, self._lease
        self._refuse_misplaced()
        usage = self._usage()
        follow = {
            "running": self._running,
            "checkpointed": self._checkpointed,
            "paused": self._paused,
            "blocked": self._blocked,
            "completed": self._completed,
            "failed": self._failed,
            "released": self._released,
        }[command.state]
        excess = over_budget(lease.budget, added(self._item.spent, usage or lease.usage))
        events = [] if usage is None else [UsageReported(at=self._now.wall, lease_id=lease.lease_id, usage=usage)]
        if excess is not None and command.state in {"running", "checkpointed"}:
            stopped = (*events, *self._closure(), self._stopped())
            return Decided(events=stopped, lease_id=lease.lease_id, refusal=self._over_budget(excess))
        return Decided(events=(*events, *self._closure(), *self._point(), *follow()), lease_id=lease.lease_id)

    def _refuse_misplaced(self) -> None:
        """Refuse what would be taken and dropped.

        Raises:
            InvalidInput: a result of work that is not done, or a resource that turned away work that is.
        """
        command = self._command
        if command.result is not None and command.state != "completed":
            hint = "Report it with completed; before that, a checkpoint says where the work stands."
            raise InvalidInput(f"result: comes with completed, not with {command.state}", hint=hint, field="result")
        if command.rate_limited is not None and command.state == "completed":
            hint = "Report it with failed, or with running if the work goes on."
            raise InvalidInput("rate_limited: does not come with completed", hint=hint, field="rate_limited")

    def _usage(self) -> Usage | None:
        """Return the usage to record; None where nothing is new.

        Raises:
            InvalidInput: it is lower than what was reported before.
        """
        given, before = self._command.usage, self._lease.usage
        if given is None or given == before:
            return None
        lower = falls(before, given)
        if lower is not None:
            raise InvalidInput(
                f"usage/{lower}: was {getattr(before, lower)}; usage under a lease is cumulative and never falls",
                hint="Report what the lease used in all since it was granted.",
                field="usage",
            )
        return given

    def _over_budget(self, name: str) -> MetagitError:
        lease = self._lease
        return BudgetExceeded(
            f"Node {lease.node_id} used more {name} than its budget allows; it is paused.",
            hint="A person raises the budget of the node or its Group.",
            lease_id=lease.lease_id,
            node_id=lease.node_id,
            budget={key: each for key, each in sorted((lease.budget or {}).items()) if key in USAGE_NAMES},
        )

    def _start_by(self) -> Expiry:
        return expiry_after(self._now, self._policy.leases.start_by_seconds)

    def _stopped(self) -> WorkPaused:
        point = self._resting_point()
        return WorkPaused(at=self._now.wall, lease_id=self._lease.lease_id, start_by=self._start_by(), checkpoint=point)

    def _closure(self) -> Iterator[Event]:
        """Close the resource that turned the agent away, or reopen one that served it."""
        limited, closures = self._command.rate_limited, self._state.closures
        if limited is not None and limited.until <= self._now.wall:
            hint = "Name the instant from which it serves again, or report failed with a note alone."
            raise InvalidInput("rate_limited/until: has passed", hint=hint, field="rate_limited")
        if limited is not None:
            until = self._closed_until(limited)
            yield ResourceClosed(at=self._now.wall, resource=limited.resource, until=until, by=self._lease.agent_id)
        elif self._command.state == "completed":
            for name in sorted(self._lease.holding.uses):
                if name in closures and closures[name].until > self._now.wall:
                    yield ResourceReopened(at=self._now.wall, resource=name)

    def _closed_until(self, limited: RateLimited) -> datetime:
        return min(limited.until, later(self._now.wall, _LONGEST_CLOSURE))

    def _point(self) -> Iterator[Event]:
        """Keep a checkpoint that comes with a report which does not keep it itself."""
        if self._command.checkpoint is not None and self._command.state not in _KEEP_THEIR_POINT:
            yield self._kept()

    def _kept(self) -> WorkCheckpointed:
        return WorkCheckpointed(at=self._now.wall, lease_id=self._lease.lease_id, checkpoint=self._checkpoint())

    # --- one method for each state that can be reported ---

    def _running(self) -> Iterator[Event]:
        return renewed(self._state, self._lease.lease_id, self._now)

    def _checkpointed(self) -> Iterator[Event]:
        yield self._kept()
        yield from self._running()

    def _paused(self) -> Iterator[Event]:
        yield WorkPaused(
            at=self._now.wall,
            lease_id=self._lease.lease_id,
            start_by=self._start_by(),
            checkpoint=self._needed_resting_point(),
        )

    def _blocked(self) -> Iterator[Event]:
        until = expiry_after(self._now, self._policy.leases.blocked_seconds)
        yield WorkBlocked(
            at=self._now.wall,
            lease_id=self._lease.lease_id,
            note=self._note(),
            until=until,
            checkpoint=self._needed_resting_point(),
        )

    def _completed(self) -> Iterator[Event]:
        reviewed = self._lease.review or is_reviewed(self._policy, self._lease.graph_id)
        kind = WorkSubmitted if reviewed else WorkCompleted
        yield kind(at=self._now.wall, lease_id=self._lease.lease_id, result=self._command.result)

    def _failed(self) -> Iterator[Event]:
        lease, limited = self._lease, self._command.rate_limited
        if self._item.fed is not None:
            yield from self._failed_in_its_group()
            return
        if limited is not None:
            held = lease.holding
            # The closure holds back whatever uses the resource, and its end or a success lets it go.
            is_held_back = limited.resource in held.uses or limited.resource in held.exclusive
            retry_at = self._now.wall if is_held_back else self._closed_until(limited)
            yield WorkFailed(
                at=self._now.wall, lease_id=lease.lease_id, note=self._command.note, retry_at=retry_at, counted=False
            )
            return
        note, failures = self._note(), self._item.failures + 1
        if failures >= self._policy.retries.max_attempts:
            yield WorkParked(at=self._now.wall, lease_id=lease.lease_id, note=note)
            return
        retry_at = later(self._now.wall, backoff_seconds(self._policy, failures))
        yield WorkFailed(at=self._now.wall, lease_id=lease.lease_id, note=note, retry_at=retry_at)

    def _failed_in_its_group(self) -> Iterator[Event]:
        """End the work for this agent: whether it is tried again is the Coordinator's to say.

        Where a resource turned the agent away the work stays its own, from where it stands.
        """
        if self._command.rate_limited is not None:
            yield from self._released()
        else:
            yield WorkParked(at=self._now.wall, lease_id=self._lease.lease_id, note=self._note())

    def _released(self) -> Iterator[Event]:
        yield WorkReleased(
            at=self._now.wall,
            lease_id=self._lease.lease_id,
            note=self._command.note,
            connection_ended=self._command.connection_ended,
        )

    # --- parts of a report ---

    def _note(self) -> str:
        if not shown(self._command.note):
            state = self._command.state
            raise InvalidInput(
                f"note: is required for {state}",
                hint="Say in a sentence what went wrong and what it needs.",
                field="note",
            )
        return self._command.note

    def _has_own_checkpoint(self) -> bool:
        point = self._item.checkpoint
        return point is not None and point.lease_id == self._lease.lease_id

    def _resting_point(self) -> Checkpoint | None:
        """Return the checkpoint to stop at: the one given, or else one from the note; None where there is one already.

        A sentence never takes the place of a checkpoint of this lease.
        """
        if self._command.checkpoint is None and self._has_own_checkpoint():
            return None
        return self._any_checkpoint()

    def _needed_resting_point(self) -> Checkpoint | None:
        point = self._resting_point()
        return point if point is not None or self._has_own_checkpoint() else self._checkpoint()

    def _checkpoint(self) -> Checkpoint:
        """Return the checkpoint that was given, or one made from the note.

        Raises:
            InvalidInput: neither was given.
        """
        point = self._any_checkpoint()
        if point is None:
            raise InvalidInput(
                f"checkpoint: {self._command.state} needs one",
                hint="Pass checkpoint, or say in note from where the work can go on.",
                field="checkpoint",
            )
        return point

    def _any_checkpoint(self) -> Checkpoint | None:
        given, note = self._command.checkpoint, self._command.note or None
        if given is None and note is None:
            return None
        point = Checkpoint(
            checkpoint_id=(given and given.checkpoint_id) or short_id("C", self._new_id()),
            at=self._now.wall,
            lease_id=self._lease.lease_id,
            note=note,
        )
        if given is None:
            return point
        return replace(point, uri=given.uri, digest=given.digest, note=given.note or note)


def renewed(state: LedgerState, lease_id: str, now: Instant) -> Iterator[Event]:
    """Yield the renewal of a lease by the server through whose connection it was granted; one that ended has none."""
    lease = state.leases.get(lease_id)
    if lease is None or has_passed(lease.expiry, now, state.last_at):
        return
    expiry = expiry_after(now, lease.term_seconds)
    if is_earlier(lease.expiry, expiry):
        yield LeaseRenewed(at=now.wall, lease_id=lease_id, expiry=expiry, term_seconds=lease.term_seconds)
