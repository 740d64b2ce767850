"""A command under an action id: carried out once, and answered alike ever after (work.md §1). Knows no command."""

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

from metagit_mcp.application.turn import Turn
from metagit_mcp.domain.events import CommandAnswered
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


def _digest(request: Any) -> str:  # noqa: ANN401 - any request
    told = type(request).__name__.encode() + b" " + line(request)
    return hashlib.sha256(told).hexdigest()[:32]
