"""Turns whatever a run raises into one error with a code, and shows it. It must not know any command.

With `--json` the error record is the one line on standard output, the same record that the MCP tool's refusal holds;
else a person reads two lines on standard error. A traceback is shown only with METAGIT_MCP_DEBUG=1.
"""

import os
import sys

import click

from metagit_mcp.domain.text import close_words, shown
from metagit_mcp.errors import InternalError, InvalidInput, MetagitError
from metagit_mcp.interfaces.cli.output import print_json, say
from metagit_mcp.interfaces.cli.wording import for_people

DEBUG = "METAGIT_MCP_DEBUG"
_LIMIT = 2_000


def as_error(failure: Exception) -> MetagitError:
    """Return what a failure means to the caller."""
    if isinstance(failure, MetagitError):
        return failure
    if isinstance(failure, click.NoSuchOption):
        return _unknown_option(failure)
    if isinstance(failure, click.ClickException):
        return _misuse(failure)
    return _unexpected(failure)


def _unknown_option(failure: click.NoSuchOption) -> InvalidInput:
    name = shown(failure.option_name, 40)
    parameters = failure.ctx.command.get_params(failure.ctx) if failure.ctx is not None else []
    known = sorted({flag for each in parameters for flag in each.opts if flag.startswith("--")})
    meant = "".join(f"Did you mean {each}? " for each in close_words(name, known))
    hint = f"{meant}Known: {', '.join(known)}." if known else ""
    return InvalidInput(f"unknown option {name}", hint=hint, field=name)


def _misuse(failure: click.ClickException) -> InvalidInput:
    context = getattr(failure, "ctx", None)
    asked = "--help after the command" if context is None else f"{context.command_path} --help"
    parameter = getattr(failure, "param", None)
    field = str(parameter.name) if parameter is not None else "arguments"
    return InvalidInput(shown(failure.format_message(), _LIMIT), hint=f"{asked} shows how it is used.", field=field)


def _unexpected(failure: Exception) -> InternalError:
    """The same fault has the same reference on every machine, so that two reports of it are seen to be one."""
    import hashlib
    import traceback

    frames = traceback.extract_tb(failure.__traceback__)
    places = [f"{os.path.basename(frame.filename)}:{frame.name}" for frame in frames]  # noqa: PTH119 - no path is built
    kind = type(failure).__name__
    reference = hashlib.sha256("\n".join([kind, *places]).encode()).hexdigest()[:12]
    hint = f"Please report it with the reference {reference}; {DEBUG}=1 shows where it happened."
    return InternalError(hint=hint, reference=reference, kind=kind)


def show_error(error: MetagitError, *, as_json: bool) -> None:
    """Print the error where the caller looks for it."""
    if as_json:
        print_json(error.as_record())
        return
    say(f"error: {for_people(error.message)} [{error.code}]")
    if error.hint:
        say(f"hint: {for_people(error.hint)}")


def show_traceback(failure: Exception) -> None:
    """Print where an unexpected failure comes from, if the environment asks for it."""
    if os.environ.get(DEBUG) == "1" and not isinstance(failure, MetagitError | click.ClickException):
        import traceback

        sys.stderr.writelines(traceback.format_exception(failure))
