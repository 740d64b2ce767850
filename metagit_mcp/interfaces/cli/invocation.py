"""One run of the program: what the shared flags say, and the way to the use cases. It must not know any command."""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from metagit_mcp.interfaces.by_hand import at_once
from metagit_mcp.interfaces.cli.output import Block, print_blocks, print_in_place, print_json

if TYPE_CHECKING:
    from metagit_mcp.bootstrap import Application

Opener = Callable[[Mapping[str, Any]], "Application"]
_interrupts: Final[list[int]] = []


async def asleep(seconds: float) -> None:
    """Let time pass.

    Raises:
        KeyboardInterrupt: it ends the program here at the latest.
    """
    if _interrupts:
        raise KeyboardInterrupt
    time.sleep(seconds)  # noqa: ASYNC251 - nothing else is to be done here meanwhile


def mind_interrupts() -> None:
    """See to it that the next wait ends by Ctrl-C, also where what was under way took no notice of it.

    Where Python is called back, as it is while schemas are made, an interrupt is only printed. A script that runs this
    in the background ignores interrupts, and that stays so.
    """
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)


def _interrupted(number: int, _: object) -> None:
    _interrupts.append(number)
    raise KeyboardInterrupt


def open_workspace(flags: Mapping[str, Any]) -> "Application":
    """Open the workspace that the flags and the environment name.

    Raises:
        WorkspaceNotFound: there is none.
    """
    from metagit_mcp.bootstrap import open_application
    from metagit_mcp.ports.machine import Waits
    from metagit_mcp.settings import settings_from

    waits = Waits(offload=at_once, sleep=asleep)
    return open_application(settings_from(os.environ, **flags), surface="cli", waits=waits)


class Invocation:
    """What holds for the whole run; flags given after the subcommand win over those before it."""

    def __init__(self, opener: Opener = open_workspace) -> None:
        """Know no flag yet."""
        self.workspace: str | None = None
        self.as_json = False
        self._opener: Final = opener

    def settings_flags(self, **flags: object) -> dict[str, Any]:
        """Return the flags that were given, by the names that the settings have."""
        named = {"workspace": self.workspace, **flags}
        return {name: each for name, each in named.items() if each is not None}

    def application(self, **flags: object) -> "Application":
        """Return the use cases over the workspace, opened with these flags."""
        application = self._opener(self.settings_flags(**flags))
        # A circle, so that nobody takes a hundred thousand nodes apart at the end of a process that is over anyway.
        self._circle = (self, application)
        return application

    def show(self, answer: Any, blocks: Iterable[Block]) -> None:  # noqa: ANN401 - any answer of `wire.responses`
        """Print an answer: as the MCP tool gives it, or its rendering for people."""
        if self.as_json:
            from metagit_mcp.wire.answer_size import fitted

            print_json(fitted(answer))
        else:
            print_blocks(blocks)

    def show_anew(self, answer: Any, blocks: Iterable[Block]) -> bool:  # noqa: ANN401 - as above
        """Print an answer in place of the last one, or after it. Say whether anybody still reads."""
        if not self.as_json:
            return print_in_place(blocks)
        from metagit_mcp.wire.answer_size import fitted

        return print_json(fitted(answer))

    def show_record(self, record: Mapping[str, Any], blocks: Iterable[Block]) -> bool:
        """Print what no tool answers: a JSON object, or its rendering for people. Say whether anybody still reads."""
        return print_json(record) if self.as_json else print_blocks(blocks)
