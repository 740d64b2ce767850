"""Which states work can be in and what leads from one to another: the table of work.md §1 as data. Decides nothing.

The diagram in docs/explanation/work.md is drawn from it.
"""

from typing import Final, Literal

from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import WorkState

Trigger = Literal[
    "accept",
    "start",
    "heartbeat",
    "checkpoint",
    "pause",
    "block",
    "unblock",
    "blocked_lease_ends",
    "release",
    "complete",
    "accept_result",
    "reject_result",
    "fail",
    "retry",
    "cancel",
    "finish_elsewhere",
    "block_elsewhere",
    "open_elsewhere",
    "revoke",
    "start_by_passes",
    "lease_expires",
    "new_session",
]


@value
class Transition:
    """What a trigger does to work in one of some states; several targets are told apart by `when`."""

    sources: tuple[WorkState, ...]
    trigger: Trigger
    targets: tuple[WorkState, ...]
    when: str = ""


_UNFINISHED: Final[tuple[WorkState, ...]] = ("open", "queued", "active", "blocked", "submitted", "parked")
TRANSITIONS: Final = (
    Transition(sources=("open",), trigger="accept", targets=("queued",)),
    Transition(sources=("open", "queued"), trigger="start", targets=("active",)),
    Transition(sources=("active",), trigger="start", targets=("active",), when="by the holder, in the same session"),
    Transition(sources=("active",), trigger="heartbeat", targets=("active",)),
    Transition(sources=("active",), trigger="checkpoint", targets=("active",)),
    Transition(sources=("active",), trigger="pause", targets=("queued",)),
    Transition(sources=("active",), trigger="block", targets=("blocked",)),
    Transition(
        sources=("blocked",), trigger="unblock", targets=("queued", "open"), when="queued while it has an owner"
    ),
    Transition(sources=("blocked",), trigger="blocked_lease_ends", targets=("blocked",), when="without an owner"),
    Transition(sources=("active",), trigger="release", targets=("open",)),
    Transition(
        sources=("active",), trigger="complete", targets=("completed", "submitted"), when="submitted for a review"
    ),
    Transition(sources=("submitted",), trigger="accept_result", targets=("completed",)),
    Transition(sources=("submitted",), trigger="reject_result", targets=("open",)),
    Transition(sources=("active",), trigger="fail", targets=("open", "parked"), when="parked at max_attempts"),
    Transition(sources=("parked",), trigger="retry", targets=("open",)),
    Transition(sources=_UNFINISHED, trigger="cancel", targets=("cancelled",)),
    Transition(sources=_UNFINISHED, trigger="finish_elsewhere", targets=("completed", "cancelled")),
    Transition(
        sources=_UNFINISHED, trigger="block_elsewhere", targets=("blocked", "parked"), when="parked if it failed"
    ),
    Transition(
        sources=("queued", "blocked", "parked", "completed", "cancelled"),
        trigger="open_elsewhere",
        targets=("open",),
        when="a new incarnation, or a run of another program",
    ),
    Transition(sources=("queued", "active", "blocked"), trigger="revoke", targets=("open",)),
    Transition(sources=("queued",), trigger="start_by_passes", targets=("open",)),
    Transition(sources=("active",), trigger="lease_expires", targets=("open",)),
    Transition(sources=("active", "queued"), trigger="new_session", targets=("queued",)),
)


def triggers_from(state: WorkState) -> tuple[Trigger, ...]:
    """Return what can happen to work in this state, in the order of the table."""
    return tuple(dict.fromkeys(each.trigger for each in TRANSITIONS if state in each.sources))


def may(state: WorkState, trigger: Trigger) -> bool:
    """Say whether the table knows this trigger for work in this state."""
    return any(state in each.sources and each.trigger == trigger for each in TRANSITIONS)
