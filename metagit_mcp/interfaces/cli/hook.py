"""The command `hook`, as far as a person sees it: its help. Hosts reach `interfaces/hooks` without coming by here."""

from importlib import import_module
from typing import Final

import click

from metagit_mcp.interfaces.cli.flags import example

_EVENTS: Final = ("session-start", "stamp-agent", "stop", "teammate-idle", "session-end")
_HOSTS: Final = ("claude", "codex", "cursor")


@click.command(
    short_help="Answer an event of an agent's host.",
    no_args_is_help=True,
    epilog=example(
        'echo \'{"session_id": "s-1"}\' | metagit-mcp hook session-start',
        "METAGIT_WORKER_MODE=1 metagit-mcp hook stop --host codex < stop.json",
    ),
)
@click.argument("event", type=click.Choice(_EVENTS))
@click.option("--host", type=click.Choice(_HOSTS), default=_HOSTS[0], show_default=True, help="Whose JSON it is.")
def hook(event: str, host: str) -> int:
    """Answer EVENT of an agent's host: its JSON comes on standard input, the answer is JSON for it, or nothing.

    session-start tells an agent what it holds and what is runnable; stamp-agent signs calls of our tools with the
    agent that makes them; stop and teammate-idle name the next node where METAGIT_WORKER_MODE is on; session-end does
    nothing. A hook never stops its host: it ends with 0 whatever is wrong, but for a teammate that is to go on (2).
    """
    # By name: the interfaces do not know each other.
    ended: int = import_module("metagit_mcp.interfaces.hooks").main([event, "--host", host])
    return ended
