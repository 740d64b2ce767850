"""The command `metagit-mcp`: its groups of commands, and the one place where every run ends with an exit code.

It must not import a command; `LazyGroup` loads the one that is called.
"""

import sys
from collections.abc import Sequence
from typing import Final

import click

from metagit_mcp import __version__
from metagit_mcp.interfaces.cli.exits import EXIT_CODES, FINE, INTERRUPTED
from metagit_mcp.interfaces.cli.failures import as_error, show_error, show_traceback
from metagit_mcp.interfaces.cli.flags import example, shared_flags
from metagit_mcp.interfaces.cli.groups import LazyGroup
from metagit_mcp.interfaces.cli.invocation import Invocation
from metagit_mcp.interfaces.cli.output import OutputLost

PROGRAM: Final = "metagit-mcp"
_HERE: Final = "metagit_mcp.interfaces.cli"
_PARTS: Final = {
    "demo": f"{_HERE}.begin:demo",
    "init": f"{_HERE}.begin:init",
    "task": f"{_HERE}.task:task",
    "schedule": f"{_HERE}.schedule:schedule",
    "work": f"{_HERE}.work:work",
    "watch": f"{_HERE}.watch:watch",
    "pause": f"{_HERE}.pauses:pause",
    "resume": f"{_HERE}.pauses:resume",
    "group": f"{_HERE}.fed_groups:group",
    "simulate": f"{_HERE}.simulate:simulate",
    "serve": f"{_HERE}.serve:serve",
    "board": f"{_HERE}.board:board",
    "token": f"{_HERE}.tokens:token",
    "config": f"{_HERE}.config:config",
    "hook": f"{_HERE}.hook:hook",
    "import": f"{_HERE}.importing:import_lists",
    "doctor": f"{_HERE}.doctor:doctor",
    "schemas": f"{_HERE}.schemas:schemas",
    "completion": f"{_HERE}.completion:completion",
}


@click.group(
    cls=LazyGroup,
    parts=_PARTS,
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
    epilog=example(
        "metagit-mcp init",
        'metagit-mcp task plan --title "Ship login" --outline plan.txt',
        "metagit-mcp schedule next --json",
    ),
)
@shared_flags
@click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s")
def cli() -> None:
    """Schedule the work of a metagit workspace: what to work on next, and why.

    Exit codes: 0 fine, 10 nothing can be started now, 11 only a person can help (both from schedule next), 2 invalid
    input, 3 not found, 4 refused, 5 a file cannot be used or doctor found something wrong, 1 unexpected. An error with
    --json is one line too, with code, message, hint, details and retryable.
    """


def main(arguments: Sequence[str], invocation: Invocation | None = None) -> int:
    """Run one command and return its exit code; nothing is raised but an interrupt of the interpreter itself."""
    call = invocation or Invocation()
    try:
        ended = cli.main(list(arguments), prog_name=PROGRAM, standalone_mode=False, obj=call)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as failure:
        return _helped(failure, as_json=_wants_json(call, arguments))
    except Exception as failure:  # noqa: BLE001 - a person sees a sentence and a code, never a traceback
        return _failed(failure, as_json=_wants_json(call, arguments))
    return ended if isinstance(ended, int) else FINE


def _wants_json(call: Invocation, arguments: Sequence[str]) -> bool:
    """Whether the error is for a script: the flag may stand behind the argument that could not be parsed."""
    return call.as_json or "--json" in arguments


def _failed(failure: Exception, *, as_json: bool) -> int:
    error = as_error(failure)
    show_traceback(failure)
    try:
        # What standard output cannot take must be said elsewhere.
        show_error(error, as_json=as_json and not isinstance(error, OutputLost))
    except OutputLost as lost:
        show_error(lost, as_json=False)
    return EXIT_CODES[error.code]


def _helped(failure: click.UsageError, *, as_json: bool) -> int:
    """A group without a command: a person is shown what there is, a script is told what is missing."""
    if as_json or failure.ctx is None:
        return _failed(failure, as_json=as_json)
    sys.stderr.write(f"{failure.ctx.get_help()}\n")
    return EXIT_CODES["INVALID_INPUT"]
