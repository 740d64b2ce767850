"""A command under an action id: carried out once, and answered alike ever after (work.md §1). Knows no command."""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from metagit_mcp.application.turns.turn import Turn
from metagit_mcp.domain.events import CommandAnswered
from metagit_mcp.domain.instant import instant_text
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.errors import ActionIdCollision
from metagit_mcp.wire.codec import adapter, line

A = TypeVar("A")


def once(
    turn: Turn,
    action_id: str | None,
    request: object,
    shape: type[A],
    act: Callable[[], A],
    is_kept: Callable[[A], bool] = lambda _: True,
) -> A:
    """Return what `act` answers, or, where the action id was used for the same request, what it answered then.

    An answer that is not kept leaves the action id free.

    Raises:
        ActionIdCollision: the id was used for another request.
    """
    if action_id is None:
        return act()
    digest = _digest(request)
    known = turn.state.answered.get(action_id)
    if known is None:
        answer = act()
        if not is_kept(answer):
            return answer
        reply = line(answer).decode()
        turn.happen([CommandAnswered(at=turn.instant.wall, action_id=action_id, digest=digest, reply=reply)])
        return answer
    if known.digest != digest:
        raise ActionIdCollision(
            f"Action id {action_id} was used for another command.",
            hint="Repeat a call unchanged under its action id, or take a new one for a new call.",
            action_id=action_id,
        )
    answer_again: A = adapter(shape).validate_json(known.reply)
    return answer_again


def ended_since(state: LedgerState, action_id: str | None, lease_ids: Iterable[str]) -> tuple[str, ...]:
    """Return a warning for each lease of a reply that is no more: only a first reply, given again, has such."""
    return tuple(
        f"This is the first reply under action id {action_id}: lease {lease_id} has ended since"
        f"{_how(state, lease_id)}. Ask again under a new action id."
        for lease_id in lease_ids
        if lease_id not in state.leases
    )


def _how(state: LedgerState, lease_id: str) -> str:
    closed = state.closed.get(lease_id)
    return "" if closed is None else f" ({closed.closure}), at {instant_text(closed.closed_at)}"


def _digest(request: Any) -> str:  # noqa: ANN401 - any request
    told = type(request).__name__.encode() + b" " + line(request)
    return hashlib.sha256(told).hexdigest()[:32]
