"""What is asked of Groups that are fed by Events. Knows no use case; `arguments.py` says how they are read."""

from typing import Any, Final

from metagit_mcp.domain.text import AGENT_PATTERN, is_agent_id
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.arguments import said
from metagit_mcp.wire.codec import Json

MOST_EVENTS: Final = 1_000
MOST_BYTES: Final = 8 * 1024 * 1024


def fed_group(description: str) -> Any:  # noqa: ANN401 - stands for any field
    """Declare the id of a Group that is fed by Events."""
    return said(description, min_length=1, max_length=256, pattern=AGENT_PATTERN)


@value
class DeliverRequest:
    """Takes in Events of one Group's log."""

    group_id: str = fed_group("The Group whose log this is")
    events: tuple[Json, ...] = said(
        "The Events as the log has them, in any order; 64 KiB each, 8 MiB in all", min_length=1, max_length=MOST_EVENTS
    )
    first_sequence: int | None = said(
        "The first sequence that may be seen, where the log does not begin at 1", None, ge=1, le=2**53
    )
    filtered: bool | None = said("true: an attention filter leaves Events out, so that nothing is missing", None)


def group_id_from(text: str) -> str:
    """Return a text as the id of a Group that is fed by Events.

    Raises:
        InvalidInput: it cannot be one.
    """
    if not is_agent_id(text):
        rule = "at most 256 letters, digits and '_', '.', ':', '/', '@', '-', the first a letter, digit or '_'"
        raise InvalidInput("group_id: is no id of a Group", hint=f"It has {rule}.", field="group_id")
    return text
