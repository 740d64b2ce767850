"""The command `metagit-mcp hook EVENT`: what agents' hosts run at certain moments, with JSON on standard input.

Here is the light part: `main` and what it calls load neither click nor pydantic, and a fact that needs the whole
application loads it when it is looked for (ADR 0040). No other interface may be known here.
"""

import os
import signal
from collections.abc import Sequence
from types import FrameType

from metagit_mcp.interfaces.hooks.calls import EVENTS, HOSTS, Call, understood
from metagit_mcp.interfaces.hooks.streams import end_after, hold_open, is_terminal, object_from, say, tell, write

FINE = 0
# What Claude Code takes for: the teammate is to read standard error and go on.
GO_ON = 2


def main(arguments: Sequence[str]) -> int | None:
    """Answer one event and return the exit code; None where a person asks, whom the command line answers.

    Whatever stands on standard input, and whatever fails, the host's turn goes on: with an answer, or without one.
    """
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, _ended)
    hold_open()
    if {"-h", "--help"} & set(arguments) or (not arguments and is_terminal()):
        return None
    try:
        return _answered(arguments)
    except BaseException as failure:  # noqa: BLE001 - a hook that fails must not stop anybody's turn
        say(f"{type(failure).__name__}: {failure}")
        return FINE


def _ended(number: int, frame: FrameType | None) -> None:
    """End like someone who has nothing to say: at once, and without a trace."""
    del number, frame
    os._exit(FINE)


def _answered(arguments: Sequence[str]) -> int:
    call = understood(arguments)
    if call is None:
        say(f"expected one of {', '.join(EVENTS)}, with --host {', '.join(HOSTS)}; nothing is done")
        return FINE
    end_after(call.seconds)
    given = object_from(call.event)
    return show(call, given)


def show(call: Call, given: dict[str, object]) -> int:
    """Write the answer to what a host gave, and return the exit code."""
    from metagit_mcp.interfaces.hooks.events import answer_to  # noqa: PLC0415 - after the clock was set

    said = answer_to(call, given, os.environ)
    if said.complaint:
        say(said.complaint)
    if said.record is not None:
        write(said.record)
    if said.feedback:
        tell(said.feedback)
        return GO_ON
    return FINE
